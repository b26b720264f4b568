"""Bodies that wobble faster than they turn, long times, momenta at the end of the range: within rounding of the input.

Truth: for symmetric bodies the elementary solution, for all others the addition theorems, both in mpmath.
"""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from condition import condition
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow
from oracles.symmetric import symmetric_flow
from polhode.free.derivatives import SAFETY


def relative_errors(inertia, m, q, t, exact):
    """Errors of m and q by ``propagate`` in the unit 1 eps (1 + cond), cond from its own Jacobian."""
    with mp.workdps(60):
        m1, q1, bound = ph.propagate(inertia, m, q, t, return_error=True)
        exact_m, exact_q = exact
        size = mp.norm(list(exact_q))  # |q0| is rounded, ours is normalized
        dm, dq = distance(m1, exact_m), distance(q1, [x / size for x in exact_q])
    return SAFETY * dm / float(bound.m), SAFETY * dq / float(bound.q)


def test_the_two_truths_agree():
    for inertia, m, t in [((1.0, 1.0, 7.0), (0.3, -0.2, 0.9), 40.0), ((1.5, 1.5, 1e6), (1e-8, 2e-8, 1.0), -3e11)]:
        q = [0.5, -0.5, 0.5, 0.5]
        with mp.workdps(60):
            for x, y in zip(symmetric_flow(inertia, m, q, t), addition_flow(inertia, m, q, t), strict=True):
                assert mp.norm([a - b for a, b in zip(x, y, strict=True)]) < mpf(10) ** -38


@pytest.mark.parametrize("t", [1e5, -3.3e6, 7.1e8, 2.9e11, 1e15])
@pytest.mark.parametrize("ratio", [10.0, 1e2, 1e3, 1e6, 1e9])
def test_symmetric_bodies_with_a_large_third_moment(ratio, t):
    inertia, m, q = (1.0, 1.0, ratio), (1e-8, 2e-8, 1.0), (0.5, -0.5, 0.5, 0.5)
    error_m, error_q = relative_errors(inertia, m, q, t, symmetric_flow(inertia, m, q, t))
    assert error_m <= 2
    assert error_q <= 2


def test_one_ulp_from_symmetric():
    a = 1.7386712597045528
    inertia, m, q, t = (a, float(np.nextafter(a, 2)), 2.88e8), (-4.2e-9, 1.4e-8, 1.0), (1.0, 0.0, 0.0, 0.0), 5.6e11
    exact_m, exact_q, size, cond_m, cond_q = condition(inertia, m, q, t)
    m1, q1 = ph.propagate(inertia, m, q, t)
    assert distance(m1, exact_m) <= 2 * EPS * (1 + cond_m) * size
    assert distance(q1, exact_q) <= 2 * EPS * (1 + cond_q)


def nearly_equal(rng, x):
    """x itself, its neighbor, or a number that is larger by 1e-15 to 0.1 of it."""
    return (x, np.nextafter(x, 2 * x), x * (1 + 10.0 ** rng.uniform(-15, -1)))[rng.integers(3)]


def extreme_body(rng):
    """(inertia, m, q, t): ratios up to 1e12, nearly equal moments, near each axis down to 1e-12, up to 1e15 radians."""
    ratio, first = 10.0 ** rng.uniform(0, 12), rng.uniform(1, 2)
    kind = rng.integers(4)
    second = nearly_equal(rng, first) if kind in (0, 3) else first * ratio ** rng.uniform(0, 1)
    third = nearly_equal(rng, second) if kind in (1, 3) else max(second, first * ratio)
    m, axis = rng.normal(size=3), rng.integers(4)
    if axis < 3:
        m *= 10.0 ** rng.uniform(-12, 0)
        m[axis] = rng.choice((-1, 1)) * rng.uniform(0.5, 1)
    t = rng.choice((-1, 1)) * 10.0 ** rng.uniform(0, 15) * first / np.linalg.norm(m)
    order = rng.permutation(3)
    return np.array((first, second, third))[order].tolist(), m[order].tolist(), random_attitude(rng).tolist(), float(t)


