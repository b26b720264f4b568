"""Steps that consist of half a rotation, an impulse, and the other half of the rotation.

The rotation solves

    m0 + m1 = (8/h) J z,   z = g(|e|^2) e                                                                      (1)
    C m1 = C^T m0 + k,   C = (1 + hat e) (1 - hat e)^-1                                                        (2)

C, the quaternion (1, e)/sqrt(1 + |e|^2), is half of the rotation, by the angle 2 atan|e|; k is the impulse of the
torque, in the body axes at the middle of the step. By (2), the impulse changes the momentum in space for any e. C does
not change e, so that e.(m1 - m0) = e.k, and by (1) the energy changes by (4/h) z.k, which is 0 without torque.

With g = 1 this is QUAT_EM, with g = atan|e|/|e| it is ALGO_C1 (see ``methods``). Inserting (1) into (2) and
multiplying by (1 + |e|^2) h/8 gives

    F = (1 - |e|^2) d + 2 e (e.d) + 2 e x s - (1 + |e|^2) (h/8) k = 0,   s = J z,   d = s - (h/4) m0           (3)
"""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.cayley import turn
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.vectors import by_components, cross, dot, plus, times
from polhode.kernels.stepping.header import FINE
from polhode.kernels.stepping.implicit import root
from polhode.kernels.stepping.whole_steps import Step


@inline
def half_turn_system(body, g, g_slope, m, e, k, K, noise):
    """Return F of (3), the columns of its Jacobian, and the error of F due to ``noise``, with g and dg/d(|e|^2)."""
    x = 0.125 * body.h
    ee = dot(e, e)
    s = times(g, by_components(body.J, e))
    d = plus(s, -2.0 * x, m)
    k = times(x, k)
    F = plus(plus(plus(times(1.0 - ee, d), 2.0 * dot(e, d), e), 2.0, cross(e, s)), -(1.0 + ee), k)
    J = (
        column(body.J, g, g_slope, e, s, d, k, (1.0, 0.0, 0.0), times(x, K[0])),
        column(body.J, g, g_slope, e, s, d, k, (0.0, 1.0, 0.0), times(x, K[1])),
        column(body.J, g, g_slope, e, s, d, k, (0.0, 0.0, 1.0), times(x, K[2])),
    )
    return F, J, abs(x) * (1.0 + ee) * noise


@inline
def column(J, g, g_slope, e, s, d, k, x, kx):
    """Return the derivative of F along x; k and its derivative kx include the factor h/8."""
    ex, ee = dot(e, x), dot(e, e)
    sx = by_components(J, plus(times(g, x), 2.0 * g_slope * ex, e))
    f = plus(times(1.0 - ee, sx), -2.0 * ex, plus(d, 1.0, k))
    f = plus(plus(f, 2.0 * dot(e, d), x), 2.0 * (dot(x, d) + dot(e, sx)), e)
    return plus(plus(f, 2.0, plus(cross(x, s), 1.0, cross(e, sx))), -(1.0 + ee), kx)


@inline
def middle(q, e):
    """Return the attitude at the middle of the step, q (1, e), which has the norm sqrt(1 + |e|^2)."""
    return product(q, (1.0, e[0], e[1], e[2]))


@inline
def half_turn_step(impulse, system, context, m):
    """Take one step by (1) and (2)."""
    body, q = context.body, context.q
    w = m[0] / body.J[0], m[1] / body.J[1], m[2] / body.J[2]
    solution = root(impulse, system, context, m, times(0.25 * body.h, w))
    if solution.status != FINE:
        return Step(m, q, solution.status, solution.torques, solution.iterations, solution.residual)
    m, q = turn(solution.e, m, q)
    m, q = turn(solution.e, plus(m, 1.0, solution.k), q)
    return Step(m, q, FINE, solution.torques, solution.iterations, 0.0)
