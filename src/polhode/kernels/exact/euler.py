"""The exact flow of the free rigid body, m' = m x w, q' = q (0, w)/2, w = m/I, for any step h.

The closed form has no phase, no frames and no case distinctions. With w_i = 1/I_i, I1 <= I2 <= I3, and t = h/2 as the
unit of time:

    al = (w2 - w3) t, be = (w1 - w3) t, ga = (w1 - w2) t
    C3 = be m1^2 + al m2^2,  C1 = ga m2^2 + be m3^2,  p = ga C3,  r = al C1,  D = p - r = be (ga m1^2 - al m3^2)
    S' = C D_, C' = -p S D_, D_' = -r S C,  S(0) = 0, C(0) = D_(0) = 1;   s, c, d = S, C, D_(1)                 (1)

    midpoint  b = (m1 d - al m2 m3 s c, m2 c d + be m1 m3 s, m3 c - ga m1 m2 s d) / (1 - al ga m2^2 s^2)        (2)
    end       m(h) = m + (2 s/N) (-al c b2 b3, be b1 b3, -ga d b1 b2),  N = 1 - al ga b2^2 s^2                  (3)
    Theta     = be n int_0^1 S^2 / (1 + n S^2),  n = al C3 or ga C1                                             (4)
    attitude  q(h) = q (cos phi + sin phi (0, m)/|m|) X/|X|,  |X|^2 = (1 + n s^2) N                             (5)
        n = al C3:  phi = |m| (w3 t + Theta),  X = (c, be s b1, al s c b2, 0)
        n = ga C1:  phi = |m| (w1 t - Theta),  X = (d, 0, -ga s d b2, -be s b3)

The first form of (5) is used if |C3| <= |C1|, that is, if 2E/|m|^2 = w3 + C3/(|m|^2 t) = w1 - C1/(|m|^2 t) is nearer
to w3 than to w1. Then n <= lambda^2, and phi is not much larger than the angle 2E t/|m| by which q turns about m. In
the other form X may turn by as much as phi in the opposite direction, and for a large third moment most of both
cancels.

S, C, D_ are sn/lambda, cn, dn (D >= 0) or sn/lambda, dn, cn (D < 0) with lambda^2 = max(p, r); they remain analytic
where p or r or both vanish (symmetric and spherical bodies, steady spins, rest). For the relation to the published
solutions (Celledoni, Fasso, Safstrom, Zanna 2008; Celledoni, Zanna 2010) see docs/errata.md.

(3) is an increment on purpose: rounding errors of the constants s, c, d then affect a small quantity, and round-off
over many steps is a random walk instead of a drift.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import power_of_two, stack_array
from polhode.kernels.compiler.jit import inline, noinline_strict
from polhode.kernels.numbers.eft import dd_mul, dd_sub, exact_sum, two_prod, two_sum
from polhode.kernels.numbers.elliptic import mean_and_weight
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.series import FIRST, NODE, WEIGHT, WP0, WP1, WP2, WP3
from polhode.kernels.numbers.trig import is_odd, rint, sincos, sincos_of_sum

SMALL = 0.25  # lambda^2 up to which the series is used
SHORT = 0.0164  # lambda^2 up to which its first terms and three nodes are enough
UNREDUCED = 4.0  # lambda^2 above which whole half-periods are subtracted
FEW = 16.0  # spin angle in radians up to which a single double is accurate enough
CLOSE = 0.125  # |D|/lambda^2 below which D is computed without cancellation
ESCAPED = 350.0  # lambda after which exp(-lambda)^2 would underflow: the body rests on its middle axis
MANY_TURNS = 4503599627370496.0  # 2^52 half-periods: beyond, their number is not an exact integer
PER_PI = 1.0 / pi
FAINT = 1e-200  # smallest squares whose products with al and ga do not underflow
CANCELED = 2.0**-48  # D relative to its two terms, below which a double-double is not accurate enough


class BodyConstants(NamedTuple):
    """Constants of a body with sorted moments I1 <= I2 <= I3, scaled so that 1 <= I1 < 2."""

    I1: float
    I2: float
    I3: float
    w1: float
    w2: float
    w3: float
    w23: float  # w2 - w3, w1 - w3, w1 - w2
    w13: float
    w12: float
    gap1h: float  # (I2 - I1) I3 / 2^k, a double-double; D is computed from it, gap3 and gap_scale
    gap1l: float
    gap3h: float  # (I3 - I2) I1 / 2^k
    gap3l: float
    gap_scale: float


class Invariants(NamedTuple):
    """Constants of one motion and one step.

    The symbols are defined in the docstring of the module; G is |m|.
    """

    al: float
    be: float
    ga: float
    G: float
    C1: float
    C3: float
    p: float
    r: float
    n: float
    axis3: bool  # whether n = al C3, the first form of (5)


class Arc(NamedTuple):
    """S, C, D_ of (1) as quotients s/r, c/r, d/r.

    With a common denominator, a step does not need to divide by it.
    """

    s: float
    r: float
    c: float
    d: float


@inline
def body_constants(I):
    """Return the constants of a body with sorted moments I and 1 <= I1 < 2.

    Differences of moments are taken before any division.
    """
    I1, I2, I3 = I
    d21, e21 = two_sum(I2, -I1)
    d32, e32 = two_sum(I3, -I2)
    unit, per_unit = power_of_two(I3)
    gap1h, gap1l = dd_mul((d21, e21), (I3 * per_unit, 0.0))
    gap3h, gap3l = dd_mul((d32, e32), (I1 * per_unit, 0.0))
    w1, w2, w3 = 1.0 / I1, 1.0 / I2, 1.0 / I3
    w13 = (I3 - I1) / I1 / I3
    return BodyConstants(
        I1, I2, I3, w1, w2, w3,
        d32 / I2 / I3, w13, d21 / I1 / I2,
        gap1h, gap1l, gap3h, gap3l, w13 * w1 * w2 * (w3 * unit),
    )  # fmt: skip


@inline
def invariants(body, m, t):
    """Return the constants of the motion with momentum m, for the unit of time t.

    They are sums of squares only, so that each is accurate to its last digits.
    """
    m1, m2, m3 = m
    al, be, ga = body.w23 * t, body.w13 * t, body.w12 * t
    x, y, z = m1 * m1, m2 * m2, m3 * m3
    C3, C1 = be * x + al * y, ga * y + be * z
    axis3 = abs(C3) <= abs(C1)
    n = al * C3 if axis3 else ga * C1
    return Invariants(al, be, ga, sqrt(x + y + z), C1, C3, ga * C3, al * C1, n, axis3)


@inline
def distance(body, inv, m, t):
    """Return D, accurate to its last digits."""
    m1, _, m3 = m
    D = inv.be * (inv.ga * (m1 * m1) - inv.al * (m3 * m3))
    if abs(D) <= CLOSE * max(inv.p, inv.r):
        D = separatrix_gap(body, m) * t * t
    return D


@inline
def separatrix_gap(body, m):
    """Return D/t^2 = w13 (w12 m1^2 - w23 m3^2).

    The result is accurate to its last digits, even arbitrarily close to the separatrix D = 0.
    """
    gap, terms = close_gap(body, m)
    if abs(gap) <= CANCELED * terms and terms > 0.0:
        gap = exact_gap((body.I1, body.I2, body.I3), m)
    return body.gap_scale * gap


@inline
def close_gap(body, m):
    """Return D/t^2/gap_scale and the sum of the absolute values of its two terms.

    The difference is computed in double-double arithmetic and loses digits only if it is below CANCELED times the sum.
    """
    m1, _, m3 = m
    first = dd_mul(two_prod(m1, m1), (body.gap1h, body.gap1l))
    third = dd_mul(two_prod(m3, m3), (body.gap3h, body.gap3l))
    gap, rest = dd_sub(first, third)
    return gap + rest, first[0] + third[0]


new_terms = stack_array(32)


@noinline_strict
def exact_gap(I, m):
    """Return ((I2 - I1) I3 m1^2 - (I3 - I2) I1 m3^2)/2^k, computed in exact arithmetic and rounded once."""
    I1, I2, I3 = I
    m1, _, m3 = m
    per_unit = power_of_two(I3)[1]
    terms = new_terms()
    count = append_exact_product(terms, 0, m1, I2, I1, I3 * per_unit)
    count = append_exact_product(terms, count, m3, I2, I3, I1 * per_unit)
    return exact_sum(terms, count)


@noinline_strict
def append_exact_product(terms, count, m, a, b, c):
    """Append the exact m^2 (a - b) c as sixteen doubles to terms[count:], and return the new count."""
    square = two_prod(m, m)
    difference = two_sum(a, -b)
    for x in square:
        for y in difference:
            for z in two_prod(x, y):
                terms[count], terms[count + 1] = two_prod(z, c)
                count += 2
    return count


@inline
def small_arc(p, r, n):
    """Return (Arc, Theta/be) for max(p, r) <= 1/4.

    The arc is the Laurent series of 1/S^2, and Theta is (4) by Gauss quadrature.
    """
    rr = short_series(p, r) if max(p, r) <= SHORT else full_series(p, r)
    root = sqrt(rr)
    return Arc(1.0, root, sqrt(rr - p), sqrt(rr - r)), n * root * third_kind(rr, p, r, n)


@inline
def full_series(p, r):
    """Return 1/S^2 for max(p, r) <= 1/4."""
    a = (p * p - p * r + r * r) * (1.0 / 15.0)  # g2/20 and g3/28 of Weierstrass' function
    b = (p + r) * ((2.0 * p - r) * (p - 2.0 * r)) * (1.0 / 189.0)
    aa = a * a
    row0 = (WP0[5] * aa + (WP0[4] * a + WP0[3])) * aa + (WP0[2] * a + WP0[1])
    row1 = (WP1[3] * a + WP1[2]) * aa + (WP1[1] * a + WP1[0])
    row2 = WP2[2] * aa + (WP2[1] * a + WP2[0])
    return 1.0 + ((p + r) * (1.0 / 3.0) + (row0 * a + b * (row1 + b * (row2 + b * WP3[0]))))


@inline
def short_series(p, r):
    """Return 1/S^2 for max(p, r) <= SHORT."""
    a = (p * p - p * r + r * r) * (1.0 / 15.0)
    b = (p + r) * ((2.0 * p - r) * (p - 2.0 * r)) * (1.0 / 189.0)
    rest = a * (1.0 + (WP0[3] * a + WP0[2]) * a + WP1[1] * b) + b * (1.0 + WP2[0] * b)
    return 1.0 + ((p + r) * (1.0 / 3.0) + rest)


@inline
def third_kind(rr, p, r, n):
    """Return int_0^1 x^2 dx / ((rr + n x^2) sqrt((rr - p x^2)(rr - r x^2))) by Gauss quadrature.

    max(p, r) <= 1/4 determines the number of nodes.
    """
    size = max(p, r)  # n times the error stays below 0.3 eps up to each limit
    if size <= SHORT:
        nodes = 2 if size <= 0.00183 else 3
    elif size <= 0.127:
        nodes = 4 if size <= 0.0554 else 5
    else:
        nodes = 6 if size <= 0.226 else 7
    numerator, denominator = 0.0, 1.0
    for i in range(FIRST[nodes], FIRST[nodes] + nodes):
        numerator, denominator = add_node(i, numerator, denominator, rr, p, r, n)
    return numerator / denominator


@inline
def add_node(i, numerator, denominator, rr, p, r, n):
    """Return the numerator and denominator of the quadrature with node i added.

    The sum is kept as a quotient, so that a single division is needed for all nodes.
    """
    x = NODE[i]
    e = (rr + n * x) * sqrt((rr - p * x) * (rr - r * x))
    return numerator * e + WEIGHT[i] * denominator, denominator * e


@inline
def take_off_half_periods(l2, aD, n):
    """Return (time, turns, Theta/be), where ``turns`` half-periods 2K/lambda are subtracted from the time 1.

    Theta is the contribution of these half-periods.

    A body on its middle axis (or closer to it than its momentum can express) has no period. In this case the time that
    remains after the body has come to rest there is subtracted, at the constant rate of (4) with S = 1/lambda.
    """
    lam = sqrt(l2)
    per_l2 = 1.0 / l2
    time, turns, theta = 1.0, 0.0, 0.0
    if aD > 0.0:
        mean, per_mean, weight = mean_and_weight(min(1.0, sqrt(aD * per_l2)), n * per_l2)
        half_period = pi * per_mean * (lam * per_l2)
        turns = rint(lam * mean * PER_PI)
        theta = turns * half_period * (n * per_l2 * weight)
        time = 1.0 - turns * half_period if turns < MANY_TURNS else 1.0 % half_period
    if lam * abs(time) > ESCAPED:
        escape = ESCAPED / lam if time > 0.0 else -ESCAPED / lam
        theta += (time - escape) * (n / (l2 + n))
        time = escape
    return time, turns, theta


@inline
def any_arc(inv, D):
    """Return (Arc, Theta/be, cos, sin) for any lambda.

    |m| Theta is be |m| times the returned number, plus the angle whose cosine and sine are returned.

    Half-periods are subtracted, the time is halved until the series is accurate, and the result is doubled again. Only
    one of cn, dn is doubled by its own formula; the other follows from dn^2 = cn^2 + |D| s^2, because doubling both
    lets their ratio drift.
    """
    l2 = inv.p if D >= 0.0 else inv.r
    aD = abs(D)
    n = inv.n
    time, turns, theta_turns = 1.0, 0.0, 0.0
    if l2 > UNREDUCED:
        time, turns, theta_turns = take_off_half_periods(l2, aD, n)
    doublings = 0
    while l2 * (time * time) > SMALL:
        time *= 0.5
        doublings += 1
    tt = time * time
    arc, theta = small_arc(inv.p * tt, inv.r * tt, n * tt)
    theta *= time
    per_r = 1.0 / arc.r
    s, c, d = time * per_r, arc.c * per_r, arc.d * per_r
    cn, dn = (c, d) if D >= 0.0 else (d, c)
    two_be_g = 2.0 * inv.be * inv.G
    re, im = 1.0, 0.0
    for _ in range(doublings):
        (s, cn, dn), (re, im) = double(l2, aD, n, two_be_g, (s, cn, dn), (re, im))
        theta *= 2.0
    if is_odd(turns):
        s, cn = -s, -cn
    c, d = (cn, dn) if D >= 0.0 else (dn, cn)
    unit = 1.0 / sqrt(re * re + im * im)
    return Arc(s, 1.0, c, d), theta + theta_turns, re * unit, im * unit


@inline
def double(l2, aD, n, two_be_g, functions, turn):
    """Return the functions (s, cn, dn) at twice the time, and the turn (re, im).

    |m| Theta is the sum of a number, which the caller doubles, and the angle of re + i im, whose length is arbitrary.
    """
    s, cn, dn = functions
    re, im = turn
    cc, dd = cn * cn, dn * dn
    n_ss, l2_ss, aD_ss = n * s * s, l2 * s * s, aD * s * s
    zr = cc * (1.0 + n_ss * (1.0 + dd)) + (n_ss + l2_ss) * dd  # > 0: the angle never wraps
    zi = two_be_g * n_ss * s * (cn * dn)
    unit = 1.0 / (re * re + im * im)  # the length is arbitrary, but must stay bounded
    re, im = (re * re - im * im) * unit, 2.0 * re * im * unit
    re, im = re * zr - im * zi, re * zi + im * zr
    per_N = 1.0 / (cc + l2_ss * dd)
    s, cn = 2.0 * s * cn * dn * per_N, (cc * cc - l2_ss * aD_ss) * per_N
    return (s, cn, sqrt(cn * cn + aD * s * s)), (re, im)


@inline
def spin_angle(I, w, g, m, t):
    """Return |m| t/I as a double-double, from w = 1/I and g = |m|.

    This is the large angle of (5), whose last digits determine those of q.
    """
    m1, m2, m3 = m
    h1, l1 = two_prod(m1, m1)
    h2, l2 = two_prod(m2, m2)
    h3, l3 = two_prod(m3, m3)
    gg, e1 = two_sum(h1, h2)
    gg, e2 = two_sum(gg, h3)
    p, e = two_prod(g, g)
    g_low = ((gg - p) - e + ((e1 + e2) + ((l1 + l2) + l3))) / (2.0 * g)
    p, e = two_prod(w, I)
    w_low = ((1.0 - p) - e) * w
    return dd_mul(dd_mul((g, g_low), (w, w_low)), (t, 0.0))


@inline
def step(body, m, q, h):
    """Return (m, q) after a time h.

    The step includes a Newton step of q towards |q| = 1.
    """
    t = 0.5 * h
    inv = invariants(body, m, t)
    if inv.G == 0.0:
        return m, q
    l2 = max(inv.p, inv.r)
    if l2 <= SMALL:
        arc, theta = small_arc(inv.p, inv.r, inv.n)
        theta *= inv.be * inv.G if inv.axis3 else -inv.be * inv.G
        spin = inv.G * ((body.w3 if inv.axis3 else body.w1) * t)
        turn = sincos_of_sum(spin, theta) if abs(spin) <= FEW else sincos_of_many(body, inv, m, t, theta)
        return assemble(inv, 0.0, False, arc, m, q, turn)
    D = distance(body, inv, m, t)
    arc, theta, re, im = any_arc(inv, D)
    theta *= inv.be * inv.G if inv.axis3 else -inv.be * inv.G
    im = im if inv.axis3 else -im
    s, c = sincos_of_many(body, inv, m, t, theta)
    return assemble(inv, D, True, arc, m, q, (s * re + c * im, c * re - s * im))


@inline
def sincos_of_many(body, inv, m, t, theta):
    """Return (sin, cos) of phi of (5), for any number of turns.

    The spin angle is a double-double, and ``theta`` is added to it without rounding error.
    """
    I, w = (body.I3, body.w3) if inv.axis3 else (body.I1, body.w1)
    phi, low = spin_angle(I, w, inv.G, m, t)
    phi, e = two_sum(phi, theta)
    return sincos(phi, low + e)


class StepEnd(NamedTuple):
    """m(h), its increment i, and X of (5) with xx = |X|^2; X has an arbitrary common factor."""

    m: tuple
    i: tuple
    x: tuple
    xx: float


@inline
def assemble(inv, D, long, arc, m, q, turn):
    """Return (m, q) at the end of the step; ``turn`` is (sin phi, cos phi).

    s, c, d are quotients over r, so that two divisions and one square root are enough.
    """
    end = momentum_end(inv, D, long, arc, m)
    return end.m, turned(q, rotation(inv.G, long, end, m, turn))


@inline
def momentum_end(inv, D, long, arc, m):
    """Return the end of the step: m(h) by (2) and (3), its increment, and X of (5)."""
    m1, m2, m3 = m
    s, r, c, d = arc
    al, be, ga = inv.al, inv.be, inv.ga
    rr = r * r
    ags = al * ga * s * s
    sc, sr, sd = al * (s * c), be * (s * r), ga * (s * d)
    b1 = m1 * (d * r) - sc * (m2 * m3)
    b2 = m2 * (c * d) + sr * (m1 * m3)
    b3 = m3 * (c * r) - sd * (m1 * m2)
    E1 = rr - ags * (m2 * m2)
    if long and E1 < 0.5:
        f = 1.0 / sum_of_squares(inv, D, m, c, d)
        b1, b3 = outer_components(inv, D, m1 * d, sc * (m2 * m3), m3 * c, sd * (m1 * m2), f)
        b2 = b2 * f
        E1 = 1.0
    E2 = rr * (E1 * E1) - ags * (b2 * b2)
    if long and E2 < 0.5 * E1 * E1:
        E2 = sum_of_squares(inv, D, (b1, b2, b3), c, d)
    f = 2.0 / E2
    i1, i2, i3 = -f * (sc * (b2 * b3)), f * (sr * (b1 * b3)), -f * (sd * (b1 * b2))
    n1, n2, n3 = m1 + i1, m2 + i2, m3 + i3  # (3)
    if long:  # a component that changes sign has half the rounding error if it is not a difference
        n1 = n1 if abs(i1) <= abs(m1) else 0.5 * (f * (d * r * E1 * b1) + i1)
        n2 = n2 if abs(i2) <= abs(m2) else 0.5 * (f * (c * d * E1 * b2) + i2)
        n3 = n3 if abs(i3) <= abs(m3) else 0.5 * (f * (c * r * E1 * b3) + i3)
    if inv.axis3:  # (5)
        x0, x1, x2, x3 = c * r * E1, sr * b1, sc * b2, 0.0
    else:
        x0, x1, x2, x3 = d * r * E1, 0.0, -sd * b2, -sr * b3
    return StepEnd((n1, n2, n3), (i1, i2, i3), (x0, x1, x2, x3), (rr + inv.n * s * s) * E2)


@inline
def outer_components(inv, D, x, y, z, w, f):
    """Return (x - y) f and (z - w) f, components 1 and 3 of (2).

    The arguments are x = m1 d, y = al m2 m3 s c, z = m3 c, w = ga m1 m2 s d. Next to the middle axis each component may
    be the small difference of two numbers, but x^2 - y^2 = (D/be + al z^2)/(ga f) and z^2 - w^2 = (ga x^2 - D/be)/(al
    f) are known to more digits.
    """
    gap = D / inv.be
    b1 = (gap + inv.al * (z * z)) / (inv.ga * (x + y)) if x * y > FAINT else (x - y) * f
    b3 = (inv.ga * (x * x) - gap) / (inv.al * (z + w)) if z * w > FAINT else (z - w) * f
    return b1, b3


@inline
def rotation(G, long, end, m, turn):
    """Return the rotation of the step, the quaternion by which q is multiplied in (5)."""
    m1, m2, m3 = m
    sphi, cphi = turn
    scale, (x0, x1, x2, x3) = consistent(long, G, m, end)
    f = 1.0 / (scale * G * sqrt(end.xx))
    y0 = G * cphi * f
    y = sphi * f
    return product((y0, y * m1, y * m2, y * m3), (x0, x1, x2, x3))


@inline
def turned(q, x):
    """Return q x after a step towards |q| |x| = 1.

    The correction is applied to x, because a product with 1 - eps would round all of q in one direction. It is Newton's
    step with one more term: the deviation of |q| from 1, up to NORM_TOLERANCE, is removed to third order.
    """
    q0, q1, q2, q3 = q
    x0, x1, x2, x3 = x
    e = (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3) + (x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3) - 2.0
    f = 1.0 - e * (0.5 - 0.375 * e)
    return product((q0, q1, q2, q3), (x0 * f, x1 * f, x2 * f, x3 * f))


@inline
def consistent(long, G, m, end):
    """Return (scale, scale X), with the vector part of X computed from the increment i of m.

    X and i satisfy x0 i = 2 a x X, a = m + i/2, so that the result is the same up to rounding. But the rounding errors
    of X and i would be two errors that repeat in every step, and would make the momentum in space, Q m, drift; this way
    they are one error. Only the turn about a is taken from X itself.
    """
    m1, m2, m3 = m
    i1, i2, i3 = end.i
    x0, x1, x2, x3 = end.x
    a1, a2, a3 = m1 + 0.5 * i1, m2 + 0.5 * i2, m3 + 0.5 * i3
    aa = a1 * a1 + a2 * a2 + a3 * a3
    if long and aa < 0.25 * (G * G):  # m has nearly been reversed
        return 1.0, end.x
    along, across = x1 * a1 + x2 * a2 + x3 * a3, 0.5 * x0
    return aa, (
        x0 * aa,
        along * a1 + across * (i2 * a3 - i3 * a2),
        along * a2 + across * (i3 * a1 - i1 * a3),
        along * a3 + across * (i1 * a2 - i2 * a1),
    )


@inline
def sum_of_squares(inv, D, m, c, d):
    """Return 1 - al ga m2^2 s^2 without cancellation.

    It follows from C^2 = 1 - p S^2 or D_^2 = 1 - r S^2, whichever is cn.
    """
    x, y, z = m
    if D >= 0.0:
        return inv.be / inv.C3 * (x * x) + inv.al / inv.C3 * (y * y) * (c * c)
    return inv.be / inv.C1 * (z * z) + inv.ga / inv.C1 * (y * y) * (d * d)
