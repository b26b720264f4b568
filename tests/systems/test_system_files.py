"""Files of systems: every bit comes back, runs go on from them, and other programs read positions and attitudes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray

import polhode as ph
from conftest import random_attitude
from polhode.core.errors import InputError, StoreError
from polhode.files.record import SYSTEM
from polhode.files.stored_trajectory import StoredMethod
from polhode.files.system_record import describe, pack_system, parameters
from polhode.systems.interactions import DipolarSoftSpheres, Field, water

SUFFIXES = (".nc", ".zarr")
TENSOR = np.array([(2.0, 0.1, -0.2), (0.1, 2.5, 0.3), (-0.2, 0.3, 3.0)])
DIPOLES = DipolarSoftSpheres((0.4, 0, 0))
STATES = ("t", "x", "p", "m", "q")


def push(t, x, Q, F, T, p):
    F += 0.1 * x


def gas(**more):
    return ph.System.lattice(ph.RigidBody((1, 2, 3), mass=1.5), 2, 2.0, DIPOLES, kT=0.3, seed=1, **more)


def mixture():
    """A body of each kind: with turned axes, a linear rotor, and a principal one; at rest in part."""
    bodies = [ph.RigidBody(TENSOR, mass=2.0), ph.RigidBody.linear(1.5, mass=1.0), ph.RigidBody((3, 1, 2), mass=0.1)]
    rng = np.random.default_rng(1)
    m = rng.normal(size=(3, 3))
    m[1, 0] = 0.0
    state = ph.State(m, random_attitude(rng, 3), x=3.0 * rng.normal(size=(3, 3)))
    return ph.System(bodies, state, DIPOLES + Field(push, arrays=True), t_span=(0.5, 0.25), h=0.03, name="mixture")


def different():
    rng = np.random.default_rng(2)
    bodies = ph.RigidBody(TENSOR * rng.uniform(1, 2, size=(3, 1, 1)), mass=(1.0, 2.0, 3.0))
    state = ph.State(rng.normal(size=(3, 3)), random_attitude(rng, 3), x=4.0 * np.eye(3), p=rng.normal(size=(3, 3)))
    return ph.System(bodies, state, DIPOLES, h=0.1)


def liquid():
    return ph.System.liquid(water("SPC/E", cutoff=0.4), 27, kT=2.5, seed=1, h=0.002, t_span=(0, 0.01), name="water")


SYSTEMS = {"gas": lambda: gas(h=0.05, t_span=(0, 0.5)), "mixture": mixture, "different": different, "liquid": liquid}


def reloaded(traj, folder, suffix=".nc"):
    traj.save(folder / f"run{suffix}")
    return ph.load(folder / f"run{suffix}")


def same_bits(a, b, names=STATES):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in names)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_trajectory_comes_back_to_the_bit(tmp_path, name, suffix):
    system = SYSTEMS[name]()
    traj = ph.integrate(system, method="RKN4_6b")
    again = reloaded(traj, tmp_path, suffix)
    assert isinstance(again, ph.SystemTrajectory)
    assert same_bits(again, traj, (*STATES, "omega", "kinetic", "momentum", "wrapped", "temperature_rotation"))
    assert (again.method, again.h, again.status, again.message) == (traj.method, traj.h, traj.status, "")
    assert again.stats == traj.stats
    assert getattr(again, "t_events", None) is None
    assert same_bits(again.system.state, system.state, "xpmq")
    assert same_bits(again.system, system, ("mass", "moments", "linear"))
    assert (again.system.axes is None) == (system.axes is None)
    assert system.axes is None or again.system.axes.tobytes() == system.axes.tobytes()
    assert again.system.box.lengths.tolist() == system.box.lengths.tolist()
    for attribute in ("t_span", "h", "name", "count"):
        assert getattr(again.system, attribute) == getattr(system, attribute)
    assert repr(again.system) == repr(system)
    assert len(again.system.bodies) == len(system.bodies)
    if system.interaction.has_energy:
        assert same_bits(again, traj, ("energy",))
        np.testing.assert_allclose(again.potential, traj.potential, rtol=1e-12, atol=1e-13 * abs(traj.energy).max())
    else:
        with pytest.raises(AttributeError, match="has no energy"):
            _ = again.energy


def test_what_can_be_done_with_a_loaded_trajectory(tmp_path):
    traj = ph.integrate(liquid(), method="V2")
    again = reloaded(traj, tmp_path)
    assert again[2] == traj[2]
    assert same_bits(again[1:3], traj[1:3], (*STATES, "energy"))
    assert again.to_pandas().equals(traj.to_pandas())
    assert again.to_xarray().identical(traj.to_xarray())
    sent = pickle.loads(pickle.dumps(again))
    assert same_bits(sent, traj, (*STATES, "energy"))
    assert same_bits(reloaded(again[1:], tmp_path, ".zarr"), traj[1:], (*STATES, "energy"))
    assert "27 bodies" in repr(again)
    assert "<html" in again.view().html.lower()


def test_functions_that_are_not_stored_say_so(tmp_path):
    again = reloaded(ph.integrate(liquid(), method="V2"), tmp_path)
    not_stored = r"SPC/E\(3 sites.*only the name was stored.*build the system again"
    with pytest.raises(InputError, match=not_stored):
        ph.integrate(again.system)
    with pytest.raises(InputError, match=not_stored):
        _ = again.system.energy
    with pytest.raises(AttributeError, match=not_stored):
        _ = again.dipole_moment
    complete = again.replaced(system=liquid())
    np.testing.assert_allclose(complete.dipole_moment, ph.integrate(liquid(), method="V2").dipole_moment, rtol=1e-14)


@pytest.mark.parametrize(("method", "suffix"), [("V2", ".nc"), ("RKN4_6b", ".zarr")])
def test_a_run_goes_on_from_a_file_to_the_bit(tmp_path, method, suffix):
    system = gas()
    how = {"method": method, "h": 1 / 64}
    whole = ph.integrate(system, (0, 1), **how)
    first = reloaded(ph.integrate(system, (0, 0.5), **how), tmp_path, suffix)
    second = ph.integrate(system.replaced(state=first[-1]), (0.5, 1), **how)
    assert same_bits(second, whole[32:])


def test_a_method_of_the_user_has_its_name(tmp_path):
    scheme = ph.Scheme("mine", 2, (("A", "1/2"), ("B", 1), ("A", "1/2")))
    again = reloaded(ph.integrate(gas(), (0, 0.1), method=scheme, h=0.05), tmp_path)
    assert isinstance(again.method, StoredMethod)
    assert "mine" in repr(again.method)


def with_events(traj):
    """Events as a run has them: of the first kind two, of the second none."""
    n = traj.system.count
    rng = np.random.default_rng(5)
    widths = {"x": 3, "p": 3, "m": 3, "q": 4}
    events = {"t_events": [np.array([0.1, 0.2]), np.empty(0)]}
    events |= {f"{k}_events": [rng.normal(size=(2, n, w)), np.empty((0, n, w))] for k, w in widths.items()}
    traj._store(**events)
    return events


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_events_come_back(tmp_path, suffix):
    traj = ph.integrate(gas(), (0, 0.25), h=1 / 8)
    events = with_events(traj)
    again = reloaded(traj, tmp_path, suffix)
    for name, expected in events.items():
        actual = getattr(again, name)
        assert [a.shape for a in actual] == [e.shape for e in expected]
        assert [a.tobytes() for a in actual] == [e.tobytes() for e in expected]
    assert pack_system(again).arrays.keys() == pack_system(traj).arrays.keys()


def test_damage_is_found(tmp_path):
    traj = ph.integrate(gas(), (0, 0.25), h=1 / 8)
    traj.save(tmp_path / "run.zarr")
    chunk = tmp_path / "run.zarr" / "x" / "0.0.0"
    data = bytearray(chunk.read_bytes())
    data[20] ^= 1
    chunk.write_bytes(data)
    with pytest.raises(StoreError, match=r"0\.0\.0"):
        ph.load(tmp_path / "run.zarr")


def test_the_parts_of_a_record_for_long_runs():
    system = mixture()
    arrays = parameters(system)
    assert {name: dims for name, (dims, _) in arrays.items()} == {
        "mass": ("body",), "moments": ("body", "xyz"), "axes": ("body", "xyz", "principal"), "linear": ("body",),
        "start_x": ("body", "xyz"), "start_p": ("body", "xyz"), "start_m": ("body", "xyz"),
        "start_q": ("body", "quaternion"),
    }  # fmt: skip
    assert arrays["moments"][1][1].tolist() == [0.0, 1.5, 1.5]
    assert arrays["linear"][1].dtype == np.int8
    assert arrays["linear"][1].tolist() == [0, 1, 0]
    assert describe(system)["kind"] == SYSTEM
    assert "energy" not in pack_system(ph.integrate(system)).arrays
    assert "energy" in pack_system(ph.integrate(gas(), (0, 0.25), h=1 / 8)).arrays
    packed = pack_system(ph.integrate(system)).arrays
    assert all(packed[name][1] is not None for name in arrays)


def test_formats_that_are_not_for_systems_or_not_for_bodies(tmp_path):
    traj = ph.integrate(gas(), (0, 0.25), h=1 / 8)
    for name in ("gas.csv", "gas.aem"):
        with pytest.raises(InputError, match=r"for bodies without positions.*expected \.nc, \.zarr, \.xyz or \.gsd"):
            traj.save(tmp_path / name)
    body = ph.integrate(ph.Problem((1, 2, 3), ph.State(m=(1, 1, 1))), h=0.1)
    for name in ("top.xyz", "top.gsd"):
        with pytest.raises(InputError, match=r"for systems.*expected \.nc, \.zarr, \.csv or \.aem"):
            body.save(tmp_path / name)
    with pytest.raises(InputError, match=r"options epoch are for \.aem files; omit them for gas\.nc"):
        traj.save(tmp_path / "gas.nc", epoch="now")
    with pytest.raises(InputError, match=r"options colour are not known; \.xyz files have the options species"):
        traj.save(tmp_path / "gas.xyz", colour="red")
    assert list(tmp_path.iterdir()) == []


def test_files_are_read_by_xarray(tmp_path):
    ph.integrate(mixture()).save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        assert data.start_x.attrs["frame"] == "space"
        assert data.start_q.dims == ("body", "quaternion")
        assert data.linear.values.tolist() == [0, 1, 0]
