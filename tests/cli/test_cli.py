"""The command line: what it writes and prints, and how it says no."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import tomllib

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import polhode as ph
from conftest import ROOT
from oracles.addition import addition_flow, addition_period
from polhode.cli import cli
from polhode.files import saving as store
from polhode.forces.base import Force
from polhode.methods import METHODS

pytestmark = pytest.mark.usefixtures("empty_pictures")

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


@pytest.mark.drawn
def test_run(tmp_path):
    result = run("run", "dzhanibekov", "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    path = tmp_path / "new" / "folder" / "overview.png"
    assert f"overview: {path}" in result.output
    assert png_size(path) == (1800, 810)
    check_table(result.output)


@pytest.mark.long
@pytest.mark.parametrize("command", [pytest.param(COMMANDS[0], marks=pytest.mark.long), COMMANDS[1]])
def test_run_for_real(tmp_path, command):
    done = subprocess.run(
        [*command, "run", "dzhanibekov", "--out", "here"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.endswith("% done")] == []  # of slow machines
    assert png_size(tmp_path / "here" / "overview.png") == (1800, 810)
    check_table(done.stdout)


def test_out_is_the_default_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "dzhanibekov").exit_code == 0
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["dzhanibekov"]


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
    (tmp_path / "overview.png").mkdir()
    result = run("run", "dzhanibekov", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "cannot write" in result.output
    assert file.read_text() == "precious"


def test_problems_lists_every_name():
    result = run("problems")
    assert result.exit_code == 0
    for name, make in ph.problems.REGISTRY.items():
        assert re.search(rf"^{name} +{re.escape(make().summary)} ", result.output, re.MULTILINE)
    found = {row["name"]: row for row in json.loads(run("problems", "--json").stdout)}
    assert list(found) == list(ph.problems.REGISTRY)
    assert found["heavy_top"]["arguments"] == ["eps", "moments", "m12", "t_end"]


def table(output):
    """Rows as {column: entry}; entries never hold two spaces in a row."""
    head, *rows = (re.split(r" {2,}", line) for line in output.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_methods_lists_schemes_and_methods():
    _, schemes, methods = run("methods").output.split("\n\n")
    rows = {row["scheme"]: row for row in table(schemes)}
    assert list(rows) == list(ph.schemes.SCHEMES)
    assert [rows["RKN6_14a"][x] for x in ("order", "torques", "made for")] == [
        "6",
        "14",
        "torques of the attitude alone",
    ]
    assert list(METHODS) == [row["method"] for row in table(methods)]


def test_methods_lists_every_flow():
    result = run("methods")
    assert result.exit_code == 0
    rows = {row["flow"]: row for row in table(result.output.split("\n\n")[0])}
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
    listed = json.loads(result.output)
    assert [row["name"] for row in listed["schemes"]] == list(ph.schemes.SCHEMES)
    assert [row["name"] for row in listed["methods"]] == list(METHODS)
    found = {row["name"]: row for row in listed["flows"]}
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


# Scenarios, settings, files


def loaded(folder):
    return store.load(folder / "trajectory.nc")


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", ph.problems.REGISTRY)
def test_every_problem_runs_and_is_drawn(name, tmp_path):
    settings = ("--t-end", "200") if name == "perturbed" else ()
    result = run("run", name, "--out", str(tmp_path), *settings)
    assert result.exit_code == 0, result.output
    assert result.exception is None
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"scenario.toml", "trajectory.nc", "summary.json", "overview.png"}
    for path in tmp_path.iterdir():
        assert str(path) in result.output
    assert png_size(tmp_path / "overview.png")[0] > 1000
    stored, problem = loaded(tmp_path), ph.problems.get(name)
    np.testing.assert_allclose(stored.m[0], problem.state.m, rtol=1e-15, atol=1e-15)
    assert stored.problem.name == name
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["m"] == stored.m[-1].tolist()
    assert summary["states"] == len(stored)
    assert summary["success"] is True
    assert summary["invariants"]["|q|"] < 1e-14
    assert summary["files"]["trajectory"] == str(tmp_path / "trajectory.nc")


def test_a_run_meets_its_truth(tmp_path):
    """The closed form of the librating satellite, by SciPy's elliptic functions."""
    from polhode.problems.satellite_orbit import orbit_rate, pitch_angle

    assert run("run", "satellite_orbit", "--set", "pitch=0.3", "--out", str(tmp_path)).exit_code == 0
    stored = loaded(tmp_path)
    angle = orbit_rate() * stored.t
    down = -np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    found = np.arcsin(-np.sum(stored.matrix[..., 0] * down, axis=-1))
    assert found[0] == pytest.approx(-0.3) or found[0] == pytest.approx(0.3)
    np.testing.assert_allclose(found, pitch_angle(stored.t, pitch=0.3), atol=1e-8)


