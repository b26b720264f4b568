"""What the bits of a result depend on, besides the problem: the processor, and versions of what computes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from pathlib import Path

from polhode._version import __version__

PACKAGES = ("numpy", "numba", "llvmlite")


def environment() -> dict[str, str]:
    """Names and values, to be stored with results and compared."""
    from polhode.kernels.compiler import JIT
    from polhode.kernels.compiler.cache import LOADED

    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    compiled = "compiled" if JIT else "uncompiled"
    return {"polhode": __version__, "kernels": f"{LOADED}, {compiled}", "processor": processor(), **versions}


def processor() -> str:
    """Kind and instructions, which decide what code the compiler makes."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        told = {line for line in lines if line.partition(":")[0].strip() in ("model name", "flags", "Features")}
    except OSError:  # not Linux
        told = {platform.processor()}
    return f"{platform.machine()} {hashlib.sha256(''.join(sorted(told)).encode()).hexdigest()[:12]}"
