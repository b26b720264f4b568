"""Trajectories of systems as files hold them: numbers, and only the name of the interaction."""

from __future__ import annotations

from polhode.core.errors import InputError
from polhode.systems.interactions.base import Interaction
from polhode.systems.system import System
from polhode.systems.trajectory import SystemTrajectory


class Named(Interaction):
    """An interaction that cannot be evaluated."""

    def __init__(self, name):
        self.name = name

    def evaluate(self, t, x, Q, force, torque):
        raise InputError(f"{self.name}: only the name was stored")

    def in_box(self, box):
        return self


class Loaded(SystemTrajectory):
    """States with their energies."""

    @property
    def energy(self):
        return self.__dict__["_energy"]

    @property
    def potential(self):
        return self.energy - self.kinetic


def as_loaded(traj):
    """The trajectory as it would be after a file: the energy is stored, the interaction is a name."""
    system = traj.system
    bodies = system.bodies[0] if len(system.bodies) == 1 else system.bodies
    box = system.box if system.box.repeats else None
    named = System(bodies, system.state, Named(repr(system.interaction)), box, name=system.name)
    loaded = Loaded(named, traj.t, traj.x, traj.p, traj.m, traj.q, method=traj.method, h=traj.h, stats=traj.stats)
    loaded.__dict__["_energy"] = traj.energy
    return loaded
