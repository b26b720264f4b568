"""Trajectories of systems read from files: ``unpack_system`` builds one from a ``polhode.files.record.FileRecord``."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NoReturn

import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.state import State
from polhode.files.record import FileRecord
from polhode.files.stored_trajectory import StoredEnergy, run_of, states_of
from polhode.files.system_record import COMPONENTS
from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.neighbors import Box
from polhode.systems.system import System
from polhode.systems.trajectory import SystemTrajectory


class StoredInteraction(Interaction):
    """Interaction of which only the name was stored; its evaluation raises InputError."""

    def __init__(self, name: str, has_energy: bool) -> None:
        """Store the name, and whether the energy was stored."""
        self.name = name
        self.has_energy = has_energy

    @property
    def _message(self) -> str:
        """Message of the errors."""
        return f"{self.name}: only the name was stored, not its functions; to compute with it, build the system again"

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> NoReturn:
        """Raise InputError: the functions were not stored."""
        raise InputError(self._message)

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> NoReturn:
        """Raise InputError: the functions were not stored."""
        raise InputError(self._message)

    def in_box(self, box: Box) -> Interaction:
        """Return the interaction unchanged: it was in this box."""
        return self

    def dipoles(self, Q: FloatArray) -> NoReturn:
        """Raise AttributeError, as interactions without dipoles do: the dipoles were not stored."""
        raise AttributeError(self._message)


class StoredSystemTrajectory(StoredEnergy, SystemTrajectory):
    """A trajectory of a system read from a file, as is ``energy``; the interaction of ``system`` has a name only.

    ``traj.replaced(system=system)``, with the system that was integrated, returns a trajectory with its interaction.
    """

    _in_time: ClassVar[tuple[str, ...]] = (*SystemTrajectory._in_time, "_energy")

    @property
    def _no_energy(self) -> str:
        """Message if there is no energy."""
        return f"{self.system.interaction!r} has no energy: Field(forces, energy=...) has one"


def unpack_system(record: FileRecord) -> StoredSystemTrajectory:
    """Return the trajectory of a record; raise StoreError if this version cannot read it."""
    run = run_of(record)
    return StoredSystemTrajectory(_system(record), *states_of(record, COMPONENTS), events=_events(record), **run)


def _events(record: FileRecord) -> tuple[list[FloatArray], ...] | None:
    """Return lists of the times and of the states of events, with one array for each event; None if there were none."""
    count = record.attributes.get("events", -1)
    if count < 0:
        return None
    number = record.arrays["event_number"][1]
    columns = (record.arrays[f"event_{name}"][1] for name in ("time", *COMPONENTS))
    return tuple([values[number == event] for event in range(count)] for values in columns)


def _system(record: FileRecord) -> System:
    """Return the system of a record; its interaction has no functions."""
    attributes = record.attributes
    x, p, m, q = (record.arrays[f"start_{name}"][1] for name in COMPONENTS)
    start, end = json.loads(attributes["t_span"])
    return System(
        _bodies(record),
        State(m, x=x, p=p)._exactly(q=q),
        StoredInteraction(attributes["interaction"], "energy" in record.arrays),
        record.values("box"),
        t_span=(start, end),
        h=json.loads(attributes["suggested_h"]),
        name=attributes["name"],
    )


def _bodies(record: FileRecord) -> RigidBody | list[RigidBody]:
    """Return one body if all are equal, a batch if all or none are linear rotors, and otherwise a list of bodies."""
    axes: npt.NDArray[Any] | None = record.values("axes")
    moments, mass, linear = (record.arrays[name][1] for name in ("moments", "mass", "linear"))

    def body(rows: int | slice) -> RigidBody:
        turned = None if axes is None else axes[rows]
        return RigidBody._from_axes(moments[rows], turned, mass=mass[rows], linear=bool(linear[rows].all()))

    columns = [values for values in (moments, mass, linear, axes) if values is not None]
    if all((values == values[0]).all() for values in columns):
        return body(0)
    if linear.all() or not linear.any():
        return body(slice(None))
    return [body(i) for i in range(len(mass))]
