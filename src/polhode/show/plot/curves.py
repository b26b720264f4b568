"""Which part of a trajectory is drawn: a few bodies, not too many turns, and points close enough to look smooth."""

from __future__ import annotations

from math import ceil, pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.vectors import length

if TYPE_CHECKING:
    from polhode.integration.trajectory import Trajectory

MOST_BODIES = 3  # of a batch
TURNS = 30  # beyond that number, curves over time would be a blur
SMOOTH = 0.1  # radians between points
LEAST_POINTS, MOST_POINTS = 1000, 4000  # of a curve
MOST_REPEATED = 100_000  # steps, for the points in between


class Curves(NamedTuple):
    """Times (k,), m and omega (k, bodies, 3) in body axes, q (k, bodies, 4); ``note`` tells what is left out.

    ``coarse``: the points are too far apart for a line to tell what is between them.
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
        return self.body.select(self.body.batch, 0) if self.body.batch else self.body


def curves_of(traj: Trajectory) -> Curves:
    """The first few bodies and turns; points in between come from ``traj.sol``, which repeats steps, if it is there."""
    batch = traj.m.shape[1:-1]
    total = int(np.prod(batch))
    count = min(total, MOST_BODIES)
    body = traj.body.select(batch, np.unravel_index(np.arange(count), batch) if batch else ())
    t, m, q = traj.t, _rows(traj.m)[:, :count], _rows(traj.q)[:, :count]
    turned = _radians(body, t, m)
    notes = [f"first {count} of {total} bodies"] if count < total else []
    kept = 1 + int(np.searchsorted(turned, 2 * pi * TURNS))
    if kept < len(t):
        notes.append(f"first {TURNS} turns")
        t, m, q, turned = t[:kept], m[:kept], q[:kept], turned[:kept]
    sol = getattr(traj, "sol", None)
    points = min(MOST_POINTS, max(LEAST_POINTS, ceil(turned[-1] / SMOOTH)))
    coarse = turned[-1] > 2 * SMOOTH * len(t)
    repeated = points * total * _steps_between(traj)
    if len(t) < points and sol is not None and repeated <= MOST_REPEATED and np.isfinite(m).all():
        t = np.linspace(t[0], t[-1], points)
        m, q = (_rows(x)[:, :count] for x in sol(t))
        coarse = False
    return Curves(body, t, m, q, _omega(body, m), ", ".join(notes), coarse)


def _steps_between(traj: Trajectory) -> float:
    """How many steps lie between two states, on the average; 1 if the method chooses its steps."""
    steps = abs(traj.t[-1] - traj.t[0]) / (abs(traj.h) * max(1, len(traj.t) - 1))
    return max(1.0, float(steps)) if np.isfinite(steps) else 1.0


def _rows(array: FloatArray) -> FloatArray:
    """(k, bodies, components)"""
    return array.reshape(len(array), -1, array.shape[-1])


def _omega(body: RigidBody, m: FloatArray) -> FloatArray:
    return body.omega(np.nan_to_num(m)) + 0.0 * m  # NaN stays NaN


def _radians(body: RigidBody, t: FloatArray, m: FloatArray) -> FloatArray:
    """How far the fastest of the bodies has turned at each time, roughly, (k,)."""
    speed = length(body.omega(np.nan_to_num(m))).max(axis=1)
    return np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.abs(np.diff(t)))])
