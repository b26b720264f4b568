"""Every scheme on a torqued asymmetric body: order, torque evaluations, the way back, symplecticity, merged stages."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, distance
from oracles.top import top_flow
from polhode.core.rotation import conjugate, from_rotation_vector, multiply
from polhode.forces.base import Torque
from polhode.integration.problem import Problem
from polhode.methods.schemes import SCHEMES
from polhode.methods.splitting import Splitting
from polhode.solve import integrate

MOMENTS, M0, Q0 = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5)
WEAK, STRONG = 0.6, 2.0  # schemes for weak torques show their order with strong ones
EVERY = pytest.mark.parametrize("name", SCHEMES)
STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
ROUND_OFF = 4e-14  # ten times that of these runs
HIGHEST_IN_DOUBLES = 8


def linear(t, Q, w, p):
    """u x (chi + B u) with u = Q^T e3: a top whose offset and restoring torque have no symmetry."""
    u0, u1, u2 = Q[2][0], Q[2][1], Q[2][2]
    x, y, z = p[0] * (0.3 + 0.5 * u0), p[0] * (0.2 - 0.4 * u1), p[0] * (1.0 + 0.1 * u2)
    return u1 * z - u2 * y, u2 * x - u0 * z, u0 * y - u1 * x


FORCES = {strength: Torque(linear, (strength,), velocity=False) for strength in (WEAK, STRONG)}  # compiled once


def problem(t_span=(0.0, 2.0), m=M0, q=Q0, strength=WEAK):
    return Problem(MOMENTS, ph.State(m, q), FORCES[strength], t_span)


@cache
def truth(strength):
    """By Taylor series in 20 digits."""
    chi, B = np.multiply(strength, (0.3, 0.2, 1.0)), np.multiply(strength, (0.5, -0.4, 0.1))
    ((m, q),) = top_flow(MOMENTS, M0, Q0, [2.0], chi, B, digits=20)
    return m, q


def error(method, steps, strength=WEAK):
    end = integrate(problem(strength=strength), method=method, h=2.0 / steps, save_every=steps).state()
    m, q = truth(strength)
    return float(np.hypot(distance(end.m, m), distance(end.q, q)))


@EVERY
def test_order(name):
    """Between n and 2 n steps, in both of the two finest pairs above round-off."""
    order = SCHEMES[name].order
    strength = STRONG if SCHEMES[name].generalized_order else WEAK
    errors = {n: error(name, n, strength) for n in STEPS}
    finest = [n for n in STEPS if errors.get(2 * n, 0.0) > ROUND_OFF][-2:]
    orders = np.log2([errors[n] / errors[2 * n] for n in finest])
    assert len(orders) == 2
    if order > HIGHEST_IN_DOUBLES:  # steps are still long; the conditions are checked in ``test_schemes``
        assert (orders > order - 0.2).all()
        assert min(errors.values()) < ROUND_OFF
        return
    np.testing.assert_allclose(orders, order, rtol=0, atol=0.2)


@EVERY
def test_torque_evaluations(name):
    """Stages between outputs are merged: s torques per step, and one more for schemes that begin with a kick."""
    scheme = SCHEMES[name]
    steps = 50
    run = integrate(problem(), method=name, h=2.0 / steps, save_every=steps)
    per_step = scheme.torques_per_step + 4 * scheme.gradients_per_step
    processing = 2 * sum(letter == "B" for letter, _ in scheme.processor)  # undone once, done once
    assert run.stats.torques - steps * per_step - processing in (0, 1)
    assert run.stats.steps == steps


@EVERY
def test_the_way_back(name):
    start = problem()
    end = integrate(start, method=name, h=0.1, save_every=20).state()
    home = integrate(problem((2.0, 0.0), end.m, end.q), method=name, h=0.1, save_every=20).state()
    if not SCHEMES[name].reversible:
        assert np.abs(home.m - M0).max() > 1e5 * EPS
        return
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
    ends = integrate(problem((0.0, 0.2), m, q), method=name, h=0.2).state()
    slope_m = np.einsum("k,kic->ci", CENTRAL, ends.m) / SHIFT
    turn = rotation_vector(multiply(conjugate(ends.q[3, 0]), ends.q))
    J = np.vstack([np.einsum("k,kic->ci", CENTRAL, turn) / SHIFT, slope_m])
    assert np.abs(J.T @ canonical(ends.m[3, 0]) @ J - canonical(np.array(M0))).max() < 1e-9


def test_a_flow_of_low_order_lowers_the_order():
    method = Splitting(ph.ThreeRotations(), "S6_10")
    assert method.order == 2
    errors = [error(method, n) for n in (32, 64, 128)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.2)


@pytest.mark.parametrize(
    ("flow", "order"),
    [
        (ph.Gauss(3), 4),
        (ph.MoserVeselov(6), 4),
        (ph.SymmetricRotation(), 2),
        (ph.Composed(ph.NoSquish(), "Suzuki4"), 4),
    ],
    ids=repr,
)
def test_other_flows(flow, order):
    errors = [error(Splitting(flow, "S4_6"), n) for n in (16, 32, 64)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), order, atol=0.1)
