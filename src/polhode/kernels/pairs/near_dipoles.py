"""Dipolar soft spheres with a cut-off: the pair formulas of ``dipoles`` in the sums of ``near``."""

from __future__ import annotations

from math import sqrt

from polhode.kernels.compiler.intrinsics import borrowed
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import INPUT
from polhode.kernels.pairs.dipoles import dipole_pair
from polhode.kernels.pairs.near import (
    LANES,
    SPARE,
    F,
    R,
    S,
    T,
    V,
    inverse,
    signature,
    sum_parts,
)

E = SPARE  # field: dipoles of the lanes
SIZE = 3 * LANES
DIPOLES = f"Tuple(({INPUT}, f8))"  # (dipoles (n, 3) in space axes, 4 eps sig^12)


@inline
def fill_dipoles(interaction, i, first, numbers, w):
    """Compute energies, forces and torques of body i and LANES neighbors (see ``near``)."""
    dipoles, eps4 = interaction
    d1, d2, d3 = float(dipoles[i, 0]), float(dipoles[i, 1]), float(dipoles[i, 2])
    for l in range(LANES):
        j = numbers[first + l]
        w[E + l], w[E + LANES + l] = float(dipoles[j, 0]), float(dipoles[j, 1])
        w[E + 2 * LANES + l] = float(dipoles[j, 2])
    for l in range(LANES):
        r1, r2, r3 = w[R + l], w[R + LANES + l], w[R + 2 * LANES + l]
        e1, e2, e3 = w[E + l], w[E + LANES + l], w[E + 2 * LANES + l]
        u2 = inverse(r1 * r1 + r2 * r2 + r3 * r3)
        w[V + l], f, (g1, g2, g3), (h1, h2, h3) = dipole_pair(
            (d1, d2, d3), (e1, e2, e3), (r1, r2, r3), u2, sqrt(u2), eps4
        )
        w[F + l], w[F + LANES + l], w[F + 2 * LANES + l] = f
        w[S + l], w[S + LANES + l] = g2 * d3 - g3 * d2, g3 * d1 - g1 * d3
        w[S + 2 * LANES + l] = g1 * d2 - g2 * d1
        w[T + l], w[T + LANES + l] = h2 * e3 - h3 * e2, h3 * e1 - h1 * e3
        w[T + 2 * LANES + l] = h1 * e2 - h2 * e1


@entry_point(signature(DIPOLES))
def sum_dipoles(pairs, cut, spheres, sums, totals, start, stop):
    """Call ``near.sum_parts`` for dipolar soft spheres."""
    return sum_parts(fill_dipoles, SIZE, pairs, cut, borrowed(spheres), sums, totals, start, stop)
