"""Build backend: that of hatchling, and wheels carry the compiled kernels as bitcode of LLVM.

See https://peps.python.org/pep-0517/. `python -m build` shows what it compiles. pip shows nothing and would seem to
hang for minutes, so what it builds has no compiled kernels; they are compiled when they are used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import hatchling.build
from hatchling.build import *  # noqa: F403

ROOT = Path.cwd()  # frontends start backends in the folder of pyproject.toml
BUNDLE = ROOT / "src" / "polhode" / "kernels" / "compiler" / "bitcode.tar.xz"
WRITE = "import sys; from polhode.kernels.compiler import build; build.bundle(sys.argv[1])"


IS_PIP = "PIP_BUILD_TRACKER" in os.environ


def get_requires_for_build_wheel(config_settings=None):
    """What hatchling needs, and, to compile the package, what it needs when it runs."""
    needed = [] if IS_PIP else tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [*hatchling.build.get_requires_for_build_wheel(config_settings), *needed]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile all kernels, some minutes if the cache has none of them, and build the wheel."""
    if IS_PIP:
        return hatchling.build.build_wheel(wheel_directory, config_settings, metadata_directory)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "POLHODE_JIT": "1"}
    try:
        subprocess.run([sys.executable, "-c", WRITE, str(BUNDLE)], env=environment, check=True)
        return hatchling.build.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        BUNDLE.unlink(missing_ok=True)
