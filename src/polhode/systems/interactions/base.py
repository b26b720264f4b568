"""Interaction: forces and torques on all bodies of a system, and their energy. And sums of interactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, check_finite
from polhode.core.errors import InputError, ShapeError
from polhode.forces.base import check_call
from polhode.systems.interactions.neighbors import Box


class Interaction(ABC):
    """What acts between bodies, or on all of them from outside.

    A subclass has ``evaluate``, a ``name``, and says whether it has an energy. All vectors are in space axes; attitude
    matrices are those of the users' body axes.
    """

    name: str
    has_energy: bool = True

    @abstractmethod
    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on bodies at x (n, 3) with attitudes Q (n, 3, 3).

        Returns the energy, or NaN where that does not come with them.
        """

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        """The energy of bodies at x (n, 3) with attitudes Q (n, 3, 3)."""
        return self.evaluate(t, x, Q, np.zeros_like(x), np.zeros_like(x))

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:  # noqa: B027
        """Refuse bodies that the interaction is not made for, or an interaction that contradicts itself there."""

    def in_box(self, box: Box) -> Interaction:
        """This interaction between bodies in a box, and all their images; InputError if it is not made for that."""
        if box.repeats:
            raise InputError(f"{self.name} cannot be in a box that repeats itself; omit box")
        return self

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """The dipole moments of bodies with attitudes Q (..., n, 3, 3), in space axes, (..., n, 3)."""
        raise AttributeError(f"{self.name} knows no dipoles; polhode.interactions.DipolarSoftSpheres does")

    def __add__(self, other: Any) -> Interaction:
        return Sum(self, other) if isinstance(other, Interaction) else NotImplemented

    def __repr__(self) -> str:
        return self.name


class Sum(Interaction):
    """Two interactions at once."""

    def __init__(self, first: Interaction, second: Interaction) -> None:
        self._both = first, second
        self.name = f"{first.name} + {second.name}"
        self.has_energy = first.has_energy and second.has_energy

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        return sum(part.evaluate(t, x, Q, force, torque) for part in self._both)

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        return sum(part.energy(t, x, Q) for part in self._both)

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        for part in self._both:
            part.check(t, x, Q)

    def in_box(self, box: Box) -> Interaction:
        return Sum(*(part.in_box(box) for part in self._both))

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Of the first part that has some."""
        try:
            return self._both[0].dipoles(Q)
        except AttributeError:
            return self._both[1].dipoles(Q)


def as_sites(sites: npt.ArrayLike) -> FloatArray:
    """Places (s, 3) in body axes, a copy."""
    places = as_floats(sites, "sites", 3).copy()
    check_finite(places, "sites", InputError)
    if places.ndim != 2 or not len(places):
        raise ShapeError(f"sites has shape {places.shape}; expected (s, 3), a place in body axes for each site")
    return places


def takes(func: Any, name: str, arguments: str) -> None:
    """Refuse what cannot be called with those arguments."""
    check_call(func, name, tuple(arguments.split(", ")))
