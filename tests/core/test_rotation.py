"""Quaternions and matrices against SciPy, half turns included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.linalg import expm_frechet
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS, random_attitude
from polhode import rotation

seeds = st.integers(0, 2**32 - 1)
TINY = (0.0, 1e-300, 1e-160, 1e-16, 1e-8, 1e-3)


def scipy_of(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def attitudes(seed):
    """Any, next to none, next to a half turn, and exactly half turns about axes and diagonals."""
    rng = np.random.default_rng(seed)
    q = random_attitude(rng, 24)
    q[:6, 0] = TINY  # half turns, nearly
    q[6:12, 1:] *= np.array(TINY)[:, None]
    q[12:15] = np.eye(4)[1:]
    q[15] = (0, 0.6, 0, -0.8)
    q[16] = (0.5, -0.5, 0.5, -0.5)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def up_to_sign(a, b):
    sign = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return np.abs(a - sign * b).max()


@given(seeds)
def test_matrix(seed):
    q = attitudes(seed)
    np.testing.assert_allclose(rotation.matrix(q), scipy_of(q).as_matrix(), atol=25 * EPS, rtol=0)


@given(seeds)
def test_from_matrix_and_back(seed):
    q = attitudes(seed)
    back = rotation.from_matrix(scipy_of(q).as_matrix())
    assert up_to_sign(back, q) <= 12 * EPS
    largest = np.take_along_axis(back, np.abs(back).argmax(axis=-1)[:, None], axis=-1)
    assert (largest > 0).all()
    assert up_to_sign(rotation.from_matrix(rotation.matrix(q)), q) <= 12 * EPS


@given(seeds)
def test_multiply_is_composition(seed):
    a, b = attitudes(seed), attitudes(seed + 1)[::-1]
    product = rotation.multiply(a, b)
    np.testing.assert_allclose(rotation.matrix(product), rotation.matrix(a) @ rotation.matrix(b), atol=30 * EPS, rtol=0)
    assert up_to_sign(product, np.roll((scipy_of(a) * scipy_of(b)).as_quat(), 1, axis=-1)) <= 10 * EPS


def test_multiply_has_hamiltons_signs():
    one, i, j, k = np.eye(4)
    for a, b, c in ((i, j, k), (j, k, i), (k, i, j)):
        np.testing.assert_array_equal(rotation.multiply(a, b), c)
        np.testing.assert_array_equal(rotation.multiply(b, a), -c)
        np.testing.assert_array_equal(rotation.multiply(a, a), -one)
        np.testing.assert_array_equal(rotation.multiply(one, a), a)


@given(seeds)
def test_rotate(seed):
    q, v = attitudes(seed), np.random.default_rng(seed).normal(size=(24, 3))
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    assert (np.abs(rotation.rotate(q, v) - scipy_of(q).apply(v)) <= 30 * EPS * size).all()
    back = rotation.rotate(rotation.conjugate(q), rotation.rotate(q, v))
    assert (np.abs(back - v) <= 45 * EPS * size).all()


def test_rotate_broadcasts():
    q, v = random_attitude(np.random.default_rng(1), 5, 1), np.eye(3)
    assert rotation.rotate(q, v).shape == (5, 3, 3)
    np.testing.assert_allclose(
        np.swapaxes(rotation.rotate(q, v), -2, -1), rotation.matrix(q[:, 0]), atol=4 * EPS, rtol=0
    )


@given(seeds)
def test_from_rotation_vector(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(20, 3)) * 10.0 ** rng.uniform(-12, 0.4, (20, 1))
    vectors[0] = 0
    vectors[1] = (np.pi, 0, 0)
    vectors[2] = (0, -np.pi, 0)
    q = rotation.from_rotation_vector(vectors)
    assert up_to_sign(q, np.roll(Rotation.from_rotvec(vectors).as_quat(), 1, axis=-1)) <= 8 * EPS
    short = np.linalg.norm(vectors, axis=-1) < np.pi
    np.testing.assert_allclose(scipy_of(q[short]).as_rotvec(), vectors[short], rtol=1e-9, atol=8 * EPS)
    np.testing.assert_array_equal(q[0], (1, 0, 0, 0))


def test_from_rotation_vector_turns_past_pi_with_the_continuous_sign():
    q = rotation.from_rotation_vector([(0, 0, 2 * np.pi), (0, 0, 3 * np.pi), (4 * np.pi, 0, 0)])
    np.testing.assert_allclose(q, [(-1, 0, 0, 0), (0, 0, 0, -1), (1, 0, 0, 0)], atol=1e-15, rtol=0)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_shapes(shape):
    q = random_attitude(np.random.default_rng(3), *shape)
    assert rotation.matrix(q).shape == (*shape, 3, 3)
    assert rotation.from_matrix(rotation.matrix(q)).shape == (*shape, 4)
    assert rotation.multiply(q, q).shape == (*shape, 4)
    assert rotation.rotate(q, np.ones(3)).shape == (*shape, 3)
    assert rotation.from_rotation_vector(np.ones((*shape, 3))).shape == (*shape, 4)


@pytest.mark.parametrize("shape", [(), (5,)])
def test_scipy_rotations_go_in_and_out(shape):
    q = random_attitude(np.random.default_rng(4), *shape)
    there = rotation.as_rotation(q)
    assert isinstance(there, Rotation)
    np.testing.assert_allclose(there.as_matrix(), rotation.matrix(q), atol=8 * EPS, rtol=0)
    assert up_to_sign(rotation.as_quaternion(there), q) <= 4 * EPS
    assert rotation.as_quaternion(there).shape == (*shape, 4)
    assert rotation.is_rotation(there)
    assert not rotation.is_rotation(q)


@given(seeds)
def test_normalize(seed):
    rng = np.random.default_rng(seed)
    q = attitudes(seed)
    assert np.abs(rotation.normalize(q) - q).max() <= 6 * EPS
    size = 10.0 ** rng.uniform(-290, 290, (24, 1))  # neither overflow nor underflow
    assert np.abs(rotation.normalize(q * size) - q).max() <= 6 * EPS
    np.testing.assert_array_equal(rotation.normalize(np.ldexp(q, 1000)), rotation.normalize(q))


def test_one_rotation_has_the_bits_of_a_batch(rng):
    """Of one rotation, numbers are computed one by one, and of a batch in arrays."""
    q = rng.normal(size=(500, 4)) * 10.0 ** rng.integers(-300, 300, size=(500, 1))
    unit = rotation.normalize(q)
    Q = rotation.matrix(unit)
    assert np.array_equal(unit, [rotation.normalize(x) for x in q])
    assert np.array_equal(rotation.from_matrix(Q), [rotation.from_matrix(x) for x in Q])


@pytest.mark.parametrize("q", [(0, 0, 0, 0), (np.inf, 0, 0, 0), (np.nan, 0, 0, 1)])
def test_normalize_needs_a_direction(q):
    with pytest.raises(ph.PolhodeError, match=r"q = \(.*no direction"):
        rotation.normalize(q)
    with pytest.raises(ph.PolhodeError, match=r"q\[1\] = \(.*no direction"):
        rotation.normalize([(1, 0, 0, 0), q])


@pytest.mark.parametrize(
    "Q",
    [
        np.zeros((3, 3)),
        -np.eye(3),
        np.diag((1.0, 1.0, -1.0)),
        2 * np.eye(3),
        np.full((3, 3), np.nan),
        np.ones((3, 3)) * 1e200,
    ],
)
def test_from_matrix_refuses_what_is_no_rotation(Q):
    with pytest.raises(ph.InputError, match=r"Q is not a rotation matrix"):
        rotation.from_matrix(Q)
    with pytest.raises(ph.InputError, match=r"Q\[2\] is not"):
        rotation.from_matrix([np.eye(3), np.eye(3), Q])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 4), ()])
def test_from_matrix_refuses_other_shapes(shape):
    with pytest.raises(ph.InputError, match="Q has shape"):
        rotation.from_matrix(np.ones(shape))


# Quaternion products and the exponential map as matrices


def test_products_as_matrices(rng):
    p, q = rng.normal(size=(2, 5, 4))
    product = rotation.multiply(p, q)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rotation.left_matrix(p), q), product, rtol=0, atol=2e-15)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rotation.right_matrix(q), p), product, rtol=0, atol=2e-15)
    assert rotation.left_matrix((1, 2, 3, 4)).tolist() == [[1, -2, -3, -4], [2, 1, -4, 3], [3, 4, 1, -2], [4, -3, 2, 1]]


def hat(u):
    return np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-9, 1e-3, 0.3, 0.999999, 1.0, 3.0, 6.0, 20.0])
def test_derivative_of_the_exponential(size, rng):
    """Against SciPy's Frechet derivative of the matrix exponential, and its own inverse; 2 pi is a pole."""
    u, rate = size * rotation.normalize((0.3, -0.5, 0.8, 0))[:3], rng.normal(size=3)
    exponential, derivative = expm_frechet(hat(u), hat(rate))
    np.testing.assert_allclose(hat(rotation.dexp(u) @ rate) @ exponential, derivative, rtol=0, atol=1e-13)
    inverse = rotation.dexp_inverse(u)
    np.testing.assert_allclose(inverse @ rotation.dexp(u), np.eye(3), rtol=0, atol=1e-15 * np.linalg.norm(inverse) * 4)


