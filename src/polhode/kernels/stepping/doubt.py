"""Steps by Taylor series that are in doubt: they are looked at in their interior, and shortened until none remains.

Generated code finds that a step is wrong at its end, or that an argument of a function changes so much within it that
the function may do anything there (``graphs.steps``, ``graphs.watches``). Then the series is compared with the
equations of motion at all extremes and zeros of such arguments, too.

Where a function bends or jumps at a zero of its argument, the step is ended right behind that zero: it is verified
right before it, and between the two points the motion changes no more than their distance allows. Other torques that
jump remain wrong for any length, and the step is accepted when it is as short as rounding.
"""

from __future__ import annotations

from polhode.kernels.compiler.intrinsics import stay_separate
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.graphs import places as at
from polhode.kernels.stepping.taylor_block import LAST_TINY, LEFT_AT, TINY_STEPS, compute, get, put_number

STUCK = 3.0  # a kind of DOUBT: the body does not get on
SHORTEST = 2.0**-46  # length of a step to a jump, in units of the time or of the length that the series allows
SHORT = 2.0**-27  # length of a step of order 1, in units of time, whose square is as small as rounding
TINY = 2.0**-20  # length of a step, in units of the length that the series allows
PROGRESS = 2.0**-10  # in the same unit: how far a body gets from one tiny step to the next, unless it is stuck
MOST_TINY = 1000  # a torque that jumps back at once would need any number of them
SAMPLES = 16  # of an argument within a step, between which extremes and zeros are sought
BISECTIONS = 50
UNRESOLVED = 0.1  # part of the change of an argument, in its last coefficients, from which its series says nothing


@noinline
def settle(steps, settings, current, space, lane):
    """Shorten the step of the body in a lane, which is in doubt, until there is none."""
    stay_separate()
    i = int(get(space, at.ACTIVE, lane)) - 1
    t, end = get(space, at.T, lane), get(space, at.NEW_T, lane)
    shortest = SHORTEST * max(abs(t), get(space, at.LENGTH, lane))
    while is_refuted(steps, settings, space, lane, t, end) and abs(end - t) > shortest:
        current.rejected[i] += 1
        behind = behind_bend(steps, settings, space, lane, t, end, shortest)
        if behind != end:
            end = behind
            break
        end = t + 0.5 * (end - t)
        put_number(space, at.GROWTH, lane, at.RECOVERY * abs(end - t))
        make_trial(steps, settings, space, lane, t, end)
    if get(space, at.NEW_T, lane) != end:
        make_trial(steps, settings, space, lane, t, end)
    put_number(space, at.DOUBT, lane, STUCK if is_stuck(current, space, lane, i, t, end) else 0.0)


@inline
def behind_bend(steps, settings, space, lane, t, end, shortest):
    """Return a time right behind the first bend of a function, if the step is right up to there; otherwise ``end``.

    Right behind is the ``shortest`` step away, so that the next step has the bend behind it in spite of rounding.
    """
    unit = get(space, at.UNIT, lane)
    x = (end - t) / unit
    first = x
    for n in range(settings.bending):
        place = first_zero(settings, space, lane, n, x)
        if abs(place) < abs(first):
            first = place
    width = shortest / unit if x > 0.0 else -shortest / unit
    before, behind = t + (first - width) * unit, t + (first + width) * unit
    if abs(behind - t) >= abs(end - t) or behind == t:
        return end
    if abs(first) > abs(width):
        make_trial(steps, settings, space, lane, t, before)
        if is_refuted(steps, settings, space, lane, t, before):
            return end
    make_trial(steps, settings, space, lane, before, behind)
    return end if get(space, at.DOUBT, lane) == at.WRONG else behind


@inline
def leaves(steps, settings, current, space, lane):
    """Make a short step of order 1 in m, and 2 in q, from a state without a series; return whether it is right.

    sqrt(x^2 + y^2), for example, has no derivative where the motion passes x = y = 0, but on each side of it.
    """
    t, unit = get(space, at.T, lane), get(space, at.UNIT, lane)
    i = int(get(space, at.ACTIVE, lane)) - 1
    if t != 0.0 and current.memory[i, LEFT_AT] == t:
        return False
    left = get(space, at.END, lane) - t
    end = t + max(min(SHORT * unit, left), -SHORT * unit)
    for n in range(2 * at.ROW + 4, at.ROW * (settings.order + 2)):
        space.rows[n * space.lanes + lane] = 0.0
    put_number(space, at.SIZE, lane, 0.0)
    put_number(space, at.LENGTH, lane, unit)
    make_trial(steps, settings, space, lane, t, end)
    current.memory[i, LEFT_AT] = end
    return end != t and get(space, at.DOUBT, lane) != at.WRONG


