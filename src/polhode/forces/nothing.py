"""No force at all: V = 0. What acts on a free body, for methods that ask for an energy."""

from __future__ import annotations

from polhode.forces.base import ALWAYS_ZERO, Force
from polhode.forces.functions import ENERGY, ENERGY_FORM, GRADIENT, GRADIENT_FORM, ReadyMade
from polhode.kernels.compiler.jit import entry_point


@entry_point(ENERGY)
def energy(t, Q, p):
    return 0.0


@entry_point(GRADIENT)
def gradient(t, Q, p):
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


def nothing() -> Force:
    """No torque, and the energy 0.

    >>> nothing().torque(0.0, (1, 0, 0, 0))
    array([0., 0., 0.])
    """
    return Force(ALWAYS_ZERO, ReadyMade(ENERGY_FORM, energy), ReadyMade(GRADIENT_FORM, gradient), name="nothing")
