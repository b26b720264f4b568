"""QUAT_VI, the variational integrator on quaternions of Betsch and Siebert 2009, appendix E.

Without multipliers and quaternion momenta, the discrete Euler-Lagrange equations (E1) and their start from (q0, p0) are

    m0 = (2/h) (f0 J fv + fv x J fv) + (h/4) G(q0) V'(qh)                                                      (1)
    m1 = (2/h) (f0 J fv - fv x J fv) - (h/4) G(q1) V'(qh),   (f0, fv) = conj(q0) q1,   qh = (q0 + q1)/2        (2)

The first terms are the discrete Moser-Veselov step (``flows.moser_veselov``): with e = fv/f0 and M = m0 - c0, c0 being
the last term of (1), e = k (M + M x e + e (e.M)), k = h/(2 J), and m1 is M in the axes of the end, less c1 of (2).

V(Q(q)) is taken for Q(q) quadratic in q, at |qh| < 1: the radial part of V'(qh) matters. With g = rot(Q^T dV/dQ),
r = tr(Q^T dV/dQ) at qh and n = fv/(1 + f0),

    c0 = (h/2) (g + (r n + n x g)),   c1 = (h/2) (g - (r n + n x g))                                          (3)

About an axis of symmetry (1) is 2 f0 f3 = h w3, up to the torque: so there is no solution for h w3 > 1.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.core.rotation import conjugate, hat, multiply, normalize
from polhode.core.rotation import matrix as attitude_matrix
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.cayley import turn
from polhode.kernels.numbers.quat import matrix, product
from polhode.kernels.numbers.vectors import by_components, columns, cross, dot, matrix_product, plus, rot, times
from polhode.kernels.stepping.header import FINE, NO_STEP
from polhode.kernels.stepping.implicit import root
from polhode.kernels.stepping.whole_steps import ARGUMENTS, Step, slope_at, take_steps
from polhode.methods.method import BatchState, Bodies
from polhode.methods.record import CONSTRAINTS, ENERGIES, MOMENTA, MOMENTUM_ALONG, MethodRecord
from polhode.methods.whole_step import WholeStep

if TYPE_CHECKING:
    from polhode.forces.base import Force

LEYENDECKER_2008 = (
    "S. Leyendecker, J. E. Marsden, M. Ortiz, Variational integrators for constrained dynamical systems, Z. Angew. "
    "Math. Mech. 88 (2008) 677-708"
)
WENDLANDT_MARSDEN_1997 = (
    "J. M. Wendlandt, J. E. Marsden, Mechanical integrators derived from a discrete variational principle, Physica D "
    "106 (1997) 223-246"
)


@inline
def kicks(gradient, params, body, t, q, e):
    """(c0, c1, status) of (3)."""
    f0 = 1.0 / sqrt(1.0 + dot(e, e))
    a, b = 0.5 * (1.0 + f0), 0.5 * f0
    h0, h1, h2, h3 = product(q[0], q[1], q[2], q[3], a, b * e[0], b * e[1], b * e[2])
    Q = matrix(h0, h1, h2, h3)
    G, status = slope_at(gradient, params, body, t, Q)
    A = matrix_product(columns(Q), G)
    g, r, n = rot(A), A[0][0] + A[1][1] + A[2][2], times(b / a, e)
    across = plus(cross(n, g), r, n)
    return times(0.5, plus(g, 1.0, across)), times(0.5, plus(g, -1.0, across)), status


@inline
def impulse(gradient, params, body, t, start, q, e):
    c0, _, status = kicks(gradient, params, body, t, q, e)
    return c0, status, 0.0


@inline
def system(body, m, e, c, C, noise):
    """(F, columns of its Jacobian, noise), F = e - k (M + M x e + e (e.M))."""
    t, M = 0.5 * body.h, plus(m, -1.0, c)
    k = t / body.J[0], t / body.J[1], t / body.J[2]
    F = plus(e, -1.0, by_components(k, plus(plus(M, 1.0, cross(M, e)), dot(e, M), e)))
    J = (
        column(k, M, e, (1.0, 0.0, 0.0), C[0]),
        column(k, M, e, (0.0, 1.0, 0.0), C[1]),
        column(k, M, e, (0.0, 0.0, 1.0), C[2]),
    )
    return F, J, noise


@inline
def column(k, M, e, x, cx):
    """The derivative of F along x, cx being that of c0."""
    y = plus(plus(cross(M, x), dot(e, M), x), dot(x, M), e)
    y = plus(y, -1.0, plus(plus(cx, 1.0, cross(cx, e)), dot(e, cx), e))
    return plus(x, -1.0, by_components(k, y))


@inline
def step(gradient, params, body, t, memory, first, m, q):
    w = m[0] / body.J[0], m[1] / body.J[1], m[2] / body.J[2]
    found = root(impulse, system, gradient, params, body, t, 0.0, m, q, times(0.5 * body.h, w))
    status, e = found.status, found.e
    if status == FINE and not dot(e, e) < 1.0:
        status = NO_STEP  # the other root: beyond 90 degrees
    if status != FINE:
        return Step(m, q, status, found.torques, found.iterations, found.residual)
    c0, c1, status = kicks(gradient, params, body, t, q, e)
    M = plus(m, -1.0, c0)
    m1, m2, m3, q0, q1, q2, q3 = turn(e[0], e[1], e[2], M[0], M[1], M[2], q[0], q[1], q[2], q[3])
    return Step(plus((m1, m2, m3), -1.0, c1), (q0, q1, q2, q3), status, found.torques + 1, found.iterations, 0.0)


@entry_point(f"void(i8, {ARGUMENTS})")
def run(gradient, arguments):
    take_steps(step, gradient, arguments)


class QuatVI(WholeStep):
    """The variational integrator on quaternions: symplectic; without torque it is the discrete Moser-Veselov step.

    It needs the gradient, whose values at multiples of rotations matter. A step must turn the body by less than 90
    degrees: about an axis of symmetry there is one only for h w <= 1.

    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.gyro_top(), method=QuatVI(), h=0.005)
    >>> traj.invariants()["m along axis"] < 1e-13
    True
    """

    run = staticmethod(run)
    record = MethodRecord(
        name="QuatVI()",
        summary="variational integrator on quaternions",
        order=2,
        symmetric=True,
        symplectic=True,
        free=ENERGIES | MOMENTA | CONSTRAINTS,
        quadratic=CONSTRAINTS | {MOMENTUM_ALONG},
        axial=CONSTRAINTS | {MOMENTUM_ALONG},
        potential=CONSTRAINTS,
        references=(BETSCH_SIEBERT_2009, LEYENDECKER_2008, WENDLANDT_MARSDEN_1997),
        test_step=0.4,
        limits="a step must turn the body by less than 90 degrees",
    )

    def multipliers(self, force: Force | None, tensor: FloatArray, t: FloatArray, q: FloatArray) -> FloatArray:
        """Return the Lagrange multipliers of |q| = 1 for the steps between attitudes (k, 4) at times (k,), (k - 1,).

        The multiplier of a step belongs to its beginning: lambda_n of (E1) is found together with q_(n + 1). With
        p_n.q_n = 0, (2/h) q_n.D1 L_d and (2/h) q_n.D2 L_d are what the steps after and before n contribute, and
        q_n.V'(qh) = 2 (r -+ n.g) in the letters of (3).
        """
        h, f = np.diff(t), multiply(conjugate(q[:-1]), q[1:])
        kinetic = 8.0 / h**2 * np.einsum("...i,ij,...j", f[:, 1:], tensor, f[:, 1:])
        r = across = np.zeros_like(h)
        if force is not None:
            middle_q = 0.5 * (q[:-1] + q[1:])
            Q = np.sum(middle_q**2, axis=-1)[:, None, None] * attitude_matrix(normalize(middle_q))
            A = np.swapaxes(Q, -1, -2) @ self.slopes(force, t, Q)
            r = np.trace(A, axis1=-2, axis2=-1)
            across = np.sum(hat(f[:, 1:] / (1.0 + f[:, :1])) * A, axis=(-2, -1))
        after, before = kinetic - 2.0 * (r - across), kinetic - 2.0 * (r + across)
        after[1:] = (h[:-1] * before[:-1] + h[1:] * after[1:]) / (h[:-1] + h[1:])
        return after

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        moments = bodies.inertia[i if len(bodies.inertia) > 1 else 0]
        w = np.abs(current.m[i] / moments)
        alike = [j for j in range(3) if moments[(j + 1) % 3] == moments[(j + 2) % 3]]
        axis = max(alike, key=lambda j: float(w[j]), default=int(np.argmax(w)))
        if not abs(h) * w[axis] > 0.5:
            return ""
        name = "its axis of symmetry" if alike else "a principal axis"
        return (
            f"; about {name} there is one only for |h| w <= 1, and w = {w[axis]:.6g} here: up to the torque, |h| is at "
            f"most {1.0 / w[axis]:.3g}"
        )
