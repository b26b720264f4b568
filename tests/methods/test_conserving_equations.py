"""QuatEM, QuatVI, DirEM and AlgoC1 against their own definitions, written down here once more with the matrices of
Betsch and Siebert 2009 (004), in as many unknowns as the paper has. Asymmetric bodies, and every kind of potential.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from batches import AXIAL, FREE, GENERAL, GRAVITY, RESTORING, begin, go_on, step
from polhode import MoserVeselov, Problem, State, forces, integrate, rotation
from polhode.core.rotation import rotate
from polhode.methods.algo_c1 import AlgoC1
from polhode.methods.dir_em import DirEM
from polhode.methods.quat_em import QuatEM
from polhode.methods.quat_vi import QuatVI

J = np.array([1.7, 2.6, 1.0])
M0, Q0 = np.array([0.6, -0.5, 0.9]), np.array([0.5, 0.1, -0.7, 0.5])
H = 0.3
TIGHT = 2e-14

forces_of_all_kinds = pytest.mark.parametrize("force", [FREE, GRAVITY, RESTORING, AXIAL, GENERAL], ids=repr)


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rot(A):
    return np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


def G(q):
    return np.column_stack([-q[1:], q[0] * np.eye(3) - hat(q[1:])])


def E(q):
    return np.column_stack([-q[1:], q[0] * np.eye(3) + hat(q[1:])])


def Ql(q):
    return np.column_stack([q, G(q).T])


def Qr(q):
    return np.column_stack([q, E(q).T])


def attitude(q):
    """Q(q) = E G^T, quadratic in q."""
    return E(q) @ G(q).T


def rows(Q):
    return tuple(map(tuple, Q.tolist()))


def energy(force, Q):
    return force.energy_function()(0.0, rows(Q), np.array(force.params))


def gradient(force, Q):
    """dV/dQ"""
    return np.array(force.gradient_function()(0.0, rows(Q), np.array(force.params)))


def slope(force, q):
    """dV(Q(q))/dq: Q is quadratic, so central differences of it are exact."""
    D = gradient(force, attitude(q))
    return np.array([np.sum(D * (attitude(q + e) - attitude(q - e))) / 2 for e in np.eye(4)])


# QUAT_EM: the seven equations (52)_1 and (53), with theta of (54) and p1 as unknowns

J4 = np.diag([J.sum() / 2, *J])
J4_INVERSE = np.linalg.inv(J4)


def discrete_slope(force, q0, q1):
    """Gonzalez's discrete gradient: in u = Q^T e3 where the force has an axis, else in q."""
    qh = (q0 + q1) / 2
    V0, V1 = energy(force, attitude(q0)), energy(force, attitude(q1))
    if force.axis is None:
        D, d = slope(force, qh), q1 - q0
        return D + (V1 - V0 - D @ d) / (d @ d) * d
    u = [attitude(q).T @ force.axis for q in (q0, q1)]
    D, d = gradient(force, (attitude(q0) + attitude(q1)) / 2).T @ force.axis, u[1] - u[0]
    D = D + (V1 - V0 - D @ d) / (d @ d) * d
    columns = [(attitude(qh + e) - attitude(qh - e)).T @ force.axis / 2 for e in np.eye(4)]
    return np.array(columns) @ D


def turned(theta, q):
    half = np.linalg.norm(theta) / 2
    return Qr(q) @ np.concatenate([[np.cos(half)], np.sin(half) / half * theta / 2])


def residuals(theta, p1, q0, p0, h, slope_at):
    """(R_q, R_p) of appendix D."""
    q1 = turned(theta, q0)
    qh, ph = (q0 + q1) / 2, (p0 + p1) / 2
    Rq = q1 - q0 - h / 8 * Ql(qh) @ J4_INVERSE @ (Ql(q0).T @ p0 + Ql(q1).T @ p1)
    Rp = p1 - p0 + h / 8 * Ql(ph) @ J4_INVERSE @ (Ql(p0).T @ q0 + Ql(p1).T @ q1) + h * slope_at(q0, q1)
    return Rq, Rp


