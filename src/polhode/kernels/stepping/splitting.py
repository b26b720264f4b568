"""Splitting methods for bodies with torques: alternating free motion (drifts) and kicks, in a compiled loop.

A scheme is a table of stages, (DRIFT, a), (KICK, b) or (GRADIENT, c), which are

    drift     the free flow for a time a h, which also advances t
    kick      m += b h f,   f = f(t, Q, w), the torque in body axes; with damping m' = f - D w, solved exactly
    gradient  m -= c h^3 g,   g = -2 (D_w f + w x f),  w = f/I,   the torque of the potential f.I^-1 f               (1)

The loop over stages, which merges adjacent ones, is that of ``stages``. The torque is evaluated
at times from ``low`` to ``high`` only: if it jumps at an end of the time interval of these steps, its limit from the
inside is used.

The free flow is that of ``repeat``, inlined. The torque is a function of fixed type: a new torque is compiled alone,
and this loop is not recompiled. The torque has arguments in the user's axes and units: sorting and scaling are done
here.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.numba_internals import borrowed, keep
from polhode.kernels.exact.standard_form import from_order, to_order, to_standard_time
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import cross_of_numbers
from polhode.kernels.stepping.damping import damped_kick, resistance
from polhode.kernels.stepping.header import FINE, NO_STEP, row_of
from polhode.kernels.stepping.repeat import new_constants, plain, whole_step
from polhode.kernels.stepping.stages import DRIFT, KICK, run_stages
from polhode.kernels.stepping.torques import body_of, torque_on

MOST_ITERATIONS = 200
ROUNDING = 2.0**-48  # relative to m: a larger change that no longer decreases does not converge
DIFFERENCE = 2.0**-9  # radians, of the difference quotient in (1): balances its fourth power and eps divided by it


@inline
def gradient_torque(torque, params, body, t, f1, f2, f3, m1, m2, m3, q0, q1, q2, q3):
    """Return g1, g2, g3 of (1) and the status; the derivative of f along w is a difference quotient of order 4."""
    w1, w2, w3 = body.rate * body.w1 * f1, body.rate * body.w2 * f2, body.rate * body.w3 * f3
    size = (w1 * w1 + w2 * w2 + w3 * w3) ** 0.5
    d1, d2, d3 = 0.0, 0.0, 0.0
    status = FINE
    if size > 0.0:
        u1, u2, u3 = w1 / size, w2 / size, w3 / size
        for k in range(4):
            step = (-2.0, -1.0, 1.0, 2.0)[k]
            weight = (1.0, -8.0, 8.0, -1.0)[k]
            s, c = sincos(0.5 * step * DIFFERENCE, 0.0)
            p0, p1, p2, p3 = product(q0, q1, q2, q3, c, s * u1, s * u2, s * u3)
            e1, e2, e3, new_status = torque_on(torque, params, body, t, m1, m2, m3, p0, p1, p2, p3)
            weight *= size / (12.0 * DIFFERENCE)
            d1, d2, d3 = d1 + weight * e1, d2 + weight * e2, d3 + weight * e3
            status = min(status, new_status)
    x1, x2, x3 = cross_of_numbers(w1, w2, w3, f1, f2, f3)
    return -2.0 * (d1 + x1), -2.0 * (d2 + x2), -2.0 * (d3 + x3), status


@inline
def implicit_kick(torque, params, body, t, time, m1, m2, m3, q0, q1, q2, q3):
    """Return m after a kick by a torque that depends on w, the number of evaluations, and the status.

    The kick includes damping and is solved by the implicit midpoint rule, which is symmetric and of order 2. The whole
    step is then of order 2, too, unless the scheme is a composition of Strang splittings with such a kick in their
    middle. The iteration stops when changes no longer decrease.
    """
    e1, e2, e3 = 0.0, 0.0, 0.0  # the change of m
    before = inf
    for n in range(MOST_ITERATIONS):
        a1, a2, a3 = m1 + 0.5 * e1, m2 + 0.5 * e2, m3 + 0.5 * e3
        f1, f2, f3, status = torque_on(torque, params, body, t, a1, a2, a3, q0, q1, q2, q3)
        r1, r2, r3 = resistance(body.damping, a1, a2, a3)
        n1, n2, n3 = time * (f1 - r1), time * (f2 - r2), time * (f3 - r3)
        change = max(abs(n1 - e1), abs(n2 - e2), abs(n3 - e3))
        e1, e2, e3 = n1, n2, n3
        if status != FINE:
            return m1, m2, m3, n + 1, status
        if change >= before and change <= ROUNDING * max(abs(m1 + e1), abs(m2 + e2), abs(m3 + e3)):
            return m1 + e1, m2 + e2, m3 + e3, n + 1, FINE
        before = change
    return m1, m2, m3, MOST_ITERATIONS, NO_STEP


@inline
def kick(torque, params, body, t, h, b, c, m1, m2, m3, q0, q1, q2, q3):
    """Return m after a kick b h and a gradient kick c h^3, the number of evaluations, and the status."""
    if body.implicit:
        return implicit_kick(torque, params, body, t, b * h, m1, m2, m3, q0, q1, q2, q3)
    f1, f2, f3, status = torque_on(torque, params, body, t, m1, m2, m3, q0, q1, q2, q3)
    time = b * h
    count = 1
    if c != 0.0:
        g1, g2, g3, new_status = gradient_torque(torque, params, body, t, f1, f2, f3, m1, m2, m3, q0, q1, q2, q3)
        x = c * h * h * h
        status = min(status, new_status)
        return m1 + (time * f1 - x * g1), m2 + (time * f2 - x * g2), m3 + (time * f3 - x * g3), 5, status
    if body.damping.acts:
        m1, m2, m3 = damped_kick(body.damping, f1, f2, f3, m1, m2, m3, time)
        return m1, m2, m3, count, status
    return m1 + time * f1, m2 + time * f2, m3 + time * f3, count, status


class PendingState(NamedTuple):
    """State of a body in the standard form, with its pending stages."""

    m1: float
    m2: float
    m3: float
    q0: float
    q1: float
    q2: float
    q3: float
    drift: float  # pending stages, as coefficients of h, h and h^3
    kick: float
    gradient: float
    time: float  # time of the pending kick
    evaluations: int
    status: int


@inline
def after_kick(torque, subject, h, s):
    """Return the state after its pending kick."""
    params, body = subject[:2]
    if (s.kick == 0.0 and s.gradient == 0.0) or s.status != FINE:
        return s
    m1, m2, m3, count, status = kick(
        torque, params, body, s.time, h, s.kick, s.gradient, s.m1, s.m2, s.m3, s.q0, s.q1, s.q2, s.q3
    )
    if status != FINE:
        return PendingState(*s[:11], s.evaluations + count, status)
    return PendingState(m1, m2, m3, s.q0, s.q1, s.q2, s.q3, s.drift, 0.0, 0.0, s.time, s.evaluations + count, FINE)


@inline
def after_drift(advance, subject, h, s):
    """Return the state after its pending drift."""
    c, fractions = subject[2:4]
    scale = subject[1].frame.scale
    if s.drift == 0.0 or s.status != FINE:
        return s
    m, q, count = whole_step(advance, c, fractions, s[:3], s[3:7], to_standard_time(s.drift * h, scale))
    if count < 0.0:
        return PendingState(*s[:12], NO_STEP)
    return PendingState(*m, *q, 0.0, s.kick, s.gradient, s.time, s.evaluations, FINE)


@inline
def with_stage(kind, x, t, s):
    """Return the state with one more pending stage, of coefficient x, at the time t."""
    if kind == DRIFT:
        return PendingState(*s[:7], s.drift + x, *s[8:])
    if kind == KICK:
        return PendingState(*s[:8], s.kick + x, s.gradient, t, s.evaluations, s.status)
    return PendingState(*s[:8], s.kick, s.gradient + x, t, s.evaluations, s.status)


@inline
def user_momentum(frame, s):
    """Return m of the state s in principal axes, in the user's order and units."""
    u = frame.scale.m
    return from_order(frame.order, u * s.m1, u * s.m2, u * s.m3)


