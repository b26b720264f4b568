"""Trajectories read from files: ``unpack`` builds one from a ``polhode.files.record.FileRecord``."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from polhode.core.arrays import FloatArray, frozen
from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.state import State
from polhode.core.value import Comparable
from polhode.files.record import COLUMN, FileRecord, check_format
from polhode.forces.base import Force
from polhode.integration.base_trajectory import BaseTrajectory, Stats
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory
from polhode.kernels.stepping.status import Status
from polhode.methods.expressions import method_of
from polhode.methods.method import Advance, Method


class StoredMethod(Method):
    """Method of which only the name was stored, because it has a scheme or a flow of the user."""

    not_for_systems = "is only the name of a method that was stored; pass the method itself"

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def order(self) -> int:
        """Raise InputError: the order is not known."""
        raise self._unknown()

    def check(self, force: Force) -> None:
        """Raise InputError: the method cannot be used."""
        raise self._unknown()

    def advance(self, force: Force) -> Advance:
        """Raise InputError: the method cannot be used."""
        raise self._unknown()

    def _unknown(self) -> InputError:
        """Return the error that the method is not known."""
        return InputError(f"{self.name}: only the name of the method was stored; pass the method itself")

    def __repr__(self) -> str:
        """Return the name."""
        return self.name


class StoredEnergy(BaseTrajectory):
    """Base class of trajectories read from files, whose energy was stored if they have one."""

    _energy: FloatArray | None  # of the same shape as `kinetic`

    def __init__(self, *arguments: Any, energy: FloatArray | None, **more: Any) -> None:
        """Store the arguments of the trajectory, and the energy."""
        super().__init__(*arguments, **more)
        self._store(_energy=energy)

    @property
    @abstractmethod
    def _no_energy(self) -> str:
        """Message if there is no energy."""

    @property
    def energy(self) -> FloatArray:
        """Sum of kinetic and potential energy as it was stored, of the same shape as `kinetic`."""
        if self._energy is None:
            raise AttributeError(self._no_energy)
        return self._energy

    @cached_property
    def potential(self) -> FloatArray:
        """Potential energy, of the same shape as `kinetic`: the stored energy minus the kinetic one; read-only."""
        return frozen(self.energy - self.kinetic)


class StoredTrajectory(StoredEnergy, Trajectory):
    """A trajectory read from a file, as is ``energy``; ``method`` has a name only if it cannot be built from it."""

    _in_time: ClassVar[tuple[str, ...]] = (*Trajectory._in_time, "_energy")

    @property
    def _no_energy(self) -> str:
        """Message if there is no energy."""
        return f"{self.problem.force!r} has no energy: only forces with a potential energy have one"


class _NotStored(Comparable):
    """Placeholder for a user function of which only the name was stored; any access to it raises InputError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        """Raise InputError: the function was not stored."""
        if attribute.startswith("__"):  # optional methods that pickle and copy look for
            raise AttributeError(attribute)
        raise InputError(
            f"{self.name}: only the name was stored, not its functions; to compute with it, build the problem again"
        )


def unpack(record: FileRecord) -> StoredTrajectory:
    """Return the trajectory of a record; raise StoreError if this version cannot read it."""
    run = run_of(record)
    return StoredTrajectory(_problem(record), *states_of(record, ("m", "q")), events=_events(record), **run)


def run_of(record: FileRecord) -> dict[str, Any]:
    """Return the data of the run of a record, of bodies or of a system, as arguments of a stored trajectory."""
    attributes = record.attributes
    check_format(attributes)
    status = record.arrays["status"][1]
    sizes = record.values("h")
    estimate = json.loads(attributes.get("error_estimate", "null"))
    return {
        "energy": record.values("energy"),
        "method": stored_method(attributes["method"]),
        "h": float(attributes["h"]) if sizes is None else np.array(sizes, dtype=np.float64),
        "stats": Stats(**json.loads(attributes["stats"])),
        "status": status if status.ndim else Status(int(status)),
        "message": attributes["message"],
        "error_estimate": None if estimate is None else tuple(estimate),
    }


def states_of(record: FileRecord, names: Iterable[str]) -> list[FloatArray]:
    """Return the times, and the arrays of these names, of the states of a record."""
    return [np.array(record.arrays[name][1], dtype=np.float64, order="C") for name in ("time", *names)]


def stored_method(text: str) -> Method:
    """Return the method that is called `text`; schemes of the user are stored by name only."""
    try:
        return method_of(text)
    except InputError:
        return StoredMethod(text)


def _events(record: FileRecord) -> tuple[list[Any], list[Any], list[Any]] | None:
    """Return lists of the times, m and q of each event: arrays, or for a batch object arrays of these arrays."""
    if record.attributes.get("events", -1) < 0:
        return None
    batch = record.arrays["m"][1].shape[1:-1]
    number, body, *parts = (record.arrays[f"event_{name}"][1] for name in ("number", "body", "time", "m", "q"))
    widths = (), (3,), (4,)
    events: tuple[list[Any], list[Any], list[Any]] = [], [], []
    for column, values, width in zip(events, parts, widths, strict=True):
        for event in range(record.attributes["events"]):
            each = np.empty(prod(batch), dtype=object)
            for i in range(len(each)):
                each[i] = values.reshape(-1, *width)[(number == event) & (body == i)]
            column.append(each.reshape(batch) if batch else each[0])
    return events


def _problem(record: FileRecord) -> Problem:
    """Return the problem of a record; its force has no functions."""
    attributes = record.attributes
    moments, start_m, start_q = (record.arrays[name][1] for name in ("moments", "start_m", "start_q"))
    mass, linear = record.values("mass"), bool(attributes["linear"])
    body = RigidBody._from_axes(moments, record.values("axes"), mass=mass, linear=linear)
    state = State(start_m)._exactly(q=start_q)
    start, end = json.loads(attributes["t_span"])
    return Problem(
        body,
        state,
        _force(record) if attributes["force"] else None,
        (start, end),
        name=attributes["name"],
        summary=attributes["summary"],
        units=json.loads(attributes["units"]),
        references=tuple(json.loads(attributes["references"])),
        h=json.loads(attributes["suggested_h"]),
    )


def _force(record: FileRecord) -> Force:
    """Return a force with the name and the constants of the stored one, which cannot be evaluated."""
    attributes = record.attributes
    function: Any = _NotStored(attributes["force"])
    dims, damping = record.arrays["damping"]
    axis = json.loads(attributes["force_axis"])
    return Force(
        function,
        function if "energy" in record.arrays else None,
        damping=damping if dims[-1] == COLUMN else damping[..., None, :] * np.eye(3),
        velocity_dependent=bool(attributes["velocity_dependent"]),
        time_dependent=bool(attributes["time_dependent"]),
        axis=None if axis is None else np.array(axis),
        breaks=() if (breaks := record.values("breaks")) is None else breaks,
        name=attributes["force"],
    )
