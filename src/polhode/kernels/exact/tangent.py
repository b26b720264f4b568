"""Derivatives of the exact flow, by differentiating its closed form: d(m, q)/d(m0, I) of ``euler``, for any time.

Symbols are those of ``euler``; t = h/2 is half the time. The sorted axes may be numbered in either direction: with
descending moments al, be, ga are negative and everything else holds, so that the form (5) with n = al C3 is enough. It
reads

    q(h) = q e^(phi m/|m|) X/|X|,   X = (c, be s b1, al s c b2, 0),   phi = G w2 t + A,   A = G (Theta - al t)

and m(h) = X^-1 m X. It is differentiated along one direction after the other, with dual numbers; s, c, d and Theta and
their derivatives are computed by ``slopes``. A change of the parameters changes X, phi and the axis m of the first
factor, and so turns the body by the rotation vector (in body axes at the end, so that dq = q (0, turn)/2)

    turn = xi + 2 dphi m(h)/G + (the axis),   xi = 2 vec(X^-1 dX),   dm(h) = R^T dm + m(h) x xi                  (1)

where R is the matrix of X. In this form lengths cancel, and |m| and Q m are conserved to the last digit.

Whole periods T = 2 T2 are subtracted from the time first, in double-double (``secular``), because a derivative that
grows like t is accurate to eps only if the phase is. Their contribution is (M and W of ``elliptic``, W with cos^2 in
place of sin^2)

    T2 = pi/(lambda M),   A(T2) = -G al T2 W  (D >= 0)   or   T2 (D/be - C3 W)/G  (D < 0)                        (2)
    dm(h) -= j dT m x w,   turn -= j dT (w - w2 m) - 2 j dA(T2) m/G                                              (3)

Next to the middle axis dT is large and w - w2 m small: with w2 as the rate of phi no large terms cancel.
"""

from __future__ import annotations

from math import cos, inf, pi, sin, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.euler import ESCAPED, FEW, MANY_TURNS, body_constants, distance, invariants
from polhode.kernels.exact.secular import TWO_PI, period_and_turn
from polhode.kernels.exact.slopes import Parameters, any_arc, mean_and_weight, slope_of_integral
from polhode.kernels.exact.standard_form import (
    INPUT,
    TIMES,
    attitude_from_order,
    from_order,
    operands,
    standard_form,
    to_order,
    to_standard_time,
)
from polhode.kernels.numbers.dual import Dual, add, div, mul, scale, sub
from polhode.kernels.numbers.eft import dd_add, dd_div, dd_mul, dd_sqrt, dd_sub
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import rint
from polhode.kernels.numbers.vectors import largest, times

QUARTER = 2.467  # (lambda t)^2 up to which the time is less than half a period: K >= pi/2
ON_AXIS = 1e-300  # |D|/lambda^2 of a body that is closer to the separatrix than squares of its momentum can express
REVERSED = (3, 5, 4, 0, 2, 1)  # the order of ``standard_form.to_order`` followed by (x1, x2, x3) -> (-x3, -x2, -x1)
LOST = 1e18  # radians beyond which a double-double does not improve an angle
BY_M, BY_Q, BY_I, BY_T = 0, 3, 7, 10  # columns of the matrix
OVERFLOWED = 1e250  # largest derivative at ESCAPED; larger ones would have overflowed after it


class TangentMotion(NamedTuple):
    """Constants of one motion, for a unit of time; moments are ascending or descending."""

    m: tuple
    w: tuple  # w1, w2, w3
    al: float
    be: float
    ga: float
    G: float
    C1: float
    C3: float
    gap: float  # D/be
    D: float
    l2: float
    aD: float
    rest: float  # l2 - aD, the smaller of p and r
    n: float


class Changes(NamedTuple):
    """Constants of one motion with their derivatives along one direction."""

    m: tuple  # of Dual
    w2: Dual
    al: Dual
    be: Dual
    ga: Dual
    G: Dual
    C1: Dual
    C3: Dual
    gap: Dual
    l2: Dual
    aD: Dual
    n: Dual


