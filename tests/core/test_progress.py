"""Progress of runs: a bar by tqdm, lines of text without it, a function; and nothing where nothing is wanted."""

from __future__ import annotations

import re
import sys

import pytest

import polhode as ph
from polhode.core import progress
from polhode.core.progress import Progress
from polhode.integration import running


@pytest.fixture(params=["tqdm", "no tqdm"])
def shown(request, monkeypatch, capsys):
    """Return what was written since the last call. There is no delay, and a bar that is closed shows its last state."""
    if request.param == "tqdm":
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return lambda: capsys.readouterr().err


def parts(text):
    return [int(part) for part in re.findall(r"(\d+)%", text)]


@pytest.mark.parametrize("done", [50, 200])
def test_a_run_shows_its_part_and_its_time(shown, done):
    with Progress(True, 200, time_after=lambda steps: 0.1 * steps) as bar:
        bar.show(done)
    text = shown()
    assert parts(text)[-1] == done / 2
    assert "steps" in text
    assert f"t = {done // 10} of 20" in text


def test_a_run_that_goes_on_begins_where_it_was(shown):
    with Progress(True, 200, 100) as bar:
        bar.show(150)
    assert min(parts(shown())) >= 50


def test_parts_of_members(shown):
    with Progress(True, 10, 2, unit="members") as bar:
        show_part = bar.within(4)
        show_part(0.5)
        show_part(1.0)
        bar.within(4)(0.5)
    text = shown()
    assert parts(text)[-1] == 80
    assert "members" in text


def test_a_run_that_raises_closes_its_bar(shown):
    def run(bar):
        with bar:
            bar.show(5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Progress(True, 10))
    text = shown()
    assert parts(text)[-1] == 50
    assert text.endswith("\n")


def test_short_runs_and_unwanted_bars_write_nothing(shown, monkeypatch):
    with Progress(False, 10) as bar:
        bar.show(10)
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    with Progress(True, 10) as bar:
        bar.show(10)
    assert shown() == ""


def test_a_function_is_called_instead(shown):
    called = []
    with Progress(called.append, 8, 2) as bar:
        bar.show(4)
        bar.within(4)(0.5)
    assert called == [0.5, 0.75]
    assert shown() == ""


def test_lines_are_a_pause_apart(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    now = 100.0
    monkeypatch.setattr(progress, "perf_counter", lambda: now)
    with Progress(True, 100) as bar:
        for step in range(1, 101):
            now += 0.04
            bar.show(step)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{part}% of 100 steps" for part in (13, 38, 63, 88)]


def test_lines_for_a_file(monkeypatch, capsys):
    """One after two seconds, and then one every minute."""
    now = [0.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    lines = progress.Lines()
    for second in range(200):
        now[0] = float(second)
        lines(second / 200)
    assert capsys.readouterr().err.split("\n")[:-1] == ["1.0% done", "31.0% done", "61.0% done", "91.0% done"]


@pytest.mark.parametrize("wanted", [True, progress.Lines()], ids=["terminal", "file"])
def test_trial_runs_print_lines(wanted, monkeypatch, capsys):
    """They would after two seconds, and then every minute."""
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    monkeypatch.setattr(running, "LONG_PIECE", 0.0)
    top = ph.problems.heavy_top()
    ph.integrate(top, rtol=1e-6, progress=wanted)
    lines = re.findall(r"trial runs, which choose the steps, have taken \d+ s", capsys.readouterr().err)
    assert len(lines) == 1
    ph.integrate(top, rtol=1e-6)
    assert not capsys.readouterr().err


def test_trial_runs_call_the_function_of_the_user(monkeypatch):
    def stop(part):
        parts.append(part)
        raise KeyError("enough")

    parts = []
    monkeypatch.setattr(running, "LONG_PIECE", 0.0)
    with pytest.raises(KeyError):
        ph.integrate(ph.problems.heavy_top(), rtol=1e-6, progress=stop)
    assert parts == [0.0]
