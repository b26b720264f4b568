"""Elliptic functions of a step with their derivatives by all parameters, for ``tangent``.

Symbols are those of ``euler``; cn, dn are c, d or d, c, such that cn^2 = 1 - lambda^2 s^2, dn^2 = cn^2 + |D| s^2.
The parameters are lambda^2, |D|, n and ka = be G. Derivatives by p and r are avoided: next to the separatrix they are
large, and cancel along every change that leaves their difference D constant.
"""

from __future__ import annotations

from math import atan2, pi, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline, noinline_strict
from polhode.kernels.exact.euler import SMALL
from polhode.kernels.numbers.series import FIRST, NODE, WEIGHT, WP0, WP1, WP2, WP3

NODES = 7  # number of nodes of the quadrature, for any lambda^2 <= SMALL
SEPARATE = 0.01  # kc^2 above which the derivatives of K and W hardly cancel
AGM_STEPS = 20
AGM_GAP = 1e-18  # change of the mean and of its derivative in the next step


class Parameters(NamedTuple):
    """Parameters of an arc for a unit of time: lambda^2, |D|, n and ka = be G."""

    l2: float
    aD: float
    n: float
    ka: float


class Slopes(NamedTuple):
    """Derivatives of s, cn, dn and of the angle by one parameter."""

    s: float
    cn: float
    dn: float
    angle: float


class ArcSlopes(NamedTuple):
    """s, cn, dn of a unit of time and the angle G Theta, with their derivatives by lambda^2, |D|, n, be G."""

    s: float
    cn: float
    dn: float
    angle: float
    l2: Slopes
    aD: Slopes
    n: float
    ka: float


@inline
def series(p, r):
    """Return rr = 1/S^2 of a unit of time and its derivatives by p and r, for max(p, r) <= SMALL.

    The series is that of ``euler.small_arc``.
    """
    a = (p * p - p * r + r * r) * (1.0 / 15.0)
    b = (p + r) * ((2.0 * p - r) * (p - 2.0 * r)) * (1.0 / 189.0)
    row0 = (((WP0[5] * a + WP0[4]) * a + WP0[3]) * a + WP0[2]) * a + WP0[1]
    row1 = ((WP1[3] * a + WP1[2]) * a + WP1[1]) * a + WP1[0]
    row2 = (WP2[2] * a + WP2[1]) * a + WP2[0]
    slope0 = (((5.0 * WP0[5] * a + 4.0 * WP0[4]) * a + 3.0 * WP0[3]) * a + 2.0 * WP0[2]) * a + WP0[1]
    slope1 = (3.0 * WP1[3] * a + 2.0 * WP1[2]) * a + WP1[1]
    slope2 = 2.0 * WP2[2] * a + WP2[1]
    rr = 1.0 + ((p + r) * (1.0 / 3.0) + (row0 * a + b * (row1 + b * (row2 + b * WP3[0]))))
    by_a = (slope0 + b * (slope1 + b * slope2)) * (1.0 / 15.0)
    by_b = (row1 + b * (2.0 * row2 + 3.0 * b * WP3[0])) * (1.0 / 63.0)
    by_p = by_a * (2.0 * p - r) + by_b * (2.0 * p * (p - r) - r * r)
    by_r = by_a * (2.0 * r - p) + by_b * (2.0 * r * (r - p) - p * p)
    return rr, 1.0 / 3.0 + by_p, 1.0 / 3.0 + by_r


@inline
def third_kind(rr, p, r, n):
    """Return int_0^1 x^2 dx/((rr + n x^2) sqrt((rr - p x^2)(rr - r x^2))) and its derivatives by rr, p, r, n."""
    total, by_p, by_r, by_n = 0.0, 0.0, 0.0, 0.0
    for i in range(FIRST[NODES], FIRST[NODES] + NODES):
        x = NODE[i]
        e, f, g = rr + n * x, rr - p * x, rr - r * x
        fg = f * g
        per = 1.0 / (e * fg)
        term = WEIGHT[i] * sqrt(fg) * per
        total += term
        term *= x * per
        by_n += term * fg
        by_p += term * (e * g)
        by_r += term * (e * f)
    by_rr = -(2.0 * total - n * by_n + 0.5 * (p * by_p + r * by_r)) / rr
    return total, by_rr, 0.5 * by_p, 0.5 * by_r, -by_n


