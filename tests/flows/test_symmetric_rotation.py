"""Symmetric body and one rotation: the article's own algorithm, for all choices of its axes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS, random_attitude
from polhode.core.rotation import matrix
from polhode.methods.expressions import flow_of

AXES = list(permutations((1, 2, 3)))


def turned(m, Q, vector):
    """The body turned by a rotation vector in its own axes."""
    R = Rotation.from_rotvec(vector).as_matrix()
    return R.T @ m, Q @ R


def as_published(inertia, m, q, h, axes):
    """Vilmart 2013, Algorithm 2 (as corrected): R(h/2) S(h) R(h/2), with labels 1, 2, 3 for the given axes."""
    a, b, c = (k - 1 for k in axes)
    x, e, Q = 1.0 / inertia, np.eye(3), matrix(q)
    m, Q = turned(m, Q, 0.5 * h * (x[a] - x[b]) * m[a] * e[a])
    Q = Q @ Rotation.from_rotvec(h * x[b] * m).as_matrix()
    m, Q = turned(m, Q, h * (x[c] - x[b]) * m[c] * e[c])
    return turned(m, Q, 0.5 * h * (x[a] - x[b]) * m[a] * e[a])


def bodies(rng, n):
    return zip(
        rng.uniform(1, 3, (n, 3)), rng.normal(size=(n, 3)), random_attitude(rng, n), rng.uniform(-1.5, 1.5, n),
        strict=True,
    )  # fmt: skip


def distance(end, other):
    return max(np.abs(end.m - other[0]).max(), np.abs(matrix(end.q) - other[1]).max())


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_axes(rng, axes):
    flow = ph.SymmetricRotation(axes=axes)
    for inertia, m, q, h in bodies(rng, 20):
        end = flow.step(inertia, ph.State(m, q), h)
        assert distance(end, as_published(inertia, m, q, h, axes)) <= 50 * EPS


def test_the_default_sorts_the_axes_and_swaps_two_of_them_by_itself(rng):
    """The middle moment is 2; 1 is the other axis whose 1/I differs more from it: the least or the greatest."""
    taken = []
    for inertia, m, q, h in bodies(rng, 60):
        least, middle, greatest = np.argsort(inertia) + 1
        x1, x2, x3 = np.sort(1.0 / inertia)[::-1]
        axes = (least, middle, greatest) if x1 - x2 >= x2 - x3 else (greatest, middle, least)
        end = ph.SymmetricRotation().step(inertia, ph.State(m, q), h)
        assert distance(end, as_published(inertia, m, q, h, axes)) <= 50 * EPS
        taken.append(axes[0] == least)
    assert 0 < sum(taken) < len(taken)


def test_exact_for_symmetric_bodies_only_where_the_equal_moments_are_labeled_so():
    state, h = ph.State((0.3, 0.2, 0.9)), 0.5
    for inertia, good in (((2.0, 2.0, 1.0), True), ((1.0, 2.0, 2.0), True), ((1.0, 2.0, 1.0), False)):
        exact = ph.Exact().step(inertia, state, h)
        off = np.abs(ph.SymmetricRotation(axes=(1, 2, 3)).step(inertia, state, h).m - exact.m).max()
        assert off <= 20 * EPS if good else off > 1e-5
        assert np.abs(ph.SymmetricRotation().step(inertia, state, h).m - exact.m).max() <= 20 * EPS


def test_its_name_can_be_typed_again():
    flow = ph.SymmetricRotation(axes=(3, 2, 1))
    assert repr(flow) == "SymmetricRotation(axes=(3, 2, 1))"
    assert flow_of(repr(flow)) == flow == ph.SymmetricRotation(axes=[3, 2, 1])
    assert flow != ph.SymmetricRotation()
    assert repr(ph.SymmetricRotation()) == "SymmetricRotation()"


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2), (1, 2, 2), "321", 5], ids=str)
def test_unknown_axes(axes):
    with pytest.raises(ph.InputError, match=r"axes = .*expected a permutation of \(1, 2, 3\)"):
        ph.SymmetricRotation(axes=axes)
