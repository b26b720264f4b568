"""Size of a torque relative to the free motion, from samples along its beginning."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.forces.base import Force
from polhode.free.propagation import propagate
from polhode.integration.problem import Problem

RADIANS = 20.0  # rotation in the first part of the time span, in which schemes are compared
SAMPLES = 64


class Strength(NamedTuple):
    """Size of the torque relative to the free motion."""

    torque: float  # part of the momentum by which the torque changes it per radian
    radian: float  # time in which the body rotates by one radian


def measured(problem: Problem, span: tuple[float, float]) -> Strength:
    """Return the largest relative size of the torque, of all bodies, along the first radians of the free motion."""
    body, state, force = problem.body, problem.state, problem.force
    batch = problem.rows.batch
    speed = float(np.linalg.norm(body.omega(state.m), axis=-1).max())
    length = min(abs(span[1] - span[0]), RADIANS / speed if speed > 0 else inf)
    t = np.linspace(0.0, np.copysign(length, span[1] - span[0]), SAMPLES).reshape(-1, *(1,) * len(batch))
    m, q = propagate(body, state.m, state.q, t)
    w = body.omega(m)
    f = _sizes(force, span[0] + t, q, w)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(f / (np.linalg.norm(m, axis=-1) * np.linalg.norm(w, axis=-1)), nan=0.0, posinf=inf)
    fastest = max(float(np.linalg.norm(w, axis=-1).max()), float((f.max() / body.moments.min()) ** 0.5))
    return Strength(float(part.max()), 1.0 / fastest if fastest > 0 else length)


def _sizes(force: Force, t: FloatArray, q: FloatArray, w: FloatArray) -> FloatArray:
    """Return ``|f|`` at times t, or only at the first time if the torque raises.

    The run itself reports such an error where it occurs.
    """
    try:
        return np.nan_to_num(np.linalg.norm(force.torque(t, q, w), axis=-1), nan=0.0, posinf=0.0)
    except Exception:
        return _sizes(force, t[:1], q[:1], w[:1]) if len(t) > 1 else np.zeros(1)
