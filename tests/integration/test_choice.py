"""The choice of method and step: errors asked for are met, against solutions that are not our own."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from conftest import TESTS, distance
from oracles.addition import addition_flow
from oracles.top import top_flow
from polhode import forces, problems
from polhode.core.errors import InputError, RunWarning
from polhode.integration import rules, step_search
from polhode.integration.problem import Problem
from polhode.integration.running import Run
from polhode.integration.step_search import Goal, Outcome, Trial, by_finest
from polhode.integration.strength import measured
from polhode.methods.adaptive import Adaptive
from polhode.methods.splitting import Splitting
from polhode.solve import integrate
from switching import slope
from test_torqued_golden import CASES, PROBLEMS, errors

pytestmark = pytest.mark.dense

MOMENTS, M0 = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9)
TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-12)
TRUTH = json.loads((TESTS.parent / "benchmarks" / "truth.json").read_text())


def with_branch(problem):
    """A torque of the same size that cannot be traced."""
    nothing = ph.Torque(lambda t, Q, w, p: (0.0 if Q[0][0] < 2.0 else 1.0, 0.0, 0.0))
    return problem.replaced(force=problem.force + nothing)


def end_error(name, run):
    case = CASES[name]
    return errors({**case, "states": case["states"][-1:]}, run.m[-1:], run.q[-1:])[0]


@pytest.mark.parametrize("rtol", TOLERANCES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_errors_are_met(name, rtol):
    run = integrate(PROBLEMS[name](), rtol=rtol)
    assert end_error(name, run) <= rtol
    step = f", h = {abs(run.h):.4g}" if np.isfinite(run.h) else ""
    assert f"chosen: {run.method!r}{step} (" in run.message


@pytest.fixture
def torques(monkeypatch):
    """The torques of all runs, as a list with an entry for each."""
    counts = []
    call = Run.call

    def counted(run, *arguments):
        before = run.current.torques.sum()
        seconds = call(run, *arguments)
        counts.append(run.current.torques.sum() - before)
        return seconds

    monkeypatch.setattr(Run, "call", counted)
    return counts


@pytest.mark.parametrize(
    ("problem", "method", "h", "rtol", "most"),
    [
        (problems.heavy_top(1e-3), "ABA82", 4.0, 1e-4, 2.6),
        (problems.heavy_top(1e-3), "ABA1064", 3.33, 1e-8, 3.0),
        (problems.heavy_top(1e-3), "PABA1264", 1.25, 1e-10, 2.6),
        (problems.vilmart_top(), "RKN6_14a", 0.42, 1e-8, 3.0),
        (problems.heavy_top(1.0), "RKN6_14a", 0.54, 1e-6, 3.3),
    ],
)
def test_trial_runs_of_a_short_time_cost_little_more_than_the_best_run(
    problem, method, h, rtol, most, torques, monkeypatch
):
    """Relative to the longest step that has this error; see benchmarks/rtol.py."""
    monkeypatch.setattr(rules, "ONE_MORE_TRIAL", 0.0)  # weak torques get splittings
    end = [problem.t_span[1]]
    by_hand = integrate(problem, method=method, h=h, t_eval=end).stats.torques
    torques.clear()
    run = integrate(problem, rtol=rtol, t_eval=end)
    assert sum(torques) <= most * by_hand
    assert torques[-1] <= run.stats.torques  # the last trial run is the result


@pytest.mark.parametrize(
    ("name", "rtol", "by_hand"),
    [
        ("satellite", 1e-4, 16_797),
        ("satellite", 1e-6, 33_766),
        ("satellite", 1e-8, 66_431),
        ("satellite", 1e-10, 94_221),
        ("perturbed", 1e-4, 92_001),
        ("perturbed", 1e-6, 138_316),
        ("perturbed", 1e-8, 220_436),
    ],
)
def test_trial_runs_of_a_long_time_cost_less_than_twice_the_best_run(name, rtol, by_hand, torques):
    """Relative to the fewest torques that lead to this error; and the result is not much better than necessary."""
    problem = getattr(problems, name)()
    t_end = problem.t_span[1]
    run = integrate(problem, rtol=rtol, t_eval=[t_end])
    assert sum(torques) <= 1.95 * by_hand
    (truth,) = (state for state in TRUTH[name]["bodies"][0]["states"] if state["t"] == t_end)
    m, Q = np.array(truth["m"], float), np.array(truth["Q"], float).reshape(3, 3)
    error = max(distance(run.m[-1], m) / np.linalg.norm(m), np.linalg.norm(run.matrix[-1] - Q) / 8**0.5)
    assert 0.1 * rtol <= error <= rtol


@pytest.mark.parametrize(
    ("problem", "name", "why"),
    [
        (problems.heavy_top(1e-3), "Taylor(", "a short time"),
        (with_branch(problems.heavy_top(1e-3)), "Splitting(Exact(), 'ABA", "a weak torque"),
        (problems.perturbed(t_end=1000.0), "Splitting(Exact(), 'ABA", "a weak torque"),
        (problems.satellite(t_end=10.0), "Splitting(Exact(), 'ABA", "a weak torque"),
        (problems.vilmart_top(), "Taylor(", "a short time"),
        (problems.vilmart_top().replaced(t_span=(0.0, 60.0)), "Taylor(", "a strong torque"),
        (problems.vessel(damped=False).replaced(t_span=(0.0, 40.0)), "Taylor(", "a strong torque"),
        (problems.vessel().replaced(t_span=(0.0, 60.0)), "Taylor(", "damping"),
        (with_branch(problems.vilmart_top()), "Splitting(Exact(), 'RKN", "a strong torque"),
        (with_branch(problems.vessel()), "Adaptive(", "damping"),
    ],
)
def test_families(problem, name, why):
    run = integrate(problem, rtol=1e-7)
    assert repr(run.method).startswith(name)
    assert why in run.message


def test_a_weak_torque_gets_taylor_series_if_the_error_is_small():
    problem = problems.satellite(t_end=20.0)
    assert isinstance(integrate(problem, rtol=1e-9).method, Splitting)
    assert isinstance(integrate(problem, rtol=1e-11).method, ph.Taylor)


def test_a_processor_is_for_few_states():
    problem = problems.satellite(t_end=20.0)
    assert integrate(problem, rtol=1e-8, t_eval=[20.0]).method == Splitting(None, "PABA1264")
    assert integrate(problem, rtol=1e-8, save_every=100).method == Splitting(None, "PABA1264")
    assert integrate(problem, rtol=1e-8).method == Splitting(None, "ABA1064")
    assert integrate(problem, (0.0, 40.0), rtol=1e-4, t_eval=[40.0]).method == Splitting(None, "WH17")
    assert integrate(problem, (0.0, 40.0), rtol=1e-4).method == Splitting(None, "ABA82")


def drag(t, Q, w, p):
    """Quadratic, written by branches, so that it has no graph."""
    x, y, z = p[0] * w[0] ** 2, p[0] * w[1] ** 2, p[0] * w[2] ** 2
    return -x if w[0] > 0.0 else x, -y if w[1] > 0.0 else y, -z if w[2] > 0.0 else z


def traced_drag(t, Q, w, p):
    return -p[0] * w[0] * abs(w[0]), -p[0] * w[1] * abs(w[1]), -p[0] * w[2] * abs(w[2])


def dragged_top(t, y):
    """y' of (m, q) with quadratic drag and a weight on the third axis."""
    w, (a, b, c, d) = y[:3] / MOMENTS, y[3:]
    weight = 0.6 * (c * d + a * b), 0.6 * (a * c - b * d), 0.0  # u x (0, 0, 0.3), u = Q^T e3
    return slope(t, y, np.array(MOMENTS), weight - 0.3 * w * abs(w))


