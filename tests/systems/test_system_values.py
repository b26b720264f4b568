"""Systems and their trajectories are values; trajectories are also sequences of states, and tables."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import picklable
import polhode as ph
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError, TimeError, UnknownNameError
from polhode.systems.adapters import SiteForces
from polhode.systems.interactions import DipolarSoftSpheres, Field, Molecular, PairPotential, SitePotential, water
from polhode.systems.interactions.neighbors import Box

GAS = ph.System.lattice(ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)


def pair(**more):
    """Two bodies in a box."""
    state = ph.State(np.ones((2, 3)), x=[(0, 0, 0), (0, 0, 2)])
    arguments = {"bodies": ph.RigidBody((1, 2, 3), mass=1), "states": state, "box": 5.0}
    return ph.System(**arguments | {"interaction": DipolarSoftSpheres((0, 0, 1), cutoff=2.5)} | more)


# Systems


@pytest.mark.parametrize("name", ["bodies", "state", "interaction", "box", "t_span", "h", "name"])
def test_a_system_cannot_be_changed(name):
    with pytest.raises(AttributeError, match=rf"System\.{name} cannot be assigned.*\.replaced\({name}=\.\.\.\)"):
        setattr(pair(), name, None)


@pytest.mark.parametrize("name", ["mass", "moments", "axes", "linear"])
@pytest.mark.parametrize("travel", [lambda x: x, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_arrays_are_read_only(name, travel):
    system = pair(bodies=ph.RigidBody([(2.0, 0.1, 0.0), (0.1, 3.0, 0.2), (0.0, 0.2, 4.0)], mass=1))
    getattr(system, name)
    again = travel(system)
    arrays = getattr(again, name), again.state.x, again.box.lengths
    assert not any(array.flags.writeable for array in arrays)
    ph.integrate(again, h=0.5)


def test_replaced_parts_of_a_system():
    old = pair(name="pair", h=0.1)
    new = old.replaced(t_span=(0, 5), name="longer", h=None)
    assert (new.t_span, new.name, new.h) == ((0.0, 5.0), "longer", None)
    assert new.state is old.state
    assert new.bodies is old.bodies
    assert new.interaction is old.interaction
    assert old == pair(name="pair", h=0.1)
    np.testing.assert_array_equal(old.replaced(bodies=ph.RigidBody((1, 2, 3), mass=7)).mass, (7, 7))


def test_the_interaction_is_in_the_box_that_is_replaced():
    """The bodies are 2 apart, and 1 apart in the smaller box, where their energy is 4 epsilon."""
    spheres = DipolarSoftSpheres((0, 0, 0), cutoff=1.4, switch=1.3)
    apart = pair(interaction=spheres, states=ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 2)]))
    alone = apart.replaced(box=None)
    near = alone.replaced(box=3.0)
    assert apart.energy == alone.energy == 0.0
    assert near.energy == 4.0
    assert near.replaced(interaction=spheres).energy == near.energy
    assert not alone.box.repeats


def test_what_is_computed_once_follows_the_parts():
    old = pair()
    assert (old.mass.tolist(), old.rows.size, old.count) == ([1, 1], 2, 2)
    three = old.replaced(state=ph.State(np.zeros((3, 3)), x=np.diag((0.0, 2.0, 1.0))))
    assert (three.mass.tolist(), three.rows.size, three.count) == ([1, 1, 1], 3, 3)


def test_replaced_is_checked():
    with pytest.raises(TimeError, match="two different finite times"):
        pair().replaced(t_span=(1, 1))
    with pytest.raises(InputError, match=r"cut-off 2\.5, and the box"):
        pair().replaced(box=4.0)
    with pytest.raises(InputError, match="no cut-off"):
        pair().replaced(interaction=DipolarSoftSpheres((0, 0, 1)))
    with pytest.raises(InputError, match=r"interaction is 'water'.*polhode\.interactions"):
        pair().replaced(interaction="water")
    with pytest.raises(MomentumError, match="no positions"):
        pair().replaced(state=ph.State(np.zeros((2, 3))))
    with pytest.raises(MomentumError, match="linear rotor"):
        pair().replaced(bodies=ph.RigidBody.linear(1.0, mass=1.0))
    with pytest.raises(InertiaError, match="mass"):
        pair().replaced(bodies=ph.RigidBody((1, 2, 3)))
    with pytest.raises(ShapeError, match="got 2 bodies and 3 states"):
        pair(bodies=[ph.RigidBody((1, 2, 3), mass=1)] * 2).replaced(state=ph.State(np.zeros((3, 3)), x=np.eye(3)))
    with pytest.raises(UnknownNameError, match=r"System\.replaced.*'states'; did you mean 'state'"):
        pair().replaced(states=pair().state)


def test_equal_systems():
    one = pair(name="pair")
    assert one == pair(name="pair")
    assert hash(one) == hash(pair(name="pair"))
    assert len({one, pair(name="pair"), pair()}) == 2
    _ = one.mass, one.rows  # what is computed once is not compared
    assert copy.deepcopy(one) == copy.copy(one) == pickle.loads(pickle.dumps(one)) == pair(name="pair")
    moving = one.state.replaced(p=np.ones((2, 3)))
    for changes in ({"t_span": (0, 2)}, {"h": 0.1}, {"name": ""}, {"box": 6.0}, {"state": moving}):
        assert one != one.replaced(**changes)
    assert one != one.replaced(bodies=ph.RigidBody((1, 2, 3), mass=2))
    assert one != one.replaced(interaction=DipolarSoftSpheres((0, 0, 1), cutoff=2.4))


# Interactions and boxes


def test_equal_boxes():
    assert Box(5.0) == Box((5, 5, 5)) != Box((5, 5, 6))
    assert Box() == Box(None) != Box(5.0)
    assert len({Box(5.0), Box((5, 5, 5)), Box()}) == 2


class Springs:
    """An engine of the user."""

    def __init__(self, strength):
        self.strength = strength

    def evaluate(self, positions):
        return 0.5 * self.strength * (positions**2).sum(), -self.strength * positions


gain = 1.0


def uses_a_global(t, x, Q, F, T, p):
    F[:, 2] = gain


def interactions(a=0.3):
    """One of each type with the number `a` in it; functions are new at each call."""

    def push(t, x, Q, F, T, p):
        F[:, 0] = a

    return [
        DipolarSoftSpheres((0, 0, a)),
        DipolarSoftSpheres((0, 0, 1), cutoff=a),
        Molecular([(0, 0, a)], epsilon=1.0),
        Molecular([(0, 0, 0)], charges=a, cutoff=1.0, electrostatics="shifted force"),
        water("SPC/E", cutoff=a),
        PairPotential(lambda r, A, B, p: a * r[0] ** 2),
        PairPotential(picklable.spring, params=(a,)),
        PairPotential(picklable.spring, picklable.spring_slopes, params=(a,)),
        SitePotential([(0, 0, a)], picklable.coulomb, site_params=[[1]], params=(1.0,)),
        SitePotential([(0, 0, 1)], picklable.coulomb, site_params=[[a]], params=(1.0,)),
        Field(push),
        Field(push, arrays=True),
        Field(picklable.falling, (a,), energy=picklable.weight),
        SiteForces([(0, 0, 0.1)], Springs(a)),
        DipolarSoftSpheres((0, 0, 1)) + Field(push),
    ]


@pytest.mark.parametrize("number", range(len(interactions())), ids=[repr(one) for one in interactions()])
def test_equal_interactions(number):
    one, two, other = interactions()[number], interactions()[number], interactions(0.4)[number]
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert copy.deepcopy(one) == one.for_run() == one
    assert one.in_box(Box()) == one


def test_zeros_of_both_signs_are_equal():
    one, two = DipolarSoftSpheres((0, 0.0, 1)), DipolarSoftSpheres((0, -0.0, 1))
    assert one == two
    assert hash(one) == hash(two)


def test_interactions_of_other_settings_are_not_equal():
    falling = picklable.falling
    assert Field(falling, (1.0,)) != Field(falling, (1.0,), frame="space") != Field(falling, (1.0,), arrays=True)
    assert Field(falling, (1.0,)) != Field(falling, (1.0,), energy=picklable.weight)
    dipoles = DipolarSoftSpheres((0, 0, 1), cutoff=1.0)
    assert dipoles.in_box(Box(5.0)) == dipoles.in_box(Box(5.0)) != dipoles.in_box(Box(6.0))
    assert DipolarSoftSpheres((0, 0, 1)) != "DipolarSoftSpheres"


def test_functions_are_compared_as_they_were_compiled(monkeypatch):
    x, Q = np.zeros((1, 3)), np.eye(3)[None]
    compiled, called = Field(uses_a_global), Field(uses_a_global, arrays=True)
    for field in (compiled, called):
        field.evaluate(0.0, x, Q, np.zeros((1, 3)), np.zeros((1, 3)))
    before = hash(compiled)
    monkeypatch.setitem(globals(), "gain", 2.0)
    assert compiled != Field(uses_a_global)
    assert called == Field(uses_a_global, arrays=True)
    assert hash(compiled) == before


@pytest.mark.parametrize("number", [k for k, one in enumerate(interactions()) if "Field" in repr(one)])
def test_fingerprints_do_not_depend_on_what_was_compiled(number):
    one = interactions()[number]
    before = one.fingerprint()
    x = np.array([(0.0, 0, 0), (0, 0, 0.25)])
    one.evaluate(0.0, x, np.stack([np.eye(3)] * 2), np.zeros((2, 3)), np.zeros((2, 3)))
    assert one.fingerprint() == before == interactions()[number].fingerprint()


# Trajectories


def run(**options):
    return ph.integrate(GAS, (0, 1), **{"method": "V2", "h": 0.1} | options)


def test_states_and_slices():
    traj = run()
    assert traj[3] == traj.state(3)
    assert traj[-1] == traj.state()
    np.testing.assert_array_equal(traj[3].x, traj.x[3])
    assert len(list(traj)) == 11
    part = traj[2:8:2]
    for name in ("t", "x", "p", "m", "q"):
        np.testing.assert_array_equal(getattr(part, name), getattr(traj, name)[2:8:2])
    assert part.system is GAS
    with pytest.raises(IndexError, match="11 states"):
        traj[11]


def test_results_computed_once_are_those_of_the_slice():
    traj = run()
    potential = traj.potential
    np.testing.assert_array_equal(traj[4:6].potential, potential[4:6])
    assert traj == run()
    assert hash(traj) == hash(run())


def test_a_trajectory_cannot_be_changed():
    traj = run()
    with pytest.raises(AttributeError, match=r"SystemTrajectory\.x cannot be assigned.*\.replaced\(x=\.\.\.\)"):
        traj.x = traj.x + 1
    shifted = traj.replaced(x=traj.x + 1)
    np.testing.assert_array_equal(shifted.x, traj.x + 1)
    assert shifted != traj
    assert traj != run(h=0.05)[::2]


def test_equal_trajectories_of_equal_systems():
    one, two = (ph.integrate(pair(), method="V2", h=0.1) for _ in range(2))
    assert one == two == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    assert hash(one) == hash(two)
    assert one != one.replaced(system=pair(name="other"))


@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
def test_two_loaded_trajectories(tmp_path, name):
    pytest.importorskip("xarray")
    pytest.importorskip("zarr" if name.endswith("zarr") else "h5netcdf")
    gas = GAS.replaced(interaction=Field(lambda t, x, Q, F, T, p: None, arrays=True))
    ph.integrate(gas, (0, 0.5), h=0.1).save(tmp_path / name)
    one, two = (ph.load(tmp_path / name) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one.system.replaced(interaction=gas.interaction) == gas


def test_table():
    pytest.importorskip("pandas")
    traj = run()
    table = traj.to_pandas()
    assert table.index.names == ["t", "body"]
    names = "x_x x_y x_z p_x p_y p_z m_x m_y m_z q_w q_x q_y q_z omega_x omega_y omega_z"
    assert list(table.columns) == names.split()
    np.testing.assert_array_equal(table.loc[(traj.t[2], 5), ["p_x", "p_y", "p_z"]], traj.p[2, 5])


def test_invariants_and_table_of_a_trajectory():
    """Those of bodies: one number for each conserved quantity, and a summary for notebooks."""
    traj = ph.integrate(GAS, (0.0, 0.2), h=0.1)
    drifts = traj.invariants()
    assert list(drifts) == ["energy", "momentum", "angular momentum"]
    assert drifts["energy"] == np.abs(traj.energy_error()).max() > 0.0
    assert drifts["momentum"] < 1e-14
    assert "SystemTrajectory of " in traj._repr_html_()
    assert f"<td>{traj.stats.torques}</td>" in traj._repr_html_()
