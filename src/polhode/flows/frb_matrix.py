"""The exact flow as published, in rotation matrices: frb_step of FRB.

Celledoni, Fasso, Safstrom, Zanna 2008, Corollary 2.3; Celledoni, Zanna 2010, (9); misprints corrected (docs/errata.md).
With the rows of P(t) along m', m x m' and m, |m| = 1, and D2 = |1 - 2T I2|,

    Q(t) = Q P(0)^T Y P(t),  Y = exp(psi hat(e3))                                                                    (6)
    i    psi = 2T t - D2/(lambda I2) [Pi(phi(t), n, k) - Pi(phi(0), n, k)],  n = B23^-2                              (9)
    ii   psi = 2T t + D2/(lambda I2) [...],  n = B21^-2

A matrix does not determine the sign of q: the rotation of a step becomes the quaternion whose scalar part is not
negative.
"""

from __future__ import annotations

from math import sqrt

from polhode.core.references import CELLEDONI_2008, FRB_2010
from polhode.flows.frb_quaternion import LOST, Published, advance_with
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.published_motion import AROUND_1, SEPARATRIX, SIZE, prepare, third_kind_integral
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import columns, cross, largest, matrix_product, plus, times
from polhode.kernels.stepping.loops import loops


@inline
def frame(c, m):
    """Return the unit vector v along m' = m x w, which is not 0, and m x v."""
    m1, m2, m3 = m
    v1, v2, v3 = -c[0] * c[5] * (m2 * m3), c[1] * c[4] * (m3 * m1), -c[2] * c[3] * (m1 * m2)
    size = largest((v1, v2, v3))
    v1, v2, v3 = v1 / size, v2 / size, v3 / size
    size = sqrt(v1 * v1 + v2 * v2 + v3 * v3)
    v = v1 / size, v2 / size, v3 / size
    return v, cross(m, v)


@inline
def angle(c, motion):
    """Return psi of (9); D2 = 0 on the separatrix."""
    psi = motion.two_T * motion.t
    if motion.family == SEPARATRIX:
        return psi
    coefficient = abs(1.0 - motion.two_T * c[1]) / (motion.lam * c[1])
    if motion.family == AROUND_1:
        return psi - coefficient * third_kind_integral(c, motion, c[5] / (c[1] * motion.D3))
    return psi + coefficient * third_kind_integral(c, motion, c[3] / (c[1] * motion.D1))


@inline
def quaternion(R):
    """Return the quaternion of a rotation matrix, with scalar part >= 0, by its largest component."""
    (r11, r12, r13), (r21, r22, r23), (r31, r32, r33) = R
    trace = r11 + r22 + r33
    most = max(r11, max(r22, r33))
    if trace >= most:
        f = 1.0 + trace
        q0, q1, q2, q3 = f, r32 - r23, r13 - r31, r21 - r12
    elif most == r11:
        f = 1.0 + (r11 - r22 - r33)
        q0, q1, q2, q3 = r32 - r23, f, r12 + r21, r31 + r13
    elif most == r22:
        f = 1.0 + (r22 - r33 - r11)
        q0, q1, q2, q3 = r13 - r31, r12 + r21, f, r23 + r32
    else:
        f = 1.0 + (r33 - r11 - r22)
        q0, q1, q2, q3 = r21 - r12, r31 + r13, r23 + r32, f
    f = (0.5 if q0 >= 0.0 else -0.5) / sqrt(f)
    return q0 * f, q1 * f, q2 * f, q3 * f


@inline
def attitude(c, motion):
    """Return the rotation P(0)^T Y P(t) of (6) as a quaternion."""
    v, w = frame(c, motion.x)
    a, b = frame(c, motion.y)
    s, y = sincos(angle(c, motion), 0.0)
    a, b = plus(times(y, a), -s, b), plus(times(s, a), y, b)
    return quaternion(matrix_product(columns((v, w, motion.x)), (a, b, motion.y)))  # (6)


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    return advance_with(attitude, c, m, q, h)


class FrbMatrix(Published):
    """Published exact flow in rotation matrices, for study: ``Exact`` is faster and has full accuracy everywhere.

    Steps may have any length, but the sign of q is not determined by a step that turns the body by more than half a
    turn.

    Parameters
    ----------
    nodes : int, optional
        Number of Gauss nodes, 1 to 10, for the integral of the third kind; 0, the default, is exact.

    Examples
    --------
    >>> from polhode import State
    >>> FrbMatrix().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.5, steps=100).q.round(6)
    array([-0.900588, -0.153051,  0.058371,  0.402629])
    """

    kernels = loops(prepare, advance, size=SIZE, has_scratch=True)
    frame = "the frame along m'"
    limits = f"{LOST}; after a step of more than half a turn the sign of q is not known"
    references = (CELLEDONI_2008, FRB_2010)
