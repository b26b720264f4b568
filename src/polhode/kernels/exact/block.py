"""The step of a block of bodies of one tier, in short loops over lanes.

A tier is a path through the formulas of ``euler`` that all lanes share, with fixed numbers of nodes and doublings. The
tier of a body depends on its own numbers alone (``tiers.standardize``). Symbols and equation numbers are those of
``euler``.
"""

from __future__ import annotations

from itertools import accumulate
from math import nan, pi, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import stay_separate
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.compiler.limits import NORM_TOLERANCE
from polhode.kernels.exact.euler import (
    PER_PI,
    Arc,
    Invariants,
    StepEnd,
    add_node,
    body_constants,
    close_gap,
    double,
    full_series,
    momentum_end,
    rotation,
    short_series,
    spin_angle,
    turned,
)
from polhode.kernels.numbers.eft import two_sum
from polhode.kernels.numbers.elliptic import cel_step, mean_limit
from polhode.kernels.numbers.lanes import LANES, lanes_of, pair, put_pair, put_triple, triple
from polhode.kernels.numbers.series import FIRST
from polhode.kernels.numbers.trig import is_odd, rint, sincos_near

LEAN, SERIES, DOUBLED, REDUCED = range(4)  # tiers: short steps; lambda t up to 1/2; up to 2; longer
TIERS = 4
CEL_STEPS = 5  # enough for kc^2 = 0.0056, where K < 4 and three doublings reach a quarter period


class BlockFields(NamedTuple):
    """Positions in a block at which the numbers of each quantity begin; vectors take three fields, q four."""

    I: int  # moments, in standard form for all tiers but LEAN
    m: int  # standard form: sorted axes, scaled by powers of two
    q: int  # as the user gave it
    w: int  # al, be, ga
    t: int  # half the step
    axis3: int  # 1 for the first form of (5), about axis 3, else -1
    rate: int  # t over the moment of that axis
    unit: int  # divisor of momenta, negative if the sorted axes were a reflection
    first: int  # 1 for each exchange of the sorting network that took place, else 0
    second: int
    third: int
    G: int
    n: int
    p: int
    r: int
    tier: int
    l2: int
    D: int
    time: int  # time without half-periods; Theta/be of the half-periods; 1 if their number is odd
    theta: int
    odd: int
    series: int  # p, r, n for the time of the series
    rr: int
    quotient: int  # numerator and denominator of the quadrature
    arc: int  # s, c, d
    root: int
    unit_turn: int  # re, im
    phi: int  # sin, cos
    cel: int  # five numbers
    end: int  # eleven numbers: see ``euler.StepEnd``
    gaps: int  # of the body alone, in standard form: (I3 - I2) I1, (I3 - I1) I2, (I2 - I1) I3
    volume: int  # I1 I2 I3
    I1: int
    I3: int
    per_I: int  # reciprocal of the unit of moments; NaN if the moments are out of range
    sign: int  # -1 if the sorted axes are a reflection, else 1


WIDTHS = {"I": 3, "m": 3, "q": 4, "w": 3, "series": 3, "quotient": 2, "arc": 3, "unit_turn": 2, "phi": 2}
WIDTHS |= {"cel": 5, "end": 11, "gaps": 3}  # all others: 1
ENDS = list(accumulate(LANES * WIDTHS.get(name, 1) for name in BlockFields._fields))
at = BlockFields(0, *ENDS[:-1])
SIZE = ENDS[-1]
STANDARD = at.tier // LANES  # number of fields that describe a body and are copied into a bin
NODES = FIRST[3]  # index of the first of the three nodes for LEAN


@inline
def exchange(swap, a, b):
    """Return (b, a) if ``swap``, else (a, b)."""
    return (b if swap else a), (a if swap else b)


@inline
def sort(first, second, third, a, b, c):
    """Return a, b, c after the exchanges of the sorting network."""
    a, b = exchange(first, a, b)
    b, c = exchange(second, b, c)
    a, b = exchange(third, a, b)
    return a, b, c


@inline
def unsort(first, second, third, a, b, c):
    """Return a, b, c after undoing the exchanges of the sorting network."""
    a, b = exchange(third, a, b)
    b, c = exchange(second, b, c)
    a, b = exchange(first, a, b)
    return a, b, c


