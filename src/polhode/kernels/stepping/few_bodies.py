"""Splitting of small systems of bodies: the loop over stages, with exact drifts, in one compiled call.

Forces are called by their address, so that this loop is compiled once for all interactions. Large systems share the
bodies of each stage among threads instead: see ``methods.many_bodies``, whose results are the same to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.compiler.numba_internals import call_by_address
from polhode.kernels.exact.batch import PROPAGATE_RANGE
from polhode.kernels.exact.standard_form import INPUT, PROPAGATE_ROWS, TIMES
from polhode.kernels.stepping.header import FINE, FORCES, NO_STEP, NOT_FINITE, RAISED
from polhode.kernels.stepping.stages import DRIFT, run_stages
from polhode.kernels.stepping.system_steps import add_kick, add_motion, set_matrices, turn_torques

call_forces = call_by_address(FORCES, FINE)
call_range = call_by_address(PROPAGATE_RANGE, (0, 0))
call_rows = call_by_address(PROPAGATE_ROWS, 0)


class Pending(NamedTuple):
    """Pending stages of a system, and what is known of it; positions, momenta and attitudes are arrays."""

    drift: float  # coefficient of h
    kick: float
    time: float  # of the pending kick
    known: bool  # whether forces and torques belong to the positions and attitudes
    stuck: int  # the body whose flow has no step, or NOBODY
    evaluations: int
    status: int


class Moving(NamedTuple):
    """Arrays of a system that change."""

    x: np.ndarray  # (n, 3)
    p: np.ndarray
    m: np.ndarray
    q: np.ndarray  # (n, 4)
    force: np.ndarray
    torque: np.ndarray  # in principal axes


@noinline
def after_kick(forces, subject, h, s):
    """Return the system after its pending kick."""
    if s.kick == 0.0 or s.status != FINE:
        return s
    x, p, m, q, force, torque = subject[0]
    numbers, sizes, axes, linear, Q, in_space = subject[2]
    evaluations = s.evaluations
    if not s.known:
        set_matrices(q, axes, Q, force, in_space)
        status, raised = call_forces(forces, (s.time, x, Q, force, in_space, numbers, sizes))
        evaluations += 1
        status = RAISED if raised else status
        if status == FINE and turn_torques(q, force, in_space, linear, torque) != NOBODY:
            status = NOT_FINITE
        if status != FINE:
            return Pending(s.drift, s.kick, s.time, False, s.stuck, evaluations, status)
    add_kick(p, m, force, torque, s.kick * h)
    return Pending(s.drift, 0.0, s.time, True, s.stuck, evaluations, FINE)


@noinline
def after_drift(flow, subject, h, s):
    """Return the system after its pending drift."""
    if s.drift == 0.0 or s.status != FINE:
        return s
    x, p, m, q, _, _ = subject[0]
    moments, per_mass, alone, time = subject[3]
    time[0] = s.drift * h
    add_motion(x, p, per_mass, time[0])
    (bad, left), _ = call_range(flow[0], (moments, m, q, time, 0, x.shape[0], m, q, alone))
    if left > 0:
        other, _ = call_rows(flow[1], (moments, m, q, time, alone[:left], m, q))
        bad = min(bad, other)
    status = FINE if bad == NOBODY else NO_STEP
    return Pending(0.0, s.kick, s.time, False, bad, s.evaluations, status)


@inline
def with_stage(kind, x, t, s):
    """Return the system with one more pending stage, of coefficient x, at the time t."""
    if kind == DRIFT:
        return Pending(s.drift + x, *s[1:])
    return Pending(s.drift, s.kick + x, t, *s[3:])


@noinline
def write(subject, j, s):
    """Save the state as number j."""
    x, p, m, q, _, _ = subject[0]
    m_out, q_out, i = subject[4]
    for b in range(x.shape[0]):
        for c in range(3):
            m_out[j, i, b, c], m_out[j, i, b, 3 + c] = m[b, c], p[b, c]
            q_out[j, i, b, 4 + c] = x[b, c]
        for c in range(4):
            q_out[j, i, b, c] = q[b, c]


@inline
def copy_rows(a, b):
    """Copy all numbers of a to b, both of shape (n, .)."""
    for i in range(a.shape[0]):
        for c in range(a.shape[1]):
            b[i, c] = a[i, c]


@noinline
def copy_all(a, b):
    """Copy all arrays of a to those of b."""
    copy_rows(a.x, b.x)
    copy_rows(a.p, b.p)
    copy_rows(a.m, b.m)
    copy_rows(a.q, b.q)
    copy_rows(a.force, b.force)
    copy_rows(a.torque, b.torque)


@noinline
def copied(subject, s):
    """Copy the arrays, and return the pending stages."""
    copy_all(subject[0], subject[1])
    return s


@noinline
def restored(subject, before, s):
    """Copy the arrays back, and return the pending stages of that time, with the cost and the status of s."""
    copy_all(subject[1], subject[0])
    return Pending(*before[:5], s.evaluations, s.status)


ROWS = "f8[:,::1]"
STATES = "Array(f8, 4, 'C')"
# addresses of the forces and of two flows, (stages, their number, before, after), (first, t0, h), saves, limit,
# (x, p, m, q, force, torque), their copies, (numbers, sizes, axes, linear), (moments, 1/mass), pending stages (7,),
# (steps, evaluations, status), (m_out, q_out, number of the system)
FEW = (
    f"void(UniTuple(i8, 3), Tuple(({INPUT}, i8, i8, i8)), Tuple((i8, f8, f8)), i8[::1], i8, UniTuple({ROWS}, 6), "
    f"UniTuple({ROWS}, 6), Tuple((f8[::1], i8[::1], {INPUT}, b1[::1])), Tuple(({INPUT}, {TIMES})), f8[::1], i8[::1], "
    f"Tuple(({STATES}, {STATES}, i8)))"
)


@entry_point(FEW)
def few_steps(addresses, table, window, saves, limit, moving, copy, acting, constants, pending, counts, out):
    """Advance a system in place to the last of the steps ``saves``, or to step ``limit``; see ``stages``."""
    n = moving[0].shape[0]
    s = Pending(pending[0], pending[1], pending[3], pending[5] != 0.0, int(pending[6]), counts[1], counts[2])
    working = np.empty((n, 3, 3)), np.empty((n, 3))
    flying = np.empty(n, np.int64), np.empty(1)
    subject = Moving(*moving), Moving(*copy), (*acting, *working), (*constants, *flying), out
    forces = addresses[0]
    flow = addresses[1], addresses[2]
    s, steps, begun = run_stages(
        after_kick, after_drift, with_stage, write, copied, restored, forces, flow,
        subject, table, window, saves, limit, s, counts[0], pending[4] != 0.0,
    )  # fmt: skip
    pending[0], pending[1], pending[3] = s.drift, s.kick, s.time
    pending[4], pending[5], pending[6] = 1.0 if begun else 0.0, 1.0 if s.known else 0.0, float(s.stuck)
    counts[0], counts[1], counts[2] = steps, s.evaluations, s.status
