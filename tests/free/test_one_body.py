"""Calls with one body take a short way to the kernel: it gives the answers, and the errors, of the way of batches."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode.core import body, checks
from polhode.core.vectors import components, stacked, unit
from polhode.free import motion, propagation

NAN, INF = float("nan"), float("inf")
MOMENTS, MOMENTUM, ATTITUDE = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (0.5, -0.5, 0.1, 0.7)

PLAIN_VECTORS = [
    MOMENTS, [1.0, 2.0, 3.0], (1, 2, 3), [1, 2.5, 3], (np.float64(1), 2, 3), np.array(MOMENTS), (1e-320, 1.0, 2.0),
    (-1.0, 2.0, 3.0), (0, 1, 2), (0.0, 0.0, 0.0), (NAN, 1.0, 2.0), (1.0, NAN, 2.0), (1.0, 2.0, INF), (1e300, 1, 1),
]  # fmt: skip
ODD_VECTORS = [
    (1.0, 2.0), (1.0, 2.0, 3.0, 4.0), (), [], "123", None, 5.0, {1: 2}, range(1, 4),
    (1.0, "2", 3.0), ("1", "2", "3"), (1.0, None, 2.0), (1.0, (2.0, 3.0), 3.0), ((1.0, 2.0), 2.0, 3.0),
    (1.0, [2.0], 3.0), (1.0, np.array([2.0]), 3.0), (1 + 2j, 1, 1), (True, False, True), (True, 2.0, 3.0),
    (1, 2, 10**30), (2**63, 1, 1), (1.0, np.float32(2), 3.0), (np.float32(1), np.float32(2), np.float32(3)),
    (np.array(1.0), 2.0, 3.0), np.array([1, 2, 3]), np.array(MOMENTS, np.float32), np.array(MOMENTS, ">f8"),
    np.arange(1.0, 7.0)[::2], np.array([MOMENTS]), np.array([MOMENTS, (1, 2, 3)]), [MOMENTS, (1, 2, 3)],
    np.array(["1", "2", "3"]), np.array([1, 2, None]), np.array([True, False, True]), np.ma.array(MOMENTS),
    np.diag(MOMENTS) + 0.1, np.full((3, 3), NAN),
]  # fmt: skip
QUATERNIONS = [
    (1, 0, 0, 0), [1.0, 0, 0, 0], (0.6, 0.8, 0.0, 0.0), (0.5, 0.5, 0.5, 0.5 + 1e-9), (1 + 1e-15, 0, 0, 0),
    (2, 0, 0, 0), (0.0, 0.0, 0.0, 0.0), (NAN, 0, 0, 0), (1, 0, 0, INF), (1e200, 0, 0, 0), (1, 0, 0), (1, 0, 0, (0,)),
    (1, 0, 0, None), (True, False, False, False), "1000", None, np.array([1, 0, 0, 0]), np.eye(4)[:2],
    np.eye(4, dtype=np.float32)[0], np.arange(8.0)[::2],
]  # fmt: skip
TIMES = [
    0, 10, -3.0, np.float64(2), np.float32(2), np.int64(3), np.array(2.0), np.array([2.0]), [1, 2], (3.0,), NAN, INF,
    True, None, "1", 1j, 10**30, 10**400, 2**63, 1e160, 1e200, -1e8, [1, [2]], np.bool_(True),
]  # fmt: skip
BODIES = {
    "one": ph.RigidBody(MOMENTS),
    "two": ph.RigidBody([MOMENTS, (1.0, 2.0, 3.0)]),
    "turned": ph.RigidBody(np.diag(MOMENTS) + 0.1),
    "linear": ph.RigidBody.linear(2.0),
}


@pytest.fixture
def short_results(monkeypatch):
    """Results of the short way, None where the kernel rejected the body."""
    results = []

    def watched(operands, propagate_one=propagation.propagate_one):
        results.append(propagate_one(operands))
        return results[-1]

    for module in (propagation, motion):
        monkeypatch.setattr(module, "propagate_one", watched)
    return results


def by_long_way(call):
    """The answer if nothing is plain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "row_of_one", lambda value, components: None)
        for module in (body, propagation):
            patch.setattr(module, "row_of_one", lambda value, components: None)
        for module in (propagation, motion):
            patch.setattr(module, "time_of_one", lambda value: None)
        return answer(call)


def answer(call):
    """Type, shape and bits of all results, or type and message of the error."""
    try:
        return bits(call())
    except ph.PolhodeError as error:
        return type(error), str(error)


def bits(result):
    if isinstance(result, tuple):
        return tuple(map(bits, result))
    if isinstance(result, ph.State):
        return bits((result.m, result.q))
    return type(result), np.shape(result), np.asarray(result).tobytes()


