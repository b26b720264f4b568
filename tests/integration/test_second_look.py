"""No wrong answer of ``rtol=`` without a word: torques that saturate, peak, bend or jump, with and without a graph."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import polhode as ph
from hard_torques import KINDS, draw
from polhode.core.errors import RunWarning
from polhode.integration.second_look import may_hide

pytestmark = pytest.mark.dense

TOLERANCES = (1e-4, 1e-6, 1e-9)
SEED = 20261120
BODY = (1.0, 1.5, 2.0)
START = ph.State((0.3, 0.2, 2.0))
UNTRACED = KINDS[:12:3]  # each takes seconds, because Numba compiles it


def without_graph(kind):
    """The same torque, with a branch that is never taken."""
    names = {**kind.__globals__}
    exec(
        f"def branched(t, Q, w, p):\n    return {kind.__name__}(t, Q, w, p) if Q[0][0] < 2 else (0.0, 0.0, 0.0)", names
    )
    return names["branched"]


def answer(problem, rtol, method=None):
    """The trajectory, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traj = ph.integrate(problem, method=method, rtol=rtol, t_eval=[problem.t_span[1]])
    return traj, any(issubclass(warning.category, RunWarning) for warning in caught)


def end_of(problem, longest):
    return ph.integrate(problem, method=ph.Adaptive(1e-13, max_step=longest), t_eval=[problem.t_span[1]])


def error(traj, true):
    return max(traj.problem.rows.differences((traj.m[-1], traj.q[-1]), (true.m[-1], true.q[-1])))


def outcomes(drawn, true, uncertain, force=None):
    """For each tolerance, whether the answer is wrong, and whether it warns."""
    problem = drawn.problem if force is None else drawn.problem.replaced(force=force)
    for rtol in TOLERANCES:
        traj, warned = answer(problem, rtol)
        yield rtol, problem, error(traj, true) > rtol + 3.0 * uncertain, warned


def check(drawn, force=None):
    """No answer is wrong without a warning; and there is one only where ``Adaptive`` warns, too."""
    true, other = (end_of(drawn.problem, longest) for longest in drawn.truth_steps[::-1])
    for rtol, problem, is_wrong, warned in outcomes(drawn, true, error(other, true), force):
        assert warned or not is_wrong, (drawn, rtol)
        if warned and force is None:
            assert answer(problem, rtol, "Adaptive")[1], (drawn, rtol)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_answer_is_wrong_without_a_warning(kind):
    check(draw(kind, np.random.default_rng([SEED, KINDS.index(kind)])))


@pytest.mark.release
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_answer_of_many_is_wrong_without_a_warning(kind):
    rng = np.random.default_rng([SEED + 1, KINDS.index(kind)])
    for _ in range(10):
        check(draw(kind, rng))


@pytest.mark.long
@pytest.mark.parametrize("kind", UNTRACED, ids=lambda kind: kind.__name__)
def test_torques_without_a_graph(kind):
    rng = np.random.default_rng([SEED + 2, KINDS.index(kind)])
    for _ in range(3):
        drawn = draw(kind, rng)
        check(drawn, ph.Torque(without_graph(kind), params=drawn.problem.force.params))


@pytest.mark.release
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_torques_of_all_kinds_without_a_graph(kind):
    rng = np.random.default_rng([SEED + 3, KINDS.index(kind)])
    for _ in range(5):
        drawn = draw(kind, rng)
        check(drawn, ph.Torque(without_graph(kind), params=drawn.problem.force.params))


def pulse(t, Q, w, p):
    return 0.333 * math.exp(-(((t - 4.18) / p[0]) ** 2)), 0.0, 0.0


@pytest.mark.parametrize("width", [0.0452, 2e-4])
def test_short_pulses_in_time(width):
    """The second one is shorter than a 2000th of the time span: it falls between the samples."""
    problem = ph.Problem(BODY, START, ph.Torque(pulse, params=[width]), (0.0, 50.0))
    true = end_of(problem, 0.001 if width < 0.01 else 0.01)
    traj, warned = answer(problem, 1e-9)
    assert not warned
    assert error(traj, true) < 1e-9
    traj, warned = answer(problem, 1e-6, "Adaptive")
    assert warned == (width < 0.01)
    assert warned or error(traj, true) < 1e-6


