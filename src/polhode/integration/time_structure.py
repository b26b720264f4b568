"""How finely a torque has to be looked at in time: samples of the whole span, before any step is trusted.

A method sees a torque only at its stages: a pulse between two of them does not exist for it, nor for its estimate of
errors. Therefore torques of users that depend on t explicitly are sampled over the whole time span, at two fixed
attitudes and angular velocities; ``kernels.stepping.time_structure`` has what is made of the samples.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import BoolArray, FloatArray, writable
from polhode.forces import functions
from polhode.forces.base import Force
from polhode.kernels.stepping.time_structure import NOISE, analyze

CELLS = 2039  # of the span; a prime number, so that no period of a round part of the span hides
ATTITUDES = np.array([[0.74, 0.31, -0.42, 0.43], [0.35, -0.64, 0.22, 0.65]])
RADIANS = np.array([[0.5, -0.7, 0.6], [70.0, 50.0, -60.0]])  # in the time span: the angular velocities at them
DIRECTION = np.array([0.54, 0.29, 0.79])  # of the component of the torque that is looked at
SMOOTH, SHARP, HIDDEN = 3.0, 2.0, 0.25  # steps, in spacings; Adaptive looks at 12 times in a step
AT_ONCE = 2**14  # samples


class TimeStructure(NamedTuple):
    """What samples say about the torques with each row of parameters."""

    longest: FloatArray  # (rows,), steps that pass over nothing; infinite if the torque does not change in time
    rough: BoolArray  # (rows,), whether the torque jumps, has kinks, or changes faster than the samples
    hidden: BoolArray  # (rows,), whether it has features of a single sample, the length of which is not known


def time_structure(force: Force, params: FloatArray, span: tuple[float, float]) -> TimeStructure:
    """Look at the torques with parameters (rows, k), all over the span; ready-made forces are known to be smooth."""
    rows = len(params)
    if rows == 0 or force.is_ready_made or not force.time_dependent:
        return TimeStructure(np.full(rows, inf), np.zeros(rows, bool), np.zeros(rows, bool))
    t = np.linspace(*span, CELLS + 1)
    block = max(1, AT_ONCE // (2 * len(t)))
    parts = [_of_block(force, t, params[i : i + block]) for i in range(0, rows, block)]
    return TimeStructure(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_block(force: Force, t: FloatArray, params: FloatArray) -> TimeStructure:
    cell, rows = abs(t[-1] - t[0]) / CELLS, len(params)
    try:
        f = _torques(force, t, params)
    except Exception:  # of the user's function; the run will come to where it fails, and tell
        return TimeStructure(np.full(rows, 2 * cell), np.ones(rows, bool), np.zeros(rows, bool))
    size = np.abs(f).max(axis=-1, keepdims=True)
    f /= np.where(size > 0, size, 1.0)
    spacing, rough = np.empty((2, 2 * rows), np.int64)
    piece = np.searchsorted(force.breaks, t)
    analyze((f, piece, np.empty((2, len(t))), spacing, rough))
    finest = spacing.reshape(2, rows).min(axis=0)
    is_rough = rough.reshape(2, rows).max(axis=0) > 0
    longest = cell * np.where(finest == 1, HIDDEN, finest * np.where(is_rough, SHARP, SMOOTH))
    changes = (np.ptp(f, axis=-1) > NOISE).reshape(2, rows).any(axis=0)
    return TimeStructure(np.where(changes, longest, inf), is_rough, finest == 1)


def _torques(force: Force, t: FloatArray, params: FloatArray) -> FloatArray:
    """A component of the torque at two states, with parameters (rows, k), at times (T,): (2 rows, T)."""
    rows, w = len(params), RADIANS / abs(t[-1] - t[0])
    states = (np.repeat(x, rows * len(t), axis=0) for x in (ATTITUDES, w))
    own = writable(np.tile(np.repeat(params, len(t), axis=0), (2, 1)))
    out = np.empty((2 * rows * len(t), 3))
    functions.torques(force.torque_function(), (t, *states, own, out))
    return np.nan_to_num(out @ DIRECTION, nan=0.0, posinf=0.0, neginf=0.0).reshape(2 * rows, len(t))
