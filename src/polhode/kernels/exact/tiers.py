"""Lanes of a block in the standard form, and the tiers by whose formulas they advance.

The tier of a body depends on its own numbers alone, so that its result does not depend on other lanes.
"""

from __future__ import annotations

from math import nan, sqrt

from polhode.kernels.compiler.intrinsics import binade
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.exact.block import (
    DOUBLED,
    LEAN,
    REDUCED,
    SERIES,
    STANDARD,
    TIERS,
    advance,
    at,
    exchange,
    sort,
)
from polhode.kernels.exact.euler import FEW, SHORT, SMALL, UNREDUCED
from polhode.kernels.numbers.lanes import LANES, groups_for, lanes_of, pair, put_pair, put_triple, triple

ALONE = TIERS  # tier of the scalar code, which computes rare cases and checks invalid input
OPEN = 0.0056  # smallest |D|/lambda^2 of a body that is REDUCED
SPREAD = 1e150  # largest I2 I3/I1^2 for which products of moments neither overflow nor underflow
FAR = 4e5  # largest |m| t/I1, the largest angle, for which ``sincos_near`` is accurate


@inline
def standardize_bodies(w, groups):
    """Compute the constants of all bodies in the standard form from the field I.

    Moments that are not valid, or too far apart, make times NaN in ``standardize``; what it divides by is 1 there.
    """
    for l in range(lanes_of(groups)):
        (first, second, third), (I1, I2, I3) = sorted_moments(w, l)
        per_I = binade(I1)[1]
        I1, I2, I3 = I1 * per_I, I2 * per_I, I3 * per_I
        put_triple(w, at.gaps, l, (I3 - I2) * I1, (I3 - I1) * I2, (I2 - I1) * I3)
        inside = are_in_range(I1, I2, I3)
        put_triple(w, at.volume, l, I1 * I2 * I3 if inside else 1.0, I1 if inside else 1.0, I3 if inside else 1.0)
        put_pair(w, at.first, l, 1.0 if first else 0.0, 1.0 if second else 0.0)
        w[at.third + l] = 1.0 if third else 0.0
        sign = -1.0 if (first != second) != third else 1.0
        put_pair(w, at.per_I, l, per_I if inside else nan, sign)


@inline
def standardize(w, groups):
    """Convert momenta and times of all lanes to the standard form, and mark the lanes that are LEAN.

    The constants of (1) in ``euler`` are computed too. Input that is not valid, and every scale beyond that of normal
    numbers, fails a comparison and is not LEAN; there is no other check of the input here.
    """
    for l in range(lanes_of(groups)):
        first, second, third = triple(w, at.first, l)
        first, second, third = first > 0.0, second > 0.0, third > 0.0
        m1, m2, m3 = triple(w, at.m, l)
        per_I, sign = pair(w, at.per_I, l)
        volume, I1, I3 = triple(w, at.volume, l)
        unit, per_unit = binade(max(abs(m1), max(abs(m2), abs(m3))))
        m1, m2, m3 = sort(first, second, third, m1, m2, m3)
        f = sign * per_unit
        m1, m2, m3 = m1 * f, m2 * f, m3 * f
        t = w[at.t + l] * (0.5 * (unit * per_I))
        e = t / volume
        al, be, ga = triple(w, at.gaps, l)
        al, be, ga = al * e, be * e, ga * e
        x, y, z = m1 * m1, m2 * m2, m3 * m3
        C3, C1 = be * x + al * y, ga * y + be * z
        gg = x + y + z if unit > 0.0 else 0.0  # the binade of a momentum that is not normal is unspecified
        p, r, n3, n1 = ga * C3, al * C1, al * C3, ga * C1
        axis3 = abs(C3) <= abs(C1)
        rate = t / (I3 if axis3 else I1)
        lean = (gg >= 1.0) & (gg <= 12.0) & (max(p, r) <= SHORT) & (gg * (rate * rate) <= FEW * FEW)
        put_triple(w, at.m, l, m1, m2, m3)
        put_triple(w, at.w, l, al, be, ga)
        put_triple(w, at.t, l, t, 1.0 if axis3 else -1.0, rate)
        w[at.unit + l] = sign * unit
        put_pair(w, at.G, l, sqrt(gg), n3 if axis3 else n1)
        put_pair(w, at.p, l, p, r)
        w[at.tier + l] = float(LEAN) if lean else float(ALONE)