@pytest.mark.parametrize("torque", [drag, traced_drag])
def test_a_torque_that_depends_on_the_velocity_gets_adaptive_steps(torque):
    """Or Taylor series, if it has a graph."""
    problem = Problem(MOMENTS, ph.State(M0), ph.Torque(torque, (0.3,)) + forces.gravity(1.0, (0, 0, 0.3)), (0.0, 10.0))
    truth = solve_ivp(dragged_top, (0.0, 10.0), [*M0, 1.0, 0.0, 0.0, 0.0], "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    m, q = truth[:3], truth[3:]
    for rtol in TOLERANCES[:3]:
        run = integrate(problem, rtol=rtol)
        assert isinstance(run.method, Adaptive if torque is drag else ph.Taylor)
        error = max(np.abs(run.m[-1] - m).max() / np.linalg.norm(m), np.abs(run.q[-1] - q).max())
        assert error <= rtol
        assert torque is traced_drag or "depends on the angular velocity" in run.message


def test_strength_of_a_constant_torque():
    spin = Problem((1.0, 1.0, 1.0), ph.State((0.0, 0.0, 2.0)), forces.constant((0.0, 0.0, 0.5)), (0.0, 1.0))
    found = measured(spin, spin.t_span)
    assert found.torque == pytest.approx(0.5 / 4, rel=1e-12)
    assert found.radian == pytest.approx(0.5, rel=1e-12)


def error_of_top(m, q, m0, offset, t=5.0):
    """The larger of the errors of m/|m| and of q at t, against Taylor series."""
    ((true_m, true_q),) = top_flow(MOMENTS, m0, (1, 0, 0, 0), [t], offset, digits=16)
    return max(distance(m, true_m) / np.linalg.norm(m), distance(q, true_q))


def strong_top(t, y):
    """y' of (m, q) for ``problems.heavy_top(1.0)``."""
    problem = problems.heavy_top(1.0)
    return slope(t, y, problem.body.moments, problem.force.torque(t, y[3:] / np.linalg.norm(y[3:])))


@pytest.fixture(scope="module")
def end_of_strong_top():
    problem = problems.heavy_top(1.0)
    start = np.concatenate([problem.state.m, problem.state.q])
    return solve_ivp(strong_top, problem.t_span, start, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("rtol", 10.0 ** -np.arange(3.0, 9.0, 0.5))
def test_trials_that_agree_by_chance_are_not_trusted(rtol, end_of_strong_top):
    """With RKN4_6b, errors fall from 0.1 to 4e-6 from one trial to the next, and then not at all."""
    m, q = end_of_strong_top[:3], end_of_strong_top[3:]
    run = integrate(problems.heavy_top(1.0), rtol=rtol)
    assert max(distance(run.m[-1], m) / np.linalg.norm(m), distance(run.q[-1], q)) <= rtol


def test_a_torque_that_is_zero_at_first_is_no_error():
    """A sleeping top: upright, with no torque at all."""
    problem = Problem(MOMENTS, ph.State((0.0, 0.0, 2.0)), forces.gravity(1.0, (0.0, 0.0, 0.3)), (0.0, 5.0))
    run = integrate(problem, rtol=1e-8)
    assert error_of_top(run.m[-1], run.q[-1], (0.0, 0.0, 2.0), (0.0, 0.0, 0.3)) < 1e-8


def test_a_body_at_rest_can_start():
    problem = Problem(MOMENTS, ph.State((0, 0, 0)), forces.gravity(1.0, (0.1, 0.2, 0.3)), (0.0, 5.0))
    run = integrate(problem, rtol=1e-8)
    assert error_of_top(run.m[-1], run.q[-1], (0, 0, 0), (0.1, 0.2, 0.3)) < 1e-8


def test_a_free_body_needs_no_choice():
    run = integrate(Problem(MOMENTS, ph.State(M0), t_span=(0.0, 50.0)))
    m, q = addition_flow(MOMENTS, M0, (1, 0, 0, 0), 50.0)
    assert distance(run.m[-1], m) < 1e-13
    assert distance(run.q[-1], q) < 1e-13
    assert "the motion is exact" in run.message


def test_a_step_for_a_given_method():
    problem = problems.vilmart_top()
    run = integrate(problem, method=Splitting(ph.ThreeRotations(), "V2"), rtol=1e-4)
    assert 1e-6 <= end_error("heavy_top_vilmart", run) <= 1e-4


def test_a_method_for_a_given_step():
    run = integrate(problems.vilmart_top(), h=0.05)
    assert run.method == Splitting(None, "RKN6_14a")
    assert "so RKN6_14a" in run.message


def test_a_batch_meets_it_for_every_body(rng):
    m = rng.normal(size=(4, 3))
    force = forces.gravity(1.0, (0.1, 0.2, 0.5))
    run = integrate(Problem(MOMENTS, ph.State(m), force, (0.0, 5.0)), rtol=1e-8)
    for i in range(4):
        assert error_of_top(run.m[-1, i], run.q[-1, i], m[i], (0.1, 0.2, 0.5)) < 1e-8


def test_closing_check():
    problem = problems.vilmart_top()
    run = integrate(problem, method="V2", h=0.05, estimate_error=True)
    error = end_error("heavy_top_vilmart", run)
    assert 0.5 * error < max(run.error_estimate) < 1.5 * error
    assert integrate(problem, method="V2", h=0.05).error_estimate is None
    adaptive = integrate(problem, method=Adaptive(1e-6), estimate_error=True)
    error = end_error("heavy_top_vilmart", adaptive)
    assert 0.3 * error < max(adaptive.error_estimate) < 3 * error


def test_chaos_is_said_not_to_be_met():
    problem = Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 0.9)), forces.gravity(1.0, (0.3, 0.5, 0.6)), (0.0, 400.0))
    with pytest.warns(RunWarning, match="more than was asked for"):
        run = integrate(problem, rtol=1e-9)
    assert "the smallest tolerance of Taylor is 2.2e-16" in run.message


