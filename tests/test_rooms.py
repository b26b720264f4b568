"""The rooms of the package: each says what lives in it and what does not, and the import contracts hold them apart."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

SRC = ROOT / "src" / "polhode"
NEW_ROOMS = ("compiled", "core", "ensembles", "files", "free", "integration", "scenarios", "show", "studies", "systems")
KERNEL_ROOMS = ("compiler", "exact", "graphs", "numbers", "pairs", "stepping")
# What each contract has to catch: a line that breaks it, at the end of a file.
FORBIDDEN = {
    "rooms, from the command line down to the kernels": ("core/vectors.py", "import polhode.free.motion"),
    "rooms of the kernels": ("kernels/numbers/quat.py", "import polhode.kernels.exact.euler"),
    "Numba is known to kernels/compiler only": ("core/body.py", "import numba"),
    "matplotlib is known to show/plot only": ("core/state.py", "import matplotlib.pyplot"),
    "trimesh is known to core/solids.py only": ("show/scene/shapes.py", "import trimesh"),
    "click is known to cli only": ("scenarios/report.py", "import click"),
    "jsonschema and tomli_w are known to scenarios only": ("cli/run.py", "import jsonschema"),
    "xarray and zarr are known to files and ensembles only": ("integration/running.py", "import zarr"),
    "dask is known to ensembles/cluster.py only": ("ensembles/members.py", "import distributed"),
    "mpmath is known to studies/referee.py only": ("studies/study.py", "import mpmath"),
    "tqdm is known to core/progress.py only": ("integration/running.py", "import tqdm.auto"),
}


def rooms():
    return sorted(path.parent.name for path in SRC.glob("*/__init__.py"))


def test_there_are_sixteen_rooms_and_few_files_beside_them():
    assert len(rooms()) == 16
    files = {path.name for path in SRC.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__init__.pyi", "__main__.py", "_version.py", "elliptic.py", "py.typed", "solve.py"}


@pytest.mark.parametrize("name", [*NEW_ROOMS, *(f"kernels.{name}" for name in KERNEL_ROOMS)])
def test_a_room_says_what_lives_there_and_what_does_not(name):
    first, second = importlib.import_module(f"polhode.{name}").__doc__.strip().split("\n\n")
    assert re.fullmatch(r"[A-Z].*\.", first, re.S)
    assert re.fullmatch(r"[A-Z].*\.", second, re.S)


@pytest.mark.long
def test_forbidden_imports_are_caught(tmp_path):
    """Each inside a function, where optional packages are imported."""
    pytest.importorskip("importlinter")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line in FORBIDDEN.values():
        path = tmp_path / "src" / "polhode" / file
        path.write_text(f"{path.read_text()}\n\ndef forbidden():\n    {line}\n")
    command = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    for name in FORBIDDEN:
        assert re.search(rf"^{re.escape(name)} BROKEN", done.stdout, re.M), name
