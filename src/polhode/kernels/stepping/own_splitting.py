"""Steps of splittings for loops of the user, as those of flows in ``own_loop``: by the loop of ``splitting``.

Bodies have the constants of ``own_loop``. The loop is called by its address, for one body whose arrays are on the
stack, so that the bits are those of `integrate`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import as_rows, call_by_address, numbers_at, stack_array
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import from_order
from polhode.kernels.numbers.vectors import times
from polhode.kernels.stepping.header import (
    FINE,
    PREPARE,
    QUATERNION,
    VECTOR,
    BatchState,
    Bodies,
    Clock,
    FlowData,
    InputRows,
    Inputs,
    Numbers,
    Saved,
    SchemeTable,
    Wanted,
    Work,
)
from polhode.kernels.stepping.own_loop import NO_STATE, OwnFlow, four, preparing, three
from polhode.kernels.stepping.splitting import SPLIT

MEMORY = 5  # numbers that the loop carries from step to step
AT_BREAK = 1e-6  # part of a step by which rounding may move its ends across a break
STATE = f"Tuple(({VECTOR}, {QUATERNION}))"

new_moments, new_momentum, new_attitude, new_memory = map(stack_array, (3, 6, 8, MEMORY))
new_axes, new_times, new_trouble = map(stack_array, (9, 5, 8))
new_counts = stack_array(5, "i8")


class Setting(NamedTuple):
    """What all steps of a splitting have in common; ``split`` and ``torque`` are addresses."""

    split: int
    torque: int
    implicit: bool  # whether the torque depends on w
    flow: FlowData
    scheme: SchemeTable
    damping: InputRows  # (1, 3)
    breaks: Inputs  # times, in ascending order


class Torque(NamedTuple):
    """Torque on a body: a function that returns its address, and its numbers."""

    address: Callable[[], Any]
    implicit: bool  # whether it depends on w
    params: tuple[float, ...]
    damping: tuple[float, ...]  # three numbers
    breaks: tuple[float, ...]


class Entries(NamedTuple):
    """Functions that return the addresses of the entry points that steps of splittings call."""

    split: Callable[[], Any]
    split_steps: Callable[[], Any]
    copy_constants: Callable[[], Any]


@inline
def limits(breaks, t, h, steps):
    """Return the breaks between which steps h from the time t on lie, and whether they contain none."""
    low, high, middle = -inf, inf, t + 0.5 * steps * h
    for k in range(len(breaks)):
        if breaks[k] <= middle:
            low = float(breaks[k])
        elif high == inf:
            high = float(breaks[k])
    first, last, margin = min(t, t + steps * h), max(t, t + steps * h), AT_BREAK * abs(h)
    return low, high, low <= first + margin and high >= last - margin


@inline
def first_state(m, q):
    """Return the state of a body before its first step, on the stack of the caller, and arrays for the last one."""
    m_rows, q_rows = as_rows(new_momentum(), 3), as_rows(new_attitude(), 4)
    memory, counts = as_rows(new_memory(), MEMORY), as_rows(new_counts(), 1)
    numbers, trouble = as_rows(new_times(), 1), as_rows(new_trouble(), 8)
    m_rows[0, 0], m_rows[0, 1], m_rows[0, 2] = m
    q_rows[0, 0], q_rows[0, 1], q_rows[0, 2], q_rows[0, 3] = q
    for k in range(MEMORY):
        memory[0, k] = 0.0
    for k in range(3):
        counts[k, 0] = 0
    # The loop uses neither the last two counters nor what is for methods that choose their steps.
    unused, number = counts[3], numbers[4]
    state = BatchState(
        m_rows[:1],
        q_rows[:1],
        memory,
        counts[0],
        counts[1],
        counts[2],
        unused,
        unused,
        number,
        number,
        number,
        number,
        unused,
        trouble,
    )
    m_out, q_out = as_rows(m_rows[1:], 1), as_rows(q_rows[1:], 1)
    return state, Saved(m_out, q_out, trouble, m_out, q_out, unused), counts[4], numbers


call_split = call_by_address(SPLIT, None)
SPLIT_STEPS = STATE, Setting, VECTOR, Numbers, VECTOR, QUATERNION, "f8", "f8", "i8"


@entry_point(SPLIT_STEPS)
def split_steps(setting, inertia, params, m, q, t, h, steps):
    """Return m and q after steps h from the time t on, or NaN."""
    low, high, valid = limits(setting.breaks, t, h, steps)
    if not valid:
        return NO_STATE
    current, saved, wanted, numbers = first_state(m, q)
    moments, axes = as_rows(new_moments(), 3), as_rows(new_axes(), 9)
    moments[0, 0], moments[0, 1], moments[0, 2] = inertia
    numbers[0, 0], numbers[1, 0], numbers[2, 0], numbers[3, 0] = t, h, low, high
    wanted[0] = steps
    bodies = Bodies(moments, axes[:0], setting.damping, as_rows(params, len(params)))
    clock = Clock(numbers[0], numbers[1], numbers[2], numbers[3], 0, inf)
    work = Work(bodies, clock, Wanted(steps, wanted, numbers[4]), 0, 1, current, saved)
    _, raised = call_split(setting.split, (setting.torque, setting.implicit, setting.flow, setting.scheme, work))
    has_result = current.status[0] == FINE and not raised
    return (three(saved.m[0, 0]), four(saved.q[0, 0])) if has_result else NO_STATE


@entry_point(PREPARE, registers=True)
def copy_constants(order, I, constants, count, c):
    """Copy the constants of a body that was prepared before, in place of the function ``prepare`` of a flow."""
    given, own = numbers_at(constants, count), numbers_at(c, count)
    for k in range(count):
        own[k] = given[k]
    return 0


@inline
def moments_of(body, k):
    """Return the moments of a body, in the user's axes and units, from those of the standard form in body[k:]."""
    I = body[k + 5], body[k + 6], body[k + 7]
    x, y, z = from_order(int(body[k]), times(body[k + 1], I))
    return abs(x), abs(y), abs(z)  # exchanged axes change signs


