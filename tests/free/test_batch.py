"""propagate on blocks of bodies: bits, accuracy and errors of a body are its own, whoever stands next to it.

Which formulas serve a body (its tier) follows from its numbers. Bodies of one tier that fill a block are advanced in
place; others are collected in bins. A body that is alone in its batch is the reference for all of this.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tracemalloc
from functools import cache
from itertools import permutations
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import ellipkm1

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow
from polhode import errors
from polhode.core.threads import in_ranges
from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact import batch, euler
from polhode.kernels.exact.block import DOUBLED, LEAN, REDUCED, SERIES, TIERS, at
from polhode.kernels.exact.standard_form import INPUT, TIMES, propagate_rows
from polhode.kernels.exact.tiers import ALONE, FAR, OPEN
from polhode.kernels.numbers.lanes import LANES, put_triple

NAMES = ("lean", "series", "doubled", "reduced", "alone")
ORDERS = list(permutations(range(3)))
SIDE = 1e-12  # how far from a limit its two sides are tried
NAN, INF = np.nan, np.inf
MANY = 20_000


class Bodies(NamedTuple):
    inertia: np.ndarray
    m: np.ndarray
    q: np.ndarray
    t: np.ndarray


def take(bodies, rows):
    return Bodies(*(np.ascontiguousarray(x[rows]) for x in bodies))


def join(*parts):
    return Bodies(*(np.concatenate(x) for x in zip(*parts, strict=True)))


@inline
def name_tier(tier, w, groups):
    """In place of the formulas of a tier: every lane ends with its number instead of a momentum, and is fine."""
    for l in range(LANES):
        put_triple(w, at.m, l, float(tier), float(tier), float(tier))
        w[at.tier + l] = 0.0


@cache
def propagate_range_with_names():
    """``propagate_range`` itself, but for ``name_tier`` in place of the formulas."""
    code = inspect.unwrap(batch.propagate_range).__code__
    function = FunctionType(code, vars(batch) | {"advance": name_tier}, "propagate_range_with_names")
    signature = f"UniTuple(i8, 2)({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1], i8[::1])"
    return entry_point(signature, cache=False)(function)


def tiers_of(bodies):
    """Those that serve the bodies."""
    count = len(bodies.t)
    m, q, alone = np.full((count, 3), NAN), np.empty((count, 4)), np.empty(count, np.int64)
    _, left = propagate_range_with_names()(*bodies, 0, count, m, q, alone)
    m[alone[:left]] = ALONE
    return m[:, 0].astype(np.int64)


def tier_by_definition(inertia, m, q, t):
    """The tier of one body, from the limits and what they limit, in 40 digits; q does not matter."""
    if not (np.isfinite([*inertia, *m, t]).all() and min(inertia) > 0 and any(m)):
        return ALONE
    with mp.workdps(40):
        order, half = np.argsort(inertia, kind="stable"), abs(mpf(float(t))) / 2
        (w1, w2, w3), (x, y, z) = ([f(mpf(float(v[k]))) for k in order] for v, f in ((inertia, inverse), (m, square)))
        spin = mp.sqrt(x + y + z) * half
        C1, C3 = (w1 - w2) * y + (w1 - w3) * z, (w1 - w3) * x + (w2 - w3) * y
        lambda2 = max((w1 - w2) * C3, (w2 - w3) * C1) * half**2
        D = (w1 - w3) * ((w1 - w2) * x - (w2 - w3) * z) * half**2
        if spin * w1 > FAR:
            return ALONE
        if lambda2 <= euler.SHORT and spin * (w3 if C3 <= C1 else w1) <= euler.FEW:
            return LEAN
        if lambda2 <= euler.SMALL:
            return SERIES
        if lambda2 <= euler.UNREDUCED:
            return DOUBLED
        return REDUCED if abs(D) >= OPEN * lambda2 else ALONE


def inverse(x):
    return 1 / x


def square(x):
    return x * x


def run(bodies):
    """(m, q) by the user's function, to which three rows of moments would be a tensor."""
    inertia, *rest = bodies
    return ph.propagate(ph.RigidBody.from_moments(inertia) if len(inertia) == 3 else inertia, *rest)


def kernel(bodies, start=0, stop=None):
    """(m, q, first bad body) without the user layer, which raises for bad bodies; rows that are not written are -7."""
    count = len(bodies.t)
    m, q, alone = np.full((count, 3), -7.0), np.full((count, 4), -7.0), np.empty(count, np.int64)
    bad, left = batch.propagate_range(*bodies, start, count if stop is None else stop, m, q, alone)
    return m, q, min(bad, propagate_rows(*bodies, alone[start : start + left], m, q))


