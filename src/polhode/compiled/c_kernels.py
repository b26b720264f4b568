"""Entry points of the library for C and Fortran: they neither allocate memory nor raise exceptions.

Arguments are arrays, whose lengths the functions of C know; see ``functions``. Results are 0, or the number of the
first body that is not valid, counted from 1.
"""

from __future__ import annotations

from math import isfinite, nan

import numpy as np

from polhode.flows import frb_matrix, frb_quaternion
from polhode.flows.exact import Exact
from polhode.flows.quadrature import gauss_legendre
from polhode.kernels.compiler.intrinsics import as_rows, call_by_name, linked_address, stack_array
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import LONGEST, NOBODY
from polhode.kernels.exact import published_motion
from polhode.kernels.exact.batch import propagate_range
from polhode.kernels.exact.dense import ROW, TIME_LIMIT, USABLE, dense_constants, sample
from polhode.kernels.exact.orbit import orbits
from polhode.kernels.exact.secular import secular_constants, take_off_periods
from polhode.kernels.exact.standard_form import (
    INPUT,
    attitude_from_order,
    attitude_to_order,
    from_order,
    is_valid,
    propagate_rows,
    standard_form,
    to_standard_time,
)
from polhode.kernels.numbers.quat import matrix, product
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import dot, times
from polhode.kernels.stepping.own_loop import NO_STATE, OwnFlow, four, free_functions, three

NUMBERS = "Array(f8, 1, 'C', readonly=True)"
OUT, ROWS, STATES = "f8[::1]", "f8[:,::1]", "f8[:,:,::1]"
INTEGERS = "Array(i4, 1, 'C', readonly=True)"

CHUNK = 4096  # bodies that are propagated at once, because the list of those that remain is on the stack
FEW = 256  # times that are evaluated at once
MANY_TIMES = 16  # from which on theta functions are used; as in ``free.motion``

# Numbers of a motion: moments, momentum, attitude, direction of the momentum, period, theta functions.
MOMENTS, MOMENTUM, ATTITUDE, DIRECTION, SECULAR, THETA = 0, 3, 6, 10, 13, 17
MOTION = THETA + ROW

# Entry points that Python calls, too: linked, and not compiled again, their results have the same bits.
OF_EXACT = Exact.kernels.prepare_entry, Exact.kernels.advance_entry
EXACT = OwnFlow(*map(linked_address, OF_EXACT), Exact.kernels.size, False, (), (1.0,))
ROUTINES = propagate_range, propagate_rows, dense_constants, sample, secular_constants, take_off_periods, orbits
CALLED = *OF_EXACT, *ROUTINES
(
    call_propagate_range,
    call_propagate_rows,
    call_dense_constants,
    call_sample,
    call_secular_constants,
    call_take_off_periods,
    call_orbits,
) = map(call_by_name, ROUTINES)

NO_TURN = 1.0, 0.0, 0.0, 0.0
RULES = np.zeros((published_motion.MOST_NODES + 1, 3 + 2 * published_motion.MOST_NODES))
for nodes in range(1, len(RULES)):
    RULES[nodes, 0] = nodes
    RULES[nodes, 3 : 3 + 2 * nodes] = np.transpose(gauss_legendre(nodes)).astype(float).ravel()

new_alone = stack_array(CHUNK, "i8")
new_times, new_reduced, new_attitudes = stack_array(FEW), stack_array(2 * FEW), stack_array(4 * FEW)
new_orbit, new_attitude, new_pair, new_time = map(stack_array, (5, 4, 2, 1))
new_constants = stack_array(published_motion.SIZE)


exact_step = inline(free_functions(EXACT)[2])


@inline
def write(m, q, m_out, q_out):
    """Write a state to arrays, and return whether its numbers are finite."""
    m_out[0], m_out[1], m_out[2] = m
    q_out[0], q_out[1], q_out[2], q_out[3] = q
    return isfinite(m[0]) and isfinite(m[1]) and isfinite(m[2]) and isfinite(q[0])


@entry_point(f"i8({NUMBERS}, {NUMBERS}, {NUMBERS}, f8, {OUT}, {OUT})")
def step(inertia, m, q, h, m_out, q_out):
    """Take one exact step."""
    I, m0, q0 = three(inertia), three(m), four(q)
    state = exact_step(I, m0, q0, h) if is_valid(I, m0, q0, h) else NO_STATE
    return 0 if write(state[0], state[1], m_out, q_out) else 1


