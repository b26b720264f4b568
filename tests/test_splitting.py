"""Every scheme on a torqued asymmetric body: order, torque evaluations, the way back, symplecticity, merged stages."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from conftest import EPS
from polhode.force import Torque
from polhode.integration import integrate
from polhode.methods.splitting import Splitting
from polhode.problem import Problem
from polhode.rotation import conjugate, from_rotation_vector, multiply
from polhode.schemes import SCHEMES

MOMENTS, M0, Q0 = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5)
STRENGTH = 0.6
EVERY = pytest.mark.parametrize("name", SCHEMES)
ROUND_OFF = 2e-13  # of runs of some thousand stages
HIGHEST_IN_DOUBLES = 6


def linear(t, Q, w, p):
    """u x (chi + B u) with u = Q^T e3: a top whose offset and restoring torque have no symmetry."""
    u0, u1, u2 = Q[2][0], Q[2][1], Q[2][2]
    x, y, z = p[0] * (0.3 + 0.5 * u0), p[0] * (0.2 - 0.4 * u1), p[0] * (1.0 + 0.1 * u2)
    return u1 * z - u2 * y, u2 * x - u0 * z, u0 * y - u1 * x


def problem(t_span=(0.0, 2.0), m=M0, q=Q0, strength=STRENGTH):
    return Problem(MOMENTS, ph.State(m, q), Torque(linear, (strength,), velocity=False), t_span)


@pytest.fixture(scope="module")
def truth():
    """By the scheme of the highest order with short steps; golden data is in ``test_torqued_golden``."""
    end = integrate(problem(), method="RKN8_19", h=1 / 128, save_every=10**6).state()
    return end.m, end.q


def error(name, steps, truth):
    end = integrate(problem(), method=name, h=2.0 / steps, save_every=steps).state()
    return float(np.hypot(np.linalg.norm(end.m - truth[0]), np.linalg.norm(end.q - truth[1])))


@EVERY
def test_order(name, truth):
    """Between the finest steps whose error is above round-off."""
    order = SCHEMES[name].order
    runs = [(n, error(name, n, truth)) for n in (2, 4, 8, 16, 32, 64, 128, 256, 512)]
    told = [e for _, e in runs if e > ROUND_OFF]
    if order > HIGHEST_IN_DOUBLES:  # the conditions are checked in ``test_schemes``, to many digits
        assert min(e for _, e in runs) < ROUND_OFF
        return
    observed = np.log2(told[-3] / told[-2]), np.log2(told[-2] / told[-1])
    assert min(abs(x - order) for x in observed) < 0.2


@EVERY
def test_torque_evaluations(name):
    """Stages between outputs are merged: s torques per step, and one more for schemes that begin with a kick."""
    scheme = SCHEMES[name]
    steps = 50
    run = integrate(problem(), method=name, h=2.0 / steps, save_every=steps)
    per_step = scheme.torques_per_step + 4 * scheme.gradients_per_step
    assert run.stats.torques - steps * per_step in (0, 1)
    assert run.stats.steps == steps


@EVERY
def test_the_way_back(name):
    start = problem()
    end = integrate(start, method=name, h=0.1, save_every=20).state()
    home = integrate(problem((2.0, 0.0), end.m, end.q), method=name, h=0.1, save_every=20).state()
    np.testing.assert_allclose(home.m, M0, rtol=0, atol=4000 * EPS)
    np.testing.assert_allclose(home.q, Q0, rtol=0, atol=4000 * EPS)


CENTRAL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
SHIFT = 0.005


def rotation_vector(q):
    size = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(size, q[..., :1])
    return np.divide(angle, size, out=np.full_like(size, 2.0), where=size > 0) * q[..., 1:]


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def canonical(m):
    return np.block([[-hat(m), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])


@EVERY
def test_symplectic(name):
    """J^T Omega(m1) J = Omega(m0), the derivative J by difference quotients of order 6."""
    shifts = SHIFT * np.arange(-3, 4)[:, None, None] * np.eye(6)
    m = np.array(M0) + shifts[..., 3:]
    q = multiply(np.array(Q0), from_rotation_vector(shifts[..., :3]))
    torque = Torque(linear, (STRENGTH,), velocity=False)
    ends = integrate(Problem(MOMENTS, ph.State(m, q), torque, (0.0, 0.2)), method=name, h=0.2).state()
    slope_m = np.einsum("k,kic->ci", CENTRAL, ends.m) / SHIFT
    turn = rotation_vector(multiply(conjugate(ends.q[3, 0]), ends.q))
    J = np.vstack([np.einsum("k,kic->ci", CENTRAL, turn) / SHIFT, slope_m])
    assert np.abs(J.T @ canonical(ends.m[3, 0]) @ J - canonical(np.array(M0))).max() < 1e-9


def test_a_flow_of_low_order_lowers_the_order(truth):
    method = Splitting(ph.ThreeRotations(), "S6_10")
    assert method.order == 2
    errors = [error(method, n, truth) for n in (32, 64, 128)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.2)


@pytest.mark.parametrize(
    "flow", [ph.Gauss(3), ph.MoserVeselov(6), ph.SymmetricRotation(), ph.Composed(ph.NoSquish(), "Suzuki4")], ids=repr
)
def test_other_flows(flow, truth):
    assert error(Splitting(flow, "S4_6"), 256, truth) < 1e-4
