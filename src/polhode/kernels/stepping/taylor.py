"""Steps by Taylor series: the loop around generated code (``graphs.jet``), which computes the coefficients of a step.

A step begins with the inputs of ``graphs.equations``: state, unit of time and constants. The generated code is called
once per step. Order P and step follow A. Jorba, M. Zou, Exp. Math. 14 (2005) 99-117, section 3: the step is

    h = rho e^-2 exp(-0.7/(P - 1)),   rho = min over j = P - 1, P of (scale/|c_j|)^(1/j),

so that the terms of the last two orders are about e^(-2 P) times the scale; no step is rejected. q and m have scales of
their own, so that units do not matter: 1 for q, and the largest of |m_j| rho_q^j, j = 0..3, for m, where rho_q is the
radius that follows from q alone; this is also meaningful for a body at rest.

The unit of time is the power of two below the previous step; coefficients neither overflow nor underflow in it, and its
choice does not change a bit of the result.
"""

from __future__ import annotations

from math import floor, inf, sqrt
from typing import NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import (
    address,
    borrowed,
    call_by_address,
    keep,
    log2_in_steps,
    power_of_two,
    two_to_the,
)
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import quaternion_of, vector_of
from polhode.kernels.graphs.equations import ATTITUDE, AXES, DRAG, GYRO, KICK, PARAMS, RATE, SCALE, TURN, UNIT, T
from polhode.kernels.numbers.vectors import largest, times
from polhode.kernels.stepping.adaptive import is_passed
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.header import (
    ADDRESS,
    FINE,
    NO_STEP,
    TOO_MANY,
    TOO_SMALL,
    Clock,
    Interpolation,
    Numbers,
    Wanted,
    Work,
    row_of,
)
from polhode.kernels.stepping.repeat import new_constants
from polhode.kernels.stepping.step_length import end_of

JET = "void(i8, i8, i8, i8)"  # jet(inputs, rows, work, order): addresses of arrays, and a number
call_jet = call_by_address(JET, None)
ROW = 8  # length of a row of coefficients: q, u, and one that is not used
ALIGNMENT = 4  # numbers
SMALLEST_ORDER = 4
FIRST_RADIANS = 0.25  # unit of time of the first step, times the rate of the motion
ROUNDING = 3.0 * 2.0**-52  # of the square of the length of q
MOST_GROWTH = 256.0  # of the unit of time from step to step
UNDERFLOW_RADIUS = 8.0  # in units of time, so that the unit is kept
SMALLEST_RATE = -8.0  # -log2 of the largest radius, in units of time


class TaylorSettings(NamedTuple):
    """Order and step of Taylor series, and the lengths of arrays."""

    order: int
    factor: float  # of the step length to the radius
    max_steps: int
    inputs: int  # number of inputs
    work: int  # length of the work array


class Space(NamedTuple):
    """Arrays of one body; those that generated code uses begin at a multiple of 32 bytes."""

    inputs: object
    rows: object
    work: object


class Point(NamedTuple):
    """A state of a body in principal axes, in the user's units."""

    t: float
    m: tuple[float, float, float]
    q: tuple[float, float, float, float]


@inline
def exp2(x):
    """Return an approximation of 2^x, to 2e-4."""
    x = min(1000.0, max(-1000.0, x))  # also if it is not a number
    k = floor(x)
    z = x - k
    return two_to_the(k) * (1.0 + z * (1.0 + (z - 1.0) * (0.07912522 * z + 0.30407153)))


@inline
def largest_q(rows, k):
    """Return the largest component of coefficient k of q."""
    n = ROW * k
    return max(max(abs(rows[n]), abs(rows[n + 1])), max(abs(rows[n + 2]), abs(rows[n + 3])))


@inline
def largest_m(rows, k, I):
    """Return the largest component of coefficient k of m, in the unit of I."""
    n = ROW * k + 4
    return largest((I[0] * rows[n], I[1] * rows[n + 1], I[2] * rows[n + 2]))