def seven(x, q0, p0, h, slope_at):
    Rq, Rp = residuals(x[:3], x[3:], q0, p0, h, slope_at)
    return np.concatenate([Rq, G((q0 + turned(x[:3], q0)) / 2) @ Rp])


def jacobian(x, q0, p0, h, slope_at, curvature):
    """(D1), with G(R_p) where G(p_p) is printed."""
    theta, p1 = x[:3], x[3:]
    q1 = turned(theta, q0)
    qh, ph = (q0 + q1) / 2, (p0 + p1) / 2
    omega = J4_INVERSE @ (Ql(q0).T @ p0 + Ql(q1).T @ p1) / 2
    k = J4_INVERSE @ (Ql(p0).T @ q0 + Ql(p1).T @ q1) / 2
    bar = [np.column_stack([v, -G(v).T]) for v in (p1, q1)]
    _, Rp = residuals(theta, p1, q0, p0, h, slope_at)
    Kqq = np.eye(4) - h / 8 * (Qr(omega) + Ql(qh) @ J4_INVERSE @ bar[0].T)
    Kqp = -h / 8 * Ql(qh) @ J4_INVERSE @ Ql(q1).T
    Kpq = G(qh) @ (h / 8 * Ql(ph) @ J4_INVERSE @ Ql(p1).T + h / 2 * curvature) - G(Rp) / 2
    Kpp = G(qh) @ (np.eye(4) + h / 8 * (Qr(k) + Ql(ph) @ J4_INVERSE @ bar[1].T))
    a = np.linalg.norm(theta)
    unit = theta / a
    Htheta = np.sin(a) / a * np.eye(3) + (1 - np.cos(a)) / a * hat(unit) + (1 - np.sin(a) / a) * np.outer(unit, unit)
    turn = E(q1).T @ Htheta / 2
    return np.block([[Kqq @ turn, Kqp], [Kpq @ turn, Kpp]])


def gravity_case():
    curvature = np.array([slope(GRAVITY, e) for e in np.eye(4)])  # V is quadratic in q
    return lambda q0, q1: curvature @ (q0 + q1) / 2, curvature


def test_the_corrected_jacobian_of_the_seven_equations():
    slope_at, curvature = gravity_case()
    p0 = 2 * G(Q0).T @ M0
    x = np.array([0.1, 0.2, -0.15, 1.1, -0.8, 0.5, 0.3])
    K = jacobian(x, Q0, p0, H, slope_at, curvature)
    d = 1e-6
    columns = [
        (seven(x + d * e, Q0, p0, H, slope_at) - seven(x - d * e, Q0, p0, H, slope_at)) / (2 * d) for e in np.eye(7)
    ]
    np.testing.assert_allclose(K, np.array(columns).T, rtol=0, atol=1e-9)