@pytest.mark.parametrize("problem", [problems.vilmart_top(), problems.satellite(t_end=20.0), problems.vessel()])
def test_the_trial_run_that_is_returned_has_the_output_of_any_run(problem):
    t0, t1 = problem.t_span
    times = np.linspace(t0, 0.7 * t1, 5)
    for options in ({"t_eval": times}, {"save_every": 7}, {"dense_output": True, "t_eval": [t1]}, {}):
        run = integrate(problem, rtol=1e-7, **options)
        again = integrate(problem, method=run.method, h=abs(run.h) if np.isfinite(run.h) else None, **options)
        np.testing.assert_array_equal(run.t, again.t)
        np.testing.assert_array_equal(run.q, again.q)
        if hasattr(run, "sol"):
            np.testing.assert_array_equal(run.sol(times)[1], again.sol(times)[1])


def test_events_are_found_in_one_run_only():
    calls = []

    def rises(t, m, q):
        calls.append(t)
        return m[..., 0]

    run = integrate(problems.vilmart_top(), rtol=1e-6, events=rises)
    trials = len(calls)
    calls.clear()
    again = integrate(problems.vilmart_top(), method=run.method, events=rises)
    assert trials == len(calls)
    np.testing.assert_array_equal(run.t_events[0], again.t_events[0])


