"""Files hold a trajectory bit for bit, can be read by others, and are whole or absent."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from zarr.storage import _local

import polhode as ph
from conftest import random_attitude
from ensemble_cases import HOW, SAMPLES, pendulums
from polhode import Status, errors, forces
from polhode.files import atomic, csv_file
from polhode.files import saving as store
from polhode.integration.problem import Problem
from polhode.solve import integrate

SUFFIXES = (".nc", ".zarr", ".csv")
TENSOR = np.array([(2.0, 0.1, -0.2), (0.1, 2.5, 0.3), (-0.2, 0.3, 3.0)])
UNITS = {"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"}
STATE = ph.State((0.3, 0.2, 0.9))


def single():
    body = ph.RigidBody(TENSOR, mass=3.0)
    return Problem(body, STATE, forces.gravity(1.0, (0.1, 0.2, 0.5)), (0.0, 1.0), name="top", units=UNITS, h=0.1)


def free_batch():
    rng = np.random.default_rng(3)
    state = ph.State(rng.normal(size=(2, 3, 3)), random_attitude(rng, 3))
    return Problem(ph.RigidBody.from_moments([(1, 2, 3), (2, 3, 4), (1, 1, 3)]), state, name="many")


def damped():
    """A force without energy, and a run backward."""
    twist = ph.Torque(lambda t, Q, w, p: (0.0, p[0] * t, 0.1), params=[(0.1,), (0.2,)], name="twist")
    force = twist + forces.damping((0.1, 0.2, 0.3))
    return Problem(ph.RigidBody.linear(2.0), ph.State((0.0, 0.2, 0.9)), force, (1.0, 0.0))


def damped_by_matrices():
    """Of three bodies, each its own."""
    D = np.array([(0.5, 0.2, 0.0), (0.2, 0.4, -0.1), (0.0, -0.1, 0.3)]) * np.array([1.0, 0.5, 0.1])[:, None, None]
    return Problem((1.0, 2.0, 2.5), ph.State((0.1, 0.2, 0.9)), forces.damping(D))


PROBLEMS = {"single": single, "free batch": free_batch, "damped": damped, "by matrices": damped_by_matrices}


def run(name="single"):
    return integrate(PROBLEMS[name](), method="V2", h=0.05)


def same_bits(a, b):
    return np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_round_trip(tmp_path, name, suffix):
    traj = run(name)
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    for quantity in ("t", "m", "q", "omega", "m_space", "kinetic"):
        assert same_bits(getattr(again, quantity), getattr(traj, quantity)), quantity
    body, other = traj.problem.body, again.problem.body
    assert same_bits(np.broadcast_to(body.moments, other.moments.shape), other.moments)
    assert same_bits(np.broadcast_to(body.axes, other.axes.shape), other.axes)
    assert (other.is_linear, other.is_principal) == (body.is_linear, body.is_principal)
    state, start = traj.problem.state, again.problem.state
    assert same_bits(np.broadcast_to(state.m, start.m.shape), start.m)
    assert same_bits(np.broadcast_to(state.q, start.q.shape), start.q)
    if not traj.problem.force.is_zero:
        damping, stored = traj.problem.force.damping, again.problem.force.damping
        assert same_bits(np.broadcast_to(damping, stored.shape), stored)
        assert stored.shape == damping.shape
    for known in ("name", "summary", "units", "references", "h", "t_span"):
        assert getattr(again.problem, known) == getattr(traj.problem, known)
    assert (again.h, again.message, again.stats) == (traj.h, traj.message, traj.stats)
    assert np.array_equal(again.status, traj.status)
    assert type(again.status) is type(traj.status)
    assert repr(again.method) == repr(traj.method)
    assert again.invariants() == traj.invariants()
    assert repr(again.problem.force) == repr(traj.problem.force)
    assert repr(again) == repr(traj)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("unit", ["days since 2000-01-01", "days"])
def test_units_are_only_labels(tmp_path, suffix, unit):
    traj = integrate(Problem((1, 2, 3), STATE, units={"t": unit}), method="V2", h=0.1)
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    assert same_bits(again.t, traj.t)
    assert again.problem.units == {"t": unit}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_steps_of_any_length(tmp_path, suffix):
    traj = integrate(single(), method="Adaptive")
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    assert same_bits(again.t, traj.t)
    assert same_bits(again.q, traj.q)
    assert np.isnan(again.h)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_energy_comes_from_the_file(tmp_path, suffix):
    traj = run()
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    assert same_bits(again.energy, traj.energy)
    np.testing.assert_allclose(again.potential, traj.potential, rtol=0, atol=1e-15)
    assert same_bits(again.problem.body.mass, traj.problem.body.mass)
    store.save(run("damped"), tmp_path / f"other{suffix}")
    with pytest.raises(AttributeError, match="twist"):
        _ = store.load(tmp_path / f"other{suffix}").energy


def test_a_stored_force_is_only_a_name(tmp_path):
    store.save(run(), tmp_path / "run.nc")
    problem = store.load(tmp_path / "run.nc").problem
    np.testing.assert_array_equal(problem.force.axis, (0, 0, 1))
    with pytest.raises(errors.InputError, match="only the name was stored"):
        integrate(problem, h=0.1)
    with pytest.raises(errors.InputError, match="build the problem again"):
        problem.force.potential(0.0, (1, 0, 0, 0))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_that_were_not_reached(tmp_path, suffix):
    """One body of a batch fails: NaN comes back as NaN, with the status and the message."""
    torque = ph.Torque(lambda t, Q, w, p: (0.1 / max(0.0, p[0] - t), 0.0, 0.0), params=[(0.5,), (9.0,)])
    problem = Problem((1, 2, 3), STATE, torque, (0.0, 1.0))
    with pytest.warns(errors.RunWarning):
        traj = integrate(problem, method="V2", h=0.25)
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    assert np.isnan(again.m[-1, 0]).all()
    assert np.isfinite(again.m[:, 1]).all()
    assert np.array_equal(again.m, traj.m, equal_nan=True)
    assert again.status.tolist() == traj.status.tolist() == [Status.TORQUE_RAISED, 0]
    assert "division" in again.message
    assert not again.success


def test_energy_of_rows_that_were_not_reached(tmp_path):
    problem = Problem((1, 2, 3), STATE, forces.gravity(1.0, (0, 0, 1)), (0.0, 1.0))
    traj = integrate(problem, method="V2", h=0.25)
    known = traj.energy
    traj.m[3:], traj.q[3:] = np.nan, np.nan
    store.save(traj, tmp_path / "run.nc")
    assert same_bits(store.load(tmp_path / "run.nc").energy[:3], known[:3])
    assert np.isnan(store.load(tmp_path / "run.nc").energy[3:]).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["single", "free batch"])
def test_events(tmp_path, name, suffix):
    events = [lambda t, m, q: m[..., 1], lambda t, m, q: m[..., 0] - 99]
    traj = integrate(PROBLEMS[name](), (0, 20), method="V2", h=0.05, events=events)
    store.save(traj, tmp_path / f"run{suffix}")
    again = store.load(tmp_path / f"run{suffix}")
    for quantity in ("t_events", "m_events", "q_events"):
        there, back = getattr(traj, quantity), getattr(again, quantity)
        assert len(there) == len(back) == 2
        for event in (0, 1):
            batch = there[event].dtype == object
            for a, b in zip(*(x[event].flat if batch else [x[event]] for x in (there, back)), strict=True):
                assert same_bits(a, b)
            assert np.shape(there[event]) == np.shape(back[event])
    assert np.size(traj.t_events[0]) > 0


def test_dataset():
    """Dimensions, labels, units and frames, against what was integrated."""
    traj = run()
    data = store.to_xarray(traj)
    assert data.m.dims == ("time", "xyz")
    assert data.q.dims == ("time", "quaternion")
    assert data.energy.dims == ("time",)
    np.testing.assert_array_equal(data.q.sel(quaternion="w"), traj.q[:, 0])
    np.testing.assert_array_equal(data.m_space.sel(xyz="z"), traj.m_space[:, 2])
    units = {"time": "s", "m": "kg m^2/s", "m_space": "kg m^2/s", "omega": "rad/s", "energy": "J", "moments": "kg m^2"}
    assert {name: data[name].attrs["units"] for name in units} == units
    assert "units" not in data.q.attrs
    frames = {name: data[name].attrs["frame"] for name in ("m", "omega", "m_space", "q")}
    assert frames == {"m": "body", "omega": "body", "m_space": "space", "q": "body to space, scalar first"}
    assert data.attrs["method"] == "Splitting(Exact(), 'V2')"
    assert data.attrs["polhode"] == ph.__version__
    assert data.attrs["name"] == "top"
    assert store.to_xarray(run("damped")).m.dims == ("time", "body", "xyz")
    assert "energy" not in store.to_xarray(run("damped"))
    assert store.to_xarray(run("free batch")).q.dims == ("time", "body_0", "body_1", "quaternion")


def test_other_programs_read_the_files(tmp_path):
    traj = run()
    for suffix in SUFFIXES:
        store.save(traj, tmp_path / f"run{suffix}")
    with h5py.File(tmp_path / "run.nc") as file:
        assert same_bits(file["q"][...], traj.q)
        assert file["q"].fletcher32
        assert file["time"].attrs["units"] in ("s", b"s")
    for data in (xarray.open_dataset(tmp_path / "run.nc"), xarray.open_zarr(tmp_path / "run.zarr")):
        with data:
            assert same_bits(data.q.values, traj.q)
            assert data.damping.values.tolist() == [0, 0, 0]
            assert list(data.quaternion.values) == ["w", "x", "y", "z"]
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True, skip_header=_comments(tmp_path / "run.csv"))
    assert same_bits(table["q_z"], traj.q[:, 3])
    assert same_bits(table["time"], traj.t)


def _comments(path):
    return sum(line.startswith("#") for line in path.read_text().splitlines())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_save_keeps_the_older_file(tmp_path, monkeypatch, suffix):
    traj, path = run(), tmp_path / f"run{suffix}"
    store.save(traj, path)

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "sync", full)
    with pytest.raises(errors.StoreError, match=f"{path}.*No space left"):
        store.save(run("free batch"), path)
    monkeypatch.undo()
    assert same_bits(store.load(path).q, traj.q)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    store.save(run("free batch"), path)
    assert store.load(path).m.shape[1:] == (2, 3, 3)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


FULL_DISK = """
import resource, signal, sys
import polhode as ph

