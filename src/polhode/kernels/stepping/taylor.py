"""Steps by Taylor series: the loop around generated code (``graphs.steps``), which makes the steps of a few bodies.

Each lane of a block holds a body with its own time and step. Generated code returns when a body needs attention:
its states are then saved, and a body that has reached its end makes room for the next one.
"""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import address, borrowed, keep, power_of_two, stay_separate
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.exact.standard_form import quaternion_of, vector_of
from polhode.kernels.graphs import places as at
from polhode.kernels.numbers.eft import two_quot, two_sum
from polhode.kernels.numbers.lanes import LANES
from polhode.kernels.numbers.vectors import largest, times
from polhode.kernels.stepping.adaptive import is_passed
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.doubt import STUCK, leaves, settle
from polhode.kernels.stepping.header import (
    ADDRESS,
    FINE,
    NO_STEP,
    TOO_MANY,
    TOO_SMALL,
    Clock,
    Interpolation,
    Wanted,
    Work,
    row_of,
)
from polhode.kernels.stepping.repeat import new_constants
from polhode.kernels.stepping.taylor_block import (
    LONGEST_NEXT,
    Space,
    TaylorSettings,
    compute,
    get,
    get_vector,
    put_number,
    put_vector,
)
from polhode.kernels.stepping.taylor_samples import SAMPLES, TIME, Series, evaluate, sampled

ALIGNMENT = 4  # numbers
SMALLEST_ORDER = 4
FIRST_RADIANS = 0.25  # unit of time of the first step, times the rate of the motion


class Point(NamedTuple):
    """A state of a body in principal axes, in the user's units."""

    t: float
    m: tuple[float, float, float]
    q: tuple[float, float, float, float]


@inline
def put_body(space, settings, bodies, i, lane):
    """Write the constants of body i to the block."""
    I = vector_of(bodies.inertia, i)
    J, per_J = power_of_two(I[0])
    put_vector(space, at.INERTIA, lane, I)
    put_number(space, at.INERTIA + 3, lane, 1.0)  # the last number of a vector, by which it is divided
    for k in range(3):
        gyro, low_gyro = two_sum(I[(k + 1) % 3], -I[(k + 2) % 3])
        kick, low_kick = two_quot(J, I[k])
        put_number(space, at.GYRO + k, lane, 2.0 * per_J * gyro)
        put_number(space, at.LOW_GYRO + k, lane, 2.0 * per_J * low_gyro)
        put_number(space, at.KICK + k, lane, kick)
        put_number(space, at.LOW_KICK + k, lane, low_kick)
    put_vector(space, at.WEIGHT, lane, times(power_of_two(largest(I))[1], I))
    put_number(space, at.FACTOR, lane, settings.factor)
    put_number(space, at.BOUND, lane, settings.bound)
    put_number(space, at.RATE, lane, 2.0)
    put_number(space, at.SCALE, lane, 0.5 * per_J)
    put_damping(space, bodies, I, per_J, i, lane)
    if bodies.axes.shape[0] > 0:
        axes = bodies.axes[row_of(bodies.axes, i)]
        for k in range(9):
            put_number(space, at.AXES + k, lane, axes[k])
    params = bodies.params[row_of(bodies.params, i)]
    for k in range(len(params)):
        put_number(space, at.PARAMS + k, lane, params[k])


@inline
def put_damping(space, bodies, I, per_J, i, lane):
    """Write the damping of body i to the block."""
    D = bodies.damping[row_of(bodies.damping, i)]
    if len(D) < OBLIQUE:
        for k in range(3):
            put_number(space, at.DRAG + 4 * k, lane, per_J * abs(D[k]))
        return
    for k in range(3):
        for l in range(3):
            total = 0.0
            for n in range(3):
                total += D[3 + 3 * k + n] * D[n] * D[12 + 3 * n + l]
            put_number(space, at.DRAG + 3 * k + l, lane, per_J * total * I[l])


@inline
def put_point(space, lane, a):
    """Write the state from which a body goes on to the block."""
    put_number(space, at.NEW_T, lane, a.t)
    put_vector(space, at.NEW_MOMENTUM, lane, a.m)
    for k in range(4):
        put_number(space, at.NEW_ATTITUDE + k, lane, a.q[k])


@inline
def start_of(space, lane):
    """Return the state at the beginning of the step."""
    return point_at(space, lane, at.T, at.MOMENTUM, at.ATTITUDE)


@inline
def end_of_step(space, lane):
    """Return the state at the end of the step."""
    return point_at(space, lane, at.NEW_T, at.NEW_MOMENTUM, at.NEW_ATTITUDE)


@inline
def point_at(space, lane, t, m, q):
    """Return the state of a body at these places of its block."""
    q0, q1, q2 = get_vector(space, q, lane)
    return Point(get(space, t, lane), get_vector(space, m, lane), (q0, q1, q2, get(space, q + 3, lane)))


