"""Adaptive steps: the loop around ``munthe_kaas``, compiled once for all torques, and plain Python for systems.

A step of a body is accepted if its error is below the tolerance: rtol for the attitude, in radians, and atol + rtol |m|
for m, where |m| is the larger of the values at both ends. The length of the next step follows from the error (Hairer,
Norsett, Wanner, section II.4: HNW). The torque at the end of a step, which is that at the beginning of the next one,
and the reason why the last trial was rejected are part of the state: so the work can be divided into calls anywhere,
with bitwise identical results. The torque is evaluated at times from ``low`` to ``high`` only, as in ``splitting``.

The loop does not know what moves: it is made from functions of one body, or of all bodies of a system.
"""

from __future__ import annotations

from math import copysign, inf, nan

from polhode.kernels.compiler.intrinsics import borrowed, keep
from polhode.kernels.compiler.jit import entry_point, in_python, inline
from polhode.kernels.exact.standard_form import vector_of
from polhode.kernels.numbers.vectors import times
from polhode.kernels.stepping.dormand_prince import END, STAGES
from polhode.kernels.stepping.frame import read_attitude, read_momentum, write_state
from polhode.kernels.stepping.header import (
    ADDRESS,
    FINE,
    NOT_FINITE,
    RAISED,
    TOO_MANY,
    TOO_SMALL,
    Interpolation,
    Settings,
    Work,
    number_of,
)
from polhode.kernels.stepping.munthe_kaas import (
    WORK,
    Point,
    Tolerance,
    begin_step,
    between,
    error_of,
    forced,
    stages,
    unforced,
    with_status,
    write_polynomial,
)
from polhode.kernels.stepping.repeat import new_constants
from polhode.kernels.stepping.step_length import factor_of, first_length, next_end, rates, time_scale
from polhode.kernels.stepping.system_steps import step_factor, trial_end
from polhode.kernels.stepping.torques import body_of

# Impulse of a torque that is allowed in the shortest possible steps, relative to the momentum of a radian.
JUMP_IMPULSE = 1e-9
UNDERFLOW = 2.0**-960  # smaller errors of m are due to underflow, after damping has stopped a body


@inline
def put(body, p, m, q, i):
    """Write m and q of the point p to row i of the arrays."""
    write_state(body.frame, p.m, p.q, m, q, i)


@inline
def put_failure(body, p, failure, i):
    """Write the point p where a torque failed to row i of ``failure``: t, m, q."""
    failure[i, 0] = p.t
    put(body, p, failure[:, 1:4], failure[:, 4:], i)


@inline
def jump_tolerance(body, tolerance, b):
    """Return the tolerance for the shortest possible steps, which cannot locate a jump of the torque any better.

    It allows errors of m that are small compared to the momentum which the torque at the end point b gives to a body
    at rest in the time of a radian. The errors of a step to a pole of the torque are larger than that.
    """
    w, g = rates(body, b)
    _, momentum = time_scale(body, b, 0.0, 1.0, w, g)
    return Tolerance(tolerance.rtol, tolerance.atol + JUMP_IMPULSE * momentum, tolerance.floor)


@inline
def is_passed(times, j, t, forward):
    """Return whether output time j exists and a body at time t has reached it."""
    return j < len(times) and (times[j] <= t if forward else times[j] >= t)


