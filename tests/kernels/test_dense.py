"""One motion at many times, by theta functions: against truth, against single times, and bit by bit against itself.

Sixteen times or more go through ``kernels/exact/dense.py``; next to the separatrix, without a period and for too long
times they go through single steps. Errors are in eps = 2^-53: of q, and of m relative to |m|.
"""

from __future__ import annotations

import importlib.util
from itertools import pairwise, permutations

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance, golden_cases, random_attitude
from oracles.addition import addition_flow
from polhode.core import threads
from polhode.free.motion import MANY_TIMES
from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.exact import dense
from polhode.kernels.exact.dense import (
    CLOSE,
    DEGREE,
    POLYNOMIALS,
    ROW,
    TIME_LIMIT,
    USABLE,
    DenseMotion,
    arc_and_turn,
    circle,
    read,
)
from polhode.kernels.exact.standard_form import INPUT, TIMES

CASES = golden_cases()
ORDERS = [list(order) for order in permutations(range(3))]
AXIS3, FAMILY = DenseMotion._fields.index("axis3"), DenseMotion._fields.index("D")
BODY = (1.1, 1.7, 2.3)
TILTED = (0.5, -0.5, 0.5, 0.5)


def many(t):
    """The times t (one or some) first, and others, so that there are many."""
    t = np.atleast_1d(np.asarray(t, dtype=float))
    return np.concatenate([t, np.linspace(-0.7, 1.3, MANY_TIMES) * t[0]])


def is_usable(motion):
    return bool(motion._series[0, USABLE])


def exact_states(inertia, m, q, t):
    """[(m/2^k, q)] at times t by the oracle, and k, which keeps squares of m within range."""
    k = int(np.frexp(np.abs(m).max())[1])
    states = [addition_flow(*(np.asarray(x).tolist() for x in (inertia, m, q)), float(time)) for time in t]
    with mp.workdps(60):
        return [([mp.ldexp(x, -k) for x in exact_m], exact_q) for exact_m, exact_q in states], k


def worst_errors(inertia, m, q, t, *computed):
    """For each (m, q) at times t, the largest errors of m/|m| and q."""
    exact, k = exact_states(inertia, m, q, t)
    size = np.linalg.norm(np.ldexp(m, -k)) or 1.0
    return np.array([
        (
            max(distance(np.ldexp(a, -k), x[0]) for a, x in zip(found_m, exact, strict=True)) / size / EPS,
            max(distance(a, x[1]) for a, x in zip(found_q, exact, strict=True)) / EPS,
        )
        for found_m, found_q in computed
    ])  # fmt: skip


def apart(one, other):
    """Largest distances of m/|m| and q between two (m, q)."""
    size = np.linalg.norm(one[0], axis=-1).max() or 1.0
    return [np.linalg.norm(a - b, axis=-1).max() / EPS / s for a, b, s in zip(one, other, (size, 1.0), strict=True)]


