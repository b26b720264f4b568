"""Steps that turn the body by the quaternion (1, e)/sqrt(1 + |e|^2), where e solves a quadratic equation.

The step is

    m(h) = m + 2/(1 + |e|^2) (u + u x e), u = m x e;  q(h) = q (1, e)/sqrt(1 + |e|^2)                           (1)

and conserves |m| and Q m for every e. The mean of m and m(h) is Y/(1 + |e|^2), Y = m + u + e (e.m), and the increment
of m is orthogonal to Y and e. Therefore the energy is conserved if e is a linear combination of Y and Y/I.
"""

from __future__ import annotations

from math import sqrt

from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.vectors import cross_of_numbers

FAILED = -1.0  # returned in place of the number of iterations
# Newton's last residual is smaller than rounding by this factor: unlike rounding, it has the same sign in every step.
MARGIN = 64.0
SHORTEST = 1.0 / 128.0  # smallest advance of the continuation, as a fraction of k


@inline
def turn(e1, e2, e3, m1, m2, m3, q0, q1, q2, q3):
    """Return (m, q) after the step (1) with the vector e, as seven numbers.

    The formulas are increments of m and q, so that rounding errors that repeat in every step affect small numbers only.
    """
    ee = e1 * e1 + e2 * e2 + e3 * e3
    al = 1.0 + ee
    u1, u2, u3 = cross_of_numbers(m1, m2, m3, e1, e2, e3)
    v1, v2, v3 = cross_of_numbers(u1, u2, u3, e1, e2, e3)
    f = 2.0 / al
    root = sqrt(al)
    g = 1.0 / root
    d0, d1, d2, d3 = product(q0, q1, q2, q3, -ee / (al + root), g * e1, g * e2, g * e3)
    return (
        m1 + f * (u1 + v1), m2 + f * (u2 + v2), m3 + f * (u3 + v3),
        q0 + d0, q1 + d1, q2 + d2, q3 + d3,
    )  # fmt: skip


@inline
def solve3(a1, a2, a3, b1, b2, b3, c1, c2, c3, r1, r2, r3):
    """Return det and det x, where x solves a.x = r1, b.x = r2, c.x = r3 and det = det(a, b, c) of the rows a, b, c."""
    A1, A2, A3 = cross_of_numbers(b1, b2, b3, c1, c2, c3)
    B1, B2, B3 = cross_of_numbers(c1, c2, c3, a1, a2, a3)
    C1, C2, C3 = cross_of_numbers(a1, a2, a3, b1, b2, b3)
    det = a1 * A1 + a2 * A2 + a3 * A3
    return det, r1 * A1 + r2 * B1 + r3 * C1, r1 * A2 + r2 * B2 + r3 * C2, r1 * A3 + r2 * B3 + r3 * C3


@noinline
def continued(newton, k1, k2, k3, m1, m2, m3, y1, y2, y3):
    """Return the root for k and the number of iterations, found by continuation from k = 0.

    This reaches roots to which ``newton`` does not converge from its usual start. ``newton(k, m, start)`` returns a
    root and its number of iterations, or FAILED in place of the number. y is the root for k = 0.
    """
    reached = 0.0
    advance = 0.5
    total = 0.0
    while reached < 1.0 and advance >= SHORTEST:
        target = min(1.0, reached + advance)
        n1, n2, n3, count = newton(target * k1, target * k2, target * k3, m1, m2, m3, y1, y2, y3)
        if count >= 0.0:
            reached = target
            y1, y2, y3 = n1, n2, n3
            total += count
        else:
            advance *= 0.5
    return y1, y2, y3, (total if reached == 1.0 else FAILED)
