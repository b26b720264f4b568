"""Transformation between the standard form of a body and the user's axes and units, and states in arrays.

Arrays have the principal axes in the user's order, and the user's units.
"""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import (
    Scale,
    attitude_from_order,
    attitude_to_order,
    from_order,
    quaternion_of,
    standard_body,
    to_order,
    vector_of,
)
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import IDENTITY, columns, image, largest, matrix_in, times
from polhode.kernels.stepping.header import row_of

SMALLEST_TURN = 2.0**-20  # radians in a step: bodies that are slower, or at rest, have the scale of this momentum


class UserFrame(NamedTuple):
    """Transformation from the standard form to the user's body axes and units."""

    order: int
    scale: Scale
    turned: bool  # whether the principal axes differ from the body axes (inertia tensors)
    axes: tuple[tuple[float, float, float], ...]  # the principal axes, as columns


@inline
def typical_momentum(I, m, h):
    """Return the size of momenta for which steps h of a body with moments I and momentum m are scaled."""
    return max(largest(m), SMALLEST_TURN * (min(I[0], I[1], I[2]) / abs(h)))


@inline
def principal_frame(I, m, h):
    """Return the frame of a body in principal axes, for steps h, and its moments I in the standard form."""
    order, scale, I_sorted = standard_body(I, typical_momentum(I, m, h))
    return UserFrame(order, scale, False, IDENTITY), I_sorted


@inline
def frame_in_axes(order, scale, axes, i):
    """Return the frame of body i with the principal axes in row i of an array; if that is empty, the body axes."""
    if axes.shape[0] == 0:
        return UserFrame(order, scale, False, IDENTITY)
    return UserFrame(order, scale, True, matrix_in(axes[row_of(axes, i)], 0))


@inline
def frame_of(bodies, m, h, i):
    """Return the frame of body i with momentum m for steps h, and its moments I in the standard form."""
    frame, I = principal_frame(vector_of(bodies.inertia, i), m, h)
    return frame_in_axes(frame.order, frame.scale, bodies.axes, i), I


@inline
def read_momentum(frame, m, i):
    """Return the momentum in row i of an array in the standard form."""
    return to_order(frame.order, times(frame.scale.per_m, vector_of(m, i)))


@inline
def read_attitude(frame, q, i):
    """Return the attitude in row i of an array in the standard form."""
    return attitude_to_order(frame.order, quaternion_of(q, i))


@inline
def write_state(frame, m, q, m_out, q_out, i):
    """Write a momentum and an attitude of the standard form to row i of two arrays."""
    m_out[i, 0], m_out[i, 1], m_out[i, 2] = from_order(frame.order, times(frame.scale.m, m))
    q_out[i, 0], q_out[i, 1], q_out[i, 2], q_out[i, 3] = attitude_from_order(frame.order, q)


@inline
def to_user(frame, x):
    """Return a vector of the standard form in the user's body axes."""
    x = from_order(frame.order, x)
    return image(frame.axes, x) if frame.turned else x


@inline
def from_user(frame, x):
    """Return a vector of the user's body axes in the standard form, the inverse of ``to_user``."""
    x = image(columns(frame.axes), x) if frame.turned else x
    return to_order(frame.order, x)


@inline
def user_matrix(frame, q):
    """Return the matrix Q of q from the user's body axes to space; q has the sorted axes of the standard form."""
    x, y, z = matrix(attitude_from_order(frame.order, q))
    if frame.turned:
        return image(frame.axes, x), image(frame.axes, y), image(frame.axes, z)
    return x, y, z
