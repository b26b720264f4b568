"""The exact flow against 196 reference solutions of 30 digits, in every regime, sign of q included."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, distance, golden_cases

CASES = golden_cases()


def errors(case):
    """Errors of m/|m0| and q in eps."""
    m, q = ph.propagate(case["I"], case["m0"], case["q0"], case["t"])
    size = np.linalg.norm(case["m0"]) or 1.0
    return distance(m, case["m"]) / size / EPS, distance(q, case["q"]) / EPS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_within_five_eps_times_condition(case):
    dm, dq = errors(case)
    assert dm <= 5 * (1 + case["cond_m"])
    assert dq <= 5 * (1 + case["cond_q"])


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["label"].startswith(("near_separatrix/", "separatrix/"))],
    ids=lambda case: case["label"],
)
def test_separatrix_within_500_eps_whatever_the_condition(case):
    assert max(errors(case)) <= 500


def test_print_achieved_maximum_per_regime(capsys):
    worst = defaultdict(lambda: np.zeros(4))
    for case in CASES:
        dm, dq = errors(case)
        found = (dm / (1 + case["cond_m"]), dq / (1 + case["cond_q"]), dm, dq)
        regime = case["label"].split("/")[0]
        worst[regime] = np.maximum(worst[regime], found)
    with capsys.disabled():
        print("\n\nlargest error, eps = 2^-53      in eps (1 + cond)        in eps")
        print(f"{'regime':26} {'m':>8} {'q':>8} {'m':>12} {'q':>10}")
        for regime, (a, b, c, d) in worst.items():
            print(f"{regime:26} {a:8.2f} {b:8.2f} {c:12.1f} {d:10.1f}")
    assert len(worst) == 20


def test_batch_is_the_loop_to_the_bit():
    inertia, m0, q0, t = (np.array([case[key] for case in CASES]) for key in ("I", "m0", "q0", "t"))
    m, q = ph.propagate(inertia, m0, q0, t)
    for i, case in enumerate(CASES):
        m1, q1 = ph.propagate(case["I"], case["m0"], case["q0"], case["t"])
        np.testing.assert_array_equal(m[i], m1)
        np.testing.assert_array_equal(q[i], q1)
