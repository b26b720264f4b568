"""``python -m papers``: what there is, tables and figures that are written, and what a reader is told."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from click.testing import CliRunner
from PIL import Image

import papers
from papers.__main__ import cli
from papers.experiment import Experiment, Report, beyond, number, trend
from polhode.core import references
from polhode.core.errors import UnknownNameError

QUICK = "gustafsson2010_table3"


@pytest.fixture
def typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli, words)


def test_all_are_listed(typed):
    found = typed()
    assert found.exit_code == 0
    for name in papers.EXPERIMENTS:
        assert f"{name} " in found.output
        assert papers.get(name).title in found.output


def test_every_file_is_an_experiment_of_a_known_paper():
    known = {value for value in vars(references).values() if isinstance(value, str)}
    for name in papers.EXPERIMENTS:
        experiment = import_module(f"papers.{name}").EXPERIMENT
        assert experiment.paper in known
        assert experiment.figure
        assert experiment.title


def test_a_table_and_a_figure(typed, tmp_path):
    found = typed("run", QUICK, "--out", "results")
    assert found.exit_code == 0, found.output
    assert "1.382e-2" in found.output
    table = json.loads((tmp_path / "results" / f"{QUICK}.json").read_text("utf-8"))
    claims = {claim["what"]: claim for claim in table["claims"]}
    assert claims["error of m, Magnus 2, h = 0.1"]["verdict"] == "agrees"
    assert table["reproduced"] is True
    assert table["full"] is False
    with Image.open(tmp_path / "results" / f"{QUICK}.png") as picture:
        assert picture.size[0] > 600
    for name in (f"{QUICK}.json", f"{QUICK}.png"):
        assert name in found.output


def test_what_is_not_reproduced_is_told(typed, monkeypatch):
    claims = (number("a number", "1.0", 2.0, note="because"), trend("a trend", "down", "up", holds=False))
    panels = papers.get(QUICK).run(False).panels
    wrong = Experiment("nobody", "Fig. 0", "A wrong one", lambda full: Report(claims, panels))
    right = Experiment("nobody", "Fig. 1", "A right one", lambda full: Report((beyond("x", "y"),), panels))
    monkeypatch.setattr(papers, "EXPERIMENTS", ("wrong", "right"))
    monkeypatch.setattr(papers, "get", {"wrong": wrong, "right": right}.__getitem__)
    found = typed("run", "all", "--full")
    assert found.exit_code == 0
    assert found.output.count("not reproduced") == 3
    assert "not reproduced in all claims: wrong" in found.output
    assert "note on a number: because" in found.output


def test_unknown_names_are_told_the_nearest(typed):
    found = typed("run", "gustafson2010_table3")
    assert found.exit_code == 2
    assert f"did you mean '{QUICK}'?" in found.output
    with pytest.raises(UnknownNameError):
        papers.get("fig1")


@pytest.mark.parametrize(
    ("published", "measured", "verdict"),
    [
        ("1.382e-2", 0.01383, "agrees"),
        ("1.382e-2", 0.01384, "not reproduced"),
        ("75", 74.4, "agrees"),
        ("75", 73.9, "not reproduced"),
        ("-0.50", -0.509, "agrees"),
    ],
)
def test_numbers_agree_to_their_last_printed_digit(published, measured, verdict):
    assert number("x", published, measured).verdict == verdict
