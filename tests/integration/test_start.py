"""``start``: a run in steps of the caller, against ``integrate`` to the bit, the closed form, and SciPy."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.core.errors import InputError, RunError, ShapeError, TimeError
from polhode.integration import stepping
from polhode.systems.interactions import DipolarSoftSpheres

INERTIA = np.array([1.0, 1.65, 1.97])
M0 = np.array([0.3, 0.2, 0.9])
SPAN = (0.0, 2.0)
H = 0.125  # a power of two: times of steps are exact
FIXED = ("V2", "ABA1064", "RKN6_14a", "PABA1264", "Rattle", "AlgoC1")
ADAPTIVE = ph.Adaptive(1e-9, max_step=np.inf)  # no search for features of the torque in the time span


def push(t, Q, w, p):
    """Return a torque of the parameters, of time and of attitude."""
    return p[0] * Q[2][1] + 0.1 * t, -p[0] * Q[2][0], p[1]


def fails_late(t, Q, w, p):
    """Return a torque that raises after the time p[0]."""
    if t > p[0]:
        raise ValueError("too late")
    return 0.1, 0.0, 0.0


def pushed(params=(0.3, 0.1), breaks=(), **changes) -> ph.Problem:
    """Return a body that is pushed."""
    force = ph.Torque(push, params=params, breaks=breaks)
    return ph.Problem(INERTIA, ph.State(m=M0), force, SPAN).replaced(**changes)


def assert_shows(run, t, m, q) -> None:
    """Check time and state of a run, to the bit."""
    assert run.t == t
    assert_array_equal(run.m, m)
    assert_array_equal(run.q, q)


@pytest.mark.parametrize("method", FIXED)
def test_steps_are_those_of_integrate(method: str) -> None:
    """Reading the state between steps changes no bit of the next ones, also if stages are merged or processed."""
    problem = ph.problems.heavy_top() if method == "Rattle" else pushed()
    traj = ph.integrate(problem, SPAN, method=method, h=H)
    run = ph.start(problem, method=method, h=H)
    for t, m, q in zip(traj.t, traj.m, traj.q, strict=True):
        assert_shows(run, t, m, q)
        run.step()
    assert run.stats.steps == len(traj)


@pytest.mark.parametrize("method", FIXED)
def test_times_of_steps_are_those_of_t_eval(method: str) -> None:
    """`to(t)` at times of steps makes whole steps."""
    problem = ph.problems.heavy_top() if method == "Rattle" else pushed()
    times = [0.125, 0.5, 0.625, 2.0]
    traj = ph.integrate(problem, SPAN, method=method, h=H, t_eval=times)
    run = ph.start(problem, method=method, h=H)
    for t, m, q in zip(times, traj.m, traj.q, strict=True):
        run.to(t)
        assert_shows(run, t, m, q)
    assert run.stats.steps == 16


@pytest.mark.parametrize("h", [0.1, 0.3, 1.0 / 7.0])
def test_multiples_of_any_step_need_no_further_steps(h: float) -> None:
    """Round-off of times, computed or accumulated, adds no tiny steps."""
    run = ph.start(pushed(), method="V2", h=h)
    for k in range(1, 200):
        run.to(k * h)
        assert run.t == k * h
    assert run.stats.steps == 199
    t = run.t
    for _ in range(200):
        t += h
        run.to(t)
    assert run.stats.steps == 399


def test_between_steps_as_sol_and_a_new_grid_from_there() -> None:
    """A time between steps is reached by a shorter step, as with `sol`; steps of size h begin there."""
    problem = pushed()
    traj = ph.integrate(problem, method="ABA1064", h=H, t_eval=[0.3])
    run = ph.start(problem, method="ABA1064", h=H)
    run.to(0.3)
    assert_shows(run, 0.3, traj.m[0], traj.q[0])
    end = 0.3 + 4 * H
    rest = ph.integrate(problem.replaced(state=run.state), (0.3, end), method="ABA1064", h=H, t_eval=[end])
    run.to(end)
    assert_shows(run, rest.t[-1], rest.m[-1], rest.q[-1])
    assert run.stats.steps == 3 + 4


@pytest.mark.parametrize("method", ["V2", "PABA1264", "AlgoC1"])
@pytest.mark.parametrize("breaks", [(0.4,), (0.0, 0.5, 5.0)])
def test_steps_end_at_breaks(method: str, breaks: tuple[float, ...]) -> None:
    """Every stretch between breaks has its own step size, as with `integrate`; the last one has h."""
    problem = pushed(breaks=breaks)
    if method == "PABA1264":
        with pytest.raises(InputError, match="breaks"):
            ph.start(problem, method=method, h=0.15)
        return
    traj = ph.integrate(problem, (0.0, 5.0), method=method, h=0.15)
    run = ph.start(problem, method=method, h=0.15)
    inner = [b for b in breaks if b > 0]
    for t, m, q in zip(traj.t[: np.searchsorted(traj.t, inner[-1]) + 1], traj.m, traj.q, strict=False):
        assert_shows(run, t, m, q)
        run.step()
    assert run.t == inner[-1] + 0.15


@pytest.mark.parametrize("method", ["V2", ph.Adaptive(1e-10), ph.ClosedForm()])
def test_there_and_back(method) -> None:
    """`to` goes forward and backward; a free body comes back, and is where the closed form says."""
    free = ph.Problem(INERTIA, ph.State(m=M0), t_span=(0.0, 4.0))
    motion = ph.free_motion(INERTIA, ph.State(m=M0))
    run = ph.start(free, method=method, h=0.3 if method == "V2" else None)
    for t in (1.0, 3.7, 20.0, 0.5, -6.0, 0.0):
        run.to(t)
        assert run.t == t
        np.testing.assert_allclose(run.m, motion.m(t), atol=1e-8)
        assert abs(run.q @ motion.q(t)) == pytest.approx(1.0, abs=1e-8)
    run.step()
    assert run.t > 0


def test_backward_span_steps_backward() -> None:
    """The direction of steps is that of the time span."""
    problem = pushed(t_span=(1.0, -1.0))
    traj = ph.integrate(problem, method="V2", h=H)
    run = ph.start(problem, method="V2", h=H)
    run.step()
    assert_shows(run, traj.t[1], traj.m[1], traj.q[1])
    run.to(2.0)
    run.step()
    assert run.t == 2.0 - H


@pytest.mark.parametrize("breaks", [(), (0.7, 1.1)])
def test_adaptive_steps_are_those_of_integrate(breaks: tuple[float, ...]) -> None:
    """`step` takes one accepted step of `Adaptive`, up to the end of the time span, and goes on behind it."""
    problem = pushed(breaks=breaks)
    traj = ph.integrate(problem, method=ph.Adaptive(1e-8))
    run = ph.start(problem, method=ph.Adaptive(1e-8))
    for t, m, q in zip(traj.t, traj.m, traj.q, strict=True):
        assert_shows(run, t, m, q)
        run.step()
    assert run.t > SPAN[1]


def test_adaptive_ends_exactly_and_keeps_its_step_size() -> None:
    """`to(t)` ends at t; small intervals take one step each, without a search for the first step size."""
    problem = pushed()
    run = ph.start(problem, method=ph.Adaptive(1e-10))
    for t in np.linspace(0.01, 2.0, 200):
        run.to(t)
        assert run.t == t
    truth = ph.integrate(problem, method=ph.Adaptive(1e-13), t_eval=[2.0])
    np.testing.assert_allclose(run.m, truth.m[-1], atol=1e-9)
    assert run.stats.steps == 200


def test_the_limit_of_trial_steps_holds_for_each_call() -> None:
    """`max_steps` does not end a run that goes on for long in short calls."""
    run = ph.start(pushed(), method=ph.Adaptive(1e-8, max_steps=30))
    for k in range(1, 100):
        run.to(0.1 * k)
    assert run.stats.steps >= 99
    with pytest.raises(RunError, match="30 trial steps"):
        run.to(1e4)
    assert 9.9 < run.t < 1e4


@pytest.mark.parametrize("method", [ph.Adaptive(1e-8), ph.Taylor(1e-8)])
def test_a_time_that_a_short_call_does_not_reach(method, monkeypatch) -> None:
    """The rest of the steps follows, with the bits and the number of steps of a single call."""
    whole = ph.integrate(pushed(), method=method, t_eval=[2.0])
    assert whole.stats.steps > 3
    monkeypatch.setattr(stepping, "FIRST_PIECE", 3)
    run = ph.start(pushed(), method=method)
    run.to(2.0)
    assert_shows(run, 2.0, whole.m[-1], whole.q[-1])
    assert run.stats.steps == whole.stats.steps


def test_the_limit_of_trial_steps_includes_those_of_a_short_call(monkeypatch) -> None:
    monkeypatch.setattr(stepping, "FIRST_PIECE", 20)
    steps = []
    for limit in (30, 40):
        run = ph.start(pushed(), method=ph.Adaptive(1e-8, max_steps=limit))
        with pytest.raises(RunError, match=f"{limit} trial steps"):
            run.to(1e4)
        steps.append(run.stats.steps + run.stats.rejected)
    assert steps == [30, 40]


def test_closed_form_steps_by_h() -> None:
    """A step of the closed form is h long, and exact."""
    free = ph.Problem(INERTIA, ph.State(m=M0), t_span=(0.0, 4.0))
    run = ph.start(free, h=0.5)
    assert run.h == 0.5
    for _ in range(20):
        run.step()
    motion = ph.free_motion(INERTIA, ph.State(m=M0))
    assert run.t == 10.0
    np.testing.assert_allclose(run.m, motion.m(10.0), atol=1e-14)


def rates(inertia, torque):
    """Return the right-hand side of Euler's equations for SciPy, with a torque of (w, q), in body axes."""

    def slope(t, y):
        m, (a, b, c, d) = y[:3], y[3:]
        w = m / inertia
        x, y, z = w
        spin = 0.5 * np.array(
            [-b * x - c * y - d * z, a * x + c * z - d * y, a * y - b * z + d * x, a * z + b * y - c * x]
        )
        return np.concatenate([np.cross(m, w) + torque(w), spin])

    return slope


