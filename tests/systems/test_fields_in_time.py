"""Steps chosen by rtol= see what fields do for a short time."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.stepping.time_structure import LARGEST_SPACING
from polhode.systems.interactions import Field
from polhode.systems.rows import FEWER_CELLS

WIDTH, P = 0.03, 0.2


def pulse(t, x, Q, F, T, p):
    for i in range(len(x)):
        F[i, 0] = p[0] * np.exp(-(((t - p[1]) / p[2]) ** 2))
        T[i, 2] = 0.5 * F[i, 0]


def switched(t, x, Q, F, T, p):
    for i in range(len(x)):
        F[i, 0] = p[0] if p[1] < t < p[1] + p[2] else 0.0


def system_of(function, params):
    states = ph.State([(0.3, 0.2, 0.1), (0.1, 0.0, 0.2)], x=[(0.0, 0, 0), (1.0, 0.5, 0)], p=[(0.0, P, 0), (0.0, -P, 0)])
    body = ph.RigidBody((1.0, 1.5, 2.0), mass=1.0)
    return ph.System(body, states, Field(function, params), t_span=(0.0, 20.0))


@pytest.mark.parametrize(("function", "impulse"), [(pulse, np.sqrt(np.pi)), (switched, 1.0)])
@pytest.mark.parametrize("start", [4.18, 11.37])
def test_a_pulse_is_seen(function, impulse, start):
    traj = ph.integrate(system_of(function, [0.5, start, WIDTH]), rtol=1e-6)
    wanted = 0.5 * WIDTH * impulse
    assert traj.p[-1, 0, 0] == pytest.approx(wanted, rel=1e-4)


def test_many_bodies_have_fewer_samples():
    """They need more than four times the largest spacing that is compared."""
    assert FEWER_CELLS > 8 * LARGEST_SPACING
    body = ph.RigidBody((1.0, 1.5, 2.0), mass=1.0)
    many = ph.System.lattice(body, 5, 2.0, Field(pulse, [0.5, 4.18, 0.1]), kT=0.1, seed=1)
    longest = many.rows.sampled_structure((0.0, 20.0)).longest
    assert 0.01 < longest[0] < 1.5
    assert many.rows.cells == FEWER_CELLS
    calm = ph.System.lattice(body, 5, 2.0, Field(pulse, [0.5, 4.18, 100.0]), kT=0.1, seed=1)
    assert calm.rows.sampled_structure((0.0, 20.0)).longest[0] > 5.0


def test_fields_without_time_are_not_sampled():
    def calm(t, x, Q, F, T, p):
        F[:, 0] = -x[:, 0]

    system = system_of(calm, ())
    assert not system.interaction.time_dependent
    assert np.isinf(system.rows.sampled_structure((0.0, 20.0)).longest).all()
