"""Taylor: series of the motion against other methods, and in every regime."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polhode as ph

MOMENTS = (1.0, 1.65, 1.97)
STATE = ph.State(m=(0.3, 2.2, 0.9), q=(0.8, 0.0, 0.6, 0.0))


def control(t, Q, w, p):
    speed = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-6)
    a, b, c = Q[1][2] - Q[2][1], Q[2][0] - Q[0][2], Q[0][1] - Q[1][0]
    return p[0] * a - p[1] * speed * w[0], p[0] * b - p[1] * speed * w[1], p[0] * c - p[1] * speed * w[2]


FORCES = {
    "weight": ph.forces.gravity(3.0, (0, 0, 1)),
    "driven weight": ph.Torque(
        lambda t, Q, w, p: ((1 + math.sin(2 * t) / 2) * Q[2][1], -(1 + math.sin(2 * t) / 2) * Q[2][0], 0.0)
    ),
    "control": ph.Torque(control, params=[0.5, 0.3]),
    "gravity gradient": ph.forces.gravity_gradient(MOMENTS, 0.5, orbit_rate=0.3),
    "damping": ph.forces.gravity(3.0, (0, 0, 1)) + ph.forces.damping([(0.2, 0.1, 0), (0.1, 0.3, 0), (0, 0, 0.1)]),
    "nothing": ph.forces.constant((0.0, 0.0, 0.0)),
}
ROTATION = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
BODIES = {"moments": MOMENTS, "tensor": ROTATION @ np.diag(MOMENTS) @ ROTATION.T}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", FORCES)
@pytest.mark.parametrize("span", [(0.3, 5.3), (0.3, -0.7)])
def test_it_agrees_with_adaptive_steps(name, body, span):
    problem = ph.Problem(BODIES[body], STATE, FORCES[name], span)
    expected = ph.integrate(problem, method=ph.Adaptive(1e-13))
    traj = ph.integrate(problem, method=ph.Taylor())
    assert np.abs(traj.q[-1] - expected.q[-1]).max() < 1e-11
    assert np.abs(traj.m[-1] - expected.m[-1]).max() < 1e-11
    assert abs(np.linalg.norm(traj.q, axis=1) - 1).max() < 4e-16
