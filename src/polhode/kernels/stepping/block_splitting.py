"""Splitting methods for batches of bodies with torques: drifts and kicks of blocks of bodies, in lanes.

Stages, merging and saving are those of ``splitting``, by the same loop over stages; bodies of a block take them
together. Drifts are those of ``exact.batch``, so that neither neighbors, nor the place in the batch, nor threads change
a bit of a body. One body that is integrated alone takes the scalar loop of ``splitting`` instead, which rounds
differently.

If the torque or the drift of a body fails, the body leaves its block, and is repeated in a block of its own from the
beginning of the call: only there it is known at which step it stops, and the others go on without it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import borrowed, call_by_address, keep, log2_in_steps
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.exact.block import SIZE, at
from polhode.kernels.exact.standard_form import PROPAGATE_ROWS
from polhode.kernels.exact.tiers import ALONE, advance_lanes, standardize_bodies
from polhode.kernels.numbers.lanes import LANES, groups_for, lanes_of, new_block, put_triple, triple
from polhode.kernels.stepping.block_kicks import apply_kick, find_kick
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.header import ADDRESS, BOOL, FINE, NO_STEP, SchemeTable, Work, number_of, row_of
from polhode.kernels.stepping.stages import Pending, Progress, Window, stage_loop
from polhode.kernels.stepping.torqued_block import (
    COPY,
    Block,
    attitude_of,
    copy_state,
    field_count,
    fill_copies,
    load_body,
    own,
    put_attitude,
)

CLASSES = 192  # of speeds: eight for each octave of lambda^2, from 2^-16 to 2^8

call_rows = call_by_address(PROPAGATE_ROWS, 0)


class BlockState(NamedTuple):
    """Pending stages of all bodies of a block, and the status of the last of them that failed."""

    pending: Pending
    status: int


class Alone(NamedTuple):
    """One body, for drifts by the scalar code: its address, and arrays of one row."""

    by_rows: int
    I: object
    m: object
    q: object
    t: object
    row: object


class Subject(NamedTuple):
    """A block, its bodies that failed, arrays for scalar drifts, and arrays for saved states."""

    block: Block
    failed: object  # array of int (LANES,): numbers of bodies that have left the block
    alone: Alone
    m_out: object  # array (k, n, 3)
    q_out: object  # array (k, n, 4)


@noinline
def after_kick(subject, window, s):
    """Return the state after its pending kick."""
    p = s.pending
    if (p.kick == 0.0 and p.gradient == 0.0) or s.status != FINE:
        return s
    if find_kick(subject.block, p) > 0:
        status = settled(subject)
        if status != FINE:
            return BlockState(p, status)
    apply_kick(subject.block, p)
    return BlockState(Pending(p.drift, 0.0, 0.0, p.time), FINE)


@noinline
def after_drift(subject, window, s):
    """Return the state after its pending drift."""
    p = s.pending
    if p.drift == 0.0 or s.status != FINE:
        return s
    w, groups = subject.block.w, subject.block.counts[0]
    copy_state(w, groups, at.m, at.q, own.m_before, own.q_before)
    for l in range(lanes_of(groups)):
        w[at.t + l] = p.drift * w[own.h + l]
    advance_lanes(w, subject.block.spare, groups)
    rare = 0
    for l in range(lanes_of(groups)):
        rare += 0 if w[at.tier + l] == 0.0 else 1
    if rare > 0:
        drift_alone(subject, p.drift)
        status = settled(subject)
        if status != FINE:
            copy_state(w, groups, own.m_before, own.q_before, at.m, at.q)
            return BlockState(p, status)
    return BlockState(Pending(0.0, p.kick, p.gradient, p.time), FINE)


@noinline
def drift_alone(subject, drift):
    """Make the drifts that lanes leave to the scalar code, and set the status of those without a result."""
    w, a = subject.block.w, subject.alone
    for l in range(lanes_of(subject.block.counts[0])):
        valid = w[at.tier + l] == 0.0
        if w[at.tier + l] == float(ALONE):
            a.I[0, 0], a.I[0, 1], a.I[0, 2] = triple(w, own.I, l)
            a.m[0, 0], a.m[0, 1], a.m[0, 2] = triple(w, own.m_before, l)
            a.q[0, 0], a.q[0, 1], a.q[0, 2], a.q[0, 3] = attitude_of(w, own.q_before, l)
            a.t[0] = drift * w[own.h + l]
            bad, _ = call_rows(a.by_rows, (a.I, a.m, a.q, a.t, a.row, a.m, a.q))
            put_triple(w, at.m, l, a.m[0, 0], a.m[0, 1], a.m[0, 2])
            put_attitude(w, at.q, l, (a.q[0, 0], a.q[0, 1], a.q[0, 2], a.q[0, 3]))
            valid = bad != 0
        w[own.status + l] = float(FINE) if valid else float(NO_STEP)


@noinline
def settled(subject):
    """Remove bodies that failed from the block; return their status if the block has one body, or none that is left."""
    block, failed = subject.block, subject.failed
    w, rows, counts = block.w, block.rows, block.counts
    status = FINE
    for l in range(lanes_of(counts[0])):
        if rows[l] != COPY and w[own.status + l] != float(FINE):
            status = int(w[own.status + l])
            if counts[2] == 1:
                return status
            failed[counts[1]] = rows[l]
            counts[1] += 1
            rows[l] = COPY
    if counts[1] == counts[2]:
        return status
    fill_copies(block)
    return FINE


@inline
def with_pending(s, pending):
    """Return the state with other pending stages."""
    return BlockState(pending, s.status)


@noinline
def write(subject, j, s):
    """Save the states as number j."""
    write_states(subject.block, subject.m_out[j], subject.q_out[j])


@noinline
def write_states(block, m, q):
    """Write the states of all bodies to their rows."""
    w, rows = block.w, block.rows
    for l in range(lanes_of(block.counts[0])):
        i = rows[l]
        if i != COPY:
            m[i, 0], m[i, 1], m[i, 2] = triple(w, at.m, l)
            q[i, 0], q[i, 1], q[i, 2], q[i, 3] = attitude_of(w, at.q, l)


@noinline
def copied(subject, s):
    """Copy the states of all bodies, and return the pending stages."""
    copy_state(subject.block.w, subject.block.counts[0], at.m, at.q, own.m_copy, own.q_copy)
    return s


@noinline
def restored(subject, before, s):
    """Copy the states back, and return the pending stages of that time, with the status of s."""
    copy_state(subject.block.w, subject.block.counts[0], own.m_copy, own.q_copy, at.m, at.q)
    return BlockState(before.pending, s.status)


run = stage_loop(after_kick, after_drift, with_pending, write, copied, restored)


@inline
def is_like(current, i, k):
    """Return whether body i continues, with the same pending stages and after as many steps as body k."""
    same = current.status[i] == FINE and current.steps[i] == current.steps[k]
    for n in range(current.memory.shape[1]):
        same = same and current.memory[i, n] == current.memory[k, n]
    return same


@inline
def speed_class(bodies, clock, current, i):
    """Return the class of body i, from 0 to CLASSES - 1, by lambda^2 of ``euler`` for a step.

    With w = 1/I in decreasing order, lambda^2 is the larger one of (w1 - w2) (m.w m - w3 m.m) and (w2 - w3) (w1 m.m -
    m.w m), times (h/2)^2.
    """
    row = row_of(bodies.inertia, i)
    I1, I2, I3 = float(bodies.inertia[row, 0]), float(bodies.inertia[row, 1]), float(bodies.inertia[row, 2])
    a, b, c = 1.0 / I1, 1.0 / I2, 1.0 / I3
    x, y, z = float(current.m[i, 0]), float(current.m[i, 1]), float(current.m[i, 2])
    x, y, z = x * x, y * y, z * z
    w1, w3 = max(a, b, c), min(a, b, c)
    w2 = max(min(a, b), min(max(a, b), c))
    total, energy = x + y + z, a * x + b * y + c * z
    t = 0.5 * number_of(clock.h, i)
    size = max((w1 - w2) * (energy - w3 * total), (w2 - w3) * (w1 * total - energy)) * (t * t)
    return int(min(max(0.0, 8.0 * (log2_in_steps(size) + 16.0)), CLASSES - 1.0))


@noinline
def sort_bodies(order, work):
    """Write the numbers of the bodies of ``work`` in the order of their classes.

    Bodies of a block then mostly drift by the same formulas. The order does not change results; it is not changed if
    one block suffices.
    """
    if len(order) <= LANES:
        for k in range(len(order)):
            order[k] = work.start + k
        return
    begins = np.zeros(CLASSES + 1, np.int64)
    for i in range(work.start, work.stop):
        begins[speed_class(work.bodies, work.clock, work.current, i) + 1] += 1
    for k in range(CLASSES):
        begins[k + 1] += begins[k]
    for i in range(work.start, work.stop):
        k = speed_class(work.bodies, work.clock, work.current, i)
        order[begins[k]] = i
        begins[k] += 1


@noinline
def choose_rows(block, current, order, first):
    """Choose the bodies of the next block, from place ``first`` of the order on; return the place of the next one.

    They make the same stages; bodies that have failed are left out.
    """
    rows, count, place = block.rows, 0, first
    while place < len(order) and count < LANES:
        i = order[place]
        if current.status[i] == FINE:
            if count > 0 and not is_like(current, i, rows[0]):
                break
            rows[count] = i
            count += 1
        place += 1
    block.counts[2] = count
    return place


@entry_point(("void", ADDRESS, ADDRESS, ADDRESS, BOOL, BOOL, SchemeTable, Work))
def split_blocks(torque, torques, by_rows, implicit, damped, scheme, work):
    """Advance bodies start..stop as ``splitting.split_loop`` does, in blocks.

    Parameters
    ----------
    torque, torques : int
        Addresses of the torque of one body and of that of a block; either of them is 0.
    by_rows : int
        Address of ``standard_form.propagate_rows``.
    implicit : bool
        Whether the torque depends on w.
    damped : bool
        Whether there is damping.
    scheme : SchemeTable
        Stages.
    work : Work
        Bodies and their states.
    """
    scheme, work = borrowed(scheme), borrowed(work)
    bodies, clock, current, saved = work.bodies, work.clock, work.current, work.saved
    fields = field_count(bodies.params)
    arrays = new_block(fields * LANES), new_block(SIZE)
    integers = np.full(LANES, COPY), np.empty(LANES, np.int64), np.zeros(3, np.int64)
    rows_of_one = np.empty((1, 3)), np.empty((1, 3)), np.empty((1, 4)), np.empty(1), np.zeros(1, np.int64)
    w, spare = borrowed(arrays[0]), borrowed(arrays[1])
    rows, failed, counts = borrowed(integers[0]), borrowed(integers[1]), borrowed(integers[2])
    turned, oblique = bodies.axes.shape[0] > 0, bodies.damping.shape[1] == OBLIQUE
    block = Block(w, spare, rows, counts, fields, torque, torques, bodies.params, turned, implicit, damped, oblique)
    alone = Alone(by_rows, *borrowed(rows_of_one))
    subject = Subject(block, failed, alone, saved.m, saved.q)
    window = Window(clock.first, 0.0, 1.0)  # each lane has its own times
    bodies_in_order = np.empty(work.stop - work.start, np.int64)
    order = borrowed(bodies_in_order)
    sort_bodies(order, work)
    place = 0
    while place < len(order) or counts[1] > 0:
        if counts[1] > 0:
            counts[1] -= 1
            rows[0], counts[2] = failed[counts[1]], 1
        else:
            place = choose_rows(block, current, order, place)
        count = counts[2]
        if count == 0:
            continue
        counts[0] = groups_for(count)
        for l in range(lanes_of(counts[0])):
            if l < count:
                load_body(w, bodies, clock, current, l, rows[l])
            else:
                rows[l] = COPY
        standardize_bodies(w, counts[0])
        fill_copies(block)
        p = current.memory[rows[0]]
        s = BlockState(Pending(float(p[0]), float(p[1]), float(p[2]), float(p[3])), FINE)
        s, progress = run(subject, scheme, window, work.wanted, s, Progress(current.steps[rows[0]], p[4] != 0.0))
        store(block, current, s, progress)
    keep(arrays)
    keep(integers)
    keep(bodies_in_order)
    keep(rows_of_one)


@noinline
def store(block, current, s, progress):
    """Write the states of all bodies of the block, their pending stages and their counters."""
    write_states(block, current.m, current.q)
    for l in range(lanes_of(block.counts[0])):
        i = block.rows[l]
        if i != COPY:
            p = current.memory[i]
            p[0], p[1], p[2], p[3] = s.pending
            p[4] = 1.0 if progress.begun else 0.0
            current.steps[i] = progress.steps
            current.status[i] = s.status
            current.torques[i] = int(block.w[own.evaluations + l])
