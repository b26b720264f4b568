"""What trajectories of bodies and of systems have in common: states at times, and what follows from m and q alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.rotation import matrix, rotate

if TYPE_CHECKING:
    from polhode.integration.trajectory import Stats


class BaseTrajectory(ABC):
    """States at times ``t`` (k,), how they were computed, and how the run ended."""

    t: FloatArray
    m: FloatArray
    q: FloatArray
    method: Any
    h: float
    stats: Stats
    status: Any
    message: str

    @property
    def success(self) -> bool:
        """Whether all bodies reached the end, or an event that ends the run."""
        return not np.any(np.less(self.status, 0))

    @property
    def matrix(self) -> FloatArray:
        """Attitude matrices, body to space, (k,) + batch + (3, 3)."""
        return matrix(self.q)

    @property
    def m_space(self) -> FloatArray:
        """Angular momenta about the bodies' own centers, in space axes, (k,) + batch + (3,)."""
        return rotate(self.q, self.m)

    @property
    @abstractmethod
    def kinetic(self) -> FloatArray:
        """Kinetic energy."""

    @property
    @abstractmethod
    def potential(self) -> FloatArray:
        """Potential energy."""

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, of the shape of ``kinetic``."""
        return self.kinetic + self.potential

    def energy_error(self) -> FloatArray:
        """Energy relative to that at the start, less 1."""
        energy = self.energy
        return energy / energy[0] - 1.0

    def view(self, path: Any = None, **options: Any) -> Any:
        """A page with everything moving in 3-D, saved to ``path`` if it is given: see ``polhode.view``."""
        from polhode.show.page import view

        return view(self, path, **options)

    def __len__(self) -> int:
        return len(self.t)

    def _description(self, head: str, evaluations: str) -> str:
        """Return one line: what moved, its states, and how and at which cost they were computed."""
        ended = "reached the end" if self.success else f"ended early: {self.message}"
        return (
            f"{head}: {len(self.t)} states, t = {self.t[0]:g} to {self.t[-1]:g}, {self.method!r}, h = {self.h:g}; "
            f"{self.stats.steps} steps, {self.stats.torques} {evaluations}, {self.stats.seconds:.3g} s; {ended}"
        )
