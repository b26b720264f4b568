"""The race is fair: its truth is right, all run the same problems, and times at equal errors are what they say."""

from __future__ import annotations

import json
import sys
from math import inf
from time import process_time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import choose
import loops
import race
import truth

GOLDEN = {case["name"]: case for case in json.loads((ROOT / "tests/golden/torqued.json").read_text())["cases"]}
GOLDEN_OF = {
    "weak_top": ("heavy_top_eps1e-3", 20.0),
    "perturbed": ("driver_example1", 100.0),
    "satellite": ("satellite", 10.0),
}


def decimals(values):
    """Integers in units of the last digit that is stored, because doubles would not show it."""
    return np.array([round(truth.Fraction(x) * 10**truth.DIGITS) for x in values], object)


def test_all_cases_are_stored_and_both_computations_agree():
    assert set(truth.stored()) == {*truth.CASES, *truth.BATCHES}
    for name, case in truth.stored().items():
        assert case["agreement"] < 1e-20, name
        assert len(case["bodies"]) == len(truth.bodies_of(name))
        for body, given in zip(case["bodies"], truth.bodies_of(name), strict=True):
            assert [end["t"] for end in body["states"]] == list(given.times)
            assert all(body[key] == list(getattr(given, key)) for key in ("I", "m", "s", "chi", "B", "D", "q"))


@pytest.mark.parametrize("name", GOLDEN_OF)
def test_truth_is_that_of_the_golden_data(name):
    """Which were computed by two other programs, with quaternions."""
    golden, t = GOLDEN_OF[name]
    known = next(end for end in GOLDEN[golden]["states"] if float(end["t"]["dec"]) == t)
    end = next(end for end in truth.stored()[name]["bodies"][0]["states"] if end["t"] == t)
    size = max(abs(float(x)) for x in known["m"])
    assert abs(decimals(end["Q"]) - decimals([x for row in known["Q"] for x in row])).max() <= 10 ** (truth.DIGITS - 22)
    assert abs(decimals(end["m"]) - decimals(known["m"])).max() <= size * 10 ** (truth.DIGITS - 22)


@pytest.mark.parametrize("name", ["weak_top", "strong_top", "controlled"])
def test_truth_is_computed_again(name):
    body = truth.CASES[name]
    (found,) = truth.states(body, 16)
    end = truth.stored()[name]["bodies"][0]["states"][-1]
    for key in ("m", "Q"):
        again = decimals(found[key])
        assert abs(again - decimals(end[key])).max() <= 10 ** (truth.DIGITS - 15)


@pytest.mark.parametrize(("name", "make"), [(case.name, case.make) for case in race.CASES.values()])
def test_problems_are_those_of_the_truth(name, make):
    same_as_truth(make(), truth.CASES[name])


def test_the_controlled_body_is_that_of_the_truth():
    same_as_truth(choose.controlled(), truth.CASES["controlled"])


def same_as_truth(problem, body):
    """Numbers, and the torque at some attitude."""
    np.testing.assert_array_equal(problem.body.moments, body.I)
    np.testing.assert_array_equal(problem.state.m, body.m)
    np.testing.assert_allclose(problem.state.q, body.q, rtol=0, atol=1e-16)
    assert problem.t_span == (0.0, body.times[-1])
    q, w = np.array([0.5, -0.1, 0.7, 0.5]), np.array([0.3, -0.2, 0.9])
    u = Rotation.from_quat(q, scalar_first=True).as_matrix().T @ body.s
    expected = np.cross(u, np.array(body.chi) + np.array(body.B) * u) - np.array(body.D) * w
    found = problem.force.torque(0.0, q / np.linalg.norm(q), w)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * np.abs(expected).max())


def test_error_is_that_of_the_quaternion():
    q = np.array([0.5, -0.1, 0.7, 0.5]) / 1.0
    Q = Rotation.from_quat(q, scalar_first=True).as_matrix()
    turned = Rotation.from_matrix(Q) * Rotation.from_rotvec([0, 0, 2e-6])
    assert race.error_of(-3 * turned.as_quat(scalar_first=True), Q[None]) == pytest.approx(1e-6, rel=1e-6)


def run(program, setting, error, whole):
    return race.Run(program, setting, error, lambda: None, seconds={"whole": whole, "loop": inf})


def test_times_at_an_error_are_interpolated_and_luck_does_not_count():
    runs = [run("a", "1", 1e-4, 1.0), run("a", "2", 1e-9, 2.0), run("a", "3", 1e-6, 4.0), run("a", "4", 1e-8, 16.0)]
    assert race.at_error(runs, 1e-4, "whole") == (1.0, "1")
    assert race.at_error(runs, 1e-6, "whole") == (2.0, "2")
    assert race.at_error(runs, 1e-5, "whole") == (pytest.approx(2**0.5), "2")
    assert race.at_error(runs, 1e-7, "whole") == (pytest.approx(8.0), "4")
    assert race.at_error(runs, 1e-9, "whole") is None
    assert race.at_error(runs, 1e-4, "loop") is None


def test_the_fastest_of_our_methods_is_compared():
    runs = [
        run(race.OURS, "V2, h = 1", 1e-9, 3.0),
        run(race.OURS, "Adaptive(rtol=1e-9)", 1e-9, 2.0),
        run(race.HEYOKA, "1e-9", 1e-9, 4.0),
        run(race.SCIPY, "1e-9", 1e-3, 1.0),
    ]
    assert race.compare(runs, 1e-8, "whole") == {
        race.OURS: (2.0, "Adaptive(rtol=1e-9)"),
        race.HEYOKA: (4.0, "1e-9"),
    }


def test_seconds_in_loops_are_a_part_of_the_whole():
    problem = ph.problems.heavy_top(1e-3)
    began = process_time()
    result, seconds = loops.in_loops(lambda: ph.integrate(problem, method="V2", h=1e-3))
    assert result.stats.steps == 20_000
    assert 0 < seconds < process_time() - began
    assert loops.in_loops(lambda: None) == (None, 0.0)


def test_heyoka_solves_the_same_problem():
    pytest.importorskip("heyoka")
    from heyoka_form import many_bodies, one_body

    whole, loop = one_body(truth.CASES["strong_top"], 1e-6)
    assert race.error_of(whole(), truth.attitudes("strong_top")) < 1e-5
    assert loop() > 0
    m, q = truth.batch("weak_tops", 8)
    ends = many_bodies(truth.bodies_of("weak_tops")[0], m, q, 1e-6)()
    assert race.error_of(ends, truth.attitudes("weak_tops")[:8]) < 1e-5
