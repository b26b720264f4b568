"""Steps of any free flow, repeated in a compiled loop. The flow itself is two functions (see ``flows``):

``prepare(order, I1, I2, I3, parameters, c)``  writes what it needs to know of a body into the constants c, once;
``advance(c, m1, m2, m3, q0, q1, q2, q3, h)``  one step: m, q and a count of iterations, negative without a result.

Both see the standard form: 1 <= I1 < 2, I1 <= I2 <= I3, m and q in those sorted axes. ``order`` tells
which of the user's axes they are.

The loop is written once, here, and compiled once for each flow, with the flow inlined: called through a pointer
instead, a step would wait for the end of the one before (110 instead of 65 ns for the exact one). A composition of a
flow needs no code at all: a step is one ``advance`` for each of ``fractions``.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.limits import LONGEST, NOBODY
from polhode.kernels.exact.standard_form import INPUT, TIMES, from_order, standard_form, to_order, to_standard_time

# (parameters, size of c, fractions, inertia, h, steps, start, stop, m, q, done, iterations) -> first that failed
REPEAT = f"i8(Tuple(({TIMES}, i8, {TIMES}, {INPUT}, {TIMES}, i8, i8, i8, f8[:,::1], f8[:,::1], i8[::1], f8[::1])))"

NO_SOLUTION = -1.0  # in place of the count of iterations: the equations of the step have no solution that was found

if JIT:

    @inline
    def new_constants(size):
        return np.empty(size)

    @inline
    def plain(numbers):
        return numbers

else:

    def new_constants(size):
        """A list, which holds numbers of any type."""
        return [0.0] * size

    def plain(numbers):
        """As Python's numbers, which overflow in silence, unlike NumPy's."""
        return numbers.tolist()


@inline
def whole_step(advance, c, fractions, m1, m2, m3, q0, q1, q2, q3, h):
    """One step h, in parts: (m, q, iterations or NO_SOLUTION)."""
    total = 0.0
    for k in range(len(fractions)):
        m1, m2, m3, q0, q1, q2, q3, count = advance(c, m1, m2, m3, q0, q1, q2, q3, float(fractions[k]) * h)
        if not count >= 0.0:
            return m1, m2, m3, q0, q1, q2, q3, NO_SOLUTION
        total += count
    finite = (m1 - m1) + (m2 - m2) + (m3 - m3) + (q0 - q0) + (q1 - q1) + (q2 - q2) + (q3 - q3) == 0.0
    return m1, m2, m3, q0, q1, q2, q3, total if finite else NO_SOLUTION


@inline
def repeat_steps(prepare, advance, arguments):
    """``steps`` steps of bodies start..stop, in place on m (n, 3) and q (n, 4); inertia (n or 1, 3), h (n or 1).

    done[i] is the number of steps that succeeded, where m and q then are; iterations[i] their iterations. Returns the
    first body that did not take all its steps, or NOBODY.
    """
    parameters, size, fractions, inertia, h, steps, start, stop, m, q, done, iterations = arguments
    c = new_constants(size)
    failed = NOBODY
    for i in range(start, stop):
        a, b = i if inertia.shape[0] > 1 else 0, i if h.shape[0] > 1 else 0
        order, scale, (I1, I2, I3), (m1, m2, m3) = standard_form(
            float(inertia[a, 0]), float(inertia[a, 1]), float(inertia[a, 2]),
            float(m[i, 0]), float(m[i, 1]), float(m[i, 2]),
        )  # fmt: skip
        q0 = float(q[i, 0])
        q1, q2, q3 = to_order(order, float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
        time, n, total = to_standard_time(float(h[b]), scale), 0, 0.0
        prepare(order, I1, I2, I3, plain(parameters), c)
        while n < steps and abs(time) <= LONGEST:
            n1, n2, n3, p0, p1, p2, p3, count = whole_step(advance, c, fractions, m1, m2, m3, q0, q1, q2, q3, time)
            if count < 0.0:
                break
            m1, m2, m3, q0, q1, q2, q3 = n1, n2, n3, p0, p1, p2, p3
            total += count
            n += 1
        m[i, 0], m[i, 1], m[i, 2] = from_order(order, m1 * scale.m, m2 * scale.m, m3 * scale.m)
        q[i, 0] = q0
        q[i, 1], q[i, 2], q[i, 3] = from_order(order, q1, q2, q3)
        done[i], iterations[i] = n, total
        if n < steps:
            failed = min(failed, i)
    return failed
