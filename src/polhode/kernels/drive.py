"""Loops over bodies and steps. Kernels take numbers in one scale and order; here any scale and order come in.

The flow depends on I/I_ref, m/m_ref and t m_ref/I_ref only, so powers of two bring every body to the same scale
without a rounding error, and a sorted, proper permutation of the axes to the same order.
"""

from __future__ import annotations

from math import isfinite, nan

from polhode.kernels.euler import body_constants, step
from polhode.kernels.jit import entry, helper, power_of_two

NORM_TOLERANCE = 1e-6  # how far |q| may be from 1
LONGEST = 1e150  # radians, or so; beyond, squares of small components underflow while their effect does not


@helper
def axis_order(I1, I2, I3):
    """Which of the six permutations sorts the moments; see ``to_order``."""
    if I1 <= I2:
        if I2 <= I3:
            return 0
        return 2 if I1 <= I3 else 5
    if I1 <= I3:
        return 1
    return 4 if I2 <= I3 else 3


@helper
def to_order(order, x1, x2, x3):
    """The vector in sorted axes. Odd permutations are turned into rotations by a minus sign."""
    if order == 0:
        return x1, x2, x3
    if order == 1:
        return -x2, -x1, -x3
    if order == 2:
        return -x1, -x3, -x2
    if order == 3:
        return -x3, -x2, -x1
    if order == 4:
        return x2, x3, x1
    return x3, x1, x2


@helper
def from_order(order, x1, x2, x3):
    """Back to the user's axes: transpositions undo themselves, the two cycles each other."""
    inverse = 9 - order if order >= 4 else order
    return to_order(inverse, x1, x2, x3)


@helper
def scaled_time(t, m_ref, per_I_ref):
    """t m_ref/I_ref, ordered so that no partial product overflows or underflows on its own."""
    small, large = min(m_ref, per_I_ref), max(m_ref, per_I_ref)
    return t * small * large if abs(t) >= 1.0 else t * large * small


@helper
def sorted_body(order, I1, I2, I3):
    """Constants of the body whose moments are already scaled, in sorted axes."""
    I1, I2, I3 = to_order(order, I1, I2, I3)
    return body_constants(abs(I1), abs(I2), abs(I3))


@helper
def is_valid(I1, I2, I3, m1, m2, m3, q0, q1, q2, q3, t):
    """Finite numbers, positive moments, a quaternion of norm 1 within NORM_TOLERANCE."""
    norm2 = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3
    finite = isfinite(I1) and isfinite(I2) and isfinite(I3) and isfinite(t)
    finite = finite and isfinite(m1) and isfinite(m2) and isfinite(m3)
    return finite and min(I1, I2, I3) > 0.0 and abs(norm2 - 1.0) <= 2.0 * NORM_TOLERANCE


@helper
def flow(I1, I2, I3, m1, m2, m3, q0, q1, q2, q3, t):
    """The exact free flow of one body in any scale and any order of its axes; NaN beyond LONGEST."""
    _, per_I_ref = power_of_two(min(I1, I2, I3))
    m_ref, per_m_ref = power_of_two(max(abs(m1), abs(m2), abs(m3)))
    order = axis_order(I1, I2, I3)
    body = sorted_body(order, I1 * per_I_ref, I2 * per_I_ref, I3 * per_I_ref)
    m1, m2, m3 = to_order(order, m1 * per_m_ref, m2 * per_m_ref, m3 * per_m_ref)
    q1, q2, q3 = to_order(order, q1, q2, q3)
    f = 1.5 - 0.5 * (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)  # the input's rounding, taken off to first order
    h = scaled_time(t, m_ref, per_I_ref)
    if not abs(h) <= LONGEST:
        return nan, nan, nan, nan, nan, nan, nan
    m1, m2, m3, q0, q1, q2, q3 = step(body, m1, m2, m3, q0 * f, q1 * f, q2 * f, q3 * f, h)
    m1, m2, m3 = from_order(order, m1 * m_ref, m2 * m_ref, m3 * m_ref)
    q1, q2, q3 = from_order(order, q1, q2, q3)
    return m1, m2, m3, q0, q1, q2, q3


INPUT = "Array(f8, 2, 'C', readonly=True)"


TIMES = "Array(f8, 1, 'C', readonly=True)"


@helper
def operands(inertia, m, q, t, i):
    """The eleven numbers of body i; an operand with one row serves all bodies. (Floats: uncompiled, NumPy's warn.)"""
    a = i if inertia.shape[0] > 1 else 0
    b = i if m.shape[0] > 1 else 0
    c = i if q.shape[0] > 1 else 0
    d = i if t.shape[0] > 1 else 0
    return (
        float(inertia[a, 0]), float(inertia[a, 1]), float(inertia[a, 2]),
        float(m[b, 0]), float(m[b, 1]), float(m[b, 2]),
        float(q[c, 0]), float(q[c, 1]), float(q[c, 2]), float(q[c, 3]),
        float(t[d]),
    )  # fmt: skip


@entry(f"i8({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1])")
def propagate_range(inertia, m, q, t, start, stop, m_out, q_out):
    """Bodies start..stop: inertia, m (n or 1, 3), q (n or 1, 4), t (n or 1) -> m_out (n, 3), q_out (n, 4).

    Returns the index of the first body whose input is not valid or whose result is not finite, or -1.
    """
    for i in range(start, stop):
        given = operands(inertia, m, q, t, i)
        if not is_valid(*given):
            return i
        m1, m2, m3, q0, q1, q2, q3 = flow(*given)
        if not (isfinite(m1) and isfinite(m2) and isfinite(m3) and isfinite(q0)):
            return i
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = m1, m2, m3
        q_out[i, 0], q_out[i, 1], q_out[i, 2], q_out[i, 3] = q0, q1, q2, q3
    return -1


@entry("void(f8[::1], f8[::1], f8[::1], f8, i8)")
def chain(inertia, m, q, h, steps):
    """``steps`` exact steps of length h of one body, in place on m (3) and q (4): each starts where the last ended."""
    I1, I2, I3 = inertia[0], inertia[1], inertia[2]
    _, per_I_ref = power_of_two(min(I1, I2, I3))
    m_ref, per_m_ref = power_of_two(max(abs(m[0]), abs(m[1]), abs(m[2])))
    order = axis_order(I1, I2, I3)
    body = sorted_body(order, I1 * per_I_ref, I2 * per_I_ref, I3 * per_I_ref)
    m1, m2, m3 = to_order(order, m[0] * per_m_ref, m[1] * per_m_ref, m[2] * per_m_ref)
    q0 = q[0]
    q1, q2, q3 = to_order(order, q[1], q[2], q[3])
    h = scaled_time(h, m_ref, per_I_ref)
    for _ in range(steps):
        m1, m2, m3, q0, q1, q2, q3 = step(body, m1, m2, m3, q0, q1, q2, q3, h)
    m[0], m[1], m[2] = from_order(order, m1 * m_ref, m2 * m_ref, m3 * m_ref)
    q[0] = q0
    q[1], q[2], q[3] = from_order(order, q1, q2, q3)
