"""Compiled code on disk is never stale, never in the way, and never grows without bound.

The package is copied, a small entry that uses helpers of two other kernel files is added, and both are edited between
runs in fresh processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT
from polhode.kernels import jit

compiled = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled with POLHODE_JIT=0")

PROBE = """
from polhode.kernels.jit import entry
from polhode.kernels.quat import product
from polhode.kernels.series import WP3


@entry("UniTuple(f8,2)(f8)")
def probe(x):
    return product(0.0, x, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)[3], x * WP3[0]
"""

RUN = """
import numba
before = numba.config.CACHE_DIR
from polhode.kernels.probe import probe
{between}
print(*probe(2.0))
assert numba.config.CACHE_DIR == before, "numba's own setting has changed"
"""


class Copy:
    """A copy of the package with its own cache."""

    def __init__(self, folder):
        self.source, self.cache = folder / "src", folder / "cache"
        self.kernels = self.source / "polhode" / "kernels"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "polhode", self.source / "polhode", ignore=ignored)
        (self.kernels / "probe.py").write_text(PROBE)

    def run(self, between="", **environment):
        settings = {"POLHODE_CACHE_DIR": str(self.cache), "POLHODE_JIT": "1", "PYTHONPATH": str(self.source)}
        settings["PYTHONDONTWRITEBYTECODE"] = "1"  # it, too, could be stale: it counts in seconds
        command = [sys.executable, "-W", "error", "-c", RUN.format(between=between)]
        done = subprocess.run(
            command, env={**os.environ, **settings, **environment}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [float(x) for x in done.stdout.split()]

    def edit(self, name, old, new):
        path = self.kernels / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def machine_code(self):
        """File -> time of writing, of everything compiled."""
        return {path: path.stat().st_mtime_ns for path in self.cache.rglob("*.nbc")}


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


SIGN = ("a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1", "a0 * b3 + a3 * b0 - a1 * b2 - a2 * b1")


@compiled
def test_an_edited_helper_in_another_file_is_recompiled_and_its_revert_is_not(copy):
    original = [2.0, 2.0 / 247.0]
    assert copy.run() == original
    first = copy.machine_code()
    assert len(first) == 1
    assert copy.run() == original
    assert copy.machine_code() == first  # found, not compiled again

    copy.edit("quat.py", *SIGN)
    assert copy.run() == [-2.0, 2.0 / 247.0]
    second = copy.machine_code()
    assert len(second) == 2

    copy.edit("series.py", "1.0 / 247.0", "1.0 / 250.0")
    assert copy.run() == [-2.0, 2.0 / 250.0]
    third = copy.machine_code()
    assert len(third) == 3

    copy.edit("series.py", "1.0 / 250.0", "1.0 / 247.0")
    copy.edit("quat.py", *SIGN[::-1])
    assert copy.run() == original
    assert copy.machine_code() == third


@compiled
def test_an_edit_while_running_does_not_poison_the_cache(copy):
    """The process has loaded the old source, compiles after the edit, and must not store that as the new one's code."""
    quat = copy.kernels / "quat.py"
    meanwhile = f"path = {str(quat)!r}; text = open(path).read(); open(path, 'w').write(text.replace(*{SIGN!r}))"
    assert copy.run(between=meanwhile)[0] == 2.0
    assert copy.machine_code() == {}
    assert copy.run()[0] == -2.0


@compiled
def test_without_a_place_to_write_nothing_is_cached_but_all_works(copy, tmp_path):
    (tmp_path / "file").write_text("")
    assert copy.run(POLHODE_CACHE_DIR=str(tmp_path / "file" / "cache"))[0] == 2.0
    assert not list(copy.source.rglob("*.nbc"))  # nor next to the sources


@compiled
def test_numbas_own_setting_is_left_alone(copy, tmp_path):
    """RUN compares it before and after; here it is set by the user, and not used."""
    elsewhere = tmp_path / "elsewhere"
    assert copy.run(NUMBA_CACHE_DIR=str(elsewhere))[0] == 2.0
    assert len(copy.machine_code()) == 1
    assert not list(elsewhere.rglob("*.nbc"))


def test_stamp_follows_every_kernel_file(tmp_path, monkeypatch):
    copy = Copy(tmp_path)
    monkeypatch.setattr(jit, "PACKAGE", copy.source / "polhode")
    seen = {jit.source_stamp()}
    for path in sorted(copy.kernels.rglob("*.py")):
        path.write_text(path.read_text() + "\n")
        seen.add(jit.source_stamp())
    (copy.kernels / "probe.py").rename(copy.kernels / "other.py")
    seen.add(jit.source_stamp())
    assert len(seen) == 2 + len(list(copy.kernels.rglob("*.py")))
    (copy.source / "polhode" / "plot.py").write_text("")  # not compiled
    assert jit.source_stamp() in seen


def test_old_stamps_are_forgotten_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "LOADED", jit.source_stamp())
    stamps = [tmp_path / f"{k:016x}" for k in range(jit.KEPT_STAMPS + 5)]
    others = [tmp_path / name for name in ("holiday-photos", "0123456789abcdef0", "thesis")]
    for age, folder in enumerate([*stamps, *others]):
        folder.mkdir()
        (folder / "file.nbc").write_text("")
        os.utime(folder, (1e9 - age, 1e9 - age))
    ours = jit.cache_folder()
    assert ours == tmp_path / jit.source_stamp()
    assert {p for p in tmp_path.iterdir() if p not in others} == {ours, *stamps[: jit.KEPT_STAMPS - 1]}
    assert all((folder / "file.nbc").exists() for folder in others)


def test_cache_root_is_the_platforms(monkeypatch, tmp_path):
    monkeypatch.delenv("POLHODE_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jit.cache_root() == tmp_path / "polhode"
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path / "chosen"))
    assert jit.cache_root() == tmp_path / "chosen"
