"""Steps of splittings for loops of the user, as those of flows in ``own_loop``: by the loop of ``splitting``.

Bodies have the constants of ``own_loop``. The loop is called by its address, for one body whose arrays are on the
stack, so that the bits are those of `integrate`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import as_rows, borrowed, stack_array
from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.vectors import times
from polhode.kernels.stepping.frame import principal_frame, typical_momentum
from polhode.kernels.stepping.header import FINE, Bodies, FlowData, SchemeTable, Wanted
from polhode.kernels.stepping.own_loop import NO_STATE, OwnFlow, copy, four, preparing, scale_of, three
from polhode.kernels.stepping.splitting import PREPARED, SplitState, Stepped, Task, call_split_body
from polhode.kernels.stepping.stages import Pending, Progress, Window

AT_BREAK = 1e-6  # part of a step by which rounding may move its ends across a break
NONE_PENDING, NO_PROGRESS = Pending(0.0, 0.0, 0.0, 0.0), Progress(0, False)

new_momentum, new_attitude, new_count = stack_array(3), stack_array(4), stack_array(1, "i8")
no_moments, no_axes, no_times = np.empty((0, 3)), np.empty((0, 9)), np.empty(0)


class Torque(NamedTuple):
    """Torque on a body: a function that returns its address, and its numbers."""

    address: Callable[[], Any]
    implicit: bool  # whether it depends on w
    params: tuple[float, ...]
    damping: tuple[float, ...]  # three numbers
    breaks: tuple[float, ...]


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


def split_functions(flow: OwnFlow, scheme: SchemeTable, torque: Torque, split_body: Callable[[], Any]):
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
    prepare_flow, advance_flow, has_scratch = flow.prepare, flow.advance, flow.has_scratch
    stages, count, before, after = scheme
    implicit, own_params = torque.implicit, np.array(torque.params)
    damping, breaks = np.array([torque.damping]), np.array(torque.breaks)
    length = len(own_params)
    new_params, new_constants = stack_array(max(length, 1)), stack_array(size)  # rows have at least one number
    torque_address = torque.address

    @inline
    def taken(prepare, c, order, scale, I, m, q, t, h, steps, params):
        """Return m and q after steps of a body in the standard form; ``prepare`` is an address, or PREPARED."""
        low, high, valid = limits(breaks, t, h, steps)
        if not valid:
            return NO_STATE
        p, wanted, m_out, q_out = new_params(), new_count(), new_momentum(), new_attitude()
        for k in range(length):
            p[k] = float(own_params[k] if params is None else params[k])
        wanted[0] = steps
        own = FlowData(prepare, advance_flow(), parameters, size, fractions)
        table = SchemeTable(stages, count, before, after)
        bodies = Bodies(no_moments, no_axes, damping, as_rows(p, len(p)))
        window, last = Window(0, t, h), Wanted(steps, wanted, no_times)
        m_out, q_out = as_rows(as_rows(m_out, 3), 1), as_rows(as_rows(q_out, 4), 1)
        task = Task(bodies, 0, order, scale, I, window, (low, high), last, m_out, q_out)
        start = Stepped(SplitState(m, q, NONE_PENDING, 0, FINE), NO_PROGRESS)
        end = call_split_body(split_body(), (torque_address(), implicit, own, c, table, task, start))
        return (three(m_out[0, 0]), four(q_out[0, 0])) if end.state.status == FINE else NO_STATE

    def advance(body, m, q, t, h, steps=1, params=None):
        body, m, q, h = borrowed(body), three(m), four(q), float(h)
        if h == 0.0:
            return m, q
        c = body[:size]
        if has_scratch:
            c = new_constants()
            copy(body[:size], c)
        order, I = int(body[size]), three(body[size + 5 :])
        scale = scale_of(body, size, typical_momentum(times(body[size + 1], I), m, h))
        return taken(PREPARED, c, order, scale, I, m, q, float(t), h, int(steps), params)

    def step(inertia, m, q, t, h, steps=1, params=None):
        m, q, h, c = three(m), four(q), float(h), new_constants()
        if h == 0.0:
            return m, q
        frame, I = principal_frame(three(inertia), m, h)
        return taken(prepare_flow(), c, frame.order, frame.scale, I, m, q, float(t), h, int(steps), params)

    return preparing(flow), advance, step
