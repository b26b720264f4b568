"""Steps that turn the body by the quaternion (1, e)/sqrt(1 + |e|^2), where e solves a quadratic equation.

    m(h) = m + 2/(1 + |e|^2) (u + u x e), u = m x e;  q(h) = q (1, e)/sqrt(1 + |e|^2)                           (1)

keeps |m| and Q m whatever e is. The middle of m and m(h) is Y/(1 + |e|^2), Y = m + u + e (e.m), and the increment of
m is orthogonal to Y and e: so the energy is kept where e is a combination of Y and Y/I.
"""

from __future__ import annotations

from math import sqrt

from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.vectors import cross_of_numbers

FAILED = -1.0  # in place of a count of iterations
MARGIN = 64.0  # of Newton's last residual below rounding: unlike rounding, it has the same sign in every step
SHORTEST = 1.0 / 128.0  # advance on the way to a root, as a part of the whole step


@inline
def turn(e1, e2, e3, m1, m2, m3, q0, q1, q2, q3):
    """(m, q) of (1). Increments of m and q, so that rounding of what repeats in every step hits small numbers."""
    ee = e1 * e1 + e2 * e2 + e3 * e3
    al = 1.0 + ee
    u1, u2, u3 = cross_of_numbers(m1, m2, m3, e1, e2, e3)
    v1, v2, v3 = cross_of_numbers(u1, u2, u3, e1, e2, e3)
    f, root = 2.0 / al, sqrt(al)
    g = 1.0 / root
    d0, d1, d2, d3 = product(q0, q1, q2, q3, -ee / (al + root), g * e1, g * e2, g * e3)
    return (
        m1 + f * (u1 + v1), m2 + f * (u2 + v2), m3 + f * (u3 + v3),
        q0 + d0, q1 + d1, q2 + d2, q3 + d3,
    )  # fmt: skip


@inline
def solve3(a1, a2, a3, b1, b2, b3, c1, c2, c3, r1, r2, r3):
    """(det, det x) of the rows a, b, c and a.x = r1, b.x = r2, c.x = r3."""
    A1, A2, A3 = cross_of_numbers(b1, b2, b3, c1, c2, c3)
    B1, B2, B3 = cross_of_numbers(c1, c2, c3, a1, a2, a3)
    C1, C2, C3 = cross_of_numbers(a1, a2, a3, b1, b2, b3)
    det = a1 * A1 + a2 * A2 + a3 * A3
    return det, r1 * A1 + r2 * B1 + r3 * C1, r1 * A2 + r2 * B2 + r3 * C2, r1 * A3 + r2 * B3 + r3 * C3


@noinline
def continued(newton, k1, k2, k3, m1, m2, m3, y1, y2, y3):
    """(root, iterations) for k by way of smaller k: for roots that ``newton`` does not reach from its usual start.

    ``newton(k, m, start)`` returns a root and its iterations, or FAILED. y is the root for k = 0.
    """
    there, advance, total = 0.0, 0.5, 0.0
    while there < 1.0 and advance >= SHORTEST:
        to = min(1.0, there + advance)
        n1, n2, n3, count = newton(to * k1, to * k2, to * k3, m1, m2, m3, y1, y2, y3)
        if count >= 0.0:
            there, y1, y2, y3 = to, n1, n2, n3
            total += count
        else:
            advance *= 0.5
    return y1, y2, y3, (total if there == 1.0 else FAILED)