def test_texts_follow_settings(tmp_path):
    """In the table, the summary, the picture and the page."""
    result = run("run", "dzhanibekov", "--set", "omega=[0, 5, 0.1]", "--view", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    for text in (result.output, (tmp_path / "summary.json").read_text(), page):
        assert "middle inertia" not in text
        assert "its bar, the axis of least inertia" in text
    assert "flips" not in result.output


def test_a_page_of_an_older_run_does_not_stay(tmp_path):
    """Nor do pictures, nor a trajectory in another format; files of users do."""
    plots = 'output.plots=["overview", "errors"]'
    first = ("run", "heavy_top", "--view", "--set", plots, "--set", "output.format=csv", "--out", str(tmp_path))
    assert run(*first).exit_code == 0
    (tmp_path / "energy.png").write_text("mine")  # a name that runs may use, too
    (tmp_path / "notes.txt").write_text("mine")
    assert (tmp_path / "view.html").exists()
    assert run("run", "heavy_top", "--set", "eps=0.1", "--out", str(tmp_path)).exit_code == 0
    own = {"scenario.toml", "trajectory.nc", "summary.json", "overview.png"}
    assert {path.name for path in tmp_path.iterdir()} == own | {"energy.png", "notes.txt"}
    assert run("view", str(tmp_path)).exit_code == 0  # a page that was asked for later
    assert run("run", "heavy_top", "--out", str(tmp_path)).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == own | {"energy.png", "notes.txt"}
    assert (tmp_path / "energy.png").read_text() == "mine"


@pytest.mark.parametrize("files", ['{"view": "../precious.png", "a": "/b/precious.txt"}', "[1]", '{"view": 3}'])
def test_a_list_of_files_removes_nothing_else(tmp_path, files):
    precious = tmp_path / "precious.png", tmp_path / "run" / "precious.png", tmp_path / "run" / "precious.txt"
    (tmp_path / "run").mkdir()
    for path in precious:
        path.write_text("precious")
    (tmp_path / "run" / "summary.json").write_text(f'{{"files": {files}}}')
    assert run("run", "dzhanibekov", "--out", str(tmp_path / "run")).exit_code == 0
    assert all(path.read_text() == "precious" for path in precious)


def test_a_long_run_is_not_mixed_with_a_short_one(tmp_path):
    long = ("run", "heavy_top", "--method", "V2", "--set", "output.format=zarr", "--view", "--out", str(tmp_path))
    assert run(*long).exit_code == 0
    before = {path.name for path in tmp_path.iterdir()}
    result = run("run", "heavy_top", "--method", "V2", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "trajectory.zarr exists already" in result.output
    assert {path.name for path in tmp_path.iterdir()} == before
    assert run("resume", str(tmp_path)).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == before - {"view.html"}


def test_a_name_that_would_leave_the_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "evil.toml").write_text('name = "../../evil"\nproblem = "dzhanibekov"\n')
    for command in ("run", "ensemble"):
        result = run(command, "evil.toml")
        assert result.exit_code == 2
        assert "expected a short name" in result.output
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "evil.toml"]


