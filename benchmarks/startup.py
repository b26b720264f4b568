"""Start-up: import, first result, the command line. Seconds, fresh processes, with a warm cache unless told otherwise.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

IMPORT_NUMPY = "import time; t = time.perf_counter(); import numpy; print(time.perf_counter() - t)"
BEYOND_NUMPY = "import numpy, time; t = time.perf_counter(); import polhode; print(time.perf_counter() - t)"
FIRST_RESULT = """
import time
import polhode as ph
ph.propagate((1, 1.65, 1.97), (0.3, 0.2, 0.9), (1, 0, 0, 0), 10.0)
print(time.time())
"""
REPEATS = 7
COMMANDS = ("--help", "run --help", "run dzhanibekov", "run heavy_top")


def run(code, cache):
    """(when the process was started, the number it printed)."""
    start = time.time()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "POLHODE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return start, float(done.stdout)


def first_result(cache):
    """Seconds from the start of a new process to its first result."""
    start, ready = run(FIRST_RESULT, cache)
    return ready - start


def best(code, cache):
    """Smallest number that the code prints in several fresh processes."""
    return min(run(code, cache)[1] for _ in range(REPEATS))


def command(words, cache, folder):
    """Seconds that a command takes, from the start of its process to its end."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "polhode", *words.split()],
        cwd=folder,
        env={**os.environ, "POLHODE_CACHE_DIR": cache},
        capture_output=True,
        check=True,
    )
    return time.perf_counter() - start


def main():
    with tempfile.TemporaryDirectory() as cache:
        print(f"import numpy                         {best(IMPORT_NUMPY, cache):6.3f} s")
        print(f"import polhode, beyond NumPy         {best(BEYOND_NUMPY, cache):6.3f} s")
        cold = first_result(cache)
        warm = min(first_result(cache) for _ in range(REPEATS))
        print(f"process to first result, warm cache  {warm:6.2f} s")
        print(f"process to first result, no cache    {cold:6.2f} s")
        with tempfile.TemporaryDirectory() as folder:
            for words in COMMANDS:
                seconds = min(command(words, cache, folder) for _ in range(3))
                print(f"{'polhode ' + words:36} {seconds:6.2f} s")


if __name__ == "__main__":
    main()