def cap(t, Q, w, p):
    """A narrow feature on the sphere of attitudes."""
    return 0.5 * math.exp(-5000.0 * (1.0 - (0.6 * Q[0][0] + 0.8 * Q[1][0]))), 0.0, 0.0


def edge(t, Q, w, p):
    return (0.2 if Q[0][0] > 0.999 else 0.0), 0.1 * Q[1][0], 0.0


@pytest.mark.parametrize("function", [cap, edge])
@pytest.mark.parametrize("method", [None, "Adaptive"])
def test_narrow_features_of_the_attitude(function, method):
    problem = ph.Problem(BODY, START, ph.Torque(function), (0.0, 30.0))
    true = end_of(problem, 6e-4)
    for rtol in (1e-4, 1e-6):
        traj, warned = answer(problem, rtol, method)
        assert not warned
        assert error(traj, true) < rtol
        if not isinstance(traj.method, ph.Taylor):
            assert "compared with" in traj.message


@pytest.mark.parametrize("name", ["ABA82", "V2", "KahanLi6"])
def test_a_method_of_the_user_is_compared_with_one_that_looks(name):
    problem = ph.Problem(BODY, START, ph.Torque(cap), (0.0, 30.0))
    true = end_of(problem, 6e-4)
    traj, warned = answer(problem, 1e-4, name)
    assert warned or error(traj, true) < 1e-4
    assert "compared with Taylor" in traj.message or "comparison with Taylor" in traj.message


def test_a_torque_without_a_series_somewhere():
    """The square overflows, and the series of the quotient is not finite; as a number, 4/inf is 0."""

    def bell(t, Q, w, p):
        e = math.exp(400.0 * Q[1][0]) + math.exp(-400.0 * Q[1][0])
        return 0.0, 0.0, 0.2 * 4.0 / (e * e)

    problem = ph.Problem(BODY, START, ph.Torque(bell), (0.0, 10.0))
    traj, warned = answer(problem, 1e-6)
    assert isinstance(traj.method, ph.Adaptive)
    assert "Taylor does not reach the error" in traj.message
    assert warned or error(traj, end_of(problem, 1e-3)) < 1e-6


def test_a_long_time_is_looked_at_in_parts():
    def table(t, Q, w, p):
        return 1e-4 * float(np.interp(Q[2][0], [-1.0, 0.0, 1.0], [0.0, 0.3, 1.0])), 0.0, 1e-4 * Q[1][1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not compiled
        problem = ph.Problem(BODY, START, ph.Torque(table), (0.0, 1500.0))
        traj = ph.integrate(problem, rtol=1e-3, t_eval=[1500.0])
    assert "in 4 parts of 100 radians" in traj.message


def test_batches_are_looked_at(rng):
    problem = ph.Problem(BODY, ph.State(rng.normal(size=(4, 3)) + (0, 0, 2)), ph.Torque(edge), (0.0, 20.0))
    traj, warned = answer(problem, 1e-5)
    true = end_of(problem, 1e-3)
    assert warned or error(traj, true) < 1e-5
    assert "compared with the torque between its stages" in traj.message


def test_only_functions_of_the_user_may_hide_something():
    def polynomial(t, Q, w, p):
        return Q[0][0] * Q[1][2] ** 2, -w[0] * p[0], math.sin(3.0 * t)

    def problem(force):
        return ph.Problem(BODY, START, force, (0.0, 1.0))

    assert not may_hide(problem(ph.forces.gravity(1.0, (0, 0, 1))))
    assert not may_hide(problem(ph.Torque(polynomial, params=[1.0])))
    assert may_hide(problem(ph.Torque(cap)))
    assert may_hide(problem(ph.Torque(edge)))
