"""Rigid water: its molecules against printed numbers, and what its runs keep."""

from __future__ import annotations

import importlib.util
from itertools import pairwise

import numpy as np
import pytest

import polhode as ph
from conftest import ROOT
from polhode import interactions
from polhode.core.errors import InputError, UnknownNameError
from polhode.solve import integrate
from polhode.systems.interactions import BOLTZMANN, COULOMB, Molecular, water
from polhode.systems.interactions.water_models import DALTON_PER_NM3
from polhode.systems.system import System

KT = 298.15 * BOLTZMANN
DEBYE = 48.0320471  # per e nm


@pytest.mark.parametrize(
    ("name", "bond", "angle", "dipole", "sigma", "epsilon"),
    [
        ("SPC", 0.1, 109.47, 2.27, 0.3166, 0.650),
        ("SPC/E", 0.1, 109.47, 2.35, 0.3166, 0.650),
        ("TIP3P", 0.09572, 104.52, 2.35, 0.31506, 0.6364),
    ],
)
def test_molecules_as_printed(name, bond, angle, dipole, sigma, epsilon):
    """Geometry, dipole in debye, Lennard-Jones: tables of the models' papers."""
    model = water(name)
    O, *H = model.sites
    for h in H:
        assert np.linalg.norm(h - O) == pytest.approx(bond, rel=1e-12)
    cosine = np.dot(H[0] - O, H[1] - O) / bond**2
    assert np.degrees(np.arccos(cosine)) == pytest.approx(angle, abs=0.002)
    assert np.linalg.norm(model.dipoles(np.eye(3))) * DEBYE == pytest.approx(dipole, abs=0.005)
    assert model.charges.sum() == pytest.approx(0.0, abs=1e-15)
    assert model.sigma[0] == pytest.approx(sigma, rel=2e-4)
    assert model.epsilon[0] == pytest.approx(epsilon, rel=5e-4)
    masses = np.array([15.9994, 1.008, 1.008])
    np.testing.assert_allclose(masses @ model.sites, 0.0, atol=1e-15)
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, model.sites, strict=True))
    np.testing.assert_allclose(inertia, np.diag(model.body.moments), atol=1e-16)
    assert model.number_density * DALTON_PER_NM3 * masses.sum() == pytest.approx(997.0)


def test_units_are_those_of_molecular_dynamics():
    """CODATA 2018: e^2/(4 pi eps_0) N_A in kJ/mol nm, and k_B N_A in kJ/(mol K); u nm^2/ps^2 is kJ/mol."""
    e, N_A, eps_0, k_B = 1.602176634e-19, 6.02214076e23, 8.8541878128e-12, 1.380649e-23
    assert pytest.approx(e * e / (4 * np.pi * eps_0) * N_A * 1e9 / 1e3, rel=1e-9) == COULOMB
    assert pytest.approx(k_B * N_A / 1e3, rel=1e-14) == BOLTZMANN
    assert pytest.approx(1.66053906660e-27 * N_A * (1e-9 / 1e-12) ** 2 / 1e3, rel=1e-9) == 1.0


@pytest.mark.dense
def test_the_best_dimer_of_spce():
    """The hydrogen bond, found by minimizing: 7.2 kcal/mol at 0.275 nm is what the literature has for this model."""
    from scipy.optimize import minimize

    model = water("SPC/E", cutoff=None)

    def energy(v):
        x = np.array([(0.0, 0, 0), v[:3]])
        Q = ph.rotation.matrix(ph.rotation.from_rotation_vector(v[3:].reshape(2, 3)))
        return model.energy(0.0, x, Q)

    rng = np.random.default_rng(0)
    starts = [np.concatenate([0.3 * d / np.linalg.norm(d), rng.normal(size=6)]) for d in rng.normal(size=(12, 3))]
    best = min((minimize(energy, v, method="BFGS", options={"gtol": 1e-5}) for v in starts), key=lambda r: r.fun)
    Q = ph.rotation.matrix(ph.rotation.from_rotation_vector(best.x[3:].reshape(2, 3)))
    oxygens = Q @ model.sites[0] + np.array([(0.0, 0, 0), best.x[:3]])
    assert best.fun == pytest.approx(-30.1, abs=0.2)
    assert np.linalg.norm(oxygens[0] - oxygens[1]) == pytest.approx(0.275, abs=0.002)


