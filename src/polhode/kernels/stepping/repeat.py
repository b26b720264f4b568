"""Repeated steps of any free flow in a compiled loop.

A flow consists of two functions (see ``flows``):

``prepare(order, I, parameters, c)``
    writes the constants of a body with the moments I into the array c; it is called once per body;
``advance(c, m, q, h)``
    takes one step and returns m, q and the number of iterations, which is negative if the step has no result.

I, m and q are tuples, in the standard form: 1 <= I1 < 2, I1 <= I2 <= I3, with m and q in these sorted axes. ``order``
identifies the permutation of the user's axes.

The loop is written once and compiled for each flow, with the flow inlined. If the flow were called through a pointer,
a step would wait for the end of the previous one (110 instead of 65 ns for the exact flow). A composition of a flow
needs no code of its own: a step calls ``advance`` once for each of ``fractions``.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.limits import LONGEST, NOBODY
from polhode.kernels.exact.standard_form import INPUT, TIMES, from_order, standard_form, to_order, to_standard_time

# (parameters, size of c, fractions, inertia, h, steps, start, stop, m, q, done, iterations) -> first failure
REPEAT = f"i8(Tuple(({TIMES}, i8, {TIMES}, {INPUT}, {TIMES}, i8, i8, i8, f8[:,::1], f8[:,::1], i8[::1], f8[::1])))"

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
        return numbers.tolist()


@inline
def whole_step(advance, c, fractions, m, q, h):
    """Take one step h, in parts ``fractions``; return m, q and the number of iterations, or NO_SOLUTION."""
    total = 0.0
    for k in range(len(fractions)):
        m, q, count = advance(c, m, q, float(fractions[k]) * h)
        if not count >= 0.0:
            return m, q, NO_SOLUTION
        total += count
    m1, m2, m3 = m
    q0, q1, q2, q3 = q
    finite = (m1 - m1) + (m2 - m2) + (m3 - m3) + (q0 - q0) + (q1 - q1) + (q2 - q2) + (q3 - q3) == 0.0
    return m, q, total if finite else NO_SOLUTION


@inline
def repeat_steps(prepare, advance, arguments):
    """Take ``steps`` steps of bodies start..stop, in place; return the first body that failed, or NOBODY.

    The arrays are m (n, 3), q (n, 4), inertia (n or 1, 3) and h (n or 1). On return, done[i] is the number of
    successful steps, after which m and q are given, and iterations[i] is the number of their iterations.
    """
    parameters, size, fractions, inertia, h, steps, start, stop, m, q, done, iterations = arguments
    c = new_constants(size)
    failed = NOBODY
    for i in range(start, stop):
        a = i if inertia.shape[0] > 1 else 0
        b = i if h.shape[0] > 1 else 0
        order, scale, I, mi = standard_form(
            float(inertia[a, 0]), float(inertia[a, 1]), float(inertia[a, 2]),
            float(m[i, 0]), float(m[i, 1]), float(m[i, 2]),
        )  # fmt: skip
        q1, q2, q3 = to_order(order, float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
        qi = float(q[i, 0]), q1, q2, q3
        time = to_standard_time(float(h[b]), scale)
        n = 0
        total = 0.0
        prepare(order, I, plain(parameters), c)
        while n < steps and abs(time) <= LONGEST:
            next_m, next_q, count = whole_step(advance, c, fractions, mi, qi, time)
            if count < 0.0:
                break
            mi, qi = next_m, next_q
            total += count
            n += 1
        m[i, 0], m[i, 1], m[i, 2] = from_order(order, mi[0] * scale.m, mi[1] * scale.m, mi[2] * scale.m)
        q[i, 0] = qi[0]
        q[i, 1], q[i, 2], q[i, 3] = from_order(order, qi[1], qi[2], qi[3])
        done[i] = n
        iterations[i] = total
        if n < steps:
            failed = min(failed, i)
    return failed
