"""Triangle meshes of bodies: boxes and ellipsoids of a given inertia, tops, ships, T-handles and molecules.

A mesh is in body axes, with the point about which the body turns at the origin. Only its proportions matter: it is
scaled so that its farthest vertex is at distance 1. The second moments of a body of unit mass are

    <x_i^2> = (I_1 + I_2 + I_3)/2 - I_i; box: half an edge is sqrt(3 <x_i^2>); ellipsoid: a semi-axis is sqrt(5 <x_i^2>)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.body import RigidBody
from polhode.core.checks import as_floats, check_finite, unknown_name
from polhode.core.errors import InputError, ShapeError
from polhode.problems.dzhanibekov import BAR, RADIUS, STEM

THINNEST = 0.04  # of the largest extent, so that flat bodies, rods and impossible inertias stay visible
AROUND = 24  # corners of a circle


@dataclass(frozen=True)
class Mesh:
    """Mesh of triangles.

    ``vertices`` has shape (v, 3). ``faces`` has shape (f, 3) and holds indices of vertices, counterclockwise as seen
    from outside, which is the side that is lit. ``shades`` has shape (f,), from 0 (dark) to 1 (light).
    """

    vertices: FloatArray
    faces: IntArray
    shades: FloatArray

    @property
    def radius(self) -> float:
        """Distance of the farthest vertex."""
        return float(np.linalg.norm(self.vertices, axis=-1).max())

    def scaled(self, unit: float | None = None) -> Mesh:
        """Return the mesh with lengths in units of `unit`, by default of its radius."""
        return Mesh(self.vertices / (unit or self.radius), self.faces, self.shades)

    def turned(self, axes: FloatArray) -> Mesh:
        """Return a mesh in principal axes, the columns of `axes` of shape (3, 3), converted to body axes."""
        return Mesh(self.vertices @ axes.T, self.faces, self.shades)


def joined(parts: Sequence[Mesh]) -> Mesh:
    """Return several meshes joined to one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    return Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.shades for part in parts]),
    )


def mesh_of(shape: Any, body: RigidBody, problem: str = "") -> Mesh:
    """Return the mesh of one body, scaled to radius 1.

    `shape` is a name, the sites of a molecule in body axes, shape (n, 3), or None for a shape that suits the problem.

    >>> mesh_of("box", RigidBody.cuboid(12.0, 2.0, 4.0, 4.0)).vertices.max(axis=0)
    array([0.33333333, 0.66666667, 0.66666667])
    """
    name = name_of(shape, problem)
    if name is None:
        return molecule(shape).scaled()
    if name not in SHAPES:
        raise unknown_name("shape", name, SHAPES)
    return SHAPES[name](body).scaled()


def name_of(shape: Any, problem: str) -> str | None:
    """Return the name of the shape, by default the one that suits the problem; None for a molecule."""
    if shape is None:
        return BY_PROBLEM.get(problem, "box")
    return shape if isinstance(shape, str) else None


def box(body: RigidBody) -> Mesh:
    """Return the solid cuboid that has the inertia of the body."""
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return Mesh(corners * np.sqrt(3.0 * _second_moments(body)), BOX_FACES, BOX_SHADES).turned(body.axes)


def ellipsoid(body: RigidBody, rings: int = 12) -> Mesh:
    """Return the solid ellipsoid that has the inertia of the body, with octants alternately light and dark."""
    ball = sphere(rings)
    return Mesh(ball.vertices * np.sqrt(5.0 * _second_moments(body)), ball.faces, ball.shades).turned(body.axes)


def top(body: RigidBody) -> Mesh:
    """Return a spinning top along the third axis, with its tip at the origin and widths that follow the inertia."""
    radius = [0.0, 0.05, 0.62, 0.68, 0.62, 0.07, 0.07, 0.0]
    height = [0.0, 0.10, 0.62, 0.72, 0.80, 0.88, 1.20, 1.24]
    second = _second_moments(body)
    wide = np.sqrt(second[:2] / second[:2].max())
    turned = lathe(radius, height)
    return Mesh(turned.vertices * (*np.maximum(wide, 0.5), 1.0), turned.faces, turned.shades).turned(body.axes)


def t_handle(body: RigidBody) -> Mesh:
    """Return the two rods of ``problems.dzhanibekov``: stem along the first axis, bar along the second."""
    center = np.array([0.5 * STEM * STEM / (STEM + BAR), 0.0, 0.0])
    stem = rod(np.zeros(3), np.array([STEM, 0.0, 0.0]), RADIUS)
    bar = rod(np.array([0.0, -0.5 * BAR, 0.0]), np.array([0.0, 0.5 * BAR, 0.0]), RADIUS)
    both = joined([bar, Mesh(stem.vertices, stem.faces, 0.5 + 0.5 * stem.shades)])
    return Mesh(both.vertices - center, both.faces, both.shades)


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
    hull = _skin(np.array(sections))
    stern, bow = np.arange(4), 4 * len(along) - 4 + np.arange(4)[::-1]
    ends = np.array([face for a, b, c, d in (stern, bow) for face in ((d, c, b), (d, b, a))])
    on_deck = np.arange(len(hull.faces)) % 8 >= 6
    painted = Mesh(hull.vertices, np.concatenate([hull.faces, ends]), np.r_[np.where(on_deck, 0.85, 0.0), np.zeros(4)])
    bridge = _block((-0.75, -0.15, 0.10), (-0.40, 0.15, 0.38), 0.65)
    funnel = _block((-0.70, -0.05, 0.38), (-0.58, 0.05, 0.50), 0.25)
    return joined([painted, bridge, funnel])


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
        Mesh(place + 0.32 * nearest.min() * ball.vertices, ball.faces, 0.4 * ball.shades + (0.0 if i == 0 else 0.7))
        for i, place in enumerate(places)
    ]
    bonds = np.argwhere(np.triu(distances <= 1.2 * np.minimum(nearest[:, None], nearest)))
    parts += [rod(places[i], places[j], 0.1 * nearest.min(), sides) for i, j in bonds]
    return joined(parts)


