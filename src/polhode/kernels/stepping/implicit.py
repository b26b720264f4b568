"""Newton's method for the three equations of an implicit step, F(e, k(e)) = 0, with impulses k of the user's physics.

``impulse(context, e)``
    returns (k, status, noise) from functions of the user, at the attitude that belongs to e; ``noise`` bounds the
    rounding errors of k where they are large, as in differences of energies;
``system(body, m, e, k, K, noise)``
    returns (F, columns of its Jacobian, blur), analytically from the columns K of dk/de; ``blur`` is the error of F due
    to ``noise``.

K is computed by difference quotients, and only recomputed where convergence has become slow, which saves three calls
per iteration. If the iteration does not converge, the root is followed from shorter steps on.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.numbers.cayley import solve3
from polhode.kernels.numbers.vectors import columns, largest, plus, times
from polhode.kernels.stepping.header import FINE, NO_STEP
from polhode.kernels.stepping.whole_steps import StepConstants

MOST = 60  # iterations: near a double root each one only halves the error
SLOW = 0.125  # K is recomputed if a change exceeds this fraction of the previous one
DIFFERENCE = 2.0**-20  # of e, which is dimensionless: rounding and truncation each leave half of the digits of K
ROUNDING = 2.0**-51  # relative to e: the iteration ends after a smaller change
EXPECTED = 2.0**-58  # the same for the expected next change, which has the same sign in every step, unlike rounding
STALLED = 2.0**-26  # relative to e: smaller changes that no longer decrease, even with a new K, are rounding errors
SHORTEST = 1.0 / 128.0  # increment of the step length while a root is followed, as a fraction of the whole step


class Root(NamedTuple):
    """Result of Newton's method: the root e, its impulse k, and the work done."""

    e: tuple[float, float, float]
    k: tuple[float, float, float]
    status: int
    torques: int
    iterations: int
    residual: float  # relative to the terms of F, if no root was found


class StepContext(NamedTuple):
    """What the impulse of a step depends on, besides the unknown e."""

    tools: object  # functions of the user, and further data of the method
    params: object  # array
    body: StepConstants
    t: float  # the middle of the step
    start: object  # what is known at the beginning of the step
    q: tuple[float, float, float, float]


@inline
def slopes(impulse, context, e, k):
    """Return the columns of dk/de at e, where the impulse is k, and the status."""
    x = 1.0 / DIFFERENCE
    a, first, _ = impulse(context, (e[0] + DIFFERENCE, e[1], e[2]))
    b, second, _ = impulse(context, (e[0], e[1] + DIFFERENCE, e[2]))
    c, third, _ = impulse(context, (e[0], e[1], e[2] + DIFFERENCE))
    a, b, c = plus(a, -1.0, k), plus(b, -1.0, k), plus(c, -1.0, k)
    return (times(x, a), times(x, b), times(x, c)), max(first, second, third)


@noinline
def newton(impulse, system, context, m, e):
    """Return the Root near e; the determinant of the Jacobian is positive on its path from h = 0."""
    zero = 0.0, 0.0, 0.0
    K = zero, zero, zero
    before = inf
    slow = True
    residual = 0.0
    torques = 0
    for n in range(1, MOST + 1):
        k, status, noise = impulse(context, e)
        torques += 1
        if status == FINE and slow:
            K, status = slopes(impulse, context, e, k)
            torques += 3
        if status != FINE:
            return Root(e, k, status, torques, n, 0.0)
        F, (a, b, c), blur = system(context.body, m, e, k, K, noise)
        terms = largest(a) * abs(e[0]) + largest(b) * abs(e[1]) + largest(c) * abs(e[2])
        residual = largest(F) / terms if terms > 0.0 else 0.0
        det, times_det = solve3(*columns((a, b, c)), F)
        if not det > 0.0:
            return Root(e, k, NO_STEP, torques, n, residual)
        change = times(1.0 / det, times_det)
        e = plus(e, -1.0, change)
        moved = largest(change)
        size = largest(e)
        fresh = slow
        slow = moved > SLOW * before
        converged = moved <= ROUNDING * size or (n > 1 and moved * moved <= EXPECTED * before * size)
        stuck = moved >= before or (fresh and slow)
        if converged or (stuck and (moved <= STALLED * size or largest(F) <= blur)):
            k = plus(plus(plus(k, -change[0], K[0]), -change[1], K[1]), -change[2], K[2])
            return Root(e, k, FINE, torques, n, 0.0)
        before = moved
    return Root(e, zero, NO_STEP, torques, MOST, residual)


@inline
def root(impulse, system, context, m, e):
    """Return the Root near e, or the one found by following the roots of shorter steps."""
    solution = newton(impulse, system, context, m, e)
    tools, params, body, t, start, q = context
    status = solution.status
    residual = solution.residual
    torques = solution.torques
    iterations = solution.iterations
    reached = 0.0  # fraction of the step for which a root is known
    advance = 0.5
    known = e
    while status == NO_STEP and reached < 1.0 and advance >= SHORTEST:
        to = min(1.0, reached + advance)
        short = StepConstants(body.J, to * body.h, to * body.time, to * body.kick, body.rate, body.frame)
        guess = times(to / reached if reached > 0.0 else to, known)
        part = newton(impulse, system, StepContext(tools, params, short, t, start, q), m, guess)
        torques += part.torques
        iterations += part.iterations
        if part.status == FINE:
            reached = to
            known = part.e
            solution = part
        elif part.status == NO_STEP:
            advance *= 0.5
        else:
            status = part.status
    if reached == 1.0:
        status = FINE
    return Root(solution.e, solution.k, status, torques, iterations, 0.0 if status == FINE else residual)
