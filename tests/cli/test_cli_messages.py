"""What the command line says: its help, its errors and its hints, in the words of a shell."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import polhode as ph
from polhode.cli import cli
from polhode.cli.words import in_shell_words
from polhode.core.errors import PolhodeError
from polhode.ensembles import cluster
from polhode.files import aem, record
from polhode.files import saving as store
from polhode.files.long_runs import stream
from polhode.integration.stretches import step_length
from polhode.scenarios.scenario import build


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


TOP, FREE = ph.problems.heavy_top(), ph.problems.free_body()
BATCH = ph.Problem((1, 2, 3), ph.State(m=[(1, 1, 1), (1, 0, 1)]), t_span=(0, 1))
SAMPLES = ph.sampling.draw(3, m=ph.sampling.direction())
ROW = ph.State(m=(1, 1, 1))
TORQUE = {"body": {"moments": [1, 2, 3]}, "state": {"m": [1, 1, 1]}, "t_span": [0, 1], "force": {"python": "a:b"}}


class Lost:
    """A task of a cluster that raised."""

    def result(self):
        raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: ph.ensemble(FREE, SAMPLES, out="e.zarr"), "add --resume to go on"),
        (lambda: ph.ensemble(FREE, SAMPLES, out="none.zarr", resume=True), "omit --resume to begin"),
        (lambda: ph.ensemble(FREE, SAMPLES, seed=2, out="e.zarr", resume=True), "repeat the command as it was"),
        (lambda: ph.ensemble(FREE, SAMPLES, force=True), "changed: it needs --resume"),
        (lambda: cluster._take(Lost(), 3, None), "chunks that are finished are kept, and --resume goes on"),
        (lambda: stream(TOP, "run.zarr", method="V2"), "type polhode resume FOLDER to go on"),
        (lambda: record.check_functions("run.zarr", {}, {"code of f": "1"}), "add --force to go on"),
        (lambda: store.save(ph.integrate(TOP, method="V2"), "x.aem"), "; add --set object_name=..."),
        (lambda: aem._of_one_body(ph.integrate(BATCH, h=0.5), ()), "; add --set body=..., its index"),
        (lambda: ph.integrate(TOP, method=ph.Adaptive(), h=0.1), '"Adaptive(rtol, max_step=0.1)", or omit --h'),
        (lambda: ph.integrate(TOP, rtol=1e-17), "add --rtol 1e-9"),
        (lambda: stream(TOP, "x.zarr", method="Adaptive"), "add --method S6_10, for instance"),
        (lambda: ph.order_study(ph.Gauss(3), (1, 2, 3), ROW, 1.0, (0.1,)), "such as --h 0.2 --h 0.1 --h 0.05"),
        (lambda: ph.work_precision(TOP, ["V2"], 0.1), "such as --h 0.1 --h 0.05"),
        (lambda: step_length(None), "such as --h 0.01"),
        (lambda: ph.State(m=(1, 1, 1), q=(1, 1, 0, 0)), "; divide it by its norm if only its direction is meant"),
        (lambda: ph.forces.gravity(1.0, (0, 0, 1), up=(0, 0, 0)), "give for instance up = [0, 0, 1]"),
        (lambda: build(TORQUE, "x.toml"), "if you trust it, add --allow-python"),
    ],
)  # fmt: skip
def test_hints_are_in_the_words_of_a_shell(call, hint, stored, monkeypatch):
    monkeypatch.chdir(stored)
    with pytest.raises(PolhodeError) as caught:
        call()
    message = in_shell_words(str(caught.value))
    assert hint in message
    assert message != str(caught.value)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with a long run and an ensemble."""
    folder = tmp_path_factory.mktemp("stored")
    stream(TOP, folder / "run.zarr", method="V2")
    ph.ensemble(FREE, SAMPLES, seed=1, out=folder / "e.zarr")
    return folder


def test_errors_and_notes_of_commands_are_in_the_words_of_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "heavy_top", "--method", "V2", "--out", "o").exit_code == 0
    assert message_of(run("convert", "o/trajectory.nc", "x.aem")).endswith("; add --set object_name=...")
    refused = message_of(run("run", "heavy_top", "--method", "Adaptive", "--h", "0.1", "--out", "x"))
    assert refused.endswith("or omit --h")


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
