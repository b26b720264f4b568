"""Newton's method for the three equations of an implicit step, F(e, k(e)) = 0, with impulses k of the user's physics.

``impulse(tools, params, body, t, start, q, e)``  (k, status, noise): from functions of the user, at the attitude that e
    means; ``noise`` bounds the rounding of k where that is large, as of differences of energies;
``system(body, m, e, k, K, noise)``  (F, columns of its Jacobian, blur): analytic, given the columns K of dk/de;
    ``blur`` is what the noise makes of F.

K comes from difference quotients, anew only where iterations have become slow: that saves three calls in each. Roots
that are not reached at once are looked for along shorter steps.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.numbers.cayley import solve3
from polhode.kernels.numbers.vectors import largest, plus, times
from polhode.kernels.stepping.header import FINE, NO_STEP
from polhode.kernels.stepping.whole_steps import Body

MOST = 60  # iterations: next to a double root each only halves the error
SLOW = 0.125  # a change that falls by less calls for a new K
DIFFERENCE = 2.0**-20  # of e, a dimensionless number: rounding leaves K half of its digits, the second derivative too
ROUNDING = 2.0**-51  # of e: a change that is smaller is the last
EXPECTED = 2.0**-58  # the same for the change that would come next: unlike rounding, it has the same sign in every step
STALLED = 2.0**-26  # of e: a change that does not fall, or hardly although K is new, is rounding if it is smaller
SHORTEST = 1.0 / 128.0  # advance on the way to a root, as a part of the whole step


class Root(NamedTuple):
    e: tuple[float, float, float]
    k: tuple[float, float, float]
    status: int
    torques: int
    iterations: int
    residual: float  # relative to the terms of F, if there is no root


@inline
def slopes(impulse, tools, params, body, t, start, q, e, k):
    """(columns of dk/de, status)."""
    x = 1.0 / DIFFERENCE
    a, first, _ = impulse(tools, params, body, t, start, q, (e[0] + DIFFERENCE, e[1], e[2]))
    b, second, _ = impulse(tools, params, body, t, start, q, (e[0], e[1] + DIFFERENCE, e[2]))
    c, third, _ = impulse(tools, params, body, t, start, q, (e[0], e[1], e[2] + DIFFERENCE))
    a, b, c = plus(a, -1.0, k), plus(b, -1.0, k), plus(c, -1.0, k)
    return (times(x, a), times(x, b), times(x, c)), max(first, second, third)


@noinline
def newton(impulse, system, tools, params, body, t, start, m, q, e):
    """The root next to e, on whose way from h = 0 the determinant of the Jacobian is positive."""
    zero = 0.0, 0.0, 0.0
    K, before, slow, residual, torques = (zero, zero, zero), inf, True, 0.0, 0
    for n in range(1, MOST + 1):
        k, status, noise = impulse(tools, params, body, t, start, q, e)
        torques += 1
        if status == FINE and slow:
            K, status = slopes(impulse, tools, params, body, t, start, q, e, k)
            torques += 3
        if status != FINE:
            return Root(e, k, status, torques, n, 0.0)
        F, (a, b, c), blur = system(body, m, e, k, K, noise)
        terms = largest(a) * abs(e[0]) + largest(b) * abs(e[1]) + largest(c) * abs(e[2])
        residual = largest(F) / terms if terms > 0.0 else 0.0
        det, x1, x2, x3 = solve3(
            a[0], b[0], c[0],
            a[1], b[1], c[1],
            a[2], b[2], c[2],
            F[0], F[1], F[2],
        )  # fmt: skip
        if not det > 0.0:
            return Root(e, k, NO_STEP, torques, n, residual)
        change = times(1.0 / det, (x1, x2, x3))
        e = plus(e, -1.0, change)
        moved, size = largest(change), largest(e)
        fresh, slow = slow, moved > SLOW * before
        found = moved <= ROUNDING * size or (n > 1 and moved * moved <= EXPECTED * before * size)
        stuck = moved >= before or (fresh and slow)
        if found or (stuck and (moved <= STALLED * size or largest(F) <= blur)):
            k = plus(plus(plus(k, -change[0], K[0]), -change[1], K[1]), -change[2], K[2])
            return Root(e, k, FINE, torques, n, 0.0)
        before = moved
    return Root(e, zero, NO_STEP, torques, MOST, residual)


@inline
def root(impulse, system, tools, params, body, t, start, m, q, e):
    """The root next to e, or the one that is reached along shorter steps."""
    found = newton(impulse, system, tools, params, body, t, start, m, q, e)
    torques, iterations, status, residual = found.torques, found.iterations, found.status, found.residual
    there, advance, known = 0.0, 0.5, e
    while status == NO_STEP and there < 1.0 and advance >= SHORTEST:
        to = min(1.0, there + advance)
        short = Body(body.J, to * body.h, to * body.time, to * body.kick, body.rate, body.frame)
        guess = times(to / there if there > 0.0 else to, known)
        part = newton(impulse, system, tools, params, short, t, start, m, q, guess)
        torques, iterations = torques + part.torques, iterations + part.iterations
        if part.status == FINE:
            there, known, found = to, part.e, part
        elif part.status == NO_STEP:
            advance *= 0.5
        else:
            status = part.status
    if there == 1.0:
        status = FINE
    return Root(found.e, found.k, status, torques, iterations, 0.0 if status == FINE else residual)
