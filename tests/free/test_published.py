"""The baseline of the speed ratios computes what polhode computes: the true flow, to rounding."""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np
import pytest

from conftest import ROOT

EPS = 2.0**-53
# Reached: 9 for m and 6 for q. The constants of Proposition 2.1 cancel near an axis, hence not 1.
TOLERANCE = 30 * EPS


def load(name):
    """A file of benchmarks as a module of that name: Numba's cache finds compiled code only under its old name."""
    sys.path.append(str(ROOT / "benchmarks"))
    return importlib.import_module(name)


published = load("published")
dense = load("dense")

GOLDEN = json.loads((ROOT / "tests" / "golden" / "free_rigid_body.json").read_text())["cases"]
CASES = [case for case in GOLDEN if case["label"].startswith(("generic/", "unsorted/123/"))]


def walk(case, n=1, thrifty=False):
    m, q = np.array(case["m0"]), np.array(case["q0"])
    published.published_steps(np.array(case["I"]), m, q, case["t"] / n, n, thrifty)
    return m, q


def errors(case, m, q):
    """Distance of (m, q) from the true end state, in units of |m| and 1; the sign of q counts."""
    dm = np.linalg.norm(m - np.array(case["m"], float)) / np.linalg.norm(case["m0"])
    return dm, np.linalg.norm(q - np.array(case["q"], float))


def test_cases_cover_both_kinds_of_polhodes():
    assert len(CASES) >= 30
    assert {case["class"] for case in CASES} == {"i", "ii"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_one_step_is_the_true_flow(case):
    dm, dq = errors(case, *walk(case))
    assert dm <= TOLERANCE * (1 + case["cond_m"])
    assert dq <= TOLERANCE * (1 + case["cond_q"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_leaving_out_the_complete_integral_changes_nothing(case):
    for full, thrifty in zip(walk(case, 3), walk(case, 3, thrifty=True), strict=True):
        np.testing.assert_allclose(thrifty, full, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n", [7, 64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_many_short_steps_are_one_long_step(case, n):
    # No projection: rounding errors of n steps add up, but a lost half turn or sign would show as O(1).
    dm, dq = errors(case, *walk(case, n))
    assert dm <= n * TOLERANCE * (1 + case["cond_m"])
    assert dq <= n * TOLERANCE * (1 + case["cond_q"])


@pytest.mark.parametrize("thrifty", [False, True])
def test_batch_is_a_loop_over_bodies(thrifty):
    inertia, m, q, h = (np.array([case[key] for case in CASES]) for key in ("I", "m0", "q0", "t"))
    m_out, q_out = np.full_like(m, np.nan), np.full_like(q, np.nan)
    published.published_batch(inertia, m, q, h, m_out, q_out, thrifty)
    for case, m1, q1 in zip(CASES, m_out, q_out, strict=True):
        dm, dq = errors(case, m1, q1)
        assert dm <= TOLERANCE * (1 + case["cond_m"])
        assert dq <= TOLERANCE * (1 + case["cond_q"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_samples_of_one_trajectory_are_the_true_flow(case):
    times = np.array([0.5 * case["t"], case["t"]])
    m, q = np.full((2, 3), np.nan), np.full((2, 4), np.nan)
    inputs = (np.array(case[key]) for key in ("I", "m0", "q0"))
    dense.published_samples(*inputs, times, m, q)
    dm, dq = errors(case, m[-1], q[-1])
    assert dm <= TOLERANCE * (1 + case["cond_m"])
    assert dq <= TOLERANCE * (1 + case["cond_q"])