def searched(error_of, order=4.0, wanted=1e-9, shortest=1e-9, patience=12, first=(1.0, 0.6)):
    """The step that is found if end states are ``error_of`` (h), and round-off may be 2e-14/h."""

    def trial_at(h, k):
        end = error_of(h)
        return Trial(h, None if end is None else (end,))

    def difference(a, b):
        return abs(a.end[0] - b.end[0])

    goal = Goal(wanted, order, order, shortest, 1.0, (0.5, 0.8), lambda h: 2e-14 / h, patience, must_end=True)
    return step_search.search(trial_at, first, by_finest(difference, order, order), goal)


def test_the_error_of_the_last_trial_is_estimated():
    for power in (3, 4, 6):
        found = searched(lambda h, power=power: 1e-3 * h**power)
        assert found.outcome == Outcome.MET
        assert 1e-3 * found.x**power <= 1.05 * found.error <= 0.75e-9


def test_one_step_that_does_not_halve_the_error_ends_no_search():
    """As by chance: the state of the second trial is almost that of the first."""
    states = iter([1e-3, 0.99e-3])
    found = searched(lambda h: next(states, 1e-3 * h**4))
    assert found.outcome == Outcome.MET
    assert 1e-3 * found.x**4 <= 1e-9


def test_two_trials_that_agree_prove_no_order():
    """Their difference is the error that is known, even if the order promises less."""
    trials = []
    found = searched(lambda h: trials.append(h) or 1e-8 * h**4)
    assert len(trials) > 2
    assert found.outcome == Outcome.MET