def scalar(bodies):
    """(m, q) by the code for one body."""
    count = len(bodies.t)
    m, q = np.empty((count, 3)), np.empty((count, 4))
    assert propagate_rows(*bodies, np.arange(count), m, q) == NOBODY
    return m, q


def assert_same_bits(got, expected):
    """Signs of zeros included."""
    for x, y in zip(got[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(np.ascontiguousarray(x).view(np.int64), np.ascontiguousarray(y).view(np.int64))


# Bodies of every kind


def separatrix_ratio(inertia):
    """|m3/m1| on the separatrix, of sorted moments."""
    I1, I2, I3 = np.moveaxis(inertia, -1, 0)
    return np.sqrt(I3 * (I2 - I1) / (I1 * (I3 - I2)))


def generic(rng, count):
    """Sorted moments; steps from 1e-4 to 1e3, every second one of a few radians."""
    inertia = np.cumsum(rng.uniform(0.1, 1, (count, 3)), axis=-1)
    size = np.where(np.arange(count) % 2, rng.uniform(0, 1.2, count), rng.uniform(-4, 3, count))
    t = rng.choice((-1, 1), count) * 10**size
    return Bodies(inertia, rng.normal(size=(count, 3)), random_attitude(rng, count), t)


def next_to_the_separatrix(rng, count):
    bodies = generic(rng, count)
    near = 1 + rng.choice((-1, 1), count) * 10 ** rng.uniform(-17, -1, count)
    bodies.m[:, 2] = bodies.m[:, 0] * separatrix_ratio(bodies.inertia) * near
    return bodies


def symmetric(rng, count):
    bodies, axis = generic(rng, count), rng.integers(0, 2, count)
    bodies.inertia[np.arange(count), axis] = bodies.inertia[np.arange(count), axis + 1]
    return bodies


def nearly_symmetric(rng, count):
    bodies = symmetric(rng, count)
    bodies.inertia[:, 1] *= 1 + 10 ** rng.uniform(-16, -1, count)
    bodies.inertia.sort(axis=-1)
    return bodies


def spheres(rng, count):
    bodies = generic(rng, count)
    bodies.inertia[:] = bodies.inertia[:, :1]
    return bodies


def resting(rng, count):
    bodies = generic(rng, count)
    bodies.m[:] = rng.choice((-0.0, 0.0), (count, 3))
    return bodies


def steady(rng, count):
    bodies = generic(rng, count)
    other = np.arange(3) != rng.integers(0, 3, (count, 1))
    bodies.m[other] = rng.choice((-0.0, 0.0), 2 * count)
    return bodies


def nearly_steady(rng, count):
    bodies = generic(rng, count)
    near = 10 ** rng.uniform(-18, -1, (count, 3))
    bodies.m[:] *= np.where(np.arange(3) == rng.integers(0, 3, (count, 1)), 1, near)
    return bodies


def scaled(rng, count):
    inertia, m, q, t = generic(rng, count)
    a, b = rng.integers(-300, 301, (2, count))
    return Bodies(np.ldexp(inertia, a[:, None]), np.ldexp(m, b[:, None]), q, np.ldexp(t, a - b))


def turning_many_times(rng, count):
    bodies = generic(rng, count)
    bodies.t[:] = rng.choice((-1, 1), count) * 10 ** rng.uniform(3, 12, count)
    return bodies


def needles_and_plates(rng, count):
    bodies = generic(rng, count)
    bodies.inertia[:] *= 10.0 ** (rng.uniform(2, 8, (count, 1)) * rng.choice(([0, 1, 1], [0, 0, 1]), count))
    return bodies


def off_in_norm(rng, count):
    """q that is a unit up to the tolerance, times 0, both signs."""
    bodies = generic(rng, count)
    bodies.q[:] *= 1 + rng.uniform(-9e-7, 9e-7, (count, 1))
    bodies.t[::3] *= 0
    return bodies


KINDS = (
    generic, next_to_the_separatrix, symmetric, nearly_symmetric, spheres, resting, steady, nearly_steady, scaled,
    turning_many_times, needles_and_plates, off_in_norm,
)  # fmt: skip


def of_every_kind(seed, each):
    """All kinds, shuffled, their axes in all six orders."""
    rng = np.random.default_rng(seed)
    bodies = join(*(kind(rng, each) for kind in KINDS))
    order = np.array(ORDERS)[rng.integers(0, 6, len(bodies.t))]
    inertia, m = (np.take_along_axis(x, order, axis=-1) for x in bodies[:2])
    return take(Bodies(inertia, m, bodies.q, bodies.t), rng.permutation(len(bodies.t)))


EACH = 60 if JIT else 20
POOL = of_every_kind(1, EACH)
COUNT = len(POOL.t)


@pytest.fixture(scope="module")
def tiers():
    return np.array([tier_by_definition(*body) for body in zip(*POOL, strict=True)])


@pytest.fixture(scope="module")
def expected():
    """Each body on its own."""
    results = [ph.propagate(*(x[i] for x in POOL)) for i in range(COUNT)]
    return tuple(np.array(x) for x in zip(*results, strict=True))


@pytest.fixture
def threads(monkeypatch):
    """A function that makes even small batches run in a number of threads."""

    def choose(number):
        monkeypatch.setattr(sys.modules[in_ranges.__module__], "PARALLEL_FROM", 2)
        monkeypatch.setenv("POLHODE_NUM_THREADS", str(number))

    return choose


def spoiled(bodies, rows):
    """These bodies made invalid, each in another way."""
    bodies = Bodies(*(x.copy() for x in bodies))
    for k, row in enumerate(rows):
        x = bodies[k % 4]
        x[(row, k // 4 % x.shape[1]) if x.ndim > 1 else row] = (NAN, INF, -INF)[k // 16 % 3]
    return bodies


def test_pool_holds_every_tier_many_times(tiers):
    """Of each tier all six orders of axes, both families of polhodes, both directions of time."""
    assert tiers.max() == ALONE
    order = np.argsort(POOL.inertia)
    inertia, m = (np.take_along_axis(x, order, axis=-1) for x in POOL[:2])
    D = lambda2(inertia / inertia[:, :1], m / np.maximum(np.abs(m).max(axis=-1, keepdims=True), 1e-300))[1]
    for tier in range(ALONE + 1):
        own = tiers == tier
        assert own.sum() > LANES + EACH // 6, NAMES[tier]
        for found in (D > 0, D < 0, POOL.t < 0, POOL.t > 0):
            assert (found & own).sum() >= EACH // 6, NAMES[tier]
        assert len(np.unique(order[own], axis=0)) == 6
    assert (~POOL.m.any(axis=-1)).sum() == EACH


def test_tiers_are_those_of_the_definition(tiers):
    np.testing.assert_array_equal(tiers_of(POOL), tiers)


def test_bad_input_is_left_to_the_scalar_code(tiers):
    """Except a bad q, on which no tier depends."""
    rows = np.arange(0, COUNT, 9)
    found = tiers_of(spoiled(POOL, rows))
    of_q = np.arange(len(rows)) % 4 == 2
    assert (found[rows[~of_q]] == ALONE).all()
    rest = np.setdiff1d(np.arange(COUNT), rows[~of_q])
    np.testing.assert_array_equal(found[rest], tiers[rest])


# Bits


def test_alone_or_together(expected):
    assert_same_bits(ph.propagate(*POOL), expected)
    assert_same_bits(kernel(POOL), expected)


def test_results_are_finite(expected):
    """And a body at rest keeps its momentum and, up to its norm, its attitude."""
    m, q = expected
    assert np.isfinite(m).all()
    assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() <= 10 * EPS  # 1e-6 squared, and rounding
    rest = ~POOL.m.any(axis=-1)
    assert_same_bits((m[rest], q[rest]), (POOL.m[rest], q[rest]))
    np.testing.assert_allclose(q[rest], POOL.q[rest], rtol=0, atol=4 * EPS)


def test_order_does_not_matter(expected):
    rng = np.random.default_rng(2)
    for _ in range(20 if JIT else 2):
        rows = rng.permutation(COUNT)
        assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])


@pytest.mark.parametrize("size", [2, 3, 5, 31, 63, 64, 65, 127, 128, 129, 191, 192, 193, 320])
def test_pieces_of_any_size(size, expected):
    for first in range(0, COUNT, size):
        rows = np.arange(first, min(first + size, COUNT))
        assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])


