"""Taylor: series of the motion against high precision and other methods, and in every regime."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import ellipk

import polhode as ph
from conftest import EPS, distance, random_attitude
from polhode import Status, forces
from polhode.core.errors import InputError, RunError
from polhode.core.progress import Progress
from polhode.files import long_run_writer
from polhode.integration import running
from polhode.kernels.compiler import JIT
from test_torqued_golden import CASES, PROBLEMS, errors, numbers, times

MOMENTS = (1.0, 1.65, 1.97)
STATE = ph.State(m=(0.3, 2.2, 0.9), q=(0.8, 0.0, 0.6, 0.0))


def control(t, Q, w, p):
    speed = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-6)
    a, b, c = Q[1][2] - Q[2][1], Q[2][0] - Q[0][2], Q[0][1] - Q[1][0]
    return p[0] * a - p[1] * speed * w[0], p[0] * b - p[1] * speed * w[1], p[0] * c - p[1] * speed * w[2]


def driven(t, Q, w, p):
    strength = p[0] * (1 + math.sin(2 * t) / 2)
    return strength * Q[2][1], -strength * Q[2][0], 0.0


FORCES = {
    "weight": ph.forces.gravity(3.0, (0, 0, 1)),
    "driven weight": ph.Torque(driven, params=[1.0]),
    "control": ph.Torque(control, params=[0.5, 0.3]),
    "gravity gradient": ph.forces.gravity_gradient(MOMENTS, 0.5, orbit_rate=0.3),
    "damping": ph.forces.gravity(3.0, (0, 0, 1)) + ph.forces.damping([(0.2, 0.1, 0), (0.1, 0.3, 0), (0, 0, 0.1)]),
    "nothing": ph.forces.constant((0.0, 0.0, 0.0)),
}
ROTATION = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
BODIES = {"moments": MOMENTS, "tensor": ROTATION @ np.diag(MOMENTS) @ ROTATION.T}


def top(t_end=10.0, **changes):
    return ph.Problem(MOMENTS, STATE, FORCES["weight"], (0.0, t_end)).replaced(**changes)


def same(a, b):
    """The same times and states to the bit."""
    for name in ("t", "m", "q"):
        assert_array_equal(getattr(a, name), getattr(b, name))


# Against solutions found in other ways.


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", FORCES)
@pytest.mark.parametrize("span", [(0.3, 5.3), (0.3, -0.7)])
def test_it_agrees_with_adaptive_steps(name, body, span):
    problem = ph.Problem(BODIES[body], STATE, FORCES[name], span)
    expected = ph.integrate(problem, method=ph.Adaptive(1e-13))
    traj = ph.integrate(problem, method=ph.Taylor())
    assert np.abs(traj.q[-1] - expected.q[-1]).max() < 1e-11
    assert np.abs(traj.m[-1] - expected.m[-1]).max() < 1.5e-11
    # Squares are corrected if they differ from 1 by more than 6 EPS; a tensor takes a product of quaternions more.
    assert abs(np.linalg.norm(traj.q, axis=1) - 1).max() < 12 * EPS


@pytest.mark.dense
@pytest.mark.parametrize("name", PROBLEMS)
def test_golden_states(name):
    traj = ph.integrate(PROBLEMS[name](), method=ph.Taylor(), t_eval=times(CASES[name]))
    assert max(errors(CASES[name], traj.m, traj.q)) <= (2e-13 if name == "satellite" else 4e-14)


@pytest.mark.dense
@pytest.mark.parametrize("name", ["gyro_top_steady", "gyro_top_nutating"])
@pytest.mark.parametrize("batch", [(), (1,)])
def test_constants_are_not_rounded_alike_in_every_step(name, batch):
    """1/k, the moments of inertia and their differences: a fast top would turn too far, by 2e-14 to 4e-14.

    Other errors, 1e-14 in a run, are random, and cancel in the mean of many runs.
    """
    case = CASES[name]
    weight = forces.gravity(numbers(case, "s")[2], (0.0, 0.0, 1.0))
    state = ph.State(np.resize(numbers(case, "m0"), (*batch, 3)), np.resize(numbers(case, "q0"), (*batch, 4)))
    problem = ph.Problem(numbers(case, "I"), state, weight, (0.0, times(case)[-1]))
    expected = np.array(case["states"][-1]["q"], dtype=float)
    found = []
    for order, rtol in itertools.product((20, 22, 24, 26), (1e-15, 8e-16, 5e-16, 3e-16, 2 * EPS)):
        traj = ph.integrate(problem, method=ph.Taylor(rtol, order=order), t_eval=times(case))
        found.append(traj.q[-1].reshape(4) - expected)
    assert np.linalg.norm(np.mean(found, axis=0)) < 7e-15


@pytest.mark.dense
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("name", PROBLEMS)
def test_errors_follow_the_tolerance(name, rtol):
    """Those of 5 to 640 steps; the error of the satellite grows with the square of the time."""
    traj = ph.integrate(PROBLEMS[name](), method=ph.Taylor(rtol), t_eval=times(CASES[name]))
    assert max(errors(CASES[name], traj.m, traj.q)) <= 100 * rtol


@pytest.mark.parametrize("moments", [MOMENTS, (1.0, 1.0, 2.0), (1.0, 1.0, 1.0), (3.0, 1.0, 2.0)])
@pytest.mark.parametrize("t_end", [20.0, -20.0])
def test_a_free_body_against_the_closed_form(moments, t_end):
    t = np.linspace(0.0, t_end, 7)
    traj = ph.integrate(ph.Problem(moments, STATE, None, (0.0, t_end)), method=ph.Taylor(), t_eval=t)
    m, q = ph.propagate(moments, STATE.m, STATE.q, t)
    np.testing.assert_allclose(traj.m, m, rtol=0, atol=300 * EPS)
    np.testing.assert_allclose(traj.q, q, rtol=0, atol=300 * EPS)


STEPS = {4: 128, 6: 64}


@pytest.mark.parametrize("order", STEPS)
def test_the_order_of_steps(order):
    """Of fixed length: `max_step` is far below the steps that the tolerance admits."""
    exact = ph.integrate(top(2.0), method=ph.Taylor())
    found = []
    for n in (STEPS[order], 2 * STEPS[order]):
        traj = ph.integrate(top(2.0), method=ph.Taylor(0.01, max_step=2.0 / n, order=order))
        assert traj.stats.steps in (n, n + 1)
        found.append(max(distance(traj.m[-1], exact.m[-1]), distance(traj.q[-1], exact.q[-1])))
    assert found[1] > 100 * EPS
    assert math.log2(found[0] / found[1]) == pytest.approx(order, abs=0.5)


@pytest.mark.long
def test_energies_of_many_tops_walk_randomly(rng):
    """After 2e5 steps each."""
    count = 24
    state = ph.State(rng.normal(size=(count, 3)), random_attitude(rng, count))
    problem = ph.Problem(MOMENTS, state, forces.gravity(1.0, (0, 0, 1)), (0.0, 1e5))
    traj = ph.integrate(problem, method=ph.Taylor(), t_eval=[0.0, 1e5])
    assert traj.stats.steps > 2e5
    energy = traj.energy
    scale = 1.0 + abs(energy[0])
    assert np.sqrt(np.mean(((energy[-1] - energy[0]) / scale) ** 2)) < 1e-13


# What holds to the bit, or to rounding.


@pytest.mark.parametrize(("a", "b"), [(1, 0), (0, 1), (-300, 200), (200, -300), (-300, -300), (300, 300)])
@pytest.mark.parametrize("kind", ["free", "weight", "damped"])
def test_powers_of_two_change_nothing(a, b, kind):
    """m 2^a, I 2^b, t 2^(b - a), torque 2^(2a - b), damping 2^a."""

    def scaled(a, b):
        weight = forces.gravity(1.5 * 2.0 ** (2 * a - b), (0.3, 0.0, 0.4)) if abs(2 * a - b) < 1000 else None
        force = {"free": None, "weight": weight, "damped": weight and weight + forces.damping(0.01 * 2.0**a)}[kind]
        span = (0.0, 8.0 * 2.0 ** (b - a))
        problem = ph.Problem(2.0**b * np.array(MOMENTS), ph.State(2.0**a * STATE.m, STATE.q), force, span)
        return ph.integrate(problem, method=ph.Taylor(1e-12))

    plain, other = scaled(0, 0), scaled(a, b)
    assert_array_equal(plain.t, 2.0 ** (a - b) * other.t)
    assert_array_equal(plain.m, 2.0**-a * other.m)
    assert_array_equal(plain.q, other.q)


@pytest.mark.parametrize("end", [1.0, -1.0])
def test_a_state_within_a_step_does_not_depend_on_other_times(end):
    """Times of a step are evaluated together, more of them here than at once: see ``taylor_samples``."""
    problem = ph.Problem(MOMENTS, STATE, forces.gravity(0.5, (0, 0, 1)), (0.0, end))
    t = np.linspace(0.0, end, 301)
    traj = ph.integrate(problem, method=ph.Taylor(1e-12), t_eval=t)
    assert traj.stats.steps < 6
    for i in range(0, len(t), 20):
        alone = ph.integrate(problem, method=ph.Taylor(1e-12), t_eval=t[i : i + 1])
        assert_array_equal(alone.m[0], traj.m[i])
        assert_array_equal(alone.q[0], traj.q[i])
    other = ph.integrate(problem, method=ph.Adaptive(1e-13), t_eval=t)
    np.testing.assert_allclose(traj.m, other.m, rtol=0, atol=1e-11)
    np.testing.assert_allclose(traj.q, other.q, rtol=0, atol=1e-11)


@pytest.mark.dense
def test_t_eval_costs_no_steps():
    whole = ph.integrate(top(), method=ph.Taylor())
    for count in (1, 2, 5000):
        traj = ph.integrate(top(), method=ph.Taylor(), t_eval=np.linspace(10.0 / count, 10.0, count))
        assert traj.stats.steps == whole.stats.steps
        assert_array_equal(traj.m[-1], whole.m[-1])
        assert_array_equal(traj.q[-1], whole.q[-1])


def test_states_between_steps_are_as_exact_as_their_ends():
    t = np.linspace(0.0, 2.0, 333)
    traj = ph.integrate(top(2.0), method=ph.Taylor(), t_eval=t)
    fine = ph.integrate(top(2.0), method=ph.Taylor(max_step=0.05), t_eval=t)
    np.testing.assert_allclose(traj.m, fine.m, rtol=0, atol=70 * EPS)
    np.testing.assert_allclose(traj.q, fine.q, rtol=0, atol=50 * EPS)


@pytest.mark.parametrize("span", [(0.0, 6.0), (6.0, 0.0)])
def test_sol_evaluates_the_same_polynomials(span):
    t = np.linspace(*span, 50)
    problem = ph.Problem(MOMENTS, STATE, FORCES["driven weight"], span)
    traj = ph.integrate(problem, method=ph.Taylor(1e-9), t_eval=t, dense_output=True)
    m, q = traj.sol(t)
    np.testing.assert_allclose(m, traj.m, rtol=0, atol=20 * EPS)
    np.testing.assert_allclose(q, traj.q, rtol=0, atol=20 * EPS)


def test_backward_comes_back():
    there = ph.integrate(top(5.0, force=FORCES["control"]), method=ph.Taylor())
    start = top(force=FORCES["control"], state=ph.State(there.m[-1], there.q[-1]), t_span=(5.0, 0.0))
    back = ph.integrate(start, method=ph.Taylor())
    assert distance(back.m[-1], STATE.m) < 1e-13
    assert distance(back.q[-1], STATE.q) < 1e-13


def test_steps_end_at_max_step():
    traj = ph.integrate(top(2.05), method=ph.Taylor(max_step=0.1))
    assert np.diff(traj.t).max() <= 0.101
    assert traj.t[-1] == 2.05
    longest = np.diff(ph.integrate(top(), method=ph.Taylor()).t).max()
    assert longest > 0.2


def several(count, rng):
    """Moments, states and parameters of bodies that differ in speed by up to 1e4, and their force."""
    moments = rng.uniform(1.0, 2.0, (count, 3))
    speeds = 10.0 ** rng.uniform(-2.0, 2.0, (count, 1))
    return moments, rng.normal(size=(count, 3)) * speeds, random_attitude(rng, count), rng.uniform(0.1, 1.0, (count, 2))


def batch_of(moments, m, q, params, method=None):
    force = ph.Torque(control, params) + forces.damping(0.1)
    body = ph.RigidBody.from_moments(moments)
    problem = ph.Problem(body, ph.State(m)._exactly(q=q), force, (0.0, 3.0))
    t = np.linspace(0.0, 3.0, 7)
    return ph.integrate(problem, method=method or ph.Taylor(1e-12), t_eval=t, dense_output=True)


def test_a_batch_is_its_bodies(rng):
    """With moments, states and parameters of their own; code for lanes rounds differently."""
    bodies = several(5, rng)
    batch = batch_of(*bodies)
    for i in range(5):
        alone = batch_of(*(array[i] for array in bodies), method=ph.Taylor(1e-13))
        size = abs(alone.m).max()
        np.testing.assert_allclose(batch.m[:, i], alone.m, rtol=0, atol=3e-11 * size)
        np.testing.assert_allclose(batch.q[:, i], alone.q, rtol=0, atol=3e-11)


@pytest.mark.dense
@pytest.mark.parametrize("count", range(1, 10))
def test_bits_depend_neither_on_lanes_nor_on_neighbors(count, rng):
    """Any order of the bodies, and any number of them."""
    bodies = several(9, rng)
    whole = batch_of(*bodies)
    chosen = rng.permutation(9)[:count]
    part = batch_of(*(array[chosen] for array in bodies))
    assert_array_equal(part.m, whole.m[:, chosen])
    assert_array_equal(part.q, whole.q[:, chosen])
    time = 1.7  # within steps
    assert_array_equal(part.sol(time)[1], whole.sol(time)[1][chosen])


@pytest.mark.dense
def test_bits_do_not_depend_on_threads(rng, monkeypatch):
    bodies = several(200, rng)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "1")
    one = batch_of(*bodies)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "2")
    same(one, batch_of(*bodies))


def test_bits_do_not_depend_on_a_neighbor_that_fails():
    m = np.array([(0.1, -0.2, 0.3), (0.0, 0.0, 0.0), (0.3, 0.2, 0.1)])  # the second one is at rest

    def run(rows):
        problem = ph.Problem(MOMENTS, ph.State(m[rows]), ph.Torque(square_root), (0.0, 1.0))
        return ph.integrate(problem, method=ph.Taylor(), t_eval=[0.0, 0.7, 1.0])

    with pytest.warns(ph.errors.RunWarning, match="1 of 3 bodies"):
        with_failure = run([0, 1, 2])
    assert_array_equal(with_failure.m[:, [0, 2]], run([0, 2]).m)


def test_a_batch_of_tensors(rng):
    """The same body in axes that are turned differently: the torque and m turn with them."""
    turns = ph.rotation.matrix(random_attitude(rng, 3))
    tensors = np.einsum("nij,j,nkj->nik", turns, MOMENTS, turns)
    tensors = (tensors + np.swapaxes(tensors, 1, 2)) / 2
    m = turns @ np.array(STATE.m)
    q = ph.rotation.multiply(STATE.q, ph.rotation.conjugate(ph.rotation.from_matrix(turns)))

    def weight(t, Q, w, p):
        return Q[2][1] * p[2] - Q[2][2] * p[1], Q[2][2] * p[0] - Q[2][0] * p[2], Q[2][0] * p[1] - Q[2][1] * p[0]

    force = ph.Torque(weight, 3.0 * turns[:, :, 2])
    batch = ph.integrate(ph.Problem(tensors, ph.State(m, q), force, (0.0, 2.0)), method=ph.Taylor(), t_eval=[2.0])
    straight = ph.integrate(top(2.0, force=ph.Torque(weight, (0.0, 0.0, 3.0))), method=ph.Taylor())
    for i in range(3):
        np.testing.assert_allclose(turns[i].T @ batch.m[0, i], straight.m[-1], rtol=0, atol=1e-13)
        found = ph.rotation.matrix(batch.q[0, i]) @ turns[i]
        np.testing.assert_allclose(found, ph.rotation.matrix(straight.q[-1]), rtol=0, atol=1e-13)


# Runs: events, streams, steps of the caller.


@pytest.mark.dense
def test_events():
    """The third axis of a pendulum passes the vertical."""
    problem = ph.Problem((1.0, 1.0, 1.0), ph.State((0, 0, 0), (math.cos(0.5), math.sin(0.5), 0, 0)), t_span=(0, 20))
    problem = problem.replaced(force=forces.gravity(1.0, (0, 0, -1)))  # angle'' = -sin(angle), from 1 rad

    def passes(t, m, q):
        return q[..., 1]

    traj = ph.integrate(problem, method=ph.Taylor(), events=passes)
    quarter = ellipk(math.sin(0.5) ** 2)  # of the period of a pendulum
    np.testing.assert_allclose(traj.t_events[0], quarter * np.arange(1, 20, 2)[: len(traj.t_events[0])], atol=1e-13)
    assert len(traj.t_events[0]) == 6
    np.testing.assert_allclose(traj.q_events[0][:, 1], 0.0, atol=1e-14)
    passes.terminal = True
    traj = ph.integrate(problem, method=ph.Taylor(), events=passes)
    assert traj.t[-1] == pytest.approx(quarter, abs=1e-14)


@pytest.mark.dense
@pytest.mark.parametrize("momenta", [(0.3, 2.2, 0.9), [(0.3, 2.2, 0.9), (0.1, -0.7, 4.0)]])
def test_sol_has_the_bits_of_states_at_given_times(momenta):
    problem, t = top(40.0, state=ph.State(momenta)), np.linspace(0.0, 40.0, 2001)
    m, q = ph.integrate(problem, method=ph.Taylor(), dense_output=True).sol(t)
    expected = ph.integrate(problem, method=ph.Taylor(), t_eval=t)
    assert_array_equal(m, expected.m)
    assert_array_equal(q, expected.q)


@pytest.mark.dense
@pytest.mark.parametrize("calls", [1, 3])
def test_a_stream_goes_on_to_the_bit(tmp_path, monkeypatch, calls):
    pytest.importorskip("zarr")
    path, t = tmp_path / "run.zarr", np.linspace(0.0, 40.0, 301)
    problem = top(40.0, state=ph.State([(0.3, 2.2, 0.9), (0.1, -0.7, 4.0)]))
    monkeypatch.setattr(running, "FIRST_PIECE", 20)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    monkeypatch.setattr(long_run_writer, "COMMIT_SECONDS", 0.0)
    show, seen = Progress.show, []

    def interrupted(self, *arguments):
        seen.append(arguments)
        if len(seen) >= calls:
            raise KeyboardInterrupt
        return show(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "show", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            ph.stream(problem, path, method=ph.Taylor(), t_eval=t, chunk=16)
    assert caught.value.trajectory.rows < 301
    assert ph.resume(path, problem).success
    loaded, expected = ph.load(path), ph.integrate(problem, method=ph.Taylor(), t_eval=t)
    same(loaded, expected)
    assert loaded.stats.steps == expected.stats.steps
    assert loaded.method == ph.Taylor()


def test_steps_of_the_caller_are_those_of_integrate():
    traj = ph.integrate(top(), method=ph.Taylor(max_step=math.inf))
    run = ph.start(top(), method=ph.Taylor(max_step=math.inf))
    for t, m, q in zip(traj.t[:-1], traj.m, traj.q, strict=False):
        assert run.t == t
        assert_array_equal(run.m, m)
        assert_array_equal(run.q, q)
        run.step()


def branched(t, Q, w, p):
    """A spring or a constant, as the first parameter says."""
    if p[0] > 0:
        return -p[0] * w[0], p[1], 0.0
    return 0.0, p[1] * Q[0][0], math.sin(p[0]) * w[1]


def test_parameters_may_change_between_steps():
    """Also those that decide a branch; compared with runs that begin anew there."""
    problem = top(force=ph.Torque(branched, (0.5, 0.2)))
    method = ph.Taylor(max_step=math.inf)
    run = ph.start(problem, method=method)
    state = problem.state
    for number, params in enumerate([(0.5, 0.2), (0.7, -0.3), (-0.4, 0.6), (0.1, 0.1)]):
        run.params[:] = params
        run.to(number + 1.0)
        part = ph.Problem(MOMENTS, state, ph.Torque(branched, params), (float(number), number + 1.0))
        expected = ph.integrate(part, method=ph.Adaptive(1e-13))
        np.testing.assert_allclose(run.m, expected.m[-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.q, expected.q[-1], rtol=0, atol=1e-12)
        state = run.state


# Rest, equilibria, and the end of motion.


def test_rest_is_one_step():
    traj = ph.integrate(ph.Problem(MOMENTS, ph.State((0, 0, 0), STATE.q), None, (0.0, 1e9)), method=ph.Taylor())
    assert traj.stats.steps == 1
    assert_array_equal(traj.m[-1], (0, 0, 0))
    assert_array_equal(traj.q[-1], STATE.q)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_from_rest(size):
    """A torque about one axis, of a body at rest: the angle is f t^2/2 I."""
    problem = ph.Problem((2.0, 3.0, 4.0), ph.State((0, 0, 0)), forces.constant((size, 0, 0)), (0.0, 2.0 / size**0.5))
    traj = ph.integrate(problem, method=ph.Taylor())
    assert traj.m[-1, 0] == pytest.approx(2.0 * size**0.5, rel=1e-15)
    np.testing.assert_allclose(traj.q[-1], [np.cos(0.5), np.sin(0.5), 0, 0], rtol=0, atol=4 * EPS)


def test_an_equilibrium_stays_one():
    """A top that hangs; all torques vanish."""
    traj = ph.integrate(top(1e6, state=ph.State((0, 0, 0), (0, 1, 0, 0))), method=ph.Taylor())
    assert_array_equal(traj.m[-1], (0, 0, 0))
    assert_array_equal(traj.q[-1], (0, 1, 0, 0))


@pytest.mark.dense
def test_a_sleeping_top():
    """It spins upright: a rotation about one axis, which no torque disturbs."""
    problem = ph.Problem((1.0, 1.0, 0.5), ph.State((0, 0, 4.0)), forces.gravity(1.0, (0, 0, 1)), (0.0, 100.0))
    traj = ph.integrate(problem, method=ph.Taylor())
    assert_array_equal(traj.m[-1], (0, 0, 4.0))
    np.testing.assert_allclose(traj.q[-1], [math.cos(400.0), 0, 0, math.sin(400.0)], rtol=0, atol=1e-12)


@pytest.mark.dense
def test_damping_to_a_full_stop():
    """|m| falls through all powers of ten that there are."""
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 1.0)), forces.damping(1.97), (0.0, 2000.0))
    traj = ph.integrate(problem, method=ph.Taylor())
    assert traj.success
    assert abs(traj.m[-1]).max() < 1e-280
    angle = 0.5 / 1.97
    np.testing.assert_allclose(traj.q[-1], [math.cos(angle), 0, 0, math.sin(angle)], rtol=0, atol=1e-14)
    early = ph.integrate(problem, method=ph.Taylor(), t_eval=[100.0])
    assert early.m[0, 2] == pytest.approx(math.exp(-100.0), rel=1e-12)


def square_root(t, Q, w, p):
    speed = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return -speed * w[0], -speed * w[1], -speed * w[2]


@pytest.mark.parametrize("body", BODIES)
def test_a_square_root_that_vanishes_is_named(body):
    problem = ph.Problem(BODIES[body], ph.State((0, 0, 0)), ph.Torque(square_root), (0.0, 1.0))
    with pytest.raises(
        RunError, match=r"the derivatives of sqrt\(\(w0\^2 \+ w1\^2\) \+ w2\^2\) are not finite"
    ) as caught:
        ph.integrate(problem, method=ph.Taylor())
    assert caught.value.trajectory.status == Status.NO_STEP
    assert "Adaptive(rtol)" in str(caught.value)
    assert ph.integrate(problem, method=ph.Adaptive(1e-9)).success


def test_other_bodies_of_a_batch_go_on():
    problem = ph.Problem(MOMENTS, ph.State([(0, 0, 0), (0.3, 0.2, 0.1)]), ph.Torque(square_root), (0.0, 1.0))
    with pytest.warns(ph.errors.RunWarning, match="1 of 2 bodies"):
        traj = ph.integrate(problem, method=ph.Taylor(), t_eval=[0.0, 1.0])
    assert np.isfinite(traj.m[:, 1]).all()
    assert np.isnan(traj.m[1, 0]).all()


@pytest.mark.dense
def test_a_singularity_in_time_is_approached():
    force = ph.Torque(lambda t, Q, w, p: (0.0, 0.1 * math.sin(t) ** 2, (1.0 - t) ** -1.5))
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 1.0)), force, (0.0, 2.0))
    with pytest.raises(RunError, match="shorter than the spacing of floating-point numbers at t") as caught:
        ph.integrate(problem, method=ph.Taylor())
    assert "the derivatives of (1 - t)^-1.5 grow fastest there" in str(caught.value)
    assert caught.value.trajectory.t[-1] == pytest.approx(1.0, abs=1e-12)


def pulse(t, Q, w, p):
    return 3.0 * math.exp(-((t - 10.0) ** 2) / 0.01), 0.0, 0.0


def test_a_short_pulse_is_seen():
    """By samples that are taken in advance, and by the verification of steps."""
    slow = ph.Problem(MOMENTS, ph.State((0.01, 0.02, 0.01)), ph.Torque(pulse), (0.0, 20.0))
    expected = ph.integrate(slow, method=ph.Adaptive(1e-13, max_step=0.02))
    for max_step in (None, math.inf):
        traj = ph.integrate(slow, method=ph.Taylor(max_step=max_step))
        assert distance(traj.q[-1], expected.q[-1]) < 1e-12
        assert traj.stats.steps < 200


# The class, and the other mode.


def test_a_branch_on_the_state_is_refused_with_its_line():
    def switch(t, Q, w, p):
        return (1.0, 0.0, 0.0) if w[0] > 0 else (-1.0, 0.0, 0.0)

    line = switch.__code__.co_firstlineno + 1
    with pytest.raises(InputError, match=rf"switch.*:{line}\): a branch on the state.*method=Adaptive"):
        ph.integrate(top(force=ph.Torque(switch)), method=ph.Taylor())


@pytest.mark.parametrize(("arguments", "said"), [
    ({"rtol": 1e-17}, "rtol = 1e-17"), ({"rtol": 0.1}, "rtol = 0.1"), ({"rtol": math.nan}, "one number"),
    ({"rtol": (1e-9, 1e-9)}, "one number"), ({"max_step": 0.0}, "max_step = 0.0"), ({"max_step": -1.0}, "max_step"),
    ({"order": 3}, "order"), ({"order": 65}, "order = 65: expected 4 to 64"), ({"order": 8.5}, "order"),
])  # fmt: skip
def test_bad_settings(arguments, said):
    with pytest.raises(InputError) as caught:
        ph.Taylor(**arguments)
    assert said in str(caught.value)


def test_the_order_follows_from_the_tolerance():
    assert [ph.Taylor(10.0**-k).order for k in (2, 6, 10, 15)] == [6, 11, 17, 24]
    assert ph.Taylor(1e-10, order=30).order == 30


def test_equality_repr_and_pickle():
    methods = [ph.Taylor(), ph.Taylor(1e-9), ph.Taylor(1e-9, 0.5), ph.Taylor(1e-9, 0.5, 12)]
    assert len({*methods, ph.Taylor(rtol=1e-9, max_step=0.5)}) == 4
    for method in methods:
        assert eval(repr(method), {"Taylor": ph.Taylor}) == method
        assert pickle.loads(pickle.dumps(method)) == method
    assert repr(ph.Taylor(1e-9, 0.5, 12)) == "Taylor(rtol=1e-09, max_step=0.5, order=12)"


OTHER_WAY = """
import json, sys
import polhode as ph
from polhode.kernels.compiler import JIT
traj = ph.integrate(ph.problems.vessel(), method=ph.Taylor(1e-10), t_eval=[5.0, 15.0])
json.dump({"jit": JIT, "m": traj.m.tolist(), "q": traj.q.tolist()}, sys.stdout)
"""


@pytest.mark.dense
def test_compiled_and_uncompiled_agree():
    environment = {**os.environ, "POLHODE_JIT": "0" if JIT else "1"}
    command = [sys.executable, "-W", "error", "-c", OTHER_WAY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["jit"] is not JIT
    traj = ph.integrate(ph.problems.vessel(), method=ph.Taylor(1e-10), t_eval=[5.0, 15.0])
    scale = np.linalg.norm(traj.problem.state.m)
    np.testing.assert_allclose(np.array(answer["m"]) / scale, traj.m / scale, rtol=0, atol=1e-13)
    np.testing.assert_allclose(answer["q"], traj.q, rtol=0, atol=1e-13)
