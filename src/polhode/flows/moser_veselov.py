"""Discrete Moser-Veselov steps, RATTLE for the free body, and their preprocessed versions of any even order.

Moser, Veselov 1991; in quaternions Vilmart 2013, Algorithms 3 and 4 (powers of h corrected, see docs/errata.md). With
x = 1/I, k = h x/2, e = k Y by components, alpha = 1 + |e|^2:

    Y = alpha m + Y x e                                                                                          (14)
    m(h) = m + (2/alpha) Y x e,  q(h) = q (1, e)/sqrt(alpha)                                                     (15)

(14) is (1 + e x) Y = alpha m, and (1 + e x)^-1 v = (v - e x v + e (e.v))/alpha, which gives a quadratic equation for e
alone,

    e = k (m + m x e + e (e.m))                                                                                  (14')

For order 2p, x is replaced by x (1 + S) + T, which depends on |m| and the energy only (``modified_inertia``). The
tensor D of the papers is not used, because flat bodies have no D^-1.

About a principal axis (14') is e = k m (1 + e^2), so sin(angle of the step) = h w: there are two roots for h w < 1,
of which the correct one has |e| < 1, and none for h w > 1. With the modified moments h w is replaced by the series of
sin(h w): there are roots for longer steps, but not those of the motion, which has turned by more than 90 degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import hypot, pi

from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.references import CELLEDONI_2008, HAIRER_VILMART_2006, MOSER_VESELOV_1991, VILMART_2013
from polhode.core.state import State
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.flows.modified_inertia import HIGHEST_ORDER, coefficients
from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.cayley import FAILED, MARGIN, continued, solve3, turn
from polhode.kernels.numbers.vectors import by_components, cross, dot, plus, times
from polhode.kernels.stepping.loops import loops
from polhode.kernels.stepping.repeat import NO_SOLUTION

SOLVERS = ("newton", "fixed-point")
MOST_TERMS = HIGHEST_ORDER // 2  # largest p
POLYNOMIALS = 5  # index of the first coefficient of 1 + S and T among the constants
MOST_NEWTON = 100  # iterations: near a double root each one only halves the error
MOST_FIXED = 1000  # iterations, after which Newton's method is used
FAR = 4.0  # |e|^2 beyond which a fixed-point iteration does not return to a root with |e| < 1
QUARTER_TURN = (0.5 * pi) ** 2  # the square of 90 degrees
ULPS = 64.0  # changes up to this number of units in the last place are considered as rounding errors


@inline
def power(x, n):
    """Return x^n for n >= 0."""
    y = 1.0
    for _ in range(n):
        y *= x
    return y


@inline
def polynomial(k, weight, e, parameters, n):
    """Return the sum over the monomials of ``modified_inertia``, coefficients from index n on, and the next index."""
    total = 0.0
    for l in range(weight // 3 + 1):
        for j in range((weight - 3 * l) // 2 + 1):
            i = weight - 3 * l - 2 * j
            if i + j + l <= k:
                total += parameters[n] * (power(e[0], i) * power(e[1], j) * power(e[2], l))
                n += 1
    return total, n


@inline
def prepare(order, I, parameters, c):
    """Write x, solver, p, and the coefficients of 1 + S and T to c, in the order in which ``modified`` uses them."""
    x1, x2, x3 = 1.0 / I[0], 1.0 / I[1], 1.0 / I[2]
    e = x1 + x2 + x3, x1 * x2 + x2 * x3 + x3 * x1, x1 * x2 * x3
    c[0], c[1], c[2] = x1, x2, x3
    c[3], c[4] = parameters[0], parameters[1]
    p = int(parameters[1])
    n = 2
    at = POLYNOMIALS
    for a in range(p - 1, -1, -1):
        for k in range(p - 1, a - 1, -1):
            c[at], n = polynomial(k, k + a, e, parameters, n)
            c[at + 1], n = polynomial(k, k + a + 1, e, parameters, n)
            at += 2


@inline
def modified(c, m, h):
    """Return x (1 + S) + T of Algorithm 4: S and T by Horner's rule in C h^2, their coefficients in H h^2."""
    x = c[0], c[1], c[2]
    p = int(c[4])
    if p == 1:
        return x
    g = 0.5 * (h * h)
    y = by_components(m, m)
    C = g * (y[0] + y[1] + y[2])
    H = g * dot(x, y)
    S, T = 0.0, 0.0
    at = POLYNOMIALS
    for a in range(p - 1, -1, -1):
        s, t = 0.0, 0.0
        for _ in range(p - a):
            s, t = s * H + c[at], t * H + c[at + 1]
            at += 2
        S, T = S * C + s, T * C + t
    return x[0] * S + T, x[1] * S + T, x[2] * S + T


@inline
def image(k, m, e):
    """Return the right side of (14')."""
    return by_components(k, plus(m, 1.0, plus(cross(m, e), dot(e, m), e)))


@inline
def newton(k, m, e):
    """Return e of (14') and the number of iterations by Newton's method, starting from e; FAILED without convergence.

    A change d leaves the residual k d (d.m). With the Jacobian A = 1 - k (m x . + (e.m) + e m^T), the next e is
    A^-1 k (m - e (e.m)). On the path of the correct root from h = 0, det A > 0; it is 0 where this root meets another.
    """
    k1, k2, k3 = k
    m1, m2, m3 = m
    for n in range(MOST_NEWTON):
        e1, e2, e3 = e
        s = dot(e, m)
        det, times_det = solve3(
            (1.0 - k1 * (s + e1 * m1), k1 * (m3 - e1 * m2), -k1 * (m2 + e1 * m3)),
            (-k2 * (m3 + e2 * m1), 1.0 - k2 * (s + e2 * m2), k2 * (m1 - e2 * m3)),
            (k3 * (m2 - e3 * m1), -k3 * (m1 + e3 * m2), 1.0 - k3 * (s + e3 * m3)),
            by_components(k, plus(m, -s, e)),
        )
        if not det > 0.0:
            break
        last = e
        e = times(1.0 / det, times_det)
        d = plus(e, -1.0, last)
        if 1.0 + MARGIN * dot(d, d) == 1.0:
            return e, n + 1.0
    return e, FAILED