@inline
def unit_below(h):
    """Return the power of two below |h|."""
    return power_of_two(h)[0]


@inline
def first_guess(I, a, span):
    """Return a unit of time from the angular velocity: a part of a radian; that of the whole span at rest."""
    w = largest((a.m[0] / I[0], a.m[1] / I[1], a.m[2] / I[2]))
    return unit_below(min(FIRST_RADIANS / w, span) if w > 0.0 else span)


@inline
def better_guess(space, lane):
    """Return the unit of time of the first step, from the first coefficients in another unit."""
    rows, W = space.rows, space.lanes
    turn, spin = 0.0, 0.0
    for k in range(4, 7):
        turn = max(turn, abs(rows[k * W + lane]))
        spin = max(spin, abs(rows[(at.ROW + k) * W + lane]))
    turn, unit = max(turn, sqrt(spin)), get(space, at.UNIT, lane)
    return unit_below(unit * (FIRST_RADIANS / turn)) if 0.0 < turn < inf else unit


@inline
def is_finite(a):
    """Return whether a state is finite; it is not if one of the coefficients is not."""
    m, q = a.m, a.q
    turn = (q[0] - q[0]) + (q[1] - q[1]) + (q[2] - q[2]) + (q[3] - q[3])
    return turn + (m[0] - m[0]) + (m[1] - m[1]) + (m[2] - m[2]) == 0.0


@inline
def series_of(space, order, a, lane):
    """Return the series of the body in a lane, whose step begins at a."""
    y = 2.0 / get(space, at.UNIT, lane)
    I = get_vector(space, at.INERTIA, lane)
    return Series(space.rows, order, lane, space.lanes, a.m, a.q, (y * I[0], y * I[1], y * I[2]))


@inline
def put(a, m, q, i):
    """Write the momentum and the attitude of the point a to row i of two arrays."""
    m[i, 0], m[i, 1], m[i, 2] = a.m
    q[i, 0], q[i, 1], q[i, 2], q[i, 3] = a.q


@inline
def put_outputs(work, space, order, a, b, i, lane):
    """Save the states of body i at the wanted times that the step from a to b reaches and that are not yet saved."""
    if is_passed(work.wanted.times, work.current.seen[i], b.t, a.t < work.clock.end):
        put_passed(work, space, order, a, b, i, lane)


@noinline
def put_passed(work, space, order, a, b, i, lane):
    """Save these states if there are any, as many at once as a block has room for."""
    stay_separate()
    times, saved, w = work.wanted.times, work.saved, space.samples
    forward, unit = a.t < work.clock.end, get(space, at.UNIT, lane)  # a power of two
    j = work.current.seen[i]
    while is_passed(times, j, b.t, forward):
        count = 0
        while count < LANES and is_passed(times, j + count, b.t, forward) and times[j + count] != b.t:
            w[TIME + count] = (float(times[j + count]) - a.t) / unit
            count += 1
        if count > 0:
            evaluate(w, series_of(space, order, a, lane), count)
        for l in range(max(count, 1)):
            m, q = sampled(w, l) if count > 0 else (b.m, b.q)
            saved.m[j, i, 0], saved.m[j, i, 1], saved.m[j, i, 2] = m
            saved.q[j, i, 0], saved.q[j, i, 1], saved.q[j, i, 2], saved.q[j, i, 3] = q
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
def put_next(work, space, i, lane):
    """Write the time at which body i needs attention: the next wanted one, or that of the end of the next step."""
    sign, end = get(space, at.SIGN, lane), get(space, at.END, lane)
    j, wanted = work.current.seen[i], work.wanted.times
    t = min(sign * float(wanted[j]), sign * end) if j < len(wanted) else sign * end
    put_number(space, at.NEXT, lane, sign * (-inf if work.saved.step_t.shape[0] > 0 else t))


@inline
def steps_left(settings, work, i):
    """Return the number of steps that body i may make in this call."""
    return min(work.wanted.limit, settings.max_steps - work.current.steps[i])


@inline
def put_lane(settings, work, space, i, lane):
    """Begin with body i in a lane; return whether its unit of time is a guess."""
    current, t_end = work.current, work.clock.end
    a = Point(float(current.t[i]), vector_of(current.m, i), quaternion_of(current.q, i))
    put_body(space, settings, work.bodies, i, lane)
    put_point(space, lane, a)
    put_number(space, at.END, lane, t_end)
    put_number(space, at.SIGN, lane, 1.0 if a.t < t_end else -1.0)
    put_number(space, at.LONGEST, lane, float(current.longest[i]))
    put_number(space, at.LEFT, lane, float(steps_left(settings, work, i)))
    growth = float(current.memory[i, LONGEST_NEXT])
    put_number(space, at.GROWTH, lane, growth if growth > 0.0 else inf)
    put_number(space, at.ACTIVE, lane, i + 1.0)
    put_outputs(work, space, settings.order, a, a, i, lane)
    put_next(work, space, i, lane)
    h = float(current.h[i])
    is_guess = h == 0.0
    put_number(
        space, at.LENGTH, lane, first_guess(vector_of(work.bodies.inertia, i), a, abs(t_end - a.t)) if is_guess else h
    )
    return is_guess


