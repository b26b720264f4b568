"""Transformation between the standard form of a body and the user's axes and units."""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import Scale, axis_order, from_order, to_order
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.stepping.header import row_of

SMALLEST_TURN = 2.0**-20  # radians in a step: bodies that are slower, or at rest, have the scale of this momentum


class UserFrame(NamedTuple):
    """Transformation from the standard form to the user's body axes and units."""

    order: int
    scale: Scale
    turned: bool  # whether the principal axes, columns of a, differ from the body axes (inertia tensors)
    a11: float
    a12: float
    a13: float
    a21: float
    a22: float
    a23: float
    a31: float
    a32: float
    a33: float


@inline
def to_user(frame, x1, x2, x3):
    """Return a vector of the standard form in the user's body axes."""
    x1, x2, x3 = from_order(frame.order, x1, x2, x3)
    if frame.turned:
        return to_user_row(frame, (x1, x2, x3))
    return x1, x2, x3


@inline
def from_user(frame, x1, x2, x3):
    """Return a vector of the user's body axes in the standard form, the inverse of ``to_user``."""
    if frame.turned:
        x1, x2, x3 = (
            frame.a11 * x1 + frame.a21 * x2 + frame.a31 * x3,
            frame.a12 * x1 + frame.a22 * x2 + frame.a32 * x3,
            frame.a13 * x1 + frame.a23 * x2 + frame.a33 * x3,
        )
    return to_order(frame.order, x1, x2, x3)


@inline
def user_matrix(frame, q0, q1, q2, q3):
    """Return the matrix Q of q from the user's body axes to space; q has the sorted axes of the standard form."""
    q1, q2, q3 = from_order(frame.order, q1, q2, q3)
    x, y, z = matrix(q0, q1, q2, q3)
    if frame.turned:
        return to_user_row(frame, x), to_user_row(frame, y), to_user_row(frame, z)
    return x, y, z


@inline
def to_user_row(frame, x):
    """Return a row of Q A^T, for a row x of Q and the principal axes A."""
    return (
        frame.a11 * x[0] + frame.a12 * x[1] + frame.a13 * x[2],
        frame.a21 * x[0] + frame.a22 * x[1] + frame.a23 * x[2],
        frame.a31 * x[0] + frame.a32 * x[1] + frame.a33 * x[2],
    )


@inline
def frame_of(inertia, axes, m, h, i):
    """Return the Frame of body i for steps h, and its moments I in the standard form."""
    a, b = row_of(inertia, i), row_of(axes, i)
    I1, I2, I3 = float(inertia[a, 0]), float(inertia[a, 1]), float(inertia[a, 2])
    least = min(I1, I2, I3)
    largest = max(abs(float(m[i, 0])), abs(float(m[i, 1])), abs(float(m[i, 2])))
    scale = Scale(*power_of_two(least), *power_of_two(max(largest, SMALLEST_TURN * (least / abs(h)))))
    order = axis_order(I1, I2, I3)
    moments = to_order(order, I1 * scale.per_I, I2 * scale.per_I, I3 * scale.per_I)
    turned = axes.shape[0] > 0
    if turned:
        frame = UserFrame(
            order, scale, True,
            float(axes[b, 0]), float(axes[b, 1]), float(axes[b, 2]),
            float(axes[b, 3]), float(axes[b, 4]), float(axes[b, 5]),
            float(axes[b, 6]), float(axes[b, 7]), float(axes[b, 8]),
        )  # fmt: skip
    else:
        frame = UserFrame(order, scale, False, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    return frame, (abs(moments[0]), abs(moments[1]), abs(moments[2]))
