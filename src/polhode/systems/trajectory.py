"""Result of the integration of a system: states of all bodies at the saved times, and quantities computed from them."""

from __future__ import annotations

from functools import cached_property
from math import nan
from typing import Any, ClassVar

import numpy as np

from polhode.core.arrays import FloatArray, frozen
from polhode.core.body import scale_along
from polhode.core.rotation import matrix
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.systems.invariants import system_drifts
from polhode.systems.system import System


def kinetic_energies(system: System, p: FloatArray, m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the kinetic energies (k,) of the translation and of the rotation, for momenta (k, n, 3)."""
    omega = scale_along(system.axes, 1.0 / system.moments, m, "m")
    return (
        0.5 * np.sum(p * (p / system.mass[:, None]), axis=(-2, -1)),
        0.5 * np.sum(m * omega, axis=(-2, -1)),
    )


def potentials(system: System, t: FloatArray, x: FloatArray, q: FloatArray) -> FloatArray:
    """Return the potential energies (k,) at times (k,), for positions (k, n, 3) and attitudes (k, n, 4)."""
    interaction = system.interaction.for_run()
    states = zip(t.tolist(), x, matrix(q), strict=True)
    return np.array([interaction.energy(*state) if np.isfinite(state[1]).all() else np.nan for state in states])


def energies(system: System, t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
    """Return the energies (k,) of states (k, n, .) at times (k,); NaN where they are."""
    return sum(kinetic_energies(system, p, m)) + potentials(system, t, x, q)


def check_energy(system: System) -> None:
    """Raise an AttributeError if the interaction has no energy."""
    if not system.interaction.has_energy:
        raise AttributeError(f"{system.interaction!r} has no energy; type Field(forces, energy=...)")


EXPLODED = 0.5  # change of the energy, in units of the kinetic energy at the end ...
GROWTH = 10.0  # ... which is at least so many times that at the start


class SystemTrajectory(BaseTrajectory, source="system", states=("x", "p", "m", "q")):
    """Result of the integration of a system: states of all bodies at the saved times.

    Temperatures are energies: k_B is 1.

    Attributes
    ----------
    t : ndarray, shape (k,)
        Times.
    x, p : ndarray, shape (k, n, 3)
        Positions and linear momenta in space axes.
    m : ndarray, shape (k, n, 3)
        Angular momenta in body axes.
    q : ndarray, shape (k, n, 4)
        Attitudes, scalar first, body to space.
    status : Status
        0 if the end was reached, and negative if the run failed, with the reason as ``status.message``.
    message : str
        The chosen method, or the reason why the run ended early.
    failure : str
        What stopped the run; empty if it did not fail.
    system : System
        The system that was integrated.
    method : method
        The method of integration.
    h : float
        Step size.
    stats : Stats
        Cost. ``stats.torques`` is the number of evaluations of all forces and torques.
    t_events : list, or None
        For each event an array of times, of shape (e,).
    x_events, p_events, m_events, q_events : list, or None
        States at these times, of shapes (e, n, 3) and (e, n, 4).
    error_estimate : tuple of four floats, or None
        Errors of x, p, m and q at the end, if they were estimated: those of x, p and m relative to the norms of all
        positions, and of all momenta of their kind.

    Examples
    --------
    >>> from polhode import RigidBody, integrate
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)
    >>> traj = integrate(gas, (0, 1), method="RKN4_6b", h=0.1)
    >>> traj.x.shape, traj.q.shape, bool(abs(traj.momentum).max() < 1e-13)
    ((11, 8, 3), (11, 8, 4), True)
    >>> traj[-1].x.shape, len(traj[2:5])
    ((8, 3), 3)
    """

    _kind: ClassVar = "a system"
    _evaluations: ClassVar = "evaluations"
    system: System
    x: FloatArray
    p: FloatArray
    x_events: Any
    p_events: Any
    m_events: Any
    q_events: Any

    @property
    def wrapped(self) -> FloatArray:
        """Positions wrapped into the box around the origin, of shape (k, n, 3); ``x`` is not wrapped."""
        return self.system.box.wrapped(self.x)

    @property
    def omega(self) -> FloatArray:
        """Angular velocities in body axes, of shape (k, n, 3)."""
        return scale_along(self.system.axes, 1.0 / self.system.moments, self.m, "m")

    @property
    def velocity(self) -> FloatArray:
        """Velocities of the mass centers in space axes, of shape (k, n, 3)."""
        return self.p / self.system.mass[:, None]

    @property
    def kinetic_translation(self) -> FloatArray:
        """Kinetic energy of the translation of all bodies, of shape (k,)."""
        return kinetic_energies(self.system, self.p, self.m)[0]

    @property
    def kinetic_rotation(self) -> FloatArray:
        """Kinetic energy of the rotation of all bodies, of shape (k,)."""
        return kinetic_energies(self.system, self.p, self.m)[1]

    @property
    def kinetic(self) -> FloatArray:
        """Kinetic energy of all bodies, of shape (k,)."""
        translation, rotation = kinetic_energies(self.system, self.p, self.m)
        return translation + rotation

    @cached_property
    def potential(self) -> FloatArray:
        """Potential energy, of shape (k,), computed once; read-only.

        An AttributeError is raised if the interaction has no energy.
        """
        check_energy(self.system)
        return frozen(potentials(self.system, self.t, self.x, self.q))

    def doubt(self) -> str:
        """Return why the result cannot be right: its energy has changed by as much as there is; empty if it has not.

        Fields may do work, so that nothing is known of systems in a field.
        """
        system = self.system
        if len(self.t) < 2 or self.status < 0 or not system.interaction.has_energy or system.interaction.may_do_work:
            return ""
        ends = [0, -1]
        t, x, p, m, q = (getattr(self, name)[ends] for name in ("t", "x", "p", "m", "q"))
        kinetic = np.add(*kinetic_energies(system, p, m))
        before, after = kinetic + potentials(system, t, x, q)
        if not abs(after - before) > EXPLODED * kinetic[1] > EXPLODED * GROWTH * kinetic[0]:
            return ""
        return (
            f"the energy of the system has changed from {before:.3g} to {after:.3g}: steps are too long for its "
            "forces; pass a shorter h, or rtol=1e-6, by which a step is found"
        )

    @property
    def temperature_translation(self) -> FloatArray:
        """Temperature of the translation, of shape (k,): 2/3 of the kinetic energy per body.

        All 3 n degrees of freedom are counted, also if the total momentum is conserved.
        """
        return self.kinetic_translation * (2.0 / self.system.degrees_of_freedom[0])

    @property
    def temperature_rotation(self) -> FloatArray:
        """Temperature of the rotation, of shape (k,): twice the kinetic energy per degree of freedom.

        A linear rotor has two degrees of freedom, an atom none, and other bodies have three. The temperature is NaN if
        there are only atoms.
        """
        rotations = self.system.degrees_of_freedom[1]
        return self.kinetic_rotation * (2.0 / rotations if rotations else nan)

    @property
    def momentum(self) -> FloatArray:
        """Total linear momentum in space axes, of shape (k, 3)."""
        return self.p.sum(axis=-2)

    @property
    def angular_momentum(self) -> FloatArray:
        """Total angular momentum about the origin, in space axes, of shape (k, 3)."""
        return np.sum(np.cross(self.x, self.p) + self.m_space, axis=-2)

    @property
    def dipole_moment(self) -> FloatArray:
        """Total dipole moment in space axes, of shape (k, 3); an AttributeError is raised if there are no dipoles."""
        return self.system.interaction.dipoles(self.matrix).sum(axis=-2)

    def _drifts(self) -> dict[str, FloatArray]:
        """Return the drifts of the conserved quantities."""
        return system_drifts(self)

    def columns(self) -> dict[str, FloatArray]:
        """Return the quantities of a table by name, of shapes (k, n, 3) and (k, n, 4)."""
        return {"x": self.x, "p": self.p, "m": self.m, "q": self.q, "omega": self.omega}
