"""The package as others get it: metadata, version, license, types, and what a wheel and an sdist contain."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import polhode
from conftest import ROOT
from polhode.kernels.compiler import JIT
from test_start_up import RESULTS, results

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_in_one_place():
    assert "version" in PYPROJECT["dynamic"]
    assert "version" not in PYPROJECT
    assert re.fullmatch(r"\d+\.\d+\.\d+([a-z]+\d+)?", polhode.__version__)
    assert re.search(rf"^version: {re.escape(polhode.__version__)}$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert f"## {polhode.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_command_line_tells_its_version():
    done = subprocess.run([sys.executable, "-m", "polhode", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"polhode, version {polhode.__version__}"


def test_license_and_types_are_there():
    assert "BSD 3-Clause License" in (ROOT / "LICENSE").read_text()
    assert (ROOT / "src" / "polhode" / "py.typed").exists()


def test_extras_name_each_other_rightly():
    extras = PYPROJECT["optional-dependencies"]
    named = {name for needs in extras.values() for text in needs for name in re.findall(r"^polhode\[(.+)\]", text)}
    assert {part for group in named for part in group.split(",")} <= set(extras)


def packages_of(extra):
    """The names of the packages that an extra brings, those of extras that it names included."""
    found = set()
    for text in PYPROJECT["optional-dependencies"][extra]:
        inner = re.match(r"polhode\[(.+)\]", text)
        found |= (
            {p for part in inner[1].split(",") for p in packages_of(part)} if inner else {re.split(r"[<>=\[]", text)[0]}
        )
    return found


def test_make_run_installs_what_it_needs_and_no_more():
    (extras,) = re.findall(r"^RUN_EXTRAS = (.+)$", (ROOT / "Makefile").read_text(), re.M)
    packages = {name for extra in extras.split(",") for name in packages_of(extra)}
    assert packages == {"click", "jsonschema", "tomli-w", "matplotlib"}
    assert f"'.[{extras}]'" in (ROOT / "README.md").read_text()
    assert f"'.[{extras}]'" in (ROOT / "docs" / "start.md").read_text()
    assert packages_of("store") - packages_of("netcdf") == {"zarr"}


def test_systems_and_versions_that_are_named_are_those_of_the_tests():
    named = [text for text in PYPROJECT["classifiers"] if text.startswith("Operating System")]
    assert named == ["Operating System :: POSIX :: Linux"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PYPROJECT["classifiers"]))
    systems = (ROOT / "docs" / "start.md").read_text().split("## Systems")[1].split("##")[0]
    assert versions == re.findall(r"with Python (3\.\d+)", systems)
    assert f">={versions[0]}" == PYPROJECT["requires-python"]


def test_what_is_required_is_what_is_imported():
    """Without optional packages, only what pip installs along is needed."""
    required = {re.split(r"[<>=\[ ]", text)[0] for text in PYPROJECT["dependencies"]}
    assert required == {"numpy", "scipy", "numba", "llvmlite"}


def test_citation_file_is_valid_yaml_with_what_the_format_needs():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An sdist, and a wheel that is made from it, by the build backend without a network."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.long
def test_the_wheel_has_all_modules_and_data(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        (metadata,) = (file.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    sources = ROOT / "src"
    data = (".py", ".ll", ".json", ".typed", ".js", ".html", ".toml", ".css")
    expected = {
        str(path.relative_to(sources)) for path in sources.rglob("*") if path.suffix in data or path.name == "py.typed"
    }
    assert {name for name in names if name.startswith("polhode/")} >= {n for n in expected if "__pycache__" not in n}
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert f"Version: {polhode.__version__}" in metadata
    assert "Requires-Python: >=3.11" in metadata


@pytest.mark.long
def test_a_wheel_is_pure_and_small_and_computes_without_numba(built, tmp_path):
    """It carries the kernels, and its first result has the bits of this checkout."""
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < 2e6
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "unpacked")
    if not JIT:
        return
    cold, numba_imported = results(tmp_path / "unpacked", tmp_path / "cache")
    assert not numba_imported
    here: dict[str, object] = {}
    exec(RESULTS, here)
    assert here["digits"] == cold


def test_the_sdist_has_what_tests_and_site_need(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
        size = sum(member.size for member in file.getmembers())
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "ARCHITECTURE.md", "Makefile"}
    needed |= {"pyproject.toml", "docs/conf.py", "tests/conftest.py", "src/polhode/__init__.py"}
    assert needed <= names
    assert not [name for name in names if name.startswith(("docs/_build", "docs/gallery", "out/", ".venv"))]
    assert size < 30e6


def test_the_installed_metadata_is_of_this_version():
    assert importlib.metadata.version("polhode") == polhode.__version__
