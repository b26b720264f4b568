"""Norms and unit vectors, without overflow or underflow."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import FloatArray


def length(v: FloatArray) -> FloatArray:
    """Return the norms |v|, shape (...), of vectors (..., n), computed without squares that could overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.hypot.reduce(v, axis=-1))


def unit(v: FloatArray) -> FloatArray:
    """Return the unit vectors v/|v|, shape (..., n), or 0 where ``v`` is 0."""
    size = length(v)[..., None]
    return v / np.where(size > 0, size, 1.0)


def scalar(value: FloatArray) -> float | FloatArray:
    """Return a zero-dimensional array as a float, and any other array unchanged."""
    return float(value) if np.ndim(value) == 0 else value
