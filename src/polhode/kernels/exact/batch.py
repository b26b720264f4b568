"""Many bodies at once: the exact flow on blocks of bodies, laid out so that the compiler vectorizes over them.

The formulas that are used for a body (its tier) depend on its own numbers alone, and the bodies of a tier are collected
in a bin until a block is full. Therefore the bits of a body's result do not depend on its neighbors, on its place in
the batch, or on the number of threads. Formulas and symbols are those of ``euler``, blocks those of ``lanes``.
"""

from __future__ import annotations

from polhode.kernels.compiler.intrinsics import prefetch, stack_array, stay_separate
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.block import SIZE, TIERS, advance, at
from polhode.kernels.exact.standard_form import INPUT, TIMES
from polhode.kernels.exact.tiers import (
    ALONE,
    are_lean,
    choose_tiers,
    move,
    share_a_tier,
    standardize,
    standardize_bodies,
)
from polhode.kernels.numbers.lanes import (
    LANES,
    groups_for,
    load_rows,
    pass_cache,
    quadruple_fields,
    store_rows,
    store_rows_past_cache,
    triple,
    triple_fields,
    wait_for_memory,
)

new_block, new_rows, new_counts = stack_array(SIZE), stack_array(LANES, "i8"), stack_array(TIERS, "i8")
PROPAGATE_RANGE = f"UniTuple(i8, 2)({INPUT}, {INPUT}, {INPUT}, {TIMES}, i8, i8, f8[:,::1], f8[:,::1], i8[::1])"


@entry_point(PROPAGATE_RANGE)
def propagate_range(inertia, m, q, t, start, stop, m_out, q_out, alone):
    """Propagate bodies start, ..., stop - 1, and return the index of the first invalid one.

    The scalar code is not compiled into this function: bodies that need it are listed in ``alone``, for
    ``standard_form.propagate_rows``.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    q : array, shape (n, 4) or (1, 4)
        Attitudes.
    t : array, shape (n,) or (1,)
        Times.
    start, stop : int
        Range of bodies.
    m_out : array, shape (n, 3)
        Output: momenta.
    q_out : array, shape (n, 4)
        Output: attitudes.
    alone : array of int, shape (n,)
        Output: indices of the bodies that remain for the scalar code, from alone[start] on.

    Returns
    -------
    int
        Index of the first body that is not valid or whose result is not finite, or NOBODY.
    int
        Number of bodies that remain for the scalar code.
    """
    block = new_block()
    bins = (new_block(), new_block(), new_block(), new_block())
    bin_rows = (new_rows(), new_rows(), new_rows(), new_rows())
    filled = new_counts()
    for k in range(TIERS):
        filled[k] = 0
    bad = NOBODY
    remaining = 0
    past_cache = pass_cache(m_out, start) and pass_cache(q_out, start)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        whole = count == LANES
        groups = groups_for(count)
        if inertia.shape[0] == 1:
            if first == start:
                load_shared(inertia, block, at.I)
        elif whole:
            load_rows(inertia, first, block, triple_fields(at.I))
        else:
            load_partial(inertia, first, count, block, at.I)
        if m.shape[0] == 1:
            load_shared(m, block, at.m)
        elif whole:
            load_rows(m, first, block, triple_fields(at.m))
        else:
            load_partial(m, first, count, block, at.m)
        if q.shape[0] == 1:
            load_shared(q, block, at.q)
        elif whole:
            load_rows(q, first, block, quadruple_fields(at.q))
        else:
            load_partial(q, first, count, block, at.q)
        load_times(t, first, count, block)
        prefetch_input(inertia, m, q, t, first + LANES)
        if not past_cache:
            prefetch_output(m_out, q_out, first + LANES)
        if first == start or inertia.shape[0] > 1:
            standardize_bodies(block, groups_for(LANES))
        standardize(block, groups)
        if not are_lean(block, groups):
            choose_tiers(block, groups)
        if whole and share_a_tier(block, groups):
            advance(int(block[at.tier]), block, groups)
            if past_cache:
                store_rows_past_cache(m_out, first, block, triple_fields(at.m))
                store_rows_past_cache(q_out, first, block, quadruple_fields(at.q))
            else:
                store_rows(m_out, first, block, triple_fields(at.m))
                store_rows(q_out, first, block, quadruple_fields(at.q))
            bad = min(bad, first_invalid(block, first))
            continue
        for l in range(count):
            k = int(block[at.tier + l])
            i = first + l
            if k == ALONE:
                alone[start + remaining] = i
                remaining += 1
                continue
            move(block, l, bins[k], filled[k])
            bin_rows[k][filled[k]] = i
            filled[k] += 1
            if filled[k] == LANES:
                advance(k, bins[k], groups_for(LANES))
                bad = min(bad, scatter(bins[k], bin_rows[k], LANES, m_out, q_out))
                filled[k] = 0
    for k in range(TIERS):
        if filled[k] > 0:
            advance(k, bins[k], groups_for(filled[k]))
            bad = min(bad, scatter(bins[k], bin_rows[k], filled[k], m_out, q_out))
    wait_for_memory()
    return bad, remaining


