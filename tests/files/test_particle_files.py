"""Files of particles, .xyz and .gsd: other programs read positions, attitudes and angular velocities from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import random_attitude
from polhode.core.errors import InputError
from polhode.files import gsd_file, xyz
from polhode.integration.base_trajectory import Stats
from polhode.systems.interactions import Field, water
from polhode.systems.trajectory import SystemTrajectory

ase_io = pytest.importorskip("ase.io")
gsd_hoomd = pytest.importorskip("gsd.hoomd")

TENSOR = np.array([(2.0, 0.1, -0.2), (0.1, 2.5, 0.3), (-0.2, 0.3, 3.0)])
TIMES = np.array([0.0, 0.1, 1 / 3])


def trajectory(system, k=3):
    """States that are drawn, because files take them as they are."""
    rng = np.random.default_rng(7)
    n = system.count
    m = rng.normal(size=(k, n, 3))
    m[:, system.linear, 0] = 0.0
    x = 5.0 * rng.normal(size=(k, n, 3))
    parts = x, rng.normal(size=(k, n, 3)), m, random_attitude(rng, k, n)
    return SystemTrajectory(
        system, TIMES[:k], *parts, method=ph.Splitting(ph.Exact(), "V2"), h=0.1, stats=Stats(2, 2, 0)
    )


def nothing(t, x, Q, F, T, p):
    pass


def bodies():
    """A body with turned axes, a linear rotor and a principal body, in open space."""
    kinds = [ph.RigidBody(TENSOR, mass=2.0), ph.RigidBody.linear(1.5, mass=1.0), ph.RigidBody((3, 1, 2), mass=0.5)]
    return ph.System(kinds, ph.State(np.zeros((3, 3)), x=np.eye(3)), Field(nothing, name="nothing"))


def liquid(n=4):
    return ph.System.liquid(water("SPC/E", cutoff=0.2), n, kT=2.5, seed=1)


def test_sites_read_by_ase(tmp_path):
    system = liquid()
    traj = trajectory(system)
    traj.save(tmp_path / "water.xyz", species=("O", "H", "H"))
    frames = ase_io.read(tmp_path / "water.xyz", index=":", format="extxyz")
    assert [frame.info["Time"] for frame in frames] == TIMES.tolist()
    for k, frame in enumerate(frames):
        assert frame.get_chemical_formula() == "H8O4"
        assert frame.arrays["molecule"].tolist() == np.repeat(range(4), 3).tolist()
        assert np.diag(frame.cell.array).tolist() == system.box.lengths.tolist()
        assert frame.pbc.all()
        turned = [Rotation.from_quat(q, scalar_first=True).apply(system.interaction.sites) for q in traj.q[k]]
        expected = (traj.x[k][:, None] + turned).reshape(-1, 3)
        np.testing.assert_allclose(frame.positions, expected, rtol=0, atol=1e-14)


def test_bodies_read_by_ase(tmp_path):
    traj = trajectory(bodies())
    traj.save(tmp_path / "bodies.xyz", species=["He", "X", "Ne"])
    for k, frame in enumerate(ase_io.read(tmp_path / "bodies.xyz", index=":", format="extxyz")):
        assert frame.get_chemical_symbols() == ["He", "X", "Ne"]
        assert frame.positions.tobytes() == traj.x[k].tobytes()
        assert frame.arrays["orientation"].tolist() == traj.q[k][:, [1, 2, 3, 0]].tolist()
        assert not frame.pbc.any()


def test_sites_of_a_sum_of_interactions(tmp_path):
    system = liquid()
    system = ph.System(system.bodies[0], system.state, Field(nothing) + system.interaction)
    trajectory(system).save(tmp_path / "water.xyz")
    assert len(ase_io.read(tmp_path / "water.xyz", index=0, format="extxyz")) == 12


def test_many_states_are_written_piece_by_piece(tmp_path, monkeypatch):
    traj = trajectory(liquid())
    traj.save(tmp_path / "a.xyz")
    monkeypatch.setattr(xyz, "STATES_PER_PIECE", 2)
    traj.save(tmp_path / "b.xyz")
    assert (tmp_path / "a.xyz").read_text() == (tmp_path / "b.xyz").read_text()


@pytest.mark.parametrize(
    ("species", "message"),
    [
        (["O", "H"], "species has 2 names; expected 1 or 3 or 12"),
        ("", "the name ''; expected texts without spaces"),
        (["O", "H", "a b"], "the name 'a b'"),
        (["O", "H", 1], "the name 1"),
    ],
)
def test_names_are_checked_and_nothing_is_left(tmp_path, species, message):
    (tmp_path / "water.xyz").write_text("earlier")
    with pytest.raises(InputError, match=message):
        trajectory(liquid()).save(tmp_path / "water.xyz", species=species)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["earlier"]


def frames_of(traj, folder, **options):
    traj.save(folder / "run.gsd", **options)
    with gsd_hoomd.open(str(folder / "run.gsd"), mode="r") as file:
        return list(file)


def test_bodies_read_by_gsd(tmp_path):
    """Angular velocities in space axes, from what HOOMD stores along principal axes, are those of the trajectory."""
    system = bodies()
    traj = trajectory(system)
    frames = frames_of(traj, tmp_path, species=("b", "a", "b"))
    tensors = [TENSOR, np.diag([0, 1.5, 1.5]), np.diag([3.0, 1, 2])]
    for k, frame in enumerate(frames):
        data = frame.particles
        assert frame.configuration.step == k
        assert frame.log["time"].tolist() == [TIMES[k]]
        assert [data.types[i] for i in data.typeid] == ["b", "a", "b"]
        np.testing.assert_allclose(data.position, traj.x[k], rtol=1e-6)
        assert not data.image.any()
        assert (np.abs(data.position) < frame.configuration.box[0] / 2).all()
        np.testing.assert_allclose(data.mass, system.mass, rtol=1e-7)
        np.testing.assert_allclose(data.velocity, traj.p[k] / [[2.0], [1.0], [0.5]], rtol=1e-6)
        for i, tensor in enumerate(tensors):
            principal = Rotation.from_quat(data.orientation[i], scalar_first=True)
            body = Rotation.from_quat(traj.q[k, i], scalar_first=True)
            in_space = body.as_matrix() @ tensor @ body.as_matrix().T
            again = principal.as_matrix() @ np.diag(data.moment_inertia[i]) @ principal.as_matrix().T
            np.testing.assert_allclose(again, in_space, rtol=0, atol=2e-6)
            spin = hoomd_spin(data.orientation[i].astype(float), data.angmom[i].astype(float))
            axes = data.moment_inertia[i] > 0
            omega = np.divide(spin, data.moment_inertia[i], out=np.zeros(3), where=axes)
            expected = np.linalg.pinv(tensor) @ traj.m[k, i]
            np.testing.assert_allclose(principal.apply(omega), body.apply(expected), rtol=0, atol=2e-6)


def hoomd_spin(q, P):
    """S = Im(q* P)/2, the angular momentum along principal axes (documentation of HOOMD, "Quaternions for angular
    momentum"), written out."""
    w, x, y, z = q[0], -q[1], -q[2], -q[3]
    a, b, c, d = P
    return 0.5 * np.array([w * b + x * a + y * d - z * c, w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a])


def test_positions_in_a_box_read_by_gsd(tmp_path):
    system = liquid()
    traj = trajectory(system)
    traj.x[0, 0] = 0.5 * system.box.lengths * (1 - 1e-12)  # inside, but not if it is rounded to single precision
    for k, frame in enumerate(frames_of(traj, tmp_path)):
        lengths = frame.configuration.box[:3].astype(float)
        np.testing.assert_allclose(lengths, system.box.lengths, rtol=1e-7)
        position = frame.particles.position.astype(float)
        assert ((-lengths / 2 <= position) & (position < lengths / 2)).all()
        np.testing.assert_allclose(position + frame.particles.image * lengths, traj.x[k], rtol=0, atol=3e-6)
        assert frame.particles.image.any()


def test_numbers_beyond_single_precision(tmp_path):
    body = ph.RigidBody((1e-46, 1e-46, 2e-46), mass=1e-26)
    system = ph.System(body, ph.State(np.zeros((1, 3)), x=[(0.0, 0, 0)]), Field(nothing))
    with pytest.raises(InputError, match=r"largest moment_inertia is 2e-46.*single precision.*choose other units"):
        trajectory(system).save(tmp_path / "si.gsd")
    assert list(tmp_path.iterdir()) == []


def test_bodies_that_rest_at_the_origin_have_a_box():
    system = ph.System(ph.RigidBody((1, 1, 2), mass=1), ph.State(np.zeros((1, 3)), x=[(0.0, 0, 0)]), Field(nothing))
    traj = trajectory(system)
    traj.x[:] = 0.0
    assert gsd_file._box_lengths(traj).tolist() == [1.0, 1.0, 1.0]
