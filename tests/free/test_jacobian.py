"""Derivatives of the exact flow against differences of an independent flow in high precision, in every regime.

Natural units: columns times the size of the input (|m0|, I_j, t), rows of m divided by |m0|. The error of every block
is held against 100 eps (1 + cond): cond of the golden file, or the length of the Jacobian itself if that is larger (on
a principal axis the golden cond does not see changes of components that are 0).
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance, golden_cases, random_attitude
from oracles.addition import addition_flow
from oracles.taylor import taylor_flow
from polhode.core.body import principal
from polhode.core.rotation import conjugate, matrix, multiply
from polhode.free.derivatives import Jacobian

CASES = golden_cases()
TOLERANCE = 100
STEP = -25  # of the differences, as a power of ten, relative to the natural scale


def jacobian(inertia, m, q, t):
    return ph.propagate(inertia, m, q, t, jacobian=True)[2]


def error_bound(inertia, m, q, t):
    return ph.propagate(inertia, m, q, t, return_error=True)[2]


# Truth: differences in high precision


def true_matrix(I, m, q, t, flow=addition_flow):
    """The matrix (7, 11) of ``Jacobian.matrix`` by central differences, good to about 20 digits."""
    size = np.linalg.norm(m) or 1.0
    smallest = min([abs(x) for x in m if x] + [size]) / size  # next to an axis the flow bends on that scale
    lost = int(-np.log10(smallest))
    digits = 60 + 2 * lost
    with mp.workdps(digits + 30):
        inputs = [mp.mpf(float(x)) for x in (*m, *q, *I, t)]
        scales = [mpf(size) * mpf(10) ** -lost] * 3 + [mpf(1)] * 4 + inputs[7:10] + [abs(inputs[10]) or mpf(1)]
        columns = [difference(inputs, k, scales[k], flow, digits) for k in range(11)]
        return mp.matrix(columns).T


def difference(inputs, k, scale, flow, digits):
    if 3 <= k < 7:  # linear: a difference of any length is exact
        unit = [mpf(int(i == k)) for i in range(3, 7)]
        return [mpf(0)] * 3 + list(flow(inputs[7:10], inputs[:3], unit, inputs[10], digits)[1])
    e = scale * mpf(10) ** STEP
    ends = []
    for step in (e, -e):
        x = list(inputs)
        x[k] += step
        m, q = flow(x[7:10], x[:3], x[3:7], x[10], digits)
        ends.append([*m, *q])
    return [(a - b) / (2 * e) for a, b in zip(*ends, strict=True)]


BLOCKS = {
    "dm_dm": (slice(0, 3), slice(0, 3)),
    "dm_dI": (slice(0, 3), slice(7, 10)),
    "dm_dt": (slice(0, 3), slice(10, 11)),
    "dq_dm": (slice(3, 7), slice(0, 3)),
    "dq_dq": (slice(3, 7), slice(3, 7)),
    "dq_dI": (slice(3, 7), slice(7, 10)),
    "dq_dt": (slice(3, 7), slice(10, 11)),
}


def errors(I, m, q, t, truth):
    """({block: error in eps}, length of the Jacobian), both in natural units."""
    computed = jacobian(I, m, q, t).matrix
    with mp.workdps(60):
        size = mp.norm([mpf(float(x)) for x in m]) or mpf(1)
        columns = [size] * 3 + [mpf(1)] * 4 + [mpf(float(x)) for x in I] + [abs(mpf(float(t)))]
        rows = [1 / size] * 3 + [mpf(1)] * 4
        wrong = np.empty((7, 11))
        natural = np.empty((7, 11))
        for i in range(7):
            for j in range(11):
                natural[i, j] = truth[i, j] * columns[j] * rows[i]
                wrong[i, j] = (mpf(float(computed[i, j])) - truth[i, j]) * columns[j] * rows[i]
    found = {name: np.linalg.norm(wrong[block]) / EPS for name, block in BLOCKS.items()}
    return found, np.linalg.norm(natural)


@cache
def golden_errors(i):
    case = CASES[i]
    args = case["I"], case["m0"], case["q0"], case["t"]
    found, length = errors(*args, true_matrix(*args))
    return found, max(case["cond_m"], case["cond_q"], length)


def tolerance(cond):
    """What has grown by many powers of e knows its exponent, and so itself, to fewer digits."""
    return TOLERANCE * (1 + cond) * max(1.0, np.log(1 + cond) / 50)


def sampled(i, case):
    """Every eighth, and all before a release: truth takes a quarter of a second each."""
    return pytest.param(i, id=case["label"], marks=[] if i % 8 == 0 else [pytest.mark.release])


@pytest.mark.parametrize("i", [sampled(i, case) for i, case in enumerate(CASES)])
def test_golden_cases_within_100_eps_times_condition(i):
    found, cond = golden_errors(i)
    for name, error in found.items():
        assert error <= tolerance(cond), name


@pytest.mark.release
def test_print_achieved_maximum_per_regime(capsys):
    worst = defaultdict(float)
    for i, case in enumerate(CASES):
        found, cond = golden_errors(i)
        regime = case["label"].split("/")[0]
        worst[regime] = max(worst[regime], max(found.values()) / (1 + cond))
    with capsys.disabled():
        print("\n\nlargest error of the Jacobian in eps (1 + cond)")
        for regime, error in worst.items():
            print(f"{regime:26} {error:8.2f}")
    assert len(worst) == 20


def near_degenerate(kind, rng):
    """A body, its momentum and a time, next to where a formula could break."""
    I, m = np.sort(rng.uniform(1, 4, 3)), rng.normal(size=3)
    t = 10 ** rng.uniform(-2, 2.5) * rng.choice([-1, 1])
    d = 10 ** rng.uniform(-15, -1)
    if kind == "nearly symmetric":
        k = rng.integers(2)
        I[k + 1] = I[k] * (1 + d)
        m *= 10 ** rng.uniform(-6, 0, 3)
    elif kind == "nearly spherical":
        I = I[0] * (1 + d * np.array([0, rng.uniform(), 1]))
        t = 10 ** rng.uniform(-1, 1.5) / d ** rng.uniform(0, 1.2)
    elif kind == "next to the middle axis":
        m[[0, 2]] *= 10 ** rng.uniform(-10, -1)
        t *= 10 ** rng.uniform(0, 1)
    elif kind == "next to the separatrix":
        slope = np.sqrt((I[1] - I[0]) * I[2] / ((I[2] - I[1]) * I[0]))
        m[2] = m[0] * slope * (1 + rng.choice([-1, 0, 1]) * d)
    elif kind == "flat":
        I = np.sort(10 ** rng.uniform(-3, 6, 3))
    elif kind == "equatorial":
        k = rng.integers(2)
        I[k + 1] = I[k] * (1 + d * rng.integers(2))
        m[0 if k else 2] = d
    elif kind == "long":
        t = 10 ** rng.uniform(3, 9)
    order = rng.permutation(3)
    return I[order], m[order], t


KINDS = [
    "nearly symmetric",
    "nearly spherical",
    "next to the middle axis",
    "next to the separatrix",
    "flat",
    "equatorial",
    "long",
]


@pytest.mark.parametrize("kind", KINDS)
def test_near_degenerate_bodies_within_100_eps_times_condition(kind, rng):
    for _ in range(6):
        I, m, t = near_degenerate(kind, rng)
        q = random_attitude(rng)
        found, length = errors(I, m, q, t, true_matrix(I, m, q, t))
        assert max(found.values()) <= tolerance(length)


@pytest.mark.parametrize(
    "label", ["generic/i/3", "generic/ii/12", "separatrix/5", "symmetric/oblate/5", "near_axis/3/1e-06"]
)
def test_against_taylor_series_too(label):
    case = next(c for c in CASES if c["label"] == label)
    args = case["I"], case["m0"], case["q0"], case["t"]
    found, length = errors(*args, true_matrix(*args, flow=taylor_flow))
    assert max(found.values()) <= tolerance(max(case["cond_m"], case["cond_q"], length))


# What derivatives of a free motion must satisfy, in float64


@pytest.fixture
def bodies(rng):
    n = 400
    I = 10 ** rng.uniform(-1, 1, (n, 3))
    m, q = rng.normal(size=(n, 3)), random_attitude(rng, n)
    t = 10 ** rng.uniform(-3, 2, n) * rng.choice([-1, 1], n)
    end_m, end_q = ph.propagate(I, m, q, t)
    J = jacobian(I, m, q, t)
    length = 1 + np.linalg.norm(J.matrix * np.concatenate([m, q, I, t[:, None]], axis=-1)[:, None, :], axis=(1, 2))
    length += np.linalg.norm(J.matrix[:, :, :3], axis=(1, 2)) * np.linalg.norm(m, axis=1)
    size = np.linalg.norm(m, axis=1)
    return SimpleNamespace(I=I, m=m, q=q, t=t, end_m=end_m, end_q=end_q, J=J, length=length, size=size)


def hat(v):
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    rows = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def assert_small(residual, bodies, power=1):
    """Relative to m0; the Jacobian has errors of its length, and so have its products."""
    largest = np.abs(residual.reshape(len(bodies.m), -1)).max(axis=1)
    assert np.all(largest <= TOLERANCE * EPS * bodies.length**power)


def test_m_keeps_volume_and_the_poisson_bracket(bodies):
    J = bodies.J.dm_dm
    assert_small(np.linalg.det(J) - 1, bodies, power=3)
    bracket = J @ hat(bodies.m) @ np.swapaxes(J, -1, -2) - hat(bodies.end_m)
    assert_small(bracket / bodies.size[:, None, None], bodies, power=2)


def test_momentum_in_space_follows_the_start(bodies):
    """Q m = Q0 m0 differentiated: Q (turn x m + dm) = Q0 dm0, or 0 for changes of I."""
    Q = matrix(bodies.end_q)
    for dm, dq, expected in (
        (bodies.J.dm_dm, bodies.J.dq_dm, matrix(bodies.q)),
        (bodies.J.dm_dI * bodies.I[:, None, :], bodies.J.dq_dI * bodies.I[:, None, :], np.zeros((3, 3))),
    ):
        turn = 2 * multiply(conjugate(bodies.end_q)[:, None, :], np.swapaxes(dq, -1, -2))[..., 1:]
        change = np.cross(turn, bodies.end_m[:, None, :]) + np.swapaxes(dm, -1, -2)
        scale = 1.0 if expected.any() else bodies.size[:, None, None]
        assert_small((Q @ np.swapaxes(change, -1, -2) - expected) / scale, bodies, power=2)


def test_scaling_of_momentum_time_and_inertia(bodies):
    """m -> a m, t -> t/a and I -> a I, t -> a t: Euler's identities for homogeneous functions."""
    J, t = bodies.J, bodies.t[:, None]

    def times(block, v):
        return np.einsum("nij,nj->ni", block, v)

    size = bodies.size[:, None]
    assert_small((times(J.dm_dm, bodies.m) - t * J.dm_dt - bodies.end_m) / size, bodies)
    assert_small(times(J.dq_dm, bodies.m) - t * J.dq_dt, bodies)
    assert_small((times(J.dm_dI, bodies.I) + t * J.dm_dt) / size, bodies)
    assert_small(times(J.dq_dI, bodies.I) + t * J.dq_dt, bodies)


