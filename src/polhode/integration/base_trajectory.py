"""Base class of the trajectories of bodies and of systems: states at times, and quantities computed from m and q."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.rotation import matrix, rotate

if TYPE_CHECKING:
    from polhode.integration.trajectory import Stats


class BaseTrajectory(ABC):
    """States at times `t` of shape (k,), with the method and the status of the run that computed them."""

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
        """Whether all bodies reached the end of the time span or a terminal event."""
        return not np.any(np.less(self.status, 0))

    @property
    def matrix(self) -> FloatArray:
        """Attitude matrices from body to space axes, of shape (k,) + batch + (3, 3)."""
        return matrix(self.q)

    @property
    def m_space(self) -> FloatArray:
        """Angular momenta about the mass centers of the bodies, in space axes, of shape (k,) + batch + (3,)."""
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
        """Sum of kinetic and potential energy, of the same shape as `kinetic`."""
        return self.kinetic + self.potential

    def energy_error(self) -> FloatArray:
        """Return the relative energy error, ``energy / energy[0] - 1``.

        Returns
        -------
        ndarray
            Error of the energy relative to the energy at the start, of the same shape as `energy`.
        """
        energy = self.energy
        return energy / energy[0] - 1.0

    def view(self, path: Any = None, **options: Any) -> Any:
        """Return an animated 3-D page of the motion; see ``polhode.view``.

        Parameters
        ----------
        path : str or path-like, optional
            File to which the page is saved. By default the page is not saved.
        **options
            Further arguments of ``polhode.view``.
        """
        from polhode.show.page import view

        return view(self, path, **options)

    def __len__(self) -> int:
        """Return the number of saved states."""
        return len(self.t)

    def _description(self, head: str, evaluations: str) -> str:
        """Return a one-line summary: the states, the method, the cost and the status of the run."""
        ended = "reached the end" if self.success else f"ended early: {self.message}"
        step = f", h = {self.h:g}" if np.isfinite(self.h) else ""
        return (
            f"{head}: {len(self.t)} states, t = {self.t[0]:g} to {self.t[-1]:g}, {self.method!r}{step}; "
            f"{self.stats.steps} steps, {self.stats.torques} {evaluations}, {self.stats.seconds:.3g} s; {ended}"
        )
