"""Times of very many periods: the error must not grow with them, whatever the condition number says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance, golden_cases, random_attitude
from oracles.addition import addition_flow, addition_period
from oracles.separatrix import convergents, separatrix_slope
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers.eft import dd_add, dd_div, dd_mul, dd_sqrt

LONG = [case for case in golden_cases() if case["label"].startswith("long/")]


def errors(inertia, m, q, t):
    """Errors in eps of m/|m| and q of the motion at t, against the second path."""
    with mp.workdps(60):
        exact_m, exact_q = addition_flow(inertia, m, q, t)
        size = float(mp.norm([mpf(float(x)) for x in m])) or 1.0
    motion = ph.free_motion(inertia, m=m, q=q)
    return distance(motion.m(t), exact_m) / size / EPS, distance(motion.q(t), exact_q) / EPS


def test_there_are_long_cases_in_every_family():
    assert len(LONG) == 12


@pytest.mark.parametrize("case", LONG, ids=lambda case: case["label"])
def test_golden_within_40_eps_whatever_the_condition(case):
    motion = ph.free_motion(case["I"], m=case["m0"], q=case["q0"])
    size = np.linalg.norm(case["m0"])
    assert distance(motion.m(case["t"]), case["m"]) / size <= 40 * EPS
    assert distance(motion.q(case["t"]), case["q"]) <= 40 * EPS


@pytest.mark.parametrize("periods", [0.49, 0.51, 10, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(8))
def test_error_does_not_grow_with_the_number_of_periods(seed, periods):
    rng = np.random.default_rng(seed)
    inertia, m = rng.uniform(1, 3, 3), rng.normal(size=3)
    if seed == 6:
        inertia[0] = inertia[1]
    if seed == 7:
        m[np.argsort(inertia)[1:]] *= 1e-9  # nearly steady
    t = float((-1) ** seed * periods * addition_period(inertia.tolist(), m.tolist()))
    dm, dq = errors(inertia.tolist(), m.tolist(), random_attitude(rng).tolist(), t)
    assert dm <= 100
    assert dq <= 100


@pytest.mark.parametrize(
    ("inertia", "m"),
    [
        ((2.0, 2.0, 2.0), (0.3, -0.2, 0.7)),
        ((1.1, 1.7, 2.3), (0.0, 0.9, 0.0)),
        ((1.1, 1.7, 2.3), (0.9, 0.0, 0.0)),
        ((1.1, 1.7, 2.3), (0.0, 0.0, -0.9)),
        ((1.1, 1.1, 2.3), (0.3, 0.4, 0.0)),
    ],
)
@pytest.mark.parametrize("t", [1e3, -1e7, 1e12])
def test_steady_spins_of_many_turns(inertia, m, t):
    dm, dq = errors(inertia, m, (0.5, 0.5, 0.5, 0.5), t)
    assert dm == 0
    assert dq <= 5


def test_batches_and_tensors_of_many_periods(rng):
    inertia, m = rng.uniform(1, 3, (4, 3)), rng.normal(size=(4, 3))
    axes = ph.rotation.matrix(random_attitude(rng))
    times = np.array([0.3, 1e5, -1e8])
    motion = ph.free_motion(inertia, m=m)
    for k in range(4):
        alone = ph.free_motion(inertia[k], m=m[k])
        np.testing.assert_array_equal(motion.q(times)[:, k], alone.q(times))
        np.testing.assert_array_equal(motion.m(times)[:, k], alone.m(times))
    diagonal = ph.free_motion(np.diag(inertia[0]), m=m[0])
    np.testing.assert_allclose(diagonal.q(times), ph.free_motion(inertia[0], m=m[0]).q(times), atol=10 * EPS)
    turned = ph.free_motion(axes @ np.diag(inertia[0]) @ axes.T, m=axes @ m[0])
    np.testing.assert_allclose(turned.m(30.0), axes @ ph.free_motion(inertia[0], m=m[0]).m(30.0), atol=1e-13)


def test_nothing_jumps_where_another_period_is_taken_off():
    motion = ph.free_motion((1.0, 1.7, 2.3), m=(0.2, 0.9, 0.3), q=(0.5, 0.5, -0.5, 0.5))
    for j in (-3.5, -0.5, 0.5, 1.5, 1000.5):
        t = j * motion.period * np.array([1 - 1e-14, 1 + 1e-14])
        q, m = motion.q(t), motion.m(t)
        assert np.abs(q[1] - q[0]).max() <= 4e-14 * abs(j) * motion.period
        assert np.abs(m[1] - m[0]).max() <= 4e-14 * abs(j) * motion.period


@pytest.mark.parametrize("seed", range(20))
def test_period_has_thirty_digits(seed):
    rng = np.random.default_rng(seed)
    inertia, m = rng.uniform(1, 3, 3) * 2.0 ** rng.integers(-300, 300), rng.normal(size=3)
    high, low, *_ = ph.free_motion(inertia, m=m)._secular
    with mp.workdps(40):
        exact = addition_period(inertia.tolist(), m.tolist())
        assert abs((mpf(float(high)) + mpf(float(low))) / exact - 1) < mpf("1e-28")


@entry_point("UniTuple(f8,8)(f8,f8,f8,f8)", cache=False)
def all_operations(ah, al, bh, bl):
    a, b = (ah, al), (bh, bl)
    s, p, q, r = dd_add(a, b), dd_mul(a, b), dd_div(a, b), dd_sqrt(b)
    return s[0], s[1], p[0], p[1], q[0], q[1], r[0], r[1]


def test_double_double_against_fractions(rng):
    for _ in range(300):
        ah, bh = rng.normal() * 2.0 ** rng.integers(-40, 40), abs(rng.normal()) * 2.0 ** rng.integers(-40, 40)
        al, bl = ah * EPS * rng.uniform(-0.9, 0.9), bh * EPS * rng.uniform(-0.9, 0.9)
        a, b = Fraction(ah) + Fraction(al), Fraction(bh) + Fraction(bl)
        found = [Fraction(x) for x in all_operations(ah, al, bh, bl)]
        s, p, q, r = (found[i] + found[i + 1] for i in (0, 2, 4, 6))
        assert abs(s - (a + b)) <= (abs(a) + b) / 2**104
        assert abs(p / (a * b) - 1) <= Fraction(1, 2**102)
        assert abs(q * b / a - 1) <= Fraction(1, 2**101)
        assert abs(r * r / b - 1) <= Fraction(1, 2**100)
    assert all_operations(1.0, 0.0, 4.0, 0.0)[6:] == (2.0, 0.0)


BODY = (1.2, 1.9, 2.7)
APPROACH = [(q / 2.0**53, p / 2.0**53) for p, q in convergents(separatrix_slope(*BODY)) if max(p, q) > 2**4]


@pytest.mark.parametrize("m1_m3", APPROACH[::3], ids=lambda m: f"{-np.log2(m[0] * m[1]):.0f}")
def test_next_to_the_separatrix_the_period_is_known_as_well_as_the_distance(m1_m3):
    m1, m3 = m1_m3
    m = (m1, max(m1_m3), m3)
    t = float(mpf("1.03") * addition_period(BODY, m))
    dm, dq = errors(BODY, m, (1.0, 0.0, 0.0, 0.0), t)
    assert dm <= 1000
    assert dq <= 1000
