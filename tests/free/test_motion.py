"""Free motions as functions of time: against the oracles, quadrature, exact fractions and textbook forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow, addition_period, addition_precession
from oracles.taylor import taylor_flow

TWO_PI = 2 * np.pi
PERMUTATIONS = list(permutations(range(3)))


def triaxial_bodies(count=60, seed=12):
    """(inertia, m) of both families in any axis order, from round to flat, from steady to nearly unstable."""
    rng = np.random.default_rng(seed)
    bodies = []
    while len(bodies) < count:
        inertia = rng.uniform(0.4, 3.0, 3)
        low, middle, high = np.sort(inertia)
        m = rng.normal(size=3) * 10.0 ** rng.uniform(-1, 0.3, 3)
        if min(middle - low, high - middle) > 0.05 and abs(relative_gap(inertia, m)) > 1e-3:
            bodies.append((inertia, m))
    return bodies


def sorted_axes(inertia, m):
    order = np.argsort(inertia)
    return np.asarray(inertia)[order], np.asarray(m)[order]


def relative_gap(inertia, m):
    """2T I2 - |m|^2 in units of |m|^2: positive around the axis of least inertia."""
    inertia, m = sorted_axes(inertia, m)
    return (np.sum(m * m / inertia) * inertia[1] - m @ m) / (m @ m)


def exact_family(inertia, m):
    """The regime of a body with three different moments and m off the axes, by fractions."""
    pairs = sorted((Fraction(float(moment)), Fraction(float(x))) for moment, x in zip(inertia, m, strict=True))
    (low, a), (middle, _), (high, c) = pairs
    gap = (middle - low) * high * a * a - (high - middle) * low * c * c
    return "separatrix" if gap == 0 else "around_min" if gap > 0 else "around_max"


def textbook(inertia, m, samples):
    """Period and m at equally spaced phases, axes sorted, by Jacobi's functions (Landau, Lifshitz, section 37)."""
    (low, middle, high), m = sorted_axes(inertia, m)
    twice_energy, G2 = m[0] ** 2 / low + m[1] ** 2 / middle + m[2] ** 2 / high, m @ m
    circled, other = (low, high) if twice_energy * middle > G2 else (high, low)
    rate = np.sqrt((circled - middle) * (G2 - twice_energy * other) / (low * middle * high))
    k2 = (middle - other) * (twice_energy * circled - G2) / ((circled - middle) * (G2 - twice_energy * other))
    period = 4 * ellipk(k2) / rate
    sn, cn, dn, _ = ellipj(np.arange(samples) / samples * 4 * ellipk(k2), k2)
    squares = {
        circled: circled * (G2 - twice_energy * other) / (circled - other) * dn**2,
        other: other * (twice_energy * circled - G2) / (circled - other) * cn**2,
        middle: middle * (twice_energy * circled - G2) / (circled - middle) * sn**2,
    }
    return period, circled, squares, np.sqrt(G2)


def precession_by_quadrature(inertia, m):
    """One period of the longitude's rate; the trapezium rule converges exponentially on periodic functions."""
    period, circled, squares, G = textbook(inertia, m, 4000)
    across = {moment: square for moment, square in squares.items() if moment != circled}
    rate = G * sum(square / moment for moment, square in across.items()) / sum(across.values())
    return period * rate.mean()


def longitude_advance(inertia, m):
    """By the oracle: the body's turn about m in one period, and the circled axis' own turn."""
    sign = 1 if relative_gap(inertia, m) < 0 else -1
    return float(addition_precession(inertia.tolist(), m.tolist()) + 2 * mp.pi * sign)


def branch(inertia, m):
    """Which of the four cases of the precession formula a motion falls into."""
    (w1, w2, w3), (m1, m2, m3) = 1 / np.sort(inertia), sorted_axes(inertia, m)[1]
    al, be, ga = w2 - w3, w1 - w3, w1 - w2
    about_3 = al * (be * m1**2 + al * m2**2) <= ga * (ga * m2**2 + be * m3**2)
    return about_3, relative_gap(inertia, m) > 0