def test_a_common_change_of_all_rates_only_turns_about_m(bodies):
    """1/I -> 1/I + c leaves m alone and turns the body by c t m."""
    square = bodies.I**2
    assert_small(np.einsum("nij,nj->ni", bodies.J.dm_dI, square) / (bodies.size * square.max(axis=1))[:, None], bodies)
    turned = multiply(bodies.end_q, np.insert(bodies.m * 0 + bodies.end_m, 0, 0.0, axis=1)) * bodies.t[:, None] / 2
    residual = np.einsum("nij,nj->ni", bodies.J.dq_dI, square) + turned
    assert_small(residual / (1 + square.max(axis=1))[:, None], bodies)


def test_time_derivative_is_the_equation_of_motion(bodies):
    w = bodies.end_m / bodies.I
    rate = np.abs(w).max(axis=1)[:, None]
    assert_small((bodies.J.dm_dt - np.cross(bodies.end_m, w)) / (rate * bodies.size[:, None]), bodies)
    assert_small((bodies.J.dq_dt - multiply(bodies.end_q, np.insert(w, 0, 0.0, axis=1)) / 2) / rate, bodies)


def test_the_attitude_is_linear_in_its_start(bodies):
    assert_small(np.einsum("nij,nj->ni", bodies.J.dq_dq, bodies.q) - bodies.end_q, bodies)
    assert_small(bodies.J.dq_dq @ np.swapaxes(bodies.J.dq_dq, -1, -2) - np.eye(4), bodies)