top = ph.integrate(ph.problems.heavy_top(), method="V2", h=0.02)
names = {"x.nc": {}, "x.zarr": {}, "x.csv": {}, "x.aem": {
    "object_name": "TOP", "object_id": "2026-001A", "originator": "ME", "epoch": "2026-01-01T00:00:00",
    "time_system": "UTC", "space_frame": "EME2000", "body_frame": "SC_BODY_1"}}
for name, options in names.items():
    top.save(name, **options)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
for name, options in names.items():
    try:
        top.save(name, **options)
    except ph.errors.StoreError as problem:
        print(name, problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
def test_a_full_disk(tmp_path):
    """A limit for the length of files acts as a full disk does; no process ends by it, and older files stay."""
    done = subprocess.run([sys.executable, "-c", FULL_DISK], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    names = ["x.aem", "x.csv", "x.nc", "x.zarr"]
    told = sorted(done.stdout.splitlines())
    assert told == [f"{name} {name} cannot be written: File too large" for name in names]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    assert all(len(store.load(tmp_path / name)) == 1001 for name in names)


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_a_name_that_is_no_text(tmp_path, suffix):
    """Half of a surrogate pair, as in names of files that are not UTF-8."""
    problem = ph.Problem((1, 2, 3), STATE, name="half \ud800")
    with pytest.raises(errors.StoreError, match=f"run{suffix} cannot be written: .*surrogates"):
        integrate(problem, h=0.5).save(tmp_path / f"run{suffix}")
    assert list(tmp_path.iterdir()) == []


CREATED = {
    "save": lambda path: run().save(path),
    "stream": lambda path: ph.stream(single(), path, method="V2", h=0.05),
    "ensemble": lambda path: ph.ensemble(pendulums, SAMPLES[:2], out=path, **HOW),
}


@pytest.mark.parametrize("create", CREATED.values(), ids=CREATED)
def test_threads_of_zarr_do_not_create_a_removed_folder_again(tmp_path, monkeypatch, create):
    """The first file does not fit on the disk, while others are being written."""
    put, calls = _local._put, []

    def slow(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        time.sleep(0.1)
        return put(*arguments, **options)

    monkeypatch.setattr(_local, "_put", slow)
    with pytest.raises(errors.StoreError, match="No space left"):
        create(tmp_path / "run.zarr")
    time.sleep(0.3)
    assert list(tmp_path.iterdir()) == []


def test_the_older_folder_comes_back(tmp_path, monkeypatch):
    """A folder steps aside before the new one takes its name: if that fails, it returns."""
    traj, path = run(), tmp_path / "run.zarr"
    store.save(traj, path)
    replace = atomic.os.replace

    def refuse(source, target):
        if Path(target) == path and not Path(source).name.endswith("-old"):
            raise OSError(errno.EACCES, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(atomic.os, "replace", refuse)
    with pytest.raises(errors.StoreError, match="Permission denied"):
        store.save(run("free batch"), path)
    monkeypatch.undo()
    assert same_bits(store.load(path).q, traj.q)


def test_what_is_not_overwritten(tmp_path):
    folder = tmp_path / "mine.zarr"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(errors.StoreError, match="choose another name"):
        store.save(run(), folder)
    assert (folder / "thesis.tex").exists()


def test_bad_names_and_options(tmp_path):
    with pytest.raises(errors.InputError, match=r"'run.xls' ends in '.xls'; known are .nc, .*[.]aem"):
        store.save(run(), tmp_path / "run.xls")
    (tmp_path / "run").write_text("t, m, q")
    with pytest.raises(errors.InputError, match=r"known are .nc"):
        store.load(tmp_path / "run")
    for name in ("absent.nc", "absent"):
        with pytest.raises(errors.StoreError, match=f"{name} does not exist; expected the name of a file"):
            store.load(tmp_path / name)
    with pytest.raises(errors.InputError, match=r"options epoch are for .aem"):
        store.save(run(), tmp_path / "run.nc", epoch="2000-01-01T00:00:00")
    with pytest.raises(errors.StoreError, match="nowhere"):
        store.save(run(), tmp_path / "nowhere" / "run.csv")


@pytest.mark.parametrize(("suffix", "package"), [(".nc", "xarray"), (".nc", "h5netcdf"), (".zarr", "zarr")])
def test_missing_packages(tmp_path, monkeypatch, suffix, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingExtraError, match=rf"{package}.*pip install 'polhode\[store\]'"):
        store.save(run(), tmp_path / f"run{suffix}")
    store.save(run(), tmp_path / "run.csv")  # which needs none


def _files(path):
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files(tmp_path, suffix):
    """Whatever is cut off or overwritten: a StoreError that names the file, or what was stored. Never anything else."""
    path, rng = tmp_path / f"run{suffix}", np.random.default_rng(5)
    traj = run()
    store.save(traj, path)
    told = []
    for file in sorted(_files(path))[:: 3 if path.is_dir() else 1]:  # a folder has many files: some of them
        whole = file.read_bytes()
        if not whole:
            continue
        kinds = (whole[: len(whole) // 2], rng.bytes(len(whole)), b"")
        for kind in [rng.integers(3)] if path.is_dir() else range(3):
            file.write_bytes(kinds[kind])
            try:
                assert store.load(path).q.shape == traj.q.shape  # a file that does not matter: a copy of metadata
            except errors.StoreError as problem:
                told.append(str(problem))
        file.write_bytes(whole)
    assert len(told) >= 3
    assert all(str(path) in text for text in told)
    assert same_bits(store.load(path).q, traj.q)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_versions_and_other_files(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"run{suffix}"
    monkeypatch.setattr("polhode.files.record.FORMAT", 2)
    store.save(run(), path)
    monkeypatch.undo()
    with pytest.raises(errors.StoreError, match=r"format 2, .*pip install --upgrade polhode"):
        store.load(path)


def test_files_of_others(tmp_path):
    data = xarray.Dataset({"temperature": ("time", [1.0, 2.0])})
    data.to_netcdf(tmp_path / "weather.nc", engine="h5netcdf")
    data.to_zarr(tmp_path / "weather.zarr", zarr_format=2)
    (tmp_path / "weather.csv").write_text("a,b\n1,2\n")
    for suffix in SUFFIXES:
        with pytest.raises(errors.StoreError, match="weather"):
            store.load(tmp_path / f"weather{suffix}")


def test_a_table_that_was_cut(tmp_path):
    path = tmp_path / "run.csv"
    store.save(run(), path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(errors.StoreError, match="20 lines of numbers; expected 21"):
        store.load(path)
    assert json.loads(lines[0].partition(" = ")[2]) == "polhode trajectory"


def test_long_tables(tmp_path, monkeypatch):
    """Pieces in which lines are written make no difference."""
    traj = run("free batch")
    store.save(traj, tmp_path / "a.csv")
    monkeypatch.setattr(csv_file, "TIMES_PER_PIECE", 4)
    store.save(traj, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
