"""Engines: a protocol that is checked, and OpenMM in double precision against our own water."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from conftest import random_attitude
from polhode.core.errors import InputError, RunError, ShapeError
from polhode.core.rotation import matrix
from polhode.solve import integrate
from polhode.systems.adapters import SiteForces
from polhode.systems.interactions import BOLTZMANN, COULOMB, water
from polhode.systems.interactions.neighbors import Box
from polhode.systems.system import System

SITES = [(0.0, 0.1, 0.2), (0.3, -0.1, 0.0)]
BODY = ph.RigidBody((1.0, 2.0, 2.5), mass=2.0)


def state(n=3, seed=0):
    rng = np.random.default_rng(seed)
    return ph.State(rng.normal(size=(n, 3)), random_attitude(rng, n), x=rng.normal(size=(n, 3)))


class Springs:
    """Every site is pulled to the origin."""

    def __init__(self, sign=-1.0, shape=None):
        self.sign, self.shape = sign, shape

    def evaluate(self, positions):
        return 0.5 * (positions**2).sum(), self.sign * (positions if self.shape is None else positions[self.shape])


def test_an_engine_in_a_run():
    """Energy stays, to the order of the method; a body of two sites on springs."""
    system = System(BODY, state(), SiteForces(SITES, Springs()))
    errors = [np.abs(integrate(system, (0.0, 2.0), method="RKN4_6b", h=h).energy_error()).max() for h in (0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) > 3
    assert errors[1] < 1e-5


def test_torques_of_sites_by_hand():
    force, torque = np.zeros((1, 3)), np.zeros((1, 3))
    x, Q = np.array([(1.0, 2.0, 3.0)]), matrix(state(1).q)
    SiteForces(SITES, Springs()).evaluate(0.0, x, Q, force, torque)
    places = x + np.array(SITES) @ Q[0].T
    np.testing.assert_allclose(force[0], -places.sum(axis=0))
    np.testing.assert_allclose(torque[0], np.cross(places - x, -places).sum(axis=0), atol=1e-15)


class Broken:
    def evaluate(self, positions):
        if np.abs(positions).max() > 3.0:
            raise OSError("engine lost")
        return 0.0, 0.0 * positions


def test_what_an_engine_raises_is_the_cause():
    start = ph.State(np.zeros((1, 3)), x=[(0, 0, 0)], p=[(4.0, 0, 0)])
    with pytest.raises(RunError, match="engine lost") as failure:
        integrate(System(BODY, start, SiteForces(SITES, Broken())), (0, 5), h=0.1)
    assert isinstance(failure.value.__cause__, OSError)
    assert len(failure.value.trajectory) > 5


class Boxed(Springs):
    box = (3.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: SiteForces(SITES, "engine"), InputError, "evaluate"),
        (lambda: SiteForces(SITES[0], Springs()), ShapeError, "sites"),
        (lambda: run(SiteForces(SITES, Springs(sign=1.0))), InputError, "minus the gradient"),
        (lambda: run(SiteForces(SITES, Springs(sign=-4.184))), InputError, "one system of units"),
        (lambda: run(SiteForces(SITES, Springs(shape=0))), ShapeError, r"expected \(3, 2, 3\)"),
        (lambda: run(SiteForces(SITES, Boxed())), InputError, "box"),
        (lambda: run(SiteForces(SITES, Boxed()), 3.0), InputError, "box"),
        (lambda: SiteForces(SITES, Springs()).dipoles(np.eye(3)), AttributeError, "charges"),
    ],
)
def test_bad_engines(make, error, told):
    with pytest.raises(error, match=told):
        make()


def run(interaction, box=None):
    return integrate(System(BODY, state(), interaction, box), h=0.1)


class Waves:
    """An energy that changes its sign within a tenth of a nanometer, in meters; forces are minus its gradient."""

    length = 1e-10

    def __init__(self, box=None):
        if box is not None:
            self.box = box

    def evaluate(self, positions):
        phase = positions / self.length
        return float(np.cos(phase).sum()) * 1e-20, np.sin(phase) * (1e-20 / self.length)


@pytest.mark.parametrize("sites", [[(1e-10, 0, 0), (0, 1e-10, 0)], [(0, 0, 0)]])
def test_small_units(sites):
    """Nothing is measured in units of length that nobody gave: forces are checked within an atom's size."""
    atoms = ph.State(m=np.zeros((2, 3)), x=[(0.3e-10, 0, 0), (4e-10, 1e-10, 0)])
    body = ph.RigidBody((1e-46, 2e-46, 2.5e-46), mass=3e-26)
    System(body, atoms, SiteForces(sites, Waves()))
    integrate(System(body, atoms, SiteForces(sites, Waves())), (0, 1e-15), h=1e-15)
    with pytest.raises(InputError, match="box"):
        System(body, atoms, SiteForces(sites, Waves(box=6e-10)), 5e-10)


