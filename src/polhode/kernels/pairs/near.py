"""Sums over the pairs of a neighbor list, with a smooth cut-off, vectorized over the neighbors of one body.

A pair of bodies at r = x_i - x_j, the nearest image, R = |r|, has the energy S(R) V and with it the forces

    F = S F_V - S' V r/R,   torques  S s,  S t                                                                    (1)
    S = 1 - u^4 (35 - 84 u + 70 u^2 - 20 u^3),  S' = -140 u^3 (1 - u)^3/width,  u = (R - begin)/width             (2)

on the first body (the force on the second is -F), with F_V, s and t derived from V alone. S decreases from 1 to 0 as u
increases from 0 to 1, and its first three derivatives are continuous. V is the energy of whole bodies, with all their
sites.

First the neighbors of a body within the cut-off are selected from the list, in its order. The sums, and their order,
then depend on the positions only, not on when the list was built. The work is divided into parts, each with its own
sums, by the number of bodies only: so the result does not depend on the number of threads, to the bit.

Bodies may be of several kinds, and are sorted by them; so are the neighbors of a body. All lanes of a block have
neighbors of one kind.

An interaction is defined by one function, ``fill(interaction, i, first, numbers, w)``, which writes the energies V,
forces F_V and torques s, t of body i and LANES neighbors, from index ``first`` of the selected ones on, into the fields
V, F, S, T of w. Its first argument contains the data of the interaction.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import borrowed, keep
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import INPUT, TIMES
from polhode.kernels.numbers.lanes import new_block
from polhode.kernels.pairs.cells import COUNTS, INTEGERS, nearest

LANES = 16 if JIT else 1  # one lane without compilation
R, V, F, S, T = 0, 3 * LANES, 4 * LANES, 7 * LANES, 10 * LANES  # fields of w: r; results of ``fill``
OWN = 13 * LANES  # sums of energy, force and torque on the body itself
OWN_COUNT = 7
SPARE = 20 * LANES  # start of the fields for use by ``fill``

# (x, kinds (n,), lengths, 1/lengths, starts, stops, others, length of the longest row)
PAIRS = f"Tuple(({INPUT}, {COUNTS}, {TIMES}, {TIMES}, {COUNTS}, {COUNTS}, {INTEGERS}, i8))"
CUT = "UniTuple(f8, 3)"  # square of the cut-off, begin and 1/width of (2); (inf, 0, 0) without cut-off
SUMS = "Tuple((f8[:,:,::1], f8[:,:,::1], f8[::1]))"  # (forces, torques (parts, n, 3), energies (parts,))
TOTALS = "Tuple((f8[:,::1], f8[:,::1]))"  # (force, torque (n, 3))


def signature(interaction):
    """Return the signature of an entry point that calls ``sum_parts`` with data of the type ``interaction``."""
    return f"i8({PAIRS}, {CUT}, {interaction}, {SUMS}, {TOTALS}, i8, i8)"


@inline
def inverse(x):
    """Return 1/x, or NaN for x = 0: bodies at the same position have no force."""
    return 1.0 / x if x > 0.0 else nan


@inline
def end_of_kind(kinds, others, start, stop):
    """Return the end of the neighbors of the same kind as the first one, in others[start:stop]."""
    kind = kinds[others[start]]
    if kinds[others[stop - 1]] == kind:
        return stop
    end = start + 1
    while kinds[others[end]] == kind:
        end += 1
    return end


@inline
def pick(pairs, square, i, start, stop, count, numbers, places):
    """Select those of others[start:stop] that are within the cut-off of i.

    Write their indices, and r (3, .), from index ``count`` on; return the index after the last one.
    """
    x, _, L, per_L, _, _, others, _ = pairs
    x1, x2, x3 = float(x[i, 0]), float(x[i, 1]), float(x[i, 2])
    L1, L2, L3, u1, u2, u3 = float(L[0]), float(L[1]), float(L[2]), float(per_L[0]), float(per_L[1]), float(per_L[2])
    for k in range(start, stop):
        j = others[k]
        r1, r2, r3 = (
            nearest(x1 - float(x[j, 0]), L1, u1),
            nearest(x2 - float(x[j, 1]), L2, u2),
            nearest(x3 - float(x[j, 2]), L3, u3),
        )
        numbers[count] = j
        places[0, count], places[1, count], places[2, count] = r1, r2, r3
        count += 0 if r1 * r1 + r2 * r2 + r3 * r3 >= square else 1
    for k in range(count, count + LANES):  # unused lanes repeat the last neighbor and are not summed
        numbers[k] = numbers[max(count - 1, 0)]
        for c in range(3):
            places[c, k] = places[c, max(count - 1, 0)]
    return count


@inline
def pick_all(pairs, square, i, numbers, places, used):
    """Select the neighbors of i within the cut-off, in blocks of LANES of one kind; return the index of their end.

    The number of lanes in use of each block is written to ``used``.
    """
    _, kinds, _, _, starts, stops, others, _ = pairs
    start, stop = starts[i], stops[i]
    first = 0
    while start < stop:
        end = end_of_kind(kinds, others, start, stop)
        count = pick(pairs, square, i, start, end, first, numbers, places)
        for k in range(first, count, LANES):
            used[k // LANES] = min(LANES, count - k)
        first = (count + LANES - 1) // LANES * LANES
        start = end
    return first


@inline
def switch(w, begin, per_width):
    """Multiply V, F, S, T by the switching function, by (1)."""
    for l in range(LANES):
        r1, r2, r3 = w[R + l], w[R + LANES + l], w[R + 2 * LANES + l]
        distance = sqrt(r1 * r1 + r2 * r2 + r3 * r3)
        u = max(0.0, (distance - begin) * per_width)
        v = 1.0 - u
        s = 1.0 - u * u * u * u * (35.0 + u * (-84.0 + u * (70.0 - 20.0 * u)))
        slope = 140.0 * per_width * (u * u * u) * (v * v * v) * w[V + l] * inverse(distance)
        w[V + l] *= s
        w[F + l] = s * w[F + l] + slope * r1
        w[F + LANES + l] = s * w[F + LANES + l] + slope * r2
        w[F + 2 * LANES + l] = s * w[F + 2 * LANES + l] + slope * r3
        for c in range(6):
            w[S + c * LANES + l] *= s


@inline
def collect(w, count):
    """Add V, F and S of the first ``count`` lanes to the sums of the body, after setting the other lanes to 0."""
    for l in range(count, LANES):
        for c in range(OWN_COUNT):
            w[V + c * LANES + l] = 0.0
    for k in range(OWN_COUNT * LANES):
        w[OWN + k] += w[V + k]


@inline
def own_sum(w, c):
    """Return the sum over the lanes of field c of the sums of the body."""
    total = 0.0
    for l in range(LANES):
        total += w[OWN + c * LANES + l]
    return total


@inline
def sum_part(fill, size, all_pairs, cut, interaction, sums, part):
    """Compute forces, torques and the energy of one part; ``size`` is that of the additional fields of ``fill``."""
    forces, torques, energies = sums
    pairs = borrowed(all_pairs)
    _, kinds, _, _, _, _, _, longest = pairs
    parts = forces.shape[0]
    n = forces.shape[1]
    most_kinds = kinds[n - 1] + 1 if n > 0 else 1
    blocks = longest // LANES + most_kinds + 1  # each kind has one block that is not full; the last is for unused lanes
    capacity = blocks * LANES
    own = new_block(SPARE + size), np.empty(capacity, np.int32), np.empty((3, capacity)), np.empty(blocks, np.int64)
    w, numbers, places, used = borrowed(own)
    force, torque = borrowed(forces[part]), borrowed(torques[part])
    energy = 0.0
    for i in range(n):
        for c in range(3):
            force[i, c], torque[i, c] = 0.0, 0.0
    for i in range(n * part // parts, n * (part + 1) // parts):
        count = pick_all(pairs, cut[0], i, numbers, places, used)
        for k in range(OWN_COUNT * LANES):
            w[OWN + k] = 0.0
        for first in range(0, count, LANES):
            for c in range(3):
                for l in range(LANES):
                    w[R + c * LANES + l] = float(places[c, first + l])
            fill(interaction, i, first, numbers, w)
            if cut[2] > 0.0:
                switch(w, cut[1], cut[2])
            used_lanes = used[first // LANES]
            collect(w, used_lanes)
            for l in range(used_lanes):
                j = numbers[first + l]
                for c in range(3):
                    force[j, c] -= w[F + c * LANES + l]
                    torque[j, c] += w[T + c * LANES + l]
        energy += own_sum(w, 0)
        for c in range(3):
            force[i, c] += own_sum(w, 1 + c)
            torque[i, c] += own_sum(w, 4 + c)
    energies[part] = energy
    keep(own)


@inline
def add_part_sums(sums, totals, start, stop):
    """Add the sums of all parts, in their order, to the totals of the bodies start..stop."""
    forces, torques, _ = sums
    force, torque = totals
    for i in range(start, stop):
        for c in range(3):
            f, t = 0.0, 0.0
            for part in range(forces.shape[0]):
                f += forces[part, i, c]
                t += torques[part, i, c]
            force[i, c] += f
            torque[i, c] += t


@entry_point(f"i8({SUMS}, {TOTALS}, i8, i8)")
def add_parts(sums, totals, start, stop):
    """Call ``add_part_sums``; return 0."""
    add_part_sums(sums, totals, start, stop)
    return 0


@inline
def sum_parts(fill, size, pairs, cut, interaction, sums, totals, start, stop):
    """Compute the sums of the parts start..stop; if these are all parts, add them to the totals and return 1, else 0.

    Without threads, a single call is thus sufficient.
    """
    for part in range(start, stop):
        sum_part(fill, size, pairs, cut, interaction, sums, part)
    all_parts = stop - start == sums[0].shape[0]
    if all_parts:
        add_part_sums(sums, totals, 0, totals[0].shape[0])
    return int(all_parts)
