"""The standard form of bodies, and the exact flow of bodies in any scale and order of axes.

Kernels take numbers in one scale and order. The flow depends on I/I_ref, m/m_ref and t m_ref/I_ref only, so powers of
two bring every body to the same scale without a rounding error, and a sorted, proper permutation of the axes to the
same order.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import LONGEST, MOST_RADIANS, NOBODY, NORM_TOLERANCE
from polhode.kernels.exact.euler import body_constants, step
from polhode.kernels.numbers.vectors import largest, times

INPUT = "Array(f8, 2, 'C', readonly=True)"
TIMES = "Array(f8, 1, 'C', readonly=True)"
MATRICES = "Array(f8, 3, 'C', readonly=True)"


@inline
def axis_order(I):
    """Return the number of the permutation that sorts the moments; see ``to_order``."""
    I1, I2, I3 = I
    if I1 <= I2:
        if I2 <= I3:
            return 0
        return 2 if I1 <= I3 else 5
    if I1 <= I3:
        return 1
    return 4 if I2 <= I3 else 3


@inline
def to_order(order, x):
    """Return the vector x in sorted axes.

    Odd permutations are made rotations by a minus sign.
    """
    x1, x2, x3 = x
    if order == 0:
        return x
    if order == 1:
        return -x2, -x1, -x3
    if order == 2:
        return -x1, -x3, -x2
    if order == 3:
        return -x3, -x2, -x1
    if order == 4:
        return x2, x3, x1
    return x3, x1, x2


@inline
def from_order(order, x):
    """Return the vector x, given in sorted axes, in the user's axes.

    Transpositions are their own inverses, and the two cycles are inverses of each other.
    """
    inverse = 9 - order if order >= 4 else order
    return to_order(inverse, x)


@inline
def attitude_to_order(order, q):
    """Return the quaternion q in sorted axes."""
    return q[0], *to_order(order, q[1:])


@inline
def attitude_from_order(order, q):
    """Return the quaternion q, given in sorted axes, in the user's axes."""
    return q[0], *from_order(order, q[1:])


class Scale(NamedTuple):
    """Powers of two by which moments and momenta were divided, and their reciprocals."""

    I: float
    per_I: float
    m: float
    per_m: float


@inline
def standard_body(I, largest_m):
    """Return (order, scale, I) with 1 <= I1 < 2, I1 <= I2 <= I3, for momenta up to ``largest_m``."""
    scale = Scale(*power_of_two(min(I[0], I[1], I[2])), *power_of_two(largest_m))
    order = axis_order(I)
    I1, I2, I3 = to_order(order, times(scale.per_I, I))
    return order, scale, (abs(I1), abs(I2), abs(I3))


@inline
def standard_form(I, m):
    """Return (order, scale, I, m) with 1 <= I1 < 2, I1 <= I2 <= I3, 1 <= max|m_i| < 2.

    The conversion is exact.
    """
    order, scale, I = standard_body(I, largest(m))
    return order, scale, I, to_order(order, times(scale.per_m, m))


@inline
def times_both(t, a, b):
    """Return t a b, in an order in which no partial product overflows or underflows on its own."""
    small, large = min(a, b), max(a, b)
    return t * small * large if abs(t) >= 1.0 else t * large * small


@inline
def to_standard_time(t, scale):
    """Return the time t in the scale of the standard form."""
    return times_both(t, scale.m, scale.per_I)


@inline
def from_standard_time(t, scale):
    """Return the time t, given in the scale of the standard form, in the user's unit."""
    return times_both(t, scale.per_m, scale.I)


@inline
def flow(I, m, q, t):
    """Return (m, q) of one body after a time t by the exact flow, in any scale and any order of axes.

    All numbers are NaN if the time is longer than LONGEST in the standard form.
    """
    order, scale, I, m = standard_form(I, m)
    body = body_constants(I)
    h = to_standard_time(t, scale)
    if not abs(h) <= LONGEST:
        return (nan, nan, nan), (nan, nan, nan, nan)
    m, q = step(body, m, attitude_to_order(order, q), h)
    return from_order(order, times(scale.m, m)), attitude_from_order(order, q)


@inline
def operands(inertia, m, q, t, i):
    """Return I, m, q, t of body i."""
    return vector_of(inertia, i), vector_of(m, i), quaternion_of(q, i), float(t[i if t.shape[0] > 1 else 0])


@inline
def vector_of(rows, i):
    """Return the vector of body i, a row of an array (n or 1, 3); a single row serves all bodies.

    Its components are floats, because NumPy's numbers warn of overflow in uncompiled code.
    """
    k = i if rows.shape[0] > 1 else 0
    return float(rows[k, 0]), float(rows[k, 1]), float(rows[k, 2])


@inline
def quaternion_of(rows, i):
    """Return the quaternion of body i, a row of an array (n or 1, 4), as ``vector_of``."""
    k = i if rows.shape[0] > 1 else 0
    return float(rows[k, 0]), float(rows[k, 1]), float(rows[k, 2]), float(rows[k, 3])


@inline
def is_valid(I, m, q, t):
    """Return whether all numbers are finite, the moments positive, and q a unit quaternion."""
    I1, I2, I3 = I
    m1, m2, m3 = m
    q0, q1, q2, q3 = q
    finite = isfinite(I1) and isfinite(I2) and isfinite(I3) and isfinite(m1) and isfinite(m2) and isfinite(m3)
    qq = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3
    return finite and isfinite(t) and min(I1, I2, I3) > 0.0 and abs(qq - 1.0) <= 2.0 * NORM_TOLERANCE


PROPAGATE_ROWS = f"i8({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8[::1], f8[:,::1], f8[:,::1])"


@entry_point(PROPAGATE_ROWS)
def propagate_rows(inertia, m, q, t, rows, m_out, q_out):
    """Propagate the bodies of ``rows`` one after the other, and return the index of the first invalid one.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    q : array, shape (n, 4) or (1, 4)
        Attitudes.
    t : array, shape (n,) or (1,)
        Times.
    rows : array of int
        Indices of the bodies.
    m_out : array, shape (n, 3)
        Output: momenta.
    q_out : array, shape (n, 4)
        Output: attitudes.

    Returns
    -------
    int
        Index of the first body that is not valid or whose result is not finite; otherwise NOBODY or, if a body may
        turn by more than MOST_RADIANS, NOBODY + 1.
    """
    bad = NOBODY + 1
    is_far = False
    for i in rows:
        I, m_start, q_start, time = operands(inertia, m, q, t, i)
        if not is_valid(I, m_start, q_start, time):
            bad = min(bad, i)
            continue
        (m1, m2, m3), (q0, q1, q2, q3) = flow(I, m_start, q_start, time)
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = m1, m2, m3
        q_out[i, 0], q_out[i, 1], q_out[i, 2], q_out[i, 3] = q0, q1, q2, q3
        if not (isfinite(m1) and isfinite(m2) and isfinite(m3) and isfinite(q0)):
            bad = min(bad, i)
        is_far = is_far or largest(m_start) / min(I) * abs(time) > MOST_RADIANS
    return bad if is_far else min(bad, NOBODY)
