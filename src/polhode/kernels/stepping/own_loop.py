"""Single steps of flows for loops of the user: plain tuples in, plain tuples out, in the user's axes and units.

The functions of a flow are those of ``repeat``, called by their addresses: nothing here rounds, so that the bits of a
step are those of the loop of ``repeat``. The constants of a body are an array of numbers: those of the flow, and FRAME
numbers of the standard form. A step without a result gives NaN, because compiled code should not raise.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import (
    address,
    borrowed,
    power_of_two,
    stack_array,
)
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.compiler.limits import LONGEST
from polhode.kernels.exact.standard_form import (
    Scale,
    attitude_from_order,
    attitude_to_order,
    from_order,
    standard_body,
    to_order,
    to_standard_time,
)
from polhode.kernels.numbers.vectors import largest, times
from polhode.kernels.stepping.header import call_prepare
from polhode.kernels.stepping.repeat import new_constants, plain, whole_step

NO_STATE = (nan, nan, nan), (nan, nan, nan, nan)
FRAME = 8  # numbers of a body after the constants of the flow: the order of its axes, Scale, sorted moments


class OwnFlow(NamedTuple):
    """A flow for loops of the user: functions that return addresses, and its numbers."""

    prepare: Callable[[], Any]
    advance: Callable[[], Any]
    size: int  # number of constants of a body
    has_scratch: bool  # whether ``advance`` writes to them
    parameters: tuple[float, ...]
    fractions: tuple[float, ...]


@inline
def three(x):
    """Return three numbers of a tuple or an array as floats."""
    return float(x[0]), float(x[1]), float(x[2])


@inline
def four(x):
    """Return four numbers of a tuple or an array as floats."""
    return float(x[0]), float(x[1]), float(x[2]), float(x[3])


@inline
def scale_of(body, k, size):
    """Return the scale in body[k:], for momenta of a size.

    The unit of momenta is the one that was written, unless the size is quite another one. A step does not wait for a
    branch, but it would have to wait for a new unit.
    """
    unit = body[k + 3]
    if 0.25 * unit <= size <= 8.0 * unit:
        return Scale(body[k + 1], body[k + 2], unit, body[k + 4])
    return rescaled(body[k + 1], body[k + 2], size)


@noinline
def rescaled(I, per_I, size):
    """Return the scale for momenta of a size; a call, because the compiler would otherwise compute it in advance."""
    return Scale(I, per_I, *power_of_two(size))


def preparation(flow):
    """Return ``prepare_flow(order, I, c)``, which writes the constants of a body of the standard form to an array."""
    address_of_flow, parameters = flow.prepare, np.array(flow.parameters)

    @inline
    def prepare_flow(order, I, c):
        """Write the constants of a body to an array."""
        p = plain(parameters)
        call_prepare(address_of_flow(), (order, I, address(p), len(p), address(c)))

    return prepare_flow


def preparing(flow):
    """Return ``prepare(inertia, m)``, which returns the constants of a body as an array."""
    prepare_flow, k, size = preparation(flow), flow.size, flow.size + FRAME

    def prepare(inertia, m):
        body = new_constants(size)
        order, scale, I = standard_body(three(inertia), largest(three(m)))
        prepare_flow(order, I, body)
        body[k] = float(order)
        body[k + 1], body[k + 2], body[k + 3], body[k + 4] = scale
        body[k + 5], body[k + 6], body[k + 7] = I
        return body

    return prepare


@inline
def copy(body, own):
    """Copy the constants of a body: other threads may use the body, and a step may overwrite some of its own ones."""
    for k in range(len(body)):
        own[k] = float(body[k])


def free_functions(flow):
    """Return functions for an OwnFlow, not yet compiled.

    Returns
    -------
    prepare : function
        ``prepare(inertia, m)`` returns the constants of a body, in the unit of the momentum m, as an array.
    advance : function
        ``advance(body, m, q, h)`` returns m and q after a step h.
    step : function
        ``step(inertia, m, q, h)`` does both, without an array that outlives it.
    """
    address_of_flow, frame, has_scratch, fractions = flow.advance, flow.size, flow.has_scratch, np.array(flow.fractions)
    prepare_flow, on_stack = preparation(flow), stack_array(flow.size)

    @inline
    def advanced(c, order, scale, m, q, h):
        """Return m and q after a step h of the body with the constants c of the flow, in this order and scale."""
        time = to_standard_time(float(h), scale)
        if not abs(time) <= LONGEST:
            return NO_STATE
        m, q = to_order(order, times(scale.per_m, m)), attitude_to_order(order, four(q))
        m, q, count = whole_step(address_of_flow(), c, fractions, m, q, time)
        if count < 0.0:
            return NO_STATE
        return from_order(order, times(scale.m, m)), attitude_from_order(order, q)

    def advance(body, m, q, h):
        body, m = borrowed(body), three(m)
        order, scale = int(body[frame]), scale_of(body, frame, largest(m))
        if not has_scratch:
            return advanced(body, order, scale, m, q, h)
        own = on_stack()
        copy(body[:frame], own)
        return advanced(own, order, scale, m, q, h)

    def step(inertia, m, q, h):
        m, c = three(m), on_stack()
        order, scale, I = standard_body(three(inertia), largest(m))
        prepare_flow(order, I, c)
        return advanced(c, order, scale, m, q, h)

    return preparing(flow), advance, step