def held(t, Q, w, p):
    """Return the torque that a controller holds between two of its samples."""
    return p[0], p[1], p[2]


@pytest.mark.parametrize(("method", "h"), [("S6_10", 0.02), (ph.Adaptive(1e-11), None)])
def test_a_controlled_body_against_scipy(method, h) -> None:
    """A controller with a sample time of 0.1, whose torque is constant between its samples."""
    gain = 0.8
    problem = ph.Problem(INERTIA, ph.State(m=M0), ph.Torque(held, params=(0.0, 0.0, 0.0)), (0.0, 2.0))
    run = ph.start(problem, method=method, h=h)
    y = np.array([*M0, 1.0, 0.0, 0.0, 0.0])
    for k in range(20):
        run.params[:] = -gain * run.omega
        run.to(0.1 * (k + 1))
        torque = -gain * y[:3] / INERTIA
        y = solve_ivp(rates(INERTIA, lambda w, f=torque: f), (0, 0.1), y, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(run.m, y[:3], atol=1e-9)
    assert abs(run.q @ y[3:]) == pytest.approx(1.0, abs=1e-9)
    assert np.linalg.norm(run.m) < 0.6 * np.linalg.norm(M0)


@pytest.mark.parametrize("method", ["V2", "PABA1264", "AlgoC1", ADAPTIVE])
def test_other_params_as_two_runs_with_different_forces(method) -> None:
    """Parameters that are written to act from the current time on, and never change the problem."""
    problem = pushed(params=(0.3, 0.1))
    h = None if isinstance(method, ph.Adaptive) else H
    first = ph.integrate(problem, (0.0, 1.0), method=method, h=h, t_eval=[1.0])
    other = pushed(params=(0.3, -0.4)).replaced(state=first[-1])
    second = ph.integrate(other, (1.0, 2.0), method=method, h=h, t_eval=[2.0])
    run = ph.start(problem, method=method, h=h)
    run.to(1.0)
    assert_shows(run, 1.0, first.m[-1], first.q[-1])
    run.params[1] = -0.4
    run.to(2.0)
    assert_shows(run, 2.0, second.m[-1], second.q[-1])
    assert_array_equal(problem.force.params, (0.3, 0.1))
    assert_array_equal(ph.start(problem, method=method, h=h).params, (0.3, 0.1))


@pytest.mark.parametrize("method", ["V2", "PABA1264", "AlgoC1", ADAPTIVE])
@pytest.mark.parametrize("inertia", [INERTIA, np.diag(INERTIA) + 0.1])
def test_impulses_as_a_run_from_the_changed_state(method, inertia) -> None:
    """An impulse is added to m, in body axes, at once."""
    problem = pushed(body=inertia)
    h = None if isinstance(method, ph.Adaptive) else H
    run = ph.start(problem, method=method, h=h)
    run.to(1.0)
    m, impulse = run.m, np.array([0.1, -0.2, 0.3])
    changed = run.state._exactly(m=m + impulse)
    run.apply(impulse)
    np.testing.assert_allclose(run.m, m + impulse, rtol=1e-14)
    traj = ph.integrate(problem.replaced(state=changed), (1.0, 2.0), method=method, h=h, t_eval=[2.0])
    run.to(2.0)
    assert_shows(run, 2.0, traj.m[-1], traj.q[-1])


def test_reset_to_the_start_or_to_a_state() -> None:
    """`reset` goes back to the start, or to a state at a time; parameters stay."""
    problem = pushed()
    run = ph.start(problem, method="RKN6_14a", h=H)
    run.to(0.77)
    run.reset()
    assert_shows(run, 0.0, M0, problem.state.q)
    run.step()
    once = run.m
    run.params[0] = 0.5
    run.reset()
    run.step()
    assert not np.array_equal(run.m, once)
    assert run.params[0] == 0.5
    state = ph.State(m=(1.0, 2.0, 3.0), q=(0.0, 1.0, 0.0, 0.0))
    run.reset(state, t=0.5)
    assert run.state == state
    assert run.t == 0.5


def test_kept_states_are_a_trajectory() -> None:
    """With `keep`, every call adds a state."""
    problem = pushed()
    traj = ph.integrate(problem, method="V2", h=H)
    run = ph.start(problem, method="V2", h=H, keep=True)
    for _ in range(16):
        run.step()
    assert run.trajectory() == traj
    assert run.trajectory().stats.torques == traj.stats.torques
    run.reset()
    assert len(run.trajectory()) == 1
    with pytest.raises(InputError, match="keep=True"):
        ph.start(problem, method="V2", h=H).trajectory()


@pytest.mark.parametrize("method", ["V2", "RKN6_14a", ph.Adaptive(1e-8)])
def test_batches(method) -> None:
    """All bodies of a batch move to the same time, to the bits of `integrate`."""
    m = np.random.default_rng(3).normal(size=(2, 3, 3))
    problem = pushed(state=ph.State(m=m))
    h = None if isinstance(method, ph.Adaptive) else H
    traj = ph.integrate(problem, method=method, h=h, t_eval=[2.0])
    run = ph.start(problem, method=method, h=h)
    run.to(2.0)
    assert_shows(run, 2.0, traj.m[-1], traj.q[-1])
    run.apply(-run.m)
    assert_array_equal(run.m, np.zeros((2, 3, 3)))
    run.apply((0.0, 0.0, 1.0))
    assert_array_equal(run.state.m, np.broadcast_to((0.0, 0.0, 1.0), (2, 3, 3)))


def test_params_of_a_batch() -> None:
    """Parameters of a batch have its shape."""
    problem = pushed(params=np.array([[0.3, 0.1], [0.2, 0.0]]))
    run = ph.start(problem, method="V2", h=H)
    assert run.params.shape == (2, 2)
    run.params[1] = 0.3, 0.1
    run.to(1.0)
    assert_array_equal(run.m[0], run.m[1])


def test_own_steps_of_a_batch_have_no_common_time() -> None:
    """Bodies with steps of their own move together by `to(t)`."""
    run = ph.start(pushed(state=ph.State(m=np.ones((2, 3)))), method=ph.Adaptive())
    with pytest.raises(InputError, match=r"to\(t\)"):
        run.step()


@pytest.mark.dense
@pytest.mark.parametrize(("method", "h"), [("V2", H), (ph.Adaptive(1e-9), None)])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_a_failure_keeps_the_last_good_state(method, h, batch) -> None:
    """The error is that of `integrate`; the run stays at its last good step and can go on with other parameters."""
    params = np.full((*batch, 1), 1.0)
    if batch:
        params[-1] = 0.8
    problem = ph.Problem(INERTIA, ph.State(m=M0), ph.Torque(fails_late, params=params), SPAN)
    run = ph.start(problem, method=method, h=h)
    run.to(0.5)
    with pytest.raises(RunError, match="too late") as raised:
        run.to(2.0)
    assert isinstance(raised.value.__cause__, ValueError)
    if h is not None:
        assert run.t == (0.75 if batch else 1.0)
        good = ph.start(problem, method=method, h=h)
        good.to(run.t)
        assert_array_equal(run.m, good.m)
    assert 0.5 <= run.t <= 1.0
    assert np.isfinite(run.m).all()
    run.params[:] = 10.0
    run.to(2.0)
    truth = ph.integrate(problem.replaced(force=ph.Torque(fails_late, params=(10.0,))), method=ph.Adaptive(1e-12))
    np.testing.assert_allclose(run.m, np.broadcast_to(truth.m[-1], (*batch, 3)), atol=2e-3 if h else 1e-8)


def test_the_message_of_a_failure_is_about_the_present_parameters() -> None:
    """The torque is repeated for its traceback with the parameters that were written."""
    problem = ph.Problem(INERTIA, ph.State(m=M0), ph.Torque(fails_late, params=(10.0,)), SPAN)
    run = ph.start(problem, method="V2", h=H, keep=True)
    run.step()
    run.params[0] = -1.0
    with pytest.raises(RunError, match="too late") as raised:
        run.step()
    assert len(raised.value.trajectory) == 2
    assert run.t == H


@pytest.mark.parametrize(("method", "h"), [("PABA1264", H), (ph.Adaptive(1e-9), None)])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_copies_go_on_by_themselves(method, h, duplicate) -> None:
    """A pickle or a deep copy of a run continues to the bit, and has parameters of its own."""
    run = ph.start(ph.problems.heavy_top(), method=method, h=h)
    run.step()
    other = duplicate(run)
    for one in (run, other):
        one.step()
        one.to(3.0)
    assert_shows(other, run.t, run.m, run.q)
    other.params[:] = 0.0
    assert run.params.any()


@pytest.mark.parametrize(("method", "h"), [("V2", 0.125), (ph.Adaptive(1e-7), None)])
def test_systems(method, h) -> None:
    """A system of bodies moves by the same calls."""
    gas = ph.System.lattice(
        ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1
    ).replaced(t_span=(0.0, 1.0))
    traj = ph.integrate(gas, method=method, h=h)
    run = ph.start(gas, method=method, h=h)
    run.step()
    assert run.t == traj.t[1]
    for name in ("x", "p", "m", "q"):
        assert_array_equal(getattr(run, name), getattr(traj, name)[1])
    impulse = np.random.default_rng(0).normal(size=(8, 3))
    state = run.state._exactly(m=run.m + impulse)
    run.apply(impulse)
    rest = ph.integrate(gas.replaced(state=state), (run.t, 1.0), method=method, h=h, t_eval=[1.0])
    run.to(1.0)
    # The first step of `Adaptive` depends on the initial distances of the system.
    np.testing.assert_allclose(run.x, rest.x[-1], atol=0.0 if h else 1e-11)
    with pytest.raises(AttributeError, match="params"):
        _ = run.params


def test_invalid_arguments() -> None:
    """Errors name what was passed."""
    run = ph.start(pushed(), method="V2", h=H)
    with pytest.raises(TimeError, match="nan"):
        run.to(np.nan)
    with pytest.raises(InputError, match="t must be numbers"):
        run.to("soon")
    with pytest.raises(InputError, match="impulse"):
        run.apply((1.0, np.inf, 0.0))
    with pytest.raises(ShapeError, match="impulse"):
        run.apply(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="state"):
        run.reset(ph.State(m=np.ones((2, 3))))
    with pytest.raises(AttributeError, match="x"):
        _ = run.x
    rod = ph.Problem(ph.RigidBody.linear(1.0), ph.State(m=(0.0, 1.0, 0.0)), ph.Torque(push, params=(0.1, 0.0)))
    with pytest.raises(InputError, match="linear"):
        ph.start(rod, method="V2", h=H).apply((1.0, 0.0, 0.0))
    with pytest.raises(InputError, match=r"h = 0\.1"):
        ph.start(pushed(), method=ph.Adaptive(), h=0.1)
