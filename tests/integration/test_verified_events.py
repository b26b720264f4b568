"""Events that saturate, peak or bend: all their sign changes are found, at the right times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import polhode as ph
from polhode.core.errors import RunWarning

SEED = 20261119
SPAN = 12.0
SAMPLES = 80_001


def attitude(q):
    return ph.rotation.matrix(q)


# Events f(t, x, Q), where x is a component of m along any axis, of sharpness k and with a threshold b.
KINDS = {
    "tanh": lambda k, b: lambda t, x, Q: np.tanh(k * (x - b)),
    "shifted tanh": lambda k, b: lambda t, x, Q: np.tanh(k * (x - b)) - 0.5,
    "pulse": lambda k, b: lambda t, x, Q: np.exp(-((k * (x - b)) ** 2)) - 0.5,
    "pulse in time": lambda k, b: lambda t, x, Q: np.exp(-((k * (t - 5.3 - b)) ** 2)) - 0.5,
    "bell": lambda k, b: lambda t, x, Q: 1.0 / (1.0 + (k * (Q[..., 2, 2] - b)) ** 2) - 0.5,
    "logistic": lambda k, b: lambda t, x, Q: 1.0 / (1.0 + np.exp(-k * (Q[..., 0, 2] - b))) - 0.3,
    "cone": lambda k, b: lambda t, x, Q: np.exp(-k * (1.0 - Q[..., 2, 2])) - 0.5,
    "heading": lambda k, b: lambda t, x, Q: np.arctan2(Q[..., 1, 0], Q[..., 0, 0]) - b,
    "two steep ones": lambda k, b: lambda t, x, Q: np.tanh(k * (x - b)) * np.tanh(k * (x - b - 0.02)),
    "magnitude": lambda k, b: lambda t, x, Q: np.abs(x - b) - 0.01,
    "root": lambda k, b: lambda t, x, Q: np.sqrt((x - b) ** 2 + 1.0 / k**2) - 2.0 / k,
}


def draw(kind, rng):
    """A slow body under a weak torque, and an event."""
    m, q, c = rng.normal(size=3), rng.normal(size=4), rng.normal(size=3)
    m *= rng.uniform(0.2, 1.5) / np.linalg.norm(m)
    c /= np.linalg.norm(c)
    k = float(np.exp(rng.uniform(np.log(3.0), np.log(500.0))))
    function = KINDS[kind](k, rng.uniform(-0.2, 0.2))
    force = ph.Torque(lambda t, Q, w, p: (0.1 * Q[2][1], -0.1 * Q[2][0], 0.02))
    moments = tuple(np.sort(rng.uniform(1.0, 2.0, 3)))
    problem = ph.Problem(moments, ph.State(m, q / np.linalg.norm(q)), force, (0.0, SPAN))

    def event(t, m, q):
        return function(t, c[0] * m[..., 0] + c[1] * m[..., 1] + c[2] * m[..., 2], attitude(q))

    return problem, event


def sign_changes(event, sol):
    """By samples of the event, and bisection."""
    times = np.linspace(0.0, SPAN, SAMPLES)
    g = event(times, *sol(times)) > 0.0
    return [
        brentq(lambda t: float(event(np.float64(t), *sol(t))), times[i], times[i + 1], xtol=1e-13)
        for i in np.flatnonzero(g[1:] != g[:-1])
    ]


def missed(kind, rng):
    """Whether the sign changes that are found are not all, or others."""
    problem, event = draw(kind, rng)
    traj = ph.integrate(problem, method=ph.Taylor(1e-10), events=event, dense_output=True)
    found, true = np.sort(traj.t_events[0]), sign_changes(event, traj.sol)
    return len(found) != len(true) or not np.allclose(found, true, rtol=0, atol=1e-8)


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS)
def test_random_events(kind):
    rng = np.random.default_rng([SEED, list(KINDS).index(kind)])
    assert not any(missed(kind, rng) for _ in range(4))


@pytest.mark.release
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_events(kind):
    rng = np.random.default_rng()
    assert sum(missed(kind, rng) for _ in range(60)) == 0


def test_a_steep_event():
    """tanh(100 m1) changes its sign where m1 does."""
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.4, 1.0)), t_span=(0.0, 40.0))
    steep = ph.integrate(problem, method=ph.Taylor(1e-10), events=lambda t, m, q: np.tanh(100.0 * m[..., 0]))
    plain = ph.integrate(problem, method=ph.Taylor(1e-10), events=lambda t, m, q: m[..., 0])
    assert len(plain.t_events[0]) > 3
    np.testing.assert_allclose(steep.t_events[0], plain.t_events[0], rtol=0, atol=1e-11)


def oscillating(rate):
    return lambda t, m, q: np.cos(rate * t) - 0.5


SLOW = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 1.0)), ph.Torque(lambda t, Q, w, p: (0.1, 0.0, 0.0)), (0.0, 2.5))


@pytest.mark.parametrize("method", [ph.Adaptive(1e-9), ph.Taylor(1e-9)])
def test_a_fast_event(method):
    """cos(100 t) = 1/2 at t = pi (2 k +- 1/3)/100."""
    true = [np.pi * (2 * k + sign / 3) / 100 for k in range(41) for sign in (-1, 1)]
    found = ph.integrate(SLOW, method=method, events=oscillating(100.0)).t_events[0]
    np.testing.assert_allclose(found, [t for t in true if 0.0 < t < 2.5], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [ph.Adaptive(1e-9), ph.Taylor(1e-9)])
def test_an_event_that_is_too_fast_warns(method):
    with pytest.warns(RunWarning, match=r"event <lambda> changes too fast within steps.*max_step"):
        ph.integrate(SLOW, method=method, events=oscillating(1e5))


def test_events_that_jump_or_are_constant_do_not_warn():
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 1.0)), SLOW.force, (0.0, 30.0))
    events = [lambda t, m, q: np.where(m[..., 0] > 0.0, 1.0, -1.0), lambda t, m, q: 0.0 * t - 1.0]
    for method in (ph.Adaptive(1e-9), ph.Taylor(1e-9)):
        traj = ph.integrate(problem, method=method, events=events)
        expected = ph.integrate(problem, method=method, events=lambda t, m, q: m[..., 0]).t_events[0]
        np.testing.assert_allclose(traj.t_events[0], expected, rtol=0, atol=1e-9)
