"""Configurations of atoms become rigid molecules: sites, momenta and angular momenta are those of the atoms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.core.errors import InputError, StoreError
from polhode.systems.adapters import Atoms, read_atoms, state_of_atoms
from polhode.systems.interactions import Molecular, water

ase = pytest.importorskip("ase")

NM_PER_PS = 1000 * ase.units.fs / ase.units.nm  # of a velocity of 1 in the units of ASE


def placed(model, state):
    """Positions and velocities of all sites, (n s, 3) each, from the equations of a rigid body."""
    turned = Rotation.from_quat(state.q, scalar_first=True)
    omega = np.array([np.linalg.pinv(model.body.tensor) @ m for m in state.m])
    arms = np.stack([turned.apply(np.array([site] * len(state.x))) for site in model.sites], axis=1)
    swept = np.cross(turned.apply(omega)[:, None], arms)
    velocities = (state.p / model.body.mass)[:, None] + swept
    return (state.x[:, None] + arms).reshape(-1, 3), velocities.reshape(-1, 3)


def as_ase(symbols, positions, velocities, **more):
    atoms = ase.Atoms(symbols, positions=10.0 * positions, **more)
    atoms.set_velocities(velocities / NM_PER_PS)
    return atoms


def liquid(n=20):
    return ph.System.liquid(water("SPC/E", cutoff=0.25), n, kT=2.5, seed=3)


def carbon_dioxide():
    return Molecular.from_atoms([15.9994, 12.011, 15.9994], [(0, 0, -0.1149), (0, 0, 0), (0, 0, 0.1149)])


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_liquid_of_water_goes_to_ase_and_back(wrapped):
    """Although ASE has other masses than the model, and molecules cross the boundary."""
    system = liquid()
    positions, velocities = placed(system.interaction, system.state)
    atoms = as_ase("OHH" * 20, positions, velocities, cell=10 * system.box.lengths, pbc=True)
    if wrapped:
        atoms.wrap()
        assert (abs(atoms.positions.reshape(20, 3, 3) - atoms.positions.reshape(20, 3, 3)[:, :1]) > 5).any()
    state = state_of_atoms(atoms, system.interaction)
    again, again_moving = placed(system.interaction, state)
    moved = again - positions
    whole = np.rint(moved / system.box.lengths)
    np.testing.assert_allclose(moved, whole * system.box.lengths, rtol=0, atol=1e-12)
    assert whole.any() == wrapped
    np.testing.assert_allclose(again_moving, velocities, rtol=0, atol=1e-11)
    np.testing.assert_allclose(state.p, system.state.p, rtol=0, atol=1e-11)
    np.testing.assert_allclose(state.m, system.state.m, rtol=0, atol=1e-13)
    same = ph.System(system.interaction.body, state, system.interaction, read_atoms(atoms).box)
    np.testing.assert_allclose(same.energy, system.energy, rtol=1e-9)


def test_linear_molecules():
    model = carbon_dioxide()
    assert model.body.is_linear
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, 3))
    m = rng.normal(size=(5, 3)) * (0, 1, 1)
    given = ph.State(m, Rotation.random(5, rng), x=x, p=rng.normal(size=(5, 3)))
    positions, velocities = placed(model, given)
    state = state_of_atoms(as_ase("OCO" * 5, positions, velocities), model)
    np.testing.assert_allclose(placed(model, state)[0], positions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.m_space, given.m_space, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.p, given.p, rtol=0, atol=1e-12)
    assert (state.m[:, 0] == 0).all()
    ph.System(model.body, state, model)


def test_single_atoms():
    argon = Molecular.from_atoms([39.948], [(7.0, 0, 0)], sigma=0.34, epsilon=0.996)
    assert argon.sites.tolist() == [[0.0, 0.0, 0.0]]
    positions = np.array([(0.0, 0, 0), (0.38, 0, 0)])
    velocities = np.array([(0.1, 0, 0), (0, 0.2, 0)])
    state = state_of_atoms(as_ase("Ar2", positions, velocities), argon)
    np.testing.assert_allclose(state.x, positions, rtol=0, atol=1e-15)
    np.testing.assert_allclose(state.p, 39.948 * velocities, rtol=1e-14)
    assert state.m.tolist() == [[0.0] * 3] * 2
    traj = ph.integrate(ph.System(argon.body, state, argon), (0, 0.1), h=0.01)
    assert (traj.q == (1, 0, 0, 0)).all()  # no torque acts on a site at the mass center


def test_files_and_units(tmp_path):
    """A file of ASE is in Angstrom, one of ours in the units of the trajectory; the last frame is read by default."""
    system = liquid()
    positions, velocities = placed(system.interaction, system.state)
    atoms = as_ase("OHH" * 20, positions, velocities, cell=10 * system.box.lengths, pbc=True)
    ase.io.write(tmp_path / "ase.xyz", [atoms[:3], atoms], format="extxyz")
    read = read_atoms(tmp_path / "ase.xyz")
    np.testing.assert_allclose(read.positions, positions, rtol=0, atol=1e-8)
    np.testing.assert_allclose(read.velocities, velocities, rtol=0, atol=1e-6)
    np.testing.assert_allclose(read.box, system.box.lengths, rtol=1e-15)
    assert read.symbols == list("OHH" * 20)
    np.testing.assert_allclose(read.masses[:3], [15.999, 1.008, 1.008], rtol=1e-4)
    assert len(read_atoms(str(tmp_path / "ase.xyz"), index=0)) == 3
    ph.integrate(system, (0, 0.002), h=0.001).save(tmp_path / "ours.xyz", species=["O", "H", "H"])
    ours = read_atoms(tmp_path / "ours.xyz", length=1.0, index=0)
    assert ours.velocities is None
    np.testing.assert_allclose(ours.positions, positions, rtol=0, atol=1e-14)
    state = state_of_atoms(ours, system.interaction)
    np.testing.assert_allclose(placed(system.interaction, state)[0], positions, rtol=0, atol=1e-12)
    assert not state.p.any()
    assert not state.m.any()


def test_a_plain_file_of_one_molecule_becomes_a_body(tmp_path):
    (tmp_path / "water.xyz").write_text("3\na comment\nO 0 0 0\nH 0.8 0.6 0\nH -0.8 0.6 0\n")
    atoms = read_atoms(tmp_path / "water.xyz")
    assert atoms.box is None
    model = Molecular.from_atoms(atoms.masses, atoms.positions)
    np.testing.assert_allclose(np.linalg.norm(model.sites[1] - model.sites[0]), 0.1, rtol=1e-15)
    assert state_of_atoms(atoms, model).batch == (1,)


def test_parts_of_a_configuration():
    atoms = read_atoms(as_ase("OHH", np.eye(3), np.eye(3)))
    assert isinstance(atoms[1:], Atoms)
    assert atoms[1:].symbols == ["H", "H"]
    assert atoms[1:].velocities.shape == (2, 3)


def deformed():
    system = liquid(5)
    positions, _ = placed(system.interaction, system.state)
    positions[7] += (0.005, 0, 0)  # an atom of molecule 2
    return ase.Atoms("OHH" * 5, positions=10 * positions)


def test_molecules_that_do_not_fit_are_refused():
    model = water("SPC/E")
    with pytest.raises(InputError, match=r"molecule 2 does not fit: .* nm .*tolerance=0\.01"):
        state_of_atoms(deformed(), model)
    assert state_of_atoms(deformed(), model, tolerance=0.1).batch == (5,)
    chiral = Molecular.from_atoms([1, 2, 3, 4], np.vstack([np.zeros(3), np.diag([0.1, 0.2, 0.3])]))
    mirrored = ase.Atoms("HHHH", positions=10 * chiral.sites * (1, 1, -1))
    with pytest.raises(InputError, match="molecule 0 does not fit"):
        state_of_atoms(mirrored, chiral)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: state_of_atoms(ase.Atoms("OHHO"), water()), InputError, "got 4 atoms.*a multiple of 3"),
        (lambda: state_of_atoms(ase.Atoms(), water()), InputError, "got 0 atoms.*a multiple of 3"),
        (lambda: state_of_atoms(ase.Atoms("Ar"), Molecular([(0, 0, 0)])), InputError, r"has no body.*from_atoms"),
        (lambda: state_of_atoms(ase.Atoms("Ar"), water(), tolerance=-1), InputError, "tolerance = -1"),
        (lambda: read_atoms(ase.Atoms("Ar", cell=[1, 1, 1], pbc=(1, 1, 0))), InputError, "periodic along"),
        (lambda: read_atoms(ase.Atoms("Ar", cell=[4, 4, 4, 90, 90, 60], pbc=True)), InputError, "right angles"),
        (lambda: read_atoms(ase.Atoms("Ar"), length=0.0), InputError, "length = 0"),
        (lambda: read_atoms(ase.Atoms("Ar", positions=[(np.nan, 0, 0)])), InputError, "positions"),
        (lambda: read_atoms("absent.xyz"), StoreError, "absent.xyz cannot be read by ASE"),
        (lambda: read_atoms(3), InputError, "source is 3; expected"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