def carbon_dioxide(**more):
    return Molecular.from_atoms(
        [15.999, 12.011, 15.999], [(0, 0, -0.116), (0, 0, 0), (0, 0, 0.116)], charges=[-0.35, 0.7, -0.35],
        sigma=[0.305, 0.28, 0.305], epsilon=[0.657, 0.224, 0.657], **more,
    )  # fmt: skip


def test_linear_molecules():
    """Carbon dioxide lies along the first axis, and does not turn about it."""
    gas = carbon_dioxide(cutoff=0.8)
    assert gas.body.is_linear
    np.testing.assert_allclose(np.abs(gas.sites), [(0.116, 0, 0), (0, 0, 0), (0.116, 0, 0)], atol=1e-15)
    box = System.liquid(gas, 27, kT=2.0, density=6.0, seed=1)
    traj = integrate(box, (0.0, 0.1), method="RKN4_6b", h=0.01)
    assert np.abs(traj.energy - traj.energy[0]).max() < 1e-4 * 27 * 2.0
    assert (traj.m[..., 0] == 0.0).all()


MOMENTS = water().body.moments
TURN = ph.rotation.matrix(ph.rotation.from_rotation_vector((1e-3, 0, 0)))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            carbon_dioxide().body,
            r"body 0 has mass 44\.009 .* as a linear rotor; expected mass 18\.0154.*SPC/E.*body of",
        ),
        (ph.RigidBody(MOMENTS, mass=18.0), r"body 0 has mass 18 .*18\.0154"),
        (ph.RigidBody(MOMENTS[::-1], mass=18.0154), "body 0 has .*moments"),
        (ph.RigidBody(MOMENTS * (1, 1, 1 + 3e-6), mass=18.0154), "body 0 has"),
        (ph.RigidBody(TURN @ np.diag(MOMENTS) @ TURN.T, mass=18.0154), "turned axes"),
        ([water().body, carbon_dioxide().body], "body 1 has .*linear rotor; expected"),
    ],
)
def test_bodies_of_other_molecules_are_refused(body, told):
    """When the system is built: another mass, moments in another order, other axes."""
    with pytest.raises(InputError, match=told):
        System(body, ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0.4, 0, 0)]), water())
    field = interactions.Field(lambda t, x, Q, F, T, p: None, arrays=True)
    with pytest.raises(InputError, match=told):
        System(body, ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0.4, 0, 0)]), field + water())


def test_a_rotor_needs_the_moment_of_its_molecule():
    two = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0.4, 0, 0)])
    gas = carbon_dioxide()
    with pytest.raises(InputError, match=r"body 0 has .*linear rotor; expected .*linear rotor"):
        System(ph.RigidBody.linear(0.4, mass=gas.body.mass), two, gas)
    with pytest.raises(InputError, match=r"body 0 has .*expected .*linear rotor"):  # a sphere has one more rotation
        System(ph.RigidBody(gas.body.moments[[1, 1, 1]], mass=gas.body.mass), two, gas)


def test_bodies_that_are_the_same_in_other_words():
    """A tensor instead of moments, and masses of isotopes if the model has no atoms."""
    two = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0.4, 0, 0)])
    System(ph.RigidBody(np.diag(MOMENTS), mass=18.0154 * (1 + 1e-9)), two, water())
    model = water()
    heavy = Molecular(model.sites, charges=model.charges, sigma=model.sigma, epsilon=model.epsilon)
    System(ph.RigidBody(2 * MOMENTS, mass=20.0), two, heavy)


