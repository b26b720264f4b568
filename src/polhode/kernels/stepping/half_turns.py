"""Steps that are half of a turn, an impulse, and the other half of the turn; the turn solves

    m0 + m1 = (8/h) J z,   z = g(|e|^2) e                                                                      (1)
    C m1 = C^T m0 + k,   C = (1 + hat e) (1 - hat e)^-1                                                        (2)

C, the quaternion (1, e)/sqrt(1 + |e|^2), is half of the turn, by the angle 2 atan|e|; k is the impulse of the torque,
in the axes that the body has in the middle. (2) says that the impulse changes the momentum in space, whatever e is. C
leaves e as it is, so that e.(m1 - m0) = e.k, and by (1) the energy changes by (4/h) z.k: not at all without torque.

With g = 1 this is QUAT_EM, with g = atan|e|/|e| ALGO_C1 (see ``methods``). (1) in (2), times (1 + |e|^2) h/8:

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
    """(F, columns of its Jacobian, blur) of (3), with g and dg/d(|e|^2)."""
    x, ee, s = 0.125 * body.h, dot(e, e), times(g, by_components(body.J, e))
    d, k = plus(s, -2.0 * x, m), times(x, k)
    F = plus(plus(plus(times(1.0 - ee, d), 2.0 * dot(e, d), e), 2.0, cross(e, s)), -(1.0 + ee), k)
    J = (
        column(body.J, g, g_slope, e, s, d, k, (1.0, 0.0, 0.0), times(x, K[0])),
        column(body.J, g, g_slope, e, s, d, k, (0.0, 1.0, 0.0), times(x, K[1])),
        column(body.J, g, g_slope, e, s, d, k, (0.0, 0.0, 1.0), times(x, K[2])),
    )
    return F, J, abs(x) * (1.0 + ee) * noise


@inline
def column(J, g, g_slope, e, s, d, k, x, kx):
    """The derivative of F along x; k and its derivative kx are times h/8."""
    ex, ee = dot(e, x), dot(e, e)
    sx = by_components(J, plus(times(g, x), 2.0 * g_slope * ex, e))
    f = plus(times(1.0 - ee, sx), -2.0 * ex, plus(d, 1.0, k))
    f = plus(plus(f, 2.0 * dot(e, d), x), 2.0 * (dot(x, d) + dot(e, sx)), e)
    return plus(plus(f, 2.0, plus(cross(x, s), 1.0, cross(e, sx))), -(1.0 + ee), kx)


@inline
def middle(q, e):
    """The attitude in the middle, q (1, e), times sqrt(1 + |e|^2)."""
    return product(q[0], q[1], q[2], q[3], 1.0, e[0], e[1], e[2])


@inline
def half_turn_step(impulse, system, tools, params, body, t, start, m, q):
    """One step by (1) and (2)."""
    w = m[0] / body.J[0], m[1] / body.J[1], m[2] / body.J[2]
    found = root(impulse, system, tools, params, body, t, start, m, q, times(0.25 * body.h, w))
    if found.status != FINE:
        return Step(m, q, found.status, found.torques, found.iterations, found.residual)
    e1, e2, e3 = found.e
    m1, m2, m3, q0, q1, q2, q3 = turn(e1, e2, e3, m[0], m[1], m[2], q[0], q[1], q[2], q[3])
    m1, m2, m3 = m1 + found.k[0], m2 + found.k[1], m3 + found.k[2]
    m1, m2, m3, q0, q1, q2, q3 = turn(e1, e2, e3, m1, m2, m3, q0, q1, q2, q3)
    return Step((m1, m2, m3), (q0, q1, q2, q3), FINE, found.torques, found.iterations, 0.0)