@inline
def make_trial(steps, settings, space, lane, first, time):
    """Evaluate the series of the body in a lane at a time, and the doubt about the motion there from ``first`` on."""
    put_number(space, at.NEW_T, lane, time)
    put_number(space, at.REACH, lane, time - first)
    compute(steps, space, settings.order, at.TRIAL)


@inline
def is_stuck(current, space, lane, i, t, end):
    """Return whether a body has made so many tiny steps in a short time that it does not get on."""
    length = get(space, at.LENGTH, lane)
    if abs(end - t) > TINY * length:
        return False
    memory = current.memory
    if abs(t - memory[i, LAST_TINY]) > PROGRESS * length:
        memory[i, TINY_STEPS] = 0.0
    memory[i, TINY_STEPS] += 1.0
    memory[i, LAST_TINY] = t
    return memory[i, TINY_STEPS] > MOST_TINY


@inline
def is_refuted(steps, settings, space, lane, t, end):
    """Return whether the step from t to ``end``, at which the series was evaluated, is wrong there or within."""
    doubt = get(space, at.DOUBT, lane)
    if doubt == at.WRONG:
        return True
    if doubt == 0.0:
        return False
    unit = get(space, at.UNIT, lane)
    x = (end - t) / unit
    for n in range(settings.watched):
        change = change_of(settings, space, lane, n, abs(x))
        if change * change > space.work[settings.limits + n * space.lanes + lane] and (
            is_unresolved(settings, space, lane, n, abs(x), change)
            or is_wrong_within(steps, settings, space, lane, n, t, end)
        ):
            return True
    return False


@inline
def coefficient(settings, space, lane, n, k):
    """Return coefficient k of the watched argument n of the body in a lane."""
    return float(space.work[settings.first + k * settings.stride + n * space.lanes + lane])


@inline
def change_of(settings, space, lane, n, x):
    """Return a bound on the change of a watched argument."""
    change = 0.0
    for k in range(settings.order - 1, 0, -1):
        change = x * (abs(coefficient(settings, space, lane, n, k)) + change)
    return change


@inline
def is_unresolved(settings, space, lane, n, x, change):
    """Return whether the last coefficients of an argument are so large that its own series says nothing."""
    k = settings.order - 1
    last = abs(coefficient(settings, space, lane, n, k)) * x**k
    before = abs(coefficient(settings, space, lane, n, k - 1)) * x ** (k - 1)
    return max(last, before) > UNRESOLVED * change


@inline
def value_and_slope(settings, space, lane, n, x):
    """Return a watched argument and its slope at the time x."""
    value, slope = 0.0, 0.0
    for k in range(settings.order - 1, -1, -1):
        slope = value + x * slope
        value = coefficient(settings, space, lane, n, k) + x * value
    return value, slope


@noinline
def is_wrong_within(steps, settings, space, lane, n, t, end):
    """Return whether a step is wrong at an extreme or a zero of a watched argument."""
    stay_separate()
    unit = get(space, at.UNIT, lane)
    x = (end - t) / unit
    left = 0.0
    value, slope = value_and_slope(settings, space, lane, n, left)
    for j in range(1, SAMPLES + 1):
        right = x * j / SAMPLES
        next_value, next_slope = value_and_slope(settings, space, lane, n, right)
        for of_slope in range(2):
            at_left, at_right = (slope, next_slope) if of_slope else (value, next_value)
            if (at_left > 0.0) != (at_right > 0.0):
                time = t + sign_change(settings, space, lane, n, left, right, of_slope) * unit
                make_trial(steps, settings, space, lane, time - (end - t), time)
                if get(space, at.DOUBT, lane) == at.WRONG:
                    return True
        left, value, slope = right, next_value, next_slope
    return False


@inline
def first_zero(settings, space, lane, n, x):
    """Return the first time up to x at which a watched argument changes its sign; x if it does not."""
    left = 0.0
    is_positive = coefficient(settings, space, lane, n, 0) > 0.0
    for j in range(1, SAMPLES + 1):
        right = x * j / SAMPLES
        value, _ = value_and_slope(settings, space, lane, n, right)
        if (value > 0.0) != is_positive:
            return sign_change(settings, space, lane, n, left, right, 0)
        left = right
    return x


@inline
def sign_change(settings, space, lane, n, left, right, of_slope):
    """Return where a watched argument, or its slope, changes its sign."""
    value, slope = value_and_slope(settings, space, lane, n, left)
    is_positive = (slope if of_slope else value) > 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        value, slope = value_and_slope(settings, space, lane, n, middle)
        if ((slope if of_slope else value) > 0.0) == is_positive:
            left = middle
        else:
            right = middle
    return right
