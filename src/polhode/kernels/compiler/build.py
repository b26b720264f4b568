"""Compilation of kernels of this package by Numba, in processes of their own, for no processor in particular.

    python -m polhode.kernels.compiler.build FOLDER

reads keys of entry points, line by line, writes their bitcode to files of the folder, and answers with the key, or with
CHANGED if no entry point is made of what the key says: source files were edited meanwhile. Such a process has settings
of its own, which would otherwise change how Numba compiles functions of the user: it neither turns loops into vector
code nor makes machine code.
"""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import queue
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from polhode.kernels.compiler import cache

COMPILED_FOLDERS = ("kernels", "flows", "forces", "methods", "compiled")  # every folder that has entry points
CHANGED = "changed"
SETTINGS = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
    "NUMBA_OPT": "3",
    "NUMBA_DISABLE_JIT": "0",
    "POLHODE_JIT": "1",
    "POLHODE_CPU": "native",  # which leaves Numba the processor above
}


class Changed(Exception):
    """Raised if source files are not those that this process has loaded."""


class Worker:
    """Process that compiles kernels."""

    def __init__(self, folder):
        """Start the process, which writes to ``folder``."""
        path = os.pathsep.join([str(cache.PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed by ``close``
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            env={**os.environ, **SETTINGS, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            bufsize=1,
        )

    def bitcode(self, key):
        """Return the bitcode of an entry point, and keep it in the cache."""
        from polhode.kernels.compiler import machine

        with suppress(BrokenPipeError):  # the process has ended
            self._process.stdin.write(f"{key}\n")
        if (answer := self._process.stdout.readline().strip()) == CHANGED:
            raise Changed("source files of polhode were changed since the program was started: start it again")
        if answer != key:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"The kernel {key} could not be compiled:\n{self._errors.read()[-3000:]}")
        packed = (self._folder / key).read_bytes()
        cache.write(machine.BITCODE, f"{key}.bc", packed)
        return packed

    def close(self):
        """End the process."""
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def build(keys):
    """Compile entry points in as many processes as there are cores; yield their bitcode, in the order of the keys."""
    count = min(len(keys), os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count or 1) as pool:
        workers = [Worker(Path(folder)) for _ in range(count)]
        free = queue.SimpleQueue()
        for worker in workers:
            free.put(worker)

        def compiled(key):
            worker = free.get()
            try:
                return worker.bitcode(key)
            finally:
                free.put(worker)

        try:
            yield from pool.map(compiled, keys)
        finally:
            for worker in workers:
                worker.close()


def entries():
    """Return all entry points of this package by the names of their files."""
    from polhode.kernels.compiler import code, jit

    for folder in COMPILED_FOLDERS:
        package = importlib.import_module(f"polhode.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name != __name__:
                importlib.import_module(module.name)
    return {code.key_of(entry, code.name_of(entry)): entry for entry in jit.ENTRIES if code.is_ours(entry)}


def bundle(path):
    """Write the bitcode of all entry points to a file that comes with the package; see ``code``.

    What the cache has is not compiled again.
    """
    from polhode.kernels.compiler import machine

    keys = sorted(entries())
    found = {key: packed for key in keys if (packed := cache.read(machine.BITCODE, f"{key}.bc"))}
    missing = [key for key in keys if key not in found]
    for number, (key, packed) in enumerate(zip(missing, build(missing), strict=True), 1):
        print(f"compiled {number} of {len(missing)} kernels: {key}", flush=True)
        found[key] = packed
    head = f"{cache.SOURCES} {machine.LLVM_VERSION}".encode()
    with tarfile.open(path, "w:xz", preset=9) as file:
        for name, content in (("for", head), *sorted(found.items())):
            member = tarfile.TarInfo(name)  # without the time, so that the same sources give the same file
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))


def main(folder):
    """Compile the entry points that standard input names."""
    from polhode.kernels.compiler import code, machine, numba_internals, numba_intrinsics

    numba_internals.make_no_machine_code()
    numba_intrinsics.REGISTERS = machine.REGISTERS  # the bitcode is for all processors
    known = entries()
    for line in sys.stdin:
        key = line.strip()
        if key in known:
            (Path(folder) / key).write_bytes(numba_internals.bitcode(known[key], code.name_of(known[key])).packed())
        print(key if key in known else CHANGED, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