# m, q and what follows from them


@pytest.mark.dense
@pytest.mark.parametrize("t_shape", [(), (6,), (2, 3)])
@pytest.mark.parametrize("batch", [(), (5,), (2, 5)])
def test_shapes_are_times_then_batch(t_shape, batch, rng):
    body = ph.RigidBody((1, 2, 3)) if not batch else ph.RigidBody(rng.uniform(0.5, 2, (5, 3)))
    state = ph.State(rng.normal(size=(*batch, 3)), random_attitude(rng, *batch))
    motion = ph.free_motion(body, state)
    t = rng.uniform(-5, 5, t_shape)
    assert motion.batch == batch
    assert motion.m(t).shape == (*t_shape, *batch, 3)
    assert motion.q(t).shape == (*t_shape, *batch, 4)
    assert motion.omega(t).shape == (*t_shape, *batch, 3)
    assert motion.state(t).batch == (*t_shape, *batch)
    assert np.shape(motion.energy) == np.shape(motion.period) == np.shape(motion.rotation_number) == batch
    assert np.shape(motion.regime) == batch
    assert motion.m_space.shape == (*batch, 3)
    for i in np.ndindex(*t_shape):
        for j in np.ndindex(*batch):
            alone = ph.free_motion(body.select(batch, j), ph.State(state.m[j], state.q[j]))
            np.testing.assert_array_equal(motion.m(t)[(*i, *j)], alone.m(t[i]))
            np.testing.assert_array_equal(motion.q(t)[(*i, *j)], alone.q(t[i]))
            one = ph.propagate(body.select(batch, j), state.m[j], state.q[j], t[i])
            np.testing.assert_allclose(motion.m(t)[(*i, *j)], one[0], atol=1e-13)
            np.testing.assert_allclose(motion.q(t)[(*i, *j)], one[1], atol=1e-13)


@pytest.mark.parametrize("k", range(8))
def test_everything_at_a_time_against_the_oracle(k):
    inertia, m0 = triaxial_bodies()[k]
    q0 = random_attitude(np.random.default_rng(k))
    motion = ph.free_motion(inertia, m=m0, q=q0)
    for t in (-7.3, 0.9, 12.6):
        flow = taylor_flow if k % 2 else addition_flow
        m, q = flow(inertia.tolist(), m0.tolist(), q0.tolist(), t)
        G = np.linalg.norm(m0)
        tolerance = 60 * EPS * (1 + G / inertia.min() * abs(t))
        assert distance(motion.m(t), m) <= tolerance * G
        assert distance(motion.q(t), q) <= tolerance
        w = [float(x) for x in m] / inertia
        np.testing.assert_allclose(motion.omega(t), w, atol=tolerance * G / inertia.min(), rtol=0)
        exact = Rotation.from_quat([float(x) for x in (*q[1:], q[0])])
        assert isinstance(motion.rotation(t), Rotation)
        assert (motion.rotation(t) * exact.inv()).magnitude() <= 4 * tolerance
        state = motion.state(t)
        np.testing.assert_array_equal(state.m, motion.m(t))
        np.testing.assert_allclose(state.q, motion.q(t), atol=2 * EPS, rtol=0)
        np.testing.assert_allclose(exact.apply(motion.m(t)), motion.m_space, atol=4 * tolerance * G, rtol=0)


def test_energy_and_momentum_in_space():
    motion = ph.free_motion((2, 4, 8), m=(1, 2, 3), q=(0.5, 0.5, 0.5, 0.5))
    assert motion.energy == (Fraction(1, 2) + 1 + Fraction(9, 8)) / 2
    assert isinstance(motion.energy, float)
    np.testing.assert_array_equal(motion.m_space, (3, 1, 2))


