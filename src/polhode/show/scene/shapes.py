"""Shapes of bodies: solids of a given inertia, tops, ships, molecules, illustrations, and users' own files.

A mesh is in body axes, with the point about which the body turns at the origin. Only its proportions matter: it is
scaled so that its farthest vertex is at distance 1. The second moments of a body of unit mass are

    <x_i^2> = (I_1 + I_2 + I_3)/2 - I_i; box: half an edge is sqrt(3 <x_i^2>); ellipsoid: a semi-axis is sqrt(5 <x_i^2>)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.checks import as_floats, check_finite, unknown_name
from polhode.core.errors import InputError, ShapeError
from polhode.core.solids import read_solid, solid_properties
from polhode.show.scene.illustrations import ILLUSTRATIONS
from polhode.show.scene.mesh import AROUND, Mesh, block, cuboid, joined, lathe, new_mesh, rod, skin, sphere

THINNEST = 0.04  # of the largest extent, so that flat bodies, rods and impossible inertias stay visible
MESH_FILES = (".stl", ".obj", ".ply", ".off", ".glb")
MOST_FACES = 50_000  # of a user's mesh, which take about 3 MB


def mesh_of(shape: Any, body: RigidBody, problem: str = "") -> Mesh:
    """Return the mesh of one body, scaled to radius 1.

    `shape` is a name, the name of a file with a mesh, the sites of a molecule in body axes, shape (n, 3), or None for a
    shape that suits the problem.

    >>> mesh_of("box", RigidBody.cuboid(12.0, 2.0, 4.0, 4.0)).vertices.max(axis=0)
    array([0.33333333, 0.66666667, 0.66666667])
    """
    name = name_of(shape, problem)
    if name is None:
        return molecule(shape).scaled()
    if Path(name).suffix.lower() in MESH_FILES:
        return file_mesh(name).scaled()
    if name in SHAPES:
        return SHAPES[name](body).scaled()
    if name in ILLUSTRATIONS:
        return fitted(ILLUSTRATIONS[name](), body).scaled()
    raise unknown_name("shape", name, [*SHAPES, *ILLUSTRATIONS])


def name_of(shape: Any, problem: str) -> str | None:
    """Return the name of the shape, by default the one that suits the problem; None for a molecule."""
    if shape is None:
        return BY_PROBLEM.get(problem, "box")
    return str(shape) if isinstance(shape, str | Path) else None


def file_mesh(path: Any) -> Mesh:
    """Return the mesh of a file, in the axes of the file, with the mass center of the solid at the origin."""
    vertices, faces = read_solid(path)
    if len(faces) > MOST_FACES:
        raise InputError(f"{path} has {len(faces)} triangles; expected up to {MOST_FACES}: simplify the mesh first")
    return new_mesh(vertices - solid_properties(vertices, faces).center, faces, 0.25)


def principal(mesh: Mesh) -> tuple[Mesh, FloatArray]:
    """Return a solid of density 1 about its mass center in its principal axes, and its moments per mass, shape (3,)."""
    solid = solid_properties(mesh.vertices, mesh.faces)
    body = RigidBody(solid.inertia / solid.volume)
    return mesh.moved(-solid.center).turned(body.axes.T), body.moments


def fitted(mesh: Mesh, body: RigidBody) -> Mesh:
    """Return an illustration turned so that its principal axes rank as those of the body; it is not stretched."""
    solid, moments = principal(mesh)
    axes = np.zeros((3, 3))
    axes[np.argsort(body.moments, kind="stable"), np.argsort(moments, kind="stable")] = 1.0
    axes[:, 2] *= np.linalg.det(axes)  # a rotation, not a mirror
    return solid.turned(axes).turned(body.axes)


def box(body: RigidBody) -> Mesh:
    """Return the solid cuboid that has the inertia of the body."""
    return cuboid((2.0, 2.0, 2.0)).stretched(np.sqrt(3.0 * _second_moments(body))).turned(body.axes)


def ellipsoid(body: RigidBody, rings: int = 12) -> Mesh:
    """Return the solid ellipsoid that has the inertia of the body, with octants alternately light and dark."""
    return sphere(rings).stretched(np.sqrt(5.0 * _second_moments(body))).turned(body.axes)


def top(body: RigidBody) -> Mesh:
    """Return a spinning top along the third axis, with its tip at the origin and widths that follow the inertia."""
    radius = [0.0, 0.05, 0.62, 0.68, 0.62, 0.07, 0.07, 0.0]
    height = [0.0, 0.10, 0.62, 0.72, 0.80, 0.88, 1.20, 1.24]
    second = _second_moments(body)
    wide = np.sqrt(second[:2] / second[:2].max())
    return lathe(radius, height).stretched((*np.maximum(wide, 0.5), 1.0)).turned(body.axes)


def ship(body: RigidBody) -> Mesh:
    """Return a ship with its bow along the first axis and the third axis up."""
    along = np.array([-1.0, -0.9, -0.5, 0.0, 0.4, 0.7, 0.9, 1.0])
    beam = np.array([0.16, 0.19, 0.21, 0.21, 0.20, 0.14, 0.06, 0.005])
    keel = np.array([-0.04, -0.14, -0.16, -0.16, -0.16, -0.15, -0.11, 0.04])
    deck = 0.10 + 0.06 * np.maximum(along, 0.0) ** 2
    sections = [
        [(x, -b, d), (x, -0.8 * b, k), (x, 0.8 * b, k), (x, b, d)]
        for x, b, k, d in zip(along, beam, keel, deck, strict=True)
    ]
    hull = skin(np.array(sections))
    stern, bow = np.arange(4), 4 * len(along) - 4 + np.arange(4)[::-1]
    ends = np.array([face for a, b, c, d in (stern, bow) for face in ((d, c, b), (d, b, a))])
    on_deck = np.arange(len(hull.faces)) % 8 >= 6
    shades = np.r_[np.where(on_deck, 0.85, 0.0), np.zeros(4)]
    painted = new_mesh(hull.vertices, np.concatenate([hull.faces, ends]), shades)
    bridge = block((-0.75, -0.15, 0.10), (-0.40, 0.15, 0.38)).painted("white")
    windows = block((-0.41, -0.13, 0.29), (-0.39, 0.13, 0.34)).painted("dark")
    funnel = block((-0.70, -0.05, 0.38), (-0.58, 0.05, 0.50)).painted("red")
    return joined([painted, bridge, windows, funnel])


def molecule(sites: Any, rings: int = 6, sides: int = AROUND) -> Mesh:
    """Return balls of `rings` at the sites, shape (n, 3) in body axes, with rods of `sides` between neighbors."""
    places = as_floats(sites, "shape", 3)
    if places.ndim != 2 or not len(places):
        raise ShapeError(f"shape has shape {places.shape}; expected sites (n, 3), or a name: {', '.join(SHAPES)}")
    check_finite(places, "shape", InputError)
    distances = np.linalg.norm(places[:, None] - places, axis=-1) + np.diag(np.full(len(places), np.inf))
    nearest = distances.min(axis=1) if len(places) > 1 else np.full(1, 1.0)
    if not nearest.min() > 0:
        raise InputError("shape has two sites at the same place; expected sites (n, 3) that differ")
    ball = sphere(rings)
    parts = [
        ball.scaled(1.0 / (0.32 * nearest.min())).moved(place).painted("body", 0.0 if i == 0 else 0.75)
        for i, place in enumerate(places)
    ]
    bonds = np.argwhere(np.triu(distances <= 1.2 * np.minimum(nearest[:, None], nearest)))
    parts += [rod(places[i], places[j], 0.1 * nearest.min(), sides) for i, j in bonds]
    return joined(parts)


def _second_moments(body: RigidBody) -> FloatArray:
    """Return <x_i^2> of unit mass along the principal axes, shape (3,), none too small to be visible."""
    moments = body.moments / body.moments.max()
    second = 0.5 * moments.sum() - moments
    return np.maximum(second, THINNEST**2 * second.max())


SHAPES: dict[str, Callable[[RigidBody], Mesh]] = {"box": box, "ellipsoid": ellipsoid, "top": top, "ship": ship}
BY_PROBLEM = {
    "dzhanibekov": "t-handle",
    "vessel": "ship",
    "gyro_top": "top",
    "heavy_top": "top",
    "vilmart_top": "top",
    "satellite": "cubesat",
    "satellite_orbit": "cubesat",
}
