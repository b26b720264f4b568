"""Base class of interactions: forces and torques on all bodies of a system, and their energy; sums of interactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite
from polhode.core.errors import InputError, ShapeError
from polhode.core.fingerprint import Fingerprint, fingerprint, identity, merged
from polhode.core.units import NO_UNITS
from polhode.core.value import Comparable
from polhode.forces.base import check_call
from polhode.forces.functions import Function
from polhode.systems.interactions.neighbors import Box

COMPARED = (Comparable, np.ndarray, float, int, str, tuple, type(None))  # types whose values are compared directly


class Interaction(Comparable, ABC):
    """Base class of interactions between bodies, and of external forces on all bodies.

    A subclass implements ``evaluate``, and sets ``name`` and ``has_energy``. All vectors are in space axes; attitude
    matrices are those of the body axes of the user. Interactions can be added. They are equal if their types and
    parameters are equal and their functions do the same.
    """

    name: str
    has_energy: bool = True
    is_compiled: bool = True  # whether its forces are computed without calling Python
    is_ready_made: bool = False  # whether its forces are known to be smooth, because no function of the user makes them

    @property
    def units(self) -> Mapping[str, str]:
        """Units to which quantities are converted, by their names in the `units` of a problem, if not SI."""
        return NO_UNITS

    @abstractmethod
    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques on all bodies to `force` and `torque`, and return the energy.

        Parameters
        ----------
        t : float
            Time.
        x : ndarray, shape (n, 3)
            Positions of the bodies.
        Q : ndarray, shape (n, 3, 3)
            Attitude matrices of the bodies.
        force, torque : ndarray, shape (n, 3)
            Arrays to which forces and torques are added, in space axes.

        Returns
        -------
        float
            The energy; NaN if it is not computed together with the forces.
        """

    def evaluate_each(self, t: FloatArray, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> None:
        """Add the forces and torques (k, n, 3) at times t (k,), of states x and Q of which there are k, or only one."""
        for k, time in enumerate(t.tolist()):
            self.evaluate(time, x[k % len(x)], Q[k % len(Q)], force[k], torque[k])

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        """Return the energy of bodies at positions x (n, 3) with attitude matrices Q (n, 3, 3)."""
        return self.evaluate(t, x, Q, np.zeros_like(x), np.zeros_like(x))

    @property
    def may_do_work(self) -> bool:
        """Whether the total energy may change: of bodies in a field, which may depend on time."""
        return False

    @property
    def parts(self) -> tuple[Interaction, ...]:
        """The terms of a sum; of another interaction, itself."""
        return (self,)

    @property
    def time_dependent(self) -> bool:
        """Whether the forces may depend on the time, and not only on the bodies."""
        return False

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Raise an error if the forces do not fit the energy there; a run calls it at the start."""

    def check_bodies(self, mass: FloatArray, moments: FloatArray, axes: FloatArray | None, linear: BoolArray) -> None:
        """Raise an error if the interaction is not one of these bodies; ``System`` calls it when it is built.

        Parameters
        ----------
        mass : ndarray, shape (n,)
            Masses of the bodies.
        moments : ndarray, shape (n, 3)
            Principal moments; those of a sphere for a linear rotor.
        axes : ndarray, shape (n, 3, 3), or None
            Principal axes as columns, in body axes; None if they are the body axes of all bodies.
        linear : ndarray, shape (n,)
            Whether a body is a linear rotor.
        """

    def atoms(self, count: int) -> BoolArray:
        """Return whether each of `count` bodies is an atom, which does not rotate, as an array of shape (count,)."""
        return np.zeros(count, np.bool_)

    def sites_in_space(self, x: FloatArray, Q: FloatArray) -> tuple[FloatArray, IntArray] | None:
        """Return the positions of the sites of all bodies in space; None if the interaction has no sites.

        Parameters
        ----------
        x : ndarray, shape (..., n, 3)
            Positions of the bodies.
        Q : ndarray, shape (..., n, 3, 3)
            Attitude matrices of the bodies.

        Returns
        -------
        positions : ndarray, shape (..., N, 3)
            Positions of the N sites, body by body.
        body : ndarray, shape (N,)
            Index of the body of each site.
        """
        return None

    def for_run(self) -> Interaction:
        """Return this interaction for one run, with working memory of its own, such as a list of neighbors.

        An interaction itself has none, so that it can be used by several runs and threads at the same time.
        """
        return self

    def current(self) -> Interaction:
        """Return this interaction or, if a value that its functions read has changed since their first use, a new one.

        Functions that are compiled at each use, or called from Python, need none.
        """
        return self

    def compiled(self, count: int) -> tuple[Any, FloatArray, IntArray] | None:
        """Return a compiled function for `count` bodies, or None if Python has to take part, as for large systems.

        Returns
        -------
        address, numbers, sizes
            The address of a function with the signature ``kernels.stepping.header.FORCES``, and its last arguments.
        """
        return None

    def in_box(self, box: Box) -> Interaction:
        """Return this interaction for bodies in `box` and their images; raise an InputError if it is unsupported."""
        if box.repeats:
            raise InputError(f"{self.name} does not support a periodic box; omit box")
        return self

    def fingerprint(self) -> Fingerprint:
        """Return digests of the functions and numbers that define the interaction, keyed by descriptions."""
        found: Fingerprint = {}
        for name, value in super()._content().items():
            if isinstance(value, Function):
                found = merged(found, value.fingerprint())
            elif callable(value):
                found = merged(found, fingerprint(value))
            elif isinstance(value, np.ndarray | float | int | str | tuple):
                found[f"{name.strip('_')} of {self.name}"] = str(identity(value).key[0])
        return found

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: parameters, and digests of functions and objects of the user."""
        return {
            name: value if isinstance(value, COMPARED) else identity(value).key
            for name, value in super()._content().items()
        }

    def __hash__(self) -> int:
        """Return a hash that does not depend on user-defined functions, whose globals may change."""
        return hash((type(self), self.name))

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Return the dipole moments, shape (..., n, 3), in space axes, of bodies with attitudes Q (..., n, 3, 3)."""
        raise AttributeError(f"{self.name} has no dipoles; polhode.interactions.DipolarSoftSpheres and Molecular have")

    def __add__(self, other: Any) -> Interaction:
        """Return the sum of two interactions."""
        return InteractionSum(self, other) if isinstance(other, Interaction) else NotImplemented

    def __repr__(self) -> str:
        """Return the name of the interaction."""
        return self.name


class InteractionSum(Interaction):
    """Sum of two interactions."""

    def __init__(self, first: Interaction, second: Interaction) -> None:
        """Store the two interactions."""
        self._both = first, second
        self.name = f"{first.name} + {second.name}"
        self.has_energy = first.has_energy and second.has_energy
        self.is_compiled = first.is_compiled and second.is_compiled
        self.is_ready_made = first.is_ready_made and second.is_ready_made

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the first part that has any."""
        return self._both[0].units or self._both[1].units

    @property
    def parts(self) -> tuple[Interaction, ...]:
        """The terms of both parts."""
        return self._both[0].parts + self._both[1].parts

    @property
    def may_do_work(self) -> bool:
        """Whether one of the two is a field."""
        return any(part.may_do_work for part in self._both)

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) of both parts to `force` and `torque`; return the total energy."""
        return sum(part.evaluate(t, x, Q, force, torque) for part in self._both)

    def evaluate_each(self, t: FloatArray, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> None:
        """Add the forces and torques (k, n, 3) of both parts."""
        for part in self._both:
            part.evaluate_each(t, x, Q, force, torque)

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        """Return the total energy of both parts."""
        return sum(part.energy(t, x, Q) for part in self._both)

    def current(self) -> Interaction:
        """Return the sum of both parts as they are now."""
        parts = [part.current() for part in self._both]
        return self if all(new is old for new, old in zip(parts, self._both, strict=True)) else InteractionSum(*parts)

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Check both parts."""
        for part in self._both:
            part.check(t, x, Q)

    def for_run(self) -> Interaction:
        """Return the sum of both parts, each with working memory of its own."""
        return InteractionSum(*(part.for_run() for part in self._both))

    def fingerprint(self) -> Fingerprint:
        """Return the digests of both parts."""
        return merged(*(part.fingerprint() for part in self._both))

    def check_bodies(self, mass: FloatArray, moments: FloatArray, axes: FloatArray | None, linear: BoolArray) -> None:
        """Raise an error if one of the parts is not an interaction of these bodies."""
        for part in self._both:
            part.check_bodies(mass, moments, axes, linear)

    def atoms(self, count: int) -> BoolArray:
        """Return whether each of `count` bodies is an atom in one of the parts."""
        return self._both[0].atoms(count) | self._both[1].atoms(count)

    def sites_in_space(self, x: FloatArray, Q: FloatArray) -> tuple[FloatArray, IntArray] | None:
        """Return the positions of the sites of the first part that has any, and their bodies."""
        first = self._both[0].sites_in_space(x, Q)
        return self._both[1].sites_in_space(x, Q) if first is None else first

    def in_box(self, box: Box) -> Interaction:
        """Return the sum of both parts in a box."""
        return InteractionSum(*(part.in_box(box) for part in self._both))

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Return the dipole moments of the first part that has any."""
        try:
            return self._both[0].dipoles(Q)
        except AttributeError:
            return self._both[1].dipoles(Q)


def as_sites(sites: npt.ArrayLike) -> FloatArray:
    """Return a copy of the positions of sites, shape (s, 3), in body axes."""
    positions = as_floats(sites, "sites", 3).copy()
    check_finite(positions, "sites", InputError)
    if positions.ndim != 2 or not len(positions):
        raise ShapeError(f"sites has shape {positions.shape}; expected (s, 3), a position in body axes for each site")
    return positions


def place_sites(
    x: FloatArray, Q: FloatArray, sites: FloatArray, body: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Return the positions x + Q c (..., N, 3) of sites in space, and the index (N,) of the body of each site.

    The sites c (N, 3) in body axes belong to the bodies `body` (N,); without it, each body has all sites (s, 3).
    """
    if body is None:
        n = x.shape[-2]
        body, sites = np.repeat(np.arange(n), len(sites)), np.tile(sites, (n, 1))
    return x[..., body, :] + np.einsum("...nij,nj->...ni", Q[..., body, :, :], sites), body


def takes(func: Any, name: str, arguments: str) -> None:
    """Raise an error unless `func` can be called with the arguments, given as names separated by commas."""
    check_call(func, name, tuple(arguments.split(", ")))
