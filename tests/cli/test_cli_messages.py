"""What the command line says: its help, its errors and its hints, in the words of a shell."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import polhode as ph
from polhode.cli import cli
from polhode.core import capacity
from polhode.core.errors import PolhodeError
from polhode.core.messages import in_shell_words
from polhode.ensembles import cluster, members
from polhode.ensembles.ensemble import open_ensemble
from polhode.files import record
from polhode.files.long_runs import stream
from polhode.integration import running


def run(*args):
    return CliRunner().invoke(cli, [str(word) for word in args], prog_name="polhode")


def message_of(result):
    """The message, on one line."""
    return " ".join(result.stderr.split())


# Help


def test_summaries_of_commands_are_whole_sentences_on_one_line():
    text = run("--help").output.partition("Commands:\n")[2]
    rows = text.splitlines()
    assert [row.split()[0] for row in rows] == list(cli.commands)
    assert not [row for row in rows if "..." in row]


def test_summaries_are_not_cut_in_narrow_terminals():
    text = CliRunner().invoke(cli, ["--help"], prog_name="polhode", terminal_width=50).output.partition("Commands:")[2]
    assert "..." not in text
    assert "Measure how the error of a free flow decreases with its step size" in " ".join(text.split())


# Usage lines


@pytest.mark.parametrize("arguments", [("rnu",), ("run",), ("run", "heavy_top", "--h", "x"), ("run", "--nothing")])
def test_a_mistyped_command_gets_a_usage_line(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: polhode")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "heavy_top", "--set", "eps=abc"),
        ("run", "heavy_top", "--h", "-1"),
        ("run", "none.toml"),
        ("view", "nowhere"),
        ("convert", "none.nc", "x.csv"),
        ("compare", "heavy_top", "--method", "V3"),
    ],
)
def test_what_is_wrong_in_a_value_or_a_file_gets_none(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert "Usage:" not in result.stderr


def test_a_page_of_what_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("nowhere", "nowhere.nc", "nowhere.zarr", "nowhere.xyz"):
        assert message_of(run("view", name)).startswith(f"Error: {name} does not exist")


# Hints


FREE = ph.problems.free_body()
TOP = """
t_span = [0, 1]
h = 0.1
method = "V2"
[body]
moments = [1, 2, 3]
[state]
m = [1, 1, 1]
[[force]]
kind = "gravity"
weight = 1
offset = [0, 0, 1]
[ensemble]
count = 4
seed = 1
[ensemble.samples]
"state.m" = {kind = "direction"}
"""
PULSE = """
t_span = [0, 10]
[body]
moments = [1, 2, 3]
[state]
m = [1, 1, 1]
[[force]]
python = "pulse_of_a_hint:pulse"
[output]
states = 5
plots = []
"""
NEEDED = ("object_name=A", "object_id=B", "originator=C", "epoch=2026-01-01T00:00:00", "time_system=UTC",
          "space_frame=D", "body_frame=E")  # fmt: skip
OF_AEM = tuple(word for setting in NEEDED for word in ("--set", setting))
FEWER = "keep fewer, with --set output.save_every=... or --set output.states=..., or write them to a disk as they are "
ANOTHER_DISK = ", make room, or choose a folder on another disk with --out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with scenarios, an ensemble, a batch, a damaged run and an .aem file of two segments."""
    folder = tmp_path_factory.mktemp("hints")
    (folder / "top.toml").write_text(TOP)
    (folder / "pulse.toml").write_text(PULSE)
    (folder / "pulse_of_a_hint.py").write_text(
        "def pulse(t, Q, w, p):\n    return (0.0, 0.0, 5.0 if 5.0015 < t < 5.0035 else 0.0)\n"
    )
    with chdir(folder):
        assert run("ensemble", "top.toml", "--out", "e.zarr").exit_code == 0
        ph.integrate(ph.Problem((1, 2, 3), ph.State(m=[(1, 1, 1), (1, 0, 1)]), t_span=(0, 1)), h=0.5).save("batch.nc")
        stream(ph.problems.heavy_top(), "damaged.zarr", method="V2")
        chunk = next(Path("damaged.zarr", "q").glob("[0-9]*"))
        chunk.write_bytes(chunk.read_bytes()[:-1])
        ph.integrate(FREE, h=0.5).save("two.aem", **dict(setting.split("=") for setting in NEEDED))
        lines = [line for line in Path("two.aem").read_text().splitlines() if not line.startswith("COMMENT")]
        Path("two.aem").write_text("\n".join([*lines, *lines[lines.index("META_START") :], ""]))
    return folder


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("ensemble", "top.toml", "--out", "e.zarr"), "; add --resume to go on, or choose another name"),
        (("ensemble", "top.toml", "--out", "no.zarr", "--resume"), "no.zarr does not exist; omit --resume to begin"),
        (
            ("ensemble", "top.toml", "--out", "e.zarr", "--resume", "--set", "ensemble.seed=2"),
            "; repeat the command as it was, or choose another name",
        ),
        (
            ("ensemble", "top.toml", "--out", "x.zarr", "--force"),
            "Error: --force goes on although functions have changed: it needs --resume",
        ),
        (("run", "pulse.toml"), "not loaded by default; if you trust it, add --allow-python"),
        (("convert", "two.aem", "x.csv"), "; in Python, polhode.files.aem_reader.read(path) returns a list of them"),
        (("convert", "batch.nc", "x.aem"), "body_frame; add --set object_name=..."),
        (("convert", "batch.nc", "x.aem", *OF_AEM), "this is a batch (2,); add --set body=..., its index"),
        (
            ("convert", "damaged.zarr", "x.csv"),
            "; in Python, polhode.load(path, damaged='skip') returns the other states",
        ),
        (
            ("run", "top.toml", "--set", "state.q=[1, 1, 0, 0]"),
            "top.toml: state: q = (1, 1, 0, 0) has norm 1.41421356; expected a unit quaternion, scalar "
            "first, within 1e-06; divide it by its norm if only its direction is meant",
        ),
        (("run", "top.toml", "--set", "force.0.up=[0, 0, 0]"), "no direction; give for instance up = [0, 0, 1]"),
        (
            ("run", "heavy_top", "--method", "Adaptive(1e-9, max_steps=3)"),
            '; add --method "Adaptive(rtol, max_steps=...)" for more, or increase rtol',
        ),
        (
            ("run", "heavy_top", "--method", "Adaptive", "--h", "0.1"),
            '; add --method "Adaptive(rtol, max_step=0.1)", or omit --h',
        ),
        (("run", "heavy_top", "--rtol", "1e-17"), "the level of round-off; add --rtol 1e-9"),
        (("run", "heavy_top", "--method", "Adaptive(1e-17)"), "the level of round-off; add --rtol 1e-9"),
        (
            ("run", "heavy_top", "--method", "V2", "--t-end", "1e13", "--set", "output.format=nc"),
            f"; {FEWER}computed, with --set output.format=zarr",
        ),
        (
            ("run", "heavy_top", "--method", "V2", "--t-end", "1e13", "--set", "output.format=zarr"),
            f" free; keep fewer, with --set output.save_every=...{ANOTHER_DISK}",
        ),
        (("order", "Gauss(3)", "--h", "0.1"), "2 steps or more, such as --h 0.2 --h 0.1 --h 0.05"),
        (("order", "Midpoint", "--t", "1e6"), "expected a shorter t, or step sizes --h ..."),
    ],
)  # fmt: skip
def test_hints_are_in_the_words_of_a_shell(command, hint, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = run(*command, *(("--out", "out") if command[0] == "run" else ()))
    assert result.exit_code > 0
    assert message_of(result).endswith(hint)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (
            ("run", "heavy_top", "--method", "V2", "--set", "output.format=nc"),
            f" free; keep fewer, with --set output.save_every=...{ANOTHER_DISK}",
        ),
        (
            ("ensemble", "top.toml"),
            " free; keep fewer times (--set ensemble.states=...) or a summary (--set ensemble.reduce=...), follow "
            f"fewer members (--set ensemble.count=...){ANOTHER_DISK}",
        ),
    ],
)
def test_hints_for_a_full_disk(command, hint, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(capacity.shutil, "disk_usage", lambda path: SimpleNamespace(free=1, total=2))
    assert hint in message_of(run(*command, "--out", f"{command[0]}.zarr"))


def test_the_hint_for_a_chunk_without_memory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(capacity, "physical_memory", lambda: 1.0)
    message = message_of(run("ensemble", "top.toml", "--out", "x.zarr"))
    assert message.endswith("this machine has 1 bytes; add --set ensemble.chunk=..., a smaller one")


def test_the_hint_for_changed_functions(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run("run", "heavy_top", "--method", "V2", "--set", "output.format=zarr", "--out", "long").exit_code == 0
    monkeypatch.setattr(record, "functions_of", lambda problem: {"code of f": "1"})
    message = message_of(run("resume", "long"))
    assert message.endswith("pass the same functions, or add --force to go on with the new ones")


def test_the_hint_for_a_chunk_that_a_cluster_lost():
    future = SimpleNamespace(result=lambda: 1 / 0)
    with pytest.raises(PolhodeError) as caught:
        cluster._take(future, 3, None)
    assert in_shell_words(caught.value).endswith("; chunks that are finished are kept, and --resume goes on")
    assert str(caught.value).endswith("are kept if out is given, and resume=True goes on")


def test_the_hint_of_an_interrupted_ensemble(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(members.Job, "run", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    result = run("ensemble", "top.toml", "--out", "stopped.zarr")
    assert message_of(result) == "not finished: 1 of 1 chunks are missing; the same command with --resume goes on"
    assert type(open_ensemble("stopped.zarr").attrs["message"]) is str  # h5py writes no others


def test_the_hint_of_an_interrupted_run(folder, monkeypatch):
    """Its message is read from the store."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(running.Run, "interrupted", property(lambda run: True, lambda run, value: None), raising=False)
    result = run("run", "heavy_top", "--method", "V2", "--set", "output.format=zarr", "--out", "stopped")
    assert result.exit_code == 130
    assert "states; type polhode resume FOLDER to go on\n" in result.stdout


def test_the_hint_for_hidden_features_of_a_torque(folder, monkeypatch):
    """It is a note and a line of the table; the file keeps the words of Python."""
    monkeypatch.chdir(folder)
    result = run("run", "pulse.toml", "--allow-python", "--out", "pulse")
    assert result.exit_code == 0, result.output
    told = "some of which may be missed; give their times as breaks = [...] of the force"
    assert message_of(result).endswith(told)
    assert f"{told}\n" in result.stdout
    stored = json.loads(Path("pulse", "summary.json").read_text())["message"]
    assert stored.endswith("give their times as Torque(..., breaks=...)")
    assert ph.load("pulse/trajectory.nc").message == stored


# Options: what is wrong with them


@pytest.mark.parametrize("command", [("run", "heavy_top"), ("ensemble", "x.toml")])
def test_what_is_no_folder_is_refused_by_name(command, tmp_path):
    (tmp_path / "file").write_text("precious")
    for out, name in (("/dev/full", "/dev/full"), (tmp_path / "file" / "below", tmp_path / "file")):
        result = run(*command, "--out", out)
        assert result.exit_code == 2
        message = message_of(result)
        assert "Invalid value for '--out'" in message
        assert f"{name} is not a folder; expected the name of an existing or new folder" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("run", "heavy_top", "--set", "eps=abc"),
            "--set eps=abc: arguments.eps = 'abc'; expected a number, or one for each body",
        ),
        (("run", "heavy_top", "--set", "eps=true"), "--set eps=true: arguments.eps = True; expected a number"),
        (
            ("run", "heavy_top", "--set", "m12=x"),
            "--set m12=x: arguments.m12 = 'x'; expected a list of numbers, or a list of such lists, such as [0.5, 0.75",
        ),
        (("run", "vessel", "--set", "damped=3"), "--set damped=3: arguments.damped = 3; expected true or false"),
        (
            ("run", "free_body", "--set", "paper=3"),
            '--set paper=3: arguments.paper = 3; expected a text, such as "vilmart"',
        ),
        (("run", "heavy_top", "--set", "epz=1"), "--set epz=1: arguments.epz is not known; did you mean 'eps'?"),
        (("run", "heavy_top", "--set", "h=-1"), "--set h=-1: h = -1; expected the step size, a positive number"),
        (("run", "heavy_top", "--set", "method=V3"), "--set method=V3: no scheme or method is called 'V3'"),
        (("run", "heavy_top", "--set", "output.states=x"), "--set output.states=x: output.states = 'x'; expected the"),
        (("run", "heavy_top", "--set", "eps"), "--set eps: expected KEY=VALUE, for example h=0.1 or body.mass=2"),
        (
            ("compare", "heavy_top", "--set", "eps=abc"),
            "--set eps=abc: arguments.eps = 'abc'; expected a number, or one for each body",
        ),
        (
            ("run", "dzhanibekov", "--set", "state.omega=[1, 2, 3]"),
            "--set state.omega=[1, 2, 3]: dzhanibekov is a built-in problem, whose state follows from its arguments; "
            "use --set omega=...",
        ),
        (
            ("run", "heavy_top", "--set", "body.mass=3"),
            "--set body.mass=3: heavy_top is a built-in problem, whose body follows from its arguments; known are",
        ),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message_of(result).startswith(f"Error: {message}")


def test_a_setting_of_a_file_that_cannot_be_used_is_named(tmp_path):
    path = tmp_path / "top.toml"
    path.write_text(
        't_span = [0, 1]\nh = 0.1\nmethod = "V2"\n[body]\nmoments = [1, 2, 3]\n[state]\nm = [1, 1, 1]\n'
        '[[force]]\nkind = "gravity"\nweight = 1\noffset = [0, 0, 1]\n'
    )
    for text in ("force.0.weight=x", "force.0.kind=gravty", "body.moments=3", "state={m = 3}", "ensemble.count=0"):
        message = message_of(run("run", path, "--set", text))
        assert message.startswith(f"Error: --set {text}: "), message
    assert message_of(run("run", path, "--set", "force.3.weight=1")).startswith("Error: --set force.3.weight=1: there")
    path.write_text(path.read_text().replace("weight = 1", 'weight = "x"'))
    assert message_of(run("run", path, "--set", "h=0.2")).startswith(f"Error: {path}: force[0].weight = 'x'")
