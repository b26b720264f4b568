"""Single steps of flows for loops of the user: plain tuples in, plain tuples out, in the user's axes and units.

The functions of a flow are those of ``repeat``. The constants of a body are an array of numbers: those of the flow, and
FRAME numbers of the standard form. A step without a result gives NaN, because compiled code should not raise.

Tables of constants are opaque: the compiler then sees the loops that it sees in ``repeat`` and ``splitting``, and fuses
the same products with sums, so that the bits are the same.
"""

from __future__ import annotations

from math import nan

import numpy as np

from polhode.kernels.compiler.intrinsics import borrowed, opaque, power_of_two, stack_array
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
from polhode.kernels.stepping.repeat import new_constants, plain, whole_step

NO_STATE = (nan, nan, nan), (nan, nan, nan, nan)
FRAME = 8  # numbers of a body after the constants of the flow: the order of its axes, Scale, sorted moments


@inline
def three(x):
    """Return three numbers of a tuple or an array as floats."""
    return float(x[0]), float(x[1]), float(x[2])


@inline
def four(x):
    """Return four numbers of a tuple or an array as floats."""
    return float(x[0]), float(x[1]), float(x[2]), float(x[3])


@inline
def write_frame(inertia, m, body, k):
    """Write the standard form of a body in the unit of the momentum m to body[k:]; return the order and the moments."""
    order, scale, I = standard_body(inertia, largest(m))
    body[k], body[k + 1], body[k + 2] = float(order), scale.I, scale.per_I
    body[k + 3], body[k + 4] = scale.m, scale.per_m
    body[k + 5], body[k + 6], body[k + 7] = I
    return order, I


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


def preparation(kernels, parameters):
    """Return ``write_body(inertia, m, body)``, which writes the constants of a body for a flow to an array."""
    flow_prepare, frame, parameters = kernels.prepare, kernels.size, np.array(parameters)

    @inline
    def write_body(inertia, m, body):
        """Write the constants of a body in the unit of the momentum m to an array."""
        order, I = write_frame(three(inertia), three(m), body, frame)
        flow_prepare(order, I, plain(opaque(parameters)), body)

    return write_body


def preparing(write_body, size):
    """Return ``prepare(inertia, m)``, which returns the constants of a body as an array."""

    def prepare(inertia, m):
        body = new_constants(size)
        write_body(inertia, m, borrowed(body))
        return body

    return prepare


@inline
def copy(body, own):
    """Copy the constants of a body: other threads may use the body, and a step may overwrite some of its own ones."""
    for k in range(len(body)):
        own[k] = float(body[k])


def free_functions(kernels, parameters, fractions):
    """Return functions for a flow with these parameters and parts of a step, not yet compiled.

    Returns
    -------
    prepare : function
        ``prepare(inertia, m)`` returns the constants of a body, in the unit of the momentum m, as an array.
    advance : function
        ``advance(body, m, q, h)`` returns m and q after a step h.
    step : function
        ``step(inertia, m, q, h)`` does both, without an array that outlives it.
    """
    flow_advance, frame, fractions = kernels.advance, kernels.size, np.array(fractions)
    write_body = preparation(kernels, parameters)
    size, has_scratch = kernels.size + FRAME, kernels.has_scratch
    new_body = stack_array(size)

    @inline
    def advanced(body, m, q, h):
        """Return m and q after a step h of the body with these constants."""
        m, order = three(m), int(body[frame])
        scale = scale_of(body, frame, largest(m))
        time = to_standard_time(float(h), scale)
        if not abs(time) <= LONGEST:
            return NO_STATE
        m, q = to_order(order, times(scale.per_m, m)), attitude_to_order(order, four(q))
        m, q, count = whole_step(flow_advance, body, opaque(fractions), m, q, time)
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

    return preparing(write_body, size), advance, step
