"""Secular constants of a free motion: the period and the turn per period, in double-double.

After a period T the momentum is the same, and q is turned about it: q(j T) = q0 (cos j alpha + sin j alpha m/|m|).
Therefore a time of any number of periods is reduced to less than half a period, if T and alpha are known to more digits
than j has. Symbols are those of ``euler``, with t = 1; every number is a pair (hi, lo).
"""

from __future__ import annotations

from math import inf

from polhode.kernels.compiler.jit import entry_point, inline, inline_strict
from polhode.kernels.exact.euler import CANCELED, MANY_TURNS, body_constants, invariants, separatrix_gap
from polhode.kernels.exact.standard_form import INPUT, TIMES, from_standard_time, standard_form, to_standard_time
from polhode.kernels.numbers.eft import dd_add, dd_div, dd_mul, dd_sqrt, dd_sub, two_prod, two_sum
from polhode.kernels.numbers.trig import rint

ONE = (1.0, 0.0)
PI = (3.141592653589793, 1.2246467991473532e-16)
TWO_PI = (6.283185307179586, 2.4492935982947064e-16)
STEPS = 20
CONVERGED = 1e-16  # relative gap of the arithmetic-geometric mean; one step later its error is 1e-33
FARTHEST = 1e290  # periods and times beyond are not reduced, because their exact products would overflow


@inline_strict
def add(a, b):
    """Return the pair a + b."""
    return dd_add(a[0], a[1], b[0], b[1])


@inline_strict
def sub(a, b):
    """Return the pair a - b."""
    return dd_sub(a[0], a[1], b[0], b[1])


@inline_strict
def mul(a, b):
    """Return the pair a b."""
    return dd_mul(a[0], a[1], b[0], b[1])


@inline_strict
def div(a, b):
    """Return the pair a/b."""
    return dd_div(a[0], a[1], b[0], b[1])


@inline_strict
def root(a):
    """Return the square root of the pair a."""
    return dd_sqrt(a[0], a[1])


@inline_strict
def half(a):
    """Return the pair a/2."""
    return 0.5 * a[0], 0.5 * a[1]


@inline_strict
def mean_and_weight(kc, n):
    """Return (M, W) of ``elliptic.mean_and_weight``, by the same steps in twice the precision."""
    p = root(add(ONE, n))
    a, b = (0.0, 0.0), div(ONE, p)
    mean, geometric = ONE, kc
    for _ in range(STEPS):
        gap = abs(mean[0] - geometric[0])
        product = mul(mean, geometric)
        g = div(product, p)
        a, b = half(add(a, div(b, p))), half(add(b, mul(a, g)))
        p = half(add(p, g))
        mean, geometric = half(add(mean, geometric)), root(product)
        if gap <= CONVERGED * mean[0]:
            break
    return mean, div(add(b, mul(a, mean)), add(mean, p))


@inline_strict
def period_and_turn(I1, I2, I3, m1, m2, m3, D, axis3):
    """Return (T, alpha/(2 pi), turns) for sorted, scaled moments and momenta; D != 0 is that of ``separatrix_gap``.

    ``turns`` is the number of turns of phi of (5) in ``euler``, in the form ``axis3``, in half a period, without its
    periodic part: see ``dense``. T and alpha are the same in both forms.
    """
    i1, i2, i3 = (I1, 0.0), (I2, 0.0), (I3, 0.0)
    al = div(two_sum(I3, -I2), mul(i2, i3))
    be = div(two_sum(I3, -I1), mul(i1, i3))
    ga = div(two_sum(I2, -I1), mul(i1, i2))
    x, y, z = two_prod(m1, m1), two_prod(m2, m2), two_prod(m3, m3)
    C3, C1 = add(mul(be, x), mul(al, y)), add(mul(ga, y), mul(be, z))
    gap = mul(be, sub(mul(ga, x), mul(al, z)))
    l2 = mul(ga, C3)
    if D < 0.0:
        gap, l2 = (-gap[0], -gap[1]), mul(al, C1)
    if not gap[0] > CANCELED * l2[0]:  # the exact D, rounded once, has more digits
        gap = (abs(D), 0.0)
    n = div(mul(al, C3) if axis3 else mul(ga, C1), l2)
    mean, weight = mean_and_weight(root(div(gap, l2)), n)
    half_period = div(PI, mul(mean, root(l2)))
    theta = mul(mul(be, half_period), mul(n, weight))  # (4) of euler over a half-period
    rate = add(div(half_period, i3), theta) if axis3 else sub(div(half_period, i1), theta)
    turn = div(mul(root(add(add(x, y), z)), rate), TWO_PI)
    turns = add(turn, (0.5 if axis3 else -0.5, 0.0))
    if axis3 == (D > 0.0):  # X of (5) changes sign
        turn = turns
    return add(half_period, half_period), sub(turn, (rint(turn[0]), 0.0)), turns


@inline
def constants(I1, I2, I3, m1, m2, m3, D, axis3, scale):
    """Return (T, T_low, turn, turn_low, rate, rate_low) of a body in standard form, for the user's unit of time.

    The rate is that of ``turns`` in whole turns. T is infinite if no period can be subtracted.
    """
    rate = (0.0, 0.0)
    if D != 0.0:
        T, turn, turns = period_and_turn(I1, I2, I3, m1, m2, m3, D, axis3)
        rate = div(turns, T)
    elif m1 == 0.0 and m3 == 0.0 and m2 != 0.0:  # steady spin about the middle axis: q changes sign after one turn
        T = div(mul(TWO_PI, (I2, 0.0)), (abs(m2), 0.0))
        turn = (0.5, 0.0)
    else:
        return inf, 0.0, 0.0, 0.0, 0.0, 0.0
    high = from_standard_time(T[0], scale)
    if not 1.0 / FARTHEST < high < FARTHEST:
        return inf, 0.0, 0.0, 0.0, 0.0, 0.0
    low = from_standard_time(T[1], scale)
    return high, low, turn[0], turn[1], to_standard_time(rate[0], scale), to_standard_time(rate[1], scale)


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
        a = i if inertia.shape[0] > 1 else 0
        b = i if m.shape[0] > 1 else 0
        _, scale, (I1, I2, I3), (m1, m2, m3) = standard_form(
            float(inertia[a, 0]), float(inertia[a, 1]), float(inertia[a, 2]),
            float(m[b, 0]), float(m[b, 1]), float(m[b, 2]),
        )  # fmt: skip
        body = body_constants(I1, I2, I3)
        D = separatrix_gap(body, m1, m3)
        axis3 = invariants(body, m1, m2, m3, 1.0).axis3
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], _, _ = constants(I1, I2, I3, m1, m2, m3, D, axis3, scale)


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