def test_a_box_that_fits():
    assert run(SiteForces(SITES, Boxed()), (3.0, 3.0, 4.0)).success


# OpenMM: what follows is written in its own expressions, not with ours.

NEEDS_OPENMM = "OpenMM is not installed; type: pip install 'polhode[openmm]'"


def openmm():
    return pytest.importorskip("openmm", reason=NEEDS_OPENMM)


def engine_of(system, **more):
    from polhode.systems.adapters.openmm import OpenMM

    return OpenMM(system, **more)


def particles_of(mm, count, length=None):
    system = mm.System()
    for _ in range(count):
        for mass in (15.9994, 1.008, 1.008):
            system.addParticle(mass)
    if length is not None:
        system.setDefaultPeriodicBoxVectors((length, 0, 0), (0, length, 0), (0, 0, length))
    return system


def nonbonded(mm, model, count, length, cutoff, permittivity):
    """OpenMM's own Lennard-Jones and reaction field."""
    system, force = particles_of(mm, count, length), mm.NonbondedForce()
    for i in range(count):
        for charge, sigma, epsilon in zip(model.charges, model.sigma, model.epsilon, strict=True):
            force.addParticle(charge, sigma, epsilon)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            force.addException(3 * i + a, 3 * i + b, 0.0, 1.0, 0.0)
    force.setNonbondedMethod(mm.NonbondedForce.NoCutoff if length is None else mm.NonbondedForce.CutoffPeriodic)
    if length is not None:
        force.setCutoffDistance(cutoff)
        force.setReactionFieldDielectric(permittivity)
        force.setUseDispersionCorrection(False)
    system.addForce(force)
    return engine_of(system)


def compare(model, x, Q, engine, lengths=None, tolerance=1e-12):
    """Energy, forces and torques of ours and of the engine."""
    ours, theirs = [], []
    for interaction, out in ((model.in_box(Box(lengths)), ours), (SiteForces(model.sites, engine), theirs)):
        force, torque = np.zeros_like(x), np.zeros_like(x)
        out += [interaction.evaluate(0.0, x, Q, force, torque), force, torque]
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("name", ["SPC", "SPC/E", "TIP3P"])
def test_a_cluster_of_water(name):
    """No cut-off: all pairs."""
    mm, model = openmm(), water(name, cutoff=None)
    liquid = System.liquid(water(name, cutoff=0.4), 27, kT=1.0, seed=4)
    compare(model, liquid.state.x, matrix(liquid.state.q), nonbonded(mm, model, 27, None, None, None))


@pytest.mark.parametrize("permittivity", [78.3, 1e9])
def test_the_reaction_field_is_theirs(permittivity):
    """Clusters whose molecules are all nearer than where the switch begins, or further than the cut-off; some of them
    across the walls of the box. There, a cut-off by molecules and one by sites are the same."""
    mm, rng = openmm(), np.random.default_rng(7)
    length, cutoff, model = 5.0, 1.2, water("SPC/E", cutoff=1.2, switch=1.1, permittivity=permittivity)
    corners = np.array([(0.0, 0, 0), (2.45, 2.45, 0), (0, 2.45, 2.45), (2.45, 0, 2.45)])
    cluster = 0.32 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    x = (corners[:, None] + cluster).reshape(-1, 3) + length * rng.integers(-1, 2, size=(20, 3))
    q = random_attitude(rng, 20)
    engine = nonbonded(mm, model, 20, length, cutoff, permittivity)
    compare(model, x, matrix(q), engine, length, 1e-11)
    np.testing.assert_allclose(engine.box, length)