@inline
def propagate_chunk(inertia, m, q, t, m_out, q_out, alone):
    """Propagate up to CHUNK bodies, and return the index of the first invalid one, or NOBODY."""
    bad, left = call_propagate_range((inertia, m, q, t, 0, len(m_out), m_out, q_out, alone))
    if left > 0:
        bad = min(bad, call_propagate_rows((inertia, m, q, t, alone[:left], m_out, q_out)))
    return bad


@entry_point(f"i8({INPUT}, {INPUT}, {INPUT}, {NUMBERS}, {ROWS}, {ROWS})")
def propagate(inertia, m, q, t, m_out, q_out):
    """Propagate many bodies."""
    alone = new_alone()
    for a in range(0, len(m_out), CHUNK):
        b = min(a + CHUNK, len(m_out))
        bad = propagate_chunk(inertia[a:b], m[a:b], q[a:b], t[a:b], m_out[a:b], q_out[a:b], alone)
        if bad != NOBODY:
            return a + bad + 1
    return 0


@entry_point(f"i8({NUMBERS}, {NUMBERS}, {NUMBERS}, {OUT})")
def prepare_motion(inertia, m, q, motion):
    """Compute the constants of a free motion."""
    I, m0, q0 = three(inertia), three(m), four(q)
    motion[0], motion[1], motion[2] = I
    motion[3], motion[4], motion[5] = m0
    motion[6], motion[7], motion[8], motion[9] = q0
    if not is_valid(I, m0, q0, 0.0):
        for k in range(MOTION):
            motion[k] = nan
        return 1
    motion[10], motion[11], motion[12] = direction(m0)
    rows = as_rows(motion[:3], 3), as_rows(motion[3:6], 3), as_rows(motion[6:10], 4)
    call_secular_constants((rows[0], rows[1], as_rows(motion[SECULAR:THETA], 4)))
    call_dense_constants((rows[0], rows[1], rows[2], as_rows(motion[THETA:MOTION], ROW)))
    return 0


@inline
def direction(m):
    """Return m/|m|, or 0 if m is 0, without overflow."""
    size = max(abs(m[0]), abs(m[1]), abs(m[2]))
    if size == 0.0:
        return m
    x = m[0] / size, m[1] / size, m[2] / size
    length = np.sqrt(dot(x, x))
    return x[0] / length, x[1] / length, x[2] / length


@entry_point(f"i8({NUMBERS}, {NUMBERS}, {ROWS}, {ROWS}, {STATES}, {STATES})")
def evaluate_motion(motion, t, m_out, q_out, m_states, q_states):
    """Compute the states of a free motion at many times; the last two arrays are the outputs in another shape."""
    longest, finite = 0.0, True
    for k in range(len(t)):
        longest = max(longest, abs(t[k]))
        finite = finite and isfinite(t[k])
    if not (finite and motion[0] > 0.0):
        return 1
    limit = motion[THETA + TIME_LIMIT] if motion[THETA + USABLE] != 0.0 else -1.0
    if len(t) >= MANY_TIMES and longest <= limit:
        return call_sample((as_rows(motion[THETA:MOTION], ROW), t, 0, len(t), m_states, q_states))
    return evaluate_by_steps(motion, t, m_out, q_out)


@inline
def evaluate_by_steps(motion, t, m_out, q_out):
    """Compute states at many times, each by one step of less than half a period."""
    reduced, times_left, attitudes, alone = new_reduced(), new_times(), new_attitudes(), new_alone()
    for a in range(0, len(t), FEW):
        b = min(a + FEW, len(t))
        turn_attitudes(motion, t[a:b], as_rows(reduced, 2), times_left, attitudes)
        q = as_rows(attitudes[: 4 * (b - a)], 4)
        I, m = as_rows(motion[:3], 3), as_rows(motion[3:6], 3)
        bad = propagate_chunk(I, m, q, times_left[: b - a], m_out[a:b], q_out[a:b], alone)
        if bad != NOBODY:
            return 1
    return 0


