"""The protocol of engines: places of sites in, an energy and forces on the sites out."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import show
from polhode.core.errors import InputError, ShapeError
from polhode.systems.interactions.base import Interaction, as_sites
from polhode.systems.interactions.neighbors import Box, closest_pair

DIFFERENCE = 2.0**-14  # of the first body's place, relative to the size of bodies, or to their distance without one
TOLERANCE = 1e-3  # of that, relative to the sizes of forces; single precision passes, a wrong sign or unit does not


@runtime_checkable
class SiteEngine(Protocol):
    """What ``SiteForces`` needs of an engine. If it has an attribute ``box``, that must be the system's."""

    def evaluate(self, positions: FloatArray) -> tuple[float, npt.ArrayLike]:
        """Energy, and forces (n, s, 3), for places (n, s, 3) of the s sites of n bodies, in space axes."""


class SiteForces(Interaction):
    """Forces of an engine on sites that are fixed to bodies, all alike.

    Parameters
    ----------
    sites : array_like
        (s, 3) in body axes, measured from the mass center.
    engine : SiteEngine
        Anything with ``evaluate(positions) -> (energy, forces)``; see ``SiteEngine``.

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

    def __init__(self, sites: npt.ArrayLike, engine: SiteEngine, *, name: str | None = None) -> None:
        self.sites = as_sites(sites)
        if not isinstance(engine, SiteEngine):
            raise InputError(f"engine is {engine!r}; expected an object with evaluate(positions) -> (energy, forces)")
        self.engine = engine
        self.name = name or f"SiteForces({type(engine).__name__})"

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        arms = np.einsum("nij,sj->nsi", Q, self.sites)
        energy, found = self._ask(x[:, None] + arms)
        force += found.sum(axis=1)
        torque += np.cross(arms, found).sum(axis=1)
        return energy

    def _ask(self, positions: FloatArray) -> tuple[float, FloatArray]:
        energy, found = self.engine.evaluate(positions)
        forces = np.asarray(found, dtype=np.float64)
        if forces.shape != positions.shape:
            raise ShapeError(
                f"the engine of {self.name} returned forces of shape {forces.shape}; expected {positions.shape}, "
                "as the positions it was given"
            )
        return float(energy), forces

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Hold the force on the first body against a difference of energies, along that force."""
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
                f"{self.name}: the energy changes by {slope:.6g} per unit of length where body 0 goes along its force, "
                f"{show(force[0])}; expected {-size:.6g}. Energy and forces must be in one system of units, and forces "
                "minus the gradient"
            )

    def in_box(self, box: Box) -> Interaction:
        """As it is: the engine knows its own box, which must be the same one if it tells."""
        told = getattr(self.engine, "box", None)
        lengths = np.zeros(3) if told is None else Box(told).lengths
        if hasattr(self.engine, "box") and not np.allclose(lengths, box.lengths, rtol=1e-9, atol=0.0):
            raise InputError(
                f"{self.name} has the box {told!r}, and the system is in {box!r}: type System(..., box={told!r})"
            )
        return self

    def dipoles(self, Q: FloatArray) -> Any:
        raise AttributeError(f"{self.name} knows no dipoles: its engine has the charges")
