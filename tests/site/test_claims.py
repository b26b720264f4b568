"""The numbers of the documentation: marks are found and filled in, each has what measures it, and false claims stop."""

from __future__ import annotations

import importlib.util
import platform
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import claim_tables
import claims

SAMPLE = """before
<!-- claims:first -->
| old | table |
<!-- /claims -->
between <!-- a comment -->
<!-- claims:second -->
old sentence
<!-- /claims -->
after
"""


def test_marks_are_found_and_others_left_alone():
    assert claims.marks(SAMPLE) == ["first", "second"]
    once = claims.rewritten(SAMPLE, ["second"], lambda name: f"\nnew {name}\n\n")
    assert once == SAMPLE.replace("old sentence", "new second")
    assert claims.rewritten(once, ["second"], lambda name: f"new {name}") == once
    assert claims.rewritten(SAMPLE, ["first", "second"], str.upper).count("old") == 0


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE.replace("<!-- /claims -->\nbetween", "between"),
        SAMPLE + "<!-- /claims -->",
        SAMPLE + "<!-- claims:third -->\nopen",
    ],
)
def test_marks_that_do_not_pair_are_refused(text):
    with pytest.raises(claims.ClaimError, match="needs its own"):
        claims.rewritten(text, ["first"], str.upper)


def test_unknown_names_are_refused():
    assert claims.chosen_marks([SAMPLE, "no marks"], []) == ["first", "second"]
    assert claims.chosen_marks([SAMPLE], ["second"]) == ["second"]
    with pytest.raises(claims.ClaimError, match="no mark is called third; there are: first, second"):
        claims.chosen_marks([SAMPLE], ["third"])
    with pytest.raises(claims.ClaimError, match="nothing measures 'first'"):
        claims.measured("first", 1)


def test_every_mark_of_the_pages_is_measured_and_every_measure_is_shown():
    names = [name for page in claims.PAGES for name in claims.marks(page.read_text())]
    assert "claims:" not in (ROOT / "README.md").read_text()
    assert sorted(names) == sorted(claim_tables.GENERATORS)
    for name, generator in claim_tables.GENERATORS.items():
        files = re.findall(r"(?:benchmarks|tests)/[\w/]+\.py", generator.__doc__)
        assert files, name
        assert all((ROOT / file).exists() for file in files)


def test_stamp_tells_the_day_and_the_machine_and_nothing_private():
    stamp = claims.stamp("step")
    assert re.match(r"\*20\d\d-\d\d-\d\d, .+, \d+ cores", stamp)
    assert f"Python {platform.python_version()}, numpy {np.__version__}" in stamp
    assert "`claims.py step`" in stamp
    for private in (platform.node(), str(Path.home()), str(ROOT)):
        assert not private or not re.search(rf"(?<!\w){re.escape(private)}(?!\w)", stamp)


def test_numbers_are_short():
    shown = [claim_tables.short(x) for x in (0.004, 0.04, 0.44, 4.44, 9.96, 44.4, 444.4, 7.3e6)]
    assert shown == ["< 0.01", "0.04", "0.4", "4.4", "10", "44", "444", "7e6"]
    assert claim_tables.span([69.2, 84.1, 70.0]) == "69 - 84"
    assert claim_tables.span([69.2, 69.1]) == "69"
    assert claim_tables.between([1.0, 2.0]) == "1.0 to 2.0"


def test_tables_are_markdown():
    assert claim_tables.table(("a", "b", "c"), [("1", "2", "3")]) == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |"


def test_accuracy_is_the_table_of_the_tests():
    lines = claim_tables.accuracy(1).splitlines()
    assert len(lines) == 2 + len(claim_tables.REGIMES) + 1
    for line in lines[2:]:
        name, *numbers = line.strip("| ").split(" | ")
        scaled_m, scaled_q, *_ = (float(x.removeprefix("< ")) for x in numbers)
        assert scaled_m <= 5, name  # as tests/free/test_golden.py demands
        assert scaled_q <= 5, name
    assert any("free_motion" in line and float(line.split("|")[4]) <= 40 for line in lines)


def test_a_new_regime_has_to_be_told_where_it_belongs(monkeypatch):
    monkeypatch.delitem(claim_tables.REGIMES, "t < 0")
    with pytest.raises(claims.ClaimError, match="negative_time"):
        claim_tables.accuracy(1)


def test_a_drift_that_is_no_random_walk_stops_and_leaves_the_file(monkeypatch, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("drift", ROOT / "benchmarks" / "drift.py")
    drift = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drift)
    monkeypatch.setitem(sys.modules, "drift", drift)
    path, other = tmp_path / "page.md", tmp_path / "other.md"
    path.write_text("<!-- claims:drift -->\nold\n<!-- /claims -->\n")
    other.write_text("<!-- claims:step -->\nold\n<!-- /claims -->\n")
    walk = np.sqrt(drift.COUNTS)[:, None] * (0.5, 0.6, 0.9, 0.0)
    monkeypatch.setattr(drift, "drifts", lambda rng: drift.COUNTS[:, None] * (0.001, 0.001, 0.001, 0.0))
    assert claims.main(["drift", "--file", str(path), "--file", str(other)]) == 1
    assert "no random walk" in capsys.readouterr().err
    assert "old" in path.read_text()
    monkeypatch.setattr(drift, "drifts", lambda rng: walk)
    assert claims.main(["drift", "--file", str(path), "--file", str(other)]) == 0
    assert "drift by 0.5 to 0.6 √n eps" in path.read_text()
    assert claims.stamp("drift") in path.read_text()
    assert "old" in other.read_text()


def test_speeds_need_a_quiet_machine(monkeypatch):
    monkeypatch.setattr(claims, "busy", lambda: True)
    monkeypatch.setitem(claims.GENERATORS, "step", lambda runs: "seven")
    with pytest.raises(claims.ClaimError, match="--busy"):
        claims.measured("step", 1)
    assert "seven" in claims.measured("step", 1, busy_too=True)
    assert ", busy;" in claims.stamp("step")
