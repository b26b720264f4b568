"""Spring that pulls a body towards an attitude A: V = k (3 - tr(A^T Q))/2, f = (k/2) rot(Q^T A), dV/dQ = -(k/2) A."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from polhode.core.checks import IDENTITY
from polhode.core.rotation import as_quaternion, matrix
from polhode.core.vectors import components
from polhode.forces.base import Force, joined, number
from polhode.forces.functions import ENERGY, GRADIENT, all_ready_made
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.vectors import dot
from polhode.kernels.stepping.header import TORQUE


@inline
def product_entry(Q, p, i, j):
    """Return (Q^T A)_ij; p (10,) is the stiffness and the nine entries of A."""
    return Q[0][i] * p[1 + j] + Q[1][i] * p[4 + j] + Q[2][i] * p[7 + j]


@entry_point(TORQUE)
def torque(t, Q, w, p):
    """Return f = (k/2) rot(Q^T A); p (10,) is k and A."""
    k = 0.5 * p[0]
    return (
        k * (product_entry(Q, p, 2, 1) - product_entry(Q, p, 1, 2)),
        k * (product_entry(Q, p, 0, 2) - product_entry(Q, p, 2, 0)),
        k * (product_entry(Q, p, 1, 0) - product_entry(Q, p, 0, 1)),
    )


@entry_point(ENERGY)
def energy(t, Q, p):
    """Return V = k (3 - tr(A^T Q))/2; p (10,) is k and A."""
    trace = dot(Q[0], (p[1], p[2], p[3])) + dot(Q[1], (p[4], p[5], p[6])) + dot(Q[2], (p[7], p[8], p[9]))
    return 0.5 * p[0] * (3.0 - trace)


@entry_point(GRADIENT)
def gradient(t, Q, p):
    """Return dV/dQ = -(k/2) A as three rows; p (10,) is k and A."""
    k = -0.5 * p[0]
    return (k * p[1], k * p[2], k * p[3]), (k * p[4], k * p[5], k * p[6]), (k * p[7], k * p[8], k * p[9])


FUNCTIONS = all_ready_made(torque, energy, gradient)


def spring(stiffness: npt.ArrayLike, attitude: Any = IDENTITY) -> Force:
    """Return the torque of a spring that pulls the body towards an attitude.

    The energy is V = stiffness (1 - cos angle), with the angle between the attitude of the body and `attitude`.

    Parameters
    ----------
    stiffness : array_like, shape (...)
        Torque per radian, for small angles; the torque is stiffness sin(angle).
    attitude : array_like, shape (..., 4), or Rotation, optional
        Attitude at rest, a unit quaternion or a SciPy Rotation. The default is the identity.

    Returns
    -------
    Force
        The force, with energy and gradient.

    Raises
    ------
    InputError
        If `stiffness` is not finite, or `attitude` is not a unit quaternion.

    Examples
    --------
    >>> spring(2.0).torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([-1.92,  0.  ,  0.  ])
    """
    A = matrix(as_quaternion(attitude, "attitude"))
    return Force(
        *FUNCTIONS,
        params=joined(stiffness=[number(stiffness, "stiffness")], attitude=components(A.reshape(*A.shape[:-2], 9))),
        name="spring",
    )
