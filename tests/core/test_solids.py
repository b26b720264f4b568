"""Bodies from files with meshes: their inertia is that of analytic solids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import errors
from polhode.show.scene.shapes import mesh_of

trimesh = pytest.importorskip("trimesh", reason="trimesh, which reads meshes, is not installed")

TURN = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix()


def saved(mesh, path):
    """A mesh turned, moved away from the origin, and written to a file."""
    mesh.vertices = mesh.vertices @ TURN.T + (3.0, -2.0, 5.0)
    mesh.export(path)
    return path


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply"])
def test_a_box(tmp_path, suffix):
    path = saved(trimesh.creation.box((1.0, 2.0, 3.0)), tmp_path / f"part{suffix}")
    body, expected = ph.RigidBody.from_mesh(path, 2.0), ph.RigidBody.cuboid(12.0, 1.0, 2.0, 3.0)
    assert body.mass == pytest.approx(12.0, rel=1e-6)  # .stl files are in single precision
    np.testing.assert_allclose(body.tensor, TURN @ expected.tensor @ TURN.T, atol=2e-5)


@pytest.mark.parametrize(
    ("mesh", "body"),
    [
        (trimesh.creation.cylinder(1.0, 3.0, sections=500), ph.RigidBody.cylinder(3 * np.pi, 1.0, 3.0)),
        (trimesh.creation.cone(1.0, 2.0, sections=500), ph.RigidBody.cone(2 * np.pi / 3, 1.0, 2.0)),
        (trimesh.creation.icosphere(5), ph.RigidBody.ellipsoid(4 * np.pi / 3, 1.0, 1.0, 1.0)),
    ],
    ids=["cylinder", "cone", "ball"],
)
def test_round_solids(tmp_path, mesh, body):
    found = ph.RigidBody.from_mesh(saved(mesh, tmp_path / "part.stl"))
    assert found.mass == pytest.approx(body.mass, rel=2e-3)
    np.testing.assert_allclose(np.sort(found.moments), np.sort(body.moments), rtol=4e-3)


def test_the_mesh_that_is_drawn_turns_about_its_mass_center(tmp_path):
    path = saved(trimesh.creation.box((1.0, 2.0, 3.0)), tmp_path / "part.stl")
    mesh = mesh_of(str(path), ph.RigidBody.from_mesh(path))
    corners = np.unique(mesh.vertices.round(5), axis=0)
    np.testing.assert_allclose(corners.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(np.ptp(corners @ TURN, axis=0), np.array([1, 2, 3]) / (0.5 * np.sqrt(14)), atol=1e-4)


def test_files_that_are_no_solids(tmp_path):
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    box.update_faces(np.arange(len(box.faces)) > 0)
    box.export(tmp_path / "open.stl")
    with pytest.raises(errors.InputError, match="not closed"):
        ph.RigidBody.from_mesh(tmp_path / "open.stl")
    with pytest.raises(errors.InputError, match="cannot be read"):
        ph.RigidBody.from_mesh(tmp_path / "none.stl")
    with pytest.raises(errors.InputError, match="density"):
        ph.RigidBody.from_mesh(saved(trimesh.creation.box(), tmp_path / "part.stl"), density=-1.0)
