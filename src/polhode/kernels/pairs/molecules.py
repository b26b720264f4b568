"""Rigid molecules: Lennard-Jones and charges between all sites of two of them (see ``near`` for sums and cut-off).

Sites a of molecule i and b of molecule j, r = x_i + a - x_j - b, u = 1/|r|, have the energy

    v = A u^12 - B u^6 + C (u + c0 + c1 |r| + c2 r^2)                                                             (1)

with A = 4 eps sig^12, B = 4 eps sig^6 and C the product of charges. c0, c1, c2 define the treatment of distant
charges: a reaction field (Barker and Watts 1973; Tironi et al. 1995), a shifted force, or nothing.

Molecules may be of several kinds, each with its own sites. The tables A, B, C have rows and columns for the sites of
all kinds, one kind after the other.
"""

from __future__ import annotations

from math import sqrt

from polhode.kernels.compiler.intrinsics import borrowed
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import INPUT, MATRICES, TIMES
from polhode.kernels.pairs.cells import COUNTS
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

B, G = SPARE, SPARE + 3 * LANES  # fields: x_j + b - x_i of one site of every lane, and its force on i
SIZE = 6 * LANES
# (sites Q c (n, 3 times the largest number of sites), kinds (n,), start of each kind in the tables, and their end s;
# A, B, C (s, s), (c0, c1, c2))
MOLECULES = f"Tuple(({INPUT}, {COUNTS}, {COUNTS}, {INPUT}, {INPUT}, {INPUT}, {TIMES}))"


@entry_point(f"void({MATRICES}, {INPUT}, {COUNTS}, {COUNTS}, f8[:,::1])")
def place_arms(Q, sites, kinds, starts, out):
    """Write Q c, for sites c (s, 3) in body axes of the kind of each body, to the rows of ``out``."""
    for i in range(Q.shape[0]):
        start = starts[kinds[i]]
        for k in range(starts[kinds[i] + 1] - start):
            for c in range(3):
                out[i, 3 * k + c] = (
                    float(Q[i, c, 0]) * float(sites[start + k, 0])
                    + float(Q[i, c, 1]) * float(sites[start + k, 1])
                    + float(Q[i, c, 2]) * float(sites[start + k, 2])
                )


@inline
def add_charges(w, a, C, far):
    """Add (1) and its forces for site a of i and one site of every lane, with charges only; far is (c0, c1, c2)."""
    a1, a2, a3 = a
    c0, c1, c2 = far
    for l in range(LANES):
        r1, r2, r3 = a1 - w[B + l], a2 - w[B + LANES + l], a3 - w[B + 2 * LANES + l]
        rr = r1 * r1 + r2 * r2 + r3 * r3
        uu = inverse(rr)
        u = sqrt(uu)
        w[V + l] += C * (u + c0 + rr * (c1 * u + c2))
        f = C * (uu * u - c1 * u - 2.0 * c2)
        add_site_force(w, l, a, (f * r1, f * r2, f * r3))


@inline
def add_spheres(w, a, twelve, six, C, far):
    """Add the same as ``add_charges``, and the Lennard-Jones terms of (1)."""
    a1, a2, a3 = a
    c0, c1, c2 = far
    for l in range(LANES):
        r1, r2, r3 = a1 - w[B + l], a2 - w[B + LANES + l], a3 - w[B + 2 * LANES + l]
        rr = r1 * r1 + r2 * r2 + r3 * r3
        uu = inverse(rr)
        u, u6 = sqrt(uu), uu * uu * uu
        w[V + l] += u6 * (twelve * u6 - six) + C * (u + c0 + rr * (c1 * u + c2))
        f = uu * u6 * (12.0 * twelve * u6 - 6.0 * six) + C * (uu * u - c1 * u - 2.0 * c2)
        add_site_force(w, l, a, (f * r1, f * r2, f * r3))


@inline
def add_site_force(w, l, a, f):
    """Add the force f on i at site a to lane l of the forces and torques."""
    a1, a2, a3 = a
    f1, f2, f3 = f
    w[G + l] += f1
    w[G + LANES + l] += f2
    w[G + 2 * LANES + l] += f3
    w[S + l] += a2 * f3 - a3 * f2
    w[S + LANES + l] += a3 * f1 - a1 * f3
    w[S + 2 * LANES + l] += a1 * f2 - a2 * f1


@inline
def load_site(places, numbers, first, b, w):
    """Write x_j + b - x_i of site b of the neighbors from index ``first`` on, and set the forces on i from it to 0."""
    for l in range(LANES):
        j = numbers[first + l]
        w[B + l] = float(places[j, 3 * b]) - w[R + l]
        w[B + LANES + l] = float(places[j, 3 * b + 1]) - w[R + LANES + l]
        w[B + 2 * LANES + l] = float(places[j, 3 * b + 2]) - w[R + 2 * LANES + l]
        w[G + l], w[G + LANES + l], w[G + 2 * LANES + l] = 0.0, 0.0, 0.0


@inline
def add_to_bodies(w):
    """Add the force G on i from one site b of j to F, and the torque G x b on j to T."""
    for l in range(LANES):
        g1, g2, g3 = w[G + l], w[G + LANES + l], w[G + 2 * LANES + l]
        b1, b2, b3 = (
            w[B + l] + w[R + l],
            w[B + LANES + l] + w[R + LANES + l],
            w[B + 2 * LANES + l] + w[R + 2 * LANES + l],
        )
        w[F + l] += g1
        w[F + LANES + l] += g2
        w[F + 2 * LANES + l] += g3
        w[T + l] += g2 * b3 - g3 * b2
        w[T + LANES + l] += g3 * b1 - g1 * b3
        w[T + 2 * LANES + l] += g1 * b2 - g2 * b1


@inline
def fill_molecules(interaction, i, first, numbers, w):
    """Compute energies, forces and torques of molecule i and LANES neighbors (see ``near``)."""
    places, kinds, starts, twelve, six, C, far = interaction
    own, other = kinds[i], kinds[numbers[first]]
    own_start, other_start = starts[own], starts[other]
    own_sites, other_sites = starts[own + 1] - own_start, starts[other + 1] - other_start
    c = float(far[0]), float(far[1]), float(far[2])
    for k in range(V, V + 10 * LANES):
        w[k] = 0.0
    for b in range(other_sites):
        load_site(places, numbers, first, b, w)
        column = other_start + b
        for a in range(own_sites):
            site = float(places[i, 3 * a]), float(places[i, 3 * a + 1]), float(places[i, 3 * a + 2])
            row = own_start + a
            A12, B6, charge = float(twelve[row, column]), float(six[row, column]), float(C[row, column])
            if A12 != 0.0 or B6 != 0.0:
                add_spheres(w, site, A12, B6, charge, c)
            elif charge != 0.0:
                add_charges(w, site, charge, c)
        add_to_bodies(w)


@entry_point(signature(MOLECULES))
def sum_molecules(pairs, cut, molecules, sums, totals, start, stop):
    """Call ``near.sum_parts`` for rigid molecules."""
    return sum_parts(fill_molecules, SIZE, pairs, cut, borrowed(molecules), sums, totals, start, stop)
