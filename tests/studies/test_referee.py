"""States in high precision: against golden data of 30 digits, the closed form, and themselves."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import random_attitude
from oracles.addition import addition_flow
from polhode import forces
from polhode.core.errors import InputError, MissingExtraError, PolhodeError, TimeError
from test_torqued_golden import CASES, PROBLEMS, numbers, times

MOMENTS = 1.0, 1.75, 2.0
STATE = ph.State((0.3, 1.2, -0.9), (0.5, 0.5, -0.5, 0.5))


def golden_torque(t, Q, w, p):
    """u x (chi + B u) with u = Q^T s; the numbers of a golden case are the parameters."""
    s, chi, B = p[0:3], p[3:6], p[6:9]
    u = [Q[0][i] * s[0] + Q[1][i] * s[1] + Q[2][i] * s[2] for i in range(3)]
    g = [chi[i] + B[i] * u[i] for i in range(3)]
    return u[1] * g[2] - u[2] * g[1], u[2] * g[0] - u[0] * g[2], u[0] * g[1] - u[1] * g[0]


def golden_problem(case):
    force = ph.Torque(golden_torque, np.concatenate([numbers(case, name) for name in ("s", "chi", "B")]))
    damping = numbers(case, "D")
    if damping.any():
        force = force + forces.damping(damping)
    state = ph.State(numbers(case, "m0"), numbers(case, "q0"))
    np.testing.assert_array_equal(state.q, numbers(case, "q0"))
    return ph.Problem(numbers(case, "I"), state, force, (0.0, times(case)[-1]))


def largest(found, wanted):
    """The largest difference of two vectors of digits, relative to the largest component."""
    with mp.workdps(60):
        wanted = [mp.mpmathify(x) for x in wanted]
        return max(abs(x - y) for x, y in zip(found, wanted, strict=True)) / max(map(abs, wanted))


QUICK = "heavy_top_eps1e-3", "vessel_damped"  # some seconds; the others take up to minutes


def marks(name):
    return pytest.mark.long if name in QUICK else pytest.mark.release


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PROBLEMS])
def test_golden_states(name):
    case = CASES[name]
    found = ph.referee(golden_problem(case), times(case), digits=30)
    for m, q, state in zip(found.m, found.q, case["states"], strict=True):
        assert largest(m, state["m"]) < 2e-29
        assert largest(q, state["q"]) < 2e-29


def test_a_free_body_against_the_closed_form():
    """In 50 digits, forward and backward, and at the start itself."""
    t = [2.0, 0.0, -1.5]
    found = ph.referee(ph.Problem(MOMENTS, STATE), t)
    assert found.m.shape == (3, 3)
    assert found.q.shape == (3, 4)
    with mp.workdps(70):
        for k, time in enumerate(t):
            m, q = addition_flow(MOMENTS, STATE.m.tolist(), STATE.q.tolist(), mpf(time))
            assert largest(found.m[k], m) < 1e-49
            assert largest(found.q[k], q) < 1e-49


def spring(t, Q, w, p):
    """With numbers that the graph of floats would round: 0.1 / 3, and sums of multiples."""
    return 0.1 * (w[0] / 3.0) - 0.7 * w[0], p[0] * math.sin(0.3 * t) / 7.0, 0.1 * w[2] + 0.2 * w[2]


@pytest.mark.long
def test_numbers_within_functions_are_not_rounded():
    """The same torque with parameters for all numbers, whose arithmetic is that of mpmath in any case."""

    def with_parameters(t, Q, w, p):
        return p[1] * (w[0] / p[2]) - p[3] * w[0], p[0] * math.sin(p[4] * t) / p[5], p[1] * w[2] + p[6] * w[2]

    first = ph.Problem(MOMENTS, STATE, ph.Torque(spring, [0.9]))
    second = first.replaced(force=ph.Torque(with_parameters, [0.9, 0.1, 3.0, 0.7, 0.3, 7.0, 0.2]))
    one, other = (ph.referee(problem, 1.0, digits=40) for problem in (first, second))
    assert largest(one.m, other.m) < 1e-39
    assert largest(one.q, other.q) < 1e-39


def energy(t, Q, p):
    return p[0] * (2.0 + Q[2][2] / 3.0) ** 1.3 + p[1] * math.exp(Q[2][0] / 5.0)


def slope(t, Q, w, p):
    """u x dV/du of ``energy`` with u = Q^T e3, by hand."""
    z, x = p[0] * 1.3 * (2.0 + Q[2][2] / 3.0) ** 1.3 / (2.0 + Q[2][2] / 3.0) / 3.0, p[1] * math.exp(Q[2][0] / 5.0) / 5.0
    return Q[2][1] * z, Q[2][2] * x - Q[2][0] * z, -Q[2][1] * x


@pytest.mark.long
def test_energies_are_differentiated_exactly():
    derived = ph.Problem(MOMENTS, STATE, ph.Potential(energy, params=[0.7, 0.4]) + forces.gravity(0.3, (0, 0, 1)))
    by_hand = derived.replaced(force=ph.Torque(slope, [0.7, 0.4]) + forces.gravity(0.3, (0, 0, 1)))
    one, other = (ph.referee(problem, 1.0, digits=40) for problem in (derived, by_hand))
    assert largest(one.m, other.m) < 1e-39
    assert largest(one.q, other.q) < 1e-39


@pytest.mark.long
def test_turned_axes_batches_and_full_damping_against_taylor(rng):
    turns = ph.rotation.matrix(random_attitude(rng, 2))
    tensors = np.einsum("nij,j,nkj->nik", turns, MOMENTS, turns)
    force = ph.Torque(spring, [[0.9], [0.4]]) + forces.damping([(0.2, 0.1, 0), (0.1, 0.3, 0), (0, 0, 0.1)])
    problem = ph.Problem((tensors + np.swapaxes(tensors, 1, 2)) / 2, STATE, force, (0.0, 1.0))
    found = ph.referee(problem, [0.5, 1.0], digits=20)
    assert found.m.shape == (2, 2, 3)
    traj = ph.integrate(problem, method=ph.Taylor(), t_eval=[0.5, 1.0])
    np.testing.assert_allclose(traj.m, found.m.astype(float), rtol=0, atol=5e-15)
    np.testing.assert_allclose(traj.q, found.q.astype(float), rtol=0, atol=5e-15)


def test_quaternions_have_unit_length():
    found = ph.referee(ph.Problem(MOMENTS, STATE, forces.gravity(1.0, (0, 0, 1))), 0.5, digits=40)
    with mp.workdps(50):
        assert abs(mp.norm(found.q.tolist()) - 1) < mpf(10) ** -40


def test_a_linear_rotor():
    rotor = ph.Problem(ph.RigidBody.linear(2.0), ph.State((0, 1.0, 0.5)), forces.gravity(1.0, (0.5, 0, 0)))
    found = ph.referee(rotor, 1.0, digits=20)
    traj = ph.integrate(rotor, method=ph.Taylor())
    np.testing.assert_allclose(traj.m[-1], found.m.astype(float), rtol=0, atol=2e-15)


@pytest.mark.long
def test_a_short_pulse_is_seen():
    def pulse(t, Q, w, p):
        return 3.0 * math.exp(-((t - 10.0) ** 2) / 0.01), 0.0, 0.0

    slow = ph.Problem(MOMENTS, ph.State((0.01, 0.0, 0.0)), ph.Torque(pulse), (0.0, 20.0))
    found = ph.referee(slow, 20.0, digits=15)
    with mp.workdps(25):
        assert abs(found.m[0] - mpf(0.01) - 3 * mp.sqrt(mp.pi * mpf(0.01))) < 1e-14


def test_refused(monkeypatch):
    problem = ph.Problem(MOMENTS, STATE)
    with pytest.raises(TimeError, match="finite times"):
        ph.referee(problem, [1.0, math.inf])
    with pytest.raises(InputError, match="digits"):
        ph.referee(problem, 1.0, digits=5)
    with pytest.raises(InputError, match="15 to 1000"):
        ph.referee(problem, 1.0, digits=2000)
    switch = ph.Torque(lambda t, Q, w, p: (1.0 if w[0] > 0 else 0.0, 0.0, 0.0))
    bent = ph.Problem((1.0, 2.0, 3.0), ph.State((0.1, 0.2, 0.3)), ph.Torque(lambda t, Q, w, p: (-abs(w[0]), 0.0, 0.0)))
    with pytest.raises(InputError, match=r"bends where w0 is 0.*type integrate"):
        ph.referee(bent, 1.0)
    with pytest.raises(InputError, match="branch on the state"):
        ph.referee(problem.replaced(force=switch), 1.0)
    root = ph.Torque(lambda t, Q, w, p: (math.sqrt(w[0] * w[0] + w[1] * w[1]), 0.0, 0.0))
    at_rest = problem.replaced(force=root, state=ph.State((0, 0, 0)))
    with pytest.raises(PolhodeError, match=r"not finite at t = 0\.0"):
        ph.referee(at_rest, 1.0, digits=15)
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(MissingExtraError, match=r"polhode\[referee\]"):
        ph.referee(problem, 1.0)
