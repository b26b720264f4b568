"""Build backend: that of hatchling, and wheels carry the compiled kernels as bitcode of LLVM.

See https://peps.python.org/pep-0517/. An editable installation needs nothing of this.
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


def get_requires_for_build_wheel(config_settings=None):
    """What hatchling needs, and what the package needs when it runs, to compile it."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [*hatchling.build.get_requires_for_build_wheel(config_settings), *needed]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile all kernels, some minutes if the cache has none of them, and build the wheel."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "POLHODE_JIT": "1"}
    try:
        subprocess.run([sys.executable, "-c", WRITE, str(BUNDLE)], env=environment, check=True)
        return hatchling.build.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        BUNDLE.unlink(missing_ok=True)
