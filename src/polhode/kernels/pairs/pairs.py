"""Sums over pairs of bodies (see ``near``) for a pair function of the user, called by its address.

A pair function is pair(r, A, B, p) -> (V, F, S, T): energy, force on the first body, and torques on the first and on
the second, in space axes, for r = x_i - x_j and attitude matrices A, B; the force on the second body is -F.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from polhode.kernels.compiler.intrinsics import borrowed, call_by_address
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.standard_form import MATRICES
from polhode.kernels.pairs.near import LANES, F, R, S, T, V, signature, sum_parts
from polhode.kernels.stepping.header import FINE, FORCES, MATRIX, RAISED, VECTOR

PAIR = f"Tuple((f8, {VECTOR}, {VECTOR}, {VECTOR}))({VECTOR}, {MATRIX}, {MATRIX}, f8[::1])"
ZERO = (0.0, 0.0, 0.0)
NO_CUT = (inf, 0.0, 0.0)
call_pair = call_by_address(PAIR, (0.0, ZERO, ZERO, ZERO))

PAIRWISE = f"Tuple((i8, {MATRICES}, f8[::1], i8[::1]))"  # (address, Q, p, raised (n,))


@inline
def vector(rows, i):
    """Return row i of an array (n, 3) as a tuple."""
    return float(rows[i, 0]), float(rows[i, 1]), float(rows[i, 2])


@inline
def rows_of_matrix(Q, i):
    """Return matrix i of an array (n, 3, 3) as a tuple of rows."""
    A = borrowed(Q[i])
    return vector(A, 0), vector(A, 1), vector(A, 2)


@inline
def put(w, field, l, v):
    """Write the vector v to lane l of a field of w."""
    w[field + l], w[field + LANES + l], w[field + 2 * LANES + l] = v


@inline
def fill_pairs(interaction, i, first, numbers, w):
    """Compute energies, forces and torques of body i and LANES neighbors (see ``near``).

    If the pair function raises an exception, raised[i] is set to the index of the other body.
    """
    pair, Q, params, raised = interaction
    A = rows_of_matrix(Q, i)
    p = borrowed(params)
    for l in range(LANES):
        j = numbers[first + l]
        r = w[R + l], w[R + LANES + l], w[R + 2 * LANES + l]
        (energy, f, s, t), failed = call_pair(pair, (r, A, rows_of_matrix(Q, j), p))
        if failed:
            raised[i] = j
        w[V + l] = energy
        put(w, F, l, f)
        put(w, S, l, s)
        put(w, T, l, t)


@entry_point(signature(PAIRWISE))
def sum_pairs(pairs, cut, pairwise, sums, totals, start, stop):
    """Call ``near.sum_parts`` for a pair function of the user."""
    return sum_parts(fill_pairs, 0, pairs, cut, pairwise, sums, totals, start, stop)


@entry_point(FORCES)
def few_pairs(t, x, Q, force, torque, numbers, sizes):
    """Add forces and torques (n, 3) of all pairs; return a status and the energy.

    The numbers are the parameters, the sizes the address and the parts.
    """
    n = x.shape[0]
    parts = sizes[1]
    nowhere = np.zeros(3)
    others = np.empty(n, np.int32)
    starts, stops = np.empty(n, np.int64), np.empty(n, np.int64)
    kinds, raised = np.zeros(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        others[i], starts[i], stops[i], raised[i] = i, i + 1, n, NOBODY
    pairs = x, kinds, nowhere, nowhere, starts, stops, others, n
    energies = np.empty(parts)
    sums = np.empty((parts, n, 3)), np.empty((parts, n, 3)), energies
    pairwise = sizes[0], Q, numbers, raised
    sum_parts(fill_pairs, 0, pairs, NO_CUT, pairwise, sums, (force, torque), 0, parts)
    for i in range(n):
        if raised[i] != NOBODY:
            return RAISED, nan
    return FINE, energies.sum()
