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
from polhode.kernels.numbers.vectors import columns, cross, dot, image, plus, times

FAILED = -1.0  # returned in place of the number of iterations
# Newton's last residual is smaller than rounding by this factor: unlike rounding, it has the same sign in every step.
MARGIN = 64.0
SHORTEST = 1.0 / 128.0  # smallest advance of the continuation, as a fraction of k


@inline
def turn(e, m, q):
    """Return m and q after the step (1) with the vector e.

    The formulas are increments of m and q, so that rounding errors that repeat in every step affect small numbers only.
    """
    ee = dot(e, e)
    al = 1.0 + ee
    root = sqrt(al)
    g = 1.0 / root
    u = cross(m, e)
    d0, d1, d2, d3 = product(q, (-ee / (al + root), g * e[0], g * e[1], g * e[2]))
    return plus(m, 2.0 / al, plus(u, 1.0, cross(u, e))), (q[0] + d0, q[1] + d1, q[2] + d2, q[3] + d3)


@inline
def solve3(a, b, c, r):
    """Return det and det x, where x solves a.x = r1, b.x = r2, c.x = r3 and det = det(a, b, c) of the rows a, b, c."""
    A = cross(b, c)
    return dot(a, A), image(columns((A, cross(c, a), cross(a, b))), r)


@noinline
def continued(newton, k, m, y):
    """Return the root for k and the number of iterations, found by continuation from k = 0.

    This reaches roots to which ``newton`` does not converge from its usual start. ``newton(k, m, start)`` returns a
    root and its number of iterations, or FAILED in place of the number. y is the root for k = 0.
    """
    reached = 0.0
    advance = 0.5
    total = 0.0
    while reached < 1.0 and advance >= SHORTEST:
        target = min(1.0, reached + advance)
        root, count = newton(times(target, k), m, y)
        if count >= 0.0:
            reached = target
            y = root
            total += count
        else:
            advance *= 0.5
    return y, (total if reached == 1.0 else FAILED)
