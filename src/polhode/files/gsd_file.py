"""GSD files of HOOMD-blue, schema "hoomd": one particle for each body, which HOOMD, OVITO, freud and others read.

HOOMD's orientation is a quaternion, scalar first, which turns the principal axes of a particle into space axes. Its
angular momentum is the quaternion P = 2 q (0, S), where S is the angular momentum along the principal axes (Kamberaj,
Li and Hansen 2005, as in the documentation of HOOMD). Coordinates are wrapped into the box around the origin, and
integers count the boxes: x = position + image * lengths.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import Frame, to_principal
from polhode.core.errors import InputError
from polhode.core.extras import optional
from polhode.core.rotation import quaternion_momentum
from polhode.files.sites import Species, names_of
from polhode.files.system_record import moments_of
from polhode.systems.trajectory import SystemTrajectory

Singles = npt.NDArray[np.float32]


def write(trajectory: SystemTrajectory, path: Path, *, species: Species = "X") -> None:
    """Write all states as frames of a GSD file, with one particle for each body.

    A GSD file stores numbers in single precision, with about 7 digits; only the times, in the log as ``time``, are in
    double precision. The step of a frame is the number of its state. Orientations and angular momenta refer to the
    principal axes of bodies, because moments of inertia do. Every GSD file has a box; in open space, it contains all
    positions of the trajectory.

    Parameters
    ----------
    trajectory : SystemTrajectory
        The trajectory. Its units are not changed.
    path : Path
        File to write.
    species : str or sequence of str, optional
        Names of the types of bodies: one for all of them, or one for each. The default is "X".

    Raises
    ------
    InputError
        If a number does not fit single precision, the number of names does not fit, or a name is not valid.
    MissingExtraError
        If the package gsd is not installed.
    """
    with optional("gsd", "gsd"):
        import gsd.hoomd
    system = trajectory.system
    kinds, kind_of_body = np.unique(names_of(species, system.count), return_inverse=True)
    constant = {"mass": system.mass, "moment_inertia": moments_of(system)}
    particles = {name: _single(values, name) for name, values in constant.items()}
    lengths = _box_lengths(trajectory)
    edges = _single(lengths, "box")
    m, q = to_principal(Frame.of(system.axes), trajectory.m, trajectory.q)
    with gsd.hoomd.open(str(path), mode="w") as file:
        for step, t in enumerate(trajectory.t):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = step
            frame.configuration.box = [*edges, 0, 0, 0]
            frame.log["time"] = np.array([t])
            frame.particles.N = system.count
            frame.particles.types = kinds.tolist()
            frame.particles.typeid = kind_of_body.astype(np.uint32)
            position, image = _in_box(trajectory.x[step], lengths)
            varying = {
                "velocity": trajectory.p[step] / system.mass[:, None],
                "orientation": q[step],
                "angmom": quaternion_momentum(m[step], q[step]),
            }
            singles = {name: _single(values, name) for name, values in varying.items()}
            for name, values in (particles | singles | {"position": position, "image": image}).items():
                setattr(frame.particles, name, values)
            file.append(frame)


def _box_lengths(trajectory: SystemTrajectory) -> FloatArray:
    """Return the lengths of the periodic box, or of a cube around the origin with room for all positions."""
    box = trajectory.system.box
    if box.repeats:
        return box.lengths
    furthest = float(np.abs(trajectory.x).max(initial=0.0))
    return np.full(3, 2.5 * furthest or 1.0)


def _in_box(x: FloatArray, lengths: FloatArray) -> tuple[Singles, npt.NDArray[np.int32]]:
    """Return positions in [-L/2, L/2), also after rounding, and the numbers of boxes to add, both of shape (n, 3)."""
    image = np.floor(x / lengths + 0.5)
    position = (x - image * lengths).astype(np.float32)
    edges = lengths.astype(np.float32)
    beyond = position >= edges / 2
    return np.where(beyond, position - edges, position), (image + beyond).astype(np.int32)


def _single(values: FloatArray, name: str) -> Singles:
    """Return an array in single precision; raise InputError if its largest number is beyond the range of that."""
    largest = float(np.abs(values).max(initial=0.0))
    limits: Any = np.finfo(np.float32)
    if largest and not limits.tiny <= largest <= limits.max:
        raise InputError(
            f"the largest {name} is {largest:.6g}; a .gsd file stores numbers in single precision, from "
            f"{limits.tiny:.2g} to {limits.max:.2g}; choose other units"
        )
    return values.astype(np.float32)
