"""``Magnus``: the order in time, every regime, quaternions and matrices, and the numbers of Gustafsson's thesis."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, random_attitude
from polhode.core.errors import AttitudeError, InputError, RunError, ShapeError, StepError, TimeError
from polhode.core.rotation import matrix
from polhode.flows.magnus import ORDERS, PER_T
from polhode.kernels.compiler import JIT
from test_gauss import DRAWS, THESIS, H, check_like_the_thesis, check_short_step, every_case, orders_in_doubles
from test_gauss import thesis_draws as draws

MANY = 400 if JIT else 20  # bodies
MOMENTS, START = (1.65, 1.0, 1.97), ph.State((0.3, 0.2, 0.9), (0.5, -0.5, 0.5, 0.5))

every_order = pytest.mark.parametrize("order", ORDERS)


@pytest.mark.parametrize(("order", "steps"), [(2, 64), (4, 32), (6, 8), (8, 3)])
def test_order_in_doubles(order, steps):
    np.testing.assert_allclose(orders_in_doubles(ph.Magnus(order), 6.0, steps), order, atol=0.2)


@pytest.mark.parametrize("nodes", PER_T)
def test_inverse_of_20(nodes):
    """Against (20) of the thesis without the factorial that is printed there."""
    powers = [[i + j for j in range(1, nodes + 1)] for i in range(nodes)]
    T = [[Fraction(1 - (-1) ** p, p * 2**p) for p in row] for row in powers]
    product = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*T, strict=True)]
        for row in PER_T[nodes]
    ]
    assert product == [[int(i == j) for j in range(nodes)] for i in range(nodes)]


@every_case
def test_short_step_from_every_golden_start(case):
    check_short_step(ph.Magnus(8), case, turn=0.02)


@pytest.fixture
def bodies(rng):
    m = rng.normal(size=(MANY, 3))
    m /= np.linalg.norm(m, axis=-1, keepdims=True)
    return ph.RigidBody.from_moments(rng.uniform(1, 3, (MANY, 3))), ph.State(m, random_attitude(rng, MANY))


@every_order
def test_momentum_is_that_of_the_exact_flow(bodies, order):
    body, start = bodies
    m = ph.Magnus(order).step(body, start, 1.5).m
    assert np.linalg.norm(m - ph.propagate(body.moments, start.m, start.q, 1.5)[0], axis=-1).max() <= 10 * EPS


@every_order
def test_return_trip(bodies, order):
    body, start = bodies
    flow = ph.Magnus(order)
    home = flow.step(body, flow.step(body, start, 0.8, 20), -0.8, 20)
    assert np.linalg.norm(home.m - start.m, axis=-1).max() <= 2000 * EPS  # rounding is sheared by 20 steps
    assert np.linalg.norm(home.q - start.q, axis=-1).max() <= 2000 * EPS


@every_order
def test_batch_is_the_loop_to_the_bit(bodies, order):
    body, start = bodies
    end = ph.Magnus(order).step(body, start, 0.4, 5)
    for i in range(20):
        one = ph.Magnus(order).step(body.moments[i], ph.State(start.m[i], start.q[i]), 0.4, 5)
        np.testing.assert_array_equal(end.m[i], one.m)
        np.testing.assert_array_equal(end.q[i], one.q)


@pytest.mark.parametrize("case", ["rest", "sphere", "spin"])
@every_order
def test_constant_velocity_is_exact(order, case):
    """Commutators vanish: any step is one rotation."""
    moments = (2.0, 2.0, 2.0) if case == "sphere" else MOMENTS
    m = {"rest": (0.0, 0.0, 0.0), "sphere": (0.3, -0.8, 0.4), "spin": (0.0, 0.0, -1.5)}[case]
    end = ph.Magnus(order).step(moments, ph.State(m, START.q), 3.0)
    expected = ph.propagate(moments, m, START.q, 3.0)
    np.testing.assert_allclose(end.m, expected[0], atol=2 * EPS)
    np.testing.assert_allclose(end.q, expected[1], atol=10 * EPS)


@every_order
def test_longest_step(order):
    """Of a sphere, up to it there is a result; beyond, powers of h would overflow."""
    flow, Q = ph.Magnus(order), matrix(START.q)
    end = flow.step((2.0, 2.0, 2.0), START, 0.9e12)
    assert abs(np.linalg.norm(end.q) - 1) <= 10 * EPS
    for h in (1e100, -1e160):
        with pytest.raises(TimeError, match="too long"):
            flow.step_matrix(MOMENTS, START.m, Q, h)


@every_order
def test_a_full_turn_in_a_step_is_refused(order):
    """The series converges for |Omega| < pi, half the angle of the step."""
    flow, body = ph.Magnus(order), ph.RigidBody(MOMENTS)
    rate = np.linalg.norm(body.omega(ph.free_motion(body, START).m(np.linspace(0, 100, 2001))), axis=-1)
    with pytest.raises(StepError, match="full turn") as caught:
        flow.step(MOMENTS, START, 3 * 2 * np.pi / rate.min())
    works = caught.value.working_step
    assert 0.9 * 2 * np.pi / rate.max() < works < 1.3 * 2 * np.pi / rate.min()
    flow.step(MOMENTS, START, 0.9 * 2 * np.pi / rate.max())
    flow.step(MOMENTS, START, works)
    with pytest.raises(TimeError, match="full turn"):
        flow.step_matrix(MOMENTS, START.m, matrix(START.q), 3 * 2 * np.pi / rate.min())
    with pytest.raises(RunError, match="full turn"):
        ph.integrate(ph.Problem(MOMENTS, START, t_span=(0, 300)), method=ph.Splitting(flow, "V2"), h=60.0)


@every_order
def test_a_steady_spin_takes_steps_of_many_turns(order):
    m = (0.0, 0.0, -1.5)
    end = ph.Magnus(order).step(MOMENTS, ph.State(m, START.q), 30.0)
    np.testing.assert_allclose(end.q, ph.propagate(MOMENTS, m, START.q, 30.0)[1], atol=50 * EPS)


def test_order_must_be_one_of_four():
    for order in (1, 3, 10, "4", None):
        with pytest.raises(InputError, match=r"order = .*expected one of 2, 4, 6, 8"):
            ph.Magnus(order)


# Matrices


@every_order
@pytest.mark.parametrize("moments", [(1.0, 1.65, 1.97), (1.97, 1.0, 1.65), (1.65, 1.0, 1.97), (2.0, 2.0, 1.0)])
def test_matrices_are_quaternions(order, moments):
    end = ph.Magnus(order).step(moments, START, -0.7, 30)
    m, Q = ph.Magnus(order).step_matrix(moments, START.m, matrix(START.q), -0.7, 30)
    np.testing.assert_array_equal(m, end.m)
    np.testing.assert_allclose(Q, matrix(end.q), atol=100 * EPS)


def test_matrix_of_a_body_with_a_tensor(rng):
    a = rng.normal(size=(3, 3))
    body = ph.RigidBody(a @ a.T + 4 * np.eye(3))
    end = ph.Magnus(6).step(body, START, 2.0, 10)
    m, Q = ph.Magnus(6).step_matrix(body, START.m, matrix(START.q), 2.0, 10)
    np.testing.assert_allclose(m, end.m, atol=20 * EPS)
    np.testing.assert_allclose(Q, matrix(end.q), atol=100 * EPS)


def test_step_matrix_changes_nothing_in_place():
    m, Q = np.array([0.3, 0.2, 0.9]), np.eye(3)
    same = ph.Magnus(4).step_matrix(MOMENTS, m, Q, 0.5, steps=0)
    ph.Magnus(4).step_matrix(MOMENTS, m, Q, 0.5)
    for a, b in ((same[0], [0.3, 0.2, 0.9]), (m, [0.3, 0.2, 0.9]), (same[1], np.eye(3)), (Q, np.eye(3))):
        np.testing.assert_array_equal(a, b)


def test_input_of_step_matrix():
    flow, m, Q = ph.Magnus(4), (0.3, 0.2, 0.9), np.eye(3)
    with pytest.raises(ShapeError, match="one body"):
        flow.step_matrix(MOMENTS, [m, m], Q, 0.1)
    with pytest.raises(ShapeError, match="one body"):
        flow.step_matrix(MOMENTS, m, Q, [0.1, 0.2])
    with pytest.raises(AttitudeError, match="not a rotation matrix"):
        flow.step_matrix(MOMENTS, m, 2 * Q, 0.1)
    with pytest.raises(TimeError):
        flow.step_matrix(MOMENTS, m, Q, np.inf)
    with pytest.raises(InputError, match="steps"):
        flow.step_matrix(MOMENTS, m, Q, 0.1, steps=-1)


# Table 2 of the thesis, order 8: mean errors of 50 runs to t = 10, matrix 2-norm

BY_MATRICES = np.array([7.11056953e-13, 1.58750216e-10, 4.54203021e-8])
BY_QUATERNIONS = np.array([7.11045663e-13, 1.58750231e-10, 4.54203022e-8])


def mean_errors(attitude_after):
    start, q = draws()
    exact = matrix(q)
    ends = np.array([[attitude_after(start.select((DRAWS,), i), h) for i in range(DRAWS)] for h in H])
    return np.linalg.norm(ends - exact, ord=2, axis=(-2, -1)).mean(axis=1)


def test_table_2_of_the_thesis():
    """As printed, and as found there: to four digits it does not matter whether q or Q is computed."""
    flow = ph.Magnus(8)
    by_matrices = mean_errors(lambda s, h: flow.step_matrix(THESIS, s.m, matrix(s.q), h, round(10 / h))[1])
    by_quaternions = mean_errors(lambda s, h: matrix(flow.step(THESIS, s, h, round(10 / h)).q))
    check_like_the_thesis(by_matrices, BY_MATRICES)
    check_like_the_thesis(by_quaternions, BY_QUATERNIONS)
    np.testing.assert_allclose(by_matrices, by_quaternions, rtol=2e-3)
