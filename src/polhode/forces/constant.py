"""Constant torque, in body or in space axes."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from polhode.forces.base import Force, in_space, joined, vector
from polhode.forces.functions import TORQUE_FORM, ready_made
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers.vectors import in_body
from polhode.kernels.stepping.header import TORQUE


@entry_point(TORQUE)
def body_torque(t, Q, w, p):
    """Return the torque p (3,), which is constant in body axes."""
    return p[0], p[1], p[2]


@entry_point(TORQUE)
def space_torque(t, Q, w, p):
    """Return the torque in body axes; p (3,) is the constant torque in space axes."""
    return in_body(Q, (p[0], p[1], p[2]))


IN_BODY, IN_SPACE = ready_made(TORQUE_FORM, body_torque), ready_made(TORQUE_FORM, space_torque)


def constant(torque: npt.ArrayLike, frame: Literal["body", "space"] = "body") -> Force:
    """Return a constant torque, in axes of the body (a thruster, for instance) or of space.

    Parameters
    ----------
    torque : array_like, shape (..., 3)
        The torque.
    frame : {"body", "space"}, optional
        Axes of the torque. The default is "body".

    Returns
    -------
    Force
        The force; it has no energy.

    Raises
    ------
    InputError
        If `torque` is not finite, or `frame` is not one of the two names.

    Examples
    --------
    >>> constant((1, 0, 0), frame="space").torque(0.0, (0, 0, 0, 1))
    array([-1.,  0.,  0.])
    """
    function = IN_SPACE if in_space(frame) else IN_BODY
    return Force(function, params=joined(torque=vector(torque, "torque")), name="constant")
