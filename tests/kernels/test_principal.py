"""Principal moments and axes against the eigenvalues of the same tensors in 40 digits. Unit of errors: 2^-53."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from conftest import EPS, random_attitude
from polhode import rotation
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.principal import principal_axes


def solve(tensors):
    """Moments, axes and the kernel's report; the tensors are left alone."""
    tensors = np.array(tensors, dtype=float).reshape(-1, 3, 3)
    moments, axes = np.full((len(tensors), 3), np.nan), np.full((len(tensors), 3, 3), np.nan)
    bad = principal_axes(tensors.copy(), moments, axes)
    return moments, axes, bad


def true_moments(tensor):
    with mp.workdps(40):
        return mp.eigsy(mp.matrix(tensor.tolist()), eigvals_only=True)


def turned(moments, axes):
    """A diag A^T, symmetric to the bit."""
    tensor = axes @ np.diag(moments) @ axes.T
    return 0.5 * (tensor + tensor.T)


def random_axes(rng):
    return rotation.matrix(random_attitude(rng))


def bodies(rng):
    """Label -> tensors: random ones, needles and discs, nearly equal moments, in all directions."""
    gaps = 10.0 ** rng.uniform(-16, -1, 60)
    return {
        "random": [turned(rng.uniform(0.1, 3, 3), random_axes(rng)) for _ in range(60)],
        "needles": [turned((1e-8, 1, rng.uniform(1, 2)), random_axes(rng)) for _ in range(60)],
        "discs": [turned((1, 1, 2), random_axes(rng)) for _ in range(60)],
        "nearly symmetric": [turned((1, 1 + g, rng.uniform(1, 2)), random_axes(rng)) for g in gaps],
        "nearly spherical": [turned((1, 1 + g, 1 - g / 2), random_axes(rng)) for g in gaps],
        "nearly diagonal": [turned((1, 2, 3), np.eye(3)) + g * (np.ones((3, 3)) - np.eye(3)) for g in gaps],
        "block": [turned((1, 2, 3), rotation.matrix((np.cos(g), 0, np.sin(g), 0))) for g in rng.uniform(0, 3, 60)],
    }


KINDS = ["random", "needles", "discs", "nearly symmetric", "nearly spherical", "nearly diagonal", "block"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100, 3e-300, 5e307])
def test_moments_and_axes(kind, scale, rng):
    tensors = np.array(bodies(rng)[kind]) * scale
    moments, axes, bad = solve(tensors)
    assert bad == NOBODY
    for tensor, found, A in zip(tensors, moments, axes, strict=True):
        size = np.abs(tensor).max()
        with mp.workdps(40):
            error = max(abs(a - b) for a, b in zip(sorted(found.tolist()), true_moments(tensor), strict=True))
        assert error <= 15 * EPS * size
        assert np.abs(A.T @ A - np.eye(3)).max() <= 50 * EPS
        assert abs(np.linalg.det(A) - 1) <= 50 * EPS
        assert np.abs(A @ np.diag(found / size) @ A.T - tensor / size).max() <= 50 * EPS


def graded(rng):
    """D B D with a well-conditioned B of unit diagonal: moments over sixteen decades, each well determined."""
    for _ in range(60):
        b = 0.3 * rng.uniform(-1, 1, (3, 3))
        B = np.eye(3) + np.triu(b, 1) + np.triu(b, 1).T
        D = 10.0 ** rng.uniform(-4, 4, 3)
        yield B * np.outer(D, D)


def test_small_moments_keep_their_digits(rng):
    """What Jacobi's method is for: LAPACK loses the small ones to the large ones."""
    tensors = np.array(list(graded(rng)))
    moments, _, bad = solve(tensors)
    assert bad == NOBODY
    lost = 0
    for tensor, found in zip(tensors, moments, strict=True):
        truth = true_moments(tensor)
        for value, exact in zip(sorted(found.tolist()), truth, strict=True):
            assert abs(value / exact - 1) <= 12 * EPS
        lost += abs(np.linalg.eigvalsh(tensor)[0] / float(truth[0]) - 1) > 1e-14
    assert lost > 10


def test_diagonal_tensors_are_untouched(rng):
    diagonals = 10.0 ** rng.uniform(-70, 70, (200, 3))
    diagonals[:20, 1] = diagonals[:20, 0]
    moments, axes, bad = solve([np.diag(d) for d in diagonals])
    assert bad == NOBODY
    np.testing.assert_array_equal(moments, diagonals)
    np.testing.assert_array_equal(axes, np.broadcast_to(np.eye(3), axes.shape))


def test_scaling_by_powers_of_two_changes_no_bit(rng):
    tensor = turned(rng.uniform(0.1, 3, 3), random_axes(rng))
    moments, axes, _ = solve(tensor)
    for k in (-900, -331, 57, 900):
        scaled_moments, scaled_axes, _ = solve(np.ldexp(tensor, k))
        np.testing.assert_array_equal(scaled_moments, np.ldexp(moments, k))
        np.testing.assert_array_equal(scaled_axes, axes)


def test_axes_stay_close_to_the_users(rng):
    """Nearly diagonal tensors are not permuted: the frame moves as little as it must."""
    _, axes, _ = solve(bodies(rng)["nearly diagonal"])
    assert np.abs(np.einsum("nii->ni", axes) - 1).max() < 0.02


def test_known_tensor():
    """Eigenvalues 1, 2, 4 with axes along (1, 1, 0), (0, 0, 1), (-1, 1, 0); Jacobi leaves them unsorted."""
    moments, axes, bad = solve([[2.5, -1.5, 0], [-1.5, 2.5, 0], [0, 0, 2]])
    assert bad == NOBODY
    order = np.argsort(moments[0])
    np.testing.assert_allclose(moments[0, order], [1, 2, 4], rtol=4 * EPS)
    found = axes[0][:, order] * np.sign(axes[0][[0, 2, 1], order])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found, [[half, 0, -half], [half, 0, half], [0, 1, 0]], atol=2 * EPS)


NOT_INERTIAS = [
    np.diag([1.0, -1.0, 2.0]),
    np.diag([1.0, 0.0, 2.0]),
    np.zeros((3, 3)),
    [[1, 2, 0], [2, 1, 0], [0, 0, 1]],  # moments 3, -1, 1
    [[1, 1, 1], [1, 1, 1], [1, 1, 0.5]],
    np.full((3, 3), np.nan),
    [[1, 0, 0], [0, 1, 0], [0, 0, np.inf]],
    [[1, np.nan, 0], [0, 1, 0], [0, 0, 1]],
    [[1, 0, -np.inf], [0, 1, 0], [-np.inf, 0, 1]],
]


@pytest.mark.parametrize("bad", NOT_INERTIAS)
@pytest.mark.parametrize("index", [0, 2, 4])
def test_first_bad_tensor_is_reported(bad, index, rng):
    tensors = np.array(bodies(rng)["random"][:5])
    tensors[index] = bad
    tensors[4] = np.nan
    assert solve(tensors)[2] == index


def test_empty_batch():
    assert solve(np.empty((0, 3, 3)))[2] == NOBODY
