"""Selection of the part of a trajectory to draw: a few bodies, a limited number of turns, and smooth curves."""

from __future__ import annotations

from math import ceil, pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.vectors import length
from polhode.integration.base_trajectory import steps_between

if TYPE_CHECKING:
    from polhode.integration.trajectory import Trajectory

MOST_BODIES = 3  # of a batch
TURNS = 30  # more turns would make curves over time unreadable
SMOOTH = 0.1  # radians between points
LEAST_POINTS, MOST_POINTS = 1000, 4000  # of a curve
MOST_REPEATED = 100_000  # steps that dense output may repeat for additional points


class Curves(NamedTuple):
    """Curves to draw, at k times.

    ``t`` has shape (k,), ``m`` and ``omega`` have shape (k, bodies, 3) in body axes, ``q`` has shape (k, bodies, 4).
    ``note`` says what is left out. ``coarse`` is true if the points are too far apart to be connected by lines.
    """

    body: RigidBody
    t: FloatArray
    m: FloatArray
    q: FloatArray
    omega: FloatArray
    note: str
    coarse: bool

    @property
    def first_body(self) -> RigidBody:
        """First body of a batch, or the only body."""
        return self.body.select(self.body.batch, 0) if self.body.batch else self.body


def curves_of(traj: Trajectory) -> Curves:
    """Return the curves of the first bodies and turns, with additional points from ``traj.sol`` if it is available."""
    batch = traj.m.shape[1:-1]
    total = int(np.prod(batch))
    count = min(total, MOST_BODIES)
    body = traj.body.select(batch, np.unravel_index(np.arange(count), batch) if batch else ())
    t, m, q = traj.t, _rows(traj.m)[:, :count], _rows(traj.q)[:, :count]
    turned = _radians(body, t, m)
    notes = [f"first {count} of {total} bodies"] if count < total else []
    end = 1 + int(np.searchsorted(turned, 2 * pi * TURNS))
    if end < len(t):
        notes.append(f"first {TURNS} turns")
        t, m, q, turned = t[:end], m[:end], q[:end], turned[:end]
    sol = getattr(traj, "sol", None)
    points = min(MOST_POINTS, max(LEAST_POINTS, ceil(turned[-1] / SMOOTH)))
    coarse = turned[-1] > 2 * SMOOTH * len(t)
    repeated = points * total * steps_between(traj)
    if len(t) < points and sol is not None and repeated <= MOST_REPEATED and np.isfinite(m).all():
        t = np.linspace(t[0], t[-1], points)
        m, q = (_rows(x)[:, :count] for x in sol(t))
        coarse = False
    omega = body.omega(np.nan_to_num(m)) + 0.0 * m  # NaN stays NaN
    return Curves(body, t, m, q, omega, ", ".join(notes), coarse)


def _rows(array: FloatArray) -> FloatArray:
    """Return the array reshaped to (k, bodies, components)."""
    return array.reshape(len(array), -1, array.shape[-1])


def _radians(body: RigidBody, t: FloatArray, m: FloatArray) -> FloatArray:
    """Return the approximate angle, in radians, by which the fastest body has turned at each time, shape (k,)."""
    speed = length(body.omega(np.nan_to_num(m))).max(axis=1)
    return np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.abs(np.diff(t)))])
