"""Splitting of small systems of bodies: the loop over stages, with exact drifts, in one compiled call.

Forces are called by their address, so that this loop is compiled once for all interactions. Large systems share the
bodies of each stage among threads instead: see ``methods.many_bodies``, whose results are the same to the bit.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import borrowed, call_by_address, stay_separate
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.batch import PROPAGATE_RANGE
from polhode.kernels.exact.standard_form import PROPAGATE_ROWS
from polhode.kernels.stepping.header import (
    FINE,
    FORCES,
    NO_STEP,
    NOT_FINITE,
    RAISED,
    FloatArray,
    InputRows,
    Inputs,
    Integers,
    Moving,
    Numbers,
    SchemeTable,
    Wanted,
)
from polhode.kernels.stepping.stages import Pending, Progress, Window, stage_loop, time_in
from polhode.kernels.stepping.system_steps import add_kick, add_motion, set_matrices, turn_torques

call_forces = call_by_address(FORCES, (FINE, 0.0))
call_range = call_by_address(PROPAGATE_RANGE, (0, 0))
call_rows = call_by_address(PROPAGATE_ROWS, 0)
NO_SCALAR_CODE = 100  # status of a system with bodies that need ``propagate_rows``, whose address was not given

Flags = Annotated[np.ndarray, "b1[::1]"]
SystemStates = Annotated[FloatArray, "Array(f8, 4, 'C')"]


class Forces(NamedTuple):
    """Forces for a compiled loop over stages, and constants of the bodies."""

    address: int  # of a function of the signature FORCES
    numbers: Numbers
    sizes: Integers
    axes: InputRows
    linear: Flags


class Flight(NamedTuple):
    """Free motion of the bodies: addresses of the exact flow of a range of bodies, and of single ones, constants."""

    by_range: int
    by_rows: int  # or 0; see NO_SCALAR_CODE
    moments: InputRows
    per_mass: Inputs


class Memory(NamedTuple):
    """What is carried from step to step, besides the arrays that move; see ``FewState``."""

    pending: Numbers  # (7,): drift, kick, gradient, time, begun, known, stuck
    counts: Integers  # (3,): steps, evaluations, status


class FewWork(NamedTuple):
    """System number i, to be advanced in place."""

    scheme: SchemeTable
    window: Window
    wanted: Wanted
    forces: Forces
    flight: Flight
    moving: Moving
    copy: Moving  # arrays of the same shapes
    memory: Memory
    m_out: SystemStates
    q_out: SystemStates
    i: int


class Subject(NamedTuple):
    """What the actions of the loop use."""

    forces: Forces
    flight: Flight
    moving: Moving
    copy: Moving
    matrices: np.ndarray
    torque_in_space: np.ndarray
    alone: np.ndarray  # indices of bodies that a block does not serve
    time: np.ndarray
    m_out: np.ndarray
    q_out: np.ndarray
    i: int


class FewState(NamedTuple):
    """Pending stages of a system, and what is known of it; positions, momenta and attitudes are arrays."""

    pending: Pending
    known: bool  # whether forces and torques belong to the positions and attitudes
    stuck: int  # the body whose flow has no step, or NOBODY
    evaluations: int
    status: int


@noinline
def after_kick(subject, window, s):
    """Return the system after its pending kick."""
    p = s.pending
    if p.kick == 0.0 or s.status != FINE:
        return s
    a, forces, in_space = subject.moving, subject.forces, subject.torque_in_space
    evaluations = s.evaluations
    if not s.known:
        Q = subject.matrices
        set_matrices(a.q, forces.axes, Q, a.force, in_space)
        arguments = time_in(window, p.time), a.x, Q, a.force, in_space, forces.numbers, forces.sizes
        (status, _), raised = call_forces(forces.address, arguments)
        evaluations += 1
        status = RAISED if raised else status
        if status == FINE and turn_torques(a.q, a.force, in_space, forces.linear, a.torque) != NOBODY:
            status = NOT_FINITE
        if status != FINE:
            return FewState(p, False, s.stuck, evaluations, status)
    add_kick(a.p, a.m, a.force, a.torque, p.kick * window.h)
    return FewState(Pending(p.drift, 0.0, p.gradient, p.time), True, s.stuck, evaluations, FINE)


@noinline
def after_drift(subject, window, s):
    """Return the system after its pending drift."""
    p = s.pending
    if p.drift == 0.0 or s.status != FINE:
        return s
    a, flight, time = subject.moving, subject.flight, subject.time
    time[0] = p.drift * window.h
    add_motion(a.x, a.p, flight.per_mass, time[0])
    n = a.x.shape[0]
    (bad, left), _ = call_range(flight.by_range, (flight.moments, a.m, a.q, time, 0, n, a.m, a.q, subject.alone))
    if left > 0:
        if flight.by_rows == 0:
            return FewState(p, False, s.stuck, s.evaluations, NO_SCALAR_CODE)
        other, _ = call_rows(flight.by_rows, (flight.moments, a.m, a.q, time, subject.alone[:left], a.m, a.q))
        bad = min(bad, other)
    status = FINE if bad == NOBODY else NO_STEP
    return FewState(Pending(0.0, p.kick, p.gradient, p.time), False, bad, s.evaluations, status)


@inline
def with_pending(s, pending):
    """Return the system with other pending stages."""
    return FewState(pending, s.known, s.stuck, s.evaluations, s.status)


@noinline
def write(subject, j, s):
    """Save the state as number j."""
    a, i = subject.moving, subject.i
    for b in range(a.x.shape[0]):
        for c in range(3):
            subject.m_out[j, i, b, c], subject.m_out[j, i, b, 3 + c] = a.m[b, c], a.p[b, c]
            subject.q_out[j, i, b, 4 + c] = a.x[b, c]
        for c in range(4):
            subject.q_out[j, i, b, c] = a.q[b, c]


@noinline
def copy_all(a, b):
    """Copy all arrays of a to those of b; one loop compiles in much less time than one for each array."""
    stay_separate()
    for i in range(a.x.shape[0]):
        for c in range(3):
            b.x[i, c], b.p[i, c], b.m[i, c] = a.x[i, c], a.p[i, c], a.m[i, c]
            b.force[i, c], b.torque[i, c] = a.force[i, c], a.torque[i, c]
        for c in range(4):
            b.q[i, c] = a.q[i, c]


@noinline
def copied(subject, s):
    """Copy the arrays, and return the pending stages."""
    copy_all(subject.moving, subject.copy)
    return s


@noinline
def restored(subject, before, s):
    """Copy the arrays back, and return the pending stages of that time, with the cost and the status of s."""
    copy_all(subject.copy, subject.moving)
    return FewState(before.pending, before.known, before.stuck, s.evaluations, s.status)


run = stage_loop(after_kick, after_drift, with_pending, write, copied, restored)


@entry_point(("void", FewWork))
def few_steps(work):
    """Advance a system in place to the last of the wanted steps, or to step ``limit``; see ``stages``."""
    work = borrowed(work)
    n = work.moving.x.shape[0]
    working = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty(n, np.int64), np.empty(1)
    subject = Subject(
        work.forces, work.flight, work.moving, work.copy, *working, work.m_out, work.q_out, work.i
    )  # fmt: skip
    p, counts = work.memory.pending, work.memory.counts
    s = FewState(Pending(p[0], p[1], p[2], p[3]), p[5] != 0.0, int(p[6]), counts[1], counts[2])
    s, progress = run(subject, work.scheme, work.window, work.wanted, s, Progress(counts[0], p[4] != 0.0))
    p[0], p[1], p[2], p[3] = s.pending
    p[4], p[5], p[6] = 1.0 if progress.begun else 0.0, 1.0 if s.known else 0.0, float(s.stuck)
    counts[0], counts[1], counts[2] = progress.steps, s.evaluations, s.status
