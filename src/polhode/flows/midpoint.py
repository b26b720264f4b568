"""Implicit midpoint rule (Vilmart 2013, Remark 4): the discrete Moser-Veselov step without its factor alpha.

With x = 1/I, k = h x/2 and e = k Y by components, Y is the midpoint of m:

    Y = m + Y x e = m + (a Y2 Y3, b Y3 Y1, c Y1 Y2),  a = k3 - k2, b = k1 - k3, c = k2 - k1                        (1)
    m(h) = 2 Y - m,  q(h) = q (1, e)/sqrt(1 + |e|^2)                                                              (2)

Every root has |Y| <= |m|, and the determinant of its Jacobian is positive where a c Y2^2 < 1 (sorted moments): so the
root is unique for a c |m|^2 < 1. For longer steps, near the middle axis, the root of short steps is one of three.
"""

from __future__ import annotations

from math import hypot, sqrt

from polhode.core.body import RigidBody, flow_moments
from polhode.core.references import VILMART_2013
from polhode.core.state import State
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.cayley import FAILED, MARGIN, continued, solve3, turn
from polhode.kernels.numbers.vectors import by_components, cross, dot, plus, times
from polhode.kernels.stepping.loops import loops

MOST = 100  # iterations: near a double root each one only halves the error


@inline
def prepare(order, I, parameters, c):
    """Write 1/I to c."""
    c[0], c[1], c[2] = 1.0 / I[0], 1.0 / I[1], 1.0 / I[2]


@inline
def image(k, m, Y):
    """Return the right side of (1), from k, not from a, b, c, whose rounding errors would act as a constant torque."""
    return plus(m, 1.0, cross(Y, by_components(k, Y)))


@inline
def newton(k, m, Y):
    """Return Y of (1) and the number of iterations by Newton's method, starting from Y; FAILED without convergence.

    A change d leaves the residual d x (k d). The determinant of the Jacobian is positive on the path of the root from
    h = 0.
    """
    k1, k2, k3 = k
    a, b, c = k3 - k2, k1 - k3, k2 - k1
    for n in range(MOST):
        Y1, Y2, Y3 = Y
        det, times_det = solve3(
            (1.0, -a * Y3, -a * Y2),
            (-b * Y3, 1.0, -b * Y1),
            (-c * Y2, -c * Y1, 1.0),
            plus(image(k, m, Y), -1.0, Y),
        )
        if not det > 0.0:
            break
        d = times(1.0 / det, times_det)
        Y = plus(Y, 1.0, d)
        if 1.0 + MARGIN * abs(b) * dot(d, d) == 1.0:
            return Y, n + 1.0
    return Y, FAILED


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations, or FAILED."""
    k = times(0.5 * h, (c[0], c[1], c[2]))
    Y, count = newton(k, m, image(k, m, m))
    if count < 0.0:
        Y, count = continued(newton, k, m, m)
    m, q = turn(by_components(k, image(k, m, Y)), m, q)
    return m, q, count


class Midpoint(Flow):
    """Implicit midpoint rule, which preserves quadratic invariants, but is neither a Poisson map nor symplectic.

    Examples
    --------
    >>> from polhode import State
    >>> Midpoint().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.01, steps=5000).m.round(4)
    array([0.0358, 0.6284, 0.7375])
    """

    kernels = loops(prepare, advance, size=3)
    record = FlowRecord(
        name="Midpoint()",
        summary="implicit midpoint rule",
        order=2,
        symmetric=True,
        poisson=False,
        symplectic=False,
        preserves=frozenset(INVARIANTS),
        references=(VILMART_2013,),
        test_step=0.4,
    )

    def bound(self, body: RigidBody, state: State) -> str:
        """Return a bound of the step length below which the solution is unique, as a part of a message."""
        x3, x2, x1 = sorted(1.0 / moment for moment in flow_moments(body).tolist())
        rate = hypot(*state.m.tolist()) * (sqrt(x1 - x2) * sqrt(x2 - x3))
        return f"there is a unique solution for |h| < {2.0 / rate:.6g}" if rate else ""
