"""The command line: what it writes and prints, and how it says no."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from oracles.addition import addition_flow, addition_period
from polhode.cli import cli

COMMANDS = ([sys.executable, "-m", "polhode"], [os.path.join(os.path.dirname(sys.executable), "polhode")])


def run(*args):
    return CliRunner().invoke(cli, args, prog_name="polhode")


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def value_of(label, output):
    return re.search(rf"^  {re.escape(label)} +(.*)$", output, re.MULTILINE).group(1)


def check_table(output):
    """Period, flips and energy of the T-handle against the oracle."""
    problem = ph.problems.dzhanibekov()
    inertia, m = problem.body.moments.tolist(), problem.state.m.tolist()
    number, unit = value_of("period of m", output).split()
    assert unit == "s"
    period = float(addition_period(inertia, m))
    assert float(number) == pytest.approx(period, rel=1e-14)
    *flips, last = value_of("flips", output).split(", ")
    flips = [float(x) for x in (*flips, last.removesuffix(" s"))]
    assert len(flips) == int(15 / (period / 2) + 0.5)
    np.testing.assert_allclose(np.diff(flips), period / 2, atol=2e-6, rtol=0)
    for flip in flips:  # six digits after the point: m2 has changed its sign within them
        before, after = (addition_flow(inertia, m, (1, 0, 0, 0), flip + d)[0][0] for d in (-1e-6, 1e-6))
        assert before * after < 0
    energy = float(value_of("energy", output).split()[0])
    assert energy == pytest.approx(0.5 * sum(x * x / y for x, y in zip(m, inertia, strict=True)), rel=1e-14)
    assert value_of("regime", output) == "around_min"
    for label in ("energy held to", "|m| held to", "Q m held to", "|q| held to"):
        assert float(value_of(label, output).split()[0]) < 1e-13


def test_run(tmp_path):
    result = run("run", "dzhanibekov", "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    path = tmp_path / "new" / "folder" / "dzhanibekov.png"
    assert f"picture: {path}" in result.output
    assert png_size(path) == (1800, 810)
    check_table(result.output)


@pytest.mark.parametrize("command", COMMANDS, ids=["python -m polhode", "polhode"])
def test_run_for_real(tmp_path, command):
    done = subprocess.run(
        [*command, "run", "dzhanibekov", "--out", "here"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert png_size(tmp_path / "here" / "dzhanibekov.png") == (1800, 810)
    check_table(done.stdout)


def test_out_is_the_default_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "dzhanibekov").exit_code == 0
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["dzhanibekov.png"]


@pytest.mark.parametrize("command", COMMANDS[:1])
def test_unknown_name(tmp_path, command):
    done = subprocess.run([*command, "run", "djanibekov"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'dzhanibekov'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    result = run("run", "quaternion")
    assert result.exit_code == 2
    assert "known are: dzhanibekov" in result.output


def test_a_file_in_the_way(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    for out in (file, file / "below"):
        result = run("run", "dzhanibekov", "--out", str(out))
        assert result.exit_code == 2, result.output
        assert "file" in result.output
        assert "Traceback" not in result.output
    (tmp_path / "dzhanibekov.png").mkdir()
    result = run("run", "dzhanibekov", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "cannot write" in result.output
    assert file.read_text() == "precious"


def test_problems_lists_every_name():
    result = run("problems")
    assert result.exit_code == 0
    for name, make in ph.problems.REGISTRY.items():
        assert re.search(rf"^{name} +{re.escape(make().summary)}$", result.output, re.MULTILINE)


def table(output):
    """Rows as {column: entry}; entries never hold two spaces in a row."""
    head, *rows = (re.split(r" {2,}", line) for line in output.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_methods_lists_every_flow():
    result = run("methods")
    assert result.exit_code == 0
    rows = {row["flow"]: row for row in table(result.output)}
    assert list(rows) == [repr(flow) for flow in ph.flows.variants()]
    exact, midpoint = rows["Exact()"], rows["Midpoint()"]
    assert [exact[x] for x in ("order", "symmetric", "Poisson", "symplectic")] == ["exact", "yes", "yes", "yes"]
    assert [midpoint[x] for x in ("order", "symmetric", "Poisson", "symplectic")] == ["2", "yes", "no", "no"]
    assert exact["preserves"] == "|m|, energy, Q m"
    assert rows["NoSquish()"]["preserves"] == "|m|, Q m"
    assert rows["SymmetricRotation()"]["summary"] == ph.SymmetricRotation().record.summary


def test_methods_for_machines():
    result = run("methods", "--json")
    assert result.exit_code == 0
    found = {row["name"]: row for row in json.loads(result.output)}
    for flow in ph.flows.variants():
        row, record = found.pop(repr(flow)), flow.record
        assert (row["order"], row["symmetric"], row["poisson"]) == (record.order, record.symmetric, record.poisson)
        assert (row["symplectic"], row["summary"], row["limits"]) == (record.symplectic, record.summary, record.limits)
        assert set(row["preserves"]) == record.preserves
        assert row["references"] == list(record.references)
    assert not found


def test_methods_help():
    assert "polhode methods --json" in run("methods", "--help").output


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(option):
    result = run(option)
    assert result.exit_code == 0
    assert "Usage: polhode" in result.output
    assert "polhode run dzhanibekov" in result.output
    assert "--out" in run("run", option).output


def test_version():
    assert run("--version").output == f"polhode, version {ph.__version__}\n"


def test_a_mistyped_command_is_a_usage_error():
    assert run("rnu").exit_code == 2
    assert run("run").exit_code == 2


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("run", "dzhanibekov", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "pip install 'polhode[plot]'" in result.output
    check_table(result.output)  # the numbers are not lost


def test_without_click(monkeypatch, capsys):
    from polhode.__main__ import main

    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "polhode.cli")
    monkeypatch.delattr(ph, "cli", raising=False)
    with pytest.raises(SystemExit) as caught:
        main()
    assert "pip install 'polhode[cli]'" in str(caught.value.code)


def test_other_import_errors_are_not_mistaken_for_a_missing_click(monkeypatch):
    from polhode.__main__ import main

    monkeypatch.setitem(sys.modules, "polhode.cli", None)
    with pytest.raises(ImportError, match=r"polhode\.cli"):
        main()


@pytest.mark.parametrize("name", ["heavy_top", "vessel"])
def test_run_a_torqued_problem(name, tmp_path):
    result = run("run", name, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    expected = ph.integrate(ph.problems.get(name), method="V2" if name == "vessel" else "RKN6_14a")
    assert f"{expected.m[-1, 0]:.12g}" in result.output
    assert "held to" in result.output
