"""Uniform gravity on a body with a fixed point: V = (Q a).g, f = (Q^T g) x a, dV/dQ = g a^T."""

from __future__ import annotations

import numpy.typing as npt

from polhode.core.units import together
from polhode.core.vectors import stacked
from polhode.forces.base import Force, direction, joined, number, vector
from polhode.forces.functions import ENERGY, GRADIENT, all_ready_made
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers.vectors import cross, dot, in_body
from polhode.kernels.stepping.header import TORQUE


@entry_point(TORQUE)
def torque(t, Q, w, p):
    """Return f = (Q^T g) x a; p (6,) is g, in space axes, and a, in body axes."""
    return cross(in_body(Q, (p[0], p[1], p[2])), (p[3], p[4], p[5]))


@entry_point(ENERGY)
def energy(t, Q, p):
    """Return V = (Q a).g; p (6,) is g and a."""
    return dot(in_body(Q, (p[0], p[1], p[2])), (p[3], p[4], p[5]))


@entry_point(GRADIENT)
def gradient(t, Q, p):
    """Return dV/dQ = g a^T as three rows; p (6,) is g and a."""
    return (
        (p[0] * p[3], p[0] * p[4], p[0] * p[5]),
        (p[1] * p[3], p[1] * p[4], p[1] * p[5]),
        (p[2] * p[3], p[2] * p[4], p[2] * p[5]),
    )


FUNCTIONS = all_ready_made(torque, energy, gradient)


def gravity(weight: npt.ArrayLike, offset: npt.ArrayLike, up: npt.ArrayLike = (0.0, 0.0, 1.0)) -> Force:
    """Return the torque of uniform gravity, V = weight (Q offset).up, for instance on a heavy top.

    Parameters
    ----------
    weight : array_like, shape (...)
        Mass times gravitational acceleration.
    offset : array_like, shape (..., 3)
        Vector from the fixed point to the center of mass, in body axes.
    up : array_like, shape (..., 3), optional
        Direction opposite to gravity, in space axes; its length does not matter.

    Returns
    -------
    Force
        The force, with energy and gradient.

    Raises
    ------
    InputError
        If an argument is not finite, or `up` is zero.

    Examples
    --------
    >>> gravity(2.0, offset=(0, 0, 0.5)).torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([0.96, 0.  , 0.  ])
    """
    above = direction(up, "up")
    weight, offset = together(weight=weight, offset=offset).values()
    W = number(weight, "weight")
    return Force(
        *FUNCTIONS,
        params=joined(weight=[W * x for x in above], offset=vector(offset, "offset")),
        axis=stacked(*above) if type(above[0]) is float else None,
        name="gravity",
    )