@inline
def leave(settings, work, space, b, i, lane, status, taken):
    """End with body i in a lane, in the state b, after it has used up so many of its steps."""
    current = work.current
    put(b, current.m, current.q, i)
    current.t[i], current.h[i], current.status[i] = b.t, get(space, at.LENGTH, lane), status
    growth = get(space, at.GROWTH, lane)
    current.memory[i, LONGEST_NEXT] = growth if growth < inf else 0.0
    current.steps[i] += taken
    current.torques[i] = current.steps[i]
    put_number(space, at.ACTIVE, lane, 0.0)


@inline
def attend(settings, work, space, lane):
    """Save what the latest step of the body in a lane has reached; end with the body if it cannot go on."""
    i = int(get(space, at.ACTIVE, lane)) - 1
    a, b = start_of(space, lane), end_of_step(space, lane)
    taken = steps_left(settings, work, i) - int(get(space, at.LEFT, lane))
    if b.t == a.t:
        leave(settings, work, space, a, i, lane, TOO_SMALL, taken - 1)
        return
    if not is_finite(b):
        leave(settings, work, space, a, i, lane, NO_STEP, taken - 1)
        return
    if get(space, at.DOUBT, lane) == STUCK:
        leave(settings, work, space, a, i, lane, TOO_SMALL, taken - 1)
        return
    put_outputs(work, space, settings.order, a, b, i, lane)
    put_step(work.saved, b, i)
    if b.t == work.clock.end:
        leave(settings, work, space, b, i, lane, FINE, taken)
    elif get(space, at.LEFT, lane) <= 0.0:
        is_last = work.current.steps[i] + taken >= settings.max_steps
        leave(settings, work, space, b, i, lane, TOO_MANY if is_last else FINE, taken)
    else:
        put_next(work, space, i, lane)


@inline
def is_waiting(settings, work, i):
    """Return whether body i has steps to make in this call."""
    current = work.current
    if current.status[i] != FINE or current.t[i] == work.clock.end or work.wanted.limit <= 0:
        return False
    if current.steps[i] >= settings.max_steps:
        current.status[i] = TOO_MANY
        return False
    return True


@inline
def fill_lanes(steps, settings, work, space, first):
    """Begin with waiting bodies from ``first`` on in free lanes; return the number of the next body."""
    guessed = False
    i = first
    for lane in range(space.lanes):
        while get(space, at.ACTIVE, lane) == 0.0 and i < work.stop:
            if is_waiting(settings, work, i):
                guessed |= put_lane(settings, work, space, i, lane)
            i += 1
    if guessed:
        compute(steps, space, SMALLEST_ORDER, at.COEFFICIENTS)
        for lane in range(space.lanes):
            owner = int(get(space, at.ACTIVE, lane)) - 1
            if owner >= 0 and work.current.h[owner] == 0.0:
                work.current.h[owner] = better_guess(space, lane)
                put_number(space, at.LENGTH, lane, work.current.h[owner])
    return i


@inline
def some_active(space):
    """Return whether a lane has a body."""
    number = 0.0
    for lane in range(space.lanes):
        number += get(space, at.ACTIVE, lane)
    return number > 0.0


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
def rows_size(settings):
    """Return the length of the array of coefficients, with a row of zeros at the end."""
    return at.ROW * settings.lanes * (settings.order + 2)


@inline
def new_space(settings):
    """Return an array with room for those of a block."""
    size = settings.lanes * settings.block + rows_size(settings) + settings.work + SAMPLES
    return new_constants(size + 4 * ALIGNMENT)


@inline
def divided(array, settings):
    """Return the arrays of a block, each aligned, as parts of one array."""
    first = aligned(array, 0)
    second = aligned(array, first + settings.lanes * settings.block)
    end = second + rows_size(settings)
    for n in range(first, end):
        array[n] = 0.0
    third = aligned(array, end)
    last = third + settings.work
    samples = array[last : last + SAMPLES]
    return Space(array[first:second], array[second:end], array[third:last], samples, settings.lanes)


@inline
def with_target(work, end, limit):
    """Return the arguments of the loop with another end of the clock, and another limit of steps."""
    clock = work.clock
    clock = Clock(clock.start, clock.h, clock.low, clock.high, clock.first, end)
    wanted = Wanted(limit, work.wanted.steps, work.wanted.times)
    return Work(work.bodies, clock, wanted, work.start, work.stop, work.current, work.saved)


