"""One step of the Munthe-Kaas form of DOP853 on SO(3) x R^3: its stages, its error, its dense output.

A step from t_n is an equation in R^6, from s = 0 and m = m_n,

    s' = w + s x w/2 + c s x (s x w),   m' = m x w + f(t, Q, w) - D w,   w = m/I,   Q = Q_n exp(hat(s))       (1)

(see ``exponential``), to which the method, its error estimate and its dense output apply unchanged
(``dormand_prince``; Hairer, Norsett, Wanner, chapter II). The attitude remains a rotation. Row n of the work array k is
h (s', m') of stage n. All quantities are those of the standard form, except times, which are in the user's units.
"""

from __future__ import annotations

from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.exact.standard_form import to_order, to_standard_time
from polhode.kernels.numbers.exponential import FARTHEST, rate, rotation, turned, unit
from polhode.kernels.numbers.vectors import cross_of_numbers
from polhode.kernels.stepping.damping import resistance
from polhode.kernels.stepping.dormand_prince import COLUMN, DENSE, END, FIFTH, FIRST, NODE, STAGES, THIRD, WEIGHT
from polhode.kernels.stepping.header import FINE, TOO_SMALL
from polhode.kernels.stepping.splitting import user_attitude, user_momentum
from polhode.kernels.stepping.torques import torque_on

STRIDE = 8  # of the rows of k
POLYNOMIAL = STAGES  # after the stages in k, the seven coefficients of the dense output
WORK = STRIDE * (STAGES + 7)  # size of k


class Point(NamedTuple):
    """State of a body at the time t, and its torque f per unit of the user's time."""

    t: float
    m1: float
    m2: float
    m3: float
    q0: float
    q1: float
    q2: float
    q3: float
    f1: float
    f2: float
    f3: float
    evaluations: int
    status: int


class Tolerance(NamedTuple):
    """Allowed errors of a step: rtol for the attitude, max(atol + rtol |m|, floor) for m."""

    rtol: float
    atol: float  # of m in the standard form
    floor: float


