"""Types of arrays, as annotations name them, and what compiled code asks of arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def writable(array: npt.ArrayLike) -> FloatArray:
    """The same array, or a copy of a frozen one: the compiled type of parameters is that of arrays one can write to."""
    return np.require(array, np.float64, ["C", "W"])
