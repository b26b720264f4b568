"""Many bodies at once: the exact flow on blocks of bodies, laid out so that the compiler vectorizes over them.

Which formulas serve a body (its tier) follows from its own numbers alone, and the bodies of a tier collect in a bin
until a block is full: so the bits of a body's result depend neither on its neighbors, nor on its place in the batch,
nor on the number of threads. Formulas and symbols are those of ``euler``, blocks those of ``lanes``.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.block import DOUBLED, LEAN, REDUCED, SERIES, SIZE, STANDARD, TIERS, advance, at, exchange, sort
from polhode.kernels.drive import INPUT, NONE, TIMES, Scale, to_standard_time
from polhode.kernels.euler import FEW, SHORT, SMALL, UNREDUCED
from polhode.kernels.jit import entry, helper, power_of_two, prefetch
from polhode.kernels.lanes import LANES, new_block, put_triple, triple
from polhode.kernels.limits import NORM_TOLERANCE

ALONE, INVALID = TIERS, TIERS + 1  # for the scalar code, which serves what is rare; for nobody
OPEN = 0.0056  # |D|/lambda^2 from which on a body is REDUCED
FAR = 4e5  # |m| t/I1, the larger rate of all, up to which ``sincos_near`` has all digits


@entry(f"UniTuple(i8, 2)({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1], i8[::1])")
def propagate_range(inertia, m, q, t, start, stop, m_out, q_out, alone):
    """Bodies start..stop: inertia, m (n or 1, 3), q (n or 1, 4), t (n or 1) -> m_out (n, 3), q_out (n, 4).

    Returns the index of the first body whose input is not valid or whose result is not finite (or NONE), and the
    number of bodies left over, in alone[start:], for ``drive.propagate_rows``: the scalar code is not compiled here.
    """
    block, bins = new_block(SIZE), (new_block(SIZE), new_block(SIZE), new_block(SIZE), new_block(SIZE))
    bin_rows, filled = np.empty((TIERS, LANES), np.int64), np.zeros(TIERS, np.int64)
    bad, left = NONE, 0
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        load(inertia, m, q, t, first, count, block)
        ask_for_next(inertia, m, q, t, first + LANES, m_out, q_out)
        standardize(block)
        if count == LANES and are_alike(block):
            advance(int(block[at.tier]), block)
            bad = min(bad, store(block, first, m_out, q_out))
            continue
        for l in range(count):
            k, i = int(block[at.tier + l]), first + l
            if k == INVALID:
                bad = min(bad, i)
            elif k == ALONE:
                alone[start + left] = i
                left += 1
            if k >= TIERS:
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
    return bad, left


@helper
def ask_for_next(inertia, m, q, t, first, m_out, q_out):
    """Let memory fetch the next block while this one is computed."""
    for line in range(0, 3 * LANES, 8):
        prefetch(inertia, 3 * first + line)
        prefetch(m, 3 * first + line)
        prefetch(m_out, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q, 4 * first + line)
        prefetch(q_out, 4 * first + line)
    for line in range(0, LANES, 8):
        prefetch(t, first + line)


@helper
def load(inertia, m, q, t, first, count, w):
    """Rows first.. into lanes 0..count; an operand with one row serves all bodies. Other lanes keep what they had."""
    load_vectors(inertia, first, count, w, at.I)
    load_vectors(m, first, count, w, at.m)
    load_vectors(q, first, count, w, at.q)
    for l in range(count):
        w[at.t + l] = float(t[first + l if t.shape[0] > 1 else 0])


@helper
def load_vectors(vectors, first, count, w, field):
    part = vectors[first : first + count] if vectors.shape[0] > 1 else vectors
    for k in range(vectors.shape[1]):
        for l in range(count):
            w[field + k * LANES + l] = float(part[l if vectors.shape[0] > 1 else 0, k])


@helper
def norm2(w, l):
    q0 = w[at.q + l]
    q1, q2, q3 = triple(w, at.q + LANES, l)
    return q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3


@helper
def standardize(w):
    """All lanes into the standard form of ``drive``, with the constants of euler's (1) and the tier."""
    for l in range(LANES):
        I1, I2, I3 = triple(w, at.I, l)
        m1, m2, m3 = triple(w, at.m, l)
        q1, q2, q3 = triple(w, at.q + LANES, l)
        t, qq = w[at.t + l], norm2(w, l)
        zero = (I1 - I1) + (I2 - I2) + (I3 - I3) + (m1 - m1) + (m2 - m2) + (m3 - m3) + (t - t)  # NaN if one is infinite
        valid = (zero == 0.0) & (min(I1, min(I2, I3)) > 0.0) & (abs(qq - 1.0) <= 2.0 * NORM_TOLERANCE)
        I1, I2, I3 = I1 if valid else 1.0, I2 if valid else 1.0, I3 if valid else 1.0
        scale = Scale(*power_of_two(min(I1, min(I2, I3))), *power_of_two(max(abs(m1), max(abs(m2), abs(m3)))))
        first = I1 > I2
        I1, I2 = exchange(first, I1, I2)
        second = I2 > I3
        I2, I3 = exchange(second, I2, I3)
        third = I1 > I2
        I1, I2 = exchange(third, I1, I2)
        m1, m2, m3 = sort(first, second, third, m1, m2, m3)
        q1, q2, q3 = sort(first, second, third, q1, q2, q3)
        sign = -1.0 if (first != second) != third else 1.0
        norm = 1.5 - 0.5 * qq  # what |q| is off by, taken off to first order
        f, g = sign * scale.per_m, sign * norm
        I1, I2, I3 = I1 * scale.per_I, I2 * scale.per_I, I3 * scale.per_I
        m1, m2, m3 = m1 * f, m2 * f, m3 * f
        t = 0.5 * to_standard_time(t, scale)
        w1, w2, w3 = 1.0 / I1, 1.0 / I2, 1.0 / I3
        al, be, ga = (I3 - I2) * w2 * w3 * t, (I3 - I1) * w1 * w3 * t, (I2 - I1) * w1 * w2 * t
        x, y, z = m1 * m1, m2 * m2, m3 * m3
        C3, C1 = be * x + al * y, ga * y + be * z
        axis3 = al * C3 <= ga * C1
        I = I3 if axis3 else I1
        l2, aD, gg = max(ga * C3, al * C1), abs(be * (ga * x - al * z)), x + y + z
        spin2 = gg * (t * t)
        tier = REDUCED if aD >= OPEN * l2 else ALONE
        tier = DOUBLED if l2 <= UNREDUCED else tier
        tier = SERIES if l2 <= SMALL else tier
        tier = LEAN if (l2 <= SHORT) & (spin2 <= FEW * FEW * (I * I)) else tier
        tier = tier if (spin2 <= FAR * FAR * (I1 * I1)) & (gg > 0.0) else ALONE
        tier = tier if valid else INVALID
        put_triple(w, at.I, l, I1, I2, I3)
        put_triple(w, at.m, l, m1, m2, m3)
        w[at.q + l] *= norm
        put_triple(w, at.q + LANES, l, q1 * g, q2 * g, q3 * g)
        put_triple(w, at.w, l, al, be, ga)
        put_triple(w, at.t, l, t, 1.0 if axis3 else 0.0, I)
        swaps = (1.0 if first else 0.0) + (2.0 if second else 0.0) + (4.0 if third else 0.0)
        put_triple(w, at.unit, l, sign * scale.m, swaps, float(tier))