@inline
def load(frame, t, m, q, f, evaluations, i):
    """Return body i of the arrays m, q (principal axes in the user's order) and f (order of the standard form)."""
    u = frame.scale.per_m
    m1, m2, m3 = to_order(frame.order, u * float(m[i, 0]), u * float(m[i, 1]), u * float(m[i, 2]))
    q1, q2, q3 = to_order(frame.order, float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
    f1, f2, f3 = u * float(f[i, 0]), u * float(f[i, 1]), u * float(f[i, 2])
    return Point(t, m1, m2, m3, float(q[i, 0]), q1, q2, q3, f1, f2, f3, evaluations, FINE)


@inline
def put(frame, p, m, q, i):
    """Write m and q of the point p to row i of the arrays, the inverse of ``load``."""
    m[i, 0], m[i, 1], m[i, 2] = user_momentum(frame, p)
    q[i, 0], q[i, 1], q[i, 2], q[i, 3] = user_attitude(frame, p)


@inline
def unforced(t, m1, m2, m3, q0, q1, q2, q3, evaluations):
    """Return a point without torque, which is not yet known or not needed."""
    return Point(t, m1, m2, m3, q0, q1, q2, q3, nan, nan, nan, evaluations, FINE)


@inline
def forced(torque, params, body, p):
    """Return the point p with its torque."""
    f1, f2, f3, status = torque_on(torque, params, body, p.t, p.m1, p.m2, p.m3, p.q0, p.q1, p.q2, p.q3)
    return Point(*p[:8], f1, f2, f3, p.evaluations + 1, status)


@inline
def slopes(body, p):
    """Return w and m x w per unit of standard time, and the torque with damping per unit of the user's time."""
    w1, w2, w3 = body.w1 * p.m1, body.w2 * p.m2, body.w3 * p.m3
    u1, u2, u3 = cross_of_numbers(p.m1, p.m2, p.m3, w1, w2, w3)
    r1, r2, r3 = resistance(body.damping, p.m1, p.m2, p.m3)
    return w1, w2, w3, u1, u2, u3, p.f1 - r1, p.f2 - r2, p.f3 - r3


@inline
def write_row(k, n, body, h, time, c, s1, s2, s3, p):
    """Write h times (1) at the point p to row n of k; ``time`` is h in the standard form."""
    w1, w2, w3, u1, u2, u3, f1, f2, f3 = slopes(body, p)
    r1, r2, r3 = rate(c, s1, s2, s3, w1, w2, w3)
    j = STRIDE * n
    k[j], k[j + 1], k[j + 2] = time * r1, time * r2, time * r3
    k[j + 3], k[j + 4], k[j + 5] = time * u1 + h * f1, time * u2 + h * f2, time * u3 + h * f3


@inline
def combination(n, k):
    """Return the sum of the rows of k with the weights in row n of the table of the method."""
    s1, s2, s3, s4, s5, s6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for l in range(FIRST[n], FIRST[n + 1]):
        a = WEIGHT[l]
        j = STRIDE * COLUMN[l]
        s1, s2, s3 = s1 + a * k[j], s2 + a * k[j + 1], s3 + a * k[j + 2]
        s4, s5, s6 = s4 + a * k[j + 3], s5 + a * k[j + 4], s6 + a * k[j + 5]
    return s1, s2, s3, s4, s5, s6


@noinline
def stages(torque, params, body, a, evaluations, right, k, first, last):
    """Compute rows first..last - 1 of k for a step from a to ``right``; return the last point, or the first failure."""
    h = right - a.t
    time = to_standard_time(h, body.frame.scale)
    p = Point(*a[:11], evaluations, FINE)
    for n in range(first, last):
        s1, s2, s3, d1, d2, d3 = combination(n, k)
        if not s1 * s1 + s2 * s2 + s3 * s3 <= FARTHEST:
            return Point(*p[:12], TOO_SMALL)
        r0, r, c = rotation(s1, s2, s3)
        t = a.t + NODE[n] * h
        q0, q1, q2, q3 = turned(a.q0, a.q1, a.q2, a.q3, r0, r, s1, s2, s3)
        if n == END:
            t = right  # t + h may differ by an ulp
            q0, q1, q2, q3 = unit(q0, q1, q2, q3)
        p = unforced(t, a.m1 + d1, a.m2 + d2, a.m3 + d3, q0, q1, q2, q3, p.evaluations)
        p = forced(torque, params, body, p)
        if p.status != FINE:
            return p
        write_row(k, n, body, h, time, c, s1, s2, s3, p)
    return p


@inline
def begin_step(body, a, right, k):
    """Write row 0 of k for a step from a to the time ``right``."""
    h = right - a.t
    write_row(k, 0, body, h, to_standard_time(h, body.frame.scale), 0.0, 0.0, 0.0, 0.0, a)


@inline
def size(x1, x2, x3):
    """Return the norm of (x1, x2, x3), whose squares may overflow or underflow."""
    p, per_p = power_of_two(max(abs(x1), abs(x2), abs(x3)))
    x1, x2, x3 = per_p * x1, per_p * x2, per_p * x3
    return p * sqrt(x1 * x1 + x2 * x2 + x3 * x3)


@inline
def weighted(n, k, of_s, of_m):
    """Return the sum of squares of error estimate n, relative to the allowed errors ``of_s`` and ``of_m``."""
    s1, s2, s3, m1, m2, m3 = combination(n, k)
    s1, s2, s3, m1, m2, m3 = s1 / of_s, s2 / of_s, s3 / of_s, m1 / of_m, m2 / of_m, m3 / of_m
    return (s1 * s1 + s2 * s2 + s3 * s3) + (m1 * m1 + m2 * m2 + m3 * m3)


@inline
def error_of(k, tolerance, a, b):
    """Return the error of order 5 of the step from a to b, corrected by that of order 3, relative to the tolerance."""
    largest = max(size(a.m1, a.m2, a.m3), size(b.m1, b.m2, b.m3))
    allowed = max(tolerance.atol + tolerance.rtol * largest, tolerance.floor)
    if not isfinite(b.m1 + b.m2 + b.m3 + allowed):
        return inf
    fifth = weighted(FIFTH, k, tolerance.rtol, allowed)
    third = weighted(THIRD, k, tolerance.rtol, allowed)
    return 0.0 if fifth == 0.0 else fifth / sqrt(2.0 * (fifth + 0.01 * third))  # the mean of s and m


@inline
def write_polynomial(k):
    """Write the coefficients of the dense output to k, after its stages."""
    for n in range(3, 7):
        j = STRIDE * (POLYNOMIAL + n)
        k[j], k[j + 1], k[j + 2], k[j + 3], k[j + 4], k[j + 5] = combination(DENSE + n - 3, k)
    j = STRIDE * POLYNOMIAL
    k[j], k[j + 1], k[j + 2], k[j + 3], k[j + 4], k[j + 5] = combination(END, k)
    for l in range(6):
        change, left, right = k[j + l], k[l], k[STRIDE * END + l]
        k[j + STRIDE + l] = left - change
        k[j + 2 * STRIDE + l] = 2.0 * change - (right + left)


@inline
def polynomial(k, x, l):
    """Return component l of (s, m - m_n) at the fraction x of the step."""
    j = STRIDE * POLYNOMIAL + l
    y = 1.0 - x
    value = k[j + 4 * STRIDE] + y * (k[j + 5 * STRIDE] + x * k[j + 6 * STRIDE])
    value = k[j + 2 * STRIDE] + y * (k[j + 3 * STRIDE] + x * value)
    return x * (k[j] + y * (k[j + STRIDE] + x * value))


@inline
def between(k, a, right, t):
    """Return the point at the time t of the step from a to ``right``."""
    x = (t - a.t) / (right - a.t)
    s1, s2, s3 = polynomial(k, x, 0), polynomial(k, x, 1), polynomial(k, x, 2)
    r0, r, _ = rotation(s1, s2, s3)
    q0, q1, q2, q3 = unit(*turned(a.q0, a.q1, a.q2, a.q3, r0, r, s1, s2, s3))
    m1, m2, m3 = a.m1 + polynomial(k, x, 3), a.m2 + polynomial(k, x, 4), a.m3 + polynomial(k, x, 5)
    return unforced(t, m1, m2, m3, q0, q1, q2, q3, 0)
