"""The zero force, V = 0: a free body, for methods that require an energy."""

from __future__ import annotations

from functools import cache

from polhode.forces.base import ALWAYS_ZERO, Force
from polhode.forces.functions import ENERGY, ENERGY_FORM, GRADIENT, GRADIENT_FORM, ready_made
from polhode.kernels.compiler.jit import entry_point


@entry_point(ENERGY)
def energy(t, Q, p):
    """Return the energy 0."""
    return 0.0


@entry_point(GRADIENT)
def gradient(t, Q, p):
    """Return the gradient 0 as three rows."""
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


@cache
def nothing() -> Force:
    """Return the zero force of free bodies, with zero energy and zero gradient.

    Examples
    --------
    >>> nothing().torque(0.0, (1, 0, 0, 0))
    array([0., 0., 0.])
    """
    return Force(ALWAYS_ZERO, ready_made(ENERGY_FORM, energy), ready_made(GRADIENT_FORM, gradient), name="nothing")
