"""Choice of the first and of the next step length: Hairer, Norsett, Wanner, section II.4 (HNW).

Lengths are nonnegative, in the user's unit of time.
"""

from __future__ import annotations

from math import copysign, inf, sqrt

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.exponential import rotation, turned
from polhode.kernels.numbers.vectors import by_components, plus, times
from polhode.kernels.stepping.header import FINE
from polhode.kernels.stepping.munthe_kaas import forced, size, slopes, unforced

LEAST_STEP = 10.0 * 2.0**-52  # of the power of two below t
SAFETY, MOST, LEAST = 0.9, 10.0, 0.2  # safety factor and bounds of the ratio of successive step lengths
STRETCH = 1.01  # the last step may be longer by this factor, so that no tiny step remains
PROBE = 0.01  # of the time of a radian: length of the trial step by which the first one is chosen


@inline
def eighth_root(x):
    """Return x^(1/8)."""
    return sqrt(sqrt(sqrt(x)))


@inline
def factor_of(error):
    """Return the ratio of the next step length to this one, whose relative error is ``error``."""
    if not error < inf:
        return LEAST
    root = eighth_root(error)
    return MOST if MOST * root <= SAFETY else max(LEAST, SAFETY / root)


@inline
def rates(body, p):
    """Return w and m' at the point p, per unit of the user's time."""
    w, u, f = slopes(body, p)
    return times(body.rate, w), plus(f, body.rate, u)


@inline
def time_scale(body, a, atol, rtol, w, g):
    """Return the time of about a radian or of a large change of m, and the size of such a change; inf at rest.

    w and g = m' are the rates at the point a.
    """
    starting = sqrt(body.rate * size(by_components(body.per_I, g)))  # 1/(time of a radian from rest)
    turning = size(w)
    torque = size(g)
    if turning == 0.0 and starting == 0.0:
        return inf, inf
    momentum = size(a.m) + atol / rtol + (torque / starting if starting > 0.0 else 0.0)
    return 1.0 / size((turning, torque / momentum, 0.0)), momentum


@inline
def first_length(body, a, end, tolerance):
    """Return the length of the first step and the number of evaluations: HNW, section II.4, independent of units.

    The published algorithm compares quantities of different units; here all times are in units of T, the
    ``time_scale``.
    """
    span = abs(end - a.t)
    w, g = rates(body, a)
    T, momentum = time_scale(body, a, tolerance.atol, tolerance.rtol, w, g)
    if not span > PROBE * T:
        return span, a.evaluations
    h = copysign(PROBE * T, end - a.t)
    s = times(h, w)
    r0, r, _ = rotation(s)
    b = forced(body, unforced(a.t + h, plus(a.m, h, g), turned(a.q, r0, r, s), a.evaluations))
    if b.status != FINE:
        return PROBE * T, b.evaluations
    new_w, new_g = rates(body, b)
    turning = size(plus(new_w, -1.0, w))
    change = size(plus(new_g, -1.0, g))
    second = size((turning, change / momentum, 0.0)) * T / PROBE  # T^2 times the second derivative
    return min(span, T * eighth_root(0.01 * tolerance.rtol / max(1.0, second))), b.evaluations


@inline
def length_of(h, t, longest):
    """Return the length of the next trial step, and whether it is the shortest one that the digits of t allow."""
    length = min(abs(h), longest)
    least = LEAST_STEP * power_of_two(t)[0]
    return max(length, least), length < least


@inline
def end_of(t, length, t_end):
    """Return the end time of a step of this length from t, which does not pass t_end."""
    left = t_end - t
    return t_end if abs(left) <= STRETCH * length else t + copysign(length, left)


@inline
def next_end(h, t, longest, t_end):
    """Return the end time of the next trial step, and whether it is the shortest one that the digits of t allow."""
    length, is_least = length_of(h, t, longest)
    return end_of(t, length, t_end), is_least