@inline
def turn_attitudes(motion, t, reduced, times_left, attitudes):
    """Subtract whole periods from times, and turn the attitude about the momentum by what it turns in them."""
    call_take_off_periods((as_rows(motion[SECULAR:THETA], 4), t, reduced))
    q = motion[6], motion[7], motion[8], motion[9]
    for k in range(len(t)):
        times_left[k] = reduced[k, 0]
        s, c = sincos(reduced[k, 1], 0.0) if reduced[k, 1] != 0.0 else (0.0, 1.0)
        turn = c, s * motion[10], s * motion[11], s * motion[12]
        q0, q1, q2, q3 = product(q, turn)
        attitudes[4 * k], attitudes[4 * k + 1], attitudes[4 * k + 2], attitudes[4 * k + 3] = q0, q1, q2, q3


@entry_point(f"f8(f8, {NUMBERS})")
def component(t, chosen):
    """Return component chosen[0] of (m, q) at the time t, for the motion in chosen[1:].

    One time is computed by the scalar step: clearing the blocks of the batch would take ten times as long.
    """
    if not (isfinite(t) and chosen[1] > 0.0 and 0.0 <= chosen[0] < 7.0):
        return nan
    motion, time, reduced, time_left, attitude = chosen[1:], new_time(), new_pair(), new_time(), new_attitude()
    time[0] = t
    turn_attitudes(motion, time, as_rows(reduced, 2), time_left, attitude)
    m, q = exact_step(three(motion), three(motion[MOMENTUM:]), four(attitude), time_left[0])
    k = int(chosen[0])
    return (*m, *q)[k]


@entry_point(f"i8({NUMBERS}, {NUMBERS}, {OUT}, {OUT})")
def period(inertia, m, T, precession):
    """Compute the period of m, and the angle by which the body turns about m in a period."""
    I, m0, orbit = three(inertia), three(m), new_orbit()
    T[0], precession[0] = nan, nan
    if not is_valid(I, m0, NO_TURN, 0.0):
        return 1
    call_orbits((as_rows(inertia, 3), as_rows(m, 3), as_rows(orbit, 5)))
    T[0], precession[0] = orbit[1], orbit[2]
    return 0


def published_step(advance):
    """Return the function ``step(I, m, q, h, nodes)`` of a published flow with so many nodes, or exact for none."""
    prepare = published_motion.prepare

    @inline
    def step(I, m, q, h, nodes):
        """Return m and q after a step h, or NaN."""
        if not (is_valid(I, m, q, h) and 0 <= nodes < len(RULES)):
            return NO_STATE
        if nodes == 0:
            return exact_step(I, m, q, h)
        order, scale, I, m = standard_form(I, m)
        time = to_standard_time(h, scale)
        if not abs(time) <= LONGEST:
            return NO_STATE
        c = new_constants()
        prepare(order, I, RULES[nodes], c)
        m, q, _ = advance(c, m, attitude_to_order(order, q), time)
        return from_order(order, times(scale.m, m)), attitude_from_order(order, q)

    return step


frb_flow, quat_flow = published_step(frb_matrix.advance), published_step(frb_quaternion.advance)


@entry_point(f"void({OUT}, {OUT}, {NUMBERS}, {NUMBERS}, {NUMBERS}, {NUMBERS}, {INTEGERS})")
def frb_step(m_out, Q_out, h, inertia, m, Q, nodes):
    """Take a step as FRB's frb_step does; matrices are stored by columns."""
    m1, p = frb_flow(three(inertia), three(m), NO_TURN, float(h[0]), int(nodes[0]))
    m_out[0], m_out[1], m_out[2] = m1
    R = matrix(p)
    for i in range(3):
        x = float(Q[i]), float(Q[3 + i]), float(Q[6 + i])
        Q_out[i] = x[0] * R[0][0] + x[1] * R[1][0] + x[2] * R[2][0]
        Q_out[3 + i] = x[0] * R[0][1] + x[1] * R[1][1] + x[2] * R[2][1]
        Q_out[6 + i] = x[0] * R[0][2] + x[1] * R[1][2] + x[2] * R[2][2]


@entry_point(f"void({OUT}, {OUT}, {NUMBERS}, {NUMBERS}, {NUMBERS}, {NUMBERS}, {INTEGERS})")
def quat_step(m_out, q_out, h, inertia, m, q, nodes):
    """Take a step as FRB's quat_step does."""
    m1, q1 = quat_flow(three(inertia), three(m), four(q), float(h[0]), int(nodes[0]))
    write(m1, q1, m_out, q_out)