def test_starts():
    box = System.liquid(water("SPC/E", cutoff=0.5), 50, kT=KT, seed=2)
    assert box.count == 50
    assert box.count / box.box.lengths.prod() == pytest.approx(33.33, abs=0.02)
    assert np.ptp(box.state.x, axis=0).max() < box.box.lengths[0]
    assert len(np.unique(box.state.x, axis=0)) == 50
    assert np.abs(box.state.x.mean(axis=0)).max() < 0.2 * box.box.lengths[0] / 4  # the 14 gaps of 64 are spread
    warm = box.at_temperature(2.0 * KT)
    still = integrate(warm, (0.0, 1e-3), h=1e-3, t_eval=[0.0])
    assert still.temperature_translation[0] == pytest.approx(2.0 * KT)
    assert still.temperature_rotation[0] == pytest.approx(2.0 * KT)
    assert box.replaced(state=warm.state).box is box.box
    again = System.liquid(water("SPC/E", cutoff=0.5), 50, kT=KT, seed=2)
    np.testing.assert_array_equal(box.state.q, again.state.q)
    with pytest.raises(InputError, match="positive"):
        box.at_temperature(0.0)
    with pytest.raises(UnknownNameError, match="SPC/E"):
        water("SPCE")


@pytest.fixture(scope="module")
def liquid():
    """125 molecules, melted for half a picosecond."""
    system = System.liquid(water("SPC/E", cutoff=0.75), 125, kT=KT, seed=1)
    for _ in range(10):
        traj = integrate(system, (0.0, 0.05), method="V2", h=0.002, save_every=100)
        system = system.replaced(state=traj.state()).at_temperature(KT)
    return system


def energies(system, method, h, t_end):
    traj = integrate(system, (0.0, t_end), method=method, h=h)
    return traj.t, traj.energy / (KT * system.count), traj


@pytest.mark.dense
def test_energy_of_water_stays(liquid):
    """Stoermer-Verlet: a spread that goes with h^2, and no drift that can be told from it in a picosecond."""
    spreads = []
    for h in (0.001, 0.002, 0.004):
        t, energy, traj = energies(liquid, "V2", h, 1.0)
        spreads.append(energy.std())
        assert abs(np.polyfit(t, energy, 1)[0]) < 4 * spreads[-1]
        assert np.abs(traj.momentum).max() < 1e-11
    assert spreads[1] < 2e-3
    for few, many in pairwise(spreads):
        assert np.log2(many / few) == pytest.approx(2.0, abs=0.35)


@pytest.mark.dense
def test_better_schemes_and_other_rotations(liquid):
    """At equal numbers of evaluations, order 4 beats order 2; NoSquish in the place of the exact rotation is worse."""
    _, second, _ = energies(liquid, "V2", 0.001, 0.24)
    _, fourth, traj = energies(liquid, "RKN4_6b", 0.006, 0.24)
    assert traj.stats.torques == pytest.approx(240, abs=2)
    assert 3 * np.ptp(fourth) < np.ptp(second)
    _, squashed, _ = energies(liquid, ph.Splitting(ph.NoSquish(), "RKN4_6b"), 0.006, 0.24)
    assert np.ptp(squashed) > 2 * np.ptp(fourth)


@pytest.mark.dense
def test_the_example(tmp_path):
    """With 64 molecules, and shortly; the picture is drawn."""
    spec = importlib.util.spec_from_file_location("water_example", ROOT / "examples" / "water.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    system, told = example.melt(64, rounds=2, cutoff=0.6)
    runs = example.follow(system, 0.03)
    assert len(told) == 2
    assert {len(traj) for traj in runs.values()} == {6}
    assert np.abs(example.errors(runs["RKN4_6b"])).max() < np.abs(example.errors(runs["V2"])).max() < 0.1
    example.draw(told, runs, tmp_path / "water.png")
    assert (tmp_path / "water.png").stat().st_size > 10_000
