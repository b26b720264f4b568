"""Linear damping: the torque -D w."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import are_matrices, as_floats, check_finite, first_bad, place, show, symmetric
from polhode.core.errors import InputError, ShapeError
from polhode.forces.base import ALWAYS_ZERO, Force

ROUNDING = 1e-12  # of the smallest eigenvalue of a semidefinite matrix, relative to its largest entry
AS_MATRICES = (
    "an array (..., 3, 3) is read as damping matrices; for several bodies, each with its own damping D[i] along the "
    "body axes, type np.asarray(D)[..., None, :] * np.eye(3)"
)
DRIVING = "a torque that drives the body is polhode.Torque(lambda t, Q, w, p: ...)"


def damping(D: npt.ArrayLike) -> Force:
    """Return linear damping, the torque -D w.

    Kicks of splitting methods integrate it exactly (Gustafsson 2010, (44)).

    Parameters
    ----------
    D : array_like, shape (), (..., 3) or (..., 3, 3)
        A number for all body axes; numbers along the body axes; or matrices in body axes, symmetric and positive
        semidefinite. An array of shape (..., 3, 3) is always read as matrices, like the inertia of `RigidBody`: for
        three bodies with damping D of shape (3, 3) along their axes, pass ``D[:, None, :] * np.eye(3)``.

    Returns
    -------
    Force
        The force; it has no energy.

    Raises
    ------
    InputError
        If a number is negative or not finite, or a matrix is not symmetric and positive semidefinite.
    ShapeError
        If `D` has another shape.

    Examples
    --------
    >>> damping((0.1, 0.1, 0.0)).torque(0.0, (1, 0, 0, 0), w=(1, 2, 3))
    array([-0.1, -0.2,  0. ])
    >>> damping([(2, 1, 0), (1, 2, 0), (0, 0, 0)]).torque(0.0, (1, 0, 0, 0), w=(1, 0, 0))
    array([-2., -1.,  0.])
    """
    values = as_floats(D, "D")
    matrices = damping_matrices(values, "D") if are_matrices(values) else diagonal_matrices(values, "D")
    return Force(ALWAYS_ZERO, damping=matrices, name="damping")


def diagonal_matrices(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return the damping matrices (..., 3, 3) of damping (..., 3) along the body axes, or of one number."""
    values: Any = as_floats(D, name)
    along = as_floats(np.full(3, values) if values.ndim == 0 else values, name, 3)
    good = np.asarray((np.isfinite(along) & (along >= 0)).all(axis=-1))
    if not good.all():
        index = first_bad(good)
        raise InputError(
            f"{place(name, index)} = {show(along[index])}: expected finite damping that is not negative; {DRIVING}"
        )
    return along[..., None, :] * np.eye(3)


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
