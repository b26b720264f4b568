"""Mixtures of molecules: forces against OpenMM and against energies by hand, starts, temperatures, what runs keep."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, random_attitude
from polhode.core.errors import InputError, ShapeError
from polhode.core.rotation import matrix
from polhode.kernels.compiler import JIT
from polhode.systems.adapters import SiteForces
from polhode.systems.interactions import BOLTZMANN, COULOMB, DipolarSoftSpheres, Field, Molecular, SitePotential, water
from polhode.systems.interactions.neighbors import Box
from polhode.systems.system import System

KT = 298.15 * BOLTZMANN
CO2 = Molecular.from_atoms(
    [15.999, 12.011, 15.999], [(0, 0, -0.116), (0, 0, 0), (0, 0, 0.116)], charges=[-0.35, 0.7, -0.35],
    sigma=[0.305, 0.28, 0.305], epsilon=[0.657, 0.224, 0.657], name="CO2",
)  # fmt: skip
ARGON = Molecular.from_atoms([39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, name="Ar")
SODIUM = Molecular.from_atoms([22.99], [(1, 2, 3)], charges=1.0, sigma=0.2584, epsilon=0.4184, name="Na+")


def sites_of(mixture):
    return [mixture.components[k].sites for k in mixture.species]


def forces(interaction, x, Q, box=None):
    force, torque = np.zeros_like(x), np.zeros_like(x)
    return interaction.in_box(Box(box)).evaluate(0.0, x, Q, force, torque), force, torque


def assert_near(ours, theirs, tolerance):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


def places(n, rng, spacing=0.42):
    """Bodies on a lattice in random order, somewhat displaced, with random attitudes."""
    side = int(np.ceil(n ** (1 / 3)))
    x = spacing * rng.permutation(np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3))[:n]
    return x + 0.03 * rng.normal(size=(n, 3)), matrix(random_attitude(rng, n))


# Energies by hand: the formulas of the documentation, site by site. With complex numbers, they give their derivatives.

FAR = {
    "plain": lambda r, rc: 1 / r,
    "shifted force": lambda r, rc: 1 / r - 1 / rc + (r - rc) / rc**2,
    "reaction field": lambda r, rc: 1 / r + r**2 / (2 * rc**3) - 1.5 / rc,
}


def length(r):
    return np.sqrt((r * r).sum())


def energy_by_hand(parts, x, Q, box, far, rc, begin):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            r = x[i] - x[j]
            r = r - box * np.round(r.real / box)
            u = max((length(r) - begin) / (rc - begin), 0.0, key=np.real)
            if u.real >= 1:
                continue
            pair = 0.0
            for a, qa, sa, ea in zip(parts[i].sites, parts[i].charges, parts[i].sigma, parts[i].epsilon, strict=True):
                for b, qb, sb, eb in zip(
                    parts[j].sites, parts[j].charges, parts[j].sigma, parts[j].epsilon, strict=True
                ):
                    d = length(r + Q[i] @ a - Q[j] @ b)
                    s6 = ((sa + sb) / 2 / d) ** 6
                    pair += 4 * np.sqrt(ea * eb) * (s6 * s6 - s6) + COULOMB * qa * qb * far(d, rc)
            total += pair * (1 - 35 * u**4 + 84 * u**5 - 70 * u**6 + 20 * u**7)
    return total


def slope(energy, x, Q, i, k):
    """(force, torque) along axis k of body i, by complex steps."""
    step = 1e-30j
    moved, turned = x.astype(complex), Q.astype(complex)
    moved[i, k] += step
    turned[i] = turned[i] + step * np.cross(np.eye(3)[k], Q[i], axis=0)
    return -energy(moved, Q).imag / 1e-30, -energy(x, turned).imag / 1e-30


@pytest.mark.parametrize("kind", FAR)
def test_forces_by_hand(kind, rng):
    """Near and far pairs and some in the switch, across the walls of the box; molecules, a rotor, an atom, an ion."""
    mixture = Molecular.mixture(
        [water(), CO2, ARGON, SODIUM], [3, 2, 2, 1], cutoff=0.9, switch=0.4, electrostatics=kind
    )
    parts = [mixture.components[k] for k in mixture.species]
    x, Q = places(8, rng)
    x += 1.9 * rng.integers(-1, 2, size=(8, 3))

    def energy(x, Q):
        return energy_by_hand(parts, x, Q, 1.9, FAR[kind], 0.9, 0.4)

    found, force, torque = forces(mixture, x, Q, 1.9)
    assert found == pytest.approx(energy(x, Q), rel=1e-13)
    for i, k in ((0, 0), (2, 1), (3, 2), (4, 0), (6, 1), (7, 2)):
        f, t = slope(energy, x, Q, i, k)
        assert abs(force[i, k] - f) < 500 * EPS * np.abs(force).max()
        assert abs(torque[i, k] - t) < 500 * EPS * np.abs(torque).max()
    assert (torque[5:] == 0.0).all()  # atoms
    assert np.abs(force.sum(axis=0)).max() < 100 * EPS * np.abs(force).max()


# OpenMM: no expression of ours.


def openmm_of(mixture, length=None, permittivity=None):
    mm = pytest.importorskip("openmm", reason="OpenMM is not installed; type: pip install 'polhode[openmm]'")
    from polhode.systems.adapters.openmm import OpenMM

    system, force = mm.System(), mm.NonbondedForce()
    for k in mixture.species:
        part, first = mixture.components[k], system.getNumParticles()
        for site in zip(part.charges, part.sigma, part.epsilon, strict=True):
            system.addParticle(1.0)
            force.addParticle(*site)
        for a, b in zip(*np.triu_indices(len(part.sites), 1), strict=True):
            force.addException(first + int(a), first + int(b), 0.0, 1.0, 0.0)
    force.setNonbondedMethod(mm.NonbondedForce.NoCutoff)
    if length is not None:
        system.setDefaultPeriodicBoxVectors((length, 0, 0), (0, length, 0), (0, 0, length))
        force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
        force.setCutoffDistance(mixture.cutoff)
        force.setReactionFieldDielectric(permittivity)
        force.setUseDispersionCorrection(False)
    system.addForce(force)
    return SiteForces(sites_of(mixture), OpenMM(system), name="OpenMM")


COUNTS = [40, 21, 9, 2] if JIT else [3, 2, 2, 1]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
def test_openmm_has_the_same_forces(order, rng):
    """No cut-off: many neighbors of each species, so that some blocks of lanes are full and others are not."""
    parts = [(water("SPC/E"), CO2, ARGON, SODIUM)[k] for k in order]
    mixture = Molecular.mixture(parts, [COUNTS[k] for k in order])
    x, Q = places(sum(COUNTS), rng)
    assert_near(forces(mixture, x, Q), forces(openmm_of(mixture), x, Q), 1e-12)


@pytest.mark.parametrize("permittivity", [78.3, 1e9])
def test_openmm_has_the_same_reaction_field(permittivity, rng):
    """Clusters of molecules nearer than the switch, further from each other than the cut-off: there, cut-offs by
    molecules and by sites are the same. No site lies on a border of the cells of OpenMM, which divide the box evenly:
    there, its list of neighbors loses pairs on some processors."""
    mixture = Molecular.mixture(
        [water("SPC/E"), CO2, ARGON, SODIUM], [8, 6, 4, 2], cutoff=1.4, switch=1.3, permittivity=permittivity
    )
    corners = np.array([(0.0, 0, 0), (3, 3, 0), (0, 3, 3), (3, 0, 3)])
    cluster = 0.4 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    x = rng.permutation((corners[:, None] + cluster).reshape(-1, 3)) + 6.0 * rng.integers(-1, 2, size=(20, 3)) + 0.1
    Q = matrix(random_attitude(rng, 20))
    assert_near(forces(mixture, x, Q, 6.0), forces(openmm_of(mixture, 6.0, permittivity), x, Q, 6.0), 1e-11)


def test_a_mixture_of_one_species_is_that_species(rng):
    """To the bit; also if another species has no molecules, or the species is divided in two, to round-off."""
    x, Q = places(50 if JIT else 8, rng)
    n = len(x)
    alone = forces(water(cutoff=0.8), x, Q)
    for mixture in (
        Molecular.mixture([water()], [n], cutoff=0.8),
        Molecular.mixture([CO2, water(), ARGON], [0, n, 0], cutoff=0.8),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(alone, forces(mixture, x, Q), strict=True))
    assert_near(forces(Molecular.mixture([water()] * 2, [n - 3, 3], cutoff=0.8), x, Q), alone, 170 * EPS)


def liquid(counts=(64, 8, 8), cutoff=0.6, seed=1, **more):
    mixture = Molecular.mixture([water(), CO2, ARGON], counts, cutoff=cutoff, **more)
    return System.liquid(mixture, kT=KT, density=20.0, seed=seed)


def test_a_liquid():
    system = liquid()
    species = system.interaction.species
    np.testing.assert_array_equal(species, np.repeat([0, 1, 2], [64, 8, 8]))
    assert system.count / system.box.lengths.prod() == pytest.approx(20.0)
    np.testing.assert_array_equal(system.linear, species == 1)
    np.testing.assert_allclose(system.mass, np.array([18.0154, 44.009, 39.948])[species])
    assert len(np.unique(system.state.x, axis=0)) == 80
    np.testing.assert_array_equal(liquid().state.x, system.state.x)
    assert not np.array_equal(liquid(seed=2).state.x, system.state.x)
    for k in range(3):  # no species has a corner of the box of its own
        assert np.abs(system.state.x[species == k].mean(axis=0)).max() < 0.25 * system.box.lengths[0]
    m = system.state.m
    assert (m[species == 1, 0] == 0.0).all()
    assert (m[species == 2] == 0.0).all()
    assert m[species < 2, 1:].all()
    assert np.abs(system.state.p.sum(axis=0)).max() < 1e-12


@pytest.mark.dense
def test_momenta_of_a_liquid_are_thermal():
    """p^2/mass and m^2/I of each species, with the means of many molecules; five standard deviations."""
    system = liquid((4000, 4000, 4000))
    species, p, m = system.interaction.species, system.state.p, system.state.m
    for k, axes in ((0, [0, 1, 2]), (1, [1, 2]), (2, [])):
        rows = species == k
        expected = 5 * np.sqrt(2 / 4000)
        assert (p[rows] ** 2 / system.mass[rows, None]).mean(axis=0) / KT == pytest.approx(1.0, abs=expected)
        for c in axes:
            assert (m[rows, c] ** 2 / system.moments[rows, c]).mean() / KT == pytest.approx(1.0, abs=expected)


def test_temperatures_count_what_rotates():
    """Three rotations of water, two of carbon dioxide, none of argon."""
    system = liquid()
    assert system.degrees_of_freedom[1] == 3 * 64 + 2 * 8
    warm = ph.integrate(system.at_temperature(2 * KT), (0.0, 1e-3), h=1e-3, t_eval=[0.0])
    assert warm.temperature_rotation[0] == pytest.approx(2 * KT)
    assert warm.kinetic_rotation[0] == pytest.approx(0.5 * (3 * 64 + 2 * 8) * 2 * KT)
    nothing = Field(lambda t, x, Q, F, T, p: None, energy=lambda t, x, Q, p: 0.0, arrays=True, name="nothing")
    summed = System(list(system.bodies), system.state, nothing + system.interaction, system.box)
    assert summed.degrees_of_freedom[1] == system.degrees_of_freedom[1]


def test_atoms_alone():
    """They have a temperature of translation only; a sphere that spins is no atom."""
    gas = System.liquid(Molecular.from_atoms([39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, cutoff=0.8), 27,
                        kT=1.0, density=5.0, seed=1)  # fmt: skip
    assert gas.degrees_of_freedom[1] == 0
    traj = ph.integrate(gas.at_temperature(2.0), (0.0, 0.1), method="RKN4_6b", h=0.02)
    assert traj.temperature_translation[0] == pytest.approx(2.0)
    assert np.isnan(traj.temperature_rotation).all()
    assert (traj.m == 0.0).all()
    assert np.abs(traj.energy - traj.energy[0]).max() < 1e-4
    spinning = gas.replaced(state=ph.State(np.ones((27, 3)), gas.state.q, x=gas.state.x, p=gas.state.p))
    assert spinning.degrees_of_freedom[1] == 81


def test_the_body_of_an_atom():
    assert ARGON.body == ph.RigidBody.ellipsoid(39.948, 0.17, 0.17, 0.17)
    np.testing.assert_array_equal(SODIUM.sites, np.zeros((1, 3)))
    charge = Molecular.from_atoms([1.0], [(0, 0, 0)], charges=1.0, sigma=0.0)
    assert charge.body == ph.RigidBody.ellipsoid(1.0, 0.5, 0.5, 0.5)


@pytest.mark.dense
def test_runs_keep_energy_and_momentum():
    """An error of the order of the method, and momentum to round-off."""
    system = liquid()
    for _ in range(5):
        traj = ph.integrate(system, (0.0, 0.05), method="V2", h=0.002, save_every=25)
        system = system.replaced(state=traj.state()).at_temperature(KT)
    errors = []
    for h in (0.004, 0.002):
        traj = ph.integrate(system, (0.0, 0.08), method="RKN4_6b", h=h)
        errors.append(np.abs(traj.energy - traj.energy[0]).max() / (KT * system.count))
        assert np.abs(traj.momentum).max() < 1e-11
        assert (traj.m[:, system.interaction.species == 2] == 0.0).all()
    assert errors[1] < 1e-5
    assert 3 < np.log2(errors[0] / errors[1]) < 6


@pytest.mark.dense
def test_no_bit_depends_on_lists_and_threads(monkeypatch):
    runs = []
    for skin, threads in ((1e-9, "1"), (0.1, "1"), (0.3, "3")):
        monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
        traj = ph.integrate(liquid((300, 60, 40), skin=skin), (0.0, 0.02), method="V2", h=0.001, save_every=20)
        runs.append((traj.x, traj.p, traj.m, traj.q, traj.energy))
    for other in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0], other, strict=True))


def test_what_a_mixture_says(rng):
    mixture = Molecular.mixture([water("SPC"), CO2, SODIUM], [3, 2, 1], cutoff=0.8, electrostatics="shifted force")
    assert repr(mixture) == "mixture(3 SPC, 2 CO2, 1 Na+, cutoff=0.8, shifted force)"
    assert mixture.bodies == [water("SPC").body] * 3 + [CO2.body] * 2 + [SODIUM.body]
    assert water().bodies == water().body
    assert [part.name for part in mixture.components] == ["SPC", "CO2", "Na+"]
    x, Q = places(6, rng)
    again = pickle.loads(pickle.dumps(mixture))
    assert all(np.array_equal(a, b) for a, b in zip(forces(mixture, x, Q), forces(again, x, Q), strict=True))
    dipoles = np.array([mixture.components[k].charges @ mixture.components[k].sites for k in mixture.species])
    np.testing.assert_allclose(mixture.dipoles(Q), np.einsum("nij,nj->ni", Q, dipoles), atol=1e-16)
    assert mixture.dipoles(np.stack([Q, Q])).shape == (2, 6, 3)
    system = System(mixture.bodies, ph.State(np.zeros((6, 3)), x=x), mixture, 5.0)
    assert system.interaction.species is mixture.species
    assert repr(mixture) in repr(system)


def test_sites_in_space(rng):
    """Positions x + Q c, body by body, at one time and at several."""
    mixture = Molecular.mixture([water(), CO2, ARGON], [2, 1, 1])
    x, Q = places(4, rng)
    expected = np.concatenate([x[i] + sites @ Q[i].T for i, sites in enumerate(sites_of(mixture))])
    nothing = Field(lambda t, x, Q, F, T, p: None, arrays=True)
    for interaction in (mixture, SiteForces(sites_of(mixture), Springs()), mixture + nothing, nothing + mixture):
        positions, body = interaction.sites_in_space(x, Q)
        np.testing.assert_allclose(positions, expected, atol=1e-15)
        np.testing.assert_array_equal(body, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3])
    sites = water().sites
    for interaction in (water(), SiteForces(sites, Springs()), SitePotential(sites, lambda r, a, b, p: r)):
        positions, body = interaction.sites_in_space(np.stack([x, 2 * x]), np.stack([Q, Q]))
        np.testing.assert_array_equal(body, np.repeat(np.arange(4), 3))
        np.testing.assert_allclose(positions[1, 3:6], 2 * x[1] + sites @ Q[1].T, atol=1e-15)
    assert DipolarSoftSpheres((0, 0, 1)).sites_in_space(x, Q) is None
    assert (nothing + nothing).sites_in_space(x, Q) is None


class Springs:
    """Every site is pulled to the origin."""

    def evaluate(self, positions):
        return 0.5 * (positions**2).sum(), -positions


def test_an_engine_for_different_bodies():
    mixture = Molecular.mixture([water(), CO2, ARGON], [2, 1, 1])
    rng = np.random.default_rng(0)
    x, Q = places(4, rng)
    _, force, torque = forces(SiteForces(sites_of(mixture), Springs()), x, Q)
    for i, sites in enumerate(sites_of(mixture)):
        arms = sites @ Q[i].T
        np.testing.assert_allclose(force[i], -(x[i] + arms).sum(axis=0), atol=1e-15)
        np.testing.assert_allclose(torque[i], np.cross(arms, -(x[i] + arms)).sum(axis=0), atol=1e-15)
    with pytest.raises(ShapeError, match="4 bodies, and there are 3"):
        System(water().body, ph.State(np.zeros((3, 3)), x=x[:3]), SiteForces(sites_of(mixture), Springs()))


def four(bodies):
    mixture = Molecular.mixture([water(), CO2], [2, 2], cutoff=0.8)
    return System(bodies, ph.State(np.zeros((4, 3)), x=0.4 * np.arange(12).reshape(4, 3)), mixture, 3.0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: four(water().body), r"body 2 has mass 18\.0154 .*linear rotor.* CO2"),
        (lambda: four([water().body, CO2.body] * 2), r"body 1 has mass 44\.009 .*linear rotor.* SPC/E"),
        (lambda: four([CO2.body] * 2 + [water().body] * 2), "body 0"),
        (lambda: Molecular.mixture([water(), CO2], [2]), "2 components"),
        (lambda: Molecular.mixture([], []), "0 components"),
        (lambda: Molecular.mixture([water(), CO2], [0, 0]), "at least one"),
        (lambda: Molecular.mixture([water(), CO2], [2, -1]), "counts"),
        (lambda: Molecular.mixture([water(), "CO2"], [2, 1]), "one species each"),
        (lambda: Molecular.mixture([Molecular.mixture([CO2], [1])], [2]), "one species each"),
        (lambda: Molecular.mixture([water(), Molecular([(0, 0, 0)], coulomb=1.0)], [2, 1]), "coulomb"),
        (lambda: System.liquid(Molecular.mixture([water()], [8], cutoff=0.3), 8, kT=1.0, density=30.0), "omit count"),
        (lambda: System.liquid(Molecular.mixture([water()], [8], cutoff=0.3), kT=1.0), "density"),
        (lambda: System.liquid(water(), kT=1.0), "count"),
        (
            lambda: System.liquid(Molecular.mixture([Molecular([(0, 0, 0)])], [8], cutoff=0.3), kT=1.0, density=30.0),
            "no body",
        ),
    ],
)
def test_bad_input(make, told):
    with pytest.raises(InputError, match=told):
        make()


def test_other_numbers_of_bodies_are_refused(rng):
    mixture = Molecular.mixture([water(), CO2], [2, 2])
    x, Q = places(3, rng)
    for call in (lambda: forces(mixture, x, Q), lambda: mixture.sites_in_space(x, Q)):
        with pytest.raises(ShapeError, match="4 molecules, and there are 3 bodies"):
            call()
    with pytest.raises(ShapeError, match="4 molecules"):
        System(water().body, ph.State(np.zeros((3, 3)), x=x), mixture)


def test_components_without_masses_take_any_body():
    loose = Molecular([(0, 0, 0)], sigma=0.3, epsilon=1.0)
    mixture = Molecular.mixture([water(), loose], [1, 1])
    assert mixture.bodies is None
    state = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0.4, 0, 0)])
    system = System([water().body, ph.RigidBody((1, 2, 3), mass=5.0)], state, mixture)
    assert system.degrees_of_freedom[1] == 6
    with pytest.raises(InputError, match="body 0"):
        System([ph.RigidBody((1, 2, 3), mass=5.0)] * 2, state, mixture)


def test_another_interaction_of_a_system_is_checked_too():
    liquid = System.liquid(water(cutoff=0.3), 8, kT=KT, seed=1)
    argon = Molecular.from_atoms([39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, cutoff=0.3)
    with pytest.raises(InputError, match="body"):
        liquid.replaced(interaction=argon)