@inline
def radius(rows, order, I):
    """Return the radius rho in units of time, from the last two orders; infinity if all coefficients vanish.

    Logarithms are divided by the order, so that rough ones change the step by a percent at most.
    """
    a, b = largest_q(rows, order - 1), largest_q(rows, order)
    c, d = largest_m(rows, order - 1, I), largest_m(rows, order, I)
    if max(a, b) == 0.0 and max(c, d) == 0.0:
        return inf if largest_m(rows, 1, I) == 0.0 else UNDERFLOW_RADIUS
    per_a, per_b = 1.0 / (order - 1), 1.0 / order
    rate_q = max(SMALLEST_RATE, max(per_a * log2_in_steps(a), per_b * log2_in_steps(b)))  # log2(1/rho_q)
    m0, m1 = log2_in_steps(largest_m(rows, 0, I)), log2_in_steps(largest_m(rows, 1, I)) - rate_q
    m2, m3 = log2_in_steps(largest_m(rows, 2, I)) - 2.0 * rate_q, log2_in_steps(largest_m(rows, 3, I)) - 3.0 * rate_q
    scale = max(max(m0, m1), max(m2, m3))  # log2 of it
    rate_m = max(per_a * (log2_in_steps(c) - scale), per_b * (log2_in_steps(d) - scale))
    return exp2(-max(rate_q, rate_m))


@inline
def unit_below(h):
    """Return the power of two below |h|."""
    return power_of_two(h)[0]


@inline
def put_body(space, bodies, i):
    """Write the constants of body i that do not depend on the unit of time to the inputs of a step."""
    x = space.inputs
    I = vector_of(bodies.inertia, i)
    J, per_J = power_of_two(I[0])
    x[GYRO], x[GYRO + 1], x[GYRO + 2] = times(2.0 * per_J, (I[1] - I[2], I[2] - I[0], I[0] - I[1]))
    x[KICK], x[KICK + 1], x[KICK + 2] = J / I[0], J / I[1], J / I[2]
    if bodies.axes.shape[0] > 0:
        axes = bodies.axes[row_of(bodies.axes, i)]
        for k in range(9):
            x[AXES + k] = axes[k]
    params = bodies.params[row_of(bodies.params, i)]
    for k in range(len(params)):
        x[PARAMS + k] = params[k]


@inline
def put_unit(space, bodies, unit, i):
    """Write the unit of time, and the constants of body i that depend on it, to the inputs of a step."""
    x = space.inputs
    I = vector_of(bodies.inertia, i)
    x[UNIT] = unit
    x[RATE] = 2.0 / unit
    per_J = unit * power_of_two(I[0])[1]
    x[SCALE] = 0.5 * unit * per_J
    D = bodies.damping[row_of(bodies.damping, i)]
    if len(D) < OBLIQUE:
        for k in range(3):
            x[DRAG + 4 * k] = per_J * abs(D[k])
        return
    for k in range(3):
        for l in range(3):
            total = 0.0
            for n in range(3):
                total += D[3 + 3 * k + n] * D[n] * D[12 + 3 * n + l]
            x[DRAG + 3 * k + l] = per_J * total * I[l]


@inline
def put_state(space, I, unit, a):
    """Write the state a of a body to the inputs of a step."""
    x = space.inputs
    x[T] = a.t
    x[ATTITUDE], x[ATTITUDE + 1], x[ATTITUDE + 2], x[ATTITUDE + 3] = a.q
    half = 0.5 * unit
    x[TURN] = half * (a.m[0] / I[0])
    x[TURN + 1] = half * (a.m[1] / I[1])
    x[TURN + 2] = half * (a.m[2] / I[2])


@inline
def compute(jet, space, order):
    """Compute the coefficients of a step."""
    call_jet(jet, (address(space.inputs), address(space.rows), address(space.work), order))


@inline
def first_unit(jet, space, bodies, a, span, i):
    """Return the unit of time of the first step: a part of a radian; that of the whole span for a body at rest."""
    I = vector_of(bodies.inertia, i)
    w = largest((a.m[0] / I[0], a.m[1] / I[1], a.m[2] / I[2]))
    unit = unit_below(min(FIRST_RADIANS / w, span) if w > 0.0 else span)
    put_unit(space, bodies, unit, i)
    put_state(space, I, unit, a)
    compute(jet, space, SMALLEST_ORDER)
    rows = space.rows
    turn = max(largest((rows[4], rows[5], rows[6])), sqrt(largest((rows[ROW + 4], rows[ROW + 5], rows[ROW + 6]))))
    return unit_below(unit * (FIRST_RADIANS / turn)) if 0.0 < turn < inf else unit


