"""Meshes and colors of the bodies of a system.

Bodies with sites are drawn as molecules in true proportion to their distances, other bodies as ellipsoids of their
inertia, one half of which shows the direction of the dipole, if there is one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.body import RigidBody
from polhode.show.labels import ORANGE, SKY
from polhode.show.scene.charts import BODY_COLORS
from polhode.show.scene.mesh import Mesh
from polhode.show.scene.shapes import ellipsoid, mesh_of, molecule
from polhode.show.scene.single import Group
from polhode.systems.system import System

CROWDED = 200  # systems of more bodies are drawn with fewer triangles per body
# Up to so many sites of all molecules: rings of balls, sides of rods.
DETAILS = ((60, (8, 16)), (600, (5, 6)), (2000, (4, 5)), (np.inf, (3, 3)))
VISIBLE = 0.2  # least radius of a molecule, in units of half the distance of neighbors; smaller ones are magnified


class SystemBodies(NamedTuple):
    """Groups of bodies that look alike, a legend, and whether some are drawn larger than they are."""

    groups: list[Group]
    labels: list[str]
    marks: list[str]
    magnified: bool


class Kind(NamedTuple):
    """Body and the sites that are fixed to it, shape (s, 3), or None."""

    body: RigidBody
    sites: FloatArray | None

    @property
    def key(self) -> tuple[bytes, ...]:
        """Bytes that are equal for bodies that look alike."""
        sites = b"" if self.sites is None else self.sites.tobytes()
        return self.body.moments.tobytes(), self.body.axes.tobytes(), sites


def system_bodies(system: System, shape: Any, size: float) -> SystemBodies:
    """Return how to draw the bodies; `shape` is as in ``polhode.view``, and `size` is the unit of length of meshes."""
    kinds, which = _kinds(system)
    drawn = [_mesh(kind, shape, size, system.count) for kind in kinds]
    meshes, magnified = [mesh for mesh, _ in drawn], any(larger for _, larger in drawn)
    dipoles = _dipoles(system)
    if dipoles is None or any(kind.sites is not None for kind in kinds):  # sites show the direction of a molecule
        base = BODY_COLORS if len(kinds) <= len(BODY_COLORS) else BODY_COLORS[:1] * len(kinds)
        groups = [Group(mesh, mesh.colors(base[k]), []) for k, mesh in enumerate(meshes)]
        for body, kind in enumerate(which):
            groups[kind].members.append(body)
        return SystemBodies(groups, [], [], magnified)
    alike: dict[tuple[int, tuple[float, ...]], Group] = {}
    for body, (kind, dipole) in enumerate(zip(which, dipoles, strict=True)):
        look = kind, tuple(dipole.tolist())
        if look not in alike:
            alike[look] = Group(meshes[kind], _halves(meshes[kind], dipole), [])
        alike[look].members.append(body)
    return SystemBodies(list(alike.values()), ["toward the dipole", "away from it"], [ORANGE, SKY], magnified)


def _kinds(system: System) -> tuple[list[Kind], list[int]]:
    """Return the distinct bodies of a system, and for each body the index of its kind."""
    first: dict[tuple[bytes, ...], int] = {}
    kinds: list[Kind] = []
    which = []
    for kind in map(Kind, _each_body(system), _sites_of_each(system)):
        if kind.key not in first:
            first[kind.key] = len(kinds)
            kinds.append(kind)
        which.append(first[kind.key])
    return kinds, which


def _each_body(system: System) -> list[RigidBody]:
    bodies = [body.select(body.batch, i) if body.batch else body for body in system.bodies
              for i in range(body.batch[0] if body.batch else 1)]  # fmt: skip
    return bodies if len(bodies) == system.count else bodies * system.count


def _sites_of_each(system: System) -> list[FloatArray] | list[None]:
    """Return the sites of each body in body axes, shape (s, 3), each place once; None if the interaction has none."""
    n = system.count
    sites = system.interaction.sites_in_space(np.zeros((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3)))
    if sites is None:
        return [None] * n
    positions, body = sites
    return [_each_once(positions[body == i]) for i in range(n)]


def _each_once(sites: FloatArray) -> FloatArray:
    """Return the sites (s, 3) without those at the place of an earlier one."""
    _, first = np.unique(sites, axis=0, return_index=True)
    return sites[np.sort(first)]


def _mesh(kind: Kind, shape: Any, size: float, count: int) -> tuple[Mesh, bool]:
    """Return the mesh of one of `count` bodies in units of `size`, and whether it is larger than the body."""
    if shape is not None:
        return mesh_of(shape, kind.body), False
    if kind.sites is None:
        return ellipsoid(kind.body, 4 if count > CROWDED else 6).scaled(), False
    rings, sides = next(detail for most, detail in DETAILS if count * len(kind.sites) <= most)
    mesh = molecule(kind.sites, rings, sides)
    small = len(kind.sites) > 1 and mesh.radius < VISIBLE * size
    return mesh.scaled(None if small or len(kind.sites) == 1 else size), small


def _dipoles(system: System) -> FloatArray | None:
    """Return the dipoles in body axes, shape (n, 3), or None if the interaction has none, or all of them are zero."""
    try:
        dipoles = system.interaction.dipoles(np.broadcast_to(np.eye(3), (system.count, 3, 3)))
    except AttributeError:
        return None
    return dipoles if dipoles.any() else None


def _halves(mesh: Mesh, dipole: FloatArray) -> IntArray:
    """Return the colors of the faces, shape (f, 3): one for the head and one for the tail of the dipole."""
    ahead = mesh.vertices[mesh.faces].mean(axis=1) @ dipole > 0
    plain = mesh.painted("body", 0.0)
    return np.where(ahead[:, None], plain.colors(ORANGE), plain.colors(SKY))
