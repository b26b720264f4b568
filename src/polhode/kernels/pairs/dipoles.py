"""Dipolar soft spheres, all pairs (Celledoni et al. 2008, section 3.4), vectorized over tiles of bodies.

With r = x_i - x_j and dipoles d = Q mu in space axes,

    V = 4 eps (sig/r)^12 + d_i.d_j/r^3 - 3 (d_i.r)(d_j.r)/r^5                                                     (1)
    F_i = [48 eps sig^12/r^14 + 3 d_i.d_j/r^5 - 15 (d_i.r)(d_j.r)/r^7] r + 3/r^5 [d_i (d_j.r) + d_j (d_i.r)]      (2)
    g_i = dV/dd_i = d_j/r^3 - 3 (d_j.r) r/r^5,    torque  g_i x d_i   in space axes                               (3)

and F_j = -F_i. Bodies are stored in tiles of TILE lanes, ``w[offset of the tile + field + l]``, as the blocks of
``lanes``; the pairs of one body i and one tile are computed at a time. Contributions to i are summed per lane first,
and over the lanes at the end: sums in fixed order, which vectorize.

The work is divided into parts, each with its own sums, by the number of bodies only: so the result does not depend on
the number of threads, to the bit. Rows of the triangle of pairs of tiles are assigned to the parts in turn, back and
forth, which gives them about equal work; part k has no pairs of tiles before k, and no sums for them.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import as_rows, borrowed, keep
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import INPUT, MATRICES
from polhode.kernels.pairs.near import inverse
from polhode.kernels.stepping.header import FINE, FORCES

TILE = 16 if JIT else 1  # one lane without compilation
X, D = 0, 3 * TILE  # fields of a tile: position, dipole
INPUTS = 6 * TILE  # size of a tile
F, G = 0, 3 * TILE  # fields of its sums: force, g
SUMS = 6 * TILE
R, U = 7 * TILE, 10 * TILE  # fields after the sums of one body (force, g, energy): r; 1/r^2, 1/r
OWN = 12 * TILE
FAR = 1e100  # position of unused lanes, with dipole 0: all powers of 1/r in the forces underflow to 0
CHUNK = 16  # tiles per body before its lanes are summed; they fit into the first-level cache


@inline
def fill(x, Q, mu, w):
    """Write positions x (n, 3) and dipoles of all bodies into tiles w; mu (n or 1, 3) is in body axes."""
    n = x.shape[0]
    one = mu.shape[0] == 1
    for i in range(n):
        tile = borrowed(w[i // TILE])
        l = i % TILE
        k = 0 if one else i
        mu1, mu2, mu3 = float(mu[k, 0]), float(mu[k, 1]), float(mu[k, 2])
        for c in range(3):
            tile[X + c * TILE + l] = float(x[i, c])
            tile[D + c * TILE + l] = float(Q[i, c, 0]) * mu1 + float(Q[i, c, 1]) * mu2 + float(Q[i, c, 2]) * mu3
    for i in range(n, w.shape[0] * TILE):
        for c in range(3):
            w[-1, X + c * TILE + i % TILE], w[-1, D + c * TILE + i % TILE] = FAR, 0.0


@inline
def put_distance(l, r, rr, own):
    """Write r, 1/r^2 and 1/r of lane l to ``own``, where rr is r^2."""
    own[R + l], own[R + TILE + l], own[R + 2 * TILE + l] = r
    uu = inverse(rr)
    own[U + l], own[U + TILE + l] = uu, sqrt(uu)


@inline
def distances(x, w, own):
    """Write r, 1/r^2 and 1/r from a body at x to all bodies of the tile w to ``own``."""
    x1, x2, x3 = x
    for l in range(TILE):
        r1, r2, r3 = x1 - w[X + l], x2 - w[X + TILE + l], x3 - w[X + 2 * TILE + l]
        put_distance(l, (r1, r2, r3), r1 * r1 + r2 * r2 + r3 * r3, own)


@inline
def distances_later(lane, x, w, own):
    """Write the ``distances`` to the bodies after ``lane`` of the same tile; inf to the others, which add nothing."""
    x1, x2, x3 = x
    for l in range(TILE):
        r1, r2, r3 = x1 - w[X + l], x2 - w[X + TILE + l], x3 - w[X + 2 * TILE + l]
        rr = r1 * r1 + r2 * r2 + r3 * r3
        put_distance(l, (r1, r2, r3), rr if l > lane else inf, own)


@inline
def dipole_pair(d, e, r, u2, u1, eps4):
    """Return V, F, g_i, g_j of (1), (2), (3) for dipoles d and e, from r, u2 = 1/r^2 and u1 = 1/r."""
    d1, d2, d3 = d
    e1, e2, e3 = e
    r1, r2, r3 = r
    u3 = u2 * u1
    u5 = 3.0 * u3 * u2
    u6 = u2 * u2 * u2
    u12 = u6 * u6
    de, dr, er = d1 * e1 + d2 * e2 + d3 * e3, d1 * r1 + d2 * r2 + d3 * r3, e1 * r1 + e2 * r2 + e3 * r3
    ue, ud = u5 * er, u5 * dr
    c = 12.0 * eps4 * (u12 * u2) + u5 * (de - 5.0 * (u2 * (dr * er)))
    return (
        eps4 * u12 + (u3 * de - dr * ue),
        (c * r1 + (ue * d1 + ud * e1), c * r2 + (ue * d2 + ud * e2), c * r3 + (ue * d3 + ud * e3)),
        (u3 * e1 - ue * r1, u3 * e2 - ue * r2, u3 * e3 - ue * r3),
        (u3 * d1 - ud * r1, u3 * d2 - ud * r2, u3 * d3 - ud * r3),
    )


@inline
def add_pairs(d, w, sums, own, eps4):
    """Add the pairs of a body with dipole d and a tile w to their sums; their ``distances`` are in ``own``."""
    for l in range(TILE):
        e = w[D + l], w[D + TILE + l], w[D + 2 * TILE + l]
        r = own[R + l], own[R + TILE + l], own[R + 2 * TILE + l]
        energy, (f1, f2, f3), (g1, g2, g3), (h1, h2, h3) = dipole_pair(d, e, r, own[U + l], own[U + TILE + l], eps4)
        own[l] += f1
        own[TILE + l] += f2
        own[2 * TILE + l] += f3
        own[3 * TILE + l] += g1
        own[4 * TILE + l] += g2
        own[5 * TILE + l] += g3
        own[6 * TILE + l] += energy
        sums[F + l] -= f1
        sums[F + TILE + l] -= f2
        sums[F + 2 * TILE + l] -= f3
        sums[G + l] += h1
        sums[G + TILE + l] += h2
        sums[G + 2 * TILE + l] += h3


@inline
def fold(own, half):
    """Add the second half of the lanes to the first."""
    for k in range(0, R, TILE):
        for l in range(half):
            own[k + l] += own[k + half + l]


@inline
def fold_all(own):
    """Sum each field k of ``own`` over its lanes, into own[k TILE]."""
    if TILE == 16:
        fold(own, 8)
        fold(own, 4)
        fold(own, 2)
        fold(own, 1)


@inline
def row_of(turn, part, parts):
    """Return the row of tiles that is assigned to a part in this turn."""
    return turn * parts + (part if turn % 2 == 0 else parts - 1 - part)


@inline
def sum_part(w, n, eps4, sums, energies, part):
    """Compute the sums (parts, tiles, SUMS) and the energy of one part of the pairs of n bodies."""
    parts = sums.shape[0]
    tiles = w.shape[0]
    lanes = np.empty(OWN)
    own = borrowed(lanes)
    sums[part, part:] = 0.0
    energy = 0.0
    for turn in range((tiles + parts - 1) // parts):
        A = row_of(turn, part, parts)
        if tiles <= A:
            continue
        mine = borrowed(w[A])
        own_sums = borrowed(sums[part, A])
        for C in range(A, tiles, CHUNK):
            for l in range(min(TILE, n - A * TILE)):
                own[:R] = 0.0
                x = float(mine[X + l]), float(mine[X + TILE + l]), float(mine[X + 2 * TILE + l])
                d = float(mine[D + l]), float(mine[D + TILE + l]), float(mine[D + 2 * TILE + l])
                if C == A:
                    distances_later(l, x, mine, own)
                    add_pairs(d, mine, own_sums, own, eps4)
                for B in range(max(C, A + 1), min(C + CHUNK, tiles)):
                    others = borrowed(w[B])
                    distances(x, others, own)
                    add_pairs(d, others, borrowed(sums[part, B]), own, eps4)
                fold_all(own)
                for c in range(6):
                    own_sums[c * TILE + l] += own[c * TILE]
                energy += own[6 * TILE]
    energies[part] = energy
    keep(lanes)


@inline
def gather(w, sums, force, torque, start, stop):
    """Add the sums of all parts, in their order, to forces and torques (n, 3) of bodies start..stop."""
    for i in range(start, stop):
        tile, l = i // TILE, i % TILE
        f1, f2, f3, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for part in range(min(sums.shape[0], tile + 1)):
            s = borrowed(sums[part, tile])
            f1, f2, f3 = f1 + s[F + l], f2 + s[F + TILE + l], f3 + s[F + 2 * TILE + l]
            g1, g2, g3 = g1 + s[G + l], g2 + s[G + TILE + l], g3 + s[G + 2 * TILE + l]
        d1, d2, d3 = w[tile, D + l], w[tile, D + TILE + l], w[tile, D + 2 * TILE + l]
        force[i, 0] += f1
        force[i, 1] += f2
        force[i, 2] += f3
        torque[i, 0] += g2 * d3 - g3 * d2
        torque[i, 1] += g3 * d1 - g1 * d3
        torque[i, 2] += g1 * d2 - g2 * d1


@inline
def add_all(x, Q, mu, eps4, parts, force, torque):
    """Add the forces and torques (n, 3) of all pairs, and return the energy."""
    n = x.shape[0]
    tiles = (n + TILE - 1) // TILE
    w = np.empty((tiles, INPUTS))
    sums = np.empty((parts, tiles, SUMS))
    energies = np.empty(parts)
    fill(x, Q, mu, w)
    energy = 0.0
    for part in range(parts):
        sum_part(w, n, eps4, sums, energies, part)
        energy += energies[part]
    gather(w, sums, force, torque, 0, n)
    return energy


@entry_point(FORCES)
def few_dipoles(t, x, Q, force, torque, numbers, sizes):
    """Add forces and torques (n, 3) in one thread, which is fastest for few bodies; return a status and the energy.

    The numbers are 4 eps sig^12 and the dipoles, the size is the number of parts.
    """
    return FINE, add_all(x, Q, as_rows(numbers[1:], 3), numbers[0], sizes[0], force, torque)


@entry_point(f"void({INPUT}, {MATRICES}, {INPUT}, f8[:,::1])")
def fill_tiles(x, Q, mu, w):
    """Write all bodies into tiles, the first step of a sum by several threads."""
    fill(x, Q, mu, w)


@entry_point("i8(f8[:,::1], i8, f8, f8[:,:,::1], f8[::1], i8, i8)")
def sum_parts(w, n, eps4, sums, energies, start, stop):
    """Compute the sums of the parts start..stop, the second step; return 0."""
    for part in range(start, stop):
        sum_part(w, n, eps4, sums, energies, part)
    return 0


@entry_point("i8(f8[:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], i8, i8)")
def gather_tiles(w, sums, force, torque, start, stop):
    """Add the sums to forces and torques of the bodies start..stop, the third step; return 0."""
    gather(w, sums, force, torque, start, stop)
    return 0