@pytest.mark.parametrize("angle", [1e-8, 0.1, 0.7, 0.9999999, 1.0000001, 2.5])
def test_derivative_of_the_exponential_to_the_last_digits(angle):
    """About the third axis, in 40 digits: the closed forms lose digits below 1, the series have enough terms."""
    with mp.workdps(40):
        a = mpf(angle)
        exact = [(1 - mp.cos(a)) / a, mp.sin(a) / a, (a / 2) * mp.cot(a / 2)]
    forward, inverse = rotation.dexp((0, 0, angle)), rotation.dexp_inverse((0, 0, angle))
    for found, value in zip((forward[1, 0], forward[0, 0], inverse[0, 0]), exact, strict=True):
        assert abs(found - float(value)) <= 4 * EPS


@given(seeds)
def test_rotation_vectors_and_euler_angles_in_degrees(seed):
    rng = np.random.default_rng(seed)
    vectors, angles = rng.uniform(-200, 200, (2, 4, 3)), rng.uniform(-400, 400, (2, 4, 3))
    found = rotation.from_rotation_vector(vectors, degrees=True)
    assert up_to_sign(found, rotation.from_rotation_vector(np.deg2rad(vectors))) == 0
    expected = Rotation.from_rotvec(vectors.reshape(-1, 3), degrees=True).as_quat()
    assert up_to_sign(found.reshape(-1, 4), np.roll(expected, 1, axis=-1)) <= 10 * EPS
    for axes in ("ZXZ", "xyz", "ZYX"):
        found = rotation.from_euler(axes, angles, degrees=True)
        assert found.shape == (2, 4, 4)
        expected = Rotation.from_euler(axes, angles.reshape(-1, 3), degrees=True).as_quat()
        assert up_to_sign(found.reshape(-1, 4), np.roll(expected, 1, axis=-1)) == 0
        np.testing.assert_array_equal(
            rotation.from_euler(axes, np.deg2rad(angles)).shape, rotation.from_euler(axes, angles, degrees=True).shape
        )


