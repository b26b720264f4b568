"""Files that were damaged: one bit anywhere is refused, with the name of the file, or changes nothing at all."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pytest

import polhode as ph
from ensemble_cases import CHUNK as MEMBERS
from ensemble_cases import HOW, SAMPLES, pendulums
from polhode import Status, errors, forces
from polhode.ensembles import reader as ensemble_reader
from polhode.ensembles.ensemble import ensemble, open_ensemble
from polhode.files import atomic, checksums, chunked, netcdf_file, zarr_file
from polhode.files import long_runs as streaming
from polhode.files import saving as store
from polhode.integration.problem import Problem
from polhode.solve import integrate
from streaming_job import CHUNK, EVERY, METHOD, TENSOR, H, problem

UNITS = {"t": "s", "omega": "rad/s", "m": "kg m^2/s"}
COUNT = 3 * MEMBERS  # of the ensemble


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """A process can be lost without the machine: that files are on the disk matters to the latter, and takes time."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)


def top():
    body = ph.RigidBody(TENSOR, mass=3.0)
    state = ph.State([(0.3, 0.2, 0.9), (0.1, -0.7, 0.4)])
    force = forces.gravity(1.0, (0.1, 0.2, 0.5)) + forces.damping((0.1, 0.2, 0.3))
    return Problem(body, state, force, (0.0, 2.0), name="top", summary="a top", units=UNITS)


def write_file(path):
    integrate(top(), method="V2", h=0.05, events=[lambda t, m, q: m[..., 1]]).save(path)


AEM = {
    "object_name": "TOP", "object_id": "2026-001A", "originator": "ME", "epoch": "2026-01-01T00:00:00",
    "time_system": "UTC", "space_frame": "EME2000", "body_frame": "SC_BODY_1", "body": 1,
}  # fmt: skip


def write_aem(path):
    integrate(top(), method="V2", h=0.05).save(path, **AEM)


def write_stream(path):
    streaming.stream(problem(1.2), path, method=METHOD, h=H, save_every=EVERY, chunk=CHUNK)


def write_ensemble(path):
    ensemble(pendulums, SAMPLES[:COUNT], out=path, **HOW)


def facts(trajectory):
    """Everything that a file tells, to be compared bit for bit."""
    problem, body, state = trajectory.problem, trajectory.problem.body, trajectory.problem.state
    arrays = [trajectory.t, trajectory.m, trajectory.q, body.moments, body.axes, state.m, state.q, trajectory.status]
    arrays += [problem.force.damping, *(x for events in trajectory.t_events or [] for x in events)]
    arrays += [trajectory.energy] if "damping" not in repr(problem.force) else []
    texts = [problem.name, problem.summary, problem.units, problem.references, problem.h, problem.t_span, body.mass]
    texts += [problem.force, trajectory.method, trajectory.h, trajectory.message, trajectory.stats, body.is_linear]
    return [np.asarray(x).tobytes() for x in arrays], [repr(x) for x in texts]


def facts_of_aem(attitudes):
    arrays = attitudes.epochs, attitudes.q, attitudes.omega
    return [x.tobytes() for x in arrays], [attitudes.header, attitudes.metadata]


def facts_of_ensemble(data):
    return [np.asarray(data[name]).tobytes() for name in sorted(data.variables)], str(sorted(data.attrs.items()))


KINDS = {
    "run.nc": (write_file, lambda path: facts(store.load(path))),
    "run.zarr": (write_file, lambda path: facts(store.load(path))),
    "run.csv": (write_file, lambda path: facts(store.load(path))),
    "run.aem": (write_aem, lambda path: facts_of_aem(store.load(path))),
    "stream.zarr": (write_stream, lambda path: facts(store.load(path))),
    "ensemble.zarr": (write_ensemble, lambda path: facts_of_ensemble(open_ensemble(path))),
}

