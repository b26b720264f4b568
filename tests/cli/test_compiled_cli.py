"""Commands for compiled code: what is compiled in advance, where it is, and how it is removed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from polhode.cli import cli
from polhode.kernels.compiler import JIT, build, cache, code
from polhode.kernels.stepping.system_steps import first_fraction, step_factor


def run(*args):
    done = CliRunner().invoke(cli, args, prog_name="polhode")
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A folder for compiled code that does not exist yet."""
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path / "compiled"))
    cache.folder.cache_clear()
    yield tmp_path / "compiled"
    cache.folder.cache_clear()


@pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")
def test_everything_is_compiled_once_then_shown_and_removed(own_cache, monkeypatch):
    """Two small kernels stand for all of them, which take minutes."""
    assert run("cache") == f"{own_cache}\n0 files, 0.0 MB\n"
    kernels = {code.key_of(kernel, code.name_of(kernel)): kernel for kernel in (first_fraction, step_factor)}
    monkeypatch.setattr(build, "entries", lambda: kernels)

    assert f"compiled code is in {own_cache / cache.FOLDER}" in run("compile")
    files = {path: path.stat().st_ino for path in own_cache.rglob("*.*")}
    assert {path.name for path in files} == {f"{name}.{kind}" for name in kernels for kind in ("bc", "o")}
    assert {path.stat().st_mode & 0o777 for path in (own_cache, *own_cache.rglob("*")) if path.is_dir()} == {0o700}

    run("compile")
    assert {path: path.stat().st_ino for path in own_cache.rglob("*.*")} == files

    assert "5 files, 0.0 MB" in run("cache")
    (own_cache / "thesis.txt").write_text("not ours")
    assert run("cache", "--clear").endswith("removed\n")
    assert [path.name for path in own_cache.iterdir()] == ["thesis.txt"]


def test_where_nothing_is_compiled_the_command_says_so():
    command = [sys.executable, "-m", "polhode", "compile"]
    done = subprocess.run(command, env={**os.environ, "POLHODE_JIT": "0"}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unset that environment variable" in done.stderr