@inline
def is_finite(a):
    """Return whether a state is finite; it is not if one of the coefficients is not."""
    m, q = a.m, a.q
    turn = (q[0] - q[0]) + (q[1] - q[1]) + (q[2] - q[2]) + (q[3] - q[3])
    return turn + (m[0] - m[0]) + (m[1] - m[1]) + (m[2] - m[2]) == 0.0


@inline
def evaluated(space, order, I, a, t):
    """Return the state at the time t, from the coefficients of the step that begins at a.

    Even and odd orders are summed separately, which takes half the time; the row behind the last one is zero.
    """
    rows, rate = space.rows, space.inputs[RATE]  # 2 per unit of time, a power of two
    x = 0.5 * rate * (t - a.t)
    z = x * x
    q0, q1, q2, q3, u0, u1, u2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    r0, r1, r2, r3, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # of odd orders
    for k in range(order + order % 2, 0, -2):
        n = ROW * k
        q0, q1, q2, q3 = rows[n] + z * q0, rows[n + 1] + z * q1, rows[n + 2] + z * q2, rows[n + 3] + z * q3
        u0, u1, u2 = rows[n + 4] + z * u0, rows[n + 5] + z * u1, rows[n + 6] + z * u2
        n -= ROW
        r0, r1, r2, r3 = rows[n] + z * r0, rows[n + 1] + z * r1, rows[n + 2] + z * r2, rows[n + 3] + z * r3
        v0, v1, v2 = rows[n + 4] + z * v0, rows[n + 5] + z * v1, rows[n + 6] + z * v2
    y = x * rate
    m = (
        a.m[0] + y * I[0] * (v0 + x * u0),
        a.m[1] + y * I[1] * (v1 + x * u1),
        a.m[2] + y * I[2] * (v2 + x * u2),
    )
    change = x * (r0 + x * q0), x * (r1 + x * q1), x * (r2 + x * q2), x * (r3 + x * q3)
    return Point(t, m, turned(a.q, change))


@inline
def turned(q, d):
    """Return q + d with the length 1 to rounding, by a step of Newton's method.

    Squares that differ from 1 by rounding alone are left as they are: to correct these in every step, by errors of the
    sum as large as they are, would make the energy drift.
    """
    a, b, c, e = q[0] + d[0], q[1] + d[1], q[2] + d[2], q[3] + d[3]
    excess = (a * a + b * b + c * c + e * e) - 1.0
    z = 0.5 * excess if abs(excess) > ROUNDING else 0.0
    return q[0] + (d[0] - z * a), q[1] + (d[1] - z * b), q[2] + (d[2] - z * c), q[3] + (d[3] - z * e)


@inline
def put(a, m, q, i):
    """Write the momentum and the attitude of the point a to row i of two arrays."""
    m[i, 0], m[i, 1], m[i, 2] = a.m
    q[i, 0], q[i, 1], q[i, 2], q[i, 3] = a.q


@inline
def put_outputs(work, space, order, I, a, b, i):
    """Save the states of body i at the wanted times that the step from a to b reaches and that are not yet saved."""
    times, saved = work.wanted.times, work.saved
    j = work.current.seen[i]
    while is_passed(times, j, b.t, a.t < work.clock.end):
        t = float(times[j])
        put(b if t == b.t else evaluated(space, order, I, a, t), saved.m[j], saved.q[j], i)
        j += 1
    work.current.seen[i] = j


@inline
def put_step(saved, b, i):
    """Save the end b of a step, if all steps are saved."""
    if saved.step_t.shape[0] > 0:
        n = saved.counts[i]
        saved.step_t[n, i] = b.t
        put(b, saved.step_m[n], saved.step_q[n], i)
        saved.counts[i] += 1