def test_why_a_search_ends_is_true():
    jumps = itertools.cycle([1.0, -1.0])
    assert searched(lambda h: 1e-3 * next(jumps)).outcome == Outcome.NO_NEARER
    assert searched(lambda h: next(jumps)).outcome == Outcome.NO_NEARER
    noise = itertools.cycle([3e-14, -3e-14])
    assert searched(lambda h: 1e-3 * h**4 + next(noise), wanted=2e-14).outcome == Outcome.ROUND_OFF
    assert searched(lambda h: 1e-3 * h, shortest=1e-3).outcome == Outcome.TOO_LONG
    assert searched(lambda h: 1e-3 * h, patience=2).outcome == Outcome.SLOW
    failed = searched(lambda h: None)
    assert (failed.x, failed.error, failed.outcome) == (1.0, np.inf, Outcome.NO_END)
    assert searched(lambda h: 1e-3 * h, wanted=1e-5).outcome == Outcome.MET  # slowly, but it comes nearer


def test_each_is_searched_as_if_it_were_alone():
    """Also if it begins later, with two step sizes instead of three, or has no part."""
    factors, powers = np.array([1e-3, 1e-8, 4.0, 1e-3, 1.0]), np.array([4.0, 4.0, 6.0, 3.0, 1.0])
    first = np.array([[1.0, 0.6, 0.3]] * 5).T
    first[0, 3], first[:, 4] = np.nan, np.nan
    together = searched(lambda h: factors * h**powers, first=first)
    for i in range(4):
        begins = int(np.isnan(first[0, i]))
        alone = searched(lambda h, i=i: float(factors[i] * h ** powers[i]), first=first[begins:, i].tolist())
        assert together.x[i] == pytest.approx(alone.x, rel=1e-13)
        assert together.error[i] == pytest.approx(alone.error, rel=1e-9)
        assert together.outcome[i] == alone.outcome == Outcome.MET
        assert together.chosen[i] == alone.chosen + begins
    assert len({int(number) for number in together.chosen[:4]}) > 2
    assert np.isnan(together.x[4])
    assert together.chosen[4] == -1


@pytest.mark.parametrize(
    ("tolerances", "said"),
    [
        ({"rtol": -1.0}, "rtol = -1.0: expected at least 1.42e-14"),
        ({"rtol": 0.0}, "rtol = 0.0"),
        ({"rtol": np.nan}, "rtol = nan"),
        ({"rtol": 1e-17}, "rtol = 1e-17: expected at least 1.42e-14"),
        ({"rtol": np.inf}, "rtol = inf"),
        ({"rtol": 2.0}, "rtol = 2.0: expected at most 1, which is an error as large as the momentum; type rtol=1e-9"),
        ({"rtol": "small"}, "rtol"),
        ({"atol": np.nan}, "atol = nan"),
        ({"atol": -1.0}, "atol = -1.0: expected 0, or a positive finite number"),
        ({"atol": np.inf}, "atol = inf"),
    ],
)
@pytest.mark.parametrize("given", [{}, {"method": "V2"}, {"method": "V2", "h": 0.1}])
def test_tolerances_that_are_refused(tolerances, said, given):
    with pytest.raises(InputError) as caught:
        integrate(problems.vilmart_top(), **tolerances, **given)
    assert said in str(caught.value)


