"""The exact flow of the free rigid body, m' = m x w, q' = q (0, w)/2, w = m/I, for any step h.

Closed form without phase, frames or case distinctions. With w_i = 1/I_i, I1 <= I2 <= I3, t = h/2:

    al = w2 - w3, be = w1 - w3, ga = w1 - w2
    C3 = be m1^2 + al m2^2,  C1 = ga m2^2 + be m3^2,  P = ga C3,  R = al C1,  D = P - R = be (ga m1^2 - al m3^2)
    S' = C D_, C' = -P S D_, D_' = -R S C,  S(0) = 0, C(0) = D_(0) = 1                                        (1)

    midpoint  b = (m1 d - al m2 m3 s c, m2 c d + be m1 m3 s, m3 c - ga m1 m2 s d) / (1 - al ga m2^2 s^2)      (2)
    end       m(h) = m + (2 s/N) (-al c b2 b3, be b1 b3, -ga d b1 b2),  N = 1 - al ga b2^2 s^2                (3)
    Theta(t)  = be nu int_0^t S^2 / (1 + nu S^2),  nu = min(al C3, ga C1)                                     (4)
    attitude  q(h) = q (cos phi + sin phi (0, m)/|m|) X/|X|,  |X|^2 = (1 + nu s^2) N                          (5)
        nu = al C3:  phi = |m| (w3 t + Theta),  X = (c, be s b1, al s c b2, 0)
        nu = ga C1:  phi = |m| (w1 t - Theta),  X = (d, 0, -ga s d b2, -be s b3)

S, C, D_ are sn/lambda, cn, dn (D >= 0) or sn/lambda, dn, cn (D < 0) with lambda^2 = max(P, R); they stay analytic
where P or R or both vanish (symmetric and spherical bodies, steady spins, rest). Relation to the published
solutions (Celledoni, Fasso, Safstrom, Zanna 2008; Celledoni, Zanna 2010): docs/errata.md.

(3) is an increment on purpose: rounding of the constants s, c, d then hits a small quantity, and round-off over many
steps is a random walk instead of a drift.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import NamedTuple

import numpy as np

from polhode.kernels.eft import dd_mul, dd_sub, exact_sum, two_prod, two_sum
from polhode.kernels.elliptic import complete_k_and_l
from polhode.kernels.jit import helper, power_of_two, rare
from polhode.kernels.quat import product
from polhode.kernels.series import FIRST, NODE, WEIGHT, WP0, WP1, WP2, WP3

SMALL = 0.25  # (lambda t)^2 up to which the series is used
UNREDUCED = 2.5  # (lambda t)^2 above which whole half-periods are taken off
ESCAPED = 350.0  # lambda t after which exp(-lambda t)^2 would underflow: the body rests on its middle axis
MANY_TURNS = 4503599627370496.0  # 2^52 half-periods: beyond, their count is not a whole number any more
CANCELED = 2.0**-96  # D relative to its two terms below which double-double does not know it


class Body(NamedTuple):
    """Constants of a body with sorted moments I1 <= I2 <= I3, scaled so that 1 <= I1 < 2."""

    I1: float
    I2: float
    I3: float
    w1: float
    w2: float
    w3: float
    al: float
    be: float
    ga: float
    gap1h: float  # (I2 - I1) I3 / 2^k, a double-double; with gap3 and gap_scale it forms D
    gap1l: float
    gap3h: float  # (I3 - I2) I1 / 2^k
    gap3l: float
    gap_scale: float


class Invariants(NamedTuple):
    """Constants of one motion: see the module's docstring."""

    G: float
    C1: float
    C3: float
    P: float
    R: float
    nu: float
    axis3: bool  # nu = al C3: the first form of (5)