def test_omega_or_state_instead_of_m(rng):
    q, t = random_attitude(rng), np.linspace(-3, 3, 7)
    by_m = ph.free_motion((1, 2, 4), m=(0.5, 1.0, -2.0), q=q)
    by_omega = ph.free_motion((1, 2, 4), omega=(0.5, 0.5, -0.5), q=q)
    by_state = ph.free_motion(ph.RigidBody((1, 2, 4)), ph.State((0.5, 1.0, -2.0), q))
    for other in (by_omega, by_state):
        np.testing.assert_array_equal(other.m(t), by_m.m(t))
        np.testing.assert_array_equal(other.q(t), by_m.q(t))


@pytest.mark.dense
@pytest.mark.parametrize("k", range(0, 60, 4))
def test_attitude_is_continuous(k):
    """|q'| = |w|/2 <= |m|/(2 I1): a change of sign, or of branch, would be a jump."""
    inertia, m0 = triaxial_bodies()[k]
    motion = ph.free_motion(inertia, m=m0, q=random_attitude(np.random.default_rng(k)))
    period, fastest = motion.period, 0.5 * np.linalg.norm(m0) / inertia.min()
    for start in (-2, -500.25, 1000):
        t = (start + np.linspace(0, 4, 1501)) * period
        jumps = np.linalg.norm(np.diff(motion.q(t), axis=0), axis=-1)
        assert jumps.max() <= fastest * 4 * period / 1500 * (1 + 1e-6)
        assert fastest * 4 * period / 1500 < 0.5  # or a jump could hide


@pytest.mark.dense
def test_attitude_is_continuous_on_the_separatrix_and_for_tops():
    for inertia, m in (
        ((3, 4, 6), (1, 0.5, 1)),
        ((6, 3, 4), (-1, 1, 0.01)),
        ((1, 1, 2), (1, 1, 1)),
        ((2, 1, 2), (1, 1, 1)),
    ):
        t = np.linspace(-60, 60, 6001)
        jumps = np.linalg.norm(np.diff(ph.free_motion(inertia, m=m).q(t), axis=0), axis=-1)
        assert jumps.max() <= 0.5 * np.linalg.norm(m) / min(inertia) * 0.02 * (1 + 1e-6)


# regimes


@pytest.mark.parametrize(
    ("inertia", "m", "regime"),
    [
        ((1, 2, 3), (0, 0, 0), "rest"),
        ((1, 1, 1), (0, 0, 0), "rest"),
        ((2, 2, 2), (1, 2, 3), "spherical"),
        ((1, 2, 3), (0, -2, 0), "steady"),
        ((1, 2, 3), (1, 0, 0), "steady"),
        ((1, 2, 3), (0, 0, 5e-324), "steady"),
        ((1, 1, 3), (1, 2, 0), "steady"),
        ((1, 1, 3), (0, 0, 2), "steady"),
        ((1, 3, 3), (0, 2, 1), "steady"),
        ((1, 1, 3), (1, 2, 1), "symmetric"),
        ((1, 3, 3), (1, 0, 1), "symmetric"),
        ((1, 2, 3), (1, 0.1, 0.1), "around_min"),
        ((1, 2, 3), (1e-9, 1, 0), "around_min"),
        ((1, 2, 3), (0.1, 0.1, 1), "around_max"),
        ((1, 2, 3), (0, 1, 1e-9), "around_max"),
        ((3, 4, 6), (1, 0.5, 1), "separatrix"),
        ((3, 4, 6), (1, 0.5, -1), "separatrix"),
        ((3, 4, 6), (1, 0, 1), "separatrix"),
    ],
)
def test_regimes_in_any_axis_order_and_scale(inertia, m, regime):
    for order in PERMUTATIONS:
        for a, b in ((0, 0), (200, -300), (-300, 200)):
            scaled = np.ldexp(np.array(m, dtype=float)[list(order)], 0 if 5e-324 in m else a)
            assert ph.free_motion(np.ldexp(np.array(inertia, dtype=float)[list(order)], b), m=scaled).regime == regime


