"""Numbers with units are refused: their units would be lost."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import InputError


class Array(np.ndarray):
    """An array with a unit, as those of astropy."""

    unit = "deg / s"


class Quantity:
    """Numbers with units, as those of pint, which NumPy converts without them."""

    def __init__(self, value, units):
        self.value, self.units = value, units

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)

    def __float__(self):
        return float(self.value)


RATES = np.array([1.0, 2.0, 3.0]).view(Array)
BODY = (1.0, 1.5, 2.0)
CALLS = {
    "omega": lambda: ph.State.from_omega(BODY, RATES),
    "omega in a list": lambda: ph.free_motion(BODY, omega=[Quantity(x, "deg/s") for x in (1.0, 2.0, 3.0)]),
    "m": lambda: ph.propagate(BODY, Quantity([1.0, 2.0, 3.0], "N m s"), (1.0, 0.0, 0.0, 0.0), 1.0),
    "t": lambda: ph.propagate(BODY, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0), Quantity(1.0, "hour")),
    "t of a motion": lambda: ph.free_motion(BODY, m=(1.0, 2.0, 3.0)).m(Quantity(1.0, "hour")),
    "inertia": lambda: ph.RigidBody(Quantity(BODY, "g cm2")),
    "h": lambda: ph.integrate(ph.problems.heavy_top(), method="V2", h=Quantity(0.1, "ms")),
    "t_eval": lambda: ph.integrate(ph.problems.heavy_top(), t_eval=Quantity([0.0, 1.0], "ms")),
    "weight": lambda: ph.forces.gravity(Quantity(3.0, "lbf"), (0.0, 0.0, 1.0)),
    "params": lambda: ph.Torque(lambda t, Q, w, p: (p[0], 0.0, 0.0), params=Quantity([1.0], "N m")),
}


@pytest.mark.parametrize("name", CALLS)
def test_units_are_not_stripped(name):
    with pytest.raises(InputError, match=r"has the unit .*; expected plain numbers in consistent units"):
        CALLS[name]()


def test_numbers_without_dimension_are_numbers():
    state = ph.State((1.0, 2.0, 3.0), Quantity([1.0, 0.0, 0.0, 0.0], "dimensionless"))
    assert state.q.tolist() == [1.0, 0.0, 0.0, 0.0]
