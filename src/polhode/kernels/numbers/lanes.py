"""Blocks of lanes: numbers laid out so that the compiler vectorizes over bodies or over times.

A block ``w`` is one flat array; ``w[field + l]`` is the quantity of lane l that begins at ``field``, and the components
of a vector are neighboring fields. Loops over lanes have no branches and no calls, and run over whole groups of lanes,
so that every lane is computed by the same instructions: ``lanes_of(groups)``, at most LANES, which the compiler has to
see in every function. Short loops are faster than long ones, because the processor then overlaps several iterations.

There are two pitfalls. First, functions with array arguments must not have branches: Numba counts references to
arrays, can omit the counting only in code with a single path, and counting waits for all pending stores. Second,
``a[i] if choice else b[i]`` becomes a load from a selected address, which prevents vectorization: select between
computed numbers only.

``put_pair`` and ``put_triple`` take separate numbers, because tuples bring nothing here: ``propagate_range`` compiles
in 11.2 s with numbers and in 11.4 s with unpacked tuples (medians of five, which scatter by 10 %), and runs as fast.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline

LANES = 32 if JIT else 1  # uncompiled code computes one body at a time
GROUP = 4 if JIT else 1  # number of lanes of a group: that of vector instructions on most processors
PAST_CACHE = 250_000  # numbers (two megabytes) from which on rows are stored past the cache

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
        """Return an uninitialized block of ``size`` numbers."""
        return np.empty(size)

    @inline
    def load_rows(rows, first, w, fields):
        """Copy LANES rows from index ``first`` on into the block, each of their columns into one of ``fields``."""
        for l in range(0, LANES, 4):
            four_rows_in(rows, len(fields) * (first + l), w, fields, l)

    @inline
    def pass_cache(rows, first):
        """Return whether to store the rows past the cache, which is faster if there are many of them.

        From PAST_CACHE numbers on, rows leave the cache before they are read. Stores past the cache need addresses that
        are multiples of 16, from row ``first`` on in blocks of LANES.
        """
        return rows.size >= PAST_CACHE and (address(rows) + 8 * (rows.size // len(rows)) * first) % 16 == 0

    @inline
    def store_rows(rows, first, w, fields):
        """Copy ``fields`` of the block into LANES rows from index ``first`` on: the inverse of ``load_rows``."""
        for l in range(0, LANES, 4):
            four_rows_out(rows, len(fields) * (first + l), w, fields, l)

    @inline
    def store_rows_past_cache(rows, first, w, fields):
        """Copy ``fields`` of the block into LANES rows without loading these rows into the cache.

        Use it only if ``pass_cache`` returned True, and call ``wait_for_memory`` after the last such store.
        """
        for l in range(0, LANES, 4):
            four_rows_past_cache(rows, len(fields) * (first + l), w, fields, l)

else:

    def new_block(size):
        """Return a block as a list of ``size`` zeros.

        Python's floats overflow and underflow without warnings, unlike those of NumPy.
        """
        return [0.0] * size

    def load_rows(rows, first, w, fields):
        """Copy row ``first`` into the block, as Python's floats."""
        for k, field in enumerate(fields):
            w[field] = float(rows[first, k])

    def pass_cache(rows, first):
        """Return False: uncompiled code has no stores past the cache."""
        return False

    def store_rows(rows, first, w, fields):
        """Copy ``fields`` of the block into row ``first``."""
        rows[first] = [w[field] for field in fields]

    store_rows_past_cache = store_rows

    def wait_for_memory():
        """Do nothing: uncompiled code has no stores past the cache to wait for."""


@inline
def groups_for(count):
    """Return the number of groups that have room for ``count`` lanes."""
    return (count + GROUP - 1) // GROUP


@inline
def lanes_of(groups):
    """Return the number of lanes of some groups, of at least one and at most LANES.

    The minimum tells the compiler that indices of lanes are not negative, without which it makes no vector code; the
    maximum, that every loop has a round of all vectors, without which it makes each loop twice.
    """
    return GROUP * max(1, min(groups, LANES // GROUP))


@inline
def triple_fields(field):
    """Return the three fields of the vector that begins at ``field``."""
    return field, field + LANES, field + 2 * LANES


@inline
def quadruple_fields(field):
    """Return the four fields of the quaternion that begins at ``field``."""
    return field, field + LANES, field + 2 * LANES, field + 3 * LANES


@inline
def pair(w, field, l):
    """Return the two numbers of lane l that begin at ``field``."""
    return w[field + l], w[field + LANES + l]


@inline
def triple(w, field, l):
    """Return the three numbers of lane l that begin at ``field``."""
    return w[field + l], w[field + LANES + l], w[field + 2 * LANES + l]


@inline
def put_pair(w, field, l, a, b):
    """Store a, b as the two numbers of lane l that begin at ``field``."""
    w[field + l], w[field + LANES + l] = a, b


@inline
def put_triple(w, field, l, a, b, c):
    """Store a, b, c as the three numbers of lane l that begin at ``field``."""
    w[field + l], w[field + LANES + l], w[field + 2 * LANES + l] = a, b, c