def agree(call):
    expected = by_long_way(call)
    assert answer(call) == expected


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize("value", PLAIN_VECTORS + ODD_VECTORS, ids=repr)
def test_vectors(value):
    agree(lambda: ph.propagate(value, MOMENTUM, t=2.0))
    agree(lambda: ph.propagate(MOMENTS, value, t=2.0))
    agree(lambda: ph.propagate(MOMENTS, omega=value, t=2.0))
    agree(lambda: ph.propagate(MOMENTS, value, omega=value, t=2.0))
    agree(lambda: ph.propagate(MOMENTS, value, t=2.0, jacobian=True, return_error=True))
    agree(lambda: ph.propagate(value, MOMENTUM, t=2.0, jacobian=True, return_error=True))
    for rigid in BODIES.values():
        agree(lambda rigid=rigid: ph.propagate(rigid, value, t=2.0))
        agree(lambda rigid=rigid: ph.free_motion(rigid, m=value).state(200.0))


@pytest.mark.parametrize("value", QUATERNIONS, ids=repr)
def test_attitudes(value):
    agree(lambda: ph.propagate(MOMENTS, MOMENTUM, value, 2.0))
    agree(lambda: ph.free_motion(MOMENTS, m=MOMENTUM, q=value).state(200.0))


@pytest.mark.filterwarnings("ignore:a body turns by")
@pytest.mark.parametrize("value", TIMES, ids=repr)
def test_times(value):
    agree(lambda: ph.propagate(MOMENTS, MOMENTUM, t=value))
    agree(lambda: ph.propagate(MOMENTS, MOMENTUM, t=value, jacobian=True, return_error=True))
    for rigid in BODIES.values():
        agree(lambda rigid=rigid: ph.free_motion(rigid, m=(0.0, 0.2, 0.9)).sample(value))


@pytest.mark.parametrize("value", PLAIN_VECTORS, ids=repr)
def test_plain_numbers_take_the_short_way(short_results, value):
    answer(lambda: ph.propagate(MOMENTS, value, ATTITUDE, 10))
    assert len(short_results) == 1


def test_motions_take_the_short_way(short_results):
    still = ph.free_motion(MOMENTS, m=MOMENTUM)
    still.q(10.0), still.m(10), still.state(np.float64(10.0))
    assert len(short_results) == 3


def random_bodies(n, rng):
    """Bodies of all regimes: any, symmetric and spherical ones, at rest, near the middle axis and the separatrix."""
    I, m, q = rng.uniform(0.3, 3, (n, 3)), rng.normal(size=(n, 3)), rng.normal(size=(n, 4))
    I[::7, 1], I[1::7] = I[::7, 0], 1.5
    m[2::7], m[3::7, :2], m[4::7, 0] = 0.0, 0.0, 0.0
    I[5::7], m[5::7] = (1, 2, 3), rng.normal(size=(len(m[5::7]), 1)) * (1, 1, np.sqrt(3))
    t = rng.normal(size=n) * 10.0 ** rng.uniform(-4, 6, n)
    return I, m, q / np.linalg.norm(q, axis=-1, keepdims=True), t


def test_one_body_has_the_bits_of_a_batch():
    I, m, q, t = random_bodies(140, np.random.default_rng(3))
    batch = ph.propagate(I, m, q, t, jacobian=True, return_error=True)
    motions = ph.free_motion(ph.RigidBody.from_moments(I), m=m, q=q)
    at_hundred = motions.state(100.0)
    for i, one in enumerate(zip(I.tolist(), m.tolist(), q.tolist(), t.tolist(), strict=True)):
        m_one, q_one, jacobian, error = ph.propagate(*one, jacobian=True, return_error=True)
        assert bits((m_one, q_one)) == bits((batch[0][i], batch[1][i]))
        assert bits(jacobian.matrix) == bits(batch[2].matrix[i])
        assert bits(tuple(error)) == bits((batch[3].m[i], batch[3].q[i]))
        state = ph.free_motion(one[0], m=one[1], q=one[2]).state(100.0)
        assert bits(state) == bits((at_hundred.m[i], at_hundred.q[i]))


def test_one_vector_has_the_bits_of_a_batch():
    """Python computes with the components of one vector, NumPy with those of several."""
    rng = np.random.default_rng(4)
    _, v, q, _ = random_bodies(500, rng)
    q *= 1 + rng.uniform(-4e-16, 4e-16, (500, 1))
    normalized, products, matrices, units = (
        ph.rotation.as_quaternion(q), ph.rotation.multiply(q, q[::-1]), ph.rotation.matrix(q), unit(v),
    )  # fmt: skip
    for i in range(500):
        assert bits(ph.rotation.as_quaternion(q[i])) == bits(normalized[i])
        assert bits(ph.rotation.multiply(q[i], q[-1 - i])) == bits(products[i])
        assert bits(ph.rotation.matrix(q[i])) == bits(matrices[i])
        assert bits(unit(v[i])) == bits(units[i])
        assert bits(stacked(*components(v[i]))) == bits(v[i])


def test_forces_of_one_body_have_the_bits_of_a_batch():
    v = np.random.default_rng(5).normal(size=(50, 3))
    batch = ph.forces.gravity(v[:, 0], v, v[:, ::-1])
    for i in range(50):
        assert bits(ph.forces.gravity(v[i, 0], v[i], v[i, ::-1]).params) == bits(batch.params[i])
