"""Extended XYZ files: text with the positions of sites or bodies, which OVITO, VMD, ASE and others read.

Each state is a frame: the number of lines, a line of properties, and a line for each site or body. In a periodic box,
``Lattice`` has its edges. The coordinates are those of the trajectory, which are not wrapped into the box, so that
molecules are whole and paths continuous. OVITO reads the column ``orientation``, a quaternion with its scalar last.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from polhode.files.sites import Species, names_of, sites_of
from polhode.systems.interactions.neighbors import Box
from polhode.systems.trajectory import SystemTrajectory

STATES_PER_PIECE = 100  # converted to text at once


def write(trajectory: SystemTrajectory, path: Path, *, species: Species = "X") -> None:
    """Write the positions of the sites of all bodies, or of the bodies and their attitudes if there are no sites.

    Parameters
    ----------
    trajectory : SystemTrajectory
        The trajectory. Its units are not changed.
    path : Path
        File to write.
    species : str or sequence of str, optional
        Names of the sites of one body, in their order, or of the sites of all bodies; without sites, names of the
        bodies. One name is for all of them. The default is "X", which is no chemical element.

    Raises
    ------
    InputError
        If the number of names does not fit, or a name is not valid.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for first in range(0, len(trajectory), STATES_PER_PIECE):
            for frame in _frames(trajectory[first : first + STATES_PER_PIECE], species):
                file.write(frame)


def _frames(trajectory: SystemTrajectory, species: Species) -> Iterator[str]:
    """Yield the texts of the frames of a trajectory."""
    sites = sites_of(trajectory, species)
    if sites is None:
        columns = "pos:R:3:orientation:R:4"
        names = names_of(species, trajectory.system.count)
        numbers = np.concatenate([trajectory.x, np.roll(trajectory.q, -1, axis=-1)], axis=-1)
        ends = [""] * len(names)
    else:
        columns = "pos:R:3:molecule:I:1"
        names, numbers = sites.species, sites.positions
        ends = [f" {body}" for body in sites.body.tolist()]
    head = f"{_lattice(trajectory.system.box)}Properties=species:S:1:{columns}"
    for t, rows in zip(trajectory.t.tolist(), numbers.tolist(), strict=True):
        lines = (f"{name} {' '.join(map(repr, row))}{end}" for name, row, end in zip(names, rows, ends, strict=True))
        yield "\n".join([str(len(names)), f"{head} Time={t!r}", *lines, ""])


def _lattice(box: Box) -> str:
    """Return the edges of a periodic box as properties; empty in open space."""
    if not box.repeats:
        return ""
    edges = np.diag(box.lengths).ravel().tolist()
    return f'Lattice="{" ".join(map(repr, edges))}" pbc="T T T" '
