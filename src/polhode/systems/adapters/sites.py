"""Forces of other programs (engines), which compute an energy and forces from the positions of sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.checks import show
from polhode.core.errors import InputError, ShapeError
from polhode.systems.interactions.base import Interaction, as_sites, place_sites
from polhode.systems.interactions.neighbors import Box, closest_pair

DIFFERENCE = 2.0**-14  # displacement in a check of forces, relative to the size of bodies, or to their distance
TOLERANCE = 1e-3  # of that check, relative to the largest force: accepts single precision, not a wrong sign or unit


@runtime_checkable
class SiteEngine(Protocol):
    """Protocol of engines of ``SiteForces``; an optional attribute ``box`` must be equal to the box of the system.

    Where bodies have different sites, positions and forces are of shape (N, 3), body by body, instead of (n, s, 3).
    """

    def evaluate(self, positions: FloatArray) -> tuple[float, npt.ArrayLike]:
        """Return the energy and forces (n, s, 3) for positions (n, s, 3) of the s sites of n bodies, in space axes."""


class SiteForces(Interaction):
    """Interaction by the forces of an engine on sites that are fixed to bodies.

    Parameters
    ----------
    sites : array_like, shape (s, 3), or list of array_like, shapes (s_i, 3)
        Positions of the sites in body axes, relative to the mass center: the same for all bodies, or a list with those
        of each body.
    engine : SiteEngine
        Object with a method ``evaluate(positions) -> (energy, forces)``; see ``SiteEngine``.
    name : str, optional
        Name of the interaction. By default it contains the type of `engine`.

    Raises
    ------
    InputError
        If `engine` has no method ``evaluate``.
    ShapeError
        If `sites` has another shape.

    Examples
    --------
    >>> class Springs:
    ...     def evaluate(self, positions):
    ...         return 0.5 * (positions**2).sum(), -positions
    >>> force, torque = np.zeros((1, 3)), np.zeros((1, 3))
    >>> springs = SiteForces([(0, 0, 1.0), (0, 0, -1)], Springs())
    >>> springs.evaluate(0.0, np.array([(1.0, 0, 0)]), np.eye(3)[None], force, torque)
    2.0
    >>> force[0]
    array([-2.,  0.,  0.])
    """

    is_ready_made = True  # other programs have smooth forces

    def __init__(self, sites: Any, engine: SiteEngine, *, name: str | None = None) -> None:
        """Check the arguments; see the class for their description."""
        self._body: IntArray | None = None  # of each site, if bodies have different sites
        if isinstance(sites, Sequence) and sites and all(np.ndim(rows) == 2 for rows in sites):
            each = [as_sites(rows) for rows in sites]
            self.sites = np.concatenate(each)
            self._body = np.repeat(np.arange(len(each)), [len(rows) for rows in each])
        else:
            self.sites = as_sites(sites)
        if not isinstance(engine, SiteEngine):
            raise InputError(f"engine is {engine!r}; expected an object with evaluate(positions) -> (energy, forces)")
        self.engine = engine
        self.name = name or f"SiteForces({type(engine).__name__})"

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return the energy."""
        arms, body = self.sites_in_space(np.zeros_like(x), Q)
        shape = (len(x), -1, 3) if self._body is None else (-1, 3)
        energy, result = self._call_engine((x[body] + arms).reshape(shape))
        forces = result.reshape(-1, 3)
        np.add.at(force, body, forces)
        np.add.at(torque, body, np.cross(arms, forces))
        return energy

    def sites_in_space(self, x: FloatArray, Q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the positions (..., N, 3) of all sites in space, body by body, and the index (N,) of their bodies."""
        return place_sites(x, Q, self.sites, self._body)

    def check_bodies(self, mass: FloatArray, moments: FloatArray, axes: FloatArray | None, linear: BoolArray) -> None:
        """Raise a ShapeError unless there are sites for each body."""
        if self._body is not None and self._body[-1] + 1 != len(mass):
            raise ShapeError(
                f"sites of {self._body[-1] + 1} bodies, and there are {len(mass)} bodies; expected one each"
            )

    def _call_engine(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """Return the energy and the forces of the engine at positions (n, s, 3) or (N, 3); raise unless shapes fit."""
        energy, result = self.engine.evaluate(positions)
        forces = np.asarray(result, dtype=np.float64)
        if forces.shape != positions.shape:
            raise ShapeError(
                f"the engine of {self.name} returned forces of shape {forces.shape}; expected {positions.shape}, "
                "the shape of the positions"
            )
        return float(energy), forces

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Raise an InputError unless the force on the first body agrees with a difference of energies along it."""
        force, torque = np.zeros_like(x), np.zeros_like(x)
        energy = self.evaluate(t, x, Q, force, torque)
        size = float(np.linalg.norm(force[0]))
        if not (np.isfinite(force).all() and size > 0 and np.isfinite(energy)):
            return
        step = np.zeros_like(x)
        length = float(np.abs(self.sites).max()) or closest_pair(x, Box())[2] or float(np.abs(x).max()) or 1.0
        step[0] = DIFFERENCE * length * force[0] / size
        slope = (self.energy(t, x + step, Q) - self.energy(t, x - step, Q)) / (2 * np.linalg.norm(step[0]))
        if not abs(slope + size) <= TOLERANCE * np.linalg.norm(force, axis=-1).max():
            raise InputError(
                f"{self.name}: the energy changes by {slope:.6g} per unit of length if body 0 moves along its force, "
                f"{show(force[0])}; expected {-size:.6g}. Energy and forces must be in one system of units, and forces "
                "minus the gradient"
            )

    def in_box(self, box: Box) -> Interaction:
        """Return the interaction unchanged; raise an InputError if the engine has another box."""
        engine_box = getattr(self.engine, "box", None)
        lengths = np.zeros(3) if engine_box is None else Box(engine_box).lengths
        if hasattr(self.engine, "box") and not np.allclose(lengths, box.lengths, rtol=1e-9, atol=0.0):
            raise InputError(
                f"{self.name} has the box {engine_box!r}, and the system is in {box!r}: type "
                f"System(..., box={engine_box!r})"
            )
        return self

    def dipoles(self, Q: FloatArray) -> Any:
        """Raise an AttributeError, because only the engine has the charges."""
        raise AttributeError(f"{self.name} has no dipoles: its engine has the charges")