call_split_steps = call_by_address(SPLIT_STEPS, NO_STATE)


def split_functions(flow: OwnFlow, scheme: SchemeTable, torque: Torque, entries: Entries):
    """Return functions for a splitting by a flow, not yet compiled.

    Returns
    -------
    prepare : function
        ``prepare(inertia, m)`` returns the constants of a body, in the unit of the momentum m, as an array.
    advance : function
        ``advance(body, m, q, t, h, steps, params)`` returns m and q after steps h that begin at the time t; ``params``
        may be None for those of the torque.
    step : function
        ``step(inertia, m, q, t, h, steps, params)`` does both.
    """
    parameters, fractions, size = np.array(flow.parameters), np.array(flow.fractions), flow.size
    prepare_flow, advance_flow = flow.prepare, flow.advance
    split, take_steps, copying = entries
    stages, count, before, after = scheme
    implicit, own_params = torque.implicit, np.array(torque.params)
    damping, breaks = np.array([torque.damping]), np.array(torque.breaks)
    length = len(own_params)
    new_params = stack_array(max(length, 1))  # rows have at least one number
    torque_address = torque.address

    @inline
    def taken(prepare, numbers, inertia, m, q, t, h, steps, params):
        """Return m and q after steps; ``prepare(order, I, numbers)`` computes the constants of the body."""
        p = new_params()
        for k in range(length):
            p[k] = float(own_params[k] if params is None else params[k])
        own = FlowData(prepare, advance_flow(), numbers, size, fractions)
        table = SchemeTable(stages, count, before, after)
        setting = Setting(split(), torque_address(), implicit, own, table, damping, breaks)
        given = setting, three(inertia), p, three(m), four(q), float(t), float(h), int(steps)
        return call_split_steps(take_steps(), given)[0]

    def advance(body, m, q, t, h, steps=1, params=None):
        return taken(copying(), body[:size], moments_of(body, size), m, q, t, h, steps, params)

    def step(inertia, m, q, t, h, steps=1, params=None):
        return taken(prepare_flow(), parameters, inertia, m, q, t, h, steps, params)

    return preparing(flow), advance, step