@helper
def body_constants(I1, I2, I3):
    """Body of sorted moments with 1 <= I1 < 2. Differences are taken before anything is divided."""
    d21, e21 = two_sum(I2, -I1)
    d32, e32 = two_sum(I3, -I2)
    unit, per_unit = power_of_two(I3)
    gap1h, gap1l = dd_mul(d21, e21, I3 * per_unit, 0.0)
    gap3h, gap3l = dd_mul(d32, e32, I1 * per_unit, 0.0)
    w1, w2, w3 = 1.0 / I1, 1.0 / I2, 1.0 / I3
    be = (I3 - I1) / I1 / I3
    return Body(
        I1, I2, I3, w1, w2, w3,
        d32 / I2 / I3, be, d21 / I1 / I2,
        gap1h, gap1l, gap3h, gap3l, be * w1 * w2 * (w3 * unit),
    )  # fmt: skip


@helper
def invariants(body, m1, m2, m3):
    """Sums of squares only: each is accurate to its last digits."""
    y = m2 * m2
    C3 = body.be * (m1 * m1) + body.al * y
    C1 = body.ga * y + body.be * (m3 * m3)
    nu3, nu1 = body.al * C3, body.ga * C1
    axis3 = nu3 <= nu1
    G = sqrt(m1 * m1 + y + m3 * m3)
    return Invariants(G, C1, C3, body.ga * C3, body.al * C1, nu3 if axis3 else nu1, axis3)


@helper
def separatrix_gap(body, m1, m3):
    """D = be (ga m1^2 - al m3^2), right to its last digits however close the separatrix D = 0 is."""
    h1, l1 = two_prod(m1, m1)
    h3, l3 = two_prod(m3, m3)
    h1, l1 = dd_mul(h1, l1, body.gap1h, body.gap1l)
    h3, l3 = dd_mul(h3, l3, body.gap3h, body.gap3l)
    gap, rest = dd_sub(h1, l1, h3, l3)
    if abs(gap) <= CANCELED * (h1 + h3) and gap + h1 > 0.0:
        gap, rest = exact_gap(body.I1, body.I2, body.I3, m1, m3), 0.0
    return body.gap_scale * (gap + rest)


@rare
def exact_gap(I1, I2, I3, m1, m3):
    """((I2 - I1) I3 m1^2 - (I3 - I2) I1 m3^2)/2^k in exact arithmetic, rounded once."""
    per_unit = power_of_two(I3)[1]
    terms = np.empty(32)
    count = append_exact_product(terms, 0, m1, I2, I1, I3 * per_unit)
    count = append_exact_product(terms, count, m3, I2, I3, I1 * per_unit)
    return exact_sum(terms, count)


@rare
def append_exact_product(terms, count, m, a, b, c):
    """Append the exact m^2 (a - b) c as sixteen doubles; returns the new count."""
    square = two_prod(m, m)
    difference = two_sum(a, -b)
    for x in square:
        for y in difference:
            for z in two_prod(x, y):
                terms[count], terms[count + 1] = two_prod(z, c)
                count += 2
    return count


@helper
def small_arc(P, R, nu, t):
    """(s, c, d, Theta/be) for max(P, R) t^2 <= 1/4: Laurent series of 1/S^2 and Gauss quadrature of (4)."""
    p, r = P * t * t, R * t * t
    a = (p * p - p * r + r * r) * (1.0 / 15.0)  # g2 t^4/20 and g3 t^6/28 of Weierstrass' function
    b = (p + r) * (2.0 * p - r) * (p - 2.0 * r) * (1.0 / 189.0)
    row0 = ((((WP0[5] * a + WP0[4]) * a + WP0[3]) * a + WP0[2]) * a + WP0[1]) * a
    row1 = ((WP1[3] * a + WP1[2]) * a + WP1[1]) * a + WP1[0]
    row2 = (WP2[2] * a + WP2[1]) * a + WP2[0]
    series = 1.0 + ((p + r) * (1.0 / 3.0) + (row0 + b * (row1 + b * (row2 + b * WP3[0]))))
    s = t / sqrt(series)
    P, R, nu = P * s * s, R * s * s, nu * s * s
    return s, sqrt(1.0 - P), sqrt(1.0 - R), nu * s * third_kind(P, R, nu, max(p, r))