@inline
def small_arc(p, r, n, ka, time):
    """Return the arc of a short time, from p >= r, n and ka = be G of a unit of time."""
    tt = time * time
    p, r, n = p * tt, r * tt, n * tt
    rr, rr_p, rr_r = series(p, r)
    root = sqrt(rr)
    per_r = 1.0 / root
    per_rr = per_r * per_r
    s, cn, dn = time * per_r, sqrt(rr - p) * per_r, sqrt(rr - r) * per_r
    value, by_rr, by_p, by_r, by_n = third_kind(rr, p, r, n)
    angle = ka * time * n * root
    slope = by_rr + 0.5 * per_rr * value
    # derivatives by p + r and -r, that is, by lambda^2 at constant D and by |D| at constant lambda^2
    rr_l2, rr_aD = tt * (rr_p + rr_r), -tt * rr_r
    dcn, ddn = 0.5 * per_rr / cn, 0.5 * per_rr / dn
    p_rr, r_rr = p * per_rr, r * per_rr
    l2 = Slopes(
        -0.5 * s * per_rr * rr_l2,
        dcn * (p_rr * rr_l2 - tt),
        ddn * (r_rr * rr_l2 - tt),
        angle * (slope * rr_l2 + tt * (by_p + by_r)),
    )
    aD = Slopes(
        -0.5 * s * per_rr * rr_aD,
        dcn * p_rr * rr_aD,
        ddn * (r_rr * rr_aD + tt),
        angle * (slope * rr_aD - tt * by_r),
    )
    theta = time * root * value
    return ArcSlopes(s, cn, dn, ka * n * theta, l2, aD, ka * tt * (theta + time * n * root * by_n), n * theta)


class Doubling(NamedTuple):
    """s, cn, dn of twice the time, the reciprocal of their denominator, and the turn by which the angle changes."""

    s: float
    cn: float
    dn: float
    per_N: float
    zr: float
    zi: float
    per_zz: float  # 1/(zr^2 + zi^2)


@inline
def doubled_slopes(arc, end, slopes, parameters, dl2, daD):
    """Return the slopes after the doubling to ``end``: the derivative of ``doubled`` along (dl2, daD)."""
    s, cn, dn = arc.s, arc.cn, arc.dn
    l2, aD, n, ka = parameters
    per_N, zr, zi, per_zz = end.per_N, end.zr, end.zi, end.per_zz
    ss, cc, dd, cd = s * s, cn * cn, dn * dn, cn * dn
    dss, dcc, ddd = 2.0 * s * slopes.s, 2.0 * cn * slopes.cn, 2.0 * dn * slopes.dn
    dcd = slopes.cn * dn + cn * slopes.dn
    l2_ss, dl2_ss = l2 * ss, dl2 * ss + l2 * dss
    aD_ss, daD_ss = aD * ss, daD * ss + aD * dss
    n_ss, dn_ss = n * ss, n * dss
    dN = dcc + (dl2_ss * dd + l2_ss * ddd)
    ds = (2.0 * (slopes.s * cd + s * dcd) - end.s * dN) * per_N
    dcn = (2.0 * cc * dcc - (dl2_ss * aD_ss + l2_ss * daD_ss) - end.cn * dN) * per_N
    ddn = (end.cn * dcn + (0.5 * daD * end.s + aD * ds) * end.s) / end.dn
    dzr = dcc * (1.0 + n_ss * (1.0 + dd)) + cc * (dn_ss * (1.0 + dd) + n_ss * ddd)
    dzr += (dn_ss + dl2_ss) * dd + (n_ss + l2_ss) * ddd
    dzi = 2.0 * ka * n * (ss * (slopes.s * cd + s * dcd) + dss * s * cd)
    return Slopes(ds, dcn, ddn, 2.0 * slopes.angle + (zr * dzi - zi * dzr) * per_zz)


