"""Damping matrices of forces, from numbers along the body axes or from matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import all_finite, are_matrices, as_floats, check_finite, first_bad, place, show, symmetric
from polhode.core.errors import InputError, ShapeError
from polhode.core.rotation import UNIT_MATRIX

ROUNDING = 1e-12  # of the smallest eigenvalue of a semidefinite matrix, relative to its largest entry
ALL_AXES = np.ones(3)
AS_MATRICES = (
    "an array (..., 3, 3) is read as damping matrices; for several bodies, each with its own damping D[i] along the "
    "body axes, type np.asarray(D)[..., None, :] * np.eye(3)"
)
DRIVING = "a torque that drives the body is polhode.Torque(lambda t, Q, w, p: ...)"


def as_damping(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return the damping matrices (..., 3, 3) of a number, of damping (..., 3) along the body axes, or of matrices."""
    values = as_floats(D, name)
    return damping_matrices(values, name) if are_matrices(values) else diagonal_matrices(values, name)


def diagonal_matrices(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return the damping matrices (..., 3, 3) of damping (..., 3) along the body axes, or of one number."""
    values: Any = as_floats(D, name)
    along = values * ALL_AXES if values.ndim == 0 else as_floats(values, name, 3)
    if not all_finite(along) or np.count_nonzero(along < 0):
        index = first_bad(np.asarray((np.isfinite(along) & (along >= 0)).all(axis=-1)))
        raise InputError(
            f"{place(name, index)} = {show(along[index])}: expected finite damping that is not negative; {DRIVING}"
        )
    return along[..., None, :] * UNIT_MATRIX


def damping_matrices(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return matrices (..., 3, 3); raise InputError unless they are symmetric and positive semidefinite."""
    values = as_floats(D, name)
    if not are_matrices(values):
        raise ShapeError(f"{name} has shape {values.shape}; expected matrices (..., 3, 3)")
    check_finite(values, name, InputError)
    matrices = symmetric(values, name, InputError, AS_MATRICES)
    eigenvalues = np.linalg.eigvalsh(matrices)
    good = np.asarray(eigenvalues[..., 0] >= -ROUNDING * np.abs(matrices).max(axis=(-2, -1)))
    if not good.all():
        index = first_bad(good)
        raise InputError(
            f"{place(name, index)} has the eigenvalues {show(eigenvalues[index])}: expected a positive semidefinite "
            f"damping matrix; {AS_MATRICES}; {DRIVING}"
        )
    return matrices
