"""Adaptive steps for bodies with torques: the loop around ``munthe_kaas``, compiled once for all torques.

A step is accepted if its error is below the tolerance: rtol for the attitude, in radians, and atol + rtol |m| for m,
where |m| is the larger of the values at both ends. The length of the next step follows from the error (Hairer, Norsett,
Wanner, section II.4: HNW). The torque at the end of a step, which is that at the beginning of the next one, and the
reason why the last trial was rejected are part of the state: so the work can be divided into calls anywhere, with
bitwise identical results. The torque is evaluated at times from ``low`` to ``high`` only, as in ``splitting``.
"""

from __future__ import annotations

from math import copysign, inf, nan

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.numba_internals import borrowed, keep
from polhode.kernels.exact.standard_form import INPUT, TIMES
from polhode.kernels.stepping.dormand_prince import END, STAGES
from polhode.kernels.stepping.header import FINE, NOT_FINITE, RAISED, TOO_MANY, TOO_SMALL, row_of
from polhode.kernels.stepping.munthe_kaas import (
    WORK,
    Point,
    Tolerance,
    begin_step,
    between,
    error_of,
    forced,
    load,
    put,
    stages,
    write_polynomial,
)
from polhode.kernels.stepping.repeat import new_constants
from polhode.kernels.stepping.step_length import end_of, factor_of, first_length, length_of, rates, time_scale
from polhode.kernels.stepping.torques import body_of

# Impulse of a torque that is allowed in the shortest possible steps, relative to the momentum of a radian.
JUMP_IMPULSE = 1e-9
UNDERFLOW = 2.0**-960  # smaller errors of m are due to underflow, after damping has stopped a body


@inline
def is_passed(times, j, t, forward):
    """Return whether output time j exists and a body at time t has reached it."""
    return j < len(times) and (times[j] <= t if forward else times[j] >= t)


@inline
def put_outputs(times, j, frame, k, a, b, forward, m_out, q_out, i):
    """Write the states at the output times from index j on that the step from a to b reaches; return the next index."""
    while is_passed(times, j, b.t, forward):
        t = float(times[j])
        put(frame, b if t == b.t else between(k, a, b.t, t), m_out[j], q_out[j], i)
        j += 1
    return j


@inline
def put_failure(frame, p, failure, i):
    """Write the point p where a torque failed to row i of ``failure``: t, m, q."""
    failure[i, 0] = p.t
    put(frame, p, failure[:, 1:4], failure[:, 4:], i)


@inline
def jump_tolerance(body, tolerance, b):
    """Return the tolerance for the shortest possible steps, which cannot locate a jump of the torque any better.

    It allows errors of m that are small compared to the momentum which the torque at the end point b gives to a body
    at rest in the time of a radian. The errors of a step to a pole of the torque are larger than that.
    """
    _, momentum = time_scale(body, b, 0.0, 1.0, *rates(body, b))
    return Tolerance(tolerance.rtol, tolerance.atol + JUMP_IMPULSE * momentum, tolerance.floor)


@inline
def trial(torque, params, body, tolerance, a, right, shortest, dense, k):
    """Try a step from a to the time ``right``; return its last point, or the first that failed, and its error."""
    begin_step(body, a, right, k)
    b = stages(torque, params, body, a, a.evaluations, right, k, 1, END + 1)
    if b.status != FINE:
        return b, inf
    error = error_of(k, tolerance, a, b)
    if shortest and not error < 1.0:
        error = error_of(k, jump_tolerance(body, tolerance, b), a, b)
    if dense and error < 1.0:
        p = stages(torque, params, body, a, b.evaluations, right, k, END + 1, STAGES)
        if p.status != FINE:
            return p, inf
        write_polynomial(k)
        return Point(*b[:11], p.evaluations, FINE), error
    return b, error


@inline
def begin(torque, params, body, tolerance, a, first, end):
    """Return the point a with its torque, and the length of the first trial step."""
    a = forced(torque, params, body, a)
    if a.status != FINE:
        return a, 0.0
    length = first
    count = a.evaluations
    if first == 0.0:
        length, count = first_length(torque, params, body, a, end, tolerance)
    return Point(*a[:11], count, FINE), copysign(length, end - a.t)


# (params, inertia, axes, damping, (rtol, atol, first step or 0, max. trials), (low, high), t_end, times, limit, start,
#  stop, m, q, memory, steps, status, evaluations, t, h, longest, next_output, rejected, failure,
#  m_out, q_out, step_t, step_m, step_q, saved_steps)
BODIES = f"f8[:,::1], {INPUT}, {INPUT}, {INPUT}"
STATES = "f8[:,:,::1], f8[:,:,::1]"
ADAPT = (
    f"void(i8, Tuple(({BODIES}, UniTuple(f8, 4), UniTuple(f8, 2), f8, {TIMES}, i8, i8, i8, "
    "f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[::1], i8[::1], i8[::1], "
    f"f8[:,::1], {STATES}, f8[:,::1], {STATES}, i8[::1])))"
)


