"""Contents of files of a trajectory of a system: named arrays and attributes (see ``polhode.files.record``).

    time (time)    x, p, m, omega (time, body, xyz)    q (time, body, quaternion)    energy, kinetic (time)
    mass (body)    moments (body, xyz)    axes (body, xyz, principal)    box (xyz), of a periodic system

x and p are in space axes, m and omega in body axes. Of the interaction, only the name is stored.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from polhode._version import __version__
from polhode.files.record import FORMAT, SYSTEM, Arrays, FileRecord

if TYPE_CHECKING:
    from polhode.systems.trajectory import SystemTrajectory


def pack_system(trajectory: SystemTrajectory) -> FileRecord:
    """Return everything of a trajectory of a system that is stored in files."""
    system = trajectory.system
    vectors = {name: getattr(trajectory, name) for name in ("x", "p", "m", "omega")}
    arrays: Arrays = {"time": (("time",), trajectory.t)}
    arrays |= {name: (("time", "body", "xyz"), values) for name, values in vectors.items()}
    arrays["q"] = ("time", "body", "quaternion"), trajectory.q
    arrays["kinetic"] = ("time",), trajectory.kinetic
    if system.interaction.has_energy:
        arrays["energy"] = ("time",), trajectory.energy
    arrays["mass"] = ("body",), system.mass
    arrays["moments"] = ("body", "xyz"), system.moments
    if system.axes is not None:
        arrays["axes"] = ("body", "xyz", "principal"), system.axes
    if system.box.repeats:
        arrays["box"] = ("xyz",), system.box.lengths
    attributes = {
        "kind": SYSTEM, "format": FORMAT, "polhode": __version__, "name": system.name, "units": "{}",
        "interaction": repr(system.interaction), "method": repr(trajectory.method), "h": float(trajectory.h),
        "status": int(trajectory.status), "message": trajectory.message, "stats": json.dumps(asdict(trajectory.stats)),
        "conventions": "q scalar first, body to space; m and omega in body axes; x and p in space axes",
    }  # fmt: skip
    return FileRecord(arrays, attributes)