def switched_pairs(mm, model, count, length):
    """The switch by mass centers as a bond between all pairs of molecules, in OpenMM's language of expressions."""
    system, masses = particles_of(mm, count, length), (15.9994, 1.008, 1.008)
    rc, begin, sigma, epsilon = (float(v) for v in (model.cutoff, model.switch, model.sigma[0], model.epsilon[0]))
    charges = model.charges.tolist()
    r = "distance(g3, g6)"
    pair = f"{4 * epsilon}*(({sigma}/{r})^12 - ({sigma}/{r})^6)"
    for a, b in np.ndindex(3, 3):
        r = f"distance(g{3 + a}, g{6 + b})"
        pair += f" + {COULOMB * charges[a] * charges[b]}*(1/{r} + {r}^2/{2 * rc**3} - {1.5 / rc})"
    switch = "step(-u) + step(u)*step(1-u)*(1 - 35*u^4 + 84*u^5 - 70*u^6 + 20*u^7)"
    u = f"(distance(g1, g2) - {begin})/{rc - begin}"
    force = mm.CustomCentroidBondForce(8, f"({switch})*({pair}); u = {u}")
    force.setUsesPeriodicBoundaryConditions(True)
    for i in range(count):
        force.addGroup([3 * i, 3 * i + 1, 3 * i + 2], masses)
        for a in range(3):
            force.addGroup([3 * i + a], [1.0])
    for i in range(count):
        for j in range(i):
            groups = [4 * i, 4 * j, 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * j + 1, 4 * j + 2, 4 * j + 3]
            force.addBond(groups, [])
    system.addForce(force)
    return engine_of(system)


@pytest.mark.dense
def test_liquid_water_with_its_switch():
    """64 molecules, most pairs of them in the switch or beyond the cut-off; no site is beyond half a box."""
    mm, model = openmm(), water("SPC/E", cutoff=0.42, switch=0.3)
    liquid = System.liquid(model, 64, kT=298.15 * BOLTZMANN, seed=3)
    traj = integrate(liquid, (0.0, 0.05), method="V2", h=0.001, save_every=50)
    length = float(liquid.box.lengths[0])
    compare(model, traj.x[-1], matrix(traj.q[-1]), switched_pairs(mm, model, 64, length), length, 1e-11)


@pytest.mark.dense
def test_a_run_with_openmm_is_ours():
    mm, model = openmm(), water("TIP3P", cutoff=None)
    liquid = System.liquid(water("TIP3P", cutoff=0.3), 8, kT=298.15 * BOLTZMANN, seed=1)
    engine = nonbonded(mm, model, 8, None, None, None)
    runs = [
        integrate(System(model.body, liquid.state, interaction), (0.0, 0.1), method="RKN4_6b", h=0.005)
        for interaction in (model, SiteForces(model.sites, engine, name="OpenMM"))
    ]
    for k in "xpmq":
        a, b = (getattr(r, k) for r in runs)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max())
    np.testing.assert_allclose(runs[0].energy, runs[1].energy, rtol=1e-11)
    assert runs[1].momentum == pytest.approx(0.0, abs=1e-11)


def test_bad_openmm():
    mm = openmm()
    constrained, oblique = particles_of(mm, 1), particles_of(mm, 1, 2.0)
    constrained.addConstraint(0, 1, 0.1)
    oblique.setDefaultPeriodicBoxVectors((2, 0, 0), (0.5, 2, 0), (0, 0, 2))
    force = mm.CustomNonbondedForce("r")
    for _ in range(3):
        force.addParticle([])
    force.setNonbondedMethod(mm.CustomNonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(0.5)
    oblique.addForce(force)
    for system, more, told in (
        (constrained, {}, "constraints"),
        (oblique, {}, "right angles"),
        (particles_of(mm, 1), {"platform": "Abacus"}, "Reference"),
    ):
        with pytest.raises(InputError, match=told):
            engine_of(system, **more)
    with pytest.raises(InputError, match="6 sites"):
        engine_of(particles_of(mm, 1)).evaluate(np.zeros((2, 3, 3)))
    assert engine_of(particles_of(mm, 1)).box is None
