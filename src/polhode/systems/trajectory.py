"""What the integration of a system returns: the states of all bodies at times, and what follows from them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import scale_along
from polhode.core.state import State
from polhode.files.system_record import pack_system
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.trajectory import Stats
from polhode.systems.system import System


class SystemTrajectory(BaseTrajectory):
    """States at times ``t`` (k,): ``x``, ``p``, ``m`` (k, n, 3) and ``q`` (k, n, 4); x and p in space, m in body axes.

    ``status`` is 0 if the end was reached, -1 if the run could not go on (``message`` says why), -2 if it was
    interrupted. Temperatures are energies: k_B is 1. ``stats.torques`` counts evaluations of all forces and torques.

    >>> from polhode import RigidBody, integrate
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)
    >>> traj = integrate(gas, (0, 1), method="RKN4_6b", h=0.1)
    >>> traj.x.shape, traj.q.shape, bool(abs(traj.momentum).max() < 1e-13)
    ((11, 8, 3), (11, 8, 4), True)
    """

    def __init__(
        self,
        system: System,
        t: FloatArray,
        x: FloatArray,
        p: FloatArray,
        m: FloatArray,
        q: FloatArray,
        *,
        method: Any,
        h: float,
        stats: Stats,
        status: int = 0,
        message: str = "",
    ) -> None:
        self.system, self.t, self.x, self.p, self.m, self.q = system, t, x, p, m, q
        self.method, self.h, self.stats, self.status, self.message = method, h, stats, status, message

    @property
    def wrapped(self) -> FloatArray:
        """Places in the box around the origin, (k, n, 3); ``x`` itself follows bodies out of it."""
        return self.system.box.wrapped(self.x)

    @property
    def omega(self) -> FloatArray:
        """Angular velocities in body axes, (k, n, 3)."""
        return scale_along(self.system.axes, 1.0 / self.system.moments, self.m, "m")

    @property
    def velocity(self) -> FloatArray:
        """(k, n, 3)"""
        return self.p / self.system.mass[:, None]

    @property
    def kinetic_translation(self) -> FloatArray:
        """Of all bodies, (k,)."""
        return 0.5 * np.sum(self.p * self.velocity, axis=(-2, -1))

    @property
    def kinetic_rotation(self) -> FloatArray:
        """Of all bodies, (k,)."""
        return 0.5 * np.sum(self.m * self.omega, axis=(-2, -1))

    @property
    def kinetic(self) -> FloatArray:
        """(k,)"""
        return self.kinetic_translation + self.kinetic_rotation

    @cached_property
    def potential(self) -> FloatArray:
        """(k,); AttributeError, naming it, if the interaction has none."""
        interaction = self.system.interaction
        if not interaction.has_energy:
            raise AttributeError(f"{interaction!r} has no energy; type Field(forces, energy=...)")
        states = zip(self.t.tolist(), self.x, self.matrix, strict=True)
        return np.array([interaction.energy(t, x, Q) for t, x, Q in states])

    @property
    def temperature_translation(self) -> FloatArray:
        """2/3 of the kinetic energy per body, (k,); no degree of freedom is left away for the total momentum."""
        return self.kinetic_translation * (2.0 / (3 * self.system.count))

    @property
    def temperature_rotation(self) -> FloatArray:
        """Twice the energy per degree of freedom, (k,): of those a linear rotor has two, other bodies three."""
        return self.kinetic_rotation * (2.0 / (3 * self.system.count - int(self.system.linear.sum())))

    @property
    def momentum(self) -> FloatArray:
        """Total linear momentum, (k, 3)."""
        return self.p.sum(axis=-2)

    @property
    def angular_momentum(self) -> FloatArray:
        """Total angular momentum about the origin, in space axes, (k, 3)."""
        return np.sum(np.cross(self.x, self.p) + self.m_space, axis=-2)

    @property
    def dipole_moment(self) -> FloatArray:
        """Total dipole moment in space axes, (k, 3); AttributeError if the interaction knows no dipoles."""
        return self.system.interaction.dipoles(self.matrix).sum(axis=-2)

    def state(self, index: int = -1) -> State:
        """The states of all bodies at one of the times: the last, unless told otherwise."""
        return State(self.m[index], self.q[index], x=self.x[index], p=self.p[index])

    def __repr__(self) -> str:
        head = f"SystemTrajectory of {self.system.name or 'a system'} ({self.system.count} bodies)"
        return self._description(head, "evaluations")

    def to_xarray(self) -> Any:
        """As an ``xarray.Dataset``, with frames in its attributes: see ``polhode.files.system_record``."""
        from polhode.files.saving import dataset_of

        return dataset_of(pack_system(self))

    def save(self, path: Any) -> None:
        """To a file whose name ends in .nc (netCDF) or .zarr, to be read by xarray."""
        from polhode.files.saving import save_record

        save_record(pack_system(self), path)