def test_options(tmp_path):
    result = run(
        "run", "heavy_top", "--set", "eps=0.1", "--set", "output.save_every=4", "--h", "0.1",
        "--method", "Splitting(Gauss(3), 'S6_10')", "--t-end", "4", "--out", str(tmp_path), "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    expected = ph.integrate(
        ph.problems.heavy_top(0.1), (0, 4), method=ph.Splitting(ph.Gauss(3), "S6_10"), h=0.1, save_every=4
    )
    stored = loaded(tmp_path)
    np.testing.assert_array_equal(stored.t, expected.t)
    np.testing.assert_array_equal(stored.q, expected.q)
    assert (summary["steps"], summary["torques"]) == (40, expected.stats.torques)
    assert summary == json.loads((tmp_path / "summary.json").read_text())
    written = tomllib.loads((tmp_path / "scenario.toml").read_text())
    assert written == {
        "problem": "heavy_top", "arguments": {"eps": 0.1, "moments": [1.0, 1.5, 2.25], "m12": [0.5, 0.75]},
        "output": {"save_every": 4, "plots": ["overview"]}, "h": 0.1, "t_span": [0.0, 4.0],
        "method": "Splitting(Gauss(3), 'S6_10')",
    }  # fmt: skip
    again = tmp_path / "again"
    assert run("run", str(tmp_path / "scenario.toml"), "--out", str(again)).exit_code == 0
    np.testing.assert_array_equal(loaded(again).q, expected.q)


def test_a_scenario_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "examples" / "top.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace("states = 2001", 'states = 11\nformat = "csv"'))
    result = run("run", "mine.toml")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "out" / "top"
    assert {p.name for p in folder.iterdir()} == {
        "scenario.toml", "trajectory.csv", "summary.json", "overview.png", "errors.png"
    }  # fmt: skip
    assert len(store.load(folder / "trajectory.csv")) == 11
    assert "why" in result.output
    assert "estimated error" in result.output


def test_a_batch(tmp_path):
    result = run(
        "run", "heavy_top", "--set", "m12=[[0.1, 0.2], [0.3, 0.4], [0, 0.1], [0, 0.2]]", "--out", str(tmp_path)
    )
    assert result.exit_code == 0, result.output
    assert value_of("bodies", result.output) == "4"
    assert loaded(tmp_path).m.shape[1:] == (4, 3)


def test_free_bodies_of_all_kinds(tmp_path):
    body = "t_span = [0, 9]\n[body]\nmoments = {}\n[state]\nm = {}\n"
    cases = [
        ("[1, 1, 2]", "[1, 0, 1]"),
        ("[2, 2, 2]", "[1, 0, 1]"),
        ("[1, 2, 3]", "[0, 0, 0]"),
        ("[1, 2, 3]", "[0, 1, 0]"),
    ]
    cases.append(("[1, 2, 3]", "[[0, 1, 0], [0, 1, 1]]"))
    for i, (moments, m) in enumerate(cases):
        path = tmp_path / f"{i}.toml"
        path.write_text(body.format(moments, m))
        result = run("run", str(path), "--out", str(tmp_path / str(i)))
        assert result.exit_code == 0, result.output
        assert loaded(tmp_path / str(i)).success