def separatrix_momenta():
    """m1 : m3 on the separatrix of (3, 4, 6) and, with all digits in use, of (1, 2, 9/4), where m3 = 3 m1."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        digits = float(rng.integers(2**47, 2**48) | 1)  # of the moments too: then no product fits two doubles
        a = float(rng.integers(2**52, 2**53) | 1)
        yield np.array((3.0, 4.0, 6.0)) * digits, a, a
        k = int(rng.integers(2**51, 2**53 // 3)) | 1
        assert 3 * k < 2**53
        yield np.array((1.0, 2.0, 2.25)) * digits, float(k), float(3 * k)


@pytest.mark.parametrize("number", range(24))
def test_the_separatrix_is_told_from_its_neighbors(number):
    inertia, m1, m3 = list(separatrix_momenta())[number]
    scale = 2.0 ** (-53 + 40 * (number % 5 - 2))
    order = list(PERMUTATIONS[number % 6])
    sign = -1 if number % 2 else 1
    for x, z in (
        (m1, m3),
        *((np.nextafter(m1, d), m3) for d in (0, np.inf)),
        *((m1, np.nextafter(m3, d)) for d in (0, np.inf)),
    ):
        m = np.array((x, 0.37 * m1, sign * z)) * scale
        expected = exact_family(inertia, m)
        motion = ph.free_motion(inertia[order], m=m[order])
        assert motion.regime == expected
        assert (expected == "separatrix") == (x == m1 and z == m3)
        assert np.isinf(motion.period) == (expected == "separatrix")


@given(
    st.tuples(*[st.floats(0.3, 3.0)] * 3),
    st.floats(0.1, 1.0),
    st.floats(-1.0, 1.0),
    st.integers(-3, 3),
    st.permutations(range(3)),
)
def test_the_family_is_decided_exactly(inertia, m1, m2, ulps, order):
    assume(len(set(inertia)) == 3)
    low, middle, high = sorted(inertia)
    m3 = m1 * np.sqrt(high * (middle - low) / (low * (high - middle)))
    m3 += ulps * np.spacing(m3)
    inertia, m = np.array((low, middle, high))[list(order)], np.array((m1, m2, m3))[list(order)]
    assert ph.free_motion(inertia, m=m).regime == exact_family(inertia, m)


def test_regimes_of_a_batch():
    motion = ph.free_motion(
        ph.RigidBody.from_moments([(1, 2, 3), (2, 2, 2), (1, 1, 3), (3, 4, 6)]),
        m=[(1, 0, 0), (1, 2, 3), (1, 2, 1), (1, 0.5, 1)],
    )
    assert motion.regime.tolist() == ["steady", "spherical", "symmetric", "separatrix"]
    np.testing.assert_array_equal(np.isinf(motion.period), (False, False, False, True))
    np.testing.assert_array_equal(motion.period[:2], (0, 0))


def test_linear_rotors_are_steady():
    motion = ph.free_motion(ph.RigidBody.linear(2.0), m=(0, 3, 4))
    assert motion.regime == "steady"
    assert motion.period == 0
    assert motion.energy == 6.25
    assert ph.free_motion(ph.RigidBody.linear([1.0, 2.0]), m=[(0, 0, 0), (0, 1, 0)]).regime.tolist() == [
        "rest",
        "steady",
    ]


# period and precession


@pytest.mark.parametrize("k", range(60))
def test_period_and_precession_against_the_oracle(k):
    inertia, m = triaxial_bodies()[k]
    motion = ph.free_motion(inertia, m=m)
    exact = float(addition_period(inertia.tolist(), m.tolist()))
    assert abs(motion.period / exact - 1) <= 15 * EPS
    size = TWO_PI + np.linalg.norm(m) * exact / inertia.min()
    assert abs(motion.precession_per_period - longitude_advance(inertia, m)) <= 20 * EPS * size
    assert motion.rotation_number == motion.precession_per_period / TWO_PI


@pytest.mark.parametrize("k", range(60))
def test_period_and_precession_against_quadrature(k):
    inertia, m = triaxial_bodies()[k]
    motion = ph.free_motion(inertia, m=m)
    np.testing.assert_allclose(motion.period, textbook(inertia, m, 1)[0], rtol=1e-11)
    np.testing.assert_allclose(motion.precession_per_period, precession_by_quadrature(inertia, m), rtol=1e-11)


def test_the_bodies_above_reach_every_branch():
    count = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for inertia, m in triaxial_bodies():
        count[bool(branch(inertia, m)[0]), bool(branch(inertia, m)[1])] += 1
    assert min(count.values()) >= 5


@pytest.mark.parametrize("near", [1e-3, 1e-7, 1e-12, 1e-15])
@pytest.mark.parametrize("inertia", [(3.0, 4.0, 6.0), (0.7, 0.9, 2.3)])
def test_period_next_to_the_separatrix(inertia, near):
    low, middle, high = inertia
    for side in (1, -1):
        m = [1.0, 0.3, np.sqrt(high * (middle - low) / (low * (high - middle))) * (1 + side * near)]
        motion = ph.free_motion(inertia, m=m)
        exact = float(addition_period(inertia, m))
        assert abs(motion.period / exact - 1) <= 10 * EPS
        advance = longitude_advance(np.array(inertia), np.array(m))
        assert abs(motion.precession_per_period - advance) <= 40 * EPS * (TWO_PI + exact * np.linalg.norm(m) / low)


@pytest.mark.parametrize("gap", [1e-2, 1e-9, 2.0**-50])
def test_period_of_almost_tops(gap):
    for inertia in ((1.0, 1.0 + gap, 1.7), (1.0, 1.7, 1.7 + gap)):
        m = [0.4, 0.5, 0.6]
        exact = float(addition_period(inertia, m))
        assert abs(ph.free_motion(inertia, m=m).period / exact - 1) <= 10 * EPS


@pytest.mark.parametrize(("axial", "across"), [(1.0, 2.5), (2.5, 1.0)])
def test_tops_have_elementary_periods(axial, across):
    for order in PERMUTATIONS:
        inertia, m = np.array((axial, across, across))[list(order)], np.array((0.7, 0.3, -0.4))[list(order)]
        motion = ph.free_motion(inertia, m=m)
        period = TWO_PI / (0.7 * abs(1 / axial - 1 / across))
        np.testing.assert_allclose(motion.period, period, rtol=8 * EPS)
        np.testing.assert_allclose(motion.precession_per_period, np.sqrt(0.74) / across * period, rtol=12 * EPS)


def test_period_brings_back_m_and_the_precession_turns_the_circled_axis():
    for inertia, m in triaxial_bodies()[:12]:
        motion = ph.free_motion(inertia, m=m)
        T, G = motion.period, np.linalg.norm(m)
        np.testing.assert_allclose(motion.m(T), m, atol=1e-12 * G, rtol=0)
        assert np.linalg.norm(motion.m(0.5 * T) - m) > 1e-3 * G
        turn = Rotation.from_rotvec(motion.precession_per_period * m / G)
        axis = np.eye(3)[np.argmin(inertia) if motion.regime == "around_min" else np.argmax(inertia)]
        np.testing.assert_allclose(motion.rotation(T).apply(axis), turn.apply(axis), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("inertia", "m"), [((1, 2, 3), (0, 1, 0)), ((1, 1, 1), (1, 2, 3)), ((1, 2, 3), (0, 0, 0))])
def test_constant_momentum_has_period_zero(inertia, m):
    motion = ph.free_motion(inertia, m=m)
    assert motion.period == 0
    assert motion.precession_per_period == 0
    assert motion.rotation_number == 0


def test_separatrix_has_no_period():
    motion = ph.free_motion((3, 4, 6), m=(1, 0.5, 1))
    assert motion.period == np.inf
    assert motion.precession_per_period == np.inf
    assert motion.rotation_number == np.inf


def test_scaling_of_the_period():
    inertia, m = triaxial_bodies()[0]
    period = ph.free_motion(inertia, m=m).period
    for a, b in ((300, 300), (-300, -200), (100, -300)):
        assert ph.free_motion(np.ldexp(inertia, b), m=np.ldexp(m, a)).period == np.ldexp(period, b - a)


def test_moments_too_far_apart_are_refused_instead_of_nan():
    with pytest.raises(ph.InputError, match=r"inertia = \(1e-200, 1, 1e\+200\).*1e150"):
        _ = ph.free_motion((1e-200, 1, 1e200), m=(1, 1, 1)).period


# middle crossings and flips


def middle_component(motion, t):
    return motion.m(t)[..., np.argsort(motion.body.moments)[1]]


@pytest.mark.dense
@pytest.mark.parametrize("k", range(0, 60, 2))
def test_middle_crossings_are_all_zeros_of_the_middle_component(k):
    inertia, m = triaxial_bodies()[k]
    motion = ph.free_motion(inertia, m=m)
    T, G = motion.period, np.linalg.norm(m)
    t0, t1 = -3.7 * T, 5.1 * T
    crossings = motion.middle_crossings(t0, t1)
    steepest = (1 / inertia.min() - 1 / inertia.max()) * G**2
    values = middle_component(motion, crossings)
    assert (np.abs(values) <= 20 * EPS * (G + steepest * (np.abs(crossings) + T))).all()
    assert (np.diff(crossings) > 0).all()
    np.testing.assert_allclose(np.diff(crossings), T / 2, rtol=1e-13)
    dense = middle_component(motion, np.linspace(t0, t1, 20_001))
    assert len(crossings) == np.count_nonzero(np.diff(np.sign(dense)))
    for time in crossings[:2]:
        exact = addition_flow(inertia.tolist(), m.tolist(), (1, 0, 0, 0), float(time))[0][np.argsort(inertia)[1]]
        assert abs(exact) <= 20 * EPS * (G + steepest * (abs(time) + T))


def test_middle_crossings_two_per_period_from_every_start():
    for inertia, m in triaxial_bodies()[:10]:
        motion = ph.free_motion(inertia, m=m)
        for start in np.linspace(-2, 2, 23):
            assert len(motion.middle_crossings(start * motion.period, (start + 3) * motion.period)) == 6


def test_middle_crossings_at_the_ends_belong_to_the_interval():
    motion = ph.free_motion((1, 2, 3), m=(1.0, 0.0, 0.3))  # m2 = 0 at t = 0
    T = motion.period
    np.testing.assert_array_equal(motion.middle_crossings(0, T), (0, T / 2, T))
    np.testing.assert_array_equal(motion.middle_crossings(0, 0), (0,))
    np.testing.assert_array_equal(motion.middle_crossings(-T, -T / 2), (-T, -T / 2))
    assert motion.middle_crossings(1e-9 * T, 0.49 * T).size == 0
    inside = ph.free_motion((1, 2, 3), m=(1.0, 0.2, 0.3))
    first, second = inside.middle_crossings(0, inside.period)
    np.testing.assert_array_equal(inside.middle_crossings(first, second), (first, second))


def test_middle_crossings_of_a_reversed_interval():
    motion = ph.free_motion((3, 1, 2), m=(0.3, 1.0, 0.2))
    np.testing.assert_array_equal(motion.middle_crossings(9, -4), motion.middle_crossings(-4, 9))
    assert len(motion.middle_crossings(9, -4)) > 1


@pytest.mark.parametrize("m", [(1, 0.5, 1), (1, -0.5, 1), (-1, 0.5, 1), (-1, -3, -1), (1, 0, 1), (1e-3, 1, 1e-3)])
def test_separatrix_has_one_crossing(m):
    for order in PERMUTATIONS:
        inertia, start = np.array((3.0, 4.0, 6.0))[list(order)], np.array(m, dtype=float)[list(order)]
        motion = ph.free_motion(inertia, m=start)
        assert motion.regime == "separatrix"
        crossings = motion.middle_crossings(-1e4, 1e4)
        assert len(crossings) == 1
        exact = addition_flow(inertia.tolist(), start.tolist(), (1, 0, 0, 0), float(crossings[0]))[0]
        assert abs(exact[order.index(1)]) <= 40 * EPS * np.linalg.norm(m) * (1 + abs(crossings[0]))
        assert motion.middle_crossings(crossings[0] + 1e-6, 1e4).size == 0


@pytest.mark.parametrize("axis", [0, 2])
def test_middle_crossings_next_to_a_stable_axis_do_not_depend_on_the_offset(axis):
    found = []
    for offset in (1e-9, 1e-30, 1e-170):
        m = np.full(3, 0.6 * offset)
        m[axis], m[2 - axis] = 1.0, -0.7 * offset
        found.append(ph.free_motion((1.1, 1.7, 2.3), m=m).middle_crossings(0, 60))
    assert len(found[0]) > 3
    for times in found[1:]:
        np.testing.assert_allclose(times, found[0], rtol=1e-14)


def test_no_middle_crossings_when_steady():
    for m in ((0, 1, 0), (1, 0, 0), (0, 0, 0)):
        assert ph.free_motion((1, 2, 3), m=m).middle_crossings(-100, 100).shape == (0,)


def test_middle_crossings_need_a_middle_axis_one_body_and_finite_times():
    with pytest.raises(ValueError, match=r"moments \[1\.0, 1\.0, 2\.0\] are equal"):
        ph.free_motion((1, 1, 2), m=(1, 1, 1)).middle_crossings(0, 1)
    with pytest.raises(ValueError, match="equal"):
        ph.free_motion(ph.RigidBody.linear(1.0), m=(0, 1, 1)).middle_crossings(0, 1)
    batch = ph.free_motion((1, 2, 3), m=np.ones((4, 3)))
    with pytest.raises(ph.InputError, match=r"batch \(4,\); .* expected one body: type motion\[i\]"):
        batch.middle_crossings(0, 1)
    for bad in (np.nan, np.inf, "soon", 1j, None):
        with pytest.raises(ph.InputError, match=r"\(t0, t1\)"):
            batch[0].middle_crossings(0, bad)
    with pytest.raises(ph.InputError, match="crossings, two per"):
        batch[0].middle_crossings(0, 1e18)


def test_a_spin_that_only_wobbles_does_not_flip():
    """By 0.4 degrees about the axis of least inertia."""
    motion = ph.free_motion((1, 2, 3), omega=(5, 0.01, 0.01))
    assert motion.flips(0, 10).size == 0
    assert len(motion.middle_crossings(0, 10)) == 9


@pytest.mark.parametrize("k", range(12))
def test_flips_are_the_crossings_of_motions_that_pass_near_the_middle_axis(k):
    """Against Euler's equations followed numerically through more than one period."""
    inertia, m = triaxial_bodies()[k]
    motion = ph.free_motion(inertia, m=m)
    run = solve_ivp(
        lambda t, m: np.cross(m, m / inertia), (0, 1.1 * motion.period), m, "DOP853", rtol=1e-10, atol=1e-10
    )
    middle = run.y[np.argsort(inertia)[1]] / np.linalg.norm(m)
    reach = min(middle.max(), -middle.min())
    assert abs(reach - 0.5 * np.sqrt(3)) > 0.02  # the samples are not far from the largest value
    expected = motion.middle_crossings(-20, 30) if reach > 0.5 * np.sqrt(3) else np.empty(0)
    np.testing.assert_array_equal(motion.flips(-20, 30), expected)