def test_quat_em_is_newtons_solution_of_the_seven_equations():
    slope_at, curvature = gravity_case()
    p0 = 2 * G(Q0).T @ M0
    x = np.concatenate([H * rotate(Q0, M0 / J), p0])
    for _ in range(8):
        x -= np.linalg.solve(jacobian(x, Q0, p0, H, slope_at, curvature), seven(x, Q0, p0, H, slope_at))
    q1, p1 = turned(x[:3], Q0), x[3:]
    current = step(QuatEM(), GRAVITY, J, M0, Q0, H)
    np.testing.assert_allclose(current.q[0], q1, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(current.m[0], G(q1) @ p1 / 2, rtol=0, atol=TIGHT)
    assert abs(q1 @ p1) < TIGHT  # p1 was free to have a part along q1


@forces_of_all_kinds
def test_quat_em_solves_the_seven_equations(force):
    """Also with the discrete gradients of potentials that are not quadratic in q."""
    p0 = 2 * G(Q0).T @ M0
    start = np.concatenate([H * rotate(Q0, M0 / J), p0])
    x = fsolve(seven, start, args=(Q0, p0, H, lambda a, b: discrete_slope(force, a, b)), xtol=1e-13)
    q1, p1 = turned(x[:3], Q0), x[3:]
    current = step(QuatEM(), force, J, M0, Q0, H)
    np.testing.assert_allclose(current.q[0], q1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(current.m[0], G(q1) @ p1 / 2, rtol=0, atol=1e-12)
    assert abs(q1 @ p1) < 1e-12


# QUAT_VI: appendix E


def legendre(force, q0, q1, h):
    """(D1 L_d, D2 L_d)"""
    mass = [4 * G(q).T @ np.diag(J) @ G(q) for q in (q0, q1)]
    V = h / 2 * slope(force, (q0 + q1) / 2)
    return mass[1] @ q0 / h - V, mass[0] @ q1 / h - V


@forces_of_all_kinds
def test_quat_vi_solves_the_discrete_euler_lagrange_equations(force):
    current, states = begin(QuatVI(), M0, Q0), [(M0, Q0)]
    for n in range(1, 5):
        go_on(QuatVI(), force, J, current, H, n)
        states.append((current.m[0].copy(), current.q[0].copy()))
    for (m0, q0), (m1, q1) in pairwise(states):
        before, after = legendre(force, q0, q1, H)
        np.testing.assert_allclose(-G(q0) @ before / 2, m0, rtol=0, atol=TIGHT)  # multipliers act along q
        np.testing.assert_allclose(G(q1) @ after / 2, m1, rtol=0, atol=TIGHT)
    for (_, q0), (_, q1), (_, q2) in zip(states, states[1:], states[2:], strict=False):
        sum_at_q1 = legendre(force, q0, q1, H)[1] + legendre(force, q1, q2, H)[0]  # (E1)
        np.testing.assert_allclose(G(q1) @ sum_at_q1, 0, rtol=0, atol=2 * TIGHT)


def test_quat_vi_of_a_free_body_is_the_moser_veselov_step():
    current = step(QuatVI(), FREE, J, M0, Q0, H, 50)
    expected = MoserVeselov().step(J, State(M0, Q0), H, 50)
    np.testing.assert_allclose(current.m[0], expected.m, rtol=0, atol=TIGHT)
    np.testing.assert_allclose(current.q[0], expected.q, rtol=0, atol=TIGHT)


# DIR_EM: nine direction cosines, nine velocities, six multipliers

EULER = np.diag(J.sum() / 2 - J)


@forces_of_all_kinds
def test_dir_em_solves_its_eighteen_equations(force):
    current, V0, Qa = begin(DirEM(), M0, Q0), attitude(Q0) @ hat(M0 / J), attitude(Q0)
    for n in range(1, 6):
        go_on(DirEM(), force, J, current, H, n)
        Qb = attitude(current.q[0])
        W = current.memory[0].reshape(3, 3)
        V1 = Qb @ W[np.ix_([1, 2, 0], [1, 2, 0])]  # W is kept in sorted axes: 3, 1, 2 here
        Qh = (Qa + Qb) / 2
        np.testing.assert_allclose(Qb - Qa, H / 2 * (V0 + V1), rtol=0, atol=TIGHT)
        multipliers = np.linalg.solve(Qh, (V1 - V0) @ EULER + H * gradient(force, Qh))
        np.testing.assert_allclose(multipliers, multipliers.T, rtol=0, atol=5 * TIGHT)
        np.testing.assert_allclose(Qb.T @ Qb, np.eye(3), rtol=0, atol=TIGHT)
        np.testing.assert_allclose(current.m[0], rot(Qb.T @ V1 @ EULER), rtol=0, atol=TIGHT)
        V0, Qa = V1, Qb


# Multipliers of QUAT_EM


@forces_of_all_kinds
def test_multipliers_complete_the_equations(force):
    """(51)_2 in all four components, of which (53) has three: the fourth is the multiplier."""
    problem = Problem(J, State(M0, Q0 / np.linalg.norm(Q0)), None if force is FREE else force, (0, 5 * H))
    traj = integrate(problem, method=QuatEM(), h=H)
    p, q = traj.quaternion_momentum, traj.q
    np.testing.assert_allclose(np.sum(p * q, axis=-1), 0, rtol=0, atol=TIGHT)
    for n, multiplier in enumerate(traj.multipliers):
        qh, ph = (q[n] + q[n + 1]) / 2, (p[n] + p[n + 1]) / 2
        kinetic = Ql(ph) @ J4_INVERSE @ (Ql(p[n]).T @ q[n] + Ql(p[n + 1]).T @ q[n + 1]) / 8
        forces = kinetic + discrete_slope(force, q[n], q[n + 1]) + multiplier * qh
        np.testing.assert_allclose(p[n + 1] - p[n], -H * forces, rtol=0, atol=5 * TIGHT)


@forces_of_all_kinds
def test_multipliers_of_quat_vi_complete_the_equations(force):
    """(E1) and its start in all four components, with a last step that is shorter."""
    problem = Problem(J, State(M0, Q0 / np.linalg.norm(Q0)), None if force is FREE else force, (0, 5.5 * H))
    traj = integrate(problem, method=QuatVI(), h=H)
    p, q, h = traj.quaternion_momentum, traj.q, np.diff(traj.t)
    multipliers = traj.multipliers
    before, after = legendre(force, q[0], q[1], h[0])
    np.testing.assert_allclose(p[0], -before + h[0] / 2 * multipliers[0] * q[0], rtol=0, atol=5 * TIGHT)
    for n in range(1, len(h)):
        before, following = legendre(force, q[n], q[n + 1], h[n])
        constraint = (h[n - 1] + h[n]) / 2 * multipliers[n] * q[n]
        np.testing.assert_allclose(after + before - constraint, 0, rtol=0, atol=5 * TIGHT)
        after = following


def test_multipliers_do_not_depend_on_the_axes():
    """A tensor that is not diagonal: the same body, seen in other axes."""
    turned = rotation.from_rotation_vector((0.4, -0.3, 0.8))
    U = rotation.matrix(turned)
    offset = np.array([0.3, 0.2, 0.4])
    own = Problem(J, State(M0), forces.gravity(2.0, offset), (0, 5 * H))
    inertia, start = U @ np.diag(J) @ U.T, State(U @ M0, rotation.conjugate(turned))
    axes = Problem(inertia, start, forces.gravity(2.0, U @ offset), (0, 5 * H))
    expected, values = (integrate(each, method=QuatVI(), h=H).multipliers for each in (own, axes))
    np.testing.assert_allclose(values, expected, rtol=0, atol=20 * TIGHT)


def test_multipliers_belong_to_steps():
    problem = Problem(J, State(M0), GRAVITY, (0, 3.0))
    with pytest.raises(AttributeError, match=r"AlgoC1.* have no multipliers"):
        integrate(problem, method=AlgoC1(), h=H).multipliers  # noqa: B018
    with pytest.raises(AttributeError, match="save_every=1"):
        integrate(problem, method=QuatEM(), h=H, save_every=2).multipliers  # noqa: B018


# ALGO_C1


@forces_of_all_kinds
@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
def test_algo_c1_solves_its_equations(force, rule):
    m0, q0 = M0, Q0
    for _ in range(3):
        current = step(AlgoC1(rule), force, J, m0, q0, H)
        m1, q1 = current.m[0], current.q[0]
        theta = H / 2 * (m0 + m1) / J
        Qa, Qb = attitude(q0), attitude(q1)
        Qh = Qa @ Rotation.from_rotvec(theta / 2).as_matrix()
        np.testing.assert_allclose(Qb, Qa @ Rotation.from_rotvec(theta).as_matrix(), rtol=0, atol=TIGHT)
        places = [Qh] if rule == "midpoint" else [Qa, Qb]
        torque = np.mean([-Q @ rot(Q.T @ gradient(force, Q)) for Q in places], axis=0)
        np.testing.assert_allclose(Qb @ m1, Qa @ m0 + H * torque, rtol=0, atol=TIGHT)
        m0, q0 = m1, q1
