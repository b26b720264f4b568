"""Meshes of triangles with colors, and the solids that they are made of: cuboids, balls, rods, rings, lathed forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.solids import solid_properties

AROUND = 24  # corners of a circle
HUES = {  # of faces
    "body": "#E69F00", "dark": "#33373d", "white": "#ffffff", "blue": "#1f4e8c", "red": "#c23b2e", "gold": "#c9962c",
    "metal": "#8b9199",
}  # fmt: skip
# corner 4 a + 2 b + c has signs (a, b, c); pairs of triangles for the sides -1, +1, -2, +2, -3, +3
BOX_FACES = np.array(
    [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]
)  # fmt: skip
BOX_SHADES = np.repeat([0.15, 0.0, 0.5, 0.35, 0.85, 0.7], 2)


@dataclass(frozen=True)
class Mesh:
    """Mesh of triangles.

    ``vertices`` has shape (v, 3). ``faces`` has shape (f, 3) and holds indices of vertices, counterclockwise as seen
    from outside, which is the side that is lit. ``shades`` has shape (f,), from 0 (dark) to 1 (light). ``hues`` has
    shape (f,) and holds indices of HUES.
    """

    vertices: FloatArray
    faces: IntArray
    shades: FloatArray
    hues: IntArray

    @property
    def radius(self) -> float:
        """Distance of the farthest vertex."""
        return float(np.linalg.norm(self.vertices, axis=-1).max())

    def scaled(self, unit: float | None = None) -> Mesh:
        """Return the mesh with lengths in units of `unit`, by default of its radius."""
        return replace(self, vertices=self.vertices / (unit or self.radius))

    def moved(self, by: Any) -> Mesh:
        """Return the mesh moved by a vector."""
        return replace(self, vertices=self.vertices + by)

    def stretched(self, by: Any) -> Mesh:
        """Return the mesh stretched along the axes by three positive factors."""
        return replace(self, vertices=self.vertices * by)

    def turned(self, axes: FloatArray) -> Mesh:
        """Return a mesh in principal axes, the columns of `axes` of shape (3, 3), converted to body axes."""
        return replace(self, vertices=self.vertices @ axes.T)

    def painted(self, hue: str, shade: float | None = None) -> Mesh:
        """Return the mesh in one hue, and in one shade unless that is None."""
        shades = self.shades if shade is None else np.full(len(self.faces), shade)
        return replace(self, hues=np.full(len(self.faces), list(HUES).index(hue)), shades=shades)

    def colors(self, color: str) -> IntArray:
        """Return the red, green and blue of each face, shape (f, 3), for a body of the given color.

        A hue is mixed with white, up to 70 % for the shade 1.
        """
        hues = (HUES | {"body": color}).values()
        rgb = np.array([[int(hue[i : i + 2], 16) for i in (1, 3, 5)] for hue in hues])[self.hues]
        return np.rint(rgb + 0.7 * self.shades[:, None] * (255 - rgb)).astype(int)


def new_mesh(vertices: FloatArray, faces: IntArray, shades: FloatArray | float = 0.0) -> Mesh:
    """Return a mesh in the color of the body."""
    return Mesh(vertices, faces, np.broadcast_to(shades, (len(faces),)), np.zeros(len(faces), int))


def joined(parts: Sequence[Mesh]) -> Mesh:
    """Return several meshes joined to one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    return Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.shades for part in parts]),
        np.concatenate([part.hues for part in parts]),
    )


def sphere(rings: int) -> Mesh:
    """Return the unit sphere, with octants alternately light and dark."""
    v, u = np.linspace(0.0, np.pi, rings + 1), np.arange(2 * rings) * np.pi / rings
    v, u = v[:, None], u[None, :]
    points = np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v) + 0.0 * u], axis=-1)
    surface = skin(points)
    centers = surface.vertices[surface.faces].mean(axis=1)
    return replace(surface, shades=np.where(np.prod(centers, axis=1) > 0, 0.15, 0.7))


def lathe(radius: Sequence[float], height: Sequence[float]) -> Mesh:
    """Return the surface of revolution of a profile about the third axis, with sectors alternately light and dark."""
    u = np.arange(AROUND) * 2.0 * np.pi / AROUND
    r, z = np.array(radius)[:, None], np.array(height)[:, None]
    surface = skin(np.stack([r * np.cos(u), r * np.sin(u), z + 0.0 * u], axis=-1))
    sector = (np.arange(len(surface.faces)) // 2) % AROUND // (AROUND // 6)
    return replace(surface, shades=np.where(sector % 2 == 0, 0.05, 0.65))


def rod(start: FloatArray, end: FloatArray, radius: float, sides: int = AROUND) -> Mesh:
    """Return a cylinder from one point to another, whose second half is darker."""
    along = end - start
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    third = np.cross(along, across) / np.linalg.norm(along)
    u = np.arange(sides)[:, None] * 2.0 * np.pi / sides
    circle = radius * (np.cos(u) * across + np.sin(u) * third)
    stations = [start + 0.0 * circle, start + circle, 0.5 * (start + end) + circle, end + circle, end + 0.0 * circle]
    surface = skin(np.stack(stations))
    half = np.arange(len(surface.faces)) < len(surface.faces) // 2
    return replace(surface, shades=np.where(half, 0.55, 0.1))


def skin(rows: FloatArray) -> Mesh:
    """Return the mesh of a grid of points, shape (a, b, 3), whose rows are closed to rings; two triangles per cell."""
    a, b = rows.shape[:2]
    i, j = (x.ravel() for x in np.mgrid[0 : a - 1, 0:b])
    k = (j + 1) % b
    corners = i * b + j, i * b + k, (i + 1) * b + k, (i + 1) * b + j
    faces = np.stack([np.stack(corners[:3], -1), np.stack((corners[0], *corners[2:]), -1)], axis=1).reshape(-1, 3)
    vertices = rows.reshape(-1, 3)
    outward = solid_properties(vertices, faces).volume > 0
    return new_mesh(vertices, faces if outward else faces[:, ::-1])


def block(low: Sequence[float], high: Sequence[float]) -> Mesh:
    """Return a cuboid with two opposite corners `low` and `high`."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    return new_mesh(np.array(low) + corners * (np.array(high) - low), BOX_FACES, BOX_SHADES)


def cuboid(sizes: Sequence[float], center: Sequence[float] = (0.0, 0.0, 0.0)) -> Mesh:
    """Return a cuboid of the given sizes around a point."""
    half = 0.5 * np.array(sizes)
    return block((-half).tolist(), half.tolist()).moved(center)


def ring(thickness: float) -> Mesh:
    """Return a torus of radius 1 about the third axis."""
    u, v = np.arange(37) * np.pi / 18, np.arange(8) * np.pi / 4
    r = 1.0 + 2.0 * thickness * np.cos(v)
    points = [np.stack([r * np.cos(a), r * np.sin(a), thickness * np.sin(v)], axis=-1) for a in u]
    return skin(np.array(points))
