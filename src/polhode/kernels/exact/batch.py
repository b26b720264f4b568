"""Many bodies at once: the exact flow on blocks of bodies, laid out so that the compiler vectorizes over them.

Which formulas serve a body (its tier) follows from its own numbers alone, and the bodies of a tier collect in a bin
until a block is full: so the bits of a body's result depend neither on its neighbors, nor on its place in the batch,
nor on the number of threads. Formulas and symbols are those of ``euler``, blocks those of ``lanes``.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from polhode.kernels.compiler.intrinsics import binade, prefetch
from polhode.kernels.compiler.jit import entry_point, inline
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

ALONE = TIERS  # for the scalar code, which serves what is rare, and tells what is wrong with bad input
OPEN = 0.0056  # |D|/lambda^2 from which on a body is REDUCED
SPREAD = 1e150  # I2 I3/I1^2, up to which products of moments stay away from the ends of their range
FAR = 4e5  # |m| t/I1, the larger rate of all, up to which ``sincos_near`` has all digits


@entry_point(f"UniTuple(i8, 2)({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1], i8[::1])")
def propagate_range(inertia, m, q, t, start, stop, m_out, q_out, alone):
    """Bodies start..stop: inertia, m (n or 1, 3), q (n or 1, 4), t (n or 1) -> m_out (n, 3), q_out (n, 4).

    Returns the index of the first body that is not valid or whose result is not finite (or NOBODY), and the number of
    bodies left over, in alone[start:], for ``standard_form.propagate_rows``: the scalar code is not compiled here.
    """
    block, bins = new_block(SIZE), (new_block(SIZE), new_block(SIZE), new_block(SIZE), new_block(SIZE))
    bin_rows, filled = np.empty((TIERS, LANES), np.int64), np.zeros(TIERS, np.int64)
    bad, left, past_cache = NOBODY, 0, pass_cache(m_out, start) and pass_cache(q_out, start)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        whole = count == LANES
        if whole and inertia.shape[0] > 1:
            load_rows(inertia, first, block, triple_fields(at.I))
        else:
            load_some(inertia, first, count, block, at.I)
        if whole and m.shape[0] > 1:
            load_rows(m, first, block, triple_fields(at.m))
        else:
            load_some(m, first, count, block, at.m)
        if whole and q.shape[0] > 1:
            load_rows(q, first, block, quadruple_fields(at.q))
        else:
            load_some(q, first, count, block, at.q)
        load_times(t, first, count, block)
        ask_for_next(inertia, m, q, t, first + LANES)
        if not past_cache:
            ask_for_space(m_out, q_out, first + LANES)
        standardize(block)
        if not are_lean(block):
            choose_tiers(block)
        if whole and are_alike(block):
            advance(int(block[at.tier]), block)
            if past_cache:
                store_rows_past_cache(m_out, first, block, triple_fields(at.m))
                store_rows_past_cache(q_out, first, block, quadruple_fields(at.q))
            else:
                store_rows(m_out, first, block, triple_fields(at.m))
                store_rows(q_out, first, block, quadruple_fields(at.q))
            bad = min(bad, first_bad(block, first))
            continue
        for l in range(count):
            k, i = int(block[at.tier + l]), first + l
            if k == ALONE:
                alone[start + left] = i
                left += 1
                continue
            move(block, l, bins[k], filled[k])
            bin_rows[k, filled[k]] = i
            filled[k] += 1
            if filled[k] == LANES:
                advance(k, bins[k])
                bad = min(bad, scatter(bins[k], bin_rows[k], LANES, m_out, q_out))
                filled[k] = 0
    for k in range(TIERS):
        if filled[k] > 0:
            advance(k, bins[k])
            bad = min(bad, scatter(bins[k], bin_rows[k], filled[k], m_out, q_out))
    wait_for_memory()
    return bad, left


@inline
def ask_for_next(inertia, m, q, t, first):
    """Let memory fetch the next block while this one is computed."""
    for line in range(0, 3 * LANES, 8):
        prefetch(inertia, 3 * first + line)
        prefetch(m, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q, 4 * first + line)
    for line in range(0, LANES, 8):
        prefetch(t, first + line)


@inline
def ask_for_space(m_out, q_out, first):
    """And where its results will go."""
    for line in range(0, 3 * LANES, 8):
        prefetch(m_out, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q_out, 4 * first + line)


@inline
def load_some(vectors, first, count, w, field):
    """Rows first.. into lanes 0..count; one row serves all bodies. Other lanes keep what they had."""
    stride = 1 if vectors.shape[0] > 1 else 0
    for k in range(vectors.shape[1]):
        for l in range(count):
            w[field + k * LANES + l] = float(vectors[(first + l) * stride, k])


@inline
def load_times(t, first, count, w):
    stride = 1 if t.shape[0] > 1 else 0
    for l in range(count):
        w[at.t + l] = float(t[(first + l) * stride])


@inline
def standardize(w):
    """All lanes into the standard form, except I and q, with euler's constants (1); which are LEAN.

    Input that is not valid, and every scale beyond that of normal numbers, fails a comparison and is not LEAN: there is
    no other check of it here.
    """
    for l in range(LANES):
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
        usual = are_usual(I1, I2, I3)
        I1, I2, I3 = I1 if usual else 1.0, I2 if usual else 1.0, I3 if usual else 1.0
        e = t / (I1 * I2 * I3)
        al, be, ga = (I3 - I2) * I1 * e, (I3 - I1) * I2 * e, (I2 - I1) * I3 * e
        x, y, z = m1 * m1, m2 * m2, m3 * m3
        C3, C1 = be * x + al * y, ga * y + be * z
        gg = x + y + z if unit > 0.0 else 0.0  # a momentum that is not a normal number has no binade
        p, r, n3, n1 = ga * C3, al * C1, al * C3, ga * C1
        axis3 = abs(C3) <= abs(C1)
        rate = t / (I3 if axis3 else I1)
        usual &= (gg >= 1.0) & (gg <= 12.0)
        lean = usual & (max(p, r) <= SHORT) & (gg * (rate * rate) <= FEW * FEW)
        put_triple(w, at.m, l, m1, m2, m3)
        put_triple(w, at.w, l, al, be, ga)
        put_triple(w, at.t, l, t, 1.0 if axis3 else -1.0, rate)
        put_pair(w, at.unit, l, sign * unit, 1.0 if first else 0.0)
        put_pair(w, at.second, l, 1.0 if second else 0.0, 1.0 if third else 0.0)
        put_pair(w, at.G, l, sqrt(gg), n3 if axis3 else n1)
        put_pair(w, at.p, l, p, r)
        w[at.tier + l] = float(LEAN) if lean else float(ALONE)


@inline
def are_usual(I1, I2, I3):
    """Whether the sorted moments are numbers, and so far from the ends of their range that products are, too."""
    return (I1 >= 1.0) & (I1 < 2.0) & (I1 * I2 * I3 <= SPREAD)


@inline
def sorted_moments(w, l):
    """Which exchanges the sorting network makes, and the moments after them."""
    I1, I2, I3 = triple(w, at.I, l)
    first = I1 > I2
    I1, I2 = exchange(first, I1, I2)
    second = I2 > I3
    I2, I3 = exchange(second, I2, I3)
    third = I1 > I2
    I1, I2 = exchange(third, I1, I2)
    return (first, second, third), (I1, I2, I3)


@inline
def choose_tiers(w):
    """The tiers of lanes that are not LEAN; their moments in the standard form."""
    for l in range(LANES):
        I1, I2, I3 = sorted_moments(w, l)[1]
        per_I = binade(I1)[1]
        I1, I2, I3 = I1 * per_I, I2 * per_I, I3 * per_I
        m1, _, m3 = triple(w, at.m, l)
        al, be, ga = triple(w, at.w, l)
        p, r = pair(w, at.p, l)
        G, t = w[at.G + l], w[at.t + l]
        l2, aD = max(p, r), abs(be * (ga * (m1 * m1) - al * (m3 * m3)))
        tier = REDUCED if aD >= OPEN * l2 else ALONE
        tier = DOUBLED if l2 <= UNREDUCED else tier
        tier = SERIES if l2 <= SMALL else tier
        usual = are_usual(I1, I2, I3) & (G >= 1.0) & (G <= 4.0) & (G * abs(t) <= FAR * I1)
        tier = tier if usual else ALONE
        tier = LEAN if w[at.tier + l] == float(LEAN) else tier
        put_triple(w, at.I, l, I1, I2, I3)
        w[at.tier + l] = float(tier)


@inline
def are_lean(w):
    other = 0
    for l in range(LANES):
        other += w[at.tier + l] != float(LEAN)
    return other == 0


@inline
def are_alike(w):
    """Whether all lanes are of one tier that advances in blocks."""
    tier = w[at.tier]
    other = 0
    for l in range(LANES):
        other += w[at.tier + l] != tier
    return other == 0 and tier < TIERS


@inline
def move(w, l, into, lane):
    for k in range(STANDARD):
        into[k * LANES + lane] = w[k * LANES + l]


@inline
def first_bad(w, first):
    """The first of the rows first.., which are all lanes, whose result is not finite, or NOBODY."""
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
    """Lanes 0..count into their rows; the smallest row whose result is not finite, or NOBODY."""
    bad = NOBODY
    for l in range(count):
        i = rows[l]
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = triple(w, at.m, l)
        q_out[i, 0] = w[at.q + l]
        q_out[i, 1], q_out[i, 2], q_out[i, 3] = triple(w, at.q + LANES, l)
        if w[at.tier + l] != 0.0:
            bad = min(bad, i)
    return bad