@pytest.mark.parametrize("tier", range(ALONE + 1), ids=NAMES[: ALONE + 1])
def test_full_blocks_of_one_tier_and_bins(tier, tiers, expected):
    """The direct path, every body once in every lane; then with one stranger in each block, which is the other path."""
    own, others = np.flatnonzero(tiers == tier), np.flatnonzero(tiers != tier)
    blocks = len(own) // LANES
    for shift in range(0, LANES, 1 if JIT else LANES):
        rows = np.roll(own, shift)[: blocks * LANES]
        assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])
        mixed = np.insert(rows, np.arange(shift, len(rows), LANES), others[shift])
        assert_same_bits(run(take(POOL, mixed)), [x[mixed] for x in expected])


def test_one_body_in_all_lanes(tiers, expected):
    for tier in range(ALONE + 1):
        for row in np.flatnonzero(tiers == tier)[:5]:
            rows = np.full(2 * LANES + 3, row)
            assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])


@pytest.mark.parametrize("where", ["front", "between", "behind"])
@pytest.mark.parametrize("tier", range(ALONE + 1), ids=NAMES[: ALONE + 1])
def test_strangers(tier, where, tiers, expected):
    """A few bodies of one tier among many of each other tier."""
    rng = np.random.default_rng((3, tier))
    own = rng.choice(np.flatnonzero(tiers == tier), 40)
    for other in range(ALONE + 1):
        for count in (1, LANES - 1, LANES, LANES + 1, 3 * LANES + 5):
            strangers = rng.choice(np.flatnonzero(tiers == other), count)
            places = {"front": 0, "behind": 40, "between": rng.integers(0, 41, count)}[where]
            rows = np.insert(own, np.broadcast_to(places, count), strangers)
            assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])


