"""Array types for annotations, writable arrays for compiled code, and read-only ones for objects to keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def writable(array: npt.ArrayLike) -> FloatArray:
    """Return ``array`` as a writable float64 array in C order, copied only if necessary.

    Compiled functions are specialized for writable arrays.
    """
    return np.require(array, np.float64, ["C", "W"])


def frozen(array: FloatArray) -> FloatArray:
    """Return a read-only copy of an array in C order."""
    array = np.array(array, order="C")
    array.setflags(write=False)
    return array


def lengths(vectors: FloatArray) -> FloatArray:
    """Return the lengths (...) of vectors (..., n); ``numpy.linalg.norm`` takes several times as long for a few."""
    return np.asarray(np.sqrt(np.add.reduce(vectors * vectors, axis=-1)))
