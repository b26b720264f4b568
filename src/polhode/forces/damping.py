"""Linear damping: the torque -D w."""

from __future__ import annotations

import numpy.typing as npt

from polhode.forces.base import ALWAYS_ZERO, Force
from polhode.forces.matrices import as_damping


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
    return Force(ALWAYS_ZERO, damping=as_damping(D, "D"), name="damping")
