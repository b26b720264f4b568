"""Array types for annotations, writable arrays for compiled code, and read-only ones for objects to keep."""

from __future__ import annotations

from typing import Any

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
    array.flags.writeable = False
    return array


class ReadOnlyArrays:
    """Base class of objects whose arrays are read-only, also in copies: NumPy forgets it when it pickles or copies."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes of a copy."""
        vars(self).update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