@pytest.mark.parametrize("other", [0, 2])
def test_a_flip_needs_30_degrees(other):
    """The momentum is nearest to the middle axis where one of the other components vanishes."""
    for inertia in ((1.0, 2.0, 3.0), (1.0, 1.0001, 3.0), (0.01, 2.0, 2.001)):
        for scale in (1.0, 2.0**300):
            for angle, flips in ((np.pi / 6 - 1e-9, True), (np.pi / 6 + 1e-9, False)):
                m = np.zeros(3)
                m[1], m[other] = scale * np.cos(angle), scale * np.sin(angle)
                motion = ph.free_motion(inertia, m=motion_later(inertia, m))
                assert (motion.flips(-motion.period, motion.period).size > 0) == flips


def motion_later(inertia, m):
    """Another momentum of the same motion."""
    motion = ph.free_motion(inertia, m=m)
    return motion.m(0.37 * motion.period)


# batches, tensors, repr


def test_getitem(rng):
    body, state = (
        ph.RigidBody(rng.uniform(0.5, 2, (4, 3))),
        ph.State(rng.normal(size=(2, 1, 3)), random_attitude(rng, 4)),
    )
    motion = ph.free_motion(body, state)
    assert motion.batch == (2, 4)
    t = np.linspace(-3, 3, 5)
    for index in ((1, 2), 1, slice(None), (slice(None), 3), ([0, 1], [3, 2])):
        part = motion[index]
        np.testing.assert_array_equal(part.period, motion.period[index])
        np.testing.assert_array_equal(part.m(t), np.stack([select(x, index) for x in motion.m(t)]))
        np.testing.assert_array_equal(part.q(t), np.stack([select(x, index) for x in motion.q(t)]))
    assert [one.batch for one in motion] == [(4,), (4,)]


