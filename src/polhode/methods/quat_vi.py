"""QUAT_VI, the variational integrator on quaternions of Betsch and Siebert 2009, appendix E.

With multipliers and quaternion momenta eliminated, the discrete Euler-Lagrange equations (E1), started at (q0, p0), are

    m0 = (2/h) (f0 J fv + fv x J fv) + (h/4) G(q0) V'(qh)                                                      (1)
    m1 = (2/h) (f0 J fv - fv x J fv) - (h/4) G(q1) V'(qh),   (f0, fv) = conj(q0) q1,   qh = (q0 + q1)/2        (2)

The first terms are the discrete Moser-Veselov step (``flows.moser_veselov``): with e = fv/f0 and M = m0 - c0, c0 being
the last term of (1), e = k (M + M x e + e (e.M)), k = h/(2 J), and m1 is M in the end axes, minus c1 of (2).

In V(Q(q)), Q(q) is quadratic in q, and |qh| < 1: the radial part of V'(qh) matters. With g = rot(Q^T dV/dQ),
r = tr(Q^T dV/dQ) at qh and n = fv/(1 + f0),

    c0 = (h/2) (g + (r n + n x g)),   c1 = (h/2) (g - (r n + n x g))                                          (3)

About an axis of symmetry (1) is 2 f0 f3 = h w3, apart from the torque: there is no solution for h w3 > 1.
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
from polhode.kernels.stepping.header import ADDRESS, FINE, NO_STEP, BatchState, Bodies, Work
from polhode.kernels.stepping.implicit import StepContext, root
from polhode.kernels.stepping.whole_steps import Step, slope_at, take_steps
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
def kicks(step, e):
    """Return (c0, c1, status) of (3) for a step with e = fv/f0."""
    f0 = 1.0 / sqrt(1.0 + dot(e, e))
    a, b = 0.5 * (1.0 + f0), 0.5 * f0
    Q = matrix(product(step.q, (a, b * e[0], b * e[1], b * e[2])))
    G, status = slope_at(step.tools, step.params, step.body, step.t, Q)
    A = matrix_product(columns(Q), G)
    g = rot(A)
    r = A[0][0] + A[1][1] + A[2][2]
    n = times(b / a, e)
    across = plus(cross(n, g), r, n)
    return times(0.5, plus(g, 1.0, across)), times(0.5, plus(g, -1.0, across)), status


@inline
def impulse(step, e):
    """Return (c0, status, noise) of (3), the impulse at the start of the step."""
    c0, _, status = kicks(step, e)
    return c0, status, 0.0


@inline
def system(body, m, e, c, C, noise):
    """Return (F, columns of its Jacobian, noise), F = e - k (M + M x e + e (e.M)), given c0 and its derivatives C."""
    t = 0.5 * body.h
    M = plus(m, -1.0, c)
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
    """Return the derivative of F along x; cx is that of c0."""
    y = plus(plus(cross(M, x), dot(e, M), x), dot(x, M), e)
    y = plus(y, -1.0, plus(plus(cx, 1.0, cross(cx, e)), dot(e, cx), e))
    return plus(x, -1.0, by_components(k, y))


@inline
def step(gradient, params, body, t, memory, first, m, q):
    """Return the Step from (m, q) by (1) and (2); `t` is the middle of the step."""
    w = m[0] / body.J[0], m[1] / body.J[1], m[2] / body.J[2]
    context = StepContext(gradient, params, body, t, 0.0, q)
    solution = root(impulse, system, context, m, times(0.5 * body.h, w))
    status = solution.status
    e = solution.e
    if status == FINE and not dot(e, e) < 1.0:
        status = NO_STEP  # the second root of (1), a turn beyond 90 degrees
    if status != FINE:
        return Step(m, q, status, solution.torques, solution.iterations, solution.residual)
    c0, c1, status = kicks(context, e)
    m, q = turn(e, plus(m, -1.0, c0), q)
    return Step(plus(m, -1.0, c1), q, status, solution.torques + 1, solution.iterations, 0.0)


@entry_point(("void", ADDRESS, Work))
def run(gradient, work):
    """Advance bodies by this method; see `take_steps`."""
    take_steps(step, gradient, work)


class QuatVI(WholeStep):
    """Variational integrator on quaternions, symplectic and of order 2.

    Without torque it is the discrete Moser-Veselov step. The method requires a force with a gradient, whose values at
    multiples of rotation matrices matter. A step must turn the body by less than 90 degrees: about an axis of symmetry
    there is a solution only for h w <= 1.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.gyro_top(), method=QuatVI(), h=0.005)
    >>> traj.invariants()["m along axis"] < 1e-13
    True
    """

    loop = staticmethod(run)
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

    def multipliers(self, force: Force, tensor: FloatArray, t: FloatArray, q: FloatArray) -> FloatArray:
        """Return the Lagrange multipliers of |q| = 1, shape (k - 1,), of the steps between `q` (k, 4) at `t` (k,).

        The multiplier of a step belongs to its beginning: lambda_n of (E1) is computed together with q_(n + 1). With
        p_n.q_n = 0, the steps after and before n contribute (2/h) q_n.D1 L_d and (2/h) q_n.D2 L_d, and
        q_n.V'(qh) = 2 (r -+ n.g) in the notation of (3).
        """
        h = np.diff(t)
        f = multiply(conjugate(q[:-1]), q[1:])
        kinetic = 8.0 / h**2 * np.einsum("...i,ij,...j", f[:, 1:], tensor, f[:, 1:])
        middle_q = 0.5 * (q[:-1] + q[1:])
        Q = np.sum(middle_q**2, axis=-1)[:, None, None] * attitude_matrix(normalize(middle_q))
        A = np.swapaxes(Q, -1, -2) @ self.slopes(force, t, Q)
        r = np.trace(A, axis1=-2, axis2=-1)
        across = np.sum(hat(f[:, 1:] / (1.0 + f[:, :1])) * A, axis=(-2, -1))
        after, before = kinetic - 2.0 * (r - across), kinetic - 2.0 * (r + across)
        after[1:] = (h[:-1] * before[:-1] + h[1:] * after[1:]) / (h[:-1] + h[1:])
        return after

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        """Return the bound |h| w <= 1 as text if body `i` is close to it, or an empty string."""
        moments = bodies.inertia[i if len(bodies.inertia) > 1 else 0]
        w = np.abs(current.m[i] / moments)
        symmetry_axes = [j for j in range(3) if moments[(j + 1) % 3] == moments[(j + 2) % 3]]
        axis = max(symmetry_axes, key=lambda j: float(w[j]), default=int(np.argmax(w)))
        if not abs(h) * w[axis] > 0.5:
            return ""
        name = "its axis of symmetry" if symmetry_axes else "a principal axis"
        return (
            f"; about {name} there is one only for |h| w <= 1, and w = {w[axis]:.6g} here: apart from the torque, |h| "
            f"is at most {1.0 / w[axis]:.3g}"
        )