@pytest.mark.parametrize("every", [2, 3, 7, 64, 65, 200])
def test_bad_neighbors(every, expected):
    for first in (0, 1, every - 1):
        rows = np.arange(first, COUNT, every)
        m, q, bad = kernel(spoiled(POOL, rows))
        good = np.setdiff1d(np.arange(COUNT), rows)
        assert_same_bits((m[good], q[good]), [x[good] for x in expected])
        assert bad == first


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (5, 70), (64, 128), (63, 193), (COUNT - 65, COUNT), (100, 100)])
def test_only_the_range_is_written(start, stop, expected):
    m, q, bad = kernel(POOL, start, stop)
    inside = slice(start, stop)
    assert bad == NOBODY
    assert_same_bits((m[inside], q[inside]), [x[inside] for x in expected])
    for x in (m, q):
        assert (np.delete(x, np.arange(start, stop), axis=0) == -7).all()


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.dense
@pytest.mark.parametrize("shared", [(0,), (1,), (2,), (3,), (0, 1), (0, 1, 2), (1, 2, 3), (0, 3), (0, 2, 3)])
def test_one_row_for_all_bodies(shared, tiers):
    bodies = take(POOL, slice(0, COUNT if JIT else 200))
    for tier in range(ALONE + 1):
        row = np.flatnonzero(tiers == tier)[len(shared)]
        one = [y[row] if k in shared else x for k, (x, y) in enumerate(zip(bodies, POOL, strict=True))]
        repeated = [np.broadcast_to(x, y.shape).copy() for x, y in zip(one, bodies, strict=True)]
        bad = kernel(Bodies(*repeated))[2]
        if bad == NOBODY:
            assert_same_bits(ph.propagate(*one), ph.propagate(*repeated))
        else:  # a scale and a time of another body may be 1e150 radians
            with pytest.raises(errors.TimeError, match=rf"t\[{bad}\] = "):
                ph.propagate(*one)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 16])
def test_threads(number, threads, expected):
    threads(number)
    for count in (COUNT, COUNT - 1, 193, 64, 9, 2):
        rows = np.arange(count)
        assert_same_bits(run(take(POOL, rows)), [x[rows] for x in expected])


ODD_PIECES = """
import numpy as np
import polhode as ph
motion, directions = ph.free_motion((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9)), np.random.default_rng(1).normal(size=({n}, 3))
for m, q in (ph.propagate((1.0, 2.0, 3.0), directions, t=1.0), motion.sample(np.linspace(0.0, 50.0, {n}))):
    print(hash(m.tobytes() + q.tobytes()))
"""


@pytest.mark.skipif(not JIT, reason="plain Python stores nothing past the cache")
@pytest.mark.parametrize("n", [103_823, *(pytest.param(n, marks=pytest.mark.long) for n in (103_821, 200_001))])
def test_pieces_that_begin_in_the_middle_of_a_cache_line(n):
    """Many rows are stored past the cache, in pairs of numbers: pieces of threads may begin at an odd row."""
    found = [
        subprocess.run(
            [sys.executable, "-c", ODD_PIECES.format(n=n)], capture_output=True, text=True, check=True,
            env=os.environ | {"POLHODE_NUM_THREADS": number, "PYTHONHASHSEED": "0"},
        ).stdout
        for number in ("1", "2")
    ]  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.parametrize("number", [1, 3])
