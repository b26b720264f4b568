"""Environment on which the last bits of a result depend: the processor and the versions of packages."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from pathlib import Path

from polhode._version import __version__
from polhode.kernels.compiler import CPU

PACKAGES = ("numpy", "numba", "llvmlite")
# Virtual machines name different processors alike; family and model tell them apart.
FACTS = ("model name", "cpu family", "model", "flags", "Features")


def environment() -> dict[str, str]:
    """Return versions, kernels and processor as texts by name, to be stored with results and compared."""
    from polhode.kernels.compiler import JIT
    from polhode.kernels.compiler.cache import SOURCES

    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    compiled = "compiled" if JIT else "uncompiled"
    return {"polhode": __version__, "kernels": f"{SOURCES}, {compiled}", "processor": processor(), **versions}


def processor() -> str:
    """Return the architecture and a digest of the processor's model and instruction sets.

    They determine the machine code that the compiler generates, unless ``POLHODE_CPU`` names a processor.
    """
    if CPU != "native":
        return CPU
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = {line for line in lines if line.partition(":")[0].strip() in FACTS}
    except OSError:  # not Linux
        features = {platform.processor()}
    return f"{platform.machine()} {hashlib.sha256(''.join(sorted(features)).encode()).hexdigest()[:12]}"
