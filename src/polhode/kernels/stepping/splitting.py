"""Splitting methods for bodies with torques: alternating free motion (drifts) and kicks, in a compiled loop.

A scheme is a table of stages, (DRIFT, a), (KICK, b) or (GRADIENT, c), which are

    drift     the free flow for a time a h, which also advances t
    kick      m += b h f,   f = f(t, Q, w), the torque in body axes; with damping m' = f - D w, solved exactly
    gradient  m -= c h^3 g,   g = -2 (D_w f + w x f),  w = f/I,   the torque of the potential f.I^-1 f               (1)

The loop over stages, which merges adjacent ones, is that of ``stages``. The torque is evaluated at times from ``low``
to ``high`` of the clock only: if it jumps at an end of the time interval of these steps, its limit from the inside is
used.

The free flow is that of ``repeat``, and the torque a function of fixed type; both are called by their addresses, and
this loop is not compiled again for others. The torque has arguments in the user's axes and units, see ``torques``.

``split_body`` is compiled alone, as the flows are, and called by ``split`` and by loops of the user: all have the same
bits.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import borrowed, call_in_registers, keep
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import (
    Scale,
    attitude_from_order,
    attitude_to_order,
    from_order,
    quaternion_of,
    to_order,
    to_standard_time,
    vector_of,
)
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import by_components, cross, dot, largest, plus, times
from polhode.kernels.stepping.damping import damped_kick, resistance
from polhode.kernels.stepping.frame import frame_in_axes, principal_frame, write_state
from polhode.kernels.stepping.header import (
    ADDRESS,
    BOOL,
    FINE,
    NO_STEP,
    Bodies,
    FlowData,
    Limits,
    Numbers,
    Quaternion,
    SchemeTable,
    States,
    Vector,
    Wanted,
    Work,
    number_of,
)
from polhode.kernels.stepping.repeat import new_constants, prepare_flow, whole_step
from polhode.kernels.stepping.stages import Pending, Progress, Window, stage_loop, time_in
from polhode.kernels.stepping.torques import Body, body_in_frame, torque_on

MOST_ITERATIONS = 200
ROUNDING = 2.0**-48  # relative to m: a larger change that no longer decreases does not converge
DIFFERENCE = 2.0**-9  # radians, of the difference quotient in (1): balances its fourth power and eps divided by it


class SplitState(NamedTuple):
    """State of a body in the standard form, with its pending stages."""

    m: Vector
    q: Quaternion
    pending: Pending
    evaluations: int
    status: int


class Subject(NamedTuple):
    """Body of a splitting: constants, whether its torque depends on w, its free flow, and arrays for saved states."""

    body: Body
    implicit: bool
    advance: int  # address, of the flow
    constants: object  # array, of the flow
    fractions: object  # array, the parts of a step of the flow
    m_out: object  # array (k, n, 3)
    q_out: object  # array (k, n, 4)
    i: int  # number of the body


@inline
def gradient_torque(body, t, f, m, q):
    """Return g of (1) and the status; the derivative of f along w is a difference quotient of order 4."""
    w = by_components(times(body.rate, body.per_I), f)
    size = sqrt(dot(w, w))
    along = 0.0, 0.0, 0.0
    status = FINE
    if size > 0.0:
        u = w[0] / size, w[1] / size, w[2] / size
        for k in range(4):
            step = (-2.0, -1.0, 1.0, 2.0)[k]
            weight = (1.0, -8.0, 8.0, -1.0)[k]
            s, c = sincos(0.5 * step * DIFFERENCE, 0.0)
            p = product(q, (c, s * u[0], s * u[1], s * u[2]))
            e, new_status = torque_on(body, t, m, p)
            along = plus(along, weight * (size / (12.0 * DIFFERENCE)), e)
            status = min(status, new_status)
    return times(-2.0, plus(along, 1.0, cross(w, f))), status


@inline
def implicit_kick(body, t, time, m, q):
    """Return m after a kick by a torque that depends on w, the number of evaluations, and the status.

    The kick includes damping and is solved by the implicit midpoint rule, which is symmetric and of order 2. The whole
    step is then of order 2, too, unless the scheme is a composition of Strang splittings with such a kick in their
    middle. The iteration stops when changes no longer decrease.
    """
    change = 0.0, 0.0, 0.0  # of m
    before = inf
    for n in range(MOST_ITERATIONS):
        middle = plus(m, 0.5, change)
        f, status = torque_on(body, t, middle, q)
        new = times(time, plus(f, -1.0, resistance(body.damping, middle)))
        moved = largest(plus(new, -1.0, change))
        change = new
        if status != FINE:
            return m, n + 1, status
        end = plus(m, 1.0, change)
        if moved >= before and moved <= ROUNDING * largest(end):
            return end, n + 1, FINE
        before = moved
    return m, MOST_ITERATIONS, NO_STEP


@inline
def kicked(body, implicit, pending, window, m, q):
    """Return m after the pending kick and gradient kick, the number of evaluations, and the status."""
    h = window.h
    time, t = pending.kick * h, time_in(window, pending.time)
    if implicit:
        return implicit_kick(body, t, time, m, q)
    f, status = torque_on(body, t, m, q)
    if pending.gradient != 0.0:
        g, new_status = gradient_torque(body, t, f, m, q)
        change = plus(times(time, f), -(pending.gradient * h * h * h), g)
        return plus(m, 1.0, change), 5, min(status, new_status)
    if body.damping.acts:
        return damped_kick(body.damping, f, m, time), 1, status
    return plus(m, time, f), 1, status


@inline
def after_kick(subject, window, s):
    """Return the state after its pending kick."""
    p = s.pending
    if (p.kick == 0.0 and p.gradient == 0.0) or s.status != FINE:
        return s
    m, count, status = kicked(subject.body, subject.implicit, p, window, s.m, s.q)
    if status != FINE:
        return SplitState(s.m, s.q, p, s.evaluations + count, status)
    return SplitState(m, s.q, Pending(p.drift, 0.0, 0.0, p.time), s.evaluations + count, FINE)


@inline
def after_drift(subject, window, s):
    """Return the state after its pending drift."""
    p = s.pending
    if p.drift == 0.0 or s.status != FINE:
        return s
    time = to_standard_time(p.drift * window.h, subject.body.frame.scale)
    m, q, count = whole_step(subject.advance, subject.constants, subject.fractions, s.m, s.q, time)
    if count < 0.0:
        return SplitState(s.m, s.q, p, s.evaluations, NO_STEP)
    return SplitState(m, q, Pending(0.0, p.kick, p.gradient, p.time), s.evaluations, FINE)


@inline
def with_pending(s, pending):
    """Return the state with other pending stages."""
    return SplitState(s.m, s.q, pending, s.evaluations, s.status)


@inline
def write(subject, j, s):
    """Save the state as number j."""
    write_state(subject.body.frame, s.m, s.q, subject.m_out[j], subject.q_out[j], subject.i)


@inline
def itself(subject, s):
    """Return the state, which never changes, as its copy."""
    return s


@inline
def restored(subject, copy, s):
    """Return the copy of a state, with the number of evaluations and the status of the state s."""
    return SplitState(copy.m, copy.q, copy.pending, s.evaluations, s.status)


class Task(NamedTuple):
    """Steps of body i of a batch, whose moments in the standard form are I."""

    bodies: Bodies
    i: int
    order: int
    scale: Scale
    I: Vector
    window: Window
    limits: Limits  # earliest and latest time at which the torque is evaluated
    wanted: Wanted
    m_out: States  # (k, n, 3), for states after the wanted steps
    q_out: States


class Stepped(NamedTuple):
    """State of a body in principal axes, in the order and the units of the user, and the number of its steps."""

    state: SplitState
    progress: Progress


SPLIT_BODY = Stepped, ADDRESS, BOOL, FlowData, Numbers, SchemeTable, Task, Stepped
PREPARED = 0  # in place of the address of ``prepare``
run = stage_loop(after_kick, after_drift, with_pending, write, itself, restored)


@entry_point(SPLIT_BODY, registers=True)
def split_body(torque, implicit, flow, c, scheme, task, start):
    """Advance a body to the last of the wanted steps, or to step ``limit``, and return its state.

    States after the wanted steps are saved. A body whose torque or flow fails stays where it is, with its status, and
    its remaining outputs are not changed. The array c is for the constants of the flow, or contains them if the flow is
    PREPARED.
    """
    flow, c, scheme, task = borrowed(flow), borrowed(c), borrowed(scheme), borrowed(task)
    s, i, order, scale = start.state, task.i, task.order, task.scale
    if flow.prepare != PREPARED:
        prepare_flow(flow, order, task.I, c)
    frame = frame_in_axes(order, scale, task.bodies.axes, i)
    body = body_in_frame(torque, task.bodies, task.limits, frame, task.I, i)
    subject = Subject(body, implicit, flow.advance, c, flow.fractions, task.m_out, task.q_out, i)
    m, q = to_order(order, times(scale.per_m, s.m)), attitude_to_order(order, s.q)
    s = SplitState(m, q, s.pending, s.evaluations, s.status)
    s, progress = run(subject, scheme, task.window, task.wanted, s, start.progress)
    m, q = from_order(order, times(scale.m, s.m)), attitude_from_order(order, s.q)
    return Stepped(SplitState(m, q, s.pending, s.evaluations, s.status), progress)


call_split_body = call_in_registers(SPLIT_BODY)


@entry_point(("void", ADDRESS, ADDRESS, BOOL, FlowData, SchemeTable, Work))
def split(one, torque, implicit, flow, scheme, work):
    """Advance bodies start..stop, by the function ``split_body`` with the address ``one``.

    The current states are changed in place, so that another call can continue.
    """
    flow, scheme, work = borrowed(flow), borrowed(scheme), borrowed(work)
    current, saved, clock = work.current, work.saved, work.clock
    constants = new_constants(flow.size)
    for i in range(work.start, work.stop):
        window = Window(clock.first, number_of(clock.start, i), number_of(clock.h, i))
        limits = number_of(clock.low, i), number_of(clock.high, i)
        m, q = vector_of(current.m, i), quaternion_of(current.q, i)
        frame, I = principal_frame(vector_of(work.bodies.inertia, i), m, window.h)
        task = Task(work.bodies, i, frame.order, frame.scale, I, window, limits, work.wanted, saved.m, saved.q)
        p = current.memory[i]
        pending = Pending(float(p[0]), float(p[1]), float(p[2]), float(p[3]))
        s = SplitState(m, q, pending, current.torques[i], current.status[i])
        start = Stepped(s, Progress(current.steps[i], p[4] != 0.0))
        s, progress = call_split_body(one, (torque, implicit, flow, borrowed(constants), scheme, task, start))
        current.m[i, 0], current.m[i, 1], current.m[i, 2] = s.m
        current.q[i, 0], current.q[i, 1], current.q[i, 2], current.q[i, 3] = s.q
        p[0], p[1], p[2], p[3] = s.pending
        p[4] = 1.0 if progress.begun else 0.0
        current.steps[i] = progress.steps
        current.status[i] = s.status
        current.torques[i] = s.evaluations
    keep(constants)
