"""Run a command as if this machine had another processor.

    python scripts/imitate.py x86-64-v2 make test
    python scripts/imitate.py x86-64-v3 .venv/bin/python -m pytest tests/flows

Machine code of polhode is made for that level of x86-64, NumPy uses no newer instructions, OpenBLAS takes its code for
such a processor, and the mathematical library of GNU systems its functions without fused products, if the level has
none. Last bits are then those that other machines have. The Python that runs this program needs NumPy. On a machine
that is no x86-64, nothing is run.
"""

from __future__ import annotations

import os
import platform
import sys

BLAS = {"x86-64-v2": "Nehalem", "x86-64-v3": "Haswell", "x86-64-v4": "SkylakeX"}
# Instructions that a level lacks: beginnings of NumPy's names, and names of the mathematical library.
LACKING = {
    "x86-64-v2": (("AVX", "F16C", "FMA", "XOP", "X86_V3", "X86_V4"), "-AVX,-AVX2,-FMA,-FMA4"),
    "x86-64-v3": (("AVX512", "X86_V4"), ""),
    "x86-64-v4": ((), ""),
}


def environment(level: str) -> dict[str, str]:
    """The variables that imitate a processor of a level."""
    lacking, functions = LACKING[level]
    disabled = [name for name in numpy_features() if name.startswith(lacking)] if lacking else []
    found = {"POLHODE_CPU": level, "OPENBLAS_CORETYPE": BLAS[level], "NPY_DISABLE_CPU_FEATURES": " ".join(disabled)}
    return found | ({"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={functions}"} if functions else {})


def numpy_features() -> list[str]:
    """The instructions for which NumPy has code of its own, and which this processor has."""
    import numpy

    inner = numpy._core if hasattr(numpy, "_core") else numpy.core
    module = inner._multiarray_umath
    return [name for name in module.__cpu_dispatch__ if module.__cpu_features__.get(name)]


def main(level: str = "", *command: str) -> None:
    """Run the command instead of this program."""
    if level not in BLAS or not command:
        sys.exit(f"type: python scripts/imitate.py {{{'|'.join(BLAS)}}} COMMAND ...")
    if platform.machine() not in ("x86_64", "AMD64"):
        sys.exit(print(f"not run, because this machine is no x86-64: {' '.join(command)}"))
    os.execvpe(command[0], command, os.environ | environment(level))


if __name__ == "__main__":
    main(*sys.argv[1:])
