"""Every scheme on a torqued asymmetric body: order, torque evaluations, the way back, symplecticity, merged stages."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance
from oracles.top import top_flow
from polhode.core.rotation import conjugate, from_rotation_vector, multiply
from polhode.flows.composition import COMPOSITIONS
from polhode.forces.base import Torque
from polhode.integration.problem import Problem
from polhode.methods.scheme import Scheme
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
    strength = STRONG if SCHEMES[name].generalized_order else WEAK
    assert_order(SCHEMES[name].order, {n: error(name, n, strength) for n in STEPS})


def assert_order(order, errors):
    """Between n and 2 n steps, in both of the two finest pairs above round-off."""
    finest = [n for n in STEPS if errors.get(2 * n, 0.0) > ROUND_OFF][-2:]
    orders = np.log2([errors[n] / errors[2 * n] for n in finest])
    assert len(orders) == 2
    if order > HIGHEST_IN_DOUBLES:  # steps are still long; the conditions are checked in ``test_schemes``
        assert (orders > order - 0.2).all()
        assert min(errors.values()) < ROUND_OFF
        return
    np.testing.assert_allclose(orders, order, rtol=0, atol=0.2)


def steering(t, Q, w, p):
    """Depends on the angular velocity in every component: linearly, quadratically and on all axes at once."""
    return 0.3 * Q[2][1] - 0.4 * w[0] * w[1] - 0.5 * w[2], 0.5 * w[0] - 0.3 * Q[2][0], 0.3 * w[0] * w[2] - 0.4 * w[2]


STEERED = Problem(MOMENTS, ph.State(M0, Q0), Torque(steering), (0.0, 4.0))
OF_VELOCITIES = [name for name, scheme in SCHEMES.items() if not scheme.rkn_only]


def steered_slope(t, y):
    """Return m' = m x w + f and q' = q (0, w)/2."""
    m, (a, b, c, d) = y[:3], y[3:]
    w = [x / mpf(I) for x, I in zip(m, MOMENTS, strict=True)]
    up = 2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d
    f = steering(t, (None, None, up), w, ())
    turn = m[1] * w[2] - m[2] * w[1], m[2] * w[0] - m[0] * w[2], m[0] * w[1] - m[1] * w[0]
    return [
        *(x + y for x, y in zip(turn, f, strict=True)),
        -(b * w[0] + c * w[1] + d * w[2]) / 2,
        (a * w[0] + c * w[2] - d * w[1]) / 2,
        (a * w[1] + d * w[0] - b * w[2]) / 2,
        (a * w[2] + b * w[1] - c * w[0]) / 2,
    ]


@cache
def steered_truth():
    """By Taylor series in 20 digits."""
    with mp.workdps(20):
        y = mp.odefun(steered_slope, 0, [mpf(x) for x in (*M0, *Q0)])(4)
        return y[:3], y[3:]


def steered_error(method, steps):
    end = integrate(STEERED, method=method, h=4.0 / steps, save_every=steps).state()
    m, q = steered_truth()
    return float(np.hypot(distance(end.m, m), distance(end.q, q)))


def assert_steered_order(method):
    assert_order(method.order_for(STEERED.force), {n: steered_error(method, n) for n in STEPS})


@pytest.mark.dense
@pytest.mark.parametrize("name", OF_VELOCITIES)
def test_order_with_a_torque_of_the_velocity(name):
    """What is declared for such a torque is measured: 2, or the order of a composition of Strang's steps."""
    assert_steered_order(Splitting(None, name))


@pytest.mark.parametrize("first", ["A", "B"])
def test_merged_kicks_lower_the_order_with_a_torque_of_the_velocity(first):
    """Kicks at the ends of Strang's steps are merged, and then its steps are no longer what they were."""
    method = Splitting(None, Scheme.composed(COMPOSITIONS["Suzuki4"], first))
    assert method.order_for(STEERED.force) == {"A": 4, "B": 2}[first]
    assert_steered_order(method)


def test_digits_of_a_table_decide_nothing_about_the_order():
    """The scheme of Forest and Ruth is a composition of Strang's steps, also as printed with sixteen digits."""
    assert_steered_order(
        Splitting(None, Scheme.from_half("ForestRuth", 4, "A 0.6756035959798288 B 1.3512071919596577 A B"))
    )


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
