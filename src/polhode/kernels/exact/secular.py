"""Secular constants of a free motion: the period and the turn per period, in double-double.

After a period T the momentum is the same, and q is turned about it: q(j T) = q0 (cos j alpha + sin j alpha m/|m|).
Therefore a time of any number of periods is reduced to less than half a period, if T and alpha are known to more digits
than j has. Symbols are those of ``euler``, with t = 1; every number is a pair (hi, lo).
"""

from __future__ import annotations

from math import inf

from polhode.kernels.compiler.jit import entry_point, inline, inline_strict
from polhode.kernels.exact.euler import CANCELED, MANY_TURNS, body_constants, invariants, separatrix_gap
from polhode.kernels.exact.standard_form import (
    INPUT,
    TIMES,
    from_standard_time,
    standard_form,
    to_standard_time,
    vector_of,
)
from polhode.kernels.numbers.eft import dd_add, dd_div, dd_mul, dd_sqrt, dd_sub, half, two_prod, two_sum
from polhode.kernels.numbers.trig import rint

ZERO = (0.0, 0.0)
ONE = (1.0, 0.0)
PI = (3.141592653589793, 1.2246467991473532e-16)
TWO_PI = (6.283185307179586, 2.4492935982947064e-16)
STEPS = 20
CONVERGED = 1e-16  # relative gap of the arithmetic-geometric mean; one step later its error is 1e-33
FARTHEST = 1e290  # periods and times beyond are not reduced, because their exact products would overflow


@inline_strict
def mean_and_weight(kc, n):
    """Return (M, W) of ``elliptic.mean_and_weight``, by the same steps in twice the precision."""
    p = dd_sqrt(dd_add(ONE, n))
    a, b = ZERO, dd_div(ONE, p)
    mean, geometric = ONE, kc
    for _ in range(STEPS):
        gap = abs(mean[0] - geometric[0])
        product = dd_mul(mean, geometric)
        g = dd_div(product, p)
        a, b = half(dd_add(a, dd_div(b, p))), half(dd_add(b, dd_mul(a, g)))
        p = half(dd_add(p, g))
        mean, geometric = half(dd_add(mean, geometric)), dd_sqrt(product)
        if gap <= CONVERGED * mean[0]:
            break
    return mean, dd_div(dd_add(b, dd_mul(a, mean)), dd_add(mean, p))


@inline_strict
def period_and_turn(I, m, D, axis3):
    """Return (T, alpha/(2 pi), turns) for sorted, scaled moments and momenta; D != 0 is that of ``separatrix_gap``.

    ``turns`` is the number of turns of phi of (5) in ``euler``, in the form ``axis3``, in half a period, without its
    periodic part: see ``dense``. T and alpha are the same in both forms.
    """
    I1, I2, I3 = I
    m1, m2, m3 = m
    i1, i2, i3 = (I1, 0.0), (I2, 0.0), (I3, 0.0)
    al = dd_div(two_sum(I3, -I2), dd_mul(i2, i3))
    be = dd_div(two_sum(I3, -I1), dd_mul(i1, i3))
    ga = dd_div(two_sum(I2, -I1), dd_mul(i1, i2))
    x, y, z = two_prod(m1, m1), two_prod(m2, m2), two_prod(m3, m3)
    C3, C1 = dd_add(dd_mul(be, x), dd_mul(al, y)), dd_add(dd_mul(ga, y), dd_mul(be, z))
    gap = dd_mul(be, dd_sub(dd_mul(ga, x), dd_mul(al, z)))
    l2 = dd_mul(ga, C3)
    if D < 0.0:
        gap, l2 = (-gap[0], -gap[1]), dd_mul(al, C1)
    if not gap[0] > CANCELED * l2[0]:  # the exact D, rounded once, has more digits
        gap = (abs(D), 0.0)
    n = dd_div(dd_mul(al, C3) if axis3 else dd_mul(ga, C1), l2)
    mean, weight = mean_and_weight(dd_sqrt(dd_div(gap, l2)), n)
    half_period = dd_div(PI, dd_mul(mean, dd_sqrt(l2)))
    theta = dd_mul(dd_mul(be, half_period), dd_mul(n, weight))  # (4) of euler over a half-period
    rate = dd_add(dd_div(half_period, i3), theta) if axis3 else dd_sub(dd_div(half_period, i1), theta)
    turn = dd_div(dd_mul(dd_sqrt(dd_add(dd_add(x, y), z)), rate), TWO_PI)
    turns = dd_add(turn, (0.5 if axis3 else -0.5, 0.0))
    if axis3 == (D > 0.0):  # X of (5) changes sign
        turn = turns
    return dd_add(half_period, half_period), dd_sub(turn, (rint(turn[0]), 0.0)), turns


@inline
def constants(I, m, D, axis3, scale):
    """Return (T, turn, rate) of a body in standard form, for the user's unit of time.

    The rate is that of ``turns`` in whole turns. T is infinite if no period can be subtracted.
    """
    m1, m2, m3 = m
    rate = ZERO
    if D != 0.0:
        T, turn, turns = period_and_turn(I, m, D, axis3)
        rate = dd_div(turns, T)
    elif m1 == 0.0 and m3 == 0.0 and m2 != 0.0:  # steady spin about the middle axis: q changes sign after one turn
        T = dd_div(dd_mul(TWO_PI, (I[1], 0.0)), (abs(m2), 0.0))
        turn = (0.5, 0.0)
    else:
        return (inf, 0.0), ZERO, ZERO
    T = from_standard_time(T[0], scale), from_standard_time(T[1], scale)
    if not 1.0 / FARTHEST < T[0] < FARTHEST:
        return (inf, 0.0), ZERO, ZERO
    return T, turn, (to_standard_time(rate[0], scale), to_standard_time(rate[1], scale))


@entry_point(f"void({INPUT}, {INPUT}, f8[:,::1])")
def secular_constants(inertia, m, out):
    """Compute the period and the turn per period of motions, as pairs.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    out : array, shape (n, 4)
        Output: T, T_low, turn, turn_low of each motion.
    """
    for i in range(out.shape[0]):
        _, scale, I, momentum = standard_form(vector_of(inertia, i), vector_of(m, i))
        body = body_constants(I)
        D = separatrix_gap(body, momentum)
        axis3 = invariants(body, momentum, 1.0).axis3
        T, turn, _ = constants(I, momentum, D, axis3, scale)
        out[i, 0], out[i, 1] = T
        out[i, 2], out[i, 3] = turn


@entry_point(f"void({INPUT}, {TIMES}, f8[:,::1])")
def take_off_periods(secular, t, out):
    """Compute the remainder of times after whole periods, and the angles of these periods.

    Parameters
    ----------
    secular : array, shape (n, 4) or (1, 4)
        Periods and turns per period, from ``secular_constants``.
    t : array, shape (n,)
        Times.
    out : array, shape (n, 2)
        Output: the time that remains, and the angle j alpha of j periods without whole turns.
    """
    for i in range(t.shape[0]):
        row = i if secular.shape[0] > 1 else 0
        time, T = float(t[i]), float(secular[row, 0])
        out[i, 0], out[i, 1] = time, 0.0
        j = rint(time / T)
        if j == 0.0 or abs(j) > MANY_TURNS or abs(time) > FARTHEST:
            continue
        p, e = two_prod(j, T)
        out[i, 0] = ((time - p) - e) - j * secular[row, 1]
        p, e = two_prod(j, secular[row, 2])
        out[i, 1] = TWO_PI[0] * ((p - rint(p)) + (e + j * secular[row, 3]))