@noinline
def advance(tier, w, groups):
    """Advance the lanes of some groups, which are of one tier, by their step.

    The result is stored in the fields m and q, in the user's axes and scale.
    """
    stay_separate()  # it would be inlined at three places of ``propagate_range``, which takes LLVM three times as long
    if tier == LEAN:
        lean_arc(w, groups)
        lean_turn(w, groups)
    else:
        begin(w, groups)
        if tier >= DOUBLED:
            gap(w, groups)
        if tier == REDUCED:
            take_off_half_periods(w, groups)
        shorten(w, groups, (1.0, 1.0, 0.25, 0.125)[tier])
        quadrature(w, groups, 7)
        if tier == SERIES:
            short_arc(w, groups)
        else:
            long_arc(w, groups)
            for _ in range((0, 0, 2, 3)[tier]):
                double_lanes(w, groups)
            turn_over(w, groups)
        turn(w, groups)
    if tier <= SERIES:
        step_momentum(w, groups, False)
        step_rotation(w, groups, False)
    else:
        step_momentum(w, groups, True)
        step_rotation(w, groups, True)
    finish(w, groups)


@inline
def lean_arc(w, groups):
    """Compute S, C, D_ of (1) and Theta of (4) for short steps.

    The number of square roots is balanced with that of other instructions, which hide their latency.
    """
    for l in range(lanes_of(groups)):
        p, r = pair(w, at.p, l)
        n = w[at.n + l]
        rr = short_series(p, r)
        numerator, denominator = add_node(NODES, 0.0, 1.0, rr, p, r, n)
        numerator, denominator = add_node(NODES + 1, numerator, denominator, rr, p, r, n)
        numerator, denominator = add_node(NODES + 2, numerator, denominator, rr, p, r, n)
        put_arc(w, l, rr, p, r, n * (numerator / denominator))


@inline
def put_arc(w, l, rr, p, r, theta):
    """Store the arc and Theta/be of lane l, from rr = 1/S^2 and the quadrature ``theta``."""
    root = sqrt(rr)
    put_triple(w, at.arc, l, 1.0, sqrt(rr - p), sqrt(rr - r))
    w[at.root + l] = root
    w[at.theta + l] = root * theta


@inline
def begin(w, groups):
    """Initialize the parameters of the series and the remaining time, which is all of the step."""
    for l in range(lanes_of(groups)):
        p, r = pair(w, at.p, l)
        put_triple(w, at.series, l, p, r, w[at.n + l])
        put_triple(w, at.time, l, 1.0, 0.0, 0.0)


@inline
def shorten(w, groups, fraction):
    """Evaluate the series at a fraction of the time."""
    for l in range(lanes_of(groups)):
        p, r, n = triple(w, at.series, l)
        time = w[at.time + l] * fraction
        tt = time * time
        p, r = p * tt, r * tt
        w[at.time + l] = time
        put_triple(w, at.series, l, p, r, n * tt)
        w[at.rr + l] = full_series(p, r)


@inline
def quadrature(w, groups, nodes):
    """Compute the quadrature of (4) with ``nodes`` nodes, as a quotient."""
    for l in range(lanes_of(groups)):
        put_pair(w, at.quotient, l, 0.0, 1.0)
    for i in range(FIRST[nodes], FIRST[nodes] + nodes):
        for l in range(lanes_of(groups)):
            numerator, denominator = pair(w, at.quotient, l)
            p, r, n = triple(w, at.series, l)
            numerator, denominator = add_node(i, numerator, denominator, w[at.rr + l], p, r, n)
            put_pair(w, at.quotient, l, numerator, denominator)


@inline
def short_arc(w, groups):
    """Compute the arc of the SERIES tier."""
    for l in range(lanes_of(groups)):
        numerator, denominator = pair(w, at.quotient, l)
        p, r, n = triple(w, at.series, l)
        put_arc(w, l, w[at.rr + l], p, r, n * (numerator / denominator))
        put_pair(w, at.unit_turn, l, 1.0, 0.0)


@inline
def gap(w, groups):
    """Compute lambda^2 and D."""
    for l in range(lanes_of(groups)):
        I, m = triple(w, at.I, l), triple(w, at.m, l)
        t = w[at.t + l]
        body = body_constants(I)
        D = close_gap(body, m)[0] * body.gap_scale * t * t
        p, r = pair(w, at.p, l)
        put_pair(w, at.l2, l, p if D >= 0.0 else r, D)