class Turns(NamedTuple):
    """j whole periods that are subtracted from the time, and their contributions.

    These are the half time that remains (a double-double), j alpha, and T2 and T2 W of (2) with their derivatives.
    """

    j: float
    time: float
    low: float
    angle: float
    period: float
    period_l2: float
    period_aD: float
    integral: float
    integral_l2: float
    integral_aD: float
    integral_n: float


class StepQuaternion(NamedTuple):
    """X of a step."""

    x0: Dual
    x1: Dual
    x2: Dual
    xx: float  # |X|^2


class TangentEnd(NamedTuple):
    """End of a step, in the axes of ``Motion``."""

    m: tuple
    q: tuple  # rotation of the step alone: q(h) = q0 q
    axis_a: float  # 2 sin phi cos phi/G and 2 sin^2 phi/G
    axis_b: float


@inline
def motion(w, differences, m, D):
    """Return the constants of the motion with momentum m; D is given, because it is computed without cancellation.

    ``differences`` are al, be, ga.
    """
    al, be, ga = differences
    x, y, z = m[0] * m[0], m[1] * m[1], m[2] * m[2]
    C3, C1 = be * x + al * y, ga * y + be * z
    p, r = ga * C3, al * C1
    l2, aD, rest = (p, D, r) if D >= 0.0 else (r, -D, p)
    gap = D / be if be != 0.0 else 0.0
    return TangentMotion(m, w, al, be, ga, sqrt(x + y + z), C1, C3, gap, D, l2, aD, rest, al * C3)


@inline
def motion_in_order(body, order, m):
    """Return (order, D, Motion) in the order in which ``euler`` uses the form of (5) with n = al C3.

    D is that of the sorted order.
    """
    inv = invariants(body, m, 1.0)
    D = distance(body, inv, m, 1.0)
    if inv.axis3:
        return order, D, motion((body.w1, body.w2, body.w3), (inv.al, inv.be, inv.ga), m, D)
    reversed_m = -m[2], -m[1], -m[0]
    return REVERSED[order], D, motion((body.w3, body.w2, body.w1), (-inv.ga, -inv.be, -inv.al), reversed_m, -D)


@inline
def changes(mo, dm, dI):
    """Return the constants with their derivatives along the change (dm, dI), each computed as a sum."""
    m1, m2, m3 = mo.m
    w1, w2, w3 = mo.w
    e1, e2, e3 = dm
    d1, d2, d3 = -w1 * w1 * dI[0], -w2 * w2 * dI[1], -w3 * w3 * dI[2]
    al, be, ga = Dual(mo.al, d2 - d3), Dual(mo.be, d1 - d3), Dual(mo.ga, d1 - d2)
    x, y, z = m1 * m1, m2 * m2, m3 * m3
    dx, dy, dz = 2.0 * m1 * e1, 2.0 * m2 * e2, 2.0 * m3 * e3
    C3 = Dual(mo.C3, (be.d * x + al.d * y) + (mo.be * dx + mo.al * dy))
    C1 = Dual(mo.C1, (ga.d * y + be.d * z) + (mo.ga * dy + mo.be * dz))
    gap = Dual(mo.gap, (ga.d * x - al.d * z) + (mo.ga * dx - mo.al * dz))
    dl2 = mul(ga, C3).d if mo.D >= 0.0 else mul(al, C1).d
    dD = mul(be, gap).d
    return Changes(
        (Dual(m1, e1), Dual(m2, e2), Dual(m3, e3)), Dual(w2, d2), al, be, ga,
        Dual(mo.G, (m1 * e1 + m2 * e2 + m3 * e3) * (1.0 / mo.G)), C1, C3, gap,
        Dual(mo.l2, dl2), Dual(mo.aD, dD if mo.D >= 0.0 else -dD), mul(al, C3),
    )  # fmt: skip


