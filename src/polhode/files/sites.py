"""Sites and names of the bodies of a system, for files of particles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.systems.trajectory import SystemTrajectory

Species = str | Sequence[str]


class Sites(NamedTuple):
    """Sites of all bodies of a trajectory."""

    positions: FloatArray  # (k, N, 3), in space axes
    species: list[str]  # (N,)
    body: IntArray  # (N,), index of the body of each site


def sites_of(trajectory: SystemTrajectory, species: Species) -> Sites | None:
    """Return the sites of all bodies, or None if the interaction has none; `species` is as in ``names_of``."""
    sites = trajectory.system.interaction.sites_in_space(trajectory.x, trajectory.matrix)
    if sites is None:
        return None
    positions, body = sites
    each = np.bincount(body)
    repeated = int(each[0]) if (each == each[0]).all() else len(body)
    return Sites(positions, names_of(species, len(body), repeated), body)


def names_of(species: Species, count: int, repeated: int = 1) -> list[str]:
    """Return a name for each of `count` particles.

    Parameters
    ----------
    species : str or sequence of str
        One name for all particles, one for each of the first `repeated` ones, after which they are repeated, or one for
        each particle.
    count : int
        Number of particles.
    repeated : int, optional
        Number of particles after which names are repeated. The default is 1.

    Raises
    ------
    InputError
        If the number of names is another one, or a name is empty or contains spaces or quotes.
    """
    names = [species] if isinstance(species, str) else list(species)
    if len(names) not in (1, repeated, count):
        expected = " or ".join(str(number) for number in sorted({1, repeated, count}))
        raise InputError(f"species has {len(names)} names; expected {expected}")
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or name.split() != [name] or '"' in name:
            raise InputError(f"species has the name {name!r}; expected texts without spaces and quotes, such as 'O'")
    return names * (count // len(names))