def same_bits(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def sorted_body(rng, spread=1.0):
    while True:
        inertia = np.sort(np.exp(rng.uniform(-spread, spread, 3)))
        if np.diff(inertia).min() > 0.02 * inertia[0]:
            return inertia


def on_polhode(inertia, m1, m2, kc2, family):
    """m of a body with sorted moments that is kc2 = |D|/lambda^2 off the separatrix, around_min (+1) or around_max."""
    w1, w2, w3 = 1 / np.asarray(inertia)
    al, be, ga = w2 - w3, w1 - w3, w1 - w2
    if family > 0:
        m3 = ga * m1**2 - kc2 * ga * (be * m1**2 + al * m2**2) / be
    else:
        m3 = (be * ga * m1**2 + kc2 * al * ga * m2**2) / (be * (1 - kc2))
    return np.array([m1, m2, np.sqrt(m3 / al)])


# Truth


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_golden_within_five_eps_times_condition(case):
    motion = ph.free_motion(case["I"], m=case["m0"], q=case["q0"])
    times = np.concatenate([many(case["t"]), [case["t"]]])
    m, q = motion.m(times), motion.q(times)
    assert np.isfinite(m).all()
    assert np.isfinite(q).all()
    for i in (0, -1):
        dm = distance(m[i], case["m"]) / (np.linalg.norm(case["m0"]) or 1.0) / EPS
        dq = distance(q[i], case["q"]) / EPS
        assert dm <= 5 * (1 + case["cond_m"])
        assert dq <= 5 * (1 + case["cond_q"])
        if case["label"].startswith("long/"):
            assert is_usable(motion)
            assert max(dm, dq) <= 40


def test_most_golden_cases_are_by_series():
    assert sum(is_usable(ph.free_motion(c["I"], m=c["m0"], q=c["q0"])) for c in CASES) > 130


def random_motions(count, seed):
    """Motions of both families and both forms of the attitude in turn, any order of axes and scale."""
    rng = np.random.default_rng(seed)
    number = 0
    while number < count:
        inertia, m = (
            sorted_body(rng, rng.choice([0.3, 1.0, 3.0])),
            rng.normal(size=3) * 10.0 ** rng.uniform(-1.5, 0.3, 3),
        )
        order = ORDERS[number % 6]
        b, a = rng.integers(-300, 301, 2) if number % 3 == 0 else (0, 0)
        motion = ph.free_motion(np.ldexp(inertia[order], b), m=np.ldexp(m[order], a), q=random_attitude(rng))
        row = motion._series[0]
        if row[USABLE] and (row[FAMILY] > 0, row[AXIS3] > 0) == (number % 2 == 0, number // 2 % 2 == 0):
            number += 1
            yield motion, rng


@pytest.mark.parametrize(
    ("count", "seed"), [(24, 1), pytest.param(168, 2, marks=[pytest.mark.dense, pytest.mark.long])]
)
def test_random_bodies_up_to_a_million_periods(count, seed):
    """Found in 3000 bodies: 14 eps for m, 8 eps for q, in every family, form and number of periods alike."""
    worst = np.zeros(2)
    for motion, rng in random_motions(count, seed):
        t = motion.period * 10.0 ** rng.uniform(-3, 6, 2) * (1, -1)
        m, q = motion.sample(many(t))
        inertia, start = motion.body.moments, motion.initial
        worst = np.maximum(worst, worst_errors(inertia, start.m, start.q, t, (m[:2], q[:2]))[0])
    assert worst[0] <= 32
    assert worst[1] <= 19


def test_results_scale_to_the_bit(rng):
    inertia, m, q, t = np.array(BODY), rng.normal(size=3), random_attitude(rng), rng.uniform(-1e4, 1e4, 20)
    m0, q0 = ph.free_motion(inertia, m=m, q=q).sample(t)
    for a, b in ((300, 300), (300, -300), (-300, 300), (-300, -300)):
        scaled = ph.free_motion(np.ldexp(inertia, b), m=np.ldexp(m, a), q=q)
        assert is_usable(scaled)
        same_bits(scaled.sample(np.ldexp(t, b - a)), (np.ldexp(m0, a), q0))


# The switch to single steps at |D|/lambda^2 = CLOSE

CONSTANTS = f"void({INPUT}, {INPUT}, {INPUT}, f8[:,::1])"


@pytest.fixture(scope="module")
def series_of():
    """``FreeMotion`` whose series are used however close the separatrix is: by a second copy of the module."""
    spec = importlib.util.find_spec("polhode.kernels.exact.dense")
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    copy.CLOSE = 0.0  # kernels read it when they are compiled, on their first call
    constants = entry_point(CONSTANTS, cache=False)(copy.dense_constants.__wrapped__ if JIT else copy.dense_constants)

    def motion_by_series(inertia, m, q):
        motion, rows = ph.free_motion(inertia, m=m, q=q), np.empty((1, ROW))
        constants(*(np.array([x], dtype=float) for x in (inertia, m, q)), rows)
        assert rows[0, USABLE] == 1
        motion._series = rows
        return motion

    return motion_by_series


def bodies_at(kc2, family, seed):
    rng = np.random.default_rng(seed)
    inertia = sorted_body(rng, 0.5)
    m = on_polhode(inertia, rng.uniform(0.3, 1) * rng.choice([-1, 1]), rng.uniform(-1, 1), kc2, family)
    return inertia, m, random_attitude(rng)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", [1, -1])
@pytest.mark.parametrize("side", [-1e-9, 1e-9, -0.01, 0.01])
def test_both_paths_are_right_on_both_sides_of_the_switch(series_of, side, family, seed):
    """Found: 20 eps for m and 11 for q by series, 44 and 30 by steps."""
    inertia, m, q = bodies_at(CLOSE * (1 + side), family, seed)
    motion, forced = ph.free_motion(inertia, m=m, q=q), series_of(inertia, m, q)
    assert motion.regime == ("around_min" if family > 0 else "around_max")
    t = motion.period * np.concatenate([np.linspace(-2, 2, 33), [0.5, 0.31, -1.27, 1e4 + 0.123]])
    by_series, by_steps = forced.sample(t), motion._by_steps(t)
    assert is_usable(motion) == (side > 0)
    same_bits(motion.sample(t), by_series if side > 0 else by_steps)
    assert not np.array_equal(by_series[1], by_steps[1])
    last = [(m[-4:], q[-4:]) for m, q in (by_series, by_steps)]
    of_series, of_steps = worst_errors(inertia, m, q, t[-4:], *last)
    assert max(of_series) <= 60
    assert max(of_steps) <= 175
    assert max(apart(by_series, by_steps)) <= 190


def test_the_series_are_long_enough_at_the_switch_and_no_longer():
    """Relative to the smallest value of the denominator, theta4(0): the first term left out, the last one kept."""
    with mp.workdps(30):
        nome = mp.qfrom(m=1 - mpf(CLOSE))
        left_out, kept = (2 * nome ** (k * k) / mp.jtheta(4, 0, nome) / EPS for k in (DEGREE + 1, DEGREE))
    assert left_out < 1e-3
    assert kept > 1


@pytest.mark.parametrize("family", [1, -1])
def test_the_switch_has_a_margin_and_is_needed(series_of, family):
    """With these terms the series are right down to CLOSE/9, and wrong by thousands of eps at CLOSE/1000."""
    differences = []
    for closer in (3, 1000):
        inertia, m, q = bodies_at(CLOSE / closer, family, 0)
        motion = series_of(inertia, m, q)
        t = motion.period * np.linspace(-0.5, 0.5, 101)
        differences.append(max(apart(motion.sample(t), motion._by_steps(t))))
    assert differences[0] <= 235
    assert differences[1] > 1000


# Theta functions


@entry_point(f"void({INPUT}, {TIMES}, f8[:,::1])", cache=False)
def arcs(rows, x, out):
    motion, series = read(rows, 0)
    for i in range(len(x)):
        sz, cz = circle(float(x[i]))
        (s, r, c, d), (re, im) = arc_and_turn(motion, series, sz, cz)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = s / r, c / r, d / r, re, im


STANDARD = (1.1, 1.7, 1.9)
ARCS = {
    **{f"kc2={kc2}/{f}": (STANDARD, on_polhode(STANDARD, 0.7, 0.4, kc2, f))
       for kc2 in (CLOSE * (1 + 1e-9), 0.01, 0.1, 0.5) for f in (1, -1)},
    **{f"k={k}/{axis}": (STANDARD, np.roll([1.0, 0.8 * k, -0.6 * k], axis)) for k in (1e-3, 1e-15, 1e-100, 1e-170, 0.0)
       for axis in (0, 2)},
    "top": ((1.1, 1.1, 1.9), (0.4, 1.0, 1.2)),
    "top, m2 = 0": ((1.1, 1.1, 1.9), (0.4, 0.0, 1.2)),
    "egg": ((1.1, 1.9, 1.9), (0.4, 1.0, 1.2)),
    "nearly a top": ((1.1, np.nextafter(1.1, 2), 1.9), (0.4, 1.0, 1.2)),
    "nearly an egg": ((1.1, np.nextafter(1.9, 0), 1.9), (0.4, 1.0, 1.2)),
    "flat": ((1.1, 1.9, 3.0), (0.4, 1.0, 1.2)),
    "needle": ((1.0, 1e8, 1.5e8), (0.4, 1.0, 1.2)),
}  # fmt: skip


def exact_constants(inertia, m):
    """(lambda, k^2, n/lambda^2, D > 0), by the formulas at the head of euler.py."""
    (w1, w2, w3), (x, y, z) = (1 / mpf(float(moment)) for moment in inertia), (mpf(float(c)) ** 2 for c in m)
    al, be, ga = w2 - w3, w1 - w3, w1 - w2
    C3, C1 = be * x + al * y, ga * y + be * z
    p, r = ga * C3, al * C1
    n = al * C3 if C3 <= C1 else ga * C1
    return mp.sqrt(max(p, r)), min(p, r) / max(p, r), n / max(p, r), p > r


@pytest.mark.parametrize("name", ARCS)
def test_theta_functions_against_mpmath(name):
    """Found: sn within 5 eps and dn within 20 eps of themselves, cn within 3 eps of 1, the turn within 3 eps."""
    inertia, m = (np.array(v, dtype=float) for v in ARCS[name])
    m /= 2.0 ** np.floor(np.log2(np.abs(m).max()))  # as in the standard form
    motion = ph.free_motion(inertia, m=m)
    assert is_usable(motion)
    x = np.concatenate([np.linspace(-0.5, 0.5, 22), [1e-9, -1e-300, 0.4999999]])
    found = np.empty((len(x), 5))
    arcs(motion._series, x, found)
    assert np.isfinite(found).all()
    assert (np.sign(found[:, 0]) == np.sign(x)).all()
    sign = 1 - 2 * motion._series[0, AXIS3]
    with mp.workdps(50):
        lam, k2, n, positive = exact_constants(inertia, m)
        K, nome = mp.ellipk(k2), mp.qfrom(m=k2)
        zeta = mp.pi / (2 * K) * mp.elliprf(n, n + k2, n + 1) if n + k2 else mp.inf
        for at, (s, c, d, re, im) in zip(x, found, strict=True):
            u = 2 * K * mpf(float(at))
            cn, dn = (c, d) if positive else (d, c)
            sn = mp.ellipfun("sn", u, m=k2) / lam
            assert abs(s - sn) <= 20 * EPS * abs(sn)
            assert abs(cn - mp.ellipfun("cn", u, m=k2)) <= 16 * EPS
            assert abs(dn / mp.ellipfun("dn", u, m=k2) - 1) <= 60 * EPS
            z = mp.pi * mpf(float(at))
            theta = (
                mp.jtheta(1, mp.mpc(z, zeta), nome) if 0 < zeta < 300 and nome else mp.sin(mp.mpc(z, min(zeta, 300)))
            )
            turn = mp.mpc(float(re), float(im) * sign)
            assert abs(turn / abs(turn) - mp.mpc(theta.imag, theta.real) / abs(theta)) <= 12 * EPS


@pytest.mark.parametrize("name", ARCS)
def test_nome(name):
    """-2 N is the coefficient of cos 2z in theta4; tiny nomes are right relative to themselves, too."""
    inertia, m = ARCS[name]
    row = ph.free_motion(inertia, m=m)._series[0]
    theta4 = row[POLYNOMIALS + 3 * (DEGREE + 1) : POLYNOMIALS + 4 * (DEGREE + 1)]
    found = -0.5 * np.polynomial.chebyshev.poly2cheb(theta4)[1] if theta4[1:].any() else 0.0
    with mp.workdps(400):
        nome = mp.qfrom(m=exact_constants(inertia, m)[1])
        assert abs(found - nome) <= 12 * EPS * nome * (1 - mp.log(nome or 1)) + mpf(2) ** -1000


# Regimes


def assert_same_as_single_times(motion, t, eps=20):
    """Within eps (1 + |w| t): single steps count radians, dense output takes whole periods off."""
    m, q = motion.sample(t)
    assert np.isfinite(m).all()
    assert np.isfinite(q).all()
    size = np.linalg.norm(motion.initial.m) or 1.0
    fastest = np.linalg.norm(motion.body.omega(motion.initial.m))
    for i, time in enumerate(t):
        tolerance = eps * EPS * (1 + fastest * abs(time))
        assert np.linalg.norm(m[i] - motion.m(time)) <= tolerance * size
        assert np.linalg.norm(q[i] - motion.q(time)) <= tolerance


REGIMES = {
    "rest": ((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), False),
    "spherical": ((2.0, 2.0, 2.0), (0.3, -0.2, 0.7), False),
    "linear": (ph.RigidBody.linear(2.0), (0.0, 3.0, 4.0), False),
    "top": ((1.0, 1.0, 2.0), (0.4, 0.5, 0.6), True),
    "top, m1 = 0": ((1.0, 1.0, 2.0), (0.0, 0.5, 0.6), True),
    "top, m2 = 0": ((1.0, 1.0, 2.0), (0.4, 0.0, 0.6), True),
    "top on its axis": ((1.0, 1.0, 2.0), (0.0, 0.0, 0.6), True),
    "top on its equator": ((1.0, 1.0, 2.0), (0.4, 0.5, 0.0), False),
    "egg": ((2.0, 1.0, 2.0), (0.4, 0.5, 0.6), True),
    "egg, m3 = 0": ((1.0, 2.0, 2.0), (0.4, 0.5, 0.0), True),
    "egg on its axis": ((1.0, 2.0, 2.0), (0.4, 0.0, 0.0), True),
    "egg on its equator": ((1.0, 2.0, 2.0), (0.0, 0.5, 0.6), False),
    "separatrix": ((3.0, 4.0, 6.0), (1.0, 0.5, 1.0), False),
    "separatrix, m2 = 0": ((3.0, 4.0, 6.0), (1.0, 0.0, -1.0), False),
    "least axis": (BODY, (-0.9, 0.0, 0.0), True),
    "middle axis": (BODY, (0.0, 0.9, 0.0), False),
    "greatest axis": (BODY, (0.0, 0.0, 0.9), True),
    "m1 = 0": (BODY, (0.0, 0.5, 0.6), True),
    "m2 = 0": (BODY, (0.4, 0.0, 0.6), True),
    "m3 = 0": (BODY, (0.4, 0.5, 0.0), True),
    "lamina": ((1.0, 2.0, 3.0), (0.5, 0.6, -0.7), True),
    "nearly a disk": ((1.0, 1.0 + 1e-7, 2.0 + 1e-7), (0.5, 0.6, -0.7), True),
    "needle": ((1e-7, 1.0, 1.0 + 1e-7), (1e-4, 0.5, 0.6), True),
    "no triangle": ((1e-3, 1.0, 50.0), (0.4, 0.5, 0.6), True),
    "far apart": ((1.0, 1e70, 1e140), (0.4, 0.5, 0.6), True),
    "far apart, m1 = 0": ((1e-60, 1.0, 1e60), (0.0, 0.5, 0.6), True),
    **{
        f"{kind} by {gap}": (inertia, (0.4, 0.5, 0.6), True)
        for gap in (1e-15, 1e-12, 1e-8, 1e-4, 1e-1)
        for kind, inertia in (("nearly a top", (1.0, 1.0 + gap, 1.7)), ("nearly an egg", (1.7 + gap, 1.7, 1.0)))
    },
    **{
        f"nearly a sphere by {gap}": ((1.0, 1.0 + gap, 1.0 + 2.5 * gap), (0.4, 0.5, 0.6), gap > 1e-9)
        for gap in (1e-15, 1e-12, 1e-8, 1e-4)
    },
}


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize("name", REGIMES)
def test_regimes(name):
    """Where single steps are used anyway, even the bits are those of single times."""
    body, m, usable = REGIMES[name]
    motion = ph.free_motion(body, m=m, q=TILTED)
    assert is_usable(motion) == usable
    w = np.linalg.norm(motion.body.omega(motion.initial.m)) or 1.0
    period = motion.period if 0 < motion.period < np.inf else 5 / w
    t = np.concatenate([np.linspace(-2.5, 2.5, 17) / w, np.linspace(-1.5, 1.5, 13) * period, [31.4 * period, 0.0]])
    assert_same_as_single_times(motion, t)
    if not usable:
        same_bits(motion.sample(t), [np.array([x(time) for time in t]) for x in (motion.m, motion.q)])


@pytest.mark.parametrize("gap", [1e-15, 1e-8, 1e-4, 0.1])
def test_nearly_symmetric_bodies_of_many_periods_against_the_oracle(gap):
    for inertia in ((1.0, 1.0 + gap, 1.7), (1.0, 1.7, 1.7 + gap), (1.0, 1.0 + gap, 1.0 + 2.5 * gap)):
        motion = ph.free_motion(inertia, m=(0.9, 0.1, 0.02), q=TILTED)
        if is_usable(motion):
            t = motion.period * np.array([0.2, 3.3, -1000.4])
            m, q = motion.sample(many(t))
            assert worst_errors(inertia, (0.9, 0.1, 0.02), TILTED, t, (m[:3], q[:3])).max() <= 40


@pytest.mark.parametrize("offset", [1e-2, 1e-8, 1e-30, 1e-170])
@pytest.mark.parametrize("axis", [0, 2])
def test_small_components_are_right_relative_to_their_own_size(axis, offset):
    m = offset * np.array([1.0, 0.6, -0.7])
    m[axis] = 1.0
    motion = ph.free_motion(BODY, m=m, q=TILTED)
    assert is_usable(motion)
    t = motion._series[0, 0] * np.array([0.2, 3.3, -1000.4])
    found_m, found_q = motion.sample(many(t))
    with mp.workdps(400):
        for i, (exact_m, exact_q) in enumerate(exact_states(BODY, m, TILTED, t)[0]):
            for j in range(3):
                size = 1.0 if j == axis else offset
                assert abs(mpf(float(found_m[i, j])) / size - exact_m[j] * 2 / size) <= 30 * EPS
            assert distance(found_q[i], exact_q) <= 20 * EPS


@pytest.mark.parametrize("offset", [1e-1, 1e-3, 1e-8, 1e-30, 1e-140])
def test_next_to_the_middle_axis(offset):
    m = offset * np.array([1.0, 0.0, -0.7])
    m[1] = 1.0
    motion = ph.free_motion(BODY, m=m, q=TILTED)
    assert is_usable(motion) == (offset == 1e-1)
    t = motion.period * np.array([0.2, 0.5, -0.43, 1.01])
    m_found, q_found = motion.sample(many(t))
    assert worst_errors(BODY, m, TILTED, t, (m_found[:4], q_found[:4])).max() <= 40 * (1 - np.log(offset))


@pytest.mark.parametrize("name", ["top", "egg", "lamina", "m2 = 0", "least axis", "far apart"])
def test_time_zero(name):
    body, m, _ = REGIMES[name]
    found_m, found_q = ph.free_motion(body, m=m, q=TILTED).sample(np.zeros(MANY_TIMES))
    assert np.linalg.norm(found_m - m, axis=-1).max() <= 8 * EPS * np.linalg.norm(m)
    assert np.linalg.norm(found_q - TILTED, axis=-1).max() <= 5 * EPS


# Which path


def test_sixteen_times_are_many():
    motion = ph.free_motion(BODY, m=(0.4, 0.5, 0.6), q=TILTED)
    t = np.linspace(-40, 50, MANY_TIMES)
    by_steps, by_series = motion._by_steps(t), (np.empty((len(t), 3)), np.empty((len(t), 4)))
    motion._by_series(t, *by_series)
    assert not np.array_equal(by_steps[1], by_series[1])
    same_bits(motion.sample(t), by_series)
    same_bits(motion.sample(t.reshape(2, -1)), [x.reshape(2, MANY_TIMES // 2, -1) for x in by_series])
    same_bits(motion.sample(t[1:]), [x[1:] for x in by_steps])


@pytest.mark.filterwarnings("ignore:a body turns by")
def test_too_long_times_go_by_steps_and_leave_nothing_behind():
    motion = ph.free_motion(BODY, m=(0.4, 0.5, 0.6), q=TILTED)
    t = np.linspace(-40, 50, 20)
    before = motion.sample(t)
    for long in (1.001, -1.001, 1e20):
        too_long = np.append(t, long * motion._series[0, TIME_LIMIT])
        same_bits(motion.sample(too_long), motion._by_steps(too_long))
        same_bits(motion.sample(t), before)
    inside = np.append(t, [0.999 * motion._series[0, TIME_LIMIT]] * 2)
    same_bits([x[:20] for x in motion.sample(inside)], before)
    m, q = motion.sample(inside)
    errors = worst_errors(BODY, (0.4, 0.5, 0.6), TILTED, inside[-1:], (m[-1:], q[-1:]))
    assert errors.max() <= 40 * 2 * np.pi  # the period's 32nd digit, times the number of periods
    with pytest.raises(ph.InputError, match="too large"):
        motion.m(np.full(20, 1e200))
    with pytest.raises(ph.InputError, match="t"):
        motion.m(np.append(t, np.nan))


@pytest.mark.filterwarnings("ignore:a body turns by")
def test_a_time_may_be_too_long_for_one_body_only():
    m = np.array([(0.4, 0.5, 0.6), (400.0, 500.0, 600.0), (0.1, 0.5, 0.6)])
    motion = ph.free_motion(BODY, m=m, q=TILTED)
    t = np.append(np.linspace(-40, 50, 20), 2 * motion._series[1, TIME_LIMIT])
    assert (motion._series[[0, 2], TIME_LIMIT] > t.max()).all()
    found = motion.sample(t)
    same_bits(motion[1]._by_steps(t), [x[:, 1] for x in found])
    for i in (0, 2):
        same_bits(motion[i].sample(t), [x[:, i] for x in found])
    assert not np.array_equal(motion[0]._by_steps(t)[1], found[1][:, 0])


def test_out(rng):
    motion = ph.free_motion((1.1, 1.7, 2.3), m=rng.normal(size=(3, 3)))
    for t in (np.linspace(0, 9, 20), np.linspace(0, 9, 5)):
        out = np.full((len(t), 3, 3), np.nan), np.full((len(t), 3, 4), np.nan)
        m, q = motion.sample(t, out=out)
        assert m is out[0]
        assert q is out[1]
        same_bits(out, motion.sample(t))
        with pytest.raises(ph.InputError, match="out must be"):
            motion.sample(t, out=out[::-1])


# Shapes, batches, threads: bits


def mixed_batch():
    """Bodies that have series and bodies that do not, one after the other."""
    names = ["m1 = 0", "separatrix", "top", "rest", "lamina", "spherical", "no triangle", "middle axis", "least axis"]
    inertia, m = (np.array([REGIMES[name][i] for name in names]) for i in (0, 1))
    usable = [REGIMES[name][2] for name in names]
    return inertia, m, random_attitude(np.random.default_rng(4), len(names)), usable


@pytest.mark.parametrize("shape", [(16,), (4, 5), (2, 3, 4), (1, 30), (30, 1)])
def test_times_of_any_shape(shape, rng):
    motion = ph.free_motion(BODY, m=(0.4, 0.5, 0.6), q=TILTED)
    t = rng.uniform(-100, 100, shape)
    m, q = motion.sample(t)
    assert (m.shape, q.shape) == ((*shape, 3), (*shape, 4))
    flat = motion.sample(t.ravel())
    same_bits((m.reshape(-1, 3), q.reshape(-1, 4)), flat)
    same_bits(motion.sample(np.asfortranarray(t)), (m, q))
    same_bits([x[::-1] for x in motion.sample(t[::-1])], (m, q))
    same_bits(motion.sample(t.tolist()), (m, q))


def test_no_times_and_no_bodies():
    motion = ph.free_motion(BODY, m=np.ones((4, 3)))
    for shape in ((0,), (0, 20), (20, 0)):
        assert motion.m(np.empty(shape)).shape == (*shape, 4, 3)
        assert motion.q(np.empty(shape)).shape == (*shape, 4, 4)
    for batch in ((0,), (0, 3)):
        nobody = ph.free_motion(BODY, m=np.ones((*batch, 3)))
        for times in (np.ones(3), np.ones(20)):
            assert nobody.m(times).shape == (*times.shape, *batch, 3)
            assert nobody.q(times).shape == (*times.shape, *batch, 4)


@pytest.mark.parametrize("turned", [False, True])
def test_a_batch_is_the_loop_over_its_bodies_to_the_bit(turned, rng):
    inertia, m, q, usable = mixed_batch()
    if turned:
        axes = ph.rotation.matrix(random_attitude(rng, len(inertia)))
        inertia = np.einsum("bij,bj,bkj->bik", axes, inertia, axes)
    body, t = ph.RigidBody(inertia), rng.uniform(-9, 9, 20)
    motion = ph.free_motion(body, m=m, q=q)
    together = motion.sample(t)
    if not turned:  # a tensor is not exactly symmetric
        assert motion._series[:, USABLE].tolist() == usable
    for i in range(len(inertia)):
        same_bits(motion[i].sample(t), [x[:, i] for x in together])
        same_bits(ph.free_motion(inertia[i], m=m[i], q=q[i]).sample(t), [x[:, i] for x in together])
    picked = [5, 0, 2]
    same_bits(motion[picked].sample(t), [x[:, picked] for x in together])
    backwards = motion[::-1].sample(t)
    same_bits([x[:, ::-1] for x in backwards], together)


def test_rows_without_series_are_not_read_before_they_are_written(monkeypatch, rng):
    """What memory holds by chance must not reach the arithmetic: it would warn, now and then."""
    inertia, m, q, usable = mixed_batch()
    axes = ph.rotation.matrix(random_attitude(rng, len(inertia)))
    body = ph.RigidBody(np.einsum("bij,bj,bkj->bik", axes, inertia, axes))
    motion, t = ph.free_motion(body, m=m, q=q), np.linspace(-9, 9, 20)
    expected = [np.stack([x(time) for time in t]) for x in (motion.m, motion.q)]
    motion.sample(t)  # compiled code must not see what follows
    empty = np.empty

    def poisoned(*args, **options):
        out = empty(*args, **options)
        if out.dtype == float:
            out.fill(np.inf)
        return out

    monkeypatch.setattr(np, "empty", poisoned)
    for found, single in zip(motion.sample(t), expected, strict=True):
        np.testing.assert_allclose(found, single, atol=1e-12)
    assert not all(usable)


def test_bodies_and_states_are_broadcast(rng):
    inertia, m, *_ = mixed_batch()
    q = random_attitude(rng, 2, 1)
    t = rng.uniform(-9, 9, (4, 5))
    motion = ph.free_motion(ph.RigidBody(inertia), ph.State(m, q))
    assert motion.batch == (2, len(inertia))
    found = motion.sample(t)
    assert found[1].shape == (4, 5, 2, len(inertia), 4)
    for j in range(2):
        for i in range(len(inertia)):
            alone = ph.free_motion(inertia[i], m=m[i], q=q[j, 0])
            same_bits(alone.sample(t), [x[:, :, j, i] for x in found])
    one_body = ph.free_motion(BODY, m=m + 0.1).sample(t)
    one_state = ph.free_motion(ph.RigidBody(inertia), m=m[0]).sample(t)
    for i in range(len(inertia)):
        same_bits(ph.free_motion(BODY, m=m[i] + 0.1).sample(t), [x[:, :, i] for x in one_body])
        same_bits(ph.free_motion(inertia[i], m=m[0]).sample(t), [x[:, :, i] for x in one_state])


def test_tensors_are_their_principal_body_in_other_axes(rng):
    axes = ph.rotation.matrix(random_attitude(rng))
    m, t = np.array((0.4, 0.5, 0.6)), rng.uniform(-9, 9, 20)
    turn = ph.rotation.from_matrix(axes)
    plain = ph.free_motion(BODY, m=m, q=TILTED)
    turned = ph.free_motion(
        axes @ np.diag(BODY) @ axes.T, m=axes @ m, q=ph.rotation.multiply(TILTED, ph.rotation.conjugate(turn))
    )
    assert is_usable(turned)
    np.testing.assert_allclose(turned.m(t), plain.m(t) @ axes.T, atol=300 * EPS, rtol=0)
    back = ph.rotation.multiply(turned.q(t), turn)
    np.testing.assert_allclose(back, plain.q(t), atol=300 * EPS, rtol=0)
    assert_same_as_single_times(turned, t)


def test_neither_order_nor_neighbors_of_times_change_a_bit(rng):
    inertia, m, q, _ = mixed_batch()
    motion = ph.free_motion(ph.RigidBody(inertia), m=m, q=q)
    t = np.concatenate([rng.uniform(-9, 9, 70), rng.uniform(-1e6, 1e6, 63)])
    together = motion.sample(t)
    order = rng.permutation(len(t))
    same_bits(motion.sample(t[order]), [x[order] for x in together])
    for size in (16, 17, 64, 65):
        cuts = [*range(0, len(t) - 16, size), len(t)]
        pieces = [motion.sample(t[a:b]) for a, b in pairwise(cuts)]
        same_bits([np.concatenate(x) for x in zip(*pieces, strict=True)], together)


@pytest.mark.parametrize("count", ["1", "2", "3", "7"])
def test_threads_change_no_bit(monkeypatch, count, rng):
    inertia, m, q, _ = mixed_batch()
    motion = ph.free_motion(ph.RigidBody(inertia), m=m, q=q)
    t = rng.uniform(-1e3, 1e3, 200)
    together = motion.sample(t)
    ranges = []

    def sample(rows, times, start, stop, m_out, q_out):
        ranges.append((start, stop))
        return kernel(rows, times, start, stop, m_out, q_out)

    kernel = dense.sample
    monkeypatch.setattr(dense, "sample", sample)
    monkeypatch.setattr(threads, "PARALLEL_FROM", 1)
    monkeypatch.setenv("POLHODE_NUM_THREADS", count)
    same_bits(motion.sample(t), together)
    assert (len(ranges) > 1) == (count != "1")
    assert sum(stop - start for start, stop in ranges) == len(t)


# The quaternion along the way


@pytest.mark.dense
def test_attitude_has_length_one_and_never_jumps():
    """|q'| = |w|/2 <= |m|/(2 I1): a change of sign, or of branch, would be a jump."""
    for motion, _ in random_motions(16, 7):
        fastest = 0.5 * np.linalg.norm(motion.initial.m) / motion.body.moments.min() * motion.period
        count = 64 * int(4 + fastest)
        for start in (-3, -500.25, 1e5, 1e8):
            x = start + np.linspace(0, 6, 6 * count + 1)
            m, q = motion.sample(x * motion.period)
            jumps = np.linalg.norm(np.diff(q, axis=0), axis=-1)
            assert jumps.max() <= fastest / count * (1 + 1e-6) + 4 * fastest * abs(start) * EPS + 20 * EPS
            assert jumps.max() < 0.1  # or a jump could hide
            assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() <= 10 * EPS
            k = -int(np.frexp(np.abs(m).max())[1])
            size = np.linalg.norm(np.ldexp(m, k), axis=-1)
            assert np.ptp(size) <= 100 * EPS * size.max()


@pytest.mark.parametrize(
    "m", [(0.4, 0.5, 0.6), (0.9, 0.5, -0.1), (0.1, -0.2, 0.9), (1.0, 1e-9, 1e-9), (-0.3, 0.0, 0.8)]
)
def test_nothing_jumps_where_another_period_is_taken_off(m):
    motion = ph.free_motion(BODY, m=m, q=TILTED)
    fastest = np.linalg.norm(m) / min(BODY)
    steps = np.linspace(-1e-12, 1e-12, 16)
    for j in (-1000.5, -3.5, -1, -0.5, 0, 0.5, 1, 1.5, 1000.5):
        t = (j + steps) * motion.period
        found_m, found_q = motion.sample(t)
        allowed = (fastest * np.ptp(t) + 20 * EPS) * (1 + 1e-6)
        assert np.ptp(found_q, axis=0).max() <= allowed
        assert np.ptp(found_m, axis=0).max() <= allowed * np.linalg.norm(m)


def test_momentum_in_space_and_energy_are_kept(rng):
    for motion, _ in random_motions(8, 9):
        t = motion.period * rng.uniform(-1e3, 1e3, 40)
        m, q = motion.sample(t)
        state, energy = ph.State(m, q), motion.body.kinetic_energy(m)
        size = np.abs(motion.m_space).max()
        assert np.abs(state.m_space - motion.m_space).max() <= 60 * EPS * size
        np.testing.assert_allclose(energy, motion.energy, rtol=80 * EPS)