@inline
def take_off_half_periods(w, groups):
    """Subtract half-periods, as in ``euler``, for lanes that are far enough from the separatrix."""
    for l in range(lanes_of(groups)):
        l2, D = pair(w, at.l2, l)
        n = w[at.n + l]
        per_l2 = 1.0 / l2
        p = sqrt(1.0 + n * per_l2)
        put_triple(w, at.cel, l, 1.0, min(1.0, sqrt(abs(D) * per_l2)), p)
        put_pair(w, at.cel + 3 * LANES, l, 0.0, 1.0 / p)
    for _ in range(CEL_STEPS):
        for l in range(lanes_of(groups)):
            mean, geometric, p = triple(w, at.cel, l)
            a, b = pair(w, at.cel + 3 * LANES, l)
            mean, geometric, p, a, b = cel_step(mean, geometric, p, a, b)
            put_triple(w, at.cel, l, mean, geometric, p)
            put_pair(w, at.cel + 3 * LANES, l, a, b)
    for l in range(lanes_of(groups)):
        mean, geometric, p = triple(w, at.cel, l)
        a, b = pair(w, at.cel + 3 * LANES, l)
        mean, per_mean = mean_limit(mean, geometric)
        n, l2 = w[at.n + l], w[at.l2 + l]
        lam = sqrt(l2)
        per_l2 = 1.0 / l2
        half_period = pi * per_mean * (lam * per_l2)
        turns = rint(lam * mean * PER_PI)
        theta = turns * half_period * (n * per_l2 * ((b + a * mean) / (mean + p)))
        put_triple(w, at.time, l, 1.0 - turns * half_period, theta, 1.0 if is_odd(turns) else 0.0)


@inline
def long_arc(w, groups):
    """Compute s, cn, dn of the shortened time, and store its Theta/be in the field ``root``."""
    for l in range(lanes_of(groups)):
        numerator, denominator = pair(w, at.quotient, l)
        p, r, n = triple(w, at.series, l)
        rr, time = w[at.rr + l], w[at.time + l]
        positive = w[at.D + l] >= 0.0
        root = sqrt(rr)
        per_root = 1.0 / root
        c, d = sqrt(rr - p) * per_root, sqrt(rr - r) * per_root
        put_triple(w, at.arc, l, time * per_root, c if positive else d, d if positive else c)
        w[at.root + l] = time * n * root * (numerator / denominator)
        put_pair(w, at.unit_turn, l, 1.0, 0.0)


@inline
def double_lanes(w, groups):
    """Double the time of the arc and of Theta/be."""
    for l in range(lanes_of(groups)):
        n = w[at.n + l]
        l2, D = pair(w, at.l2, l)
        functions, unit_turn = triple(w, at.arc, l), pair(w, at.unit_turn, l)
        two_be_g = 2.0 * w[at.w + LANES + l] * w[at.G + l]
        (s, cn, dn), (re, im) = double(l2, abs(D), n, two_be_g, functions, unit_turn)
        put_triple(w, at.arc, l, s, cn, dn)
        put_pair(w, at.unit_turn, l, re, im)
        w[at.root + l] *= 2.0


@inline
def turn_over(w, groups):
    """Compute s, c, d from s, cn, dn, and normalize (re, im).

    After an odd number of half-periods s and cn change sign.
    """
    for l in range(lanes_of(groups)):
        s, cn, dn = triple(w, at.arc, l)
        re, im = pair(w, at.unit_turn, l)
        f = 1.0 - 2.0 * w[at.odd + l]
        positive = w[at.D + l] >= 0.0
        cn *= f
        unit = 1.0 / sqrt(re * re + im * im)
        put_triple(w, at.arc, l, f * s, cn if positive else dn, dn if positive else cn)
        put_pair(w, at.unit_turn, l, re * unit, im * unit)
        w[at.theta + l] += w[at.root + l]


@inline
def lean_turn(w, groups):
    """Compute (sin, cos) of phi of (5) in ``euler``, for short steps."""
    for l in range(lanes_of(groups)):
        axis3, rate = pair(w, at.axis3, l)
        theta = w[at.w + LANES + l] * w[at.theta + l]
        s, c = sincos_near(w[at.G + l] * (rate + axis3 * theta), 0.0)
        put_pair(w, at.phi, l, s, c)


