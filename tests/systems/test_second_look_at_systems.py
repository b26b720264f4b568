"""rtol= of systems is compared with Adaptive: narrow barriers and steep fields are seen, or there is a warning."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import RunWarning
from polhode.integration.second_look import may_hide
from polhode.systems.interactions import DipolarSoftSpheres, Field, PairPotential

pytestmark = pytest.mark.dense

BODY = ph.RigidBody((1.0, 1.5, 2.0), mass=1.0)


def barrier(r, A, B, p):
    d = (r[0] ** 2 + r[1] ** 2 + r[2] ** 2) ** 0.5
    return p[0] * np.exp(-(((d - 1.1) / p[1]) ** 2)) + 0.1 * d**2


def spring(r, A, B, p):
    d2 = r[0] ** 2 + r[1] ** 2 + r[2] ** 2
    return 0.05 * d2 + 0.3 / (d2 + 0.3) ** 0.5


def spike(t, x, Q, F, T, p):
    for i in range(len(x)):
        F[i, 0] = p[0] * np.exp(-(((x[i, 0] - 0.3) / p[1]) ** 2))


def saturating(t, x, Q, F, T, p):
    for i in range(len(x)):
        F[i, 0] = -p[0] * np.tanh(3000.0 * x[i, 0])
        T[i, 2] = p[0] * np.tanh(3000.0 * Q[i, 0, 1])


def pair_of(interaction, end=2.0):
    state = ph.State(
        [(0.3, 0.2, 0.1), (0.1, 0.0, 0.2)], x=[(-0.8, 0.0, 0), (0.8, 0.05, 0)], p=[(0.5, 0.0, 0), (-0.5, 0.0, 0)]
    )
    return ph.System(BODY, state, interaction, t_span=(0.0, end))


def eight_of(interaction, end=2.0):
    rng = np.random.default_rng(0)
    corners = 1.5 * np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    x, m, p = (rng.normal(size=(8, 3)) for _ in range(3))
    state = ph.State(0.3 * m, x=corners + 0.1 * x, p=0.4 * p)
    return ph.System(BODY, state, interaction, t_span=(0.0, end))


def answer(system, rtol, method=None):
    """The trajectory, its error, and whether there was a warning."""
    end = system.t_span[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traj = ph.integrate(system, method=method, rtol=rtol, t_eval=[end])
    true = ph.integrate(system, method=ph.Adaptive(1e-12, max_step=5e-3), t_eval=[end])
    last = (tuple(getattr(one, name)[-1] for name in system.rows.names) for one in (traj, true))
    warned = any(issubclass(warning.category, RunWarning) for warning in caught)
    return traj, max(system.rows.differences(*last)), warned


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize(
    "system",
    [
        pair_of(Field(spike, [5.0, 1e-3])),
        eight_of(Field(spike, [5.0, 1e-3])),
        pair_of(Field(saturating, [0.3])),
        pair_of(PairPotential(barrier, params=[0.05, 1e-2])),
    ],
    ids=["spike", "spike of eight", "saturating", "barrier"],
)
def test_features_along_the_paths_are_seen(system, rtol):
    _, error, warned = answer(system, rtol)
    assert warned or error < rtol


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_a_narrower_barrier_is_seen(rtol):
    _, error, warned = answer(pair_of(PairPotential(barrier, params=[0.05, 1e-3])), rtol)
    assert warned or error < rtol


def test_a_method_of_the_user_is_compared():
    traj, error, warned = answer(pair_of(Field(spike, [5.0, 1e-3])), 1e-6, "RKN6_14a")
    assert error > 1e-6
    assert warned
    assert "comparison with Adaptive" in traj.message


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("make", [pair_of, eight_of])
def test_smooth_forces_give_no_alarm(make, rtol):
    traj, error, warned = answer(make(PairPotential(spring)), rtol)
    assert isinstance(traj.method, ph.Splitting)
    assert "compared with Adaptive" in traj.message
    assert not warned
    assert error < rtol


def test_long_times_are_compared_in_stretches():
    gas = ph.System.lattice(BODY, 2, 1.6, PairPotential(spring), kT=0.5, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunWarning)
        traj = ph.integrate(gas, (0.0, 60.0), rtol=1e-9, t_eval=[60.0])
    until = re.search(r"compared with Adaptive\(.*\) until t = ([0-9.]+)", traj.message)
    assert until is not None
    assert 0.0 < float(until[1]) < 60.0


def test_only_functions_of_the_user_may_hide_something():
    assert may_hide(pair_of(Field(spike, [5.0, 1e-3])))
    assert may_hide(pair_of(DipolarSoftSpheres((0, 1, 1)) + PairPotential(spring)))
    assert not may_hide(pair_of(DipolarSoftSpheres((0, 1, 1))))


def test_a_field_gives_the_same_forces_at_many_times_as_at_each():
    rng = np.random.default_rng(1)
    x, Q = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3, 3, 3))
    for frame in ("body", "space"):
        field = Field(saturating, [0.3], frame=frame)
        together, each = np.zeros((2, 4, 3, 3)), np.zeros((2, 4, 3, 3))
        field.evaluate_each(np.arange(4.0), x, Q, *together)
        for k in range(4):
            field.evaluate(float(k), x[k], Q[k], each[0, k], each[1, k])
        np.testing.assert_allclose(together, each, rtol=1e-14)