@helper
def are_alike(w):
    """Whether all lanes are of one tier that advances in blocks."""
    tier = w[at.tier]
    other = 0
    for l in range(LANES):
        other += w[at.tier + l] != tier
    return other == 0 and tier < TIERS


@helper
def move(w, l, into, lane):
    for k in range(STANDARD):
        into[k * LANES + lane] = w[k * LANES + l]


@helper
def store(w, first, m_out, q_out):
    """All lanes into rows first..; the first row whose result is not finite, or NONE."""
    m_part, q_part = m_out[first : first + LANES], q_out[first : first + LANES]
    total = 0.0
    for l in range(LANES):
        m_part[l, 0], m_part[l, 1], m_part[l, 2] = triple(w, at.m, l)
        q_part[l, 0] = w[at.q + l]
        q_part[l, 1], q_part[l, 2], q_part[l, 3] = triple(w, at.q + LANES, l)
        total += w[at.tier + l]
    if total == 0.0:
        return NONE
    l = 0
    while w[at.tier + l] == 0.0:
        l += 1
    return first + l


@helper
def scatter(w, rows, count, m_out, q_out):
    """Lanes 0..count into their rows; the smallest row whose result is not finite, or NONE."""
    bad = NONE
    for l in range(count):
        i = rows[l]
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = triple(w, at.m, l)
        q_out[i, 0] = w[at.q + l]
        q_out[i, 1], q_out[i, 2], q_out[i, 3] = triple(w, at.q + LANES, l)
        if w[at.tier + l] != 0.0:
            bad = min(bad, i)
    return bad