@helper
def third_kind(P, R, nu, size):
    """int_0^1 x^2 dx / ((1 + nu x^2) sqrt((1 - P x^2)(1 - R x^2))), with as many nodes as size <= 1/4 asks for."""
    if size <= 0.0164:
        nodes = 2 if size <= 0.00183 else 3
    elif size <= 0.118:
        nodes = 4 if size <= 0.0554 else 5
    else:
        nodes = 6 if size <= 0.195 else 7
    numerator, denominator = 0.0, 1.0
    for i in range(FIRST[nodes], FIRST[nodes] + nodes):
        x = NODE[i]
        e = (1.0 + nu * x) * sqrt((1.0 - P * x) * (1.0 - R * x))
        numerator = numerator * e + WEIGHT[i] * denominator
        denominator *= e
    return numerator / denominator


@helper
def take_off_half_periods(l2, aD, nu, t):
    """(t, turns, Theta/be) with t reduced by turns half-periods 2K/lambda, which contribute Theta.

    A body on its middle axis (or closer to it than its momentum can express) has no period: the time that is left
    after it has come to rest there is taken off instead, at the constant rate of (4) with S = 1/lambda.
    """
    lam = sqrt(l2)
    turns, theta = 0.0, 0.0
    if aD > 0.0:
        K, L = complete_k_and_l(min(1.0, sqrt(aD) / lam), nu / l2)
        half_period = 2.0 * K / lam
        turns = float(np.rint(t / half_period))
        theta = turns * (2.0 * nu / (l2 * lam)) * L
        t = t - turns * half_period if abs(turns) < MANY_TURNS else t % half_period
    if lam * abs(t) > ESCAPED:
        escape = ESCAPED / lam if t > 0.0 else -ESCAPED / lam
        theta += (t - escape) * (nu / (l2 + nu))
        t = escape
    return t, turns, theta


@helper
def any_arc(body, inv, D, t):
    """(s, c, d, Theta/be, cos, sin) for any t: Theta as a number plus the angle whose cosine and sine are given.

    Half-periods off, halve until the series holds, double back. Only one of cn, dn is doubled by its own formula,
    the other follows from dn^2 = cn^2 + |D| s^2: doubling both lets their ratio drift.
    """
    l2 = inv.P if D >= 0.0 else inv.R
    aD, nu = abs(D), inv.nu
    turns, theta_turns = 0.0, 0.0
    if l2 * t * t > UNREDUCED:
        t, turns, theta_turns = take_off_half_periods(l2, aD, nu, t)
    doublings = 0
    while l2 * t * t > SMALL:
        t *= 0.5
        doublings += 1
    s, c, d, theta = small_arc(inv.P, inv.R, nu, t)
    cn, dn = (c, d) if D >= 0.0 else (d, c)
    two_be_g = 2.0 * body.be * inv.G
    re, im = 1.0, 0.0
    for _ in range(doublings):
        cc, dd = cn * cn, dn * dn
        nu_ss, l2_ss, aD_ss = nu * s * s, l2 * s * s, aD * s * s
        zr = cc * (1.0 + nu_ss * (1.0 + dd)) + (nu_ss + l2_ss) * dd  # > 0: the angle never wraps
        zi = two_be_g * nu_ss * s * (cn * dn)
        unit = 1.0 / sqrt(zr * zr + zi * zi)
        re, im = re * re - im * im, 2.0 * re * im
        re, im = (re * zr - im * zi) * unit, (re * zi + im * zr) * unit
        per_N = 1.0 / (cc + l2_ss * dd)
        s, cn = 2.0 * s * cn * dn * per_N, (cc * cc - l2_ss * aD_ss) * per_N
        dn = sqrt(cn * cn + aD * s * s)
        theta *= 2.0
    if turns != 2.0 * float(np.rint(0.5 * turns)):
        s, cn = -s, -cn
    c, d = (cn, dn) if D >= 0.0 else (dn, cn)
    return s, c, d, theta + theta_turns, re, im