def a_system():
    states = ph.State(np.zeros((2, 3)), x=[(0.0, 0.0, 0.0), (0.0, 0.0, 1.5)])
    spheres = ph.interactions.DipolarSoftSpheres((0.0, 1.0, 1.0))
    return ph.System(ph.RigidBody((1.0, 1.88, 2.88), mass=1.0), states, spheres, t_span=(0.0, 5.0))


@pytest.mark.parametrize("make", [problems.vilmart_top, problems.heavy_top, a_system])
def test_a_step_size_and_a_tolerance_are_not_both_taken(make):
    problem = make()
    for call in (integrate, lambda problem, **given: ph.start(problem, **given)):
        for given in ({"method": "V2"}, {}):
            with pytest.raises(InputError, match=r"got h = 0.5 and rtol = 1e-12, .* omit h, or omit rtol"):
                call(problem, h=0.5, rtol=1e-12, **given)


@pytest.mark.parametrize("rtol", [1.0, 0.3, 0.02])
def test_large_tolerances(rtol):
    for force in (forces.gravity(1.0, (0.0, 0.0, 0.3)), ph.Torque(lambda t, Q, w, p: (np.tanh(Q[0][1]), 0.0, 0.0))):
        traj = integrate(Problem(MOMENTS, ph.State(M0), force, (0.0, 5.0)), rtol=rtol)
        assert isinstance(traj.method, ph.Taylor)


def test_adaptive_takes_no_step():
    with pytest.raises(InputError, match=r"type Adaptive\(rtol, max_step=0.1\)"):
        integrate(problems.vilmart_top(), method=Adaptive(1e-6), h=0.1)


def test_bodies_with_own_steps_keep_start_and_end():
    """The rest is in the dense output."""
    batch = Problem(MOMENTS, ph.State([M0, np.ones(3)]), forces.gravity(1.0, (0.0, 0.0, 0.3)), (0.0, 5.0))
    run = integrate(batch, method="Adaptive")
    assert run.t.tolist() == [0.0, 5.0]
    times = np.linspace(0.0, 5.0, 11)
    expected = integrate(batch, method="Adaptive", t_eval=times)
    assert np.array_equal(run.sol(times)[1], expected.q)
    assert np.array_equal(run.q, expected.q[[0, -1]])


@pytest.mark.parametrize("method", [Splitting(ph.ThreeRotations(), "V2"), "QuatEM", "Adaptive"])
def test_a_free_body_with_a_method_that_is_not_exact(method):
    run = integrate(Problem(MOMENTS, ph.State(M0), t_span=(0.0, 20.0)), method=method, rtol=1e-5)
    m, q = addition_flow(MOMENTS, M0, (1, 0, 0, 0), 20.0)
    error = max(distance(run.m[-1], m) / np.linalg.norm(M0), distance(run.q[-1], q))
    assert 1e-8 <= error <= 1e-5
    assert "exact" not in run.message


def test_underflow_is_no_error_of_the_user():
    """A user may treat all floating-point exceptions as errors, and the ends of a pulse underflow."""

    def pulse(t, Q, w, p):
        return np.exp(-900.0 * (t - 3.0) ** 2), 0.0, 0.0

    with np.errstate(all="raise"):
        for choice in ({"rtol": 1e-6}, {"method": "V2", "rtol": 1e-5}, {"method": "Adaptive", "rtol": 1e-7}):
            assert integrate(Problem(MOMENTS, ph.State(M0), ph.Torque(pulse), (0.0, 10.0)), **choice).success
        assert integrate(a_system(), rtol=1e-6).success
        assert ph.start(a_system(), rtol=1e-6).t == 0.0


def test_each_threshold_has_its_origin():
    """And what changes if it is halved, in the comment above it."""
    above, found = [], []
    for line in Path(rules.__file__).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            above.append(line.removeprefix("#"))
            continue
        if re.match("[A-Z_, ]+ = ", line):
            text = "".join(above)
            assert re.search(r"\b(Derived|Measured|Taste|Not recorded)\b.*\bHalved: ", text), line
            found += line.split(" = ")[0].split(", ")
        above.clear()
    assert found == [name for name in vars(rules) if name.isupper()]
