"""Torques that switch or act for a short time only: what is promised is kept, or a warning says that it is not."""

from __future__ import annotations

import warnings
from math import exp, inf, sin

import numpy as np
import pytest

import polhode as ph
from polhode import forces
from polhode.core.errors import RunWarning
from polhode.integration.time_structure import CELLS, time_structure
from polhode.methods.adaptive import Adaptive
from polhode.solve import integrate
from switching import by_scipy, error_at_end, random_switches, switched

pytestmark = pytest.mark.dense

SPAN = 0.0, 100.0
BURN = (1.0, 1.5, 2.0), (0.1, 0.2, 1.0), (1.0, 0.0, 0.0, 0.0), 100.0, (0.5, 0.0, 0.0), (30.0, 31.0), (1.0, 0.0)


def problem_of(moments, m, q, t_end, direction, times, levels):
    return ph.Problem(moments, ph.State(m, q), switched(direction, times, levels), (0.0, t_end))


def kept(case, rtol, method=None):
    """(the error at the end, whether a warning was given, the trajectory)."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RunWarning)
        traj = integrate(problem_of(*case), rtol=rtol, method=method)
    return error_at_end(traj, *by_scipy(*case)), bool(told), traj


def looked_at(torque, *params):
    """What samples show of the torque with each row of parameters."""
    return time_structure(ph.Torque(torque, (1.0,)), np.array(params or [[1.0]], dtype=float), SPAN)


# What samples show.


@pytest.mark.parametrize(
    "torque",
    [
        lambda t, Q, w, p: (sin(3.0 * t), 0.0, 0.0),
        lambda t, Q, w, p: (0.0, t**3, 0.0),
        lambda t, Q, w, p: (0.0, Q[0][0], exp(-t) * w[0]),
    ],
)
def test_smooth_torques_are_smooth(torque):
    found = looked_at(torque)
    assert not found.rough.any()
    assert not found.hidden.any()
    assert found.longest > 1.0


@pytest.mark.parametrize(
    "torque",
    [
        lambda t, Q, w, p: (t // 7.3, 0.0, 0.0),
        lambda t, Q, w, p: (0.0, abs(t - 33.3), 0.0),
        lambda t, Q, w, p: (0.0, 0.0, w[0] if sin(t) > 0.9 else 0.0),
    ],
)
def test_jumps_and_kinks_are_rough(torque):
    assert looked_at(torque).rough.all()


LENGTHS = 10.0 ** np.array([1.0, 0.5, 0.0, -0.5, -1.0])


@pytest.mark.parametrize(
    "torque",
    [
        lambda t, Q, w, p: (1.0 if 42.0 < t < 42.0 + p[0] else 0.0, 0.0, 0.0),
        lambda t, Q, w, p: (0.0, 7.0 + 0.01 * exp(-(((t - 42.0) / p[0]) ** 2)), 0.0),
    ],
)
def test_no_step_passes_over_a_pulse_or_a_peak(torque):
    """Adaptive looks at 12 times in a step, the farthest of them 0.27 steps apart; a peak is twice its length wide."""
    found = looked_at(torque, *LENGTHS[:, None])
    assert (0.27 * found.longest < np.where(found.rough, 1.0, 2.0) * LENGTHS).all()
    assert not found.hidden.any()


def test_what_is_shorter_than_the_samples_is_told():
    force = ph.Torque(lambda t, Q, w, p: (0.1 if 40.0 < t < 40.02 else 0.1 * sin(t), 0.0, 0.0))
    span = 0.0, 40.01 / 816 * CELLS  # a sample falls on the middle of the pulse
    assert time_structure(force, np.empty((1, 0)), span).hidden.all()
    with pytest.warns(RunWarning, match=r"shorter than a 1019th of the time span.*breaks"):
        integrate(ph.Problem((1, 2, 3), ph.State((0.1, 0.2, 0.3)), force, span), rtol=1e-6)


def test_ready_made_and_autonomous_torques_are_not_sampled():
    for force in (forces.gravity(1.0, (0, 0, 1)), ph.Torque(lambda t, Q, w, p: (-w[0], 0.0, 0.0))):
        assert time_structure(force, np.empty((1, 0)), SPAN).longest == inf


def test_known_breaks_are_no_structure():
    force = switched((1.0, 0.0, 0.0), (30.0, 31.0), (1.0, 0.0)).replaced(breaks=(30.0, 31.0))
    found = time_structure(force, force.params[None], SPAN)
    assert not found.rough.any()
    assert found.longest > 10.0


# What is promised.


def test_a_burn_is_not_stepped_over():
    error, _, traj = kept(BURN, 1e-6)
    assert error <= 1e-6
    assert "not smooth in time" in traj.message


def test_no_promise_is_broken_in_silence():
    rng = np.random.default_rng(21)
    warned = 0
    for rtol in [1e-3, 1e-4, 1e-6, 1e-8] * 6:
        error, told, _ = kept(random_switches(rng, longest=15.0), rtol)
        warned += told
        assert error <= rtol or told
    assert warned <= 2


@pytest.mark.release
@pytest.mark.parametrize("seed", range(10))
def test_no_promise_is_broken_in_silence_many(seed):
    rng = np.random.default_rng(2100 + seed)
    for _ in range(40):
        method = rng.choice([None, None, None, "V2", "RKN6_14a"])
        rtol = 10.0 ** rng.uniform(-10.0, -3.0) if method is None else 10.0 ** rng.uniform(-5.0, -3.0)
        error, told, _ = kept(random_switches(rng, longest=100.0), rtol, method)
        assert error <= rtol or told


def test_a_given_method_is_held_against_adaptive():
    error, told, traj = kept(BURN, 1e-3, "V2")
    assert error <= 1e-3
    assert not told
    assert traj.h < 0.1


def bang_bang(t, Q, w, p):
    return (p[0] if Q[2][2] > 0.5 else -p[0]), 0.0, (p[0] if Q[1][0] > 0.0 else 0.0)


def test_a_torque_that_jumps_with_the_attitude():
    """The truth: steps so short that of those with a jump in them, too, the error is small."""
    for strength in (0.02, 0.3):
        problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 0.9)), ph.Torque(bang_bang, (strength,)), (0.0, 20.0))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", RunWarning)
            traj = integrate(problem, rtol=1e-6)
        truth = integrate(problem, method=Adaptive(1e-13, max_step=0.01))
        assert error_at_end(traj, truth.m[-1], truth.q[-1]) <= 1e-6 or told


# Adaptive by itself.


def test_adaptive_sees_a_pulse_on_a_body_at_rest():
    case = (1.0, 1.5, 2.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), 100.0, (0.2, 0.1, 0.0), (41.0, 41.3), (1.0, 0.0)
    traj = integrate(problem_of(*case), method=Adaptive(1e-9))
    assert error_at_end(traj, *by_scipy(*case)) < 1e-7
    blind = integrate(problem_of(*case), method=Adaptive(1e-9, max_step=inf))
    assert not blind.m.any()


def test_the_longest_step_is_that_of_each_body():
    times = [(41.0, 41.3), (20.0, 60.0)]
    each = [switched((0.2, 0.1, 0.0), pulse, (1.0, 0.0)) for pulse in times]
    both = each[0].replaced(params=np.stack([force.params for force in each]))
    state, at = ph.State((0.0, 0.0, 1.0)), [50.0, 100.0]
    batch = integrate(ph.Problem((1.0, 1.5, 2.0), state, both, SPAN), method=Adaptive(1e-6), t_eval=at)
    for i, force in enumerate(each):
        alone = integrate(ph.Problem((1.0, 1.5, 2.0), state, force, SPAN), method=Adaptive(1e-6), t_eval=at)
        np.testing.assert_array_equal(batch.m[:, i], alone.m)