@inline
def turn(w, groups):
    """Compute (sin, cos) of phi of (5) in ``euler``, for any number of turns."""
    for l in range(lanes_of(groups)):
        m = triple(w, at.m, l)
        I1, _, I3 = triple(w, at.I, l)
        t, f = pair(w, at.t, l)
        re, im = pair(w, at.unit_turn, l)
        G = w[at.G + l]
        I = I3 if f > 0.0 else I1
        phi, low = spin_angle(I, 1.0 / I, G, m, t)
        phi, e = two_sum(phi, f * (w[at.w + LANES + l] * G * w[at.theta + l]))
        s, c = sincos_near(phi, low + e)
        im *= f
        put_pair(w, at.phi, l, s * re + c * im, c * re - s * im)


@inline
def step_momentum(w, groups, long):
    """Compute the end of the step: (2), (3) and X of (5)."""
    for l in range(lanes_of(groups)):
        m1, m2, m3 = triple(w, at.m, l)
        al, be, ga = triple(w, at.w, l)
        s, c, d = triple(w, at.arc, l)
        x, y, z = m1 * m1, m2 * m2, m3 * m3
        C3, C1 = be * x + al * y, ga * y + be * z
        inv = Invariants(al, be, ga, 0.0, C1, C3, 0.0, 0.0, w[at.n + l], w[at.axis3 + l] > 0.0)
        D, root = w[at.D + l], w[at.root + l]
        arc = Arc(s if long else 1.0, 1.0 if long else root, c, d)
        (n1, n2, n3), (i1, i2, i3), (x0, x1, x2, x3), xx = momentum_end(inv, D, long, arc, (m1, m2, m3))
        put_triple(w, at.end, l, n1, n2, n3)
        put_triple(w, at.end + 3 * LANES, l, i1, i2, i3)
        put_triple(w, at.end + 6 * LANES, l, x1, x2, x3)
        put_pair(w, at.end + 9 * LANES, l, x0, xx)


@inline
def step_rotation(w, groups, long):
    """Compute the quaternion by which q is multiplied in (5), and store it in the field ``end``."""
    for l in range(lanes_of(groups)):
        m, turn, i = triple(w, at.m, l), pair(w, at.phi, l), triple(w, at.end + 3 * LANES, l)
        x1, x2, x3 = triple(w, at.end + 6 * LANES, l)
        x0, xx = pair(w, at.end + 9 * LANES, l)
        end = StepEnd((0.0, 0.0, 0.0), i, (x0, x1, x2, x3), xx)
        x0, x1, x2, x3 = rotation(w[at.G + l], long, end, m, turn)
        put_triple(w, at.end + 6 * LANES, l, x1, x2, x3)
        w[at.end + 9 * LANES + l] = x0


@inline
def finish(w, groups):
    """Compute m and q at the end of the step, in the user's axes and scale.

    The field ``tier`` becomes 0 if the result is finite and the attitude valid, else NaN. The rotation of the step is
    converted to the user's axes, so that q need not be converted to the sorted ones.
    """
    for l in range(lanes_of(groups)):
        m1, m2, m3 = triple(w, at.end, l)
        x1, x2, x3 = triple(w, at.end + 6 * LANES, l)
        q1, q2, q3 = triple(w, at.q + LANES, l)
        q0, x0 = w[at.q + l], w[at.end + 9 * LANES + l]
        unit = w[at.unit + l]
        first = w[at.first + l] > 0.0
        second, third = pair(w, at.second, l)
        second, third = second > 0.0, third > 0.0
        finite = (m1 + m2) + (m3 + x0)
        qq = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3
        valid = (finite - finite == 0.0) & (abs(qq - 1.0) <= 2.0 * NORM_TOLERANCE)
        sign = 1.0 if unit > 0.0 else -1.0
        x1, x2, x3 = unsort(first, second, third, x1 * sign, x2 * sign, x3 * sign)
        q0, q1, q2, q3 = turned((q0, q1, q2, q3), (x0, x1, x2, x3))
        m1, m2, m3 = unsort(first, second, third, m1 * unit, m2 * unit, m3 * unit)
        put_triple(w, at.m, l, m1, m2, m3)
        w[at.q + l] = q0
        put_triple(w, at.q + LANES, l, q1, q2, q3)
        w[at.tier + l] = 0.0 if valid else nan