def test_euler_angles_are_products_of_turns():
    """Intrinsic from left to right, extrinsic from right to left, body to space."""
    x, y, z = 0.3, -0.7, 1.1
    turns = [rotation.from_rotation_vector(v) for v in ((x, 0, 0), (0, y, 0), (0, 0, z))]
    intrinsic = rotation.multiply(turns[0], rotation.multiply(turns[1], turns[2]))
    extrinsic = rotation.multiply(turns[2], rotation.multiply(turns[1], turns[0]))
    assert up_to_sign(rotation.from_euler("XYZ", (x, y, z)), intrinsic) <= 4 * EPS
    assert up_to_sign(rotation.from_euler("xyz", (x, y, z)), extrinsic) <= 4 * EPS
    assert up_to_sign(rotation.from_euler("Y", y), turns[1]) <= 2 * EPS
    assert rotation.from_euler("Y", [[y], [x]]).shape == (2, 4)


@pytest.mark.parametrize(
    ("axes", "angles", "words"),
    [
        ("ZxZ", (1, 2, 3), "'ZxZ'; expected one to three of the letters XYZ"),
        ("", (), "expected one to three"),
        (3, (1, 2, 3), "expected one to three"),
        ("ZZX", (1, 2, 3), "same axis twice"),
        ("ZXZ", (1, 2), r"angles has shape \(2,\); expected \(..., 3\)"),
        ("ZXZ", (1, 2, np.nan), "every value must be finite"),
        ("ZXZ", "90 degrees", "must be numbers"),
    ],
)
def test_euler_angles_that_make_no_sense_are_refused(axes, angles, words):
    with pytest.raises(ph.InputError, match=words):
        rotation.from_euler(axes, angles)