def trial_loop(
    forced, with_status, first_length, begin_step, stages, error_of, jump_tolerance, write_polynomial, between, put,
    put_failure, compiled=True,
):  # fmt: skip
    """Return ``follow(body, tolerance, k, settings, work, a, rejection, i)``, from functions of what moves.

    That function integrates row i from the point a to the end of the clock or for ``limit`` trials. It returns the last
    point, and why the last trial was rejected, or FINE.

    Parameters
    ----------
    forced, with_status, begin_step, stages, error_of, write_polynomial, between : function
        Parts of a step, as those of a body in ``munthe_kaas``. A point has the fields t, evaluations and status;
        bodies, tolerances and the work array k are only passed on.
    first_length : function
        ``first_length(body, a, end, tolerance)`` returns the length of the first step and the number of evaluations.
    jump_tolerance : function
        ``jump_tolerance(body, tolerance, b)`` returns the tolerance for the shortest possible step, to the point b.
    put, put_failure : function
        ``put(body, p, m, q, i)`` writes the point p to row i of the arrays, ``put_failure(body, p, failure, i)`` one
        where the torque failed to row i of ``trouble``.
    compiled : bool, optional
        Whether the loop is compiled, and inlined into its caller, or a Python function.
    """
    decorate = inline if compiled else lambda function: function
    passed = is_passed if compiled else in_python(is_passed)
    end_of_trial, factor_for = (next_end, factor_of) if compiled else (trial_end, step_factor)

    @decorate
    def put_outputs(body, work, k, a, b, i):
        """Save the states of row i at the wanted times that the step from a to b reaches and that are not yet saved."""
        times, saved = work.wanted.times, work.saved
        j = work.current.seen[i]
        while passed(times, j, b.t, a.t < work.clock.end):
            t = float(times[j])
            put(body, b if t == b.t else between(k, a, b.t, t), saved.m[j], saved.q[j], i)
            j += 1
        work.current.seen[i] = j

    @decorate
    def put_step(body, saved, b, i):
        """Save the end b of a step, if all steps are saved."""
        if saved.step_t.shape[0] > 0:
            n = saved.counts[i]
            saved.step_t[n, i] = b.t
            put(body, b, saved.step_m[n], saved.step_q[n], i)
            saved.counts[i] += 1

    @decorate
    def trial(body, tolerance, a, right, shortest, dense, k):
        """Try a step from a to the time ``right``; return its last point, or the first that failed, and its error."""
        begin_step(body, a, right, k)
        b = stages(body, a, a.evaluations, right, k, 1, END + 1)
        if b.status != FINE:
            return b, inf
        error = error_of(k, tolerance, a, b)
        if shortest and not error < 1.0:
            error = error_of(k, jump_tolerance(body, tolerance, b), a, b)
        if dense and error < 1.0:
            p = stages(body, a, b.evaluations, right, k, END + 1, STAGES)
            if p.status != FINE:
                return p, inf
            write_polynomial(k)
            return with_status(b, p.evaluations, FINE), error
        return b, error

    @decorate
    def begin(body, tolerance, a, first, end):
        """Return the point a with its torque, and the length of the first trial step."""
        a = forced(body, a)
        if a.status != FINE:
            return a, 0.0
        length = first
        count = a.evaluations
        if first == 0.0:
            length, count = first_length(body, a, end, tolerance)
        return with_status(a, count, FINE), copysign(length, end - a.t)

    @decorate
    def follow(body, tolerance, k, settings, work, a, rejection, i):
        """Integrate row i; see ``trial_loop``."""
        current, wanted = work.current, work.wanted
        t_end = work.clock.end
        forward = a.t < t_end
        put_outputs(body, work, k, a, a, i)
        if current.h[i] == 0.0:
            a, current.h[i] = begin(body, tolerance, a, settings.first_step, t_end)
            if a.status != FINE:
                put_failure(body, a, current.trouble, i)
        for _ in range(wanted.limit):
            if a.status != FINE or a.t == t_end:
                break
            if current.steps[i] + current.rejected[i] >= settings.max_trials:
                a = with_status(a, a.evaluations, TOO_MANY)
                break
            right, is_least = end_of_trial(float(current.h[i]), a.t, float(current.longest[i]), t_end)
            if is_least and rejection == NOT_FINITE:
                a = with_status(a, a.evaluations, rejection)
                break
            shortest = is_least and rejection == TOO_SMALL
            next_output = current.seen[i]
            dense = passed(wanted.times, next_output, right, forward) and wanted.times[next_output] != right
            b, error = trial(body, tolerance, a, right, shortest, dense, k)
            factor = factor_for(error)
            current.h[i] = (right - a.t) * (factor if rejection == FINE else min(1.0, factor))
            if error < 1.0:
                put_outputs(body, work, k, a, b, i)
                put_step(body, work.saved, b, i)
                a = b
                rejection = FINE
                current.steps[i] += 1
            else:
                current.rejected[i] += 1
                rejection = NOT_FINITE if b.status == NOT_FINITE else TOO_SMALL
                if b.status in (RAISED, NOT_FINITE):
                    put_failure(body, b, current.trouble, i)
                verdict = RAISED if b.status == RAISED else (rejection if shortest else FINE)
                a = with_status(a, b.evaluations, verdict)
        return a, rejection

    return follow