# Special bodies


def test_at_rest_everything_is_exact():
    I, q, t = np.array([1.5, 2.0, 4.0]), np.array([0.6, 0.0, 0.8, 0.0]), 3.0
    J = jacobian(I, np.zeros(3), q, t)
    np.testing.assert_array_equal(J.dm_dm, np.eye(3))
    np.testing.assert_array_equal(J.dq_dq, np.eye(4))
    for k in range(3):
        turn = np.insert(np.eye(3)[k] * t / I[k], 0, 0.0)
        np.testing.assert_allclose(J.dq_dm[:, k], multiply(q, turn) / 2, rtol=1e-15, atol=0)
    for block in (J.dm_dI, J.dm_dt, J.dq_dI, J.dq_dt):
        assert not block.any()


def test_towards_rest_the_derivatives_are_those_at_rest():
    I, q, t = (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), 0.7
    at_rest, nearly = jacobian(I, (0.0, 0.0, 0.0), q, t), jacobian(I, (3e-200, 1e-200, -2e-200), q, t)
    np.testing.assert_allclose(nearly.dm_dm, at_rest.dm_dm, rtol=0, atol=1e-15)
    np.testing.assert_allclose(nearly.dq_dm, at_rest.dq_dm, rtol=0, atol=1e-15)


def test_after_no_time_nothing_but_the_start_counts():
    J = jacobian((3.0, 1.0, 2.0), (0.3, -0.2, 0.9), (0.0, 1.0, 0.0, 0.0), 0.0)
    np.testing.assert_array_equal(J.dm_dm, np.eye(3))
    np.testing.assert_array_equal(J.dq_dq, np.eye(4))
    for block in (J.dm_dI, J.dq_dm, J.dq_dI):
        assert not block.any()


