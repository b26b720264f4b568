"""Time scales of a torque, from samples of the whole time span, before any step size is chosen.

A method evaluates a torque only at its stages: it misses a pulse between two of them, and so does its error estimate.
Therefore user-defined torques that depend on t explicitly are sampled over the whole time span, at two fixed attitudes
and angular velocities. The samples are analyzed by ``kernels.stepping.time_structure``.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import BoolArray, FloatArray, writable
from polhode.forces.base import Force
from polhode.kernels.stepping.time_structure import NOISE, analyze

CELLS = 2039  # intervals of the span; a prime number, so that no period that divides the span evenly is missed
ATTITUDES = np.array([[0.74, 0.31, -0.42, 0.43], [0.35, -0.64, 0.22, 0.65]])
RADIANS = np.array([[0.5, -0.7, 0.6], [70.0, 50.0, -60.0]])  # angular velocities times the length of the span
DIRECTION = np.array([0.54, 0.29, 0.79])  # direction of the component of the torque that is analyzed
SMOOTH, SHARP, HIDDEN = 3.0, 2.0, 0.25  # steps, in spacings; Adaptive has 12 stages in a step
AT_ONCE = 2**14  # samples in one block


class TimeStructure(NamedTuple):
    """Time structure of the torques with each row of parameters; all arrays have the shape (rows,)."""

    longest: FloatArray  # longest steps that skip no feature; infinite if the torque does not change in time
    rough: BoolArray  # whether the torque jumps, has kinks, or changes faster than the samples
    hidden: BoolArray  # whether it has features of a single sample, whose length is unknown


def time_structure(force: Force, params: FloatArray, span: tuple[float, float]) -> TimeStructure:
    """Sample the torques with parameters (rows, k) over the span, and return their time structure.

    Forces of the library are not sampled: they are known to be smooth.
    """
    rows = len(params)
    if rows == 0 or force.is_ready_made or not force.time_dependent:
        return TimeStructure(np.full(rows, inf), np.zeros(rows, bool), np.zeros(rows, bool))
    t = np.linspace(*span, CELLS + 1)
    block = max(1, AT_ONCE // (2 * len(t)))
    parts = [_of_block(force, t, params[i : i + block]) for i in range(0, rows, block)]
    return TimeStructure(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_block(force: Force, t: FloatArray, params: FloatArray) -> TimeStructure:
    """Return the time structure for parameters (rows, k), from samples at times t."""
    rows = len(params)
    try:
        f = _torques(force, t, params)
    except Exception:  # raised by the function of the user; the run reports it where it occurs
        return unknown_structure(t, rows)
    return structure_of(f, t, force.breaks, rows)


def unknown_structure(t: FloatArray, rows: int) -> TimeStructure:
    """Return the time structure of functions that cannot be sampled at times t."""
    cell = abs(t[-1] - t[0]) / (len(t) - 1)
    return TimeStructure(np.full(rows, 2 * cell), np.ones(rows, bool), np.zeros(rows, bool))


def structure_of(f: FloatArray, t: FloatArray, breaks: FloatArray, rows: int) -> TimeStructure:
    """Return the time structure of `rows` functions, from two rows of samples (2 rows, T) of each at times t."""
    cell = abs(t[-1] - t[0]) / (len(t) - 1)
    size = np.abs(f).max(axis=-1, keepdims=True)
    f = f / np.where(size > 0, size, 1.0)
    spacing, rough = np.empty((2, 2 * rows), np.int64)
    piece = np.searchsorted(breaks, t)
    analyze((f, piece, np.empty((2, len(t))), spacing, rough))
    finest = spacing.reshape(2, rows).min(axis=0)
    is_rough = rough.reshape(2, rows).max(axis=0) > 0
    longest = cell * np.where(finest == 1, HIDDEN, finest * np.where(is_rough, SHARP, SMOOTH))
    changes = (np.ptp(f, axis=-1) > NOISE).reshape(2, rows).any(axis=0)
    return TimeStructure(np.where(changes, longest, inf), is_rough, finest == 1)


def _torques(force: Force, t: FloatArray, params: FloatArray) -> FloatArray:
    """Return a component of the torque at two states, with parameters (rows, k), at times (T,): shape (2 rows, T)."""
    rows = len(params)
    w = RADIANS / abs(t[-1] - t[0])
    states = (np.repeat(x, rows * len(t), axis=0) for x in (ATTITUDES, w))
    params_rows = writable(np.tile(np.repeat(params, len(t), axis=0), (2, 1)))
    out = np.empty((2 * rows * len(t), 3))
    force.evaluate_torques((t, *states, params_rows, out))
    return np.nan_to_num(out @ DIRECTION, nan=0.0, posinf=0.0, neginf=0.0).reshape(2 * rows, len(t))
