"""Solids bounded by triangles: volume, mass center and inertia, and files that hold such solids."""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.core.extras import optional


class SolidProperties(NamedTuple):
    """Volume, mass center of shape (3,), and inertia about it for density 1, shape (3, 3)."""

    volume: float
    center: FloatArray
    inertia: FloatArray


def solid_properties(vertices: FloatArray, faces: IntArray) -> SolidProperties:
    """Return the properties of the solid inside triangles, summed over tetrahedra with one corner in the middle.

    Parameters
    ----------
    vertices : ndarray, shape (v, 3)
        Corners of the triangles.
    faces : ndarray, shape (f, 3)
        Indices of vertices, counterclockwise as seen from outside; otherwise the volume is negative.

    Returns
    -------
    SolidProperties
        Volume, mass center and inertia.

    Examples
    --------
    >>> corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
    >>> outside = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    >>> bool(np.isclose(6 * solid_properties(corners, outside).volume, 1))
    True
    """
    middle = vertices.mean(axis=0)
    a, b, c = np.moveaxis(vertices[faces] - middle, 1, 0)
    volumes = np.sum(a * np.cross(b, c), axis=-1) / 6.0
    volume = float(volumes.sum())
    center = np.einsum("f,fi->i", volumes, a + b + c) / 4.0 / (volume or 1.0)
    products = sum(np.einsum("f,fi,fj->ij", volumes, v, v) for v in (a, b, c, a + b + c)) / 20.0
    products = products - volume * np.outer(center, center)
    return SolidProperties(volume, middle + center, np.trace(products) * np.eye(3) - products)


def read_solid(path: str | PathLike[str]) -> tuple[FloatArray, IntArray]:
    """Return the vertices (v, 3) and faces (f, 3) of a closed mesh in a file, such as .stl or .obj, read by trimesh.

    Raises
    ------
    InputError
        If the file does not exist or holds no closed surface.
    MissingExtraError
        If trimesh is not installed.
    """
    with optional("trimesh", "mesh"):
        import trimesh
    try:
        mesh = trimesh.load_mesh(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a mesh: {error}") from None
    if not mesh.is_watertight:
        raise InputError(f"the surface in {path} is not closed, so that it has no inside; close its holes first")
    vertices, faces = np.array(mesh.vertices, dtype=float), np.array(mesh.faces)
    return vertices, faces if mesh.volume > 0 else faces[:, ::-1]
