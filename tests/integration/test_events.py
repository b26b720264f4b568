"""Events and ``sol``: times known in closed form, batches in which each body stops alone, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow, addition_period
from oracles.top import top_flow
from polhode import errors, events, forces
from polhode.core.rotation import matrix, rotate
from polhode.integration.problem import Problem
from polhode.solve import integrate

MOMENTS, M0 = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9)
FREE = Problem(MOMENTS, ph.State(M0), t_span=(0.0, 80.0))  # m circles the third axis


def top(t_span=(0.0, 5.0), m=M0, q=(1, 0, 0, 0), moments=MOMENTS):
    return Problem(moments, ph.State(m, q), forces.gravity(1.0, (0.1, 0.2, 0.5)), t_span)


def true_top(t, start=0.0):
    """(m, q) of ``top`` at the times t, which go one way from the start, by Taylor series."""
    states = top_flow(MOMENTS, M0, (1, 0, 0, 0), np.subtract(t, start), (0.1, 0.2, 0.5), digits=16)
    return tuple(np.array(x, dtype=float) for x in zip(*states, strict=True))


@cache
def true_crossings():
    """When m of ``FREE`` has no middle component: once in half a period, in which it changes its sign."""
    with mp.workdps(30):
        half = addition_period(MOMENTS, M0) / 2
        first = mp.findroot(lambda t: addition_flow(MOMENTS, M0, (1, 0, 0, 0), t)[0][1], (0, half), solver="anderson")
        return [float(first + k * half) for k in range(int((80 - first) / half) + 1)]


def spinning(rate, t_span=(0.0, 10.0), force=None):
    """A sphere that spins about z at this rate, or these."""
    momentum = np.stack(np.broadcast_arrays(0.0, 0.0, rate), axis=-1)
    return Problem((1.0, 1.0, 1.0), ph.State(momentum), force, t_span)


def crossing(t, m, q):
    """The x axis of the body, seen along y of space."""
    return matrix(q)[..., 1, 0]


def test_middle_crossings_of_a_free_body():
    run = integrate(FREE, h=0.25, events=events.middle_crossing(MOMENTS))
    assert len(true_crossings()) == 4
    np.testing.assert_allclose(run.t_events[0], true_crossings(), rtol=0, atol=2e3 * EPS)
    np.testing.assert_allclose(run.m_events[0][:, 1], 0.0, atol=100 * EPS)


def test_sol_is_the_motion_between_steps():
    run = integrate(FREE, h=0.25, save_every=7)
    t = np.linspace(0.0, 80.0, 301).reshape(7, 43)
    m, q = run.sol(t)
    assert (m.shape, q.shape) == ((7, 43, 3), (7, 43, 4))
    for k in list(np.ndindex(t.shape))[::4]:
        true_m, true_q = addition_flow(MOMENTS, M0, (1, 0, 0, 0), t[k])
        assert distance(m[k], true_m) < 500 * EPS
        assert distance(q[k], true_q) < 500 * EPS


def test_sol_at_stored_times_is_what_is_stored():
    run = integrate(top(), h=0.1, save_every=4)
    m, q = run.sol(run.t)
    assert np.array_equal(m, run.m)
    assert np.array_equal(q, run.q)


@pytest.mark.parametrize("options", [{}, {"save_every": 5}, {"t_eval": np.array([1.0, 3.3])}])
def test_sol_has_the_order_of_the_method(options):
    t = np.array([0.777, 3.456])
    truth, errors_ = true_top(t), []
    for h in (0.2, 0.1, 0.05):
        sol = integrate(top(), method="V2", h=h, **options).sol(t)
        errors_.append([np.abs(x - y).max() for x, y in zip(sol, truth, strict=True)])
    orders = -np.diff(np.log2(errors_), axis=0)
    assert (np.abs(orders - 2) < 0.2).all()


def test_sol_outside_is_refused():
    with pytest.raises(errors.TimeError, match=r"expected t from 0 to 5; got \(5\.1\)"):
        integrate(top(), h=0.1).sol([1.0, 5.1])


def test_direction_and_backward_time():
    problem = spinning(1.0)
    for direction, expected in ((0, [1, 2, 3]), (1, [2]), (-1, [1, 3])):
        run = integrate(problem, h=0.3, events=events.Event("crossing", crossing, direction=direction))
        np.testing.assert_allclose(run.t_events[0], np.pi * np.array(expected), rtol=4 * EPS)
    run = integrate(problem, (10.0, 0.5), h=0.3, events=crossing)  # an attitude of 0 at t = 10: sin(t - 10)
    np.testing.assert_allclose(run.t_events[0], 10 - np.pi * np.arange(1, 4), rtol=0, atol=40 * EPS)


@pytest.mark.parametrize("start", [0.0, 10.0])
@pytest.mark.parametrize("direction", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("terminal", [True, 2])
@pytest.mark.parametrize("method", ["V2", ph.Adaptive(1e-12)])
def test_a_terminal_event_that_holds_at_the_start_is_that_of_scipy(start, terminal, direction, method):
    """sin(t - start), which is zero there: SciPy is asked."""

    def of_scipy(t, y):
        return y[0]

    def own(t, m, q):
        return crossing(t, m, q)

    for event in (of_scipy, own):
        event.terminal, event.direction = terminal, direction
    span = start, start + (8.0 if start == 0.0 else -8.0)
    expected = solve_ivp(
        lambda t, y: [y[1], -y[0]], span, [0.0, 1.0], "DOP853", events=of_scipy, max_step=0.3, rtol=1e-10, atol=1e-12
    )
    run = integrate(spinning(1.0), span, method=method, h=0.3 if method == "V2" else None, events=own)
    assert run.status == expected.status
    assert run.success
    np.testing.assert_allclose(run.t_events[0], expected.t_events[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.t[[0, -1]], expected.t[[0, -1]], rtol=0, atol=1e-7)
    if expected.t_events[0].size and expected.t_events[0][0] == start:
        assert run.t_events[0][0] == start
        np.testing.assert_array_equal(run.q_events[0][0], (1, 0, 0, 0))


def test_another_event_at_the_start_is_none():
    run = integrate(spinning(1.0, (0.0, 3.0)), h=0.1, events=crossing)
    assert run.t_events[0].shape == (0,)
    assert run.m_events[0].shape == (0, 3)
    assert run.q_events[0].shape == (0, 4)


def test_what_stays_zero_ends_a_body_alone():
    def stop(t, m, q):
        return crossing(t, m, q)

    stop.terminal = True
    run = integrate(spinning([0.0, 1.0], (1.0, 5.0)), h=0.1, events=stop)
    assert run.t_events[0][0].tolist() == [1.0]
    assert run.status.tolist() == [1, 1]
    stop.terminal = 2
    run = integrate(spinning([0.0, 1.0], (1.0, 5.0)), h=0.1, events=stop)
    assert run.t_events[0][0].tolist() == [1.0]
    np.testing.assert_allclose(run.t_events[0][1], [1.0, 1.0 + np.pi], rtol=0, atol=1e-14)
    assert run.status.tolist() == [0, 1]


def test_terminal_event_ends_the_run_there():
    def second(t, m, q):
        return crossing(t, m, q)

    second.terminal = 3  # with that at the start
    run = integrate(spinning(1.0), h=0.3, events=[second, crossing])
    assert run.status == 1
    assert run.success
    assert run.t[-1] == run.t_events[0][-1] == run.t_events[1][-1]
    np.testing.assert_allclose(run.t_events[1], [np.pi, 2 * np.pi], rtol=4 * EPS)
    np.testing.assert_array_equal(run.q[-1], run.q_events[0][-1])
    assert np.isfinite(run.q).all()
    assert np.isnan(run.sol(6.5)[0]).all()
    at = integrate(spinning(1.0), h=0.3, events=second, t_eval=[0.0, 1.0, 6.0, 7.0])
    np.testing.assert_array_equal(at.t, [0.0, 1.0, 6.0])


def test_each_body_of_a_batch_stops_alone():
    rates = np.array([[0.4, 1.0], [2.0, 0.01]])
    event = events.cone(axis=(1, 0, 0), about=(0, 1, 0), angle=0.5, terminal=True)
    run = integrate(spinning(rates), h=0.125, events=event)
    expected = (0.5 * np.pi - 0.5) / rates
    np.testing.assert_array_equal(run.status, [[1, 1], [1, 0]])
    for index in np.ndindex(2, 2):
        stopped = run.status[index] == 1
        np.testing.assert_allclose(run.t_events[0][index], [expected[index]] if stopped else [], rtol=20 * EPS)
        assert run.m_events[0][index].shape == (int(stopped), 3)
        np.testing.assert_array_equal(np.isnan(run.m[(slice(None), *index, 0)]), stopped & (run.t > expected[index]))


def test_an_event_may_depend_on_the_body():
    levels = np.array([0.2, 0.5, -0.3])

    def level(t, m, q):
        return crossing(t, m, q) - levels

    run = integrate(spinning(np.ones(3), (0.0, 4.0)), h=0.1, events=level)
    for times, value in zip(run.t_events[0], levels, strict=True):
        roots = [np.arcsin(value), np.pi - np.arcsin(value)]
        np.testing.assert_allclose(times, [t for t in roots if 0 < t < 4], rtol=10 * EPS)


def test_energy_lost_by_damping():
    problem = spinning(2.0, force=forces.damping((0.1, 0.1, 0.1)) + forces.gravity(1.0, (0, 0, 0.3)))
    run = integrate(problem, method="V2", h=0.25, events=events.energy(problem, 1.3, terminal=True))
    np.testing.assert_allclose(run.t_events[0], [np.log(2.0) / 0.2], rtol=100 * EPS)


def test_section_of_a_symmetric_body():
    w = (1 / 2.0 - 1 / 1.0) * 0.9  # m turns about the symmetry axis at this rate
    problem = Problem((1.0, 1.0, 2.0), ph.State((0.3, 0.0, 0.9)), t_span=(0.0, 40.0))
    body = problem.body
    for of, event in (("m", events.section((0, 1, 0))), ("omega", events.section((0, 1, 0), of="omega", body=body))):
        run = integrate(problem, h=0.5, events=event)
        np.testing.assert_allclose(run.t_events[0], 2 * np.pi / abs(w) * np.arange(1, 3), rtol=100 * EPS, err_msg=of)
    still = integrate(problem, h=0.5, events=events.section((1, 0, 0), offset=0.2, of="m_space"))
    assert len(still.t_events[0]) == 0


def test_axes_of_a_tensor(rng):
    A = matrix(random_attitude(rng))
    body = ph.RigidBody(A @ np.diag(MOMENTS) @ A.T)
    problem = Problem(body, ph.State(A @ np.array(M0)), t_span=FREE.t_span)
    run = integrate(problem, h=0.25, events=events.middle_crossing(body))
    np.testing.assert_allclose(run.t_events[0], true_crossings(), rtol=0, atol=1e5 * EPS)
    fixed = rotate(run.q_events[0], run.m_events[0])
    np.testing.assert_allclose(fixed - A @ np.array(M0), 0.0, atol=1e3 * EPS)


def test_a_torque_that_fails_after_the_event_does_no_harm():
    def torque(t, Q, w, p):
        if t > 4.0:
            raise ValueError("too late")
        return 0.0, 0.0, 0.0

    def stop(t, m, q):
        return t - 3.9

    stop.terminal = True
    run = integrate(spinning(1.0, force=ph.Torque(torque)), method="S4_6", h=0.2, events=stop)
    assert run.status == 1
    assert run.t[-1] == 3.9


def test_refused():
    with pytest.raises(errors.InputError, match="expected a function"):
        integrate(top(), h=0.1, events=3)
    with pytest.raises(errors.ShapeError, match=r"one number for each state; type m\[..., 0\]"):
        integrate(top(), h=0.1, events=lambda t, m, q: m[0])
    with pytest.raises(errors.InertiaError, match="no middle axis"):
        events.middle_crossing((1.0, 1.0, 2.0))
    with pytest.raises(errors.InputError, match="between 0 and pi"):
        events.cone((1, 0, 0), (0, 0, 1), 4.0)
    with pytest.raises(errors.UnknownNameError, match="did you mean 'omega'"):
        events.section((1, 0, 0), of="omga")
    with pytest.raises(errors.InputError, match="needs the body"):
        events.section((1, 0, 0), of="omega")
    with pytest.raises(AttributeError, match="has no energy"):
        events.energy(spinning(1.0, force=forces.constant((0, 0, 1.0))), 1.0)


def test_adaptive_steps_find_the_same_crossings():
    run = integrate(FREE, method=ph.Adaptive(1e-13), events=events.middle_crossing(MOMENTS))
    np.testing.assert_allclose(run.t_events[0], true_crossings(), rtol=0, atol=1e-10)
    m, q = run.sol(run.t_events[0])
    np.testing.assert_array_equal(m, run.m_events[0])
    np.testing.assert_array_equal(q, run.q_events[0])
    np.testing.assert_allclose(m[:, 1], 0.0, atol=100 * EPS)


@pytest.mark.parametrize("t_span", [(0.0, 5.0), (5.0, -2.0)])
def test_sol_of_adaptive_steps(t_span):
    problem = top(t_span)
    run = integrate(problem, method=ph.Adaptive(1e-10))
    t = np.linspace(*t_span, 50)
    true_m, true_q = true_top(t, t_span[0])
    m, q = run.sol(t)
    assert np.abs(m - true_m).max() < 1e-9
    assert np.abs(q - true_q).max() < 1e-9
    m, q = run.sol(run.t)
    assert np.array_equal(m, run.m)
    assert np.array_equal(q, run.q)
    at = integrate(problem, method=ph.Adaptive(1e-10), t_eval=t)
    np.testing.assert_allclose(at.q, run.sol(t)[1], rtol=0, atol=20 * EPS)
    with pytest.raises(AttributeError, match="dense_output=True"):
        at.sol(t)


def test_bodies_with_steps_of_their_own_stop_alone():
    rates = np.array([[0.4, 1.0], [2.0, 0.01]])
    event = events.cone(axis=(1, 0, 0), about=(0, 1, 0), angle=0.5, terminal=True)
    t = np.linspace(0.0, 10.0, 21)
    run = integrate(spinning(rates), method=ph.Adaptive(1e-12), t_eval=t, events=event)
    expected = (0.5 * np.pi - 0.5) / rates
    np.testing.assert_array_equal(run.status, [[1, 1], [1, 0]])
    for index in np.ndindex(2, 2):
        stopped = run.status[index] == 1
        np.testing.assert_allclose(run.t_events[0][index], [expected[index]] if stopped else [], rtol=1e-11)
        np.testing.assert_array_equal(np.isnan(run.m[(slice(None), *index, 0)]), stopped & (t > expected[index]))


def test_adaptive_runs_say_why_they_stopped():
    def torque(t, Q, w, p):
        return 0.0, 0.0, 1.0 / (3.0 - t) if t < 3.0 else float("nan")

    with pytest.raises(errors.RunError, match=r"at t = 3, .*the torque is \(0.0, 0.0, nan\)") as caught:
        integrate(spinning(1.0, force=ph.Torque(torque)), method="Adaptive")
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(3.0, abs=1e-6)
    assert np.isfinite(kept.q).all()


def test_long_steps_skip_nothing():
    run = integrate(spinning(1.0, (0.0, 100.0)), h=25.0, events=crossing)
    np.testing.assert_allclose(run.t_events[0], np.pi * np.arange(1, 32), rtol=20 * EPS)