@inline
def doubled(arc, parameters):
    """Return the arc of twice the time, by the formulas of ``euler.any_arc``."""
    s, cn, dn = arc.s, arc.cn, arc.dn
    l2, aD, n, ka = parameters
    ss, cc, dd = s * s, cn * cn, dn * dn
    n_ss, l2_ss = n * ss, l2 * ss
    per_N = 1.0 / (cc + l2_ss * dd)
    s2, cn2 = 2.0 * s * cn * dn * per_N, 1.0 - 2.0 * l2_ss * dd * per_N
    if cn2 < 0.5:  # the first form keeps the digits of a small s, this one those of a small cn
        cn2 = (cc * cc - l2_ss * (aD * ss)) * per_N
    dn2 = sqrt(cn2 * cn2 + aD * s2 * s2)
    zr = cc * (1.0 + n_ss * (1.0 + dd)) + (n_ss + l2_ss) * dd
    zi_ka = 2.0 * n_ss * s * (cn * dn)
    zi = ka * zi_ka
    per_zz = 1.0 / (zr * zr + zi * zi)
    by_n = (zr * (2.0 * ka * ss * s * (cn * dn)) - zi * ss * (cc * (1.0 + dd) + dd)) * per_zz
    angle = 2.0 * arc.angle + atan2(zi, zr)
    end = Doubling(s2, cn2, dn2, per_N, zr, zi, per_zz)
    by_l2 = doubled_slopes(arc, end, arc.l2, parameters, 1.0, 0.0)
    by_aD = doubled_slopes(arc, end, arc.aD, parameters, 0.0, 1.0)
    return ArcSlopes(s2, cn2, dn2, angle, by_l2, by_aD, 2.0 * arc.n + by_n, 2.0 * arc.ka + zr * zi_ka * per_zz)


@inline
def any_arc(parameters, rest):
    """Return the arc of a unit of time, for lambda up to K; rest = lambda^2 - |D|."""
    l2, _, n, ka = parameters
    time = 1.0
    doublings = 0
    while l2 * (time * time) > SMALL:
        time *= 0.5
        doublings += 1
    arc = small_arc(l2, rest, n, ka, time)
    for _ in range(doublings):
        arc = doubled(arc, parameters)
    return arc


@noinline_strict
def mean_and_weight(kc, pp):
    """Return (M, dM, W, dW, W_pp): the mean of 1 and kc, W = L/K, and their derivatives.

    L = int_0^(pi/2) cos^2/((cos^2 + pp sin^2) sqrt(cos^2 + kc^2 sin^2)), kc > 0, pp > 0, by Bulirsch's cel as in
    ``elliptic``, differentiated; dM, dW are derivatives by ln kc, W_pp is that by pp.
    """
    p = sqrt(pp)
    p_n, dp = 0.5 / p, 0.0
    a, da, a_n = 1.0, 0.0, 0.0
    b, db, b_n = 0.0, 0.0, 0.0
    mean, dmean, geometric, dgeometric = 1.0, 0.0, kc, kc
    for _ in range(AGM_STEPS):
        gap = abs(mean - geometric)
        left = gap * (gap + abs(dmean - dgeometric))
        per_p = 1.0 / p
        square, dsquare = mean * geometric, dmean * geometric + mean * dgeometric
        g = square * per_p
        dg, g_n = (dsquare - g * dp) * per_p, -g * p_n * per_p
        bp = b * per_p
        dbp, bp_n = (db - bp * dp) * per_p, (b_n - bp * p_n) * per_p
        a, da, a_n, b, db, b_n = (
            0.5 * (a + bp), 0.5 * (da + dbp), 0.5 * (a_n + bp_n),
            0.5 * (b + a * g), 0.5 * (db + (da * g + a * dg)), 0.5 * (b_n + (a_n * g + a * g_n)),
        )  # fmt: skip
        p, dp, p_n = 0.5 * (p + g), 0.5 * (dp + dg), 0.5 * (p_n + g_n)
        mean, dmean = 0.5 * (mean + geometric), 0.5 * (dmean + dgeometric)
        geometric = sqrt(square)
        dgeometric = 0.5 * dsquare / geometric
        if left <= AGM_GAP:
            break
    per = 1.0 / (mean + p)
    W = (b + a * mean) * per
    dW = (db + (da * mean + a * dmean) - W * (dmean + dp)) * per
    return mean, dmean, W, dW, (b_n + a_n * mean - W * p_n) * per


@inline
def slope_of_integral(mc, n, mean, W, dmean, dW):
    """Return the derivative of L = K W by mc = kc^2.

    Next to the separatrix the derivatives of K and W would cancel, and an integral is used:
    -1/2 int cos^2 sin^2/((1 + n sin^2) D^3), D^2 = cos^2 + mc sin^2, is -1/2 int sin^2 cos^2/((1 + n - q sin^2) D) with
    q = 1 + n - mc (u -> K - u), and that is a difference of two L.
    """
    K = 0.5 * pi / mean
    if mc > SEPARATE:
        return 0.5 * K * (dW - W * dmean / mean) / mc
    kc = sqrt(mc)
    q = 1.0 + n - mc
    first = mean_and_weight(kc, mc / (1.0 + n))[2]
    return -0.5 * K * (first - mean_and_weight(kc, 1.0)[2]) / q