def test_steady_about_the_middle_axis_it_grows_like_cosh_and_ends_at_infinity():
    I, m, q = (1.0, 2.0, 3.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    rate = np.sqrt((1 - 1 / 2) * (1 / 2 - 1 / 3))
    J = jacobian(I, m, q, 20.0)
    np.testing.assert_allclose(J.dm_dm[[0, 2], [0, 2]], np.cosh(20.0 * rate), rtol=1e-14)
    far = jacobian(I, m, q, 1e4)
    assert np.all(far.dm_dm[[0, 2], [0, 2]] == np.inf)
    np.testing.assert_array_equal(far.dm_dm[1], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(far.dq_dt, multiply(ph.propagate(I, m, q, 1e4)[1], (0, 0, 0.5, 0)) / 2, atol=1e-15)
    assert not np.isnan(far.matrix).any()


def test_scales_to_the_bit():
    I, m, q, t = np.array([1.1, 2.3, 2.9]), np.array([0.3, -1.2, 0.7]), (1.0, 0.0, 0.0, 0.0), 17.0
    J = jacobian(I, m, q, t)
    for a, b in ((300, -300), (-330, 100), (7, 330)):
        K = jacobian(np.ldexp(I, b), np.ldexp(m, a), q, np.ldexp(t, b - a))
        np.testing.assert_array_equal(K.dm_dm, J.dm_dm)
        np.testing.assert_array_equal(K.dm_dI, np.ldexp(J.dm_dI, a - b))
        np.testing.assert_array_equal(K.dm_dt, np.ldexp(J.dm_dt, 2 * a - b))
        np.testing.assert_array_equal(K.dq_dm, np.ldexp(J.dq_dm, -a))
        np.testing.assert_array_equal(K.dq_dI, np.ldexp(J.dq_dI, -b))
        np.testing.assert_array_equal(K.dq_dt, np.ldexp(J.dq_dt, a - b))


def test_order_of_axes_does_not_matter(rng):
    """Renaming axes cyclically renames rows and columns."""
    I, m, q = np.array([1.0, 1.7, 2.2]), rng.normal(size=3), random_attitude(rng)
    J = jacobian(I, m, q, 5.0)
    for shift in (1, 2):
        K = jacobian(np.roll(I, shift), np.roll(m, shift), np.r_[q[0], np.roll(q[1:], shift)], 5.0)
        np.testing.assert_array_equal(K.dm_dm, np.roll(J.dm_dm, (shift, shift), axis=(0, 1)))
        np.testing.assert_array_equal(K.dm_dI, np.roll(J.dm_dI, (shift, shift), axis=(0, 1)))
        np.testing.assert_allclose(K.dq_dI[1:], np.roll(J.dq_dI[1:], (shift, shift), axis=(0, 1)), rtol=0, atol=1e-14)


def test_tensors_stay_in_their_axes(rng):
    """Against differences in float64: all that is new here is which axes the columns and rows are in."""
    A = matrix(random_attitude(rng))
    moments, m, q, t, e = np.array([1.0, 1.6, 2.1]), rng.normal(size=3), random_attitude(rng), 3.0, 1e-5
    found, axes = principal((A * moments) @ A.T)
    J = jacobian((A * moments) @ A.T, m, q, t)

    def flow(x):
        return np.concatenate(ph.propagate((axes * x[7:10]) @ axes.T, x[:3], x[3:7] / np.linalg.norm(x[3:7]), x[10]))

    start = np.concatenate([m, q, found, [t]])
    for k in (0, 1, 2, 7, 8, 9, 10):
        step = e * np.eye(11)[k]
        expected = (flow(start + step) - flow(start - step)) / (2 * e)
        np.testing.assert_allclose(J.matrix[:, k], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(J.dq_dq @ q, flow(start)[3:], rtol=0, atol=1e-14)
    far = jacobian((A * moments) @ A.T, axes[:, np.argsort(found)[1]], q, 1e5)
    assert not np.isnan(far.matrix).any()


def test_a_linear_rotor_by_its_one_moment():
    body = ph.RigidBody.linear(2.0)
    m, q, t = np.array([0.0, 0.6, -0.8]), np.array([1.0, 0.0, 0.0, 0.0]), 5.0
    J = jacobian(body, m, q, t)
    assert np.isfinite(J.matrix).all()
    assert not J.dq_dI[:, 0].any()
    np.testing.assert_allclose(J.dm_dI[:, 1:].sum(axis=-1), 0.0, atol=1e-15)
    angle = t / 2.0 / 2  # half of |m| t/I
    expected = -angle / 2.0 * np.array([-np.sin(angle), *(np.cos(angle) * m)])
    np.testing.assert_allclose(J.dq_dI[:, 1:].sum(axis=-1), expected, rtol=0, atol=1e-15)
    assert np.isfinite(error_bound(body, m, q, t).q)


# Arrays


def test_shapes_and_broadcasting(rng):
    I, m, q, t = rng.uniform(1, 2, (2, 1, 3)), rng.normal(size=(5, 3)), random_attitude(rng), np.ones((3, 1, 1))
    J = jacobian(I, m, q, t)
    shapes = Jacobian((3, 3), (3, 3), (3,), (4, 3), (4, 4), (4, 3), (4,))
    for block, shape in zip(J, shapes, strict=True):
        assert block.shape == (3, 2, 5, *shape)
    assert J.matrix.shape == (3, 2, 5, 7, 11)
    assert not J.matrix[..., :3, 3:7].any()
    one = jacobian(I[1, 0], m[4], q, 1.0)
    np.testing.assert_array_equal(J.matrix[2, 1, 4], one.matrix)
    bound = error_bound(I, m, q, t)
    assert bound.m.shape == bound.q.shape == (3, 2, 5)


@pytest.mark.dense
def test_threads_change_no_bit(rng, monkeypatch):
    n = 20_001
    I, m, q, t = rng.uniform(1, 2, (n, 3)), rng.normal(size=(n, 3)), random_attitude(rng, n), rng.uniform(0, 9, n)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "1")
    one = jacobian(I, m, q, t).matrix
    monkeypatch.setenv("POLHODE_NUM_THREADS", "3")
    np.testing.assert_array_equal(jacobian(I, m, q, t).matrix, one)


number = st.floats(-1.0, 1.0) | st.sampled_from([0.0, 1.0, -1.0, 1e-8, 1e-160, -1e-30])
exponent = st.integers(-100, 100)


@pytest.mark.filterwarnings("ignore:a body turns by")
@given(
    st.tuples(*[st.floats(1e-3, 1.0) | st.sampled_from([1.0, 0.5, 0.5 + 1e-15, 1e-140])] * 3),
    st.tuples(number, number, number),
    st.floats(-1.0, 1.0) | st.sampled_from([1.0, -1.0, 1e-300, 0.0]),
    exponent, exponent, st.integers(-20, 140),
)  # fmt: skip
def test_never_nan(I, m, t, scale_I, scale_m, length):
    time = t * 10.0**scale_I / 10.0**scale_m * 10.0 ** min(length, 307 - abs(scale_I - scale_m))
    assume(max(map(abs, m)) * abs(t) * 10.0**length <= 1e149 * min(I))  # beyond, propagate refuses
    J = jacobian(np.array(I) * 10.0**scale_I, np.array(m) * 10.0**scale_m, (1.0, 0.0, 0.0, 0.0), time)
    assert not np.isnan(J.matrix).any()
    assert np.isfinite(J.dq_dq).all()


# Error bounds


def test_error_bound_covers_the_errors_of_all_golden_cases():
    I, m0, q0, t = (np.array([case[key] for case in CASES]) for key in ("I", "m0", "q0", "t"))
    bound = error_bound(I, m0, q0, t)
    m, q = ph.propagate(I, m0, q0, t)
    for i, case in enumerate(CASES):
        assert distance(m[i], case["m"]) <= bound.m[i], case["label"]
        assert distance(q[i], case["q"]) <= bound.q[i], case["label"]


def test_condition_numbers_are_those_of_the_golden_file():
    I, m0, q0, t = (np.array([case[key] for case in CASES]) for key in ("I", "m0", "q0", "t"))
    bound = error_bound(I, m0, q0, t)
    size = np.linalg.norm(m0, axis=1)
    moves = (size > 0) & (t != 0)  # for t = 0 the file has 1 where the sum of |m_k|/|m| is meant
    cond_m, cond_q = (np.array([case[key] for case in CASES]) for key in ("cond_m", "cond_q"))
    np.testing.assert_allclose((bound.m / (5 * EPS) - size)[moves] / size[moves], cond_m[moves], rtol=0.006)
    np.testing.assert_allclose(bound.q / (5 * EPS) - 1, cond_q, rtol=0.006, atol=1e-15)