@inline
def by_newton(k, m):
    """Return e of (14') and the number of iterations by Newton's method, if necessary along shorter steps."""
    e, count = newton(k, m, image(k, m, image(k, m, by_components(k, m))))
    if count < 0.0:
        e, count = continued(newton, k, m, times(0.0, k))
    return image(k, m, e), count  # removes the rounding errors of A^-1


@inline
def by_fixed_point(k, m):
    """Return e and the number of iterations by repeating (14), from Y = m until tiny changes no longer decrease."""
    Y = m
    e = by_components(k, m)
    size = sum_of_sizes(m)
    last = size
    for n in range(MOST_FIXED):
        al = 1.0 + dot(e, e)
        if not al <= 1.0 + FAR:
            break
        before = Y
        Y = plus(cross(Y, e), al, m)
        e = by_components(k, Y)
        change = sum_of_sizes(plus(Y, -1.0, before))
        falls = 0.0 < change < last
        if not falls and size + change / ULPS == size:
            return e, n + 1.0
        last = change
    return e, FAILED


@inline
def sum_of_sizes(x):
    """Return |x1| + |x2| + |x3|."""
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@inline
def is_short(c, m, h):
    """Return whether the body turns by less than 90 degrees at its angular velocity with m; always true for order 2."""
    w = by_components((c[0], c[1], c[2]), m)
    return c[4] == 1.0 or h * h * dot(w, w) < QUARTER_TURN


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations, or NO_SOLUTION."""
    k = times(0.5 * h, modified(c, m, h))
    e, count = k, FAILED
    if c[3] != 0.0:
        e, count = by_fixed_point(k, m)
    if count < 0.0:
        e, count = by_newton(k, m)
    is_correct = dot(e, e) < 1.0 and is_short(c, m, h)
    m, q = turn(e, m, q)
    return m, q, count if is_correct and is_short(c, m, h) else NO_SOLUTION


class MoserVeselov(Flow):
    """Discrete Moser-Veselov algorithm, of order 2, or preprocessed with modified moments of inertia up to order 20.

    The flow is implicit, with three equations. If they have no solution, ``step`` raises StepError, which contains a
    step length that works; a step must turn the body by less than 90 degrees.

    Parameters
    ----------
    order : int, optional
        Even order from 2 to 20. Default is 2.
    solver : {"newton", "fixed-point"}, optional
        Iteration for the equations: Newton's method, the default, or a fixed-point iteration, followed by Newton's
        method if it does not converge.

    Examples
    --------
    >>> from polhode import State
    >>> MoserVeselov(order=6).step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.05, steps=1000).m.round(6)
    array([0.035777, 0.628395, 0.737455])
    """

    kernels = loops(prepare, advance, size=POLYNOMIALS + MOST_TERMS * (MOST_TERMS + 1))

    def __init__(self, order: int = 2, solver: str = "newton") -> None:
        if order not in range(2, HIGHEST_ORDER + 1, 2):
            raise InputError(f"order = {order!r}: MoserVeselov expected an even number from 2 to {HIGHEST_ORDER}")
        if solver not in SOLVERS:
            raise InputError(f"solver = {solver!r}: expected {' or '.join(map(repr, SOLVERS))}")
        p = order // 2
        self.exact_parameters = (float(SOLVERS.index(solver)), float(p), *_in_order(p))
        self.record = _record(order, solver)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return (*(cls(order) for order in (2, 4, 6, 8, 10, 20)), cls(2, "fixed-point"), cls(6, "fixed-point"))

    def bound(self, body: RigidBody, state: State) -> str:
        """Return a bound of the step length, as a part of a message."""
        rate = hypot(*body.omega(state.m))
        if self.record.order == 2:
            return f"about a principal axis, there is a solution only for |h| <= 1/|omega| = {1 / rate:.6g}"
        return (
            f"a step must turn the body by less than 90 degrees: expected |h| < pi/(2 |omega|) = {0.5 * pi / rate:.6g}"
        )


def _in_order(p: int) -> Iterator[Fraction]:
    """Yield the coefficients of all polynomials, in the order in which ``prepare`` reads them."""
    for a in range(p - 1, -1, -1):
        for k in range(p - 1, a - 1, -1):
            for letter in "st":
                yield from coefficients(letter, k, a)


def _record(order: int, solver: str) -> FlowRecord:
    """Return the record of MoserVeselov(order, solver)."""
    arguments = ([str(order)] if order != 2 else []) + ([f"solver={solver!r}"] if solver != SOLVERS[0] else [])
    return FlowRecord(
        name=f"MoserVeselov({', '.join(arguments)})",
        summary="discrete Moser-Veselov" + (" with modified moments of inertia" if order > 2 else ", that is RATTLE"),
        order=order,
        symmetric=True,
        poisson=True,
        symplectic=order == 2,
        preserves=frozenset(INVARIANTS),
        references=(MOSER_VESELOV_1991, HAIRER_VILMART_2006, VILMART_2013, CELLEDONI_2008),
        test_step=0.4 if order < 8 else 1.0,
        limits="a step must turn the body by less than 90 degrees"
        + ("; its deviation from a symplectic map is below round-off" if order >= 12 else ""),
    )
