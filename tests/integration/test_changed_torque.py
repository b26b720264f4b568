"""All methods take the torque as it is when they are called, also if a value that it reads has changed since."""

from __future__ import annotations

import pickle
import types

import numpy as np
import pytest

import polhode as ph

pytestmark = pytest.mark.filterwarnings("ignore::polhode.forces.functions.SlowTorqueWarning")

METHODS = {
    "Taylor": {"method": ph.Taylor(1e-12)},
    "rtol": {"rtol": 1e-10},
    "Adaptive": {"method": ph.Adaptive(1e-12)},
    "splitting": {"method": "S6_10", "h": 0.02},
}
TIMES = [0.0, 5.0]
SETTINGS = types.SimpleNamespace(gain=0.1)
GAINS = [0.1, 0.2]
TABLE = np.array([0.1, 0.2])
RATE = 0.1


def by_global(t, Q, w, p):
    return RATE * Q[1][0], 0.0, 0.0


def by_attribute(t, Q, w, p):
    return SETTINGS.gain * Q[1][0], 0.0, 0.0


def by_item(t, Q, w, p):
    return GAINS[0] * Q[1][0], 0.0, 0.0


def by_array(t, Q, w, p):
    return TABLE[0] * Q[1][0], 0.0, 0.0


def by_inner_function(t, Q, w, p):
    return by_global(t, Q, w, p)


def set_global(value):
    globals()["RATE"] = value


def set_attribute(value):
    SETTINGS.gain = value


def set_item(value):
    GAINS[0] = value


def set_array(value):
    TABLE[0] = value


KINDS = {
    "global": (by_global, set_global),
    "attribute": (by_attribute, set_attribute),
    "item": (by_item, set_item),
    "array": (by_array, set_array),
    "inner function": (by_inner_function, set_global),
}


def problem_of(function):
    return ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 1.0)), ph.Torque(function), (0.0, 5.0))


def constant(value):
    return ph.Torque(lambda t, Q, w, p: (p[0] * Q[1][0], 0.0, 0.0), params=[value])


@pytest.fixture(autouse=True)
def restored():
    yield
    for _, change in KINDS.values():
        change(0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_changed_value_is_noticed(kind, name):
    function, change = KINDS[kind]
    problem = problem_of(function)
    for value in (0.1, 0.4, 0.1, 0.7):
        change(value)
        wanted = ph.integrate(problem.replaced(force=constant(value)), t_eval=TIMES, method=ph.Taylor(1e-13))
        traj = ph.integrate(problem, t_eval=TIMES, **METHODS[name])
        np.testing.assert_allclose(traj.m[-1], wanted.m[-1], atol=2e-9)


def test_a_closure_variable_is_noticed():
    rate = 0.1

    def law(t, Q, w, p):
        return rate * Q[1][0], 0.0, 0.0

    problem = problem_of(law)
    before = ph.integrate(problem, rtol=1e-10)
    rate = 0.4
    after = ph.integrate(problem, rtol=1e-10)
    assert np.abs(after.m[-1] - before.m[-1]).max() > 0.01
    assert not problem.force.velocity_dependent


def test_a_torque_may_become_another_one():
    """It depends on time and velocity, and it has no graph, only after the change."""
    state = {"law": "none"}

    def law(t, Q, w, p):
        if state["law"] == "none":
            return 0.1 * Q[1][0], 0.0, 0.0
        return (0.1 if Q[0][0] > 0.5 else 0.2) * t, -0.1 * w[1], 0.0

    problem = problem_of(law)
    first = ph.integrate(problem, rtol=1e-6)
    state["law"] = "other"
    second = ph.integrate(problem, rtol=1e-6)
    assert isinstance(second.method, ph.Adaptive)
    assert second.problem.force.velocity_dependent
    assert not first.problem.force.velocity_dependent


def test_nothing_changes_without_a_change():
    problem = problem_of(by_global)
    first = ph.integrate(problem, rtol=1e-8)
    assert problem.current() is problem
    assert first.problem is problem
    set_global(0.1 + 0.0)  # an equal number, maybe another object
    assert problem.current() is problem
    set_global(0.3)
    changed = problem.current()
    assert changed is not problem
    assert problem.current() is changed
    assert pickle.loads(pickle.dumps(problem)).force == ph.Torque(by_global)


def test_sums_and_potentials():
    def energy(t, Q, p):
        return RATE * Q[2][2]

    def tilt(t, Q, p):
        return SETTINGS.gain * Q[0][1]

    force = ph.Potential(energy) + ph.Potential(tilt)
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 1.0)), force, (0.0, 5.0))
    ph.integrate(problem, method=ph.Taylor(1e-12))
    set_global(0.4)
    set_attribute(0.3)
    new = ph.Potential(energy) + ph.Potential(tilt)
    for choice in METHODS.values():
        wanted = ph.integrate(problem.replaced(force=new), t_eval=TIMES, **choice)
        found = ph.integrate(problem, t_eval=TIMES, **choice)
        np.testing.assert_allclose(found.m[-1], wanted.m[-1], atol=1e-12)
        np.testing.assert_allclose(found.energy, wanted.energy, atol=1e-12)


@pytest.mark.parametrize("method", ["V2", ph.Taylor(1e-10)])
def test_a_stepper_keeps_its_torque_until_reset(method):
    problem = problem_of(by_global)
    h = 0.1 if isinstance(method, str) else None
    run = ph.start(problem, method, h=h)
    run.to(5.0)
    before = run.m.copy()
    set_global(0.4)
    run.to(0.0)
    run.to(5.0)
    np.testing.assert_allclose(run.m, before, atol=1e-9)
    run.reset()
    run.to(5.0)
    fresh = ph.start(problem, method, h=h)
    fresh.to(5.0)
    np.testing.assert_array_equal(run.m, fresh.m)
    assert np.abs(run.m - before).max() > 0.01