@inline
def follow(torque, arguments, i, k):
    """Integrate body i to t_end or for ``limit`` trials, with the work array k."""
    params, inertia, axes, damping, (rtol, atol, first, max_trials), (low, high), t_end, times, limit = arguments[:9]
    m, q, memory, steps, status, evaluations, t, h, longest, next_output, rejected, failure = arguments[11:23]
    m_out, q_out, step_t, step_m, step_q, saved_steps = arguments[23:]
    body, _ = body_of(inertia, axes, damping, low, high, False, m, t_end - float(t[i]), i)
    own = borrowed(params)[row_of(params, i)]
    frame = body.frame
    u = frame.scale.per_m
    forward = t[i] < t_end
    rejection = int(memory[i, 3])  # FINE after an accepted step
    tolerance = Tolerance(rtol, u * atol, UNDERFLOW * max(1.0, u))
    a = load(frame, float(t[i]), m, q, memory, evaluations[i], i)
    next_output[i] = put_outputs(times, next_output[i], frame, k, a, a, forward, m_out, q_out, i)
    if h[i] == 0.0:
        a, h[i] = begin(torque, own, body, tolerance, a, first, t_end)
        if a.status != FINE:
            put_failure(frame, a, failure, i)
    for _ in range(limit):
        if a.status != FINE or a.t == t_end:
            break
        if steps[i] + rejected[i] >= max_trials:
            a = Point(*a[:12], TOO_MANY)
            break
        length, is_least = length_of(float(h[i]), a.t, float(longest[i]))
        if is_least and rejection == NOT_FINITE:
            a = Point(*a[:12], rejection)
            break
        shortest = is_least and rejection == TOO_SMALL
        right = end_of(a.t, length, t_end)
        dense = is_passed(times, next_output[i], right, forward) and times[next_output[i]] != right
        b, error = trial(torque, own, body, tolerance, a, right, shortest, dense, k)
        factor = factor_of(error)
        h[i] = (right - a.t) * (factor if rejection == FINE else min(1.0, factor))
        if error < 1.0:
            next_output[i] = put_outputs(times, next_output[i], frame, k, a, b, forward, m_out, q_out, i)
            if step_t.shape[0] > 0:
                step_t[saved_steps[i], i] = b.t
                put(frame, b, step_m[saved_steps[i]], step_q[saved_steps[i]], i)
                saved_steps[i] += 1
            a = b
            rejection = FINE
            steps[i] += 1
        else:
            rejected[i] += 1
            rejection = NOT_FINITE if b.status == NOT_FINITE else TOO_SMALL
            if b.status in (RAISED, NOT_FINITE):
                put_failure(frame, b, failure, i)
            verdict = RAISED if b.status == RAISED else (rejection if shortest else FINE)
            a = Point(*a[:11], b.evaluations, verdict)
    put(frame, a, m, q, i)
    v = frame.scale.m
    memory[i, 0], memory[i, 1], memory[i, 2], memory[i, 3] = v * a.f1, v * a.f2, v * a.f3, rejection
    t[i] = a.t
    status[i] = a.status
    evaluations[i] = a.evaluations


@entry_point(ADAPT)
def adapt(torque, arguments):
    """Integrate bodies start..stop in place, each to t_end or for ``limit`` trials; another call can continue.

    Accepted and rejected trials count. States at ``times`` are written to m_out, q_out. The end of each step is written
    to row saved_steps[i] of step_t, step_m, step_q, if these have rows. A body that fails stays where it is, with its
    status; if its torque failed, ``failure`` holds t, m, q of that point.
    """
    work = new_constants(WORK)
    t_end, start, stop, status, t = arguments[6], arguments[9], arguments[10], arguments[15], arguments[17]
    for i in range(start, stop):
        if status[i] == FINE and t[i] != t_end:
            follow(torque, arguments, i, borrowed(work))
    keep(work)


# (params, inertia, axes, damping, left, right, low, high, start, stop, m, q, t, m_out, q_out)
TWO = f"{TIMES}, {TIMES}"
INTERPOLATE = f"void(i8, Tuple(({BODIES}, {TWO}, {TWO}, i8, i8, {INPUT}, {INPUT}, {TIMES}, f8[:,::1], f8[:,::1])))"


@entry_point(INTERPOLATE)
def interpolate(torque, arguments):
    """Write the states at the times t, within the steps from m, q at ``left`` to ``right``; NaN if the torque fails."""
    params, inertia, axes, damping, left, right, low, high, start, stop, m, q, t, m_out, q_out = arguments
    k = new_constants(WORK)
    for i in range(start, stop):
        if t[i] == left[i]:
            m_out[i], q_out[i] = m[i], q[i]
            continue
        body, _ = body_of(inertia, axes, damping, low[i], high[i], False, m, right[i] - left[i], i)
        own = params[row_of(params, i)]
        a = forced(torque, own, body, load(body.frame, float(left[i]), m, q, m, 0, i))
        b = a
        to = float(right[i])
        if a.status == FINE:
            begin_step(body, a, to, k)
            b = stages(torque, own, body, a, 0, to, k, 1, STAGES)
        if b.status == FINE:
            write_polynomial(k)
            put(body.frame, between(k, a, to, float(t[i])), m_out, q_out, i)
        else:
            m_out[i], q_out[i] = nan, nan