follow = trial_loop(
    forced, with_status, first_length, begin_step, stages, error_of, jump_tolerance, write_polynomial, between, put,
    put_failure,
)  # fmt: skip


@inline
def load(frame, current, i):
    """Return the point of body i, with its torque, which has the order of the standard form."""
    m, q = read_momentum(frame, current.m, i), read_attitude(frame, current.q, i)
    f = times(frame.scale.per_m, vector_of(current.memory, i))
    return Point(float(current.t[i]), m, q, f, current.torques[i], FINE)


@inline
def store(body, a, rejection, current, i):
    """Write the point a, and why the last trial was rejected, as the state of body i; see ``load``."""
    put(body, a, current.m, current.q, i)
    memory = current.memory
    memory[i, 0], memory[i, 1], memory[i, 2] = times(body.frame.scale.m, a.f)
    memory[i, 3] = rejection
    current.t[i] = a.t
    current.status[i] = a.status
    current.torques[i] = a.evaluations


@inline
def follow_body(torque, settings, work, i, k):
    """Integrate body i to the end of the clock or for ``limit`` trials, with the work array k."""
    current, clock = work.current, work.clock
    limits = number_of(clock.low, i), number_of(clock.high, i)
    body = body_of(torque, work.bodies, limits, vector_of(current.m, i), clock.end - float(current.t[i]), i)
    u = body.frame.scale.per_m
    rejection = int(current.memory[i, 3])  # FINE after an accepted step
    tolerance = Tolerance(settings.rtol, u * settings.atol, UNDERFLOW * max(1.0, u))
    a, rejection = follow(body, tolerance, k, settings, work, load(body.frame, current, i), rejection, i)
    store(body, a, rejection, current, i)


@entry_point(("void", ADDRESS, Settings, Work))
def adapt(torque, settings, work):
    """Integrate bodies start..stop in place, each to the end of the clock or for ``limit`` trials.

    Another call can continue. Accepted and rejected trials count. The states at the wanted times are saved, and the end
    of each step, if ``step_t`` has rows. A body that fails stays where it is, with its status; if its torque failed,
    ``trouble`` holds t, m, q of that point.
    """
    work = borrowed(work)
    workspace = new_constants(WORK)
    for i in range(work.start, work.stop):
        if work.current.status[i] == FINE and work.current.t[i] != work.clock.end:
            follow_body(torque, settings, work, i, borrowed(workspace))
    keep(workspace)


@entry_point(("void", ADDRESS, Interpolation))
def interpolate(torque, work):
    """Write the states at the times t, within steps from ``left`` to ``right``; NaN if the torque fails."""
    work = borrowed(work)
    k = new_constants(WORK)
    for n in range(work.start, work.stop):
        i = work.step[n]
        left, right, t = float(work.left[i]), float(work.right[i]), float(work.t[n])
        if t == left:
            for j in range(3):
                work.m_out[n, j] = work.m[i, j]
            for j in range(4):
                work.q_out[n, j] = work.q[i, j]
            continue
        limits = float(work.low[i]), float(work.high[i])
        body = body_of(torque, work.bodies, limits, vector_of(work.m, i), right - left, i)
        m, q = read_momentum(body.frame, work.m, i), read_attitude(body.frame, work.q, i)
        a = forced(body, unforced(left, m, q, 0))
        b = a
        if a.status == FINE:
            begin_step(body, a, right, k)
            b = stages(body, a, 0, right, k, 1, STAGES)
        if b.status == FINE:
            write_polynomial(k)
            put(body, between(k, a, right, t), work.m_out, work.q_out, n)
        else:
            work.m_out[n], work.q_out[n] = nan, nan