@inline
def follow(jet, settings, work, space, i):
    """Integrate body i to the end of the clock or for ``limit`` steps."""
    current, order = work.current, settings.order
    t_end = work.clock.end
    I = vector_of(work.bodies.inertia, i)
    weights = times(power_of_two(largest(I))[1], I)
    a = Point(float(current.t[i]), vector_of(current.m, i), quaternion_of(current.q, i))
    put_body(space, work.bodies, i)
    put_outputs(work, space, order, I, a, a, i)
    longest = float(current.longest[i])
    status = FINE
    h = float(current.h[i])
    unit = unit_below(h) if h != 0.0 else first_unit(jet, space, work.bodies, a, abs(t_end - a.t), i)
    put_unit(space, work.bodies, unit, i)
    for _ in range(work.wanted.limit):
        if a.t == t_end:
            break
        if current.steps[i] >= settings.max_steps:
            status = TOO_MANY
            break
        put_state(space, I, unit, a)
        compute(jet, space, order)
        length = unit * radius(space.rows, order, weights) * settings.factor
        right = end_of(a.t, min(length, longest), t_end)
        if right == a.t:
            status = TOO_SMALL
            break
        b = evaluated(space, order, I, a, right)
        if not is_finite(b):
            status = NO_STEP
            break
        put_outputs(work, space, order, I, a, b, i)
        put_step(work.saved, b, i)
        a = b
        current.steps[i] += 1
        h = min(length, MOST_GROWTH * unit)
        if unit_below(h) != unit:
            unit = unit_below(h)
            put_unit(space, work.bodies, unit, i)
    put(a, current.m, current.q, i)
    current.t[i], current.h[i], current.status[i] = a.t, h, status
    current.torques[i] = current.steps[i]


if JIT:

    @inline
    def aligned(array, n):
        """Return the first index from n on at which a vector may begin."""
        return n + (-((address(array) >> 3) + n)) % ALIGNMENT

else:

    def aligned(array, n):
        """Return n: uncompiled code has no vectors."""
        return n


@inline
def new_space(settings):
    """Return an array with room for those of a body."""
    return new_constants(settings.inputs + ROW * (settings.order + 2) + settings.work + 4 * ALIGNMENT)


@inline
def divided(array, settings):
    """Return the arrays of a body, each aligned, as parts of one array."""
    first = aligned(array, 0)
    inputs = array[first : first + settings.inputs]
    second = aligned(array, first + settings.inputs)
    end = second + ROW * (settings.order + 2)
    for n in range(end - ROW, end):
        array[n] = 0.0
    third = aligned(array, end)
    return Space(inputs, array[second:end], array[third : third + settings.work])


@inline
def with_target(work, end, limit):
    """Return the arguments of the loop with another end of the clock, and another limit of steps."""
    clock = work.clock
    clock = Clock(clock.start, clock.h, clock.low, clock.high, clock.first, end)
    wanted = Wanted(limit, work.wanted.steps, work.wanted.times)
    return Work(work.bodies, clock, wanted, work.start, work.stop, work.current, work.saved)


@entry_point(("void", ADDRESS, TaylorSettings, Numbers, Work))
def taylor(jet, settings, target, work):
    """Integrate bodies start..stop in place, each to the time ``target[0]`` or for ``target[1]`` steps.

    These numbers are in an array, so that calls can be prepared; those of the clock and of ``wanted`` are not used.
    Another call can continue. The states at the wanted times are saved, and the end of each step, if ``step_t`` has
    rows. A body that fails stays where it is, with its status.
    """
    work = with_target(borrowed(work), float(target[0]), int(target[1]))
    array = new_space(settings)
    for i in range(work.start, work.stop):
        if work.current.status[i] == FINE and work.current.t[i] != work.clock.end:
            follow(jet, settings, work, divided(borrowed(array), settings), i)
    keep(array)


@entry_point(("void", ADDRESS, TaylorSettings, Interpolation))
def interpolate(jet, settings, work):
    """Write the states at the times t, within steps from ``left`` to ``right``; NaN if a coefficient is not finite."""
    work = borrowed(work)
    array = new_space(settings)
    space = divided(borrowed(array), settings)
    for i in range(work.start, work.stop):
        I = vector_of(work.bodies.inertia, i)
        a = Point(float(work.left[i]), vector_of(work.m, i), quaternion_of(work.q, i))
        t = float(work.t[i])
        unit = unit_below(float(work.right[i]) - a.t)
        put_body(space, work.bodies, i)
        put_unit(space, work.bodies, unit, i)
        put_state(space, I, unit, a)
        compute(jet, space, settings.order)
        put(a if t == a.t else evaluated(space, settings.order, I, a, t), work.m_out, work.q_out, i)
    keep(array)
