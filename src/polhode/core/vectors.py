"""Components of vectors, and norms and unit vectors without overflow or underflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray


def components(v: FloatArray) -> Any:
    """Return the components of vectors (..., n): n floats of one vector, which are faster, or n arrays (...)."""
    return v.tolist() if v.ndim == 1 else np.moveaxis(v, -1, 0)


def stacked(*parts: Any) -> FloatArray:
    """Return components, numbers or arrays (...), as an array (..., n)."""
    return np.array(parts) if isinstance(parts[0], float) else np.stack(parts, axis=-1)


def length(v: FloatArray) -> FloatArray:
    """Return the norms |v|, shape (...), of vectors (..., n), computed without squares that could overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(np.hypot.reduce(v, axis=-1))


def unit(v: FloatArray) -> FloatArray:
    """Return the unit vectors v/|v|, shape (..., n), or 0 where ``v`` is 0."""
    size = length(v)
    if v.ndim == 1:
        number = float(size)  # faster than an array without axes
        return v / (number if number > 0 else 1.0)
    return v / np.where(size > 0, size, 1.0)[..., None]


def scalar(value: FloatArray) -> float | FloatArray:
    """Return a zero-dimensional array as a float, and any other array unchanged."""
    return float(value) if np.ndim(value) == 0 else value
