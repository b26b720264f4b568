"""Start-up: import, first result from a warm cache, first result with nothing compiled yet. Seconds, fresh processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
BEYOND_NUMPY = "import numpy, time; t = time.perf_counter(); import polhode; print(time.perf_counter() - t)"
FIRST_RESULT = "import polhode as ph; print(ph.propagate((1, 1.65, 1.97), (0.3, 0.2, 0.9), (1, 0, 0, 0), 10.0))"
REPEATS = 7


def run(code, cache):
    """(wall seconds of the whole process, what it printed)."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "POLHODE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - start, done.stdout


def main():
    with tempfile.TemporaryDirectory() as cache:
        run("pass", cache)
        print(
            f"import numpy                        {min(float(run(IMPORT.format('numpy'), cache)[1]) for _ in range(REPEATS)):.3f} s"
        )
        print(
            f"import polhode, beyond NumPy        {min(float(run(BEYOND_NUMPY, cache)[1]) for _ in range(REPEATS)):.3f} s"
        )
        cold = run(FIRST_RESULT, cache)[0]
        warm = min(run(FIRST_RESULT, cache)[0] for _ in range(REPEATS))
        print(f"process to first result, warm cache {warm:.2f} s")
        print(f"process to first result, no cache   {cold:.2f} s")


if __name__ == "__main__":
    main()
