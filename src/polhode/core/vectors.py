"""Lengths and directions at any scale."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import FloatArray


def length(v: FloatArray) -> FloatArray:
    """|v| (...) of (..., n); no square is formed that could overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.hypot.reduce(v, axis=-1))


def unit(v: FloatArray) -> FloatArray:
    """v/|v|, or 0 for 0."""
    size = length(v)[..., None]
    return v / np.where(size > 0, size, 1.0)


def scalar(value: FloatArray) -> float | FloatArray:
    """A float instead of an array without axes."""
    return float(value) if np.ndim(value) == 0 else value
