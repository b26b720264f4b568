"""Transformation between the standard form of a body and the user's axes and units, and states in arrays.

Arrays have the principal axes in the user's order, and the user's units.
"""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import Scale, axis_order, from_order, quaternion_of, to_order, vector_of
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import columns, image, largest, times
from polhode.kernels.stepping.header import row_of

SMALLEST_TURN = 2.0**-20  # radians in a step: bodies that are slower, or at rest, have the scale of this momentum
SAME_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class UserFrame(NamedTuple):
    """Transformation from the standard form to the user's body axes and units."""

    order: int
    scale: Scale
    turned: bool  # whether the principal axes differ from the body axes (inertia tensors)
    axes: tuple[tuple[float, float, float], ...]  # the principal axes, as columns


@inline
def principal_frame(inertia, m, h, i):
    """Return the frame of body i in principal axes, for steps h, and its moments I in the standard form."""
    I = vector_of(inertia, i)
    least = min(I[0], I[1], I[2])
    slowest = SMALLEST_TURN * (least / abs(h))
    scale = Scale(*power_of_two(least), *power_of_two(max(largest(vector_of(m, i)), slowest)))
    order = axis_order(*I)
    I1, I2, I3 = to_order(order, *times(scale.per_I, I))
    return UserFrame(order, scale, False, SAME_AXES), (abs(I1), abs(I2), abs(I3))


@inline
def frame_of(bodies, m, h, i):
    """Return the frame of body i for steps h, and its moments I in the standard form."""
    frame, I = principal_frame(bodies.inertia, m, h, i)
    if bodies.axes.shape[0] == 0:
        return frame, I
    a = bodies.axes[row_of(bodies.axes, i)]
    axes = (
        (float(a[0]), float(a[1]), float(a[2])),
        (float(a[3]), float(a[4]), float(a[5])),
        (float(a[6]), float(a[7]), float(a[8])),
    )
    return UserFrame(frame.order, frame.scale, True, axes), I


@inline
def read_momentum(frame, m, i):
    """Return the momentum in row i of an array in the standard form."""
    return to_order(frame.order, *times(frame.scale.per_m, vector_of(m, i)))


@inline
def read_attitude(frame, q, i):
    """Return the attitude in row i of an array in the standard form."""
    q0, q1, q2, q3 = quaternion_of(q, i)
    return q0, *to_order(frame.order, q1, q2, q3)


@inline
def write_state(frame, m, q, m_out, q_out, i):
    """Write a momentum and an attitude of the standard form to row i of two arrays."""
    m_out[i, 0], m_out[i, 1], m_out[i, 2] = from_order(frame.order, *times(frame.scale.m, m))
    q_out[i, 0] = q[0]
    q_out[i, 1], q_out[i, 2], q_out[i, 3] = from_order(frame.order, q[1], q[2], q[3])


@inline
def to_user(frame, x):
    """Return a vector of the standard form in the user's body axes."""
    x = from_order(frame.order, *x)
    return image(frame.axes, x) if frame.turned else x


@inline
def from_user(frame, x):
    """Return a vector of the user's body axes in the standard form, the inverse of ``to_user``."""
    x = image(columns(frame.axes), x) if frame.turned else x
    return to_order(frame.order, *x)


@inline
def user_matrix(frame, q):
    """Return the matrix Q of q from the user's body axes to space; q has the sorted axes of the standard form."""
    q1, q2, q3 = from_order(frame.order, q[1], q[2], q[3])
    x, y, z = matrix((q[0], q1, q2, q3))
    if frame.turned:
        return image(frame.axes, x), image(frame.axes, y), image(frame.axes, z)
    return x, y, z