def assert_covered(draw, seed, count):
    """``return_error`` covers the errors of so many bodies."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        inertia, m, q, t = draw(rng)
        error_m, error_q = relative_errors(inertia, m, q, t, addition_flow(inertia, m, q, t))
        assert max(error_m, error_q) <= SAFETY, f"draw {i} of seed {seed}: {inertia}, {m}, {q}, {t}"


def test_error_bounds_cover_extreme_bodies():
    assert_covered(extreme_body, 1, 60)


@pytest.mark.release
@pytest.mark.parametrize("seed", range(100, 106))
def test_error_bounds_cover_many_extreme_bodies(seed):
    assert_covered(extreme_body, seed, 1500)


def resting_body(rng):
    """(inertia, m, q, t): whole and half periods, up to 1e15 of them: m is slow where it starts and where it ends."""
    inertia = np.sort(rng.uniform(1, 3, 3))
    m = rng.normal(size=3) * 10.0 ** rng.uniform(-8, -1)
    m[rng.choice((0, 2))] *= 10.0 ** rng.uniform(-6, 0)
    m[1] = rng.choice((-1, 1))
    t = np.rint(10.0 ** rng.uniform(4, 15)) * rng.choice((0.5, 1)) * ph.free_motion(inertia, m=m).period
    return inertia.tolist(), m.tolist(), random_attitude(rng).tolist(), float(t)


@pytest.mark.filterwarnings("ignore:a body turns by")
def test_error_of_m_where_the_attitude_is_lost():
    """m waits at the middle axis: its derivatives are small there, but nobody knows whether it has turned over."""
    inertia = (1.9158605307470673, 1.9411855109128633, 2.190089480057707)
    m, t = (1.6137808828126754e-06, 1.0, -2.3482444413653706e-06), 9.057189381822552e18
    exact_m, _ = addition_flow(inertia, m, (1, 0, 0, 0), t)
    m1, _, bound = ph.propagate(inertia, m, t=t, return_error=True)
    assert distance(m1, exact_m) > 1
    assert distance(m1, exact_m) <= bound.m <= 3
    assert bound.q > 1


@pytest.mark.filterwarnings("ignore:a body turns by")
def test_error_bounds_cover_bodies_that_wait_at_the_middle_axis():
    assert_covered(resting_body, 1, 60)


@pytest.mark.release
@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize("seed", range(200, 202))
def test_error_bounds_cover_many_bodies_that_wait_at_the_middle_axis(seed):
    assert_covered(resting_body, seed, 1000)


def test_the_way_through_the_formulas_is_a_bodys_own(rng):
    """Alone, and next to bodies that do not wobble."""
    bodies = [extreme_body(rng) for _ in range(70)] + [
        (rng.uniform(1, 2, 3), rng.normal(size=3), random_attitude(rng), rng.uniform(0, 300)) for _ in range(70)
    ]
    mixed = [bodies[i] for i in rng.permutation(len(bodies))]
    inertia, m, q, t = (np.array(x) for x in zip(*mixed, strict=True))
    together_m, together_q = ph.propagate(inertia, m, q, t)
    for i, body in enumerate(mixed):
        alone_m, alone_q = ph.propagate(*body)
        np.testing.assert_array_equal(together_m[i], alone_m)
        np.testing.assert_array_equal(together_q[i], alone_q)


@pytest.mark.parametrize("exponent", [-1022, -1023, -1024, -1040, -1074])
@pytest.mark.parametrize("turns", [0.1, 10.0, 1e6, 1e12])
def test_momenta_below_the_normal_numbers(exponent, turns):
    """The same body in another scale; each component of m is rounded to a multiple of the smallest number."""
    inertia = np.array((1.0, 1.7, 2.3))
    m = np.ldexp((0.75, -0.5, 1.25), exponent)
    large_m = np.ldexp(m, 1022)
    t = turns / np.linalg.norm(large_m)
    m1, q1 = ph.propagate(np.ldexp(inertia, -900), m, t=np.ldexp(t, 1022 - 900))
    m2, q2 = ph.propagate(inertia, large_m, t=t)
    np.testing.assert_allclose(np.ldexp(m1, 1022), m2, rtol=0, atol=2.0**-53 + 40 * EPS * turns * large_m.max())
    np.testing.assert_allclose(q1, q2, rtol=0, atol=40 * EPS * (1 + turns))
    assert m1.any()