@inline
def user_attitude(frame, s):
    """Return q of the state s in principal axes, in the user's order."""
    q1, q2, q3 = from_order(frame.order, s.q1, s.q2, s.q3)
    return s.q0, q1, q2, q3


@inline
def write_state(subject, j, s):
    """Save the state as number j."""
    m_out, q_out, i = subject[4:]
    frame = subject[1].frame
    m_out[j, i, 0], m_out[j, i, 1], m_out[j, i, 2] = user_momentum(frame, s)
    q_out[j, i, 0], q_out[j, i, 1], q_out[j, i, 2], q_out[j, i, 3] = user_attitude(frame, s)


@inline
def itself(subject, s):
    """Return the state, which never changes, as its copy."""
    return s


@inline
def restored(subject, copy, s):
    """Return the copy of a state, with the number of evaluations and the status of the state s."""
    return PendingState(*copy[:11], s.evaluations, s.status)


@inline
def split_steps(prepare, advance, torque, arguments):
    """Advance bodies start..stop to the last of the steps ``saves``, or to step ``limit``.

    States after the steps ``saves`` are written to m_out, q_out; m, q, pending and steps are changed in place, so that
    another call can continue. A body whose torque or flow fails stays where it is, with its status, and its remaining
    outputs are not changed. Step number ``first`` begins at t0. For ``before`` and ``after`` see ``stages``.
    """
    params, stages, before, after, parameters, size, fractions, inertia, axes, damping, implicit = arguments[:11]
    starts, lengths, lows, highs, first, saves, limit, start, stop = arguments[11:20]
    m, q, pending, steps, status, evaluations, m_out, q_out = arguments[20:]
    constants = new_constants(size)
    c, params, stages, fractions = borrowed(constants), borrowed(params), borrowed(stages), borrowed(fractions)
    table = stages, stages.shape[0], before, after
    for i in range(start, stop):
        t0 = float(starts[row_of(starts, i)])
        h = float(lengths[row_of(lengths, i)])
        low = float(lows[row_of(lows, i)])
        high = float(highs[row_of(highs, i)])
        body, I = body_of(inertia, axes, damping, low, high, implicit, m, h, i)
        frame, order = body.frame, body.frame.order
        prepare(order, I, plain(parameters), c)
        m1, m2, m3 = to_order(order, float(m[i, 0]), float(m[i, 1]), float(m[i, 2]))
        q1, q2, q3 = to_order(order, float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
        u = frame.scale.per_m
        p = pending[i]
        s = PendingState(
            u * m1, u * m2, u * m3, float(q[i, 0]), q1, q2, q3,
            float(p[0]), float(p[1]), float(p[2]), float(p[3]), evaluations[i], status[i],
        )  # fmt: skip
        subject = params[row_of(params, i)], body, c, fractions, m_out, q_out, i
        s, n, begun = run_stages(
            after_kick, after_drift, with_stage, write_state, itself, restored, torque, advance,
            subject, table, (first, t0, h), saves, limit, s, steps[i], p[4] != 0.0,
        )  # fmt: skip
        m[i, 0], m[i, 1], m[i, 2] = user_momentum(frame, s)
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = user_attitude(frame, s)
        p[0], p[1], p[2], p[3], p[4] = s.drift, s.kick, s.gradient, s.time, 1.0 if begun else 0.0
        steps[i] = n
        status[i] = s.status
        evaluations[i] = s.evaluations
    keep(constants)