def test_out(number, threads, expected):
    threads(number)
    out = np.full((COUNT, 3), NAN), np.full((COUNT, 4), NAN)
    got = ph.propagate(*POOL, out=out)
    assert got[0] is out[0]
    assert got[1] is out[1]
    assert_same_bits(out, expected)
    own = Bodies(*(x.copy() for x in POOL))
    assert_same_bits(ph.propagate(*own, out=(own.m, own.q)), expected)


def test_batches_of_several_axes(expected):
    shape = (3, COUNT // 15, 5)
    m, q = ph.propagate(*(x.reshape(*shape, *x.shape[1:]) for x in POOL))
    assert m.shape == (*shape, 3)
    assert_same_bits((m.reshape(-1, 3), q.reshape(-1, 4)), expected)


# Accuracy


def condition(bodies, m, q):
    """Sum over I, m, t of the change of m/|m| and q per relative change, by differences: what rounded input costs."""
    step, size = 2.0**-26, np.linalg.norm(bodies.m, axis=-1)
    of_m, of_q = np.zeros((2, len(m)))
    for k, x in enumerate(bodies):
        for column in range(x.shape[-1] if x.ndim > 1 else 1):
            moved = x.reshape(len(x), -1).copy()
            moved[:, column] *= 1 + step
            m1, q1 = scalar(bodies._replace(**{Bodies._fields[k]: moved.reshape(x.shape)})) if k != 2 else (m, q)
            of_m += np.linalg.norm(m1 - m, axis=-1) / size / step
            of_q += np.linalg.norm(q1 - q, axis=-1) / step
    return of_m, of_q


def apart(bodies, first, second):
    """Differences of m/|m| and of q in eps (1 + cond)."""
    cond_m, cond_q = condition(bodies, *second)
    dm = np.linalg.norm(first[0] - second[0], axis=-1) / np.linalg.norm(bodies.m, axis=-1)
    return dm / EPS / (1 + cond_m), np.linalg.norm(first[1] - second[1], axis=-1) / EPS / (1 + cond_q)


@pytest.mark.parametrize("seed", [1, pytest.param(5, marks=pytest.mark.dense)])
def test_blocks_agree_with_the_code_for_one_body(seed):
    """Both are within 5 eps (1 + cond) of the truth, mostly by the same formulas."""
    bodies = of_every_kind(seed, EACH if seed == 1 else MANY // len(KINDS))
    found = tiers_of(bodies)
    bodies = take(bodies, found < ALONE)
    dm, dq = apart(bodies, ph.propagate(*bodies), scalar(bodies))
    for tier in range(TIERS):
        own = found[found < ALONE] == tier
        assert max(dm[own].max(), dq[own].max()) <= 17, NAMES[tier]


def lambda2(inertia, m):
    """(lambda^2, D) of sorted bodies for a step t = 2."""
    (I1, I2, I3), (x, y, z) = inertia.T, (m * m).T
    al, be, ga = (I3 - I2) / (I2 * I3), (I3 - I1) / (I1 * I3), (I2 - I1) / (I1 * I2)
    p, r = ga * (be * x + al * y), al * (ga * y + be * z)
    return np.maximum(p, r), be * (ga * x - al * z)


def with_time(bodies, t):
    return bodies._replace(t=np.where(bodies.t < 0, -t, t))


def at_lambda(bodies, limit):
    return with_time(bodies, 2 * np.sqrt(limit / lambda2(bodies.inertia, bodies.m)[0]))


def of_all_shapes(rng):
    """What the series depend on: p and r from equal to very different, n from 0 on."""
    a, b, c, d = generic(rng, 8), nearly_symmetric(rng, 8), next_to_the_separatrix(rng, 4), steady(rng, 8)
    return join(a, b, c, d)


def away_from_the_separatrix(rng):
    bodies = of_all_shapes(rng)
    l2, D = lambda2(bodies.inertia, bodies.m)
    return take(bodies, np.abs(D) > 1.01 * OPEN * l2)


def at_short(rng, side):
    bodies = at_lambda(of_all_shapes(rng), euler.SHORT * side)
    return take(bodies, np.linalg.norm(bodies.m, axis=-1) * np.abs(bodies.t) < 2 * euler.FEW * bodies.inertia[:, 0])


def at_small(rng, side):
    return at_lambda(of_all_shapes(rng), euler.SMALL * side)


def at_unreduced(rng, side):
    return at_lambda(away_from_the_separatrix(rng), euler.UNREDUCED * side)


def at_unreduced_next_to_the_separatrix(rng, side):
    bodies = next_to_the_separatrix(rng, 16)
    l2, D = lambda2(bodies.inertia, bodies.m)
    return at_lambda(take(bodies, np.abs(D) < 0.99 * OPEN * l2), euler.UNREDUCED * side)


def nearly_spheres(rng, gap):
    bodies = generic(rng, 12)
    bodies.inertia[:] = bodies.inertia[:, :1] * (1 + gap * bodies.inertia)
    return bodies


def at_few(rng, side):
    """The spin is about the axis of the attitude's formula."""
    bodies = nearly_spheres(rng, 1e-3)
    (I1, I2, I3), (x, y, z) = bodies.inertia.T, (bodies.m**2).T
    al, be, ga = (I3 - I2) * I1, (I3 - I1) * I2, (I2 - I1) * I3
    I = np.where(be * x + al * y <= ga * y + be * z, I3, I1)
    return with_time(bodies, 2 * euler.FEW * side * I / np.linalg.norm(bodies.m, axis=-1))


def at_far(bodies, side):
    return with_time(bodies, 2 * FAR * side * bodies.inertia[:, 0] / np.linalg.norm(bodies.m, axis=-1))


def at_open(rng, side):
    """Half of them on either side of the separatrix; what is left without half-periods is nearly a quarter period."""
    bodies = generic(rng, 30)
    limit = OPEN / side  # the closer, the further beyond
    (I1, I2, I3), (x, y, z) = bodies.inertia.T, (bodies.m**2).T
    al, be, ga = (I3 - I2) * I1, (I3 - I1) * I2, (I2 - I1) * I3
    upper = (be * al * z + limit * ga * al * y) / (be * ga * (1 - limit))
    lower = (be * ga * x + limit * ga * al * y) / (be * al * (1 - limit))
    even = np.arange(len(x)) % 2 == 0
    bodies.m[even, 0], bodies.m[~even, 2] = np.sqrt(upper[even]), np.sqrt(lower[~even])
    quarters = rng.choice((1, 3, 9), len(x)) + rng.uniform(-1e-3, 1e-3, len(x))
    return at_lambda(bodies, (quarters * ellipkm1(limit)) ** 2)


LIMITS = {  # bodies, tiers below and above, and the largest errors there in eps, whatever the condition
    "short": (at_short, (LEAN, SERIES), (30, 6)),
    "small": (at_small, (SERIES, DOUBLED), (20, 25)),
    "unreduced": (at_unreduced, (DOUBLED, REDUCED), (30, 60)),
    "unreduced, separatrix": (at_unreduced_next_to_the_separatrix, (DOUBLED, ALONE), (40, 40)),
    "few": (at_few, (LEAN, SERIES), (60, 6)),  # from there on the spin has two doubles
    "far": (lambda rng, side: at_far(away_from_the_separatrix(rng), side), (REDUCED, ALONE), (INF, INF)),
    "far, spheres": (lambda rng, side: at_far(nearly_spheres(rng, 1e-7), side), (SERIES, ALONE), (6, 6)),
    "open": (at_open, (REDUCED, ALONE), (600, 600)),
}


def true_errors(bodies):
    """Errors of m/|m| and q against 40 digits, in eps."""
    m, q = ph.propagate(*bodies)
    dm, dq = np.empty((2, len(m)))
    for i, size in enumerate(np.linalg.norm(bodies.m, axis=-1)):
        m_true, q_true = addition_flow(*(x[i].tolist() for x in bodies))
        dm[i], dq[i] = distance(m[i], m_true) / size / EPS, distance(q[i], q_true) / EPS
    return dm, dq


@pytest.mark.parametrize("side", [0, 1], ids=["below", "above"])
@pytest.mark.parametrize("limit", LIMITS)
def test_both_sides_of_each_limit_against_the_second_path(limit, side):
    build, expected_tiers, largest = LIMITS[limit]
    bodies = build(np.random.default_rng(6), (1 - SIDE, 1 + SIDE)[side])
    assert len(bodies.t) >= 8
    order = np.array(ORDERS)[np.arange(len(bodies.t)) % 6]
    bodies = bodies._replace(**{k: np.take_along_axis(getattr(bodies, k), order, axis=-1) for k in ("inertia", "m")})
    np.testing.assert_array_equal(tiers_of(bodies), expected_tiers[side])
    cond_m, cond_q = condition(bodies, *scalar(bodies))
    dm, dq = true_errors(bodies)
    assert (dm <= 5 * (1 + cond_m)).all()
    assert (dq <= 5 * (1 + cond_q)).all()
    assert max(dm.max(), dq.max()) <= largest[side]


# Bad input


GOOD = (1.0, 2.0, 3.0), (0.3, 0.5, 0.7), (0.6, 0.0, 0.8, 0.0), 0.4
FAULTS = {
    "inertia": (NAN, INF, -INF, 0.0, -0.0, -1.0),
    "m": (NAN, INF, -INF),
    "q": (NAN, INF, -INF, 3.0),
    "t": (NAN, INF, -INF),
}
ERRORS = {"inertia": errors.InertiaError, "m": errors.MomentumError, "q": errors.AttitudeError, "t": errors.TimeError}


def bad_entries():
    """Operand, component and value of everything that makes a single number bad."""
    for name, values in FAULTS.items():
        for column in range({"q": 4, "t": 1}.get(name, 3)):
            for value in values:
                yield name, column, value


def bad_body(name, column, value):
    body = [np.array(x) for x in GOOD]
    body[Bodies._fields.index(name)].reshape(-1)[column] = value
    return Bodies(*body)


def overflowing():
    """Valid bodies whose momentum is not, or no longer, a number at the end. All are left to the scalar code."""
    rng = np.random.default_rng(8)
    bodies = join(generic(rng, 2000 if JIT else 600), next_to_the_separatrix(rng, 200))
    bodies.m[:] *= 2 / np.abs(bodies.m).max(axis=-1, keepdims=True) * (1 - 1e-4)
    rows = np.flatnonzero(np.abs(run(bodies)[0]).max(axis=-1) > 2 + 1e-9)
    inertia, m, q, t = bodies
    start = Bodies(np.ldexp(inertia, 1000), np.ldexp(m, 1023), q, np.ldexp(t, -23))
    assert (tiers_of(start)[rows] == ALONE).all()
    return take(start, rows)


@pytest.fixture(scope="module")
def bad_bodies():
    """(name of the operand that the error tells, body) of every kind: invalid, too long, too far apart, overflowing."""
    found = [(name, bad_body(name, column, value)) for name, column, value in bad_entries()]
    found += [("q", Bodies(GOOD[0], GOOD[1], np.array(GOOD[2]) * f, 1.0)) for f in (1 + 2e-6, 1 - 2e-6, 0, 1e200)]
    found += [("t", Bodies(*GOOD[:3], t)) for t in (1e151, -1e160, 1e308)]
    found += [("inertia", Bodies((1e-200, 1.0, 1.0), *GOOD[1:]))]
    found += [("t", Bodies(*(x[i] for x in overflowing()))) for i in range(3)]
    return found


def put(bodies, row, body):
    for x, value in zip(bodies, body, strict=True):
        x[row] = value


def assert_named(bodies, name, row):
    with pytest.raises(ERRORS[name]) as caught:
        run(bodies)
    assert str(caught.value).startswith(f"{name}[{row}] = ")


LENGTH = 3 * LANES + LANES // 4 + 1  # three blocks and a part of one
PLACES = sorted({0, 1, LANES - 1, LANES, 2 * LANES - 1, 2 * LANES, 3 * LANES - 1, 3 * LANES, LENGTH - 1})


def backgrounds(tiers):
    """Good bodies: of all tiers; of one tier, in blocks that are advanced where they are."""
    rng = np.random.default_rng(9)
    yield take(POOL, rng.integers(0, COUNT, LENGTH))
    for tier in range(ALONE + 1):
        yield take(POOL, rng.choice(np.flatnonzero(tiers == tier), LENGTH))


@pytest.mark.parametrize("number", [1, 3])
def test_one_bad_body_is_named(number, threads, tiers, bad_bodies):
    threads(number)
    for background in backgrounds(tiers):
        run(background)
        for k, (name, body) in enumerate(bad_bodies):
            for row in PLACES if number == 1 else PLACES[k % len(PLACES) :: 5]:
                bodies = Bodies(*(x.copy() for x in background))
                put(bodies, row, body)
                assert_named(bodies, name, row)


@pytest.mark.parametrize("number", [1, 4])
def test_the_first_of_several_bad_bodies_is_named(number, threads, bad_bodies):
    threads(number)
    rng = np.random.default_rng(10)
    for _ in range(200 if JIT else 40):
        length = int(rng.integers(4, 6 * LANES + 4))
        bodies = take(POOL, rng.integers(0, COUNT, length))
        rows = rng.choice(length, min(length, int(rng.integers(2, 12))), replace=False)
        kinds = [bad_bodies[k] for k in rng.integers(0, len(bad_bodies), len(rows))]
        for row, (_, body) in zip(rows, kinds, strict=True):
            put(bodies, row, body)
        assert_named(bodies, kinds[rows.argmin()][0], rows.min())


@pytest.mark.parametrize("tier", range(ALONE + 1), ids=NAMES[: ALONE + 1])
def test_found_last_but_named_first(tier, tiers, bad_bodies):
    """A bad q in a bin that is not full before the end, an overflow in the scalar code; others behind it."""
    if tier == ALONE:
        expected, first = "t", take(overflowing(), [0])
    else:
        expected, first = "q", take(POOL, np.flatnonzero(tiers == tier)[:1])
        first.q[:] *= 1.01
    for name, body in bad_bodies:
        bodies = take(POOL, np.resize(np.flatnonzero(tiers != tier), 2 * LANES + 9))
        put(bodies, 5, Bodies(*(x[0] for x in first)))
        for row in (6, LANES + 6, 2 * LANES + 8):
            put(bodies, row, body)
        assert_named(bodies, expected, 5)
        put(bodies, 4, body)
        assert_named(bodies, name, 4)


@pytest.mark.parametrize("shared", ["inertia", "m", "q", "t"])
def test_a_bad_row_for_all_bodies_is_named_without_an_index(shared):
    for name, column, value in bad_entries():
        if name == shared:
            operands = dict(zip(Bodies._fields, take(POOL, slice(0, LANES + 4)), strict=True))
            operands[shared] = getattr(bad_body(name, column, value), shared)
            with pytest.raises(ERRORS[shared], match=rf"{shared} = \("):
                ph.propagate(**operands)


# Memory


@pytest.mark.dense
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("out", [False, True])
def test_memory_beyond_input_and_output_is_small(number, out, threads):
    """Not as much as one more copy of m; the output is more than twice that."""
    threads(number)
    count = 200_000
    bodies = take(POOL, np.arange(count) % COUNT)
    results = (np.empty((count, 3)), np.empty((count, 4))) if out else None
    run(POOL)
    tracemalloc.start()
    try:
        m, q = ph.propagate(*bodies, out=results)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - (0 if out else m.nbytes + q.nbytes) < m.nbytes


def tensors(count):
    """As many tensors, with the moments of the pool turned into random axes."""
    rng = np.random.default_rng(11)
    axes = ph.rotation.matrix(random_attitude(rng, count))
    inertia = rng.uniform(1, 3, (count, 3))
    return np.einsum("nij,nj,nkj->nik", axes, inertia, axes), rng.normal(size=(count, 3)), random_attitude(rng, count)


@pytest.mark.dense
def test_memory_of_tensors_beyond_input_and_output_is_less_than_the_output():
    inertia, m, q = tensors(400_000)
    ph.propagate(inertia[:4], m[:4], q[:4], 3.0)
    tracemalloc.start()
    try:
        m1, q1 = ph.propagate(inertia, m, q, 3.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    output = m1.nbytes + q1.nbytes
    assert peak - output < output


@pytest.mark.parametrize("batch", [(53,), (7, 8), (2, 30)])
def test_tensors_in_pieces_are_tensors_at_once(batch, monkeypatch):
    count = int(np.prod(batch))
    inertia, m, q = (x.reshape(*batch, *x.shape[1:]) for x in tensors(count))
    expected = ph.propagate(inertia, m, q, 3.0)
    monkeypatch.setattr(sys.modules[ph.propagate.__module__], "PIECE", 20)
    assert_same_bits(ph.propagate(inertia, m, q, 3.0), expected)
    assert_same_bits(ph.propagate(inertia, m=m[0], q=q[:1], t=3.0)[0][0], ph.propagate(inertia[0], m[0], q[0], 3.0)[0])
    own_m, own_q = m.copy(), q.copy()
    assert_same_bits(ph.propagate(inertia, own_m, own_q, 3.0, out=(own_m, own_q)), expected)
    m[-1, 0] = NAN
    with pytest.raises(errors.MomentumError, match=rf"m\[{batch[0] - 1}"):
        ph.propagate(inertia, m, q, 3.0)