def select(components_last, index):
    return np.moveaxis(np.stack([x[index] for x in np.moveaxis(components_last, -1, 0)]), 0, -1)


@pytest.mark.parametrize("index", [(0, 0), (slice(None), 0), 3, (Ellipsis, 0, 0)])
def test_getitem_refuses_indices_that_do_not_fit(index):
    motion = ph.free_motion((1, 2, 3), m=np.ones((3, 3)))
    with pytest.raises(IndexError):
        motion[index]
    with pytest.raises(IndexError, match="one body"):
        ph.free_motion((1, 2, 3), m=np.ones(3))[0]


@pytest.mark.parametrize("k", range(6))
def test_tensor_bodies_have_the_same_orbit(k, rng):
    inertia, m = triaxial_bodies()[k]
    turn = Rotation.from_quat(random_attitude(rng))
    axes = turn.as_matrix()
    motion, turned = ph.free_motion(inertia, m=m), ph.free_motion(axes @ np.diag(inertia) @ axes.T, m=axes @ m)
    assert turned.regime == motion.regime
    np.testing.assert_allclose(turned.period, motion.period, rtol=1e-11)
    np.testing.assert_allclose(turned.precession_per_period, motion.precession_per_period, rtol=1e-11)
    np.testing.assert_allclose(turned.energy, motion.energy, rtol=1e-14)
    t1 = 3.3 * motion.period
    np.testing.assert_allclose(turned.middle_crossings(0, t1), motion.middle_crossings(0, t1), atol=1e-11 * t1, rtol=0)
    middle = axes[:, np.argsort(inertia)[1]]
    assert np.abs(turned.m(turned.middle_crossings(0, t1)) @ middle).max() <= 1e-12 * np.linalg.norm(m)
    np.testing.assert_allclose(turned.m(1.7), axes @ motion.m(1.7), atol=1e-13 * np.linalg.norm(m), rtol=0)
    np.testing.assert_allclose(turned.omega(1.7), axes @ motion.omega(1.7), atol=1e-12, rtol=0)


def test_repr():
    assert (
        repr(ph.free_motion((1, 2, 3), m=(0, 2, 0))) == "FreeMotion(RigidBody((1, 2, 3)), steady, period=0, energy=1)"
    )
    assert repr(ph.free_motion((1, 2, 3), m=np.ones((4, 3)))) == "FreeMotion(<4 bodies>)"
