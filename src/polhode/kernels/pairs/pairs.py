"""Sums over pairs of bodies (see ``near``) for a pair function of the user, by its address (``call_by_address``).

A pair function is pair(r, A, B, p) -> (V, F, S, T): energy, force on the first body, and torques on the first and on
the second, in space axes, for r = x_i - x_j and attitude matrices A, B; the second body gets -F.
"""

from __future__ import annotations

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.numba_internals import borrowed, call_by_address
from polhode.kernels.exact.standard_form import MATRICES
from polhode.kernels.pairs.near import LANES, F, R, S, T, V, signature, sum_parts
from polhode.kernels.stepping.header import MATRIX, VECTOR

PAIR = f"Tuple((f8, {VECTOR}, {VECTOR}, {VECTOR}))({VECTOR}, {MATRIX}, {MATRIX}, f8[::1])"
ZERO = (0.0, 0.0, 0.0)
call_pair = call_by_address(PAIR, (0.0, ZERO, ZERO, ZERO))

PAIRWISE = f"Tuple((i8, {MATRICES}, f8[::1], i8[::1]))"  # (address, Q, p, who raised (n,))


@inline
def vector(rows, i):
    return float(rows[i, 0]), float(rows[i, 1]), float(rows[i, 2])


@inline
def rows_of_matrix(Q, i):
    A = borrowed(Q[i])
    return vector(A, 0), vector(A, 1), vector(A, 2)


@inline
def put(w, field, l, v):
    w[field + l], w[field + LANES + l], w[field + 2 * LANES + l] = v


@inline
def fill_pairs(told, i, first, numbers, w):
    """raised[i] becomes the number of a body with which the pair function raised."""
    pair, Q, params, raised = told
    A, p = rows_of_matrix(Q, i), borrowed(params)
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
    return sum_parts(fill_pairs, 0, pairs, cut, pairwise, sums, totals, start, stop)
