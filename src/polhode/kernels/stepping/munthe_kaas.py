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
from polhode.kernels.exact.standard_form import to_standard_time
from polhode.kernels.numbers.exponential import FARTHEST, rate, rotation, turned, unit
from polhode.kernels.numbers.vectors import by_components, cross, dot, largest, plus, times
from polhode.kernels.stepping.damping import resistance
from polhode.kernels.stepping.dormand_prince import COLUMN, DENSE, END, FIFTH, FIRST, NODE, STAGES, THIRD, WEIGHT
from polhode.kernels.stepping.header import FINE, TOO_SMALL
from polhode.kernels.stepping.torques import torque_on

STRIDE = 8  # of the rows of k
POLYNOMIAL = STAGES  # after the stages in k, the seven coefficients of the dense output
WORK = STRIDE * (STAGES + 7)  # size of k


UNKNOWN = nan, nan, nan
STILL = 0.0, 0.0, 0.0


class Point(NamedTuple):
    """State of a body at the time t, and its torque f per unit of the user's time."""

    t: float
    m: tuple[float, float, float]
    q: tuple[float, float, float, float]
    f: tuple[float, float, float]
    evaluations: int
    status: int


class Tolerance(NamedTuple):
    """Allowed errors of a step: rtol for the attitude, max(atol + rtol |m|, floor) for m."""

    rtol: float
    atol: float  # of m in the standard form
    floor: float


@inline
def with_status(p, evaluations, status):
    """Return the point p with another number of evaluations and another status."""
    return Point(p.t, p.m, p.q, p.f, evaluations, status)


@inline
def unforced(t, m, q, evaluations):
    """Return a point without torque, which is not yet known or not needed."""
    return Point(t, m, q, UNKNOWN, evaluations, FINE)


@inline
def forced(body, p):
    """Return the point p with its torque."""
    f, status = torque_on(body, p.t, p.m, p.q)
    return Point(p.t, p.m, p.q, f, p.evaluations + 1, status)


@inline
def slopes(body, p):
    """Return w and m x w per unit of standard time, and the torque with damping per unit of the user's time."""
    w = by_components(body.per_I, p.m)
    return w, cross(p.m, w), plus(p.f, -1.0, resistance(body.damping, p.m))


@inline
def put_row(k, n, s, m):
    """Write the vectors s and m to row n of k."""
    j = STRIDE * n
    k[j], k[j + 1], k[j + 2] = s
    k[j + 3], k[j + 4], k[j + 5] = m


@inline
def write_slopes(k, n, body, h, time, c, s, p):
    """Write h times (1) at the point p with the rotation vector s to row n of k; ``time`` is h in the standard form."""
    w, u, f = slopes(body, p)
    put_row(k, n, times(time, rate(c, s, w)), plus(times(time, u), h, f))


@inline
def combination(n, k):
    """Return the sums of s and of m in the rows of k, with the weights in row n of the table of the method."""
    s1, s2, s3, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for l in range(FIRST[n], FIRST[n + 1]):
        a = WEIGHT[l]
        j = STRIDE * COLUMN[l]
        s1, s2, s3 = s1 + a * k[j], s2 + a * k[j + 1], s3 + a * k[j + 2]
        m1, m2, m3 = m1 + a * k[j + 3], m2 + a * k[j + 4], m3 + a * k[j + 5]
    return (s1, s2, s3), (m1, m2, m3)


@noinline
def stages(body, a, evaluations, right, k, first, last):
    """Compute rows first..last - 1 of k for a step from a to ``right``; return the last point, or the first failure."""
    h = right - a.t
    time = to_standard_time(h, body.frame.scale)
    p = with_status(a, evaluations, FINE)
    for n in range(first, last):
        s, change = combination(n, k)
        if not dot(s, s) <= FARTHEST:
            return with_status(p, p.evaluations, TOO_SMALL)
        r0, r, c = rotation(s)
        t = a.t + NODE[n] * h
        q = turned(a.q, r0, r, s)
        if n == END:
            t = right  # t + h may differ by an ulp
            q = unit(q)
        p = forced(body, unforced(t, plus(a.m, 1.0, change), q, p.evaluations))
        if p.status != FINE:
            return p
        write_slopes(k, n, body, h, time, c, s, p)
    return p


@inline
def begin_step(body, a, right, k):
    """Write row 0 of k for a step from a to the time ``right``."""
    h = right - a.t
    write_slopes(k, 0, body, h, to_standard_time(h, body.frame.scale), 0.0, STILL, a)


@inline
def size(x):
    """Return the norm of the vector x, whose squares may overflow or underflow."""
    p, per_p = power_of_two(largest(x))
    x = times(per_p, x)
    return p * sqrt(dot(x, x))


@inline
def weighted(n, k, of_s, of_m):
    """Return the sum of squares of error estimate n, relative to the allowed errors ``of_s`` and ``of_m``."""
    s, m = combination(n, k)
    s = s[0] / of_s, s[1] / of_s, s[2] / of_s
    m = m[0] / of_m, m[1] / of_m, m[2] / of_m
    return dot(s, s) + dot(m, m)


@inline
def error_of(k, tolerance, a, b):
    """Return the error of order 5 of the step from a to b, corrected by that of order 3, relative to the tolerance."""
    allowed = max(tolerance.atol + tolerance.rtol * max(size(a.m), size(b.m)), tolerance.floor)
    if not isfinite(b.m[0] + b.m[1] + b.m[2] + allowed):
        return inf
    fifth = weighted(FIFTH, k, tolerance.rtol, allowed)
    third = weighted(THIRD, k, tolerance.rtol, allowed)
    return 0.0 if fifth == 0.0 else fifth / sqrt(2.0 * (fifth + 0.01 * third))  # the mean of s and m


@inline
def write_polynomial(k):
    """Write the coefficients of the dense output to k, after its stages."""
    for n in range(3, 7):
        s, m = combination(DENSE + n - 3, k)
        put_row(k, POLYNOMIAL + n, s, m)
    s, m = combination(END, k)
    put_row(k, POLYNOMIAL, s, m)
    j = STRIDE * POLYNOMIAL
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
    s = polynomial(k, x, 0), polynomial(k, x, 1), polynomial(k, x, 2)
    change = polynomial(k, x, 3), polynomial(k, x, 4), polynomial(k, x, 5)
    r0, r, _ = rotation(s)
    return unforced(t, plus(a.m, 1.0, change), unit(turned(a.q, r0, r, s)), 0)