@entry_point(("void", "f8", "i8", ADDRESS, TaylorSettings, Work))
def taylor(end, limit, steps, settings, work):
    """Integrate bodies start..stop in place, each to the time ``end`` or for ``limit`` steps.

    These numbers are the first arguments, so that calls can be prepared; those of the clock and of ``wanted`` are not
    used. Another call can continue. The states at the wanted times are saved, and the end of each step, if ``step_t``
    has rows. A body that fails stays where it is, with its status.
    """
    work = with_target(borrowed(work), end, limit)
    array = new_space(settings)
    space = divided(borrowed(array), settings)
    next_body = fill_lanes(steps, settings, work, space, work.start)
    while some_active(space):
        compute(steps, space, settings.order, at.STEPS)
        for lane in range(space.lanes):
            if get(space, at.ACTIVE, lane) > 0.0:
                if is_finite(end_of_step(space, lane)):
                    if get(space, at.DOUBT, lane) > 0.0:
                        settle(steps, settings, work.current, space, lane)
                elif not leaves(steps, settings, work.current, space, lane):
                    put_number(space, at.NEW_MOMENTUM, lane, nan)
                attend(settings, work, space, lane)
        next_body = fill_lanes(steps, settings, work, space, next_body)
    keep(array)


@inline
def after_step(work, i):
    """Return the first time after time i that is not in the same step."""
    n = i
    while n < work.stop and work.step[n] == work.step[i]:
        n += 1
    return n


@inline
def expand(steps, settings, work, space, first):
    """Compute the coefficients of the steps of the times from ``first`` on, of one step in each lane."""
    i = first
    for lane in range(space.lanes):
        if i < work.stop:
            j = work.step[i]
            put_body(space, settings, work.bodies, j, lane)
            put_point(space, lane, Point(float(work.left[j]), vector_of(work.m, j), quaternion_of(work.q, j)))
            put_number(space, at.LENGTH, lane, float(work.right[j]) - float(work.left[j]))
            i = after_step(work, i)
    compute(steps, space, settings.order, at.COEFFICIENTS)


@noinline
def put_between(work, space, order, first, end, lane):
    """Write the states at the times ``first`` to ``end``, which are within the step in a lane."""
    stay_separate()
    a, w, unit = start_of(space, lane), space.samples, get(space, at.UNIT, lane)
    series = series_of(space, order, a, lane)
    for i in range(first, end, LANES):
        count = min(LANES, end - i)
        for l in range(count):
            w[TIME + l] = (float(work.t[i + l]) - a.t) / unit
        evaluate(w, series, count)
        for l in range(count):
            m, q = sampled(w, l) if work.t[i + l] != a.t else (a.m, a.q)
            put(Point(a.t, m, q), work.m_out, work.q_out, i + l)


@entry_point(("void", ADDRESS, TaylorSettings, Interpolation))
def interpolate(steps, settings, work):
    """Write the states at the times t, within steps from ``left`` to ``right``; NaN if a coefficient is not finite."""
    work = borrowed(work)
    array = new_space(settings)
    space = divided(borrowed(array), settings)
    i = int(work.start)
    while i < work.stop:
        expand(steps, settings, work, space, i)
        for lane in range(space.lanes):
            end = after_step(work, i)
            put_between(work, space, settings.order, i, end, lane)
            i = end
    keep(array)


@inline
def put_polynomial(space, order, work, i, lane):
    """Write the coefficients of step i to rows of arrays, from order 0 on, in powers of (t - left)/(right - left)."""
    unit = get(space, at.UNIT, lane)
    x = (float(work.right[i]) - float(work.left[i])) / unit
    I = get_vector(space, at.INERTIA, lane)
    power = 1.0
    for k in range(order + 1):
        row = k * at.ROW * space.lanes + lane
        for j in range(4):
            work.q_out[i, 4 * k + j] = power * space.rows[row + j * space.lanes]
        for j in range(3):
            work.m_out[i, 3 * k + j] = (2.0 / unit * power) * I[j] * space.rows[row + (4 + j) * space.lanes]
        power *= x
    for j in range(3):
        work.m_out[i, j] = work.m[i, j]


@entry_point(("void", ADDRESS, TaylorSettings, Interpolation))
def polynomials(steps, settings, work):
    """Write the coefficients of the steps start..stop, whose numbers are their indices.

    The arrays for momenta have the shape (n, 3 (order + 1)), those for attitudes (n, 4 (order + 1)).
    """
    work = borrowed(work)
    array = new_space(settings)
    space = divided(borrowed(array), settings)
    for first in range(work.start, work.stop, space.lanes):
        expand(steps, settings, work, space, first)
        for lane in range(min(space.lanes, work.stop - first)):
            put_polynomial(space, settings.order, work, first + lane, lane)
    keep(array)