def test_python_torques_need_a_flag(tmp_path):
    example = str(ROOT / "examples" / "motor.toml")
    refused = run("run", example, "--out", str(tmp_path / "no"))
    assert refused.exit_code == 2
    assert "--allow-python" in refused.output
    assert not (tmp_path / "no").exists()
    result = run("run", example, "--allow-python", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert abs(loaded(tmp_path).omega[-1, 2] - 3.0) < 1e-2  # the rate at which the motor rests


# Ends that are not the end


def test_a_torque_that_fails_keeps_what_was_computed(tmp_path):
    (tmp_path / "failing.py").write_text(
        "def late(t, Q, w, p):\n    if t > 1.0:\n        raise ValueError('too late')\n    return 0.0, 0.0, 0.1\n"
    )
    (tmp_path / "late.toml").write_text(
        't_span = [0, 2]\nmethod = "V2"\nh = 0.25\n[body]\nmoments = [1, 2, 3]\n[state]\nm = [1, 1, 1]\n'
        '[force]\npython = "failing:late"\n'
    )
    out = tmp_path / "out"
    result = run("run", str(tmp_path / "late.toml"), "--allow-python", "--out", str(out))
    sys.modules.pop("failing")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "too late" in result.output
    assert str(out / "trajectory.nc") in result.output
    assert (out / "overview.png").exists()
    stored = loaded(out)
    assert not stored.success
    assert np.isfinite(stored.m[:4]).all()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["success"] is False
    assert summary["t"][1] == 1.0


def hear_ctrl_c():
    """Shells let what they start in the background ignore it, and so do the children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(tmp_path):
    """Starts the command line in a process of its own, which does not outlive the test."""
    started = []

    def begin(*arguments):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": hear_ctrl_c}
        started.append(subprocess.Popen([*COMMANDS[0], *arguments], cwd=tmp_path, text=True, **how))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


LONG_RUN = ("run", "perturbed", "--method", "S6_10", "--t-end", "3e5", "--set", "output.format=zarr", "--set",
            "output.save_every=10")  # fmt: skip


def wait_for(path, process):
    for _ in range(3000):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError(f"{path} did not come")


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_a_run_that_was_ended_goes_on(tmp_path, start, ending):
    process = start(*LONG_RUN, "--out", "long")
    path = tmp_path / "long" / "trajectory.zarr"
    wait_for(path, process)
    time.sleep(0.5)
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    if ending == signal.SIGINT:
        assert process.returncode == 130, err
        assert "interrupted" in err
        assert "polhode resume long" in err
        assert "Traceback" not in err
        assert f"trajectory: {os.path.join('long', 'trajectory.zarr')}" in out
        assert not store.load(path).success
    result = run("resume", str(tmp_path / "long"), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["steps"] == 600_000
    problem = ph.problems.perturbed(3e5)
    expected = ph.integrate(problem, method="S6_10", save_every=10)
    stored = store.load(path)
    assert len(stored) == 60_001
    np.testing.assert_array_equal(stored.m, expected.m)
    np.testing.assert_array_equal(stored.q, expected.q)


@pytest.mark.long
def test_ctrl_c_in_a_short_run_keeps_what_was_computed(tmp_path, start):
    """Not one that grows on the disk: what is there is written at the end."""
    command = (
        "run",
        "perturbed",
        "--method",
        "S6_10",
        "--t-end",
        "1e9",
        "--set",
        "output.save_every=100000",
        "--out",
        "o",
    )
    process = start(*command)
    wait_for(tmp_path / "o", process)
    time.sleep(3.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    if "trajectory" in out:  # else it was still loading compiled code
        stored = store.load(tmp_path / "o" / "trajectory.nc")
        assert not stored.success
        assert np.isfinite(stored.m[0]).all()


EDITED = """
t_span = [0.0, 1.0]
method = "V2"
h = 0.1
[body]
moments = [1.0, 2.0, 3.0]
[state]
m = [0.3, 0.2, 0.9]
[[force]]
python = "edited_torque:push"
[output]
format = "zarr"
plots = []
"""


def test_an_edited_torque_goes_on_by_force_only(tmp_path, monkeypatch):
    scenario, torque, out = tmp_path / "push.toml", tmp_path / "edited_torque.py", tmp_path / "out"
    scenario.write_text(EDITED)
    torque.write_text("def push(t, Q, w, p):\n    return 0.1, 0.0, 0.0\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert run("run", str(scenario), "--allow-python", "--out", str(out)).exit_code == 0
    torque.write_text("def push(t, Q, w, p):\n    return 0.2, 0.0, 0.0\n")
    monkeypatch.delitem(sys.modules, "edited_torque")
    refused = run("resume", str(out), "--allow-python")
    assert refused.exit_code == 2
    assert "the code of push differ" in " ".join(refused.output.split())
    assert run("resume", str(out), "--allow-python", "--force").exit_code == 0
    monkeypatch.delitem(sys.modules, "edited_torque")


def test_resume_says_what_it_cannot_go_on_with(tmp_path):
    assert "scenario.toml cannot be read" in run("resume", str(tmp_path / "none")).output
    assert run("run", "heavy_top", "--out", str(tmp_path)).exit_code == 0
    result = run("resume", str(tmp_path))
    assert result.exit_code == 2
    assert "polhode run" in result.output
    long = tmp_path / "long"
    assert run("run", "heavy_top", "--method", "V2", "--set", "output.format=zarr", "--out", str(long)).exit_code == 0
    assert run("resume", str(long)).exit_code == 0  # it is finished: only the pictures are drawn again
    checkpoint = long / "trajectory.zarr" / "time" / "checkpoint"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-20])
    for command in (("resume", str(long)), ("convert", str(long / "trajectory.zarr"), str(tmp_path / "x.csv"))):
        result = run(*command)
        assert result.exit_code == 2
        assert "damaged" in result.output
    again = run("run", "heavy_top", "--method", "V2", "--set", "output.format=zarr", "--out", str(long))
    assert again.exit_code == 2  # never written over
    assert "exists already" in again.output


# Errors


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("run", "heavy_top", "--set", "epz=1"), "arguments.epz is not known; did you mean 'eps'"),
        (("run", "heavy_top", "--set", "eps"), "KEY=VALUE"),
        (("run", "heavy_top", "--method", "RKN6_14"), "did you mean 'RKN6_14a'"),
        (("run", "vessel", "--method", "RKN6_14a"), "choose S4_6"),
        (("run", "heavy_top", "--h", "-1"), "h = -1.0; expected the step size"),
        (("run", "heavy_top", "--h", "x"), "not a valid float"),
        (("run", "heavy_top", "--t-end", "0"), "two different finite times"),
        (("run", "none.toml"), "none.toml cannot be read"),
        (("order", "Gaus(3)"), "did you mean 'Gauss'"),
        (("order", "Exact()", "--t", "0"), "one finite time"),
        (("compare", "hevy_top"), "did you mean 'heavy_top'"),
        (("compare", "heavy_top", "--method", "V3"), "no scheme or method"),
        (("cite", "nobody"), "no scheme or method is called"),
        (("convert", "none.nc", "x.csv"), "none.nc does not exist"),
        (("convert", "none.xyz", "x.csv"), "none.xyz does not exist"),
        (("completion", "tcsh"), "tcsh"),
    ],
)
def test_user_errors(arguments, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert match in result.output
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where():
    shown = run("run", "heavy_top", "--method", "RKN6", "--debug").exception
    assert isinstance(shown, ph.InputError)
    assert isinstance(shown.__cause__, ph.errors.UnknownNameError)


def test_missing_extras_are_told_before_anything_runs(tmp_path, monkeypatch):
    import polhode.core.extras

    found = polhode.core.extras.find_spec
    monkeypatch.setattr(polhode.core.extras, "find_spec", lambda name: None if name == "h5netcdf" else found(name))
    result = run("run", "heavy_top", "--set", "output.format=nc", "--out", str(tmp_path / "x"))
    assert result.exit_code == 2
    assert "pip install 'polhode[store]'" in result.output
    assert not (tmp_path / "x").exists()
    assert run("run", "heavy_top", "--out", str(tmp_path)).exit_code == 0  # nobody asked for netCDF
    assert len(store.load(tmp_path / "trajectory.csv")) > 2


# Studies, citations, conversions, completion


@pytest.mark.drawn
def test_order(tmp_path):
    path = tmp_path / "new" / "order.png"
    steps = ("--h", "0.2", "--h", "0.1", "--h", "0.05")
    result = run("order", "ThreeRotations(4)", "--t", "5", *steps, "--plot", str(path))
    assert result.exit_code == 0, result.output
    assert f"picture: {path}" in result.output
    assert png_size(path)[0] > 500
    found = json.loads(run("order", "ThreeRotations(4)", "--t", "5", *steps, "--json").stdout)
    problem = ph.problems.free_body()
    expected = ph.order_study(ph.ThreeRotations(4), problem.body, problem.state, 5.0, (0.2, 0.1, 0.05))
    assert found == expected.to_dict()
    assert str(expected) in result.output
    assert abs(found["order_q"][-1] - 4) < 0.1


@pytest.mark.drawn
def test_compare(tmp_path):
    path = tmp_path / "compare.png"
    result = run(
        "compare", "vilmart_top", "--method", "V2", "--method", "S4_6", "--h", "0.1", "--h", "0.05", "--json",
        "--plot", str(path),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    runs = json.loads(result.stdout)["runs"]
    assert [(r["method"], r["h"]) for r in runs] == [
        (f"Splitting(Exact(), '{name}')", h) for name in ("V2", "S4_6") for h in (0.1, 0.05)
    ]
    assert runs[0]["error_q"] / runs[1]["error_q"] == pytest.approx(4, rel=0.1)
    assert runs[2]["error_q"] / runs[3]["error_q"] == pytest.approx(16, rel=0.1)
    assert png_size(path)[0] > 500
    damped = run("compare", "vessel", "--h", "0.1")
    assert damped.exit_code == 0, damped.output
    assert "RKN6_14a" not in damped.output  # which does not take damping


def test_cite():
    result = run("cite", "heavy_top", "RKN6_14a", "Gauss(3)", "Rattle")
    assert result.exit_code == 0, result.output
    expected = ph.cite(ph.problems.heavy_top(), "RKN6_14a", ph.Gauss(3), ph.Rattle())
    assert result.output.splitlines() == list(expected)
    assert json.loads(run("cite", "Gauss(3)", "--json").stdout) == list(ph.cite(ph.Gauss(3)))


def test_convert(tmp_path):
    assert run("run", "heavy_top", "--out", str(tmp_path)).exit_code == 0
    first = loaded(tmp_path)
    for source, target in (("trajectory.nc", "a.csv"), ("a.csv", "b.zarr"), ("b.zarr", "c.nc")):
        result = run("convert", str(tmp_path / source), str(tmp_path / target))
        assert result.exit_code == 0, result.output
        assert str(tmp_path / target) in result.output
    np.testing.assert_array_equal(store.load(tmp_path / "c.nc").q, first.q)
    refused = run("convert", str(tmp_path / "c.nc"), str(tmp_path / "d.aem"))
    assert refused.exit_code == 2
    assert "object_name" in refused.output
    names = ("object_name=TOP", "object_id=2026-001A", "originator=ME", "epoch=2026-01-01T00:00:00", "time_system=UTC",
             "space_frame=EME2000", "body_frame=SC_BODY_1")  # fmt: skip
    settings = [word for name in names for word in ("--set", name)]
    result = run("convert", str(tmp_path / "c.nc"), str(tmp_path / "d.aem"), *settings)
    assert result.exit_code == 0, result.output
    assert "OBJECT_NAME = TOP" in (tmp_path / "d.aem").read_text()


def test_convert_a_system(tmp_path):
    push = ph.interactions.Field(lambda t, x, Q, F, T, p: None, arrays=True)
    gas = ph.System(ph.RigidBody((1, 2, 3), mass=1), ph.State(np.ones((1, 3)), x=[(1.0, 2.0, 3.0)]), push)
    ph.integrate(gas, (0, 1), h=0.5).save(tmp_path / "gas.nc")
    result = run("convert", str(tmp_path / "gas.nc"), str(tmp_path / "gas.xyz"), "--set", "species=He")
    assert result.exit_code == 0, result.output
    assert "\nHe 1.0 2.0 3.0 " in (tmp_path / "gas.xyz").read_text()
    refused = run("convert", str(tmp_path / "gas.nc"), str(tmp_path / "gas.csv"))
    assert refused.exit_code == 2
    assert ".csv files are for bodies without positions" in refused.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    result = run("completion", shell)
    assert result.exit_code == 0, result.output
    assert "_POLHODE_COMPLETE" in result.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("polhode ru", "run"),
        ("polhode run dz", "dzhanibekov"),
        ("polhode run heavy_top --method RKN8", "RKN8_19"),
        ("polhode order Gau", "Gauss"),
        ("polhode compare ves", "vessel"),
        ("polhode run heavy_top --set ", "eps="),
        ("polhode run heavy_top --set eps=1 --set m1", "m12="),
        ("polhode run heavy_top --set ou", "output.save_every="),
        ("polhode run examples/top.toml --set force.we", "force.weight="),
        ("polhode ensemble examples/debris.toml --set ensemble.c", "ensemble.count="),
        ("polhode compare dzhanibekov --set ", "omega="),
        ("polhode order Gauss --problem satellite_orbit --set pi", "pitch="),
    ],
)
def test_completion_knows_the_names(words, expected, monkeypatch):
    monkeypatch.chdir(ROOT)
    *arguments, begun = words.split(" ")[1:]
    found = ShellComplete(cli, {}, "polhode", "_POLHODE_COMPLETE").get_completions(arguments, begun)
    assert expected in [item.value for item in found]


def test_completion_in_a_shell():
    words, expected = "polhode run heavy_top --method RKN8", "RKN8_19"
    environment = {
        **os.environ, "_POLHODE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))
    }  # fmt: skip
    done = subprocess.run(COMMANDS[1], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"plain,{expected}" in done.stdout.splitlines(), done.stderr


def test_every_command_has_help_with_an_example():
    for name in cli.commands:
        result = run(name, "--help")
        assert result.exit_code == 0
        assert re.search(
            rf"Examples?:\n +polhode {'run' if name == 'problems' else name}|polhode {name}", result.output
        )


def test_drifts_see_an_error():
    """Of |q|, energy, |m| and Q m, each by an amount that is put in."""
    from polhode.integration.invariants import drifts

    problem = ph.Problem((1, 2, 3), ph.State(m=(1, 1, 1)), t_span=(0, 9))
    traj = ph.integrate(problem, method="V2", h=0.5)
    assert all(np.abs(drift).max() < 1e-14 for drift in drifts(traj).values())
    traj = traj.replaced(q=traj.q * (1 + 1e-7))
    assert np.abs(drifts(traj)["|q|"]).max() == pytest.approx(1e-7, rel=1e-6)
    traj.m[3] *= 1 + 1e-5
    assert np.abs(drifts(traj)["energy"]).argmax() == np.abs(drifts(traj)["|m|"]).argmax() == 3
    assert np.abs(drifts(traj)["energy"]).max() == pytest.approx(2e-5, rel=1e-4)
    assert np.abs(drifts(traj)["Q m"])[3] > 1e-6


@pytest.mark.drawn
@pytest.mark.parametrize(("suffix", "more"), [("nc", 0), ("zarr", 1)])  # a long run first loads compiled code
def test_a_run_computes_potential_energies_once(suffix, more, tmp_path, monkeypatch):
    """For the file, the summary and the pictures."""
    evaluate, states = Force.potential, []
    monkeypatch.setattr(Force, "potential", lambda force, t, q: states.append(np.size(t)) or evaluate(force, t, q))
    result = run("run", "heavy_top", "--method", "V2", "--set", f"output.format={suffix}", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "energy held to" in result.output
    assert sum(states) == len(store.load(tmp_path / f"trajectory.{suffix}")) + more


# The scenario in the folder

NO_PLOTS = ("--set", "output.plots=[]")


@pytest.mark.parametrize(
    "arguments",
    [
        ("heavy_top",),
        ("heavy_top", "--rtol", "1e-6", "--t-end", "5"),
        ("heavy_top", "--method", "V2", "--set", "output.format=zarr"),
        ("vessel", "--set", "damped=false", "--set", "output.states=11"),
        ("dzhanibekov", "--set", "omega=[0, 5, 0.1]"),
        ("dzhanibekov", "--h", "0.5"),
        ("dzhanibekov", "--h", "0.5", "--set", "output.states=11"),
        ("heavy_top", "--method", "Adaptive(1e-8)", "--set", "m12=[[0.1, 0.2], [0.3, 0.4]]"),
    ],
)
def test_the_scenario_of_a_run_has_all_settings(arguments, tmp_path):
    """Run again, it gives the same bits."""
    first, again = tmp_path / "first", tmp_path / "again"
    assert run("run", *arguments, *NO_PLOTS, "--out", str(first)).exit_code == 0
    result = run("run", str(first / "scenario.toml"), "--out", str(again))
    assert result.exit_code == 0, result.output
    a, b = (store.load(next(folder.glob("trajectory.*"))) for folder in (first, again))
    assert (a.t.tobytes(), a.m.tobytes(), a.q.tobytes()) == (b.t.tobytes(), b.m.tobytes(), b.q.tobytes())
    written = tomllib.loads((first / "scenario.toml").read_text())
    assert tomllib.loads((again / "scenario.toml").read_text()) == written
    made = ph.problems.REGISTRY[arguments[0]]
    assert set(written["arguments"]) >= set(inspect.signature(made).parameters) - {"t_end"}
    if arguments[0] != "dzhanibekov":
        assert written["method"] == repr(a.method)
        assert (written.get("h", np.nan) >= a.h) or a.method.chooses_steps


def test_method_and_step_of_the_written_scenario_can_be_changed(tmp_path):
    satellite = ("satellite", "--set", "t_end=10", "--rtol", "1e-6")
    assert run("run", *satellite, *NO_PLOTS, "--out", str(tmp_path)).exit_code == 0
    path = tmp_path / "scenario.toml"
    text = path.read_text()
    assert "For rtol = 1e-06, polhode chose method and h" in text
    text = re.sub(r"^method = .*$", 'method = "S4_6"', text, flags=re.MULTILINE)
    path.write_text(re.sub(r"^h = .*$", "h = 0.25", text, flags=re.MULTILINE))
    assert run("run", str(path), "--out", str(tmp_path / "changed")).exit_code == 0
    changed = loaded(tmp_path / "changed")
    assert (repr(changed.method), changed.h) == ("Splitting(Exact(), 'S4_6')", 0.25)


@pytest.mark.parametrize(
    "refused",
    [
        ("--method", "V2", "--set", "output.format=zarr"),
        ("--method", "Adaptive(1e-8)", "--h", "0.1"),
        ("--method", "V2", "--h", "1e-300"),
        ("--rtol", "1e-17"),
    ],
)
def test_a_run_that_is_refused_changes_nothing_in_the_folder(refused, tmp_path):
    assert run("run", "heavy_top", "--set", "eps=0.1", *NO_PLOTS, "--out", str(tmp_path)).exit_code == 0
    (tmp_path / "trajectory.zarr").mkdir()  # somebody's own
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    result = run("run", "heavy_top", *refused, "--out", str(tmp_path))
    assert result.exit_code == 2, result.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("method", [ph.Splitting(None, "V2"), ph.Adaptive(1e-6)], ids=repr)
def test_the_time_of_a_run_is_that_of_its_steps(method, monkeypatch):
    """Not that of the compiler, or of loading what it compiled."""
    made, calls = type(method).advance, []

    def slowly(self, force):
        if not calls:
            time.sleep(0.2)
        calls.append(self)
        return made(self, force)

    ph.integrate(ph.problems.heavy_top(), method=method)
    monkeypatch.setattr(type(method), "advance", slowly)
    assert ph.integrate(ph.problems.heavy_top(), method=method).stats.seconds < 0.1
    assert calls
