"""Steps of a method on bodies in principal axes, by the contract of ``methods.method`` alone; and forces of size 1."""

from __future__ import annotations

import numpy as np

import polhode as ph
from polhode import forces
from polhode.forces.nothing import nothing
from polhode.kernels.stepping.header import Bodies, Clock, Saved, Wanted
from polhode.methods.algo_c1 import AlgoC1
from polhode.methods.dir_em import DirEM
from polhode.methods.quat_em import QuatEM
from polhode.methods.quat_vi import QuatVI

CONSERVING = (QuatEM(), QuatVI(), DirEM(), AlgoC1())


def begin(method, m, q):
    """A current of bodies with momenta m (n, 3) and attitudes q (n, 4)."""
    return method.new_batch_state(*(np.atleast_2d(np.array(x, float)) for x in (m, q)))


def go_on(method, force, moments, current, h, steps, *, pieces=1, ranges=1, t0=0.0):
    """Up to step ``steps``, in so many calls, over so many ranges of bodies; the states there: (m, q)."""
    n = len(current.m)
    bodies = Bodies(
        np.atleast_2d(np.array(moments, float)),
        np.empty((0, 9)),
        np.zeros((1, 3)),
        np.atleast_2d(np.array(force.params)),
    )
    m, q = np.full((1, n, 3), np.nan), np.full((1, n, 4), np.nan)
    clock = Clock(np.array([t0]), np.atleast_1d(np.array(h, float)))
    advance, saves, bounds = method.advance(force), np.array([steps]), np.linspace(0, n, ranges + 1).astype(int)
    for limit in np.linspace(int(current.steps[0]), steps, pieces + 1).astype(int)[1:].tolist():
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            advance(bodies, clock, Wanted(limit, saves), start, stop, current, Saved(m, q))
    return m[0], q[0]


def step(method, force, moments, m, q, h, steps=1):
    """The current after some steps."""
    current = begin(method, m, q)
    go_on(method, force, moments, current, h, steps)
    assert (current.status == 0).all()
    return current


# V that depends on Q through u = Q^T e3, neither linearly nor quadratically; and one of no symmetry


def of_u(t, Q, p):
    x, y, z = Q[2]
    return p[0] * (x * x * x * y + 0.5 * z * z * z + 0.2 * y)


def of_u_slope(t, Q, p):
    x, y, z = Q[2]
    zero = 0.0, 0.0, 0.0
    return zero, zero, (3.0 * p[0] * x * x * y, p[0] * (x * x * x + 0.2), 1.5 * p[0] * z * z)


def any_energy(t, Q, p):
    return p[0] * (Q[0][0] * Q[1][1] * Q[2][0] + 0.5 * Q[0][1] * Q[0][1] * Q[2][2] + 0.3 * Q[1][2])


def any_slope(t, Q, p):
    return (
        (p[0] * Q[1][1] * Q[2][0], p[0] * Q[0][1] * Q[2][2], 0.0),
        (0.0, p[0] * Q[0][0] * Q[2][0], 0.3 * p[0]),
        (p[0] * Q[0][0] * Q[1][1], 0.0, 0.5 * p[0] * Q[0][1] * Q[0][1]),
    )


FREE = nothing()
GRAVITY = forces.gravity(0.5, (0.3, -0.4, 0.8))
RESTORING = forces.restoring(1.0, 0.7, -0.5)
AXIAL = ph.Potential(of_u, of_u_slope, params=[0.5], axis=(0, 0, 1))
GENERAL = ph.Potential(any_energy, any_slope, params=[0.5])
