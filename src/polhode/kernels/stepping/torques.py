"""The torque on a body: calls of the user's function, with arguments in the user's axes and units."""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.stepping.damping import Damping, damping_of
from polhode.kernels.stepping.frame import UserFrame, frame_of, from_user, to_user, user_matrix
from polhode.kernels.stepping.header import FINE, NOT_FINITE, RAISED, call_torque, row_of


class KickConstants(NamedTuple):
    """Constants of a body for kicks: w = 1/I in the standard form, the damping, the frame."""

    w1: float
    w2: float
    w3: float
    damping: Damping
    low: float  # earliest time at which the torque is evaluated
    high: float  # latest time at which the torque is evaluated
    implicit: bool  # whether the torque depends on w: see ``implicit_kick``
    rate: float  # ratio of angular velocities in the user's units to those of the standard form
    frame: UserFrame


@inline
def torque_at(torque, params, frame, t, w1, w2, w3, q0, q1, q2, q3):
    """Return f1, f2, f3 and the status; f and w have the axes of the standard form, and the user's unit of time."""
    f, raised = call_torque(torque, (t, user_matrix(frame, q0, q1, q2, q3), to_user(frame, w1, w2, w3), params))
    f1, f2, f3 = from_user(frame, f[0], f[1], f[2])
    status = FINE if (f1 - f1) + (f2 - f2) + (f3 - f3) == 0.0 else NOT_FINITE
    status = RAISED if raised else status
    u = frame.scale.per_m
    return u * f1, u * f2, u * f3, status


@inline
def torque_on(torque, params, body, t, m1, m2, m3, q0, q1, q2, q3):
    """Return f1, f2, f3 and the status of ``torque_at`` for a body with momentum m, at a time from low to high."""
    w1, w2, w3 = body.rate * body.w1 * m1, body.rate * body.w2 * m2, body.rate * body.w3 * m3
    t = min(max(t, body.low), body.high)
    return torque_at(torque, params, body.frame, t, w1, w2, w3, q0, q1, q2, q3)


@inline
def body_of(inertia, axes, damping, low, high, implicit, m, h, i):
    """Return the Body of number i for steps h, and its moments I in the standard form."""
    frame, (I1, I2, I3) = frame_of(inertia, axes, m, h, i)
    scale = frame.scale
    w1, w2, w3 = 1.0 / I1, 1.0 / I2, 1.0 / I3
    resisting = damping_of(damping[row_of(damping, i)], frame.order, scale.per_I, w1, w2, w3)
    return KickConstants(w1, w2, w3, resisting, low, high, implicit, scale.m * scale.per_I, frame), (I1, I2, I3)
