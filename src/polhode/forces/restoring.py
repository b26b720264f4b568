"""Righting torque of a vessel: V = W (GM_L u1^2 + GM_T u2^2)/2, f = u x (W GM_L u1, W GM_T u2, 0), u = Q^T e3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import frozen
from polhode.core.units import together
from polhode.forces.base import Force, joined, number
from polhode.forces.functions import ENERGY, GRADIENT, all_ready_made
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.stepping.header import TORQUE


@entry_point(TORQUE)
def torque(t, Q, w, p):
    """Return f = u x (p1 u1, p2 u2, 0); p (2,) is W GM_L and W GM_T."""
    u1, u2, u3 = Q[2]
    a, b = p[0] * u1, p[1] * u2
    return -u3 * b, u3 * a, u1 * b - u2 * a


@entry_point(ENERGY)
def energy(t, Q, p):
    """Return V = (p1 u1^2 + p2 u2^2)/2; p (2,) is W GM_L and W GM_T."""
    u1, u2 = Q[2][0], Q[2][1]
    return 0.5 * (p[0] * u1 * u1 + p[1] * u2 * u2)


@entry_point(GRADIENT)
def gradient(t, Q, p):
    """Return dV/dQ as three rows; p (2,) is W GM_L and W GM_T."""
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (p[0] * Q[2][0], p[1] * Q[2][1], 0.0)


FUNCTIONS = all_ready_made(torque, energy, gradient)
UP = frozen(np.array([0.0, 0.0, 1.0]))


def restoring(weight: npt.ArrayLike, longitudinal: npt.ArrayLike, transverse: npt.ArrayLike) -> Force:
    """Return the righting torque of a floating vessel, for small inclinations.

    The bow points along body axis 1, the mast along body axis 3, and e3 is up.

    Parameters
    ----------
    weight : array_like, shape (...)
        Mass times gravitational acceleration.
    longitudinal, transverse : array_like, shape (...)
        Metacentric heights, against pitch and against roll. A vessel with a negative height capsizes.

    Returns
    -------
    Force
        The force, with energy and gradient.

    Raises
    ------
    InputError
        If an argument is not finite.

    Examples
    --------
    >>> restoring(10.0, longitudinal=3.0, transverse=1.0).torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([-2.688,  0.   ,  0.   ])
    """
    weight, longitudinal, transverse = together(
        weight=weight, longitudinal=longitudinal, transverse=transverse
    ).values()
    W = number(weight, "weight")
    return Force(
        *FUNCTIONS,
        params=joined(
            longitudinal=[W * number(longitudinal, "longitudinal")], transverse=[W * number(transverse, "transverse")]
        ),
        axis=UP,
        name="restoring",
    )