@inline
def take_off_periods(mo, body, m, D, h):
    """Return the whole periods in the time h; body, momentum and D are those of the sorted order."""
    t = 0.5 * h
    if mo.aD > ON_AXIS * mo.l2 and mo.l2 * t * t > QUARTER:
        T, turn, _ = period_and_turn((body.I1, body.I2, body.I3), m, D, mo.be > 0.0)
        j = rint(h / T[0])
        if j != 0.0:
            return whole_periods(mo, j, T, turn, h)
    return Turns(0.0, t, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def whole_periods(mo, j, T, turn, h):
    """Return the contributions (2) of j periods T, where T2 W = 2 L/lambda."""
    high, low, angle = 0.0, 0.0, 0.0
    if abs(j) <= MANY_TURNS:  # beyond, a double does not determine the phase, and any will do
        high, low = dd_sub((h, 0.0), dd_mul(T, (j, 0.0)))
        high_turn, low_turn = dd_mul(turn, (j, 0.0))
        angle = TWO_PI[0] * ((high_turn - rint(high_turn)) + low_turn)
    per_l2 = 1.0 / mo.l2
    mc, n = min(1.0, mo.aD * per_l2), mo.n * per_l2
    mean, dmean, W, dW, W_n = mean_and_weight(sqrt(mc), 1.0 + n)
    f = pi * sqrt(per_l2)
    period = f / mean
    slope = 0.5 * dmean / mean  # derivative of ln M by ln |D|
    integral, by_n = period * W, period * W_n * per_l2
    by_mc = 2.0 * sqrt(per_l2) * slope_of_integral(mc, n, mean, W, dmean, dW) * per_l2
    return Turns(
        j, 0.5 * high, 0.5 * low, angle,
        period, period * (slope - 0.5) * per_l2, -period * slope / mo.aD,
        integral, -(mc * by_mc + n * by_n) - 0.5 * integral * per_l2, by_mc, by_n,
    )  # fmt: skip


@inline
def arc_of_time(mo, t):
    """Return the arc of the half time t.

    The square of t is not formed, because it may overflow where lambda is 0.
    """
    parameters = Parameters(mo.l2 * t * t, mo.aD * t * t, mo.n * t * t, mo.be * mo.G * t)
    return any_arc(parameters, mo.rest * t * t)


@inline
def sine_and_cosine(mo, I2, turns, angle):
    """Return (sin, cos) of phi, the sum of G t/I2, ``angle`` and the angle of whole periods.

    G t/I2 is a double-double if it is many turns.
    """
    spin, low = mo.G * (turns.time / I2), 0.0
    if FEW < abs(spin) < LOST:
        x, y, z = (mo.m[0], 0.0), (mo.m[1], 0.0), (mo.m[2], 0.0)
        G = dd_sqrt(dd_add(dd_add(dd_mul(x, x), dd_mul(y, y)), dd_mul(z, z)))
        spin, low = dd_mul(G, dd_div((turns.time, turns.low), (I2, 0.0)))
    s, c = sin(spin), cos(spin)
    angle += low + turns.angle
    s_angle, c_angle = sin(angle), cos(angle)
    return s * c_angle + c * s_angle, c * c_angle - s * s_angle


@inline
def difference(a, b, small, square):
    """Return a - b.

    If the difference may be small, it is computed from square = a^2 - b^2, which does not cancel.
    """
    if small and a.v * b.v > 0.0:
        return div(square, add(a, b))
    return sub(a, b)


@inline
def ends(x, al, ga, b, E, functions):
    """Return components 1 and 3 of (2) in ``euler``, half a step from b, where E = 1 - al ga b2^2 s^2.

    ``functions`` are s, c, d. Next to the middle axis, where E is small, the components are computed without
    cancellation: b1^2 d^2 - (al s c b2 b3)^2 is E (D/be + al b3^2 c^2)/ga.
    """
    b1, b2, b3 = b
    s, c, d = functions
    small = E.v < 0.5
    dd, cc = mul(mul(b1, d), mul(b1, d)), mul(mul(b3, c), mul(b3, c))
    sb = mul(s, b2)
    square1, square3 = Dual(0.0, 0.0), Dual(0.0, 0.0)
    if small:
        square1 = mul(E, div(add(x.gap, mul(x.al, cc)), x.ga))
        square3 = mul(E, div(sub(mul(x.ga, dd), x.gap), x.al))
    end1 = div(difference(mul(b1, d), mul(mul(al, sb), mul(b3, c)), small, square1), E)
    return end1, div(difference(mul(b3, c), mul(mul(ga, sb), mul(b1, d)), small, square3), E)


@inline
def frame_and_midpoint(mo, x, arc, time):
    """Return (X, b) of a step of the half time ``time``, with derivatives along the direction of x."""
    al, be, ga = scale(x.al, time), scale(x.be, time), scale(x.ga, time)
    l2, aD = x.l2.d * time * time, x.aD.d * time * time
    s = Dual(arc.s, arc.l2.s * l2 + arc.aD.s * aD)
    cn = Dual(arc.cn, arc.l2.cn * l2 + arc.aD.cn * aD)
    dn = Dual(arc.dn, arc.l2.dn * l2 + arc.aD.dn * aD)
    c, d = (cn, dn) if mo.D >= 0.0 else (dn, cn)
    E = denominator(mo, x, al, ga, (s, c, d))
    b1, b3 = ends(x, al, ga, x.m, E, (s, c, d))
    bs = mul(be, s)
    b2 = div(add(mul(x.m[1], mul(c, d)), mul(bs, mul(x.m[0], x.m[2]))), E)
    x1, x2 = mul(bs, b1), mul(mul(al, mul(s, c)), b2)
    return StepQuaternion(c, x1, x2, c.v * c.v + x1.v * x1.v + x2.v * x2.v), (b1.v, b2.v, b3.v)


@inline
def denominator(mo, x, al, ga, functions):
    """Return 1 - al ga m2^2 s^2 of (2) in ``euler``; where it is small, it is computed as a sum of squares."""
    m1, m2, m3 = x.m
    s, c, d = functions
    mm2 = mul(m2, m2)
    product = mul(mul(mul(al, s), mul(ga, s)), mm2)
    if product.v <= 0.5:
        return Dual(1.0 - product.v, -product.d)
    if mo.D >= 0.0:
        first, second, C, cn = mul(x.be, mul(m1, m1)), mul(x.al, mm2), x.C3, c
    else:
        first, second, C, cn = mul(x.be, mul(m3, m3)), mul(x.ga, mm2), x.C1, d
    return add(div(first, C), mul(div(second, C), mul(cn, cn)))  # quotients first: cn^2 may be as small as 1e-304


@inline
def end_of_step(mo, x, I2, turns, arc, time, frame, b):
    """Return the end of the step, from X and the midpoint b, by (3) and (5) in ``euler``."""
    b1, b2, b3 = b
    al, be, ga = mo.al * time, mo.be * time, mo.ga * time
    c, d = (arc.cn, arc.dn) if mo.D >= 0.0 else (arc.dn, arc.cn)
    N = frame.xx / (1.0 + mo.n * time * time * arc.s * arc.s)
    f = 2.0 * arc.s / N
    m1, m2, m3 = mo.m
    n1, n2, n3 = m1 - f * al * c * (b2 * b3), m2 + f * be * (b1 * b3), m3 - f * ga * d * (b1 * b2)
    if N < 0.5:
        b = Dual(b1, 0.0), Dual(b2, 0.0), Dual(b3, 0.0)
        functions = Dual(arc.s, 0.0), Dual(c, 0.0), Dual(d, 0.0)
        end1, end3 = ends(x, Dual(al, 0.0), Dual(ga, 0.0), b, Dual(N, 0.0), functions)
        n1, n3 = end1.v, end3.v
    sphi, cphi = sine_and_cosine(mo, I2, turns, arc.angle - mo.G * al)
    f = 1.0 / sqrt(frame.xx)
    y = f * sphi / mo.G
    q = product((f * cphi, y * m1, y * m2, y * m3), (frame.x0.v, frame.x1.v, frame.x2.v, 0.0))
    f = 2.0 * sphi / mo.G
    return TangentEnd((n1, n2, n3), q, f * cphi, f * sphi)


@inline
def phase_and_delay(mo, x, turns, arc, time, t):
    """Return (dphi, -j dT), which (1) and (3) need besides X."""
    ka = mul(x.be, x.G)
    A = arc.l2.angle * x.l2.d + arc.aD.angle * x.aD.d + arc.n * x.n.d
    A = A * time * time + (arc.ka * ka.d - mul(x.al, x.G).d) * time
    period = Dual(turns.period, turns.period_l2 * x.l2.d + turns.period_aD * x.aD.d)
    slope = turns.integral_l2 * x.l2.d + turns.integral_aD * x.aD.d + turns.integral_n * x.n.d
    integral = Dual(turns.integral, slope)
    if mo.D >= 0.0:
        A -= turns.j * mul(mul(x.G, x.al), integral).d
    else:
        A += turns.j * div(sub(mul(period, x.gap), mul(x.C3, integral)), x.G).d
    return A + mul(x.G, x.w2).d * t, -2.0 * turns.j * period.d


@inline
def column(mo, turns, arc, time, t, end, k):
    """Return (dm, turn) along m1, m2, m3, I1, I2, I3, t (k = 0 to 6), by (1) and (3)."""
    m1, m2, m3 = end.m
    field = -mo.al * m2 * m3, mo.be * m1 * m3, -mo.ga * m1 * m2  # m x w
    if k == 6:
        return field, (mo.w[0] * m1, mo.w[1] * m2, mo.w[2] * m3)
    e = unit_vector(k)
    x = changes(mo, e, unit_vector(k - 3))
    frame, _ = frame_and_midpoint(mo, x, arc, time)
    dphi, late = phase_and_delay(mo, x, turns, arc, time, t)
    x0, x1, x2 = frame.x0, frame.x1, frame.x2
    f = 2.0 / frame.xx
    xi1, xi2 = f * (x0.v * x1.d - x0.d * x1.v), f * (x0.v * x2.d - x0.d * x2.v)
    xi3 = f * (x2.v * x1.d - x2.d * x1.v)
    along = dphi * (2.0 / mo.G)
    start, axis = change_of_start(mo, frame, end, e)
    dm = (
        start[0] + (m2 * xi3 - m3 * xi2) + late * field[0],
        start[1] + (m3 * xi1 - m1 * xi3) + late * field[1],
        start[2] + (m1 * xi2 - m2 * xi1) + late * field[2],
    )
    return dm, (
        axis[0] + (xi1 + along * m1) + late * (mo.ga * m1),
        axis[1] + (xi2 + along * m2),
        axis[2] + (xi3 + along * m3) - late * (mo.al * m3),
    )


@inline
def to_end(frame, y):
    """Return R^T y: the vector y, given in body axes at the start, in body axes at the end.

    The axes at the start may be those before or after the turn by phi.
    """
    y1, y2, y3 = y
    x0, x1, x2 = frame.x0.v, frame.x1.v, frame.x2.v
    f = 2.0 / frame.xx
    a1, a2, a3 = -x2 * y3, x1 * y3, x2 * y1 - x1 * y2  # y x (x1, x2, 0)
    return (
        y1 + f * (x0 * a1 - x2 * a3),
        y2 + f * (x0 * a2 + x1 * a3),
        y3 + f * (x0 * a3 + (x2 * a1 - x1 * a2)),
    )


@inline
def change_of_start(mo, frame, end, e):
    """Return R^T e for a change e of m, and the contribution of the changed axis m to the turn.

    m is the axis of the first factor of q.
    """
    e1, e2, e3 = e
    g1, g2, g3 = mo.m[0] / mo.G, mo.m[1] / mo.G, mo.m[2] / mo.G
    g = g1 * e1 + g2 * e2 + g3 * e3
    a, b = end.axis_a, end.axis_b
    y1 = a * (e1 - g * g1) - b * (g2 * e3 - g3 * e2)
    y2 = a * (e2 - g * g2) - b * (g3 * e1 - g1 * e3)
    y3 = a * (e3 - g * g3) - b * (g1 * e2 - g2 * e1)
    return to_end(frame, e), to_end(frame, (y1, y2, y3))


@inline
def unit_vector(k):
    """Return the unit vector number k, which is zero if k is not 0, 1 or 2."""
    return (1.0 if k == 0 else 0.0), (1.0 if k == 1 else 0.0), (1.0 if k == 2 else 0.0)


@inline
def representable(x, limit):
    """Return x, or an infinity of its sign if the derivative is larger than ``limit``."""
    if abs(x) <= limit:
        return x
    return -inf if x < 0.0 else inf


@inline
def write_column(out, i, where, q, dm, turn, limit):
    """Write column ``where`` of the matrix of body i: dm, and dq = q (0, turn)/2."""
    dq = product(q, (0.0, *times(0.5, turn)))
    for r in range(3):
        out[i, r, where] = representable(dm[r], limit)
    for r in range(4):
        out[i, 3 + r, where] = representable(dq[r], limit)


@inline
def times_rate(v, unit):
    """Return the vector v times the unit of m over that of I, without intermediate overflow."""
    return to_standard_time(v[0], unit), to_standard_time(v[1], unit), to_standard_time(v[2], unit)


@inline
def write_by_attitude(out, i, turn):
    """Write the derivatives by q0 of body i.

    q(h) = q0 turn is linear in q0, and m does not depend on it.
    """
    for k in range(4):
        scalar = 1.0 if k == 0 else 0.0
        by_q = product((scalar, *unit_vector(k - 1)), turn)
        for r in range(3):
            out[i, r, BY_Q + k] = 0.0
        for r in range(4):
            out[i, 3 + r, BY_Q + k] = by_q[r]


@inline
def write_at_rest(out, i, I, q, h):
    """Write the matrix of a body with m = 0.

    m(h) = m and turn = h I^-1 m to first order in m; all other derivatives are zero.
    """
    for k in range(BY_T + 1):
        e = unit_vector(k)
        write_column(out, i, k, q, e, (h * (e[0] / I[0]), h * (e[1] / I[1]), h * (e[2] / I[2])), inf)
    write_by_attitude(out, i, (1.0, 0.0, 0.0, 0.0))


@inline
def write_moving(out, i, I, m, q, h):
    """Write the matrix of a body with m != 0."""
    order, unit, I, m = standard_form(I, m)
    h = to_standard_time(h, unit)
    body = body_constants(I)
    order, D, mo = motion_in_order(body, order, m)
    turns = take_off_periods(mo, body, m, D, h)
    time = turns.time
    limit = inf
    lam = sqrt(mo.l2) * abs(time)
    if lam > ESCAPED:  # the body is at rest on its middle axis, and then turns at the rate w2
        time *= ESCAPED / lam
        limit = OVERFLOWED
    arc = arc_of_time(mo, time)
    zero = (0.0, 0.0, 0.0)
    x = changes(mo, zero, zero)
    frame, b = frame_and_midpoint(mo, x, arc, time)
    end = end_of_step(mo, x, body.I2, turns, arc, time, frame, b)
    rotation = attitude_from_order(order, end.q)
    write_by_attitude(out, i, rotation)
    q = product(q, rotation)
    # the minus sign of an odd permutation must cancel for the columns, which are permuted, not turned
    sign = -1.0 if 1 <= order <= 3 else 1.0
    a1, a2, a3 = to_order(order, (0.0, 1.0, 2.0))
    axes = int(abs(a1)), int(abs(a2)), int(abs(a3))
    for k in range(7):
        dm, turn = column(mo, turns, arc, time, 0.5 * h, end, k)
        if k < 3:
            where = BY_M + axes[k]
            dm, turn = times(sign, dm), times(sign * unit.per_m, turn)
        elif k < 6:
            where = BY_I + axes[k - 3]
            dm, turn = times_rate(dm, unit), times(unit.per_I, turn)
        else:
            where = BY_T
            dm, turn = times(unit.m, times_rate(dm, unit)), times_rate(turn, unit)
        write_column(out, i, where, q, from_order(order, dm), from_order(order, turn), limit)


@entry_point(f"i8({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,:,::1])")
def jacobian_range(inertia, m, q, t, start, stop, out):
    """Compute the derivatives of the flow of bodies start, ..., stop - 1.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta, all valid; a single row serves all bodies.
    q : array, shape (n, 4) or (1, 4)
        Attitudes.
    t : array, shape (n,) or (1,)
        Times.
    start, stop : int
        Range of bodies.
    out : array, shape (n, 7, 11)
        Output: the rows of each matrix are m, q, and its columns m0, q0, I, t.

    Returns
    -------
    int
        Always ``stop``, because every body has a matrix.
    """
    for i in range(start, stop):
        I, m_start, (q0, q1, q2, q3), time = operands(inertia, m, q, t, i)
        f = 1.5 - 0.5 * (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)  # |q| = 1 to first order, as in the flow itself
        q_start = q0 * f, q1 * f, q2 * f, q3 * f
        if largest(m_start) == 0.0:
            write_at_rest(out, i, I, q_start, time)
        else:
            write_moving(out, i, I, m_start, q_start, time)
    return stop
