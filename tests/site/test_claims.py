"""The numbers of the documentation: marks are found and filled in, each has what measures it, and false claims stop."""

from __future__ import annotations

import importlib
import importlib.util
import json
import platform
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import claim_tables
import claim_texts
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


def test_marks_are_found_and_replaced():
    assert claims.marks(SAMPLE) == ["first", "second"]
    once = claims.rewritten(SAMPLE, lambda name: f"\nnew {name}\n\n")
    assert once == SAMPLE.replace("| old | table |", "new first").replace("old sentence", "new second")
    assert claims.rewritten(once, lambda name: f"new {name}") == once


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
        claims.rewritten(text, str.upper)


def test_unknown_names_are_refused():
    assert claims.chosen([]) == list(claims.MEASURES)
    assert claims.chosen(["step"]) == ["step"]
    with pytest.raises(claims.ClaimError, match="nothing measures third; there are: accuracy, "):
        claims.chosen(["third"])
    with pytest.raises(claims.ClaimError, match="nothing writes 'first'"):
        claims.rewritten(SAMPLE, claims.written({}))
    with pytest.raises(claims.ClaimError, match=r"type python scripts/claims\.py race"):
        claims.written({})("race-whole")


def test_every_mark_is_written_from_what_is_measured():
    names = [name for page in claims.PAGES for name in claims.marks(page.read_text())]
    assert "claims:" not in (ROOT / "README.md").read_text()
    assert sorted(names) == sorted(claim_texts.TEXTS)
    assert {measured for measured, _ in claim_texts.TEXTS.values()} == set(claim_tables.MEASURES)
    for name, measure in claim_tables.MEASURES.items():
        files = re.findall(r"(?:benchmarks|tests)/[\w/]+\.py", measure.__doc__)
        assert files, name
        assert all((ROOT / file).exists() for file in files)


@pytest.mark.parametrize("page", claims.PAGES, ids=lambda page: page.stem)
def test_pages_say_what_is_stored(page):
    text = page.read_text()
    assert claims.rewritten(text, claims.written(json.loads(claims.STORED.read_text()))) == text


def test_a_number_changed_by_hand_is_seen():
    text = (ROOT / "docs" / "race.md").read_text()
    stored = json.loads(claims.STORED.read_text())
    best = stored["race"]["numbers"]["cases"]["satellite"]["1e-08"]["whole"]
    best[claim_texts.HEYOKA][0] *= 2
    assert claims.rewritten(text, claims.written(stored)) != text


def test_stamp_tells_the_day_and_the_machine_and_nothing_private():
    stamp = claims.stamp("step", others=False)
    assert re.match(r"20\d\d-\d\d-\d\d, .+, \d+ cores;", stamp)
    assert f"Python {platform.python_version()}, numpy {np.__version__}" in stamp
    assert "`claims.py step`" in stamp
    assert ", busy;" in claims.stamp("step", others=True)
    assert ", busy;" not in claims.stamp("accuracy", others=True)
    for private in (platform.node(), str(Path.home()), str(ROOT)):
        assert not private or not re.search(rf"(?<!\w){re.escape(private)}(?!\w)", stamp)


def test_numbers_are_short():
    shown = [claim_texts.short(x) for x in (0.004, 0.04, 0.44, 4.44, 9.96, 44.4, 444.4, 7.3e6)]
    assert shown == ["< 0.01", "0.04", "0.4", "4.4", "10", "44", "444", "7e6"]
    assert claim_texts.span([69.2, 84.1, 70.0]) == "69 - 84"
    assert claim_texts.span([69.2, 69.1]) == "69"
    assert claim_texts.between([1.0, 2.0]) == "1.0 to 2.0"
    assert [claim_texts.duration(x) for x in (2.34e-5, 0.00234, 1.0)] == ["23 us", "2.3 ms", "1.0 s"]
    assert claims.plain({1e-8: (np.float64(1.23456), [1, "a"])}) == {"1e-08": [1.235, [1, "a"]]}


def test_tables_are_markdown():
    assert claim_texts.table(("a", "b", "c"), [("1", "2", "3")]) == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |"


def test_accuracy_is_the_table_of_the_tests():
    lines = claim_texts.accuracy(claim_tables.accuracy(1)).splitlines()
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
    page, numbers = tmp_path / "page.md", tmp_path / "claims.json"
    page.write_text("<!-- claims:drift -->\nold\n<!-- /claims -->\n")
    command = ["drift", "--file", str(page), "--stored", str(numbers)]
    walk = np.sqrt(drift.COUNTS)[:, None] * (0.5, 0.6, 0.9, 0.0)
    monkeypatch.setattr(drift, "drifts", lambda rng: drift.COUNTS[:, None] * (0.001, 0.001, 0.001, 0.0))
    assert claims.main(command) == 1
    assert "no random walk" in capsys.readouterr().err
    assert "old" in page.read_text()
    assert not numbers.exists()
    monkeypatch.setattr(drift, "drifts", lambda rng: walk)
    assert claims.main(command) == 0
    assert "drift by 0.5 to 0.6 √n eps" in page.read_text()
    assert claims.stamp("drift", others=False) in page.read_text()
    assert list(json.loads(numbers.read_text())) == ["drift"]
    written = page.read_text()
    page.write_text(written.replace("0.6", "0.4"))
    assert claims.main([*command[1:], "--pages"]) == 0
    assert page.read_text() == written


def test_speeds_need_a_quiet_machine_and_comparisons_need_heyoka(monkeypatch):
    with pytest.raises(claims.ClaimError, match="--busy"):
        claims.check_conditions(["drift", "step"], others=True, busy_too=False)
    claims.check_conditions(["drift", "accuracy"], others=True, busy_too=False)
    claims.check_conditions(["step"], others=True, busy_too=True)
    monkeypatch.setattr(claims, "version_of", lambda package: "")
    with pytest.raises(claims.ClaimError, match="pip install heyoka"):
        claims.check_conditions(["race"], others=False, busy_too=False)


@pytest.mark.long
@pytest.mark.parametrize("name", ["step", "dense", "batch", "scipy", "torqued"])
def test_measures_still_run(name, monkeypatch):
    """With few bodies and repeats: benchmarks use functions of the package that are not public, and may change."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setenv("POLHODE_NUM_THREADS", "1")
    sizes = {
        "step": {"BODIES": 1, "REPEATS": 1},
        "dense": {"BODIES": 1, "REPEATS": 1, "SAMPLES": 100, "SPANS": (10.0,)},
        "batch": {"BODIES": 100, "RANGES": ((0.02, 1.0),), "REPEATS": 1, "SECONDS": 0.0, "CHECKED": 1},
        "torqued": {"REPEATS": 1, "SCHEMES": ("V2",)},
    }
    for size, value in sizes.get(name, sizes["batch"]).items():
        monkeypatch.setattr(importlib.import_module("batch" if name == "scipy" else name), size, value)
    text = claim_texts.TEXTS[name][1](claims.plain(claim_tables.MEASURES[name](1)))
    assert re.search(r"\d (?:\||ns|times)", text)
