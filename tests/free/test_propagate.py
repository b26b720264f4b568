"""Properties of the exact flow that hold for every body, and bodies where formulas usually fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import polhode as ph
from condition import assert_exact, condition
from conftest import EPS, fewer_examples, random_attitude
from polhode import rotation

pytestmark = pytest.mark.dense

moments = st.tuples(*[st.floats(0.3, 3.0)] * 3)
vectors = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
times = st.floats(-30.0, 30.0)
SMALLEST_NORMAL, SMALLEST = 2.0**-1022, 2.0**-1074
attitudes = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def unit(q):
    return np.array(q) / np.linalg.norm(q)


def hard_bodies():
    """Near-degenerate inertias x near-degenerate momenta x short and long times."""
    rng = np.random.default_rng(7)
    for k in range(240):
        a, gap = rng.uniform(0.5, 2), 10.0 ** rng.uniform(-16, -1)
        b = a + rng.uniform(0.2, 2)
        inertia = [
            (a, b, b + rng.uniform(0.1, 1)),
            (a, a * (1 + gap), b),
            (a, b, b * (1 + gap)),
            (a, a * (1 + gap), a * (1 + 2 * gap)),
            (a * 10.0 ** rng.uniform(-8, -2), b, b * 1.1),
            (a, b, (a + b) * 10.0 ** rng.uniform(0.5, 3)),
        ][k % 6]
        near = 10.0 ** rng.uniform(-18, -1)
        m = rng.normal(size=3)
        style = (k // 6) % 5
        if style < 3:
            m *= near
            m[style] = 1.0
        elif style == 3:  # next to the separatrix
            low, mid, high = inertia
            m[2] = m[0] * np.sqrt(high * (mid - low) / (low * (high - mid))) * (1 + near)
        t = rng.choice((-1, 1)) * 10.0 ** rng.uniform(-3, 2.5)
        order = rng.permutation(3)
        body = np.array(inertia)[order].tolist(), m[order].tolist(), random_attitude(rng).tolist(), t
        yield pytest.param(*body, id=f"{k}", marks=[pytest.mark.release] if k >= 80 else [])


@pytest.mark.parametrize(("inertia", "m", "q", "t"), list(hard_bodies()))
def test_hard_bodies_against_the_second_path(inertia, m, q, t):
    assert_exact(inertia, m, q, float(t))


@fewer_examples
@given(moments, vectors, attitudes, times)
def test_any_body_against_the_second_path(inertia, m, q, t):
    assert_exact(inertia, m, unit(q).tolist(), t)


@fewer_examples
@given(moments, vectors, attitudes, times, times)
def test_group_law(inertia, m, q, t1, t2):
    q = unit(q)
    m2, q2 = ph.propagate(inertia, *ph.propagate(inertia, m, q, t1), t2)
    m3, q3 = ph.propagate(inertia, m, q, t1 + t2)
    _, _, size, cond_m, cond_q = condition(inertia, m, q.tolist(), t1 + t2)
    _, _, _, first_m, first_q = condition(inertia, m, q.tolist(), t1)
    _, _, _, second_m, second_q = condition(inertia, ph.propagate(inertia, m, q, t1)[0].tolist(), q.tolist(), t2)
    # an error of the first leg is amplified by at most the condition of the second
    bound = 10 * EPS * (1 + cond_m + cond_q + (1 + first_m + first_q) * (1 + second_m + second_q))
    assert np.linalg.norm(m3 - m2) <= bound * size
    assert np.linalg.norm(q3 - q2) <= bound


@fewer_examples
@given(moments, vectors, attitudes, times)
def test_inverse(inertia, m, q, t):
    q = unit(q)
    there = ph.propagate(inertia, m, q, t)
    back = ph.propagate(inertia, *there, -t)
    _, _, size, cond_m, cond_q = condition(inertia, m, q.tolist(), t)
    _, _, _, back_m, back_q = condition(inertia, there[0].tolist(), q.tolist(), -t)
    bound = 10 * EPS * (1 + (1 + cond_m + cond_q) * (1 + back_m + back_q))
    assert np.linalg.norm(back[0] - m) <= bound * size
    assert np.linalg.norm(back[1] - q) <= bound


@given(moments, vectors, attitudes, attitudes, times)
def test_turning_space_turns_the_attitude_only(inertia, m, q, turn, t):
    q, turn = unit(q), unit(turn)
    m1, q1 = ph.propagate(inertia, m, q, t)
    m2, q2 = ph.propagate(inertia, m, unit(rotation.multiply(turn, q)), t)
    np.testing.assert_array_equal(m1, m2)
    np.testing.assert_allclose(rotation.multiply(turn, q1), q2, atol=20 * EPS, rtol=0)


@given(moments, vectors, attitudes, times, st.permutations(range(3)))
def test_relabeling_body_axes_changes_no_bit(inertia, m, q, t, order):
    assume(len(set(inertia)) == 3)  # equal moments may be sorted either way
    q = unit(q)
    matrix = np.eye(3)[list(order)]
    sign = round(np.linalg.det(matrix))
    turned_q = np.array([q[0], *(sign * matrix @ q[1:])])
    m1, q1 = ph.propagate(inertia, m, q, t)
    m2, q2 = ph.propagate(matrix @ inertia, sign * matrix @ np.array(m), turned_q, t)
    np.testing.assert_array_equal(m2, sign * matrix @ m1)
    np.testing.assert_allclose(q2, [q1[0], *(sign * matrix @ q1[1:])], atol=6 * EPS, rtol=0)


@given(moments, vectors, attitudes, times, st.integers(-330, 330), st.integers(-330, 330))
@example((1.89, 2.18, 0.67), (-0.75, 2.4e-309, 0.0), (1.0, 0.0, 0.0, 0.0), 3.2, 79, 0)
def test_scaling_changes_no_bit(inertia, m, q, t, a, b):
    q = unit(q)
    m1, q1 = ph.propagate(inertia, m, q, t)
    m2, q2 = ph.propagate(np.ldexp(inertia, b), np.ldexp(np.array(m) + 0.0, a), q, np.ldexp(t, b - a))
    with np.errstate(under="ignore"):
        assume(np.all(np.ldexp(np.ldexp(np.array(m), a), -a) == m))  # momenta that do not underflow
        assume(np.ldexp(np.ldexp(t, b - a), a - b) == t)
        np.testing.assert_array_equal(q1, q2)
        normal = np.minimum(np.abs(m1), np.abs(m2)) >= SMALLEST_NORMAL
        np.testing.assert_array_equal(np.ldexp(m1, a)[normal], m2[normal])
        # a component below is rounded to a multiple of the smallest number, in one scale or in the other
        np.testing.assert_allclose(np.ldexp(m1, a), m2, rtol=0, atol=max(SMALLEST, np.ldexp(SMALLEST, a)))


@given(moments, vectors, attitudes, times)
def test_invariants(inertia, m, q, t):
    q, inertia, m = unit(q), np.array(inertia), np.array(m)
    assume(np.linalg.norm(m) > 0.01)
    m1, q1 = ph.propagate(inertia, m, q, t)
    size = np.linalg.norm(m)
    energy = 0.5 * m @ (m / inertia)
    # conditioned on the time: an error of t by one eps moves m along its curve, and leaves these alone
    assert abs(np.linalg.norm(m1) - size) <= 60 * EPS * size
    assert abs(0.5 * m1 @ (m1 / inertia) - energy) <= 60 * EPS * 0.5 * size**2 / inertia.min()
    assert np.linalg.norm(rotation.rotate(q1, m1) - rotation.rotate(q, m)) <= 200 * EPS * size
    assert abs(np.linalg.norm(q1) - 1) <= 10 * EPS


@fewer_examples
@given(moments, vectors, attitudes, attitudes, times)
def test_tensor_is_the_principal_body_turned(inertia, m, q, turn, t):
    q, turn = unit(q), unit(turn)
    axes = rotation.matrix(turn)  # columns: principal axes in the user's axes
    tensor = axes @ np.diag(inertia) @ axes.T
    m1, q1 = ph.propagate(inertia, m, q, t)
    m2, q2 = ph.propagate(tensor, axes @ m, rotation.multiply(q, rotation.conjugate(turn)), t)
    _, _, size, cond_m, cond_q = condition(inertia, m, q.tolist(), t)
    assume(min(map(abs, m)) > 1e-4 * size)  # rounding of the tensor moves components that are zero, condition does not
    gaps = np.diff(np.sort(inertia))
    spread = max(inertia) / min([*inertia, *gaps[gaps > 0]])  # by which rounding of the tensor turns its axes
    bound = 100 * EPS * spread * (1 + cond_m + cond_q + abs(t) * size / min(inertia))
    assume(bound < 1e-9)  # next to the separatrix the tensor's own rounding decides where the body goes
    assert np.linalg.norm(m2 - axes @ m1) <= bound * size
    assert np.linalg.norm(q2 - rotation.multiply(q1, rotation.conjugate(turn))) <= bound


@pytest.mark.parametrize("count", [3, 25_000])
def test_broadcasting_and_batches_agree_with_the_loop(rng, count):
    inertia = rng.uniform(0.5, 2, size=(count, 3))
    m, q, t = (
        rng.normal(size=(2, count, 3)),
        random_attitude(rng, 2, count),
        rng.uniform(-50, 50, size=(2, 1)),
    )
    inertia = ph.RigidBody.from_moments(inertia)
    m1, q1 = ph.propagate(inertia, m, q, t)
    assert m1.shape == (2, count, 3)
    assert q1.shape == (2, count, 4)
    for k in (0, 1, count - 1):
        for j in (0, 1):
            m2, q2 = ph.propagate(inertia.moments[k], m[j, k], q[j, k], t[j, 0])
            np.testing.assert_array_equal(m1[j, k], m2)
            np.testing.assert_array_equal(q1[j, k], q2)


def test_bits_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    n = 50_000
    args = (
        rng.uniform(0.5, 2, (n, 3)),
        rng.normal(size=(n, 3)),
        random_attitude(rng, n),
        rng.uniform(-9, 9, n),
    )
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
        results.append(ph.propagate(*args))
    for m, q in results[1:]:
        np.testing.assert_array_equal(m, results[0][0])
        np.testing.assert_array_equal(q, results[0][1])


def test_out_may_be_the_input(rng):
    inertia, m, q = rng.uniform(0.5, 2, (50, 3)), rng.normal(size=(50, 3)), random_attitude(rng, 50)
    m1, q1 = ph.propagate(inertia, m, q, 3.0)
    got = ph.propagate(inertia, m, q, 3.0, out=(m, q))
    assert got[0] is m
    assert got[1] is q
    np.testing.assert_array_equal(m, m1)
    np.testing.assert_array_equal(q, q1)


def test_omega_instead_of_m():
    inertia, w = np.array((1.0, 2.0, 3.0)), np.array((0.3, -0.2, 0.5))
    m, q = ph.propagate(inertia, t=2.0, omega=w)
    m1, q1 = ph.propagate(inertia, inertia * w, t=2.0)
    np.testing.assert_array_equal(m, m1)
    np.testing.assert_array_equal(q, q1)
    m2, _ = ph.propagate(np.diag(inertia), t=2.0, omega=w)
    np.testing.assert_array_equal(m2, m1)
    m3, _ = ph.propagate(ph.RigidBody(inertia), t=2.0, omega=w)
    np.testing.assert_array_equal(m3, m1)


def test_scipy_rotation_in_and_out():
    start = Rotation.from_rotvec((0.1, 0.2, 0.3))
    m, end = ph.propagate((1, 2, 3), (1, 1, 1), start, 2.0)
    assert isinstance(end, Rotation)
    _, q = ph.propagate((1, 2, 3), (1, 1, 1), rotation.as_quaternion(start), 2.0)
    np.testing.assert_allclose(end.as_matrix(), rotation.matrix(q), atol=1e-15)
    np.testing.assert_allclose(end.apply(m), start.apply((1, 1, 1)), atol=4e-15)


def test_empty_batch():
    m, q = ph.propagate(np.ones((0, 3)), np.ones((0, 3)), (1, 0, 0, 0), 1.0)
    assert m.shape == (0, 3)
    assert q.shape == (0, 4)


def test_linear_rotor_turns_uniformly_about_m():
    body = ph.RigidBody.linear(2.0)
    m, q = ph.propagate(body, (0.0, 3.0, 4.0), t=0.8)
    np.testing.assert_array_equal(m, (0.0, 3.0, 4.0))
    np.testing.assert_allclose(q, rotation.from_rotation_vector(0.8 * np.array((0, 1.5, 2.0))), atol=2 * EPS)


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize("t", [1e-300, 1e3, 1e15, 1e16, 1e17, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("m", [(0.3, 0.5, 0.7), (0, 1, 0), (1, 0, 0), (1e-9, 1, 1e-9), (0, 0, 0), (1e-170, 1, 0)])
@pytest.mark.parametrize(
    "inertia",
    [(1, 2, 3), (1, 1, 2), (1, 2, 2), (1, 1, 1), (1, 1, 1 + 2**-52), (1e-120, 1, 1), (1, 1e120, 1e140)],
)
def test_never_nan(inertia, m, t):
    if any(m) and np.log10(t) - np.log10(min(inertia)) > 149:
        with pytest.raises(ph.InputError, match="number of turns"):
            ph.propagate(inertia, m, t=[0, 2 * t])
        return
    m1, q1 = ph.propagate(inertia, m, t=[t, -t])
    assert np.isfinite(m1).all()
    assert np.isfinite(q1).all()
    assert np.abs(np.linalg.norm(q1, axis=-1) - 1).max() < 1e-15


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize(
    ("m", "inertia"),
    [
        ((1e300, 2e300, 1e300), (1e-8, 2e-8, 3e-8)),
        ((1e-300, 2e-300, 1e-300), (1e-300, 2e-300, 3e-300)),
        ((5e-324, 0, 5e-324), (1, 2, 3)),
    ],
)
def test_extreme_scales_are_finite(m, inertia):
    time = 3.0 * max(inertia) / np.max(m) if np.max(m) > 1e-320 else 1e300
    m1, q1 = ph.propagate(inertia, m, t=time)
    assert np.isfinite(m1).all()
    assert np.isfinite(q1).all()


def test_results_without_digits_are_told():
    """Not before an error of one rounding moves the body by about a radian."""
    for inertia, m in (((1.0, 2.0, 3.0), (0.3, 0.2, 0.9)), ((1e-12, 1.0, 1.0), (0.0, 0.3, 0.2))):
        for t in (1e18, -1e17):
            with pytest.warns(ph.errors.RunWarning, match="no digit of m and q is certain"):
                *_, bound = ph.propagate(inertia, m, t=t, return_error=True)
            assert bound.q > 0.1
            with pytest.warns(ph.errors.RunWarning, match=r"a body turns by \d\.\de\+1[678] radians"):
                ph.propagate(inertia, [m, m], t=[1.0, t])
    assert ph.propagate((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), t=1e12, return_error=True)[2].q < 0.01
    ph.propagate((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), t=1e18)


def test_rods_and_disks_lose_their_digits_earlier():
    """A rod turns slowly about an axis across it, and rounding decides how it turns about its own."""
    rod, m = (1e-12, 1.0, 1.0), (0.0, 1.0, 1.0)
    for t in (1e5, [1.0, 1e5]):
        with pytest.warns(ph.errors.RunWarning, match=r"and its error is \d.*no digit of m and q is certain"):
            *_, bound = ph.propagate(rod, m, t=t, return_error=True)
        assert np.max(bound.q) > 1.0
    for moments, momentum in ((rod, (0.0, 1.0, 0.0)), ((1e-12, 1.0, 2.0), (0.0, 0.0, 1.0))):
        *_, bound = ph.propagate(moments, momentum, t=1e5, return_error=True)
        assert bound.q < 1e-9
