"""The torque on a body: calls of the user's function, with arguments in the user's axes and units."""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.vectors import by_components, times
from polhode.kernels.stepping.damping import Damping, damping_of
from polhode.kernels.stepping.frame import UserFrame, frame_of, from_user, to_user, user_matrix
from polhode.kernels.stepping.header import FINE, NOT_FINITE, RAISED, call_torque, row_of


class Body(NamedTuple):
    """Constants of a body in the standard form, its damping, its frame, and its torque."""

    torque: int  # address
    params: object  # array
    limits: tuple[float, float]  # earliest and latest time at which the torque is evaluated
    per_I: tuple[float, float, float]  # 1/I
    rate: float  # ratio of angular velocities in the user's units to those of the standard form
    damping: Damping
    frame: UserFrame


@inline
def torque_at(torque, params, frame, t, w, q):
    """Return f and the status; f and w have the axes of the standard form, and the user's unit of time."""
    f, raised = call_torque(torque, (t, user_matrix(frame, q), to_user(frame, w), params))
    f = from_user(frame, f)
    status = FINE if (f[0] - f[0]) + (f[1] - f[1]) + (f[2] - f[2]) == 0.0 else NOT_FINITE
    return times(frame.scale.per_m, f), RAISED if raised else status


@inline
def torque_on(body, t, m, q):
    """Return f and the status of ``torque_at`` for a body with momentum m, at a time within its limits."""
    w = by_components(times(body.rate, body.per_I), m)
    low, high = body.limits
    t = min(max(t, low), high)
    return torque_at(body.torque, body.params, body.frame, t, w, q)


@inline
def body_in_frame(torque, bodies, limits, frame, I, i):
    """Return the constants of body i with the moments I of the standard form."""
    per_I = 1.0 / I[0], 1.0 / I[1], 1.0 / I[2]
    scale = frame.scale
    damping = damping_of(bodies.damping, frame.order, scale.per_I, per_I, i)
    params = bodies.params[row_of(bodies.params, i)]
    return Body(torque, params, limits, per_I, scale.m * scale.per_I, damping, frame)


@inline
def body_of(torque, bodies, limits, m, h, i):
    """Return the constants of body i with momentum m for steps h, whose torque is evaluated within the ``limits``."""
    frame, I = frame_of(bodies, m, h, i)
    return body_in_frame(torque, bodies, limits, frame, I, i)