def sphere(rings: int) -> Mesh:
    """Return the unit sphere, with octants alternately light and dark."""
    v, u = np.linspace(0.0, np.pi, rings + 1), np.arange(2 * rings) * np.pi / rings
    v, u = v[:, None], u[None, :]
    points = np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v) + 0.0 * u], axis=-1)
    skin = _skin(points)
    centers = skin.vertices[skin.faces].mean(axis=1)
    return Mesh(skin.vertices, skin.faces, np.where(np.prod(centers, axis=1) > 0, 0.15, 0.7))


def lathe(radius: Sequence[float], height: Sequence[float]) -> Mesh:
    """Return the surface of revolution of a profile about the third axis, with sectors alternately light and dark."""
    u = np.arange(AROUND) * 2.0 * np.pi / AROUND
    r, z = np.array(radius)[:, None], np.array(height)[:, None]
    skin = _skin(np.stack([r * np.cos(u), r * np.sin(u), z + 0.0 * u], axis=-1))
    sector = (np.arange(len(skin.faces)) // 2) % AROUND // (AROUND // 6)
    return Mesh(skin.vertices, skin.faces, np.where(sector % 2 == 0, 0.05, 0.65))


def rod(start: FloatArray, end: FloatArray, radius: float, sides: int = AROUND) -> Mesh:
    """Return a cylinder from one point to another, whose second half is darker."""
    along = end - start
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    third = np.cross(along, across) / np.linalg.norm(along)
    u = np.arange(sides)[:, None] * 2.0 * np.pi / sides
    circle = radius * (np.cos(u) * across + np.sin(u) * third)
    stations = [start + 0.0 * circle, start + circle, 0.5 * (start + end) + circle, end + circle, end + 0.0 * circle]
    skin = _skin(np.stack(stations))
    half = np.arange(len(skin.faces)) < len(skin.faces) // 2
    return Mesh(skin.vertices, skin.faces, np.where(half, 0.55, 0.1))


def _skin(rows: FloatArray) -> Mesh:
    """Return the mesh of a grid of points, shape (a, b, 3), whose rows are closed to rings; two triangles per cell."""
    a, b = rows.shape[:2]
    i, j = (x.ravel() for x in np.mgrid[0 : a - 1, 0:b])
    k = (j + 1) % b
    corners = i * b + j, i * b + k, (i + 1) * b + k, (i + 1) * b + j
    faces = np.stack([np.stack(corners[:3], -1), np.stack((corners[0], *corners[2:]), -1)], axis=1).reshape(-1, 3)
    vertices = rows.reshape(-1, 3)
    return Mesh(vertices, faces if _volume(vertices, faces) > 0 else faces[:, ::-1], np.zeros(len(faces)))


def _volume(vertices: FloatArray, faces: IntArray) -> float:
    """Return the enclosed volume; it is negative if the faces are clockwise as seen from outside."""
    a, b, c = np.moveaxis(vertices[faces] - vertices.mean(axis=0), 1, 0)
    return float(np.sum(a * np.cross(b, c)) / 6)


def _block(low: Sequence[float], high: Sequence[float], shade: float) -> Mesh:
    """Return a cuboid with two opposite corners `low` and `high`."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    vertices = np.array(low) + corners * (np.array(high) - low)
    return Mesh(vertices, BOX_FACES, shade + 0.3 * (BOX_SHADES - BOX_SHADES.mean()))


def _second_moments(body: RigidBody) -> FloatArray:
    """Return <x_i^2> of unit mass along the principal axes, shape (3,), none too small to be visible."""
    moments = body.moments / body.moments.max()
    second = 0.5 * moments.sum() - moments
    return np.maximum(second, THINNEST**2 * second.max())


# corner 4 a + 2 b + c has signs (a, b, c); pairs of triangles for the sides -1, +1, -2, +2, -3, +3
BOX_FACES = np.array(
    [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]
)  # fmt: skip
BOX_SHADES = np.repeat([0.15, 0.0, 0.5, 0.35, 0.85, 0.7], 2)

SHAPES: dict[str, Callable[[RigidBody], Mesh]] = {
    "box": box,
    "ellipsoid": ellipsoid,
    "top": top,
    "ship": ship,
    "t-handle": t_handle,
}
BY_PROBLEM = {
    "dzhanibekov": "t-handle",
    "vessel": "ship",
    "gyro_top": "top",
    "heavy_top": "top",
    "vilmart_top": "top",
}
