"""Linear damping: the torque -D w."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import are_matrices, as_floats, check_finite, first_bad, place, show, symmetric
from polhode.core.errors import InputError, ShapeError
from polhode.forces.base import ALWAYS_ZERO, Force

ROUNDING = 1e-12  # of the least eigenvalue of a semidefinite matrix, relative to its largest entry
AS_MATRICES = (
    "an array (..., 3, 3) is read as damping matrices; for several bodies, each with its own damping D[i] along the "
    "body axes, type np.asarray(D)[..., None, :] * np.eye(3)"
)
DRIVING = "a torque that drives the body is polhode.Torque(lambda t, Q, w, p: ...)"


def damping(D: npt.ArrayLike) -> Force:
    """Return the torque -D w, which kicks of splitting methods treat exactly (Gustafsson 2010, (44)).

    Parameters
    ----------
    D : array_like
        A number for all body axes; numbers (..., 3) along the body axes; or matrices (..., 3, 3) in body axes,
        symmetric and positive semidefinite. An array of shape (..., 3, 3) is always read as matrices, as the inertia of
        ``RigidBody`` is: three bodies with damping D (3, 3) along their axes are ``D[:, None, :] * np.eye(3)``.

    Examples
    --------
    >>> damping((0.1, 0.1, 0.0)).torque(0.0, (1, 0, 0, 0), w=(1, 2, 3))
    array([-0.1, -0.2,  0. ])
    >>> damping([(2, 1, 0), (1, 2, 0), (0, 0, 0)]).torque(0.0, (1, 0, 0, 0), w=(1, 0, 0))
    array([-2., -1.,  0.])
    """
    given = as_floats(D, "D")
    matrices = damping_matrices(given, "D") if are_matrices(given) else diagonal_matrices(given, "D")
    return Force(ALWAYS_ZERO, damping=matrices, name="damping")


def diagonal_matrices(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return the damping matrices (..., 3, 3) of damping (..., 3) along the body axes, or of one number."""
    given: Any = as_floats(D, name)
    along = as_floats(np.full(3, given) if given.ndim == 0 else given, name, 3)
    good = np.asarray((np.isfinite(along) & (along >= 0)).all(axis=-1))
    if not good.all():
        index = first_bad(good)
        raise InputError(
            f"{place(name, index)} = {show(along[index])}: damping must be finite and not negative; {DRIVING}"
        )
    return along[..., None, :] * np.eye(3)


def damping_matrices(D: npt.ArrayLike, name: str) -> FloatArray:
    """Return matrices (..., 3, 3) that are symmetric and positive semidefinite, or raise an InputError."""
    given = as_floats(D, name)
    if not are_matrices(given):
        raise ShapeError(f"{name} has shape {given.shape}; expected matrices (..., 3, 3)")
    check_finite(given, name, InputError)
    matrices = symmetric(given, name, InputError, AS_MATRICES)
    eigenvalues = np.linalg.eigvalsh(matrices)
    good = np.asarray(eigenvalues[..., 0] >= -ROUNDING * np.abs(matrices).max(axis=(-2, -1)))
    if not good.all():
        index = first_bad(good)
        raise InputError(
            f"{place(name, index)} has the eigenvalues {show(eigenvalues[index])}: a damping matrix must be positive "
            f"semidefinite; {AS_MATRICES}; {DRIVING}"
        )
    return matrices