# h5netcdf's finalizer does, on standard error, about a file that it could not open
finalizers_may_complain = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
FLIPS = {"run.nc": 12, "run.zarr": 25}  # xarray takes its time to open these


def files_of(path):
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


def answer(path, read):
    """What is read, or what is said instead; warnings count as refusals, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return read(path)
        except (errors.StoreError, errors.StoreWarning) as problem_:
            return str(problem_)


def hold(path, read, places):
    """Flip one bit at each place (file, byte, bit), and put it back; how many were refused."""
    before, refused = answer(path, read), 0
    for file, byte, bit in places:
        whole = file.read_bytes()
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << bit
        file.write_bytes(damaged)
        found = answer(path, read)
        file.write_bytes(whole)
        if isinstance(found, str):
            assert str(path) in found
            refused += 1
        else:
            assert found == before, f"bit {bit} of byte {byte} of {file} changes the answer"
    # HDF5 remembers what it has read of a file that pytest keeps open, in the traceback of a finalizer.
    other = path.with_name(f"other-{path.name}")
    (shutil.copytree if path.is_dir() else shutil.copy)(path, other)
    assert answer(other, read) == before
    return refused


def draw(path, count):
    """Half of them by length, half in files of any length, because small ones tell what the large ones mean."""
    rng, files = np.random.default_rng(7), [file for file in files_of(path) if file.stat().st_size]
    lengths = np.array([file.stat().st_size for file in files])
    for i in range(count):
        file = files[rng.choice(len(files), p=lengths / lengths.sum() if i % 2 else None)]
        yield file, int(rng.integers(file.stat().st_size)), int(rng.integers(8))


@pytest.mark.long
@finalizers_may_complain
@pytest.mark.parametrize("name", KINDS)
def test_any_flipped_bit(tmp_path, name):
    write, read = KINDS[name]
    write(tmp_path / name)
    flips = FLIPS.get(name, 50)
    assert hold(tmp_path / name, read, draw(tmp_path / name, flips)) > flips / 4


@pytest.mark.release
@finalizers_may_complain
@pytest.mark.parametrize("name", KINDS)
def test_flipped_bits_everywhere(tmp_path, name):
    """1000 of them, evenly over all files."""
    write, read = KINDS[name]
    write(tmp_path / name)
    places = [(file, i) for file in files_of(tmp_path / name) for i in range(file.stat().st_size)]
    chosen = [places[i] for i in np.linspace(0, len(places) - 1, 1000).astype(int)]
    assert hold(tmp_path / name, read, [(file, i, i % 8) for file, i in chosen]) > 200


def swap(a, b):
    first, second = a.read_bytes(), b.read_bytes()
    assert first != second
    a.write_bytes(second)
    b.write_bytes(first)


def test_chunks_that_changed_places(tmp_path, monkeypatch):
    """Each is intact by itself."""
    path = tmp_path / "stream.zarr"
    write_stream(path)
    swap(path / "q" / "0.0.0", path / "q" / "1.0.0")
    for read in (store.load, lambda path: streaming.resume(path, problem(1.2))):
        with pytest.raises(errors.StoreError, match=r"q/0\.0\.0 is damaged"):
            read(path)
    monkeypatch.setattr(checksums, "BLOCK_BYTES", 2**12)
    saved = tmp_path / "run.zarr"
    write_file(saved)
    swap(saved / "m" / "0.0.0", saved / "m" / "1.0.0")
    with pytest.raises(errors.StoreError, match=r"run.zarr/m/0\.0\.0 is damaged"):
        store.load(saved)
    members = tmp_path / "ensemble.zarr"
    write_ensemble(members)
    swap(members / "q" / "0.0.0", members / "q" / "1.0.0")
    with pytest.raises(errors.StoreError, match=r"q/0\.0\.0 is damaged"):
        open_ensemble(members).q.values  # noqa: B018


def test_a_stream_goes_on_only_if_what_counts_is_intact(tmp_path):
    path = tmp_path / "stream.zarr"
    write_stream(path)
    for file in (path / "m" / "1.0.0", path / ".zattrs", path / "moments" / "0", path / "start_m" / "0.0"):
        whole = file.read_bytes()
        place = whole.index(b'"h"') + 8 if file.name == ".zattrs" else len(whole) // 2
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(errors.StoreError, match=f"{path}.* damaged"):
            streaming.resume(path, problem(1.2))
        file.write_bytes(whole)
    assert streaming.resume(path, problem(1.2)).success


@pytest.mark.parametrize("name", ["run.nc", "run.zarr", "stream.zarr"])
def test_the_rest_of_a_damaged_file(tmp_path, monkeypatch, name):
    """Blocks of states that are damaged are left out, and it is told which."""
    monkeypatch.setattr(checksums, "BLOCK_BYTES", 2**12)
    path, (write, _) = tmp_path / name, KINDS[name]
    write(path)
    whole = store.load(path)
    assert len(whole) == 41
    size = CHUNK if name == "stream.zarr" else 2**12 // (8 * 27)
    second = whole.q[size : 2 * size].tobytes()
    file = path if path.is_file() else path / "q" / "1.0.0"
    data = bytearray(file.read_bytes())
    data[data.index(second) if path.is_file() else len(data) // 2] ^= 4
    file.write_bytes(data)
    with pytest.raises(errors.StoreError, match=r"is damaged.*damaged='skip'|cannot be read.*damaged='skip'"):
        store.load(path)
    with pytest.warns(errors.StoreWarning, match=f"states {size} to {2 * size - 1} of .* left out: {file}"):
        rest = store.load(path, damaged="skip")
    kept = np.delete(np.arange(41), np.arange(size, 2 * size))
    assert rest.q.tobytes() == whole.q[kept].tobytes()
    assert rest.t.tobytes() == whole.t[kept].tobytes()
    assert "are left out" in rest.message
    with pytest.raises(errors.InputError, match="damaged is 'ignore'; expected 'raise' or 'skip'"):
        store.load(path, damaged="ignore")


def test_nothing_is_left(tmp_path):
    path = tmp_path / "run.zarr"
    write_file(path)
    file = path / "q" / "0.0.0"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(errors.StoreError, match="has only damaged states"):
        store.load(path, damaged="skip")


def test_lost_members_have_a_status(tmp_path):
    """Not NaN with the status of success."""
    path = tmp_path / "ensemble.zarr"
    write_ensemble(path)
    whole = open_ensemble(path).load()
    (path / "q" / "1.0.0").unlink()
    with pytest.warns(errors.StoreWarning, match=r"q/1\.0\.0 is missing"):
        data = open_ensemble(path).load()
    gone = np.arange(COUNT) // MEMBERS == 1
    assert (data.status.values[gone] == Status.DAMAGED).all()
    assert np.isnan(data.q.values[gone]).all()
    for name in ("q", "m", "status", "start_q"):
        assert data[name].values[~gone].tobytes() == whole[name].values[~gone].tobytes()
    assert data.attrs["message"].startswith("not finished: 1 of 3 chunks are missing")
    with pytest.warns(errors.StoreWarning, match="they are computed again"):
        again = ensemble(pendulums, SAMPLES[:COUNT], out=path, resume=True, **HOW)
    assert facts_of_ensemble(again) == facts_of_ensemble(whole)


def test_damaged_members_have_a_status(tmp_path):
    path = tmp_path / "ensemble.zarr"
    write_ensemble(path)
    file = path / "m" / "1.0.0"
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(content)
    data = open_ensemble(path)
    with pytest.raises(errors.StoreError, match=str(file)):
        data.m.values  # noqa: B018
    assert np.isfinite(data.m[:MEMBERS, 0].values).all()
    with pytest.warns(errors.StoreWarning, match=str(file)):
        data = open_ensemble(path, damaged="skip")
    assert (data.status.values == np.where(np.arange(COUNT) // MEMBERS == 1, -3, data.status.values)).all()
    assert np.isnan(data.m.values[MEMBERS : 2 * MEMBERS]).all()
    with pytest.raises(errors.InputError, match="damaged is"):
        open_ensemble(path, damaged="no")
    shutil.rmtree(path / "q")
    with pytest.raises(errors.StoreError, match=f"{path} is damaged"):
        open_ensemble(path)


def test_parts_of_stored_arrays(tmp_path):
    """Slices, steps and lists of members, against NumPy."""
    path = tmp_path / "ensemble.zarr"
    write_ensemble(path)
    data, q = open_ensemble(path), open_ensemble(path).q.values
    for key in (slice(5, 40), slice(3, 48, 7), slice(47, 2, -5), slice(0, 0), [40, 1, 17, 1], 20):
        assert np.array_equal(data.q[key].values, q[key], equal_nan=True)
        assert np.array_equal(data.q[key, 2:, 1].values, q[key, 2:, 1], equal_nan=True)


def test_a_stream_of_an_earlier_version_goes_on(tmp_path, monkeypatch):
    """Its older chunks get checksums, too."""
    path, original, written = tmp_path / "stream.zarr", chunked.write_chunk, []

    def write(*arguments):
        if written:
            raise KeyboardInterrupt
        written.append(original(*arguments))

    monkeypatch.setattr(chunked, "write_chunk", write)
    with pytest.raises(KeyboardInterrupt):
        write_stream(path)
    monkeypatch.setattr(chunked, "write_chunk", original)
    checkpoint = chunked.checkpoint_of(path)
    assert (checkpoint.rows, len(checkpoint.checksums["q"])) == (CHUNK, 1)
    chunked.commit(path, chunked.replace(checkpoint, checksums={}, seal=""))
    streaming.resume(path, problem(1.2))
    other = tmp_path / "other.zarr"
    write_stream(other)
    after, expected = chunked.checkpoint_of(path), chunked.checkpoint_of(other)
    assert (after.checksums, after.seal) == (expected.checksums, expected.seal)


def unsealed(path):
    """As earlier versions wrote it: without checksums."""
    for file in path.rglob(".zattrs"):
        attributes = json.loads(file.read_text())
        attributes.pop(checksums.SEAL, None)
        file.write_text(json.dumps(attributes))
    for file in path.glob(f"{ensemble_reader.MARKS}/*.json"):
        mark = json.loads(file.read_text())
        file.write_text(json.dumps({name: mark[name] for name in ("environment", "seconds", "errors")}))


def test_files_of_earlier_versions(tmp_path, monkeypatch):
    """Without checksums they are read, too."""
    with monkeypatch.context() as patch:
        patch.setattr(checksums, "sealed", lambda record: record)
        for code in (netcdf_file, zarr_file):
            patch.setattr(
                code, "encodings_for", lambda data, _: {name: {"_FillValue": None} for name in data.variables}
            )
        for name in ("old.nc", "old.zarr", "old.csv"):
            write_file(tmp_path / name)
    write_file(tmp_path / "new.nc")
    for name in ("old.nc", "old.zarr", "old.csv"):
        assert facts(store.load(tmp_path / name))[0] == facts(store.load(tmp_path / "new.nc"))[0]
    path = tmp_path / "stream.zarr"
    write_stream(path)
    expected, known = facts(store.load(path)), chunked.checkpoint_of(path)
    chunked.commit(path, chunked.replace(known, checksums={}, seal=""))
    assert facts(store.load(path)) == expected
    assert streaming.resume(path, problem(1.2)).finished
    members = tmp_path / "ensemble.zarr"
    write_ensemble(members)
    expected = facts_of_ensemble(open_ensemble(members))
    unsealed(members)
    assert facts_of_ensemble(open_ensemble(members)) == expected
