"""Contents of files of a trajectory of a system: named arrays and attributes (see ``polhode.files.record``).

    time (time)    x, p, m, omega (time, body, xyz)    q (time, body, quaternion)    energy, kinetic (time)
    mass, linear (body)    moments (body, xyz)    axes (body, xyz, principal)    box (xyz), of a periodic system
    start_x, start_p, start_m (body, xyz)    start_q (body, quaternion)    status ()
    event_number, event_time (event)    event_x, event_p, event_m (event, body, xyz)
    event_q (event, body, quaternion)

x and p are in space axes, m and omega in body axes. Of the interaction, only the name is stored, and the energy if it
has one. ``polhode.files.stored_system`` builds trajectories from these contents.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode._version import __version__
from polhode.core.arrays import FloatArray
from polhode.core.fingerprint import Fingerprint
from polhode.files.record import FORMAT, SYSTEM, Arrays, FileRecord, outcome
from polhode.systems.trajectory import energies

if TYPE_CHECKING:
    from polhode.systems.system import System
    from polhode.systems.trajectory import SystemTrajectory

DEFINING = ("interaction",)  # attributes that define a system, with its arrays
COMPONENTS = {"x": "xyz", "p": "xyz", "m": "xyz", "q": "quaternion"}  # last dimension of each part of a state


def pack_system(trajectory: SystemTrajectory) -> FileRecord:
    """Return everything of a trajectory of a system that is stored in files."""
    system = trajectory.system
    arrays: Arrays = {"time": (("time",), trajectory.t)}
    for name, components in (COMPONENTS | {"omega": "xyz"}).items():
        arrays[name] = ("time", "body", components), getattr(trajectory, name)
    arrays["kinetic"] = ("time",), trajectory.kinetic
    if system.interaction.has_energy:
        arrays["energy"] = ("time",), trajectory.energy
    arrays |= parameters(system)
    arrays["status"] = (), np.asarray(trajectory.status, dtype=np.int64)
    arrays |= _events(trajectory)
    return FileRecord(arrays, describe(system) | outcome(trajectory))


def state_arrays(system: System, t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray) -> Arrays:
    """Return the arrays of states of a long run, and the energy if it is defined."""
    arrays: Arrays = {"time": (("time",), t)}
    for (name, components), values in zip(COMPONENTS.items(), (x, p, m, q), strict=True):
        arrays[name] = ("time", "body", components), values
    energy = {"energy": (("time",), energies(system, t, x, p, m, q))} if system.interaction.has_energy else {}
    return arrays | energy


def functions_of(system: System) -> Fingerprint:
    """Return digests of the functions and numbers of the interaction, by which changes are recognized."""
    return system.interaction.fingerprint()


def parameters(system: System) -> Arrays:
    """Return the arrays of the bodies, the initial state and the box of a system."""
    arrays: Arrays = {
        "mass": (("body",), system.mass),
        "moments": (("body", "xyz"), moments_of(system)),
        "linear": (("body",), system.linear.astype(np.int8)),
    }
    if system.axes is not None:
        arrays["axes"] = ("body", "xyz", "principal"), system.axes
    for name, components in COMPONENTS.items():
        arrays[f"start_{name}"] = ("body", components), getattr(system.state, name)
    if system.box.repeats:
        arrays["box"] = ("xyz",), system.box.lengths
    return arrays


def moments_of(system: System) -> FloatArray:
    """Return the principal moments of all bodies, shape (n, 3); unlike ``system.moments``, (0, I, I) of a rotor."""
    moments = system.moments.copy()
    moments[system.linear, 0] = 0.0
    return moments


def _events(trajectory: SystemTrajectory) -> Arrays:
    """Return arrays with one row for each event: its number, the time and the states of all bodies."""
    times = trajectory.t_events
    if times is None:
        return {}
    numbers = np.repeat(np.arange(len(times)), [len(t) for t in times])
    arrays: Arrays = {
        "event_number": (("event",), numbers),
        "event_time": (("event",), np.concatenate(times)),
    }
    for name, components in COMPONENTS.items():
        arrays[f"event_{name}"] = ("event", "body", components), np.concatenate(getattr(trajectory, f"{name}_events"))
    return arrays


def describe(system: System) -> dict[str, Any]:
    """Return the description of a system as attributes: texts and numbers, with lists and dicts as JSON."""
    return {
        "kind": SYSTEM,
        "format": FORMAT,
        "polhode": __version__,
        "name": system.name,
        "units": "{}",
        "interaction": repr(system.interaction),
        "t_span": json.dumps(system.t_span),
        "suggested_h": json.dumps(system.h),
        "conventions": "q scalar first, body to space; m and omega in body axes; x and p in space axes",
    }
