"""Many exact steps in a row: round-off must be a random walk (Brouwer's law), not a drift. Unit of errors: 2^-53.

Rounding of the constants of a step repeats itself in every step. In the increment form m + delta it hits a small
number; in the addition formula itself it would be a bias that grows like n.
"""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow
from polhode.kernels.compiler import JIT

STEPS = 100_000 if JIT else 2_000
H = 0.01


def bodies():
    """Moments, momentum, attitude: sixteen bodies around the axis of least, sixteen around that of greatest inertia."""
    rng = np.random.default_rng(20080101)
    found = {True: [], False: []}
    while min(map(len, found.values())) < 16:
        inertia, m = np.sort(rng.uniform(0.5, 2.5, 3)), rng.normal(size=3)
        w = 1 / inertia
        around_min = (w[0] - w[1]) * m[0] ** 2 > (w[1] - w[2]) * m[2] ** 2
        if len(found[around_min]) < 16:
            order = rng.permutation(3)
            found[around_min].append((inertia[order], m[order], random_attitude(rng)))
    return found[True] + found[False]


def run(inertia, m, q, h=H, steps=STEPS):
    end = after(inertia, ph.State(m, q), h, steps)
    return end.m, end.q


def after(inertia, state, h, steps):
    return ph.Exact().step(inertia, state, h, steps)


def exact(values):
    return [mpf(x) for x in values.tolist()]


def in_space(q, m):
    """Q m for a quaternion that may be off the unit sphere by rounding: what the norm does is another test's."""
    q0, v, size = q[0], q[1:], sum(x * x for x in q)
    u = [2 * x for x in cross(v, m)]
    return [x + (q0 * y + z) / size for x, y, z in zip(m, u, cross(v, u), strict=True)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def drifts(inertia, m, q, n, p):
    """From (m, q) to (n, p), in eps: |m|^2, energy, and Q m relative to |m|; |q|^2 - 1."""
    inertia, m, q, n, p = map(exact, (inertia, m, q, n, p))

    def energy(m):
        return sum(x * x / moment for x, moment in zip(m, inertia, strict=True))

    size2 = sum(x * x for x in m)
    moved = mp.norm([a - b for a, b in zip(in_space(p, n), in_space(q, m), strict=True)])
    found = (
        sum(x * x for x in n) / size2 - 1,
        energy(n) / energy(m) - 1,
        moved / mp.sqrt(size2),
        sum(x * x for x in p) - 1,
    )
    return [float(x / EPS) for x in found]


@pytest.fixture(scope="module")
def all_drifts():
    with mp.workdps(40):
        return np.array([drifts(*body, *run(*body)) for body in bodies()])


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


@pytest.mark.parametrize(("column", "quantity"), [(0, "norm of m"), (1, "energy")])
def test_invariants_walk_at_random(all_drifts, column, quantity):
    """A drift would be of the order of n; at n = 1e5 it would exceed these bounds a hundredfold."""
    drift = all_drifts[:, column] / np.sqrt(STEPS)
    assert rms(drift) < 2.5, quantity
    assert np.abs(drift).max() < 6, quantity


def test_momentum_in_space_walks_at_random(all_drifts):
    """Three components of m and three angles of q are rounded in every step, by half an ulp or so each."""
    drift = all_drifts[:, 2] / np.sqrt(STEPS)
    assert rms(drift) < 4
    assert drift.max() < 9


def test_norm_of_q_stays(all_drifts):
    """Newton's step in every step leaves the rounding of that step only, however many there were: 1.9 eps rms."""
    assert rms(all_drifts[:, 3]) < 6.5
    assert np.abs(all_drifts[:, 3]).max() <= 14


@pytest.mark.parametrize("index", range(12, 20))
@pytest.mark.parametrize("h", [0.01, -0.3, 7.0])
def test_64_steps_are_one_long_one(index, h):
    """Against the second path in 40 digits: an error of one step, eps (1 + its turns), shears in all that follow."""
    inertia, m, q = bodies()[index]
    n, p = run(inertia, m, q, h, 64)
    with mp.workdps(50):
        size = np.linalg.norm(m)
        m1, q1 = addition_flow(inertia.tolist(), m.tolist(), exact(q), 64 * mpf(h))
        turns = abs(h) * size / inertia.min()
        bound = 4 * EPS * (1 + turns) * (8 + 64 * turns)
        assert distance(n, m1) <= bound * size
        assert distance(p, q1) <= bound


def test_no_steps_change_nothing():
    inertia, m, q = bodies()[0]
    start = ph.State(m, q)
    end = after(inertia, start, H, 0)
    np.testing.assert_array_equal(end.m, start.m)
    np.testing.assert_array_equal(end.q, start.q)


def test_chain_of_pieces_is_the_chain_to_the_bit():
    """Interruption changes no bit: nothing but m and q is carried from step to step."""
    inertia, m, q = bodies()[5]
    start = ph.State(m, q)
    whole, pieces = after(inertia, start, H, 700), after(inertia, after(inertia, start, H, 300), H, 400)
    np.testing.assert_array_equal(pieces.m, whole.m)
    np.testing.assert_array_equal(pieces.q, whole.q)
