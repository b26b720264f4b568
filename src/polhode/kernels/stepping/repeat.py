"""Repeated steps of any free flow in a compiled loop.

A flow consists of two functions (see ``flows``):

``prepare(order, I, parameters, c)``
    writes the constants of a body with the moments I into the array c; it is called once per body;
``advance(c, m, q, h)``
    takes one step and returns m, q and the number of iterations, which is negative if the step has no result.

I, m and q are tuples, in the standard form: 1 <= I1 < 2, I1 <= I2 <= I3, with m and q in these sorted axes. ``order``
identifies the permutation of the user's axes.

The two functions are compiled alone, and called with numbers in registers. A step then has the same bits in this loop,
in that of splittings, and in loops of the user. If it were inlined, the compiler would fuse other products with sums in
each of these. A composition of a flow needs no code of its own: a step calls ``advance`` once for each of
``fractions``.
"""

from __future__ import annotations

from math import inf

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import address, borrowed, keep
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import LONGEST, NOBODY
from polhode.kernels.exact.standard_form import to_standard_time, vector_of
from polhode.kernels.stepping.frame import principal_frame, read_attitude, read_momentum, write_state
from polhode.kernels.stepping.header import FlowData, FreeSteps, call_advance, call_prepare, number_of

NO_SOLUTION = -1.0  # replaces the number of iterations if no solution of the equations of the step was found

if JIT:

    @inline
    def new_constants(size):
        """Return an uninitialized array of ``size`` constants."""
        return np.empty(size)

    @inline
    def plain(numbers):
        """Return ``numbers`` unchanged."""
        return numbers

else:

    def new_constants(size):
        """Return a list of ``size`` constants; a list can hold numbers of any type."""
        return [0.0] * size

    def plain(numbers):
        """Return ``numbers`` as Python floats, which overflow without a warning, unlike those of NumPy."""
        return [float(x) for x in numbers]


@inline
def prepare_flow(flow, order, I, c):
    """Write the constants of a body for a flow to c."""
    parameters = plain(flow.parameters)
    call_prepare(flow.prepare, (order, I, address(parameters), len(parameters), address(c)))


@inline
def whole_step(advance, c, fractions, m, q, h):
    """Take one step h, in parts ``fractions``; return m, q and the number of iterations, or NO_SOLUTION."""
    total = 0.0
    for k in range(len(fractions)):
        m, q, count = call_advance(advance, (address(c), m, q, float(fractions[k]) * h))
        if not count >= 0.0:
            return m, q, NO_SOLUTION
        total += count
    m1, m2, m3 = m
    q0, q1, q2, q3 = q
    finite = (m1 - m1) + (m2 - m2) + (m3 - m3) + (q0 - q0) + (q1 - q1) + (q2 - q2) + (q3 - q3) == 0.0
    return m, q, total if finite else NO_SOLUTION


@entry_point(("i8", FlowData, FreeSteps))
def repeat(flow, work):
    """Take free steps of bodies start..stop, in place, and return the first body that failed, or NOBODY."""
    flow, work = borrowed(flow), borrowed(work)
    constants = new_constants(flow.size)
    c = borrowed(constants)
    failed = NOBODY
    for i in range(work.start, work.stop):
        frame, I = principal_frame(vector_of(work.inertia, i), vector_of(work.m, i), inf)
        m, q = read_momentum(frame, work.m, i), read_attitude(frame, work.q, i)
        time = to_standard_time(number_of(work.h, i), frame.scale)
        n = 0
        total = 0.0
        prepare_flow(flow, frame.order, I, c)
        while n < work.steps and abs(time) <= LONGEST:
            next_m, next_q, count = whole_step(flow.advance, c, flow.fractions, m, q, time)
            if count < 0.0:
                break
            m, q = next_m, next_q
            total += count
            n += 1
        write_state(frame, m, q, work.m, work.q, i)
        work.done[i] = n
        work.iterations[i] = total
        if n < work.steps:
            failed = min(failed, i)
    keep(constants)
    return failed