@helper
def addition_denominator(body, inv, D, x, y, z, s, c, d):
    """1 - al ga y^2 s^2 of (2) and (3); by sums of squares where it cancels, which is near the separatrix."""
    plain = 1.0 - body.al * body.ga * (y * y) * s * s
    if plain >= 0.5:
        return plain
    if D >= 0.0:
        return (body.be * (x * x) + body.al * (y * y) * (c * c)) / inv.C3
    return (body.be * (z * z) + body.ga * (y * y) * (d * d)) / inv.C1


@helper
def spin_angle(I, m1, m2, m3, t):
    """|m| t/I as a double-double: the one large angle of (5), whose last digits are the attitude's."""
    h1, l1 = two_prod(m1, m1)
    h2, l2 = two_prod(m2, m2)
    h3, l3 = two_prod(m3, m3)
    gg, e1 = two_sum(h1, h2)
    gg, e2 = two_sum(gg, h3)
    g = sqrt(gg)
    p, e = two_prod(g, g)
    g_low = ((gg - p) - e + ((e1 + e2) + ((l1 + l2) + l3))) / (2.0 * g)
    w = 1.0 / I
    p, e = two_prod(w, I)
    w_low = ((1.0 - p) - e) * w
    p, e = dd_mul(g, g_low, w, w_low)
    return dd_mul(p, e, t, 0.0)


@helper
def step(body, m1, m2, m3, q0, q1, q2, q3, h):
    """(m, q) after a time h, as seven numbers; q is pulled towards |q| = 1 by one Newton step."""
    al, be, ga = body.al, body.be, body.ga
    inv = invariants(body, m1, m2, m3)
    t = 0.5 * h
    D, re, im = 1.0, 1.0, 0.0
    phi_low = 0.0
    if max(inv.P, inv.R) * t * t <= SMALL:
        s, c, d, theta = small_arc(inv.P, inv.R, inv.nu, t)
        phi = inv.G * (body.w3 if inv.axis3 else body.w1) * t
    else:
        D = separatrix_gap(body, m1, m3)
        s, c, d, theta, re, im = any_arc(body, inv, D, t)
        phi, phi_low = spin_angle(body.I3 if inv.axis3 else body.I1, m1, m2, m3, t)
    f = 1.0 / addition_denominator(body, inv, D, m1, m2, m3, s, c, d)
    b1 = (m1 * d - al * (m2 * m3) * (s * c)) * f  # (2)
    b2 = (m2 * (c * d) + be * (m1 * m3) * s) * f
    b3 = (m3 * c - ga * (m1 * m2) * (s * d)) * f
    N = addition_denominator(body, inv, D, b1, b2, b3, s, c, d)
    f = 2.0 * s / N
    n1 = m1 - f * (al * c * (b2 * b3))  # (3)
    n2 = m2 + f * (be * (b1 * b3))
    n3 = m3 - f * (ga * d * (b1 * b2))
    theta *= be * inv.G
    if inv.axis3:  # (5)
        x0, x1, x2, x3 = c, be * s * b1, al * (s * c) * b2, 0.0
    else:
        x0, x1, x2, x3 = d, 0.0, -ga * (s * d) * b2, -be * s * b3
        theta, im = -theta, -im
    phi, e = two_sum(phi, theta)
    phi_low += e
    cphi, sphi = cos(phi), sin(phi)
    cphi, sphi = cphi - phi_low * sphi, sphi + phi_low * cphi
    y0 = cphi * re - sphi * im
    y = (sphi * re + cphi * im) / inv.G if inv.G > 0.0 else 0.0
    f = 1.0 / sqrt((1.0 + inv.nu * s * s) * N)
    q0, q1, q2, q3 = product(q0, q1, q2, q3, y0 * f, y * f * m1, y * f * m2, y * f * m3)
    q0, q1, q2, q3 = product(q0, q1, q2, q3, x0, x1, x2, x3)
    f = 1.5 - 0.5 * (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    return n1, n2, n3, q0 * f, q1 * f, q2 * f, q3 * f
