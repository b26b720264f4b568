"""Many bodies at once: the exact flow on blocks of bodies, laid out so that the compiler vectorizes over them.

The formulas that are used for a body (its tier) depend on its own numbers alone, and the bodies of a tier are collected
in a bin until a block is full. Therefore the bits of a body's result do not depend on its neighbors, on its place in
the batch, or on the number of threads. Formulas and symbols are those of ``euler``, blocks those of ``lanes``.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from polhode.kernels.compiler.intrinsics import binade, prefetch
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.block import (
    DOUBLED,
    LEAN,
    REDUCED,
    SERIES,
    SIZE,
    STANDARD,
    TIERS,
    advance,
    at,
    exchange,
    sort,
)
from polhode.kernels.exact.euler import FEW, SHORT, SMALL, UNREDUCED
from polhode.kernels.exact.standard_form import INPUT, TIMES
from polhode.kernels.numbers.lanes import (
    LANES,
    groups_for,
    lanes_of,
    load_rows,
    new_block,
    pair,
    pass_cache,
    put_pair,
    put_triple,
    quadruple_fields,
    store_rows,
    store_rows_past_cache,
    triple,
    triple_fields,
    wait_for_memory,
)

ALONE = TIERS  # tier of the scalar code, which computes rare cases and checks invalid input
OPEN = 0.0056  # smallest |D|/lambda^2 of a body that is REDUCED
SPREAD = 1e150  # largest I2 I3/I1^2 for which products of moments neither overflow nor underflow
FAR = 4e5  # largest |m| t/I1, the largest angle, for which ``sincos_near`` is accurate


PROPAGATE_RANGE = f"UniTuple(i8, 2)({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1], i8[::1])"


@entry_point(PROPAGATE_RANGE)
def propagate_range(inertia, m, q, t, start, stop, m_out, q_out, alone):
    """Propagate bodies start, ..., stop - 1, and return the index of the first invalid one.

    The scalar code is not compiled into this function: bodies that need it are listed in ``alone``, for
    ``standard_form.propagate_rows``.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    q : array, shape (n, 4) or (1, 4)
        Attitudes.
    t : array, shape (n,) or (1,)
        Times.
    start, stop : int
        Range of bodies.
    m_out : array, shape (n, 3)
        Output: momenta.
    q_out : array, shape (n, 4)
        Output: attitudes.
    alone : array of int, shape (n,)
        Output: indices of the bodies that remain for the scalar code, from alone[start] on.

    Returns
    -------
    int
        Index of the first body that is not valid or whose result is not finite, or NOBODY.
    int
        Number of bodies that remain for the scalar code.
    """
    block = new_block(SIZE)
    bins = (new_block(SIZE), new_block(SIZE), new_block(SIZE), new_block(SIZE))
    bin_rows = np.empty((TIERS, LANES), np.int64)
    filled = np.zeros(TIERS, np.int64)
    bad = NOBODY
    remaining = 0
    past_cache = pass_cache(m_out, start) and pass_cache(q_out, start)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        whole = count == LANES
        groups = groups_for(count)
        if inertia.shape[0] == 1:
            load_shared(inertia, block, at.I)
        elif whole:
            load_rows(inertia, first, block, triple_fields(at.I))
        else:
            load_partial(inertia, first, count, block, at.I)
        if m.shape[0] == 1:
            load_shared(m, block, at.m)
        elif whole:
            load_rows(m, first, block, triple_fields(at.m))
        else:
            load_partial(m, first, count, block, at.m)
        if q.shape[0] == 1:
            load_shared(q, block, at.q)
        elif whole:
            load_rows(q, first, block, quadruple_fields(at.q))
        else:
            load_partial(q, first, count, block, at.q)
        load_times(t, first, count, block)
        prefetch_input(inertia, m, q, t, first + LANES)
        if not past_cache:
            prefetch_output(m_out, q_out, first + LANES)
        standardize(block, groups)
        if not are_lean(block, groups):
            choose_tiers(block, groups)
        if whole and share_a_tier(block, groups):
            advance(int(block[at.tier]), block, groups)
            if past_cache:
                store_rows_past_cache(m_out, first, block, triple_fields(at.m))
                store_rows_past_cache(q_out, first, block, quadruple_fields(at.q))
            else:
                store_rows(m_out, first, block, triple_fields(at.m))
                store_rows(q_out, first, block, quadruple_fields(at.q))
            bad = min(bad, first_invalid(block, first))
            continue
        for l in range(count):
            k = int(block[at.tier + l])
            i = first + l
            if k == ALONE:
                alone[start + remaining] = i
                remaining += 1
                continue
            move(block, l, bins[k], filled[k])
            bin_rows[k, filled[k]] = i
            filled[k] += 1
            if filled[k] == LANES:
                advance(k, bins[k], groups_for(LANES))
                bad = min(bad, scatter(bins[k], bin_rows[k], LANES, m_out, q_out))
                filled[k] = 0
    for k in range(TIERS):
        if filled[k] > 0:
            advance(k, bins[k], groups_for(filled[k]))
            bad = min(bad, scatter(bins[k], bin_rows[k], filled[k], m_out, q_out))
    wait_for_memory()
    return bad, remaining


@inline
def prefetch_input(inertia, m, q, t, first):
    """Prefetch the input of the next block, from body ``first`` on, while this block is computed."""
    for line in range(0, 3 * LANES, 8):
        prefetch(inertia, 3 * first + line)
        prefetch(m, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q, 4 * first + line)
    for line in range(0, LANES, 8):
        prefetch(t, first + line)


@inline
def prefetch_output(m_out, q_out, first):
    """Prefetch the rows of the output of the next block, from body ``first`` on."""
    for line in range(0, 3 * LANES, 8):
        prefetch(m_out, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q_out, 4 * first + line)


@inline
def load_shared(vectors, w, field):
    """Copy the only row, which serves all bodies, into all lanes of the block."""
    for k in range(vectors.shape[1]):
        x = float(vectors[0, k])
        for l in range(LANES):
            w[field + k * LANES + l] = x


@inline
def load_partial(vectors, first, count, w, field):
    """Copy rows first, ... into lanes 0, ..., count - 1 of the block; other lanes are unchanged.

    The minimum, which is always first + l, prevents vector code for these rare loops: it makes the compilation of the
    whole kernel a third longer.
    """
    last = vectors.shape[0] - 1
    for l in range(count):
        i = min(first + l, last)
        for k in range(vectors.shape[1]):
            w[field + k * LANES + l] = float(vectors[i, k])


@inline
def load_times(t, first, count, w):
    """Copy times first, ... into lanes 0, ..., count - 1 of the block; a single time serves all bodies."""
    last = t.shape[0] - 1
    for l in range(count):
        w[at.t + l] = float(t[min(first + l, last)])


@inline
def standardize(w, groups):
    """Convert all lanes to the standard form, except I and q, and mark the lanes that are LEAN.

    The constants of (1) in ``euler`` are computed too. Input that is not valid, and every scale beyond that of normal
    numbers, fails a comparison and is not LEAN; there is no other check of the input here.
    """
    for l in range(lanes_of(groups)):
        (first, second, third), (I1, I2, I3) = sorted_moments(w, l)
        m1, m2, m3 = triple(w, at.m, l)
        unit, per_unit = binade(max(abs(m1), max(abs(m2), abs(m3))))
        sign = -1.0 if (first != second) != third else 1.0
        m1, m2, m3 = sort(first, second, third, m1, m2, m3)
        f = sign * per_unit
        m1, m2, m3 = m1 * f, m2 * f, m3 * f
        per_I = binade(I1)[1]
        t = w[at.t + l] * (0.5 * (unit * per_I))
        I1, I2, I3 = I1 * per_I, I2 * per_I, I3 * per_I
        in_range = are_in_range(I1, I2, I3)
        I1, I2, I3 = I1 if in_range else 1.0, I2 if in_range else 1.0, I3 if in_range else 1.0
        e = t / (I1 * I2 * I3)
        al, be, ga = (I3 - I2) * I1 * e, (I3 - I1) * I2 * e, (I2 - I1) * I3 * e
        x, y, z = m1 * m1, m2 * m2, m3 * m3
        C3, C1 = be * x + al * y, ga * y + be * z
        gg = x + y + z if unit > 0.0 else 0.0  # the binade of a momentum that is not normal is unspecified
        p, r, n3, n1 = ga * C3, al * C1, al * C3, ga * C1
        axis3 = abs(C3) <= abs(C1)
        rate = t / (I3 if axis3 else I1)
        in_range &= (gg >= 1.0) & (gg <= 12.0)
        lean = in_range & (max(p, r) <= SHORT) & (gg * (rate * rate) <= FEW * FEW)
        put_triple(w, at.m, l, m1, m2, m3)
        put_triple(w, at.w, l, al, be, ga)
        put_triple(w, at.t, l, t, 1.0 if axis3 else -1.0, rate)
        put_pair(w, at.unit, l, sign * unit, 1.0 if first else 0.0)
        put_pair(w, at.second, l, 1.0 if second else 0.0, 1.0 if third else 0.0)
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
    """Choose the tiers of lanes that are not LEAN, and convert their moments to the standard form."""
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

    Lanes hold I, m, q and t in the user's axes and scale. Their results are m and q, in the same axes and scale, and
    the field ``tier``: 0 if the result is valid, NaN if it is not, ALONE if the lane remains for the scalar code; I and
    the momenta of such lanes are not the user's anymore. ``spare`` is another block.
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


@inline
def first_invalid(w, first):
    """Return the index of the first body whose result is not finite, or NOBODY.

    The lanes are the bodies first, ..., first + LANES - 1.
    """
    total = 0.0
    for l in range(LANES):
        total += w[at.tier + l]
    if total == 0.0:
        return NOBODY
    l = 0
    while w[at.tier + l] == 0.0:
        l += 1
    return first + l


@inline
def scatter(w, rows, count, m_out, q_out):
    """Copy lanes 0, ..., count - 1 into their rows of the output.

    Returns the smallest row whose result is not finite, or NOBODY.
    """
    bad = NOBODY
    for l in range(count):
        i = rows[l]
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = triple(w, at.m, l)
        q_out[i, 0] = w[at.q + l]
        q_out[i, 1], q_out[i, 2], q_out[i, 3] = triple(w, at.q + LANES, l)
        if w[at.tier + l] != 0.0:
            bad = min(bad, i)
    return bad
