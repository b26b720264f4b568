"""QUAT_EM, the energy-momentum scheme on quaternions of Betsch and Siebert 2009, section 4.4.

With q, p = 2 G(q)^T m and their means qh, ph, eliminating the multiplier from (51) leaves seven equations, (52), (53):

    q1 - q0 = (h/8) Ql(qh) J4^-1 (Ql(q0)^T p0 + Ql(q1)^T p1)                                               (52)_1
    G(qh) (p1 - p0 + (h/8) Ql(ph) J4^-1 (Ql(p0)^T q0 + Ql(p1)^T q1) + h DV) = 0                              (53)

Written with q1 = q0 (1, e)^2/(1 + |e|^2), which is (54) in other words, both sides of (52)_1 are qh times a quaternion.
Its scalar part is q1.p1 = 0, its vector part m0 + m1 = (8/h) J e. Hence p1 follows from e, and the remaining unknown e
solves the three equations of ``kernels.stepping.half_turns``, with g = 1 and the impulse k = -(h/2) G(qh) DV. The tests
compare the solution with the seven equations, and with Newton's method on them with the Jacobian (D1), corrected.

DV is a discrete gradient (Gonzalez 1996). In V(Q(q)), Q(q) is quadratic in q, also where |qh| < 1. With
f = -rot(Q^T dV/dQ) at qh and the energies V0, V1 at both ends,

    k = h (f - e (V1 - V0 + 4 e.f)/(4 |e|^2)),   so that (4/h) e.k = -(V1 - V0)                                  (1)

conserves the energy exactly. If V is a function of u = Q^T s, s being the axis of the force, the gradient is in u:

    k = h uh x D,   D = V'(um) + (V1 - V0 - V'(um).du) du/|du|^2,   um = (u0 + u1)/2,   du = u1 - u0 = 4 uh x e   (2)

which has no component along uh = Q(qh)^T s, and therefore conserves the momentum along s too. If |e| or |du| is so
small that energy differences are dominated by rounding, the corrections by them are negligible and are omitted.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, writable
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.core.rotation import matrix as attitude_matrix
from polhode.core.rotation import normalize
from polhode.forces.trigonometric import trial_cases
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import TIMES, to_order
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import columns, cross, dot, image, largest, matrix_product, plus, rot, times
from polhode.kernels.stepping.half_turns import half_turn_step, half_turn_system, middle
from polhode.kernels.stepping.header import ADDRESS, FINE, Work
from polhode.kernels.stepping.implicit import StepContext
from polhode.kernels.stepping.whole_steps import Step, energy_at, slope_at, take_steps
from polhode.methods.record import CONSTRAINTS, ENERGIES, MOMENTA, MOMENTUM_ALONG, MethodRecord
from polhode.methods.whole_step import WholeStep

if TYPE_CHECKING:
    from polhode.forces.base import Force

GONZALEZ_1996 = "O. Gonzalez, Time integration and discrete Hamiltonian systems, J. Nonlinear Sci. 6 (1996) 449-467"

ROUNDING = 2.0**-50  # of energies, relative to the sum of their terms
TINY = 2.0**-36  # |e|^2 below which |e|^3, the size of the corrections in (1) and (2), is rounding
THROUGH_AXIS = 1e-12  # rounding of dV/dQ across the axis, relative, if V is a function of Q^T s


class Tools(NamedTuple):
    """Functions and axis of the force, as used by a step; `axis` is zero if V is not a function of Q^T s."""

    gradient: Any
    energy: Any
    axis: FloatArray


@inline
def impulse(step, e):
    """Return (k, status, noise) by (1) or (2), for the half turn `e`; the energy V0 is known at the start."""
    tools, body, V0 = step.tools, step.body, step.start
    ee = dot(e, e)
    x = 1.0 / (1.0 + ee)
    h0, h1, h2, h3 = middle(step.q, e)
    Qh = matrix((x * h0, x * h1, x * h2, x * h3))
    a0, a1, a2, a3 = middle((h0, h1, h2, h3), e)
    Q1 = matrix((x * a0, x * a1, x * a2, x * a3))
    V1, status = energy_at(tools.energy, step.params, body, step.t, Q1)
    s = to_order(body.frame.order, (float(tools.axis[0]), float(tools.axis[1]), float(tools.axis[2])))
    gain = body.kick * (V1 - V0)
    blur = ROUNDING * abs(body.kick) * (abs(V0) + abs(V1))
    if dot(s, s) > 0.0:
        k, gradient_status, noise = impulse_in_u(step, gain, blur, s, Qh, Q1, e)
    else:
        k, gradient_status, noise = impulse_in_q(step, gain, blur, Qh, e)
    return k, min(status, gradient_status), noise


@inline
def impulse_in_q(step, gain, blur, Qh, e):
    """Return (k, status, noise) of (1); the terms of V are as large as dV/dQ, even if their sum is small."""
    ee = dot(e, e)
    G, status = slope_at(step.tools.gradient, step.params, step.body, step.t, Qh)
    f = times(-1.0, rot(matrix_product(columns(Qh), G)))
    if ee <= TINY:
        return f, status, 0.0
    blur += ROUNDING * (largest(G[0]) + largest(G[1]) + largest(G[2]))
    return plus(f, -0.25 * (gain + 4.0 * dot(e, f)) / ee, e), status, blur / sqrt(ee)


@inline
def impulse_in_u(step, gain, blur, s, Qh, Q1, e):
    """Return (k, status, noise) of (2)."""
    Q0 = matrix(step.q)
    mean = (
        times(0.5, plus(Q0[0], 1.0, Q1[0])),
        times(0.5, plus(Q0[1], 1.0, Q1[1])),
        times(0.5, plus(Q0[2], 1.0, Q1[2])),
    )
    G, status = slope_at(step.tools.gradient, step.params, step.body, step.t, mean)
    D = image(columns(G), s)
    uh = image(columns(Qh), s)
    du = times(4.0, cross(uh, e))
    dd = dot(du, du)
    if dd <= 16.0 * TINY:
        return cross(uh, D), status, 0.0
    blur += ROUNDING * largest(D)
    return cross(uh, plus(D, (gain - dot(D, du)) / dd, du)), status, blur / sqrt(dd)


@inline
def system(body, m, e, k, K, noise):
    """Return the equations for `e`, the columns of their Jacobian and the noise, given k and its derivatives K."""
    return half_turn_system(body, 1.0, 0.0, m, e, k, K, noise)


@inline
def step(tools, params, body, t, memory, first, m, q):
    """Return the Step from (m, q); `t` is the middle of the step."""
    V0, status = energy_at(tools.energy, params, body, t, matrix(q))
    if status != FINE:
        return Step(m, q, status, 0, 0, 0.0)
    return half_turn_step(impulse, system, StepContext(tools, params, body, t, V0, q), m)


@entry_point(("void", ADDRESS, ADDRESS, TIMES, Work))
def run(gradient, energy, axis, work):
    """Advance bodies by this method; see `take_steps`."""
    take_steps(step, Tools(gradient, energy, axis), work)


class QuatEM(WholeStep):
    """Quaternion-based energy-momentum scheme of order 2, which conserves the energy for any potential.

    The momentum along a symmetry axis s is conserved too if the force declares this ``axis`` and V depends on Q through
    Q^T s alone, as for gravity. The method requires a force with energy and gradient. Each step solves three equations.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.gyro_top(), method=QuatEM(), h=0.01)
    >>> bool(abs(traj.energy_error()).max() < 1e-13)
    True
    """

    loop = staticmethod(run)
    record = MethodRecord(
        name="QuatEM()",
        summary="energy-momentum scheme on quaternions",
        order=2,
        symmetric=True,
        symplectic=False,
        free=ENERGIES | MOMENTA | CONSTRAINTS,
        quadratic=ENERGIES | CONSTRAINTS | {MOMENTUM_ALONG},
        axial=ENERGIES | CONSTRAINTS | {MOMENTUM_ALONG},
        potential=ENERGIES | CONSTRAINTS,
        references=(BETSCH_SIEBERT_2009, GONZALEZ_1996),
        test_step=0.4,
    )

    def multipliers(self, force: Force, tensor: FloatArray, t: FloatArray, q: FloatArray) -> FloatArray:
        """Return the Lagrange multipliers of |q| = 1, shape (k - 1,), of the steps between `q` (k, 4) at `t` (k,).

        By remark 4.3 they are -qh.DV/|qh|^2. The corrections of the gradient in (1) and (2) have no component along qh,
        and qh.dV(Q(q))/dq is 2 Q(qh) : dV/dQ, because Q is quadratic in q.
        """
        middle_q = 0.5 * (q[:-1] + q[1:])
        size = np.sum(middle_q**2, axis=-1)[:, None, None]
        rotations = attitude_matrix(normalize(middle_q))
        ends = attitude_matrix(q)
        through_axis = force.axis is not None and acts_through_axis(force)
        matrices = 0.5 * (ends[:-1] + ends[1:]) if through_axis else size * rotations
        return -2.0 * np.sum(rotations * self.slopes(force, t, matrices), axis=(-2, -1))

    def tools(self, force: Force) -> tuple[Any, ...]:
        """Return what `loop` takes before the arrays: the addresses of gradient and energy, and the axis or zeros."""
        axis = force.axis if force.axis is not None and acts_through_axis(force) else np.zeros(3)
        return *super().tools(force), force.energy_address(), axis


def acts_through_axis(force: Force) -> bool:
    """Return whether V is a function of u = Q^T s for any matrix Q, that is, whether dV/dQ is s times a row."""
    gradient = force.gradient_function()
    cases = trial_cases(force.params)
    for one, other in zip(cases, cases[1:] + cases[:1], strict=True):
        Q = tuple(tuple(0.5 * (a + b) for a, b in zip(x, y, strict=True)) for x, y in zip(one.Q, other.Q, strict=True))
        try:
            G = np.array(gradient(one.t, Q, writable(one.p)))
        except Exception:  # Q is not a rotation here, where a user function need not be defined
            return False
        across = G - np.outer(force.axis, force.axis @ G)  # type: ignore[arg-type]
        if not np.abs(across).max() <= THROUGH_AXIS * np.abs(G).max():
            return False
    return True
