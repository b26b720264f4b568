"""Runs take the functions of an interaction as they are now, also if a value that they read has changed."""

from __future__ import annotations

import copy
import pickle
import types

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.compiler import JIT
from polhode.systems.interactions import Field, PairPotential, SitePotential

STIFFNESS = 1.0
SETTINGS = types.SimpleNamespace(table=np.array([1.0, 2.0]))
METHODS = {
    "V2": {"method": "V2", "h": 0.05},
    "S6_10": {"method": "S6_10", "h": 0.05},
    "Adaptive": {"method": ph.Adaptive(1e-8)},
    "rtol": {"rtol": 1e-4},
}


def set_stiffness(value):
    globals()["STIFFNESS"] = value
    SETTINGS.table[0] = value


def spring(r, A, B, p):
    return 0.5 * STIFFNESS * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])


ZERO = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def slopes(r, A, B, p):
    return (STIFFNESS * r[0], STIFFNESS * r[1], STIFFNESS * r[2]), ZERO, ZERO


def radial(r, a, b, p):
    return 0.5 * STIFFNESS * r * r


def slope(r, a, b, p):
    return STIFFNESS * r


def pull(t, x, Q, F, T, p):
    for i in range(len(x)):
        for k in range(3):
            F[i, k] = -STIFFNESS * x[i, k]


def pull_by_array(t, x, Q, F, T, p):
    F[:] = -SETTINGS.table[0] * x


KINDS = {
    "pair": lambda: PairPotential(spring, slopes),
    "sites": lambda: SitePotential([(0, 0, 0.1), (0, 0.2, 0)], radial, slope),
    "field": lambda: Field(pull),
    "field of arrays": lambda: Field(pull_by_array, arrays=True),
    "sum": lambda: Field(pull) + PairPotential(spring, slopes),
}


def system_of(interaction):
    states = ph.State([(0.3, 0.2, 0.1), (0.1, 0.0, 0.2)], x=[(0.0, 0, 0), (1.0, 0.5, 0)])
    return ph.System(ph.RigidBody((1.0, 1.5, 2.0), mass=1.0), states, interaction, t_span=(0.0, 1.0))


@pytest.fixture(autouse=True)
def restored():
    yield
    set_stiffness(1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_changed_value_is_noticed(kind, name):
    system = system_of(KINDS[kind]())
    for value in (1.0, 3.5, 1.0):
        set_stiffness(value)
        found = ph.integrate(system, t_eval=[1.0], **METHODS[name])
        wanted = ph.integrate(system_of(KINDS[kind]()), t_eval=[1.0], **METHODS[name])
        np.testing.assert_array_equal(found.x, wanted.x)
        if system.interaction.has_energy:
            np.testing.assert_array_equal(found.energy, wanted.energy)


@pytest.mark.skipif(not JIT, reason="functions that are not compiled read their values at each call")
def test_nothing_changes_without_a_change():
    system = system_of(PairPotential(spring, slopes))
    first = ph.integrate(system, method="V2", h=0.1)
    assert system.current() is system
    assert first.system is system
    set_stiffness(3.5)
    changed = system.current()
    assert changed is not system
    assert system.current() is changed
    assert system.replaced(t_span=(0.0, 2.0)).current().interaction == changed.interaction
    assert changed.interaction != first.system.interaction
    for other in (copy.copy(system), pickle.loads(pickle.dumps(system_of(PairPotential(spring, slopes))))):
        assert ph.integrate(other, method="V2", h=0.1).x[-1].tolist() != first.x[-1].tolist()


def test_a_stepper_keeps_its_functions_until_reset():
    system = system_of(PairPotential(spring, slopes))
    run = ph.start(system, "V2", h=0.1)
    run.to(1.0)
    before = run.x.copy()
    set_stiffness(3.5)
    run.to(0.0)
    run.to(1.0)
    np.testing.assert_allclose(run.x, before, atol=1e-13)
    run.reset()
    run.to(1.0)
    fresh = ph.start(system, "V2", h=0.1)
    fresh.to(1.0)
    np.testing.assert_array_equal(run.x, fresh.x)
    assert np.abs(run.x - before).max() > 0.01