@inline
def prefetch_input(inertia, m, q, t, first):
    """Prefetch the input of the next block, from body ``first`` on, while this block is computed."""
    for line in range(0, 3 * LANES, 8):
        prefetch(inertia, 3 * first + line)
        prefetch(m, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q, 4 * first + line)
    for line in range(0, LANES, 8):
        prefetch(t, first + line)


@inline
def prefetch_output(m_out, q_out, first):
    """Prefetch the rows of the output of the next block, from body ``first`` on."""
    for line in range(0, 3 * LANES, 8):
        prefetch(m_out, 3 * first + line)
    for line in range(0, 4 * LANES, 8):
        prefetch(q_out, 4 * first + line)


@noinline
def load_shared(vectors, w, field):
    """Copy the only row, which serves all bodies, into all lanes of the block."""
    stay_separate()
    for k in range(vectors.shape[1]):
        x = float(vectors[0, k])
        for l in range(LANES):
            w[field + k * LANES + l] = x


@noinline
def load_partial(vectors, first, count, w, field):
    """Copy rows first, ... into lanes 0, ..., count - 1 of the block; other lanes are unchanged.

    The minimum, which is always first + l, prevents vector code for these rare loops: it makes the compilation of the
    whole kernel a third longer.
    """
    stay_separate()
    last = vectors.shape[0] - 1
    for l in range(count):
        i = min(first + l, last)
        for k in range(vectors.shape[1]):
            w[field + k * LANES + l] = float(vectors[i, k])


@inline
def load_times(t, first, count, w):
    """Copy times first, ... into lanes 0, ..., count - 1 of the block; a single time serves all bodies."""
    last = t.shape[0] - 1
    for l in range(count):
        w[at.t + l] = float(t[min(first + l, last)])


@inline
def first_invalid(w, first):
    """Return the index of the first body whose result is not finite, or NOBODY.

    The lanes are the bodies first, ..., first + LANES - 1.
    """
    total = 0.0
    for l in range(LANES):
        total += w[at.tier + l]
    if total == 0.0:
        return NOBODY
    l = 0
    while w[at.tier + l] == 0.0:
        l += 1
    return first + l


@noinline
def scatter(w, rows, count, m_out, q_out):
    """Copy lanes 0, ..., count - 1 into their rows of the output.

    Returns the smallest row whose result is not finite, or NOBODY.
    """
    stay_separate()
    bad = NOBODY
    for l in range(count):
        i = rows[l]
        m_out[i, 0], m_out[i, 1], m_out[i, 2] = triple(w, at.m, l)
        q_out[i, 0] = w[at.q + l]
        q_out[i, 1], q_out[i, 2], q_out[i, 3] = triple(w, at.q + LANES, l)
        if w[at.tier + l] != 0.0:
            bad = min(bad, i)
    return bad
