"""A torque that does not change, in body or in space axes."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from polhode.forces.base import Force, in_space, numbers
from polhode.forces.functions import TORQUE_FORM, ReadyMade
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers.vectors import in_body
from polhode.kernels.stepping.header import TORQUE


@entry_point(TORQUE)
def body_torque(t, Q, w, p):
    return p[0], p[1], p[2]


@entry_point(TORQUE)
def space_torque(t, Q, w, p):
    return in_body(Q, (p[0], p[1], p[2]))


def constant(torque: npt.ArrayLike, frame: Literal["body", "space"] = "body") -> Force:
    """The same torque (..., 3) at all times, in axes of the body (a thruster) or of space. It has no energy.

    >>> constant((1, 0, 0), frame="space").torque(0.0, (0, 0, 0, 1))
    array([-1.,  0.,  0.])
    """
    kernel = space_torque if in_space(frame) else body_torque
    return Force(ReadyMade(TORQUE_FORM, kernel), params=numbers(torque, "torque", 3), name="constant")
