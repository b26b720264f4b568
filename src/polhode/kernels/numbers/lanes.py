"""Blocks of lanes: numbers laid out so that the compiler vectorizes over bodies, or over times.

A block ``w`` is one flat array; ``w[field + l]`` is the quantity of lane l that begins at ``field``, and vectors take
neighboring fields. Loops over lanes have no branches and no calls, and always run over all LANES, so that every
lane goes through the same instructions. Short loops are faster than long ones: the processor then works on several
turns of a loop at a time.

Two pitfalls. Functions that get arrays have no branches: Numba counts references to arrays, and can leave that out only
where there is one way through; counting waits for all that is being stored. And ``a[i] if choice else b[i]`` becomes a
load from a chosen address, and the loop is not vectorized any more: choose between computed numbers only.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline

LANES = 64 if JIT else 1  # uncompiled, one at a time
PAST_CACHE = 250_000  # numbers, two megabytes

if JIT:
    from polhode.kernels.compiler.intrinsics import (
        address,
        four_rows_in,
        four_rows_out,
        four_rows_past_cache,
        wait_for_memory,
    )

    @inline
    def new_block(size):
        return np.empty(size)

    @inline
    def load_rows(rows, first, w, fields):
        """LANES rows, from number ``first`` on, into the block: each of their three or four columns into a field."""
        for l in range(0, LANES, 4):
            four_rows_in(rows, len(fields) * (first + l), w, fields, l)

    @inline
    def pass_cache(rows, first):
        """Whether these rows are so many that they leave the cache before anyone reads them (and may be stored so).

        Such stores need addresses that are multiples of 16, from row ``first`` on in blocks of LANES.
        """
        return rows.size >= PAST_CACHE and (address(rows) + 8 * (rows.size // len(rows)) * first) % 16 == 0

    @inline
    def store_rows(rows, first, w, fields):
        """The reverse of ``load_rows``."""
        for l in range(0, LANES, 4):
            four_rows_out(rows, len(fields) * (first + l), w, fields, l)

    @inline
    def store_rows_past_cache(rows, first, w, fields):
        """The same if ``pass_cache``; ``wait_for_memory`` after the last of them."""
        for l in range(0, LANES, 4):
            four_rows_past_cache(rows, len(fields) * (first + l), w, fields, l)

else:

    def new_block(size):
        """A list: its numbers are Python's, which overflow and underflow in silence, unlike NumPy's."""
        return [0.0] * size

    def load_rows(rows, first, w, fields):
        """One row, as Python's numbers."""
        for k, field in enumerate(fields):
            w[field] = float(rows[first, k])

    def pass_cache(rows, first):
        return False

    def store_rows(rows, first, w, fields):
        rows[first] = [w[field] for field in fields]

    store_rows_past_cache = store_rows

    def wait_for_memory():
        """Nothing: see the compiled one."""


@inline
def triple_fields(field):
    """The fields of a vector."""
    return field, field + LANES, field + 2 * LANES


@inline
def quadruple_fields(field):
    return field, field + LANES, field + 2 * LANES, field + 3 * LANES


@inline
def pair(w, field, l):
    return w[field + l], w[field + LANES + l]


@inline
def triple(w, field, l):
    return w[field + l], w[field + LANES + l], w[field + 2 * LANES + l]


@inline
def put_pair(w, field, l, a, b):
    w[field + l], w[field + LANES + l] = a, b


@inline
def put_triple(w, field, l, a, b, c):
    w[field + l], w[field + LANES + l], w[field + 2 * LANES + l] = a, b, c