@inline
def are_in_range(I1, I2, I3):
    """Return whether the sorted moments are numbers far from overflow and underflow.

    Products of the moments are then far from overflow and underflow too.
    """
    return (I1 >= 1.0) & (I1 < 2.0) & (I1 * I2 * I3 <= SPREAD)


@inline
def sorted_moments(w, l):
    """Return the exchanges that the sorting network makes in lane l, and the moments after them."""
    I1, I2, I3 = triple(w, at.I, l)
    first = I1 > I2
    I1, I2 = exchange(first, I1, I2)
    second = I2 > I3
    I2, I3 = exchange(second, I2, I3)
    third = I1 > I2
    I1, I2 = exchange(third, I1, I2)
    return (first, second, third), (I1, I2, I3)


@inline
def choose_tiers(w, groups):
    """Choose the tiers of lanes that are not LEAN, and convert their moments to the standard form.

    Moments in the standard form are not changed.
    """
    for l in range(lanes_of(groups)):
        I1, I2, I3 = sorted_moments(w, l)[1]
        per_I = binade(I1)[1]
        I1, I2, I3 = I1 * per_I, I2 * per_I, I3 * per_I
        m1, _, m3 = triple(w, at.m, l)
        al, be, ga = triple(w, at.w, l)
        p, r = pair(w, at.p, l)
        G, t = w[at.G + l], w[at.t + l]
        l2 = max(p, r)
        aD = abs(be * (ga * (m1 * m1) - al * (m3 * m3)))
        tier = REDUCED if aD >= OPEN * l2 else ALONE
        tier = DOUBLED if l2 <= UNREDUCED else tier
        tier = SERIES if l2 <= SMALL else tier
        in_range = are_in_range(I1, I2, I3) & (G >= 1.0) & (G <= 4.0) & (G * abs(t) <= FAR * I1)
        tier = tier if in_range else ALONE
        tier = LEAN if w[at.tier + l] == float(LEAN) else tier
        put_triple(w, at.I, l, I1, I2, I3)
        w[at.tier + l] = float(tier)


@inline
def are_lean(w, groups):
    """Return whether all lanes are LEAN."""
    other = 0
    for l in range(lanes_of(groups)):
        other += w[at.tier + l] != float(LEAN)
    return other == 0


@inline
def share_a_tier(w, groups):
    """Return whether all lanes are of one tier that advances in blocks."""
    tier = w[at.tier]
    other = 0
    for l in range(lanes_of(groups)):
        other += w[at.tier + l] != tier
    return other == 0 and tier < TIERS


@noinline
def advance_lanes(w, spare, groups):
    """Advance the lanes of some groups of the block ``w`` by their times, each by the formulas of its tier.

    Lanes hold m, q and t in the user's axes and scale, and what ``standardize_bodies`` has made of their moments. The
    results are m and q, in the same axes and scale, and the field ``tier``: 0 if the result is valid, NaN if it is not,
    ALONE if the lane remains for the scalar code; the momenta of such lanes are not the user's anymore. ``spare`` is
    another block.
    """
    standardize(w, groups)
    if not are_lean(w, groups):
        choose_tiers(w, groups)
    if share_a_tier(w, groups):
        advance(int(w[at.tier]), w, groups)
        return
    for k in range(TIERS):
        count = 0
        for l in range(lanes_of(groups)):
            if w[at.tier + l] == float(k):
                move(w, l, spare, count)
                count += 1
        if count > 0:
            advance(k, spare, groups_for(count))
            take_back(w, spare, groups, k)


@inline
def take_back(w, spare, groups, tier):
    """Copy the results of the lanes of a tier from the first lanes of the block ``spare``.

    Their field ``tier`` becomes 0 or NaN, which is none of the tiers that follow.
    """
    count = 0
    for l in range(lanes_of(groups)):
        if w[at.tier + l] == float(tier):
            for k in range(at.m, at.w, LANES):  # m and q
                w[k + l] = spare[k + count]
            w[at.tier + l] = spare[at.tier + count]
            count += 1


@inline
def move(w, l, into, lane):
    """Copy the body of lane l into lane ``lane`` of the block ``into``."""
    for k in range(STANDARD):
        into[k * LANES + lane] = w[k * LANES + l]
