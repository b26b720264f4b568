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
    call_in_registers,
    numbers_at,
    power_of_two,
    stack_array,
)
from polhode.kernels.compiler.jit import entry_point, inline, noinline
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
from polhode.kernels.stepping.header import VECTOR, call_prepare
from polhode.kernels.stepping.repeat import new_constants, plain, whole_step

NO_STATE = (nan, nan, nan), (nan, nan, nan, nan)
FRAME = 8  # numbers of a body after the constants of the flow: the order of its axes, Scale, sorted moments


class OwnFlow(NamedTuple):
    """A flow for loops of the user: functions that return addresses, and its numbers."""

    prepare_body: Callable[[], Any]  # address of the function below
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


PREPARE_BODY = f"i8(i8, i8, i8, {VECTOR}, {VECTOR}, i8, i8)"
call_prepare_body = call_in_registers(PREPARE_BODY)


@entry_point(PREPARE_BODY, registers=True)
def prepare_body(prepare, parameters, count, inertia, m, body, frame):
    """Write the constants of a body in the unit of the momentum m to an array, those of the standard form at ``frame``.

    ``prepare`` is the address of the function of a flow, followed by those of its parameters and their number.
    """
    order, scale, I = standard_body(inertia, largest(m))
    call_prepare(prepare, (order, I, parameters, count, body))
    numbers = numbers_at(body, frame + FRAME)
    numbers[frame], numbers[frame + 1], numbers[frame + 2] = float(order), scale.I, scale.per_I
    numbers[frame + 3], numbers[frame + 4] = scale.m, scale.per_m
    numbers[frame + 5], numbers[frame + 6], numbers[frame + 7] = I
    return 0


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
    """Return ``write_body(inertia, m, body)``, which writes the constants of a body for a flow to an array."""
    address_of_entry, address_of_flow, frame, parameters = (
        flow.prepare_body,
        flow.prepare,
        flow.size,
        np.array(flow.parameters),
    )

    @inline
    def write_body(inertia, m, body):
        """Write the constants of a body in the unit of the momentum m to an array."""
        p = plain(parameters)
        given = address_of_flow(), address(p), len(p), three(inertia), three(m), address(body), frame
        call_prepare_body(address_of_entry(), given)

    return write_body


def preparing(flow):
    """Return ``prepare(inertia, m)``, which returns the constants of a body as an array."""
    write_body, size = preparation(flow), flow.size + FRAME

    def prepare(inertia, m):
        body = new_constants(size)
        write_body(inertia, m, body)
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
    write_body, new_body = preparation(flow), stack_array(flow.size + FRAME)

    @inline
    def advanced(body, m, q, h):
        """Return m and q after a step h of the body with these constants."""
        m, order = three(m), int(body[frame])
        scale = scale_of(body, frame, largest(m))
        time = to_standard_time(float(h), scale)
        if not abs(time) <= LONGEST:
            return NO_STATE
        m, q = to_order(order, times(scale.per_m, m)), attitude_to_order(order, four(q))
        m, q, count = whole_step(address_of_flow(), body, fractions, m, q, time)
        if count < 0.0:
            return NO_STATE
        return from_order(order, times(scale.m, m)), attitude_from_order(order, q)

    def advance(body, m, q, h):
        if not has_scratch:
            return advanced(borrowed(body), m, q, h)
        own = new_body()
        copy(body, own)
        return advanced(own, m, q, h)

    def step(inertia, m, q, h):
        body = new_body()
        write_body(inertia, m, body)
        return advanced(body, m, q, h)

    return preparing(flow), advance, step
