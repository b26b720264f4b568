"""Long runs: the same bits as ``integrate``, whatever happens on the way; what is damaged is told, never read."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import xarray
from numba import njit
from zarr.storage import _local

import polhode as ph
from conftest import TESTS
from polhode import Status, errors, forces
from polhode.core.progress import Progress
from polhode.files import atomic, chunked, record, writer_lock
from polhode.files import long_run_writer as stream_writer
from polhode.files import long_runs as streaming
from polhode.files import saving as store
from polhode.integration import running
from polhode.integration.problem import Problem
from polhode.kernels.compiler import JIT
from polhode.solve import integrate
from streaming_job import CHUNK, EVERY, METHOD, H, problem


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """A process can be lost without the machine: that files are on the disk matters to the latter, and takes time."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)


QUANTITIES = ("t", "m", "q", "energy")


def same(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in QUANTITIES)


def begin(path, t_end=3.0, **options):
    given = {"method": METHOD, "h": H, "save_every": EVERY, "chunk": CHUNK} | options
    return streaming.stream(problem(t_end), path, **given)


def whole(t_end=3.0):
    return integrate(problem(t_end), method=METHOD, h=H, save_every=EVERY)


class Death(BaseException):
    """Stands for the end of the process: nobody catches it."""


def fails_at(monkeypatch, module, name, count, problem):
    """The call of that number raises, and so do all after it; returns the calls made."""
    original, calls = getattr(module, name), []

    def call(*arguments, **more):
        calls.append(arguments)
        if len(calls) >= count:
            raise problem
        return original(*arguments, **more)

    monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.parametrize("chunk", [pytest.param(1, marks=pytest.mark.long), 16, 101, 5000])
def test_the_same_bits_as_integrate(tmp_path, chunk):
    done = begin(tmp_path / "run.zarr", chunk=chunk)
    traj = store.load(tmp_path / "run.zarr")
    assert same(traj, whole())
    assert done.success
    assert (done.rows, done.total, done.message) == (101, 101, "")
    assert done.stats.torques == traj.stats.torques == whole().stats.torques
    assert traj.success
    assert repr(traj.method) == "Splitting(Exact(), 'S6_10')"
    assert repr(streaming.open_stream(tmp_path / "run.zarr")) == repr(done)


def test_very_many_chunks(tmp_path, monkeypatch):
    """Blocks of states do not grow beyond a chunk, however quick they are; no disk takes part, which is slow."""
    body = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), t_span=(0.0, 1.0))
    for name in ("write_chunk", "commit", "close"):
        monkeypatch.setattr(chunked, name, lambda *arguments: None)
    assert streaming.stream(body, tmp_path / "run.zarr", method="V2", h=1.0 / 400, chunk=1).rows == 401


@pytest.mark.parametrize("method", ["V2", "RKN6_14a", "Suzuki4"])
def test_methods_backward_and_alone(tmp_path, method):
    top = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), forces.gravity(1.0, (0.1, 0.2, 0.5)), (3.0, 0.0))
    streaming.stream(top, tmp_path / "run.zarr", method=method, h=0.01, save_every=7, chunk=10)
    again = store.load(tmp_path / "run.zarr")
    assert same(again, integrate(top, method=method, h=0.01, save_every=7))
    assert again.status == 0


def test_other_spans_and_no_energy(tmp_path):
    twist = ph.Torque(lambda t, Q, w, p: (0.1, 0.0, t))
    body = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), twist)
    streaming.stream(body, tmp_path / "run.zarr", t_span=(1, 2), method="V2", h=0.1)
    again, direct = store.load(tmp_path / "run.zarr"), integrate(body, (1, 2), method="V2", h=0.1)
    assert all(getattr(again, name).tobytes() == getattr(direct, name).tobytes() for name in ("t", "m", "q", "omega"))
    assert "energy" not in xarray.open_zarr(tmp_path / "run.zarr")


def test_others_read_the_store(tmp_path):
    begin(tmp_path / "run.zarr")
    with xarray.open_zarr(tmp_path / "run.zarr") as data:
        assert data.m.values.tobytes() == whole().m.tobytes()
        assert data.q.dims == ("time", "body", "quaternion")
        assert data.status.values.tolist() == [0, 0]
        assert json.loads(data.attrs["plan"])["environment"]["polhode"] == ph.__version__


def kill_often(path, kills):
    """Begin, and be killed at random moments, again and again; whether that many were possible."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4)))
    counts, patience = [], 0.6
    for _ in range(kills):
        job = subprocess.Popen(
            [sys.executable, str(TESTS / "streaming_job.py"), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with job:
            try:
                assert job.stdout.readline() == b"going\n", job.stderr.read()
                job.wait(timeout=rng.uniform(0.0, patience))
            except subprocess.TimeoutExpired:
                os.kill(job.pid, signal.SIGKILL)
        assert job.returncode == -signal.SIGKILL, "it was finished before, or failed"
        counts.append(streaming.open_stream(path).rows if path.exists() else 0)
        if not counts[-1]:
            patience *= 2  # a machine so busy that nothing was written yet
    return counts


@pytest.mark.long
@pytest.mark.parametrize("kills", [3, pytest.param(48, marks=pytest.mark.release)])
def test_killed_and_resumed(tmp_path, kills):
    """Killed while it began, computed and wrote: never a lost state, and in the end the same bits."""
    path, done = tmp_path / "run.zarr", 0
    expected = integrate(problem(), method=METHOD, h=H, save_every=EVERY)
    while done < kills:
        some = min(8, kills - done)  # a run is long enough for so many
        counts = kill_often(path, some)
        assert counts == sorted(counts)
        assert counts[-1] > 0
        part = store.load(path)
        assert len(part) == counts[-1]
        assert part.q.tobytes() == expected.q[: len(part)].tobytes()
        assert streaming.resume(path, problem()).finished
        assert same(store.load(path), expected)
        leftovers = [file.name for file in tmp_path.rglob("*") if file.name.endswith("partial")]
        assert not leftovers
        done += some
        path = tmp_path / f"run{done}.zarr"


def test_one_writer(tmp_path):
    """Another process writes: begin and resume are refused, load is not; kill -9 ends it."""
    path = tmp_path / "run.zarr"
    command = [sys.executable, str(TESTS / "streaming_job.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        assert job.stdout.readline() == b"going\n", job.stderr.read()
        while not path.exists():
            assert job.poll() is None
            time.sleep(0.01)
        told = f"{path} is being written by process {job.pid} on .*; wait until it has ended, or choose another name"
        for write in (begin, lambda path: streaming.resume(path, problem())):
            with pytest.raises(errors.StoreError, match=told):
                write(path)
        assert len(store.load(path)) == streaming.open_stream(path).rows or job.poll() is None
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
    with writer_lock.only_writer(path), pytest.raises(errors.StoreError, match=f"by process {os.getpid()} on"):
        streaming.resume(path, problem())
    assert [file.name for file in tmp_path.iterdir()] == ["run.zarr"]


def test_begun_at_once_by_several_threads(tmp_path):
    """One of them gets the store, and its states are all its own."""
    path, barrier, done, refused = tmp_path / "run.zarr", threading.Barrier(4), [], []

    def write(size):
        body = Problem((1, 2, 3), ph.State((0.3, 0.2, size)), t_span=(0.0, 1.0))
        barrier.wait()
        try:
            streaming.stream(body, path, method="V2", h=0.01, chunk=4)
            done.append(integrate(body, method="V2", h=0.01))
        except errors.StoreError as problem_:
            refused.append(str(problem_))

    threads = [threading.Thread(target=write, args=(size,)) for size in (0.6, 0.7, 0.8, 0.9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert len(refused) == 3
    assert all("is being written by" in text or "exists already" in text for text in refused)
    assert same(store.load(path), done[0])


def test_where_locks_are_unknown(tmp_path, monkeypatch):
    """Some network file systems have none: a warning says so, and the run goes on."""
    problem_ = OSError(errno.ENOSYS, "Function not implemented")
    fails_at(monkeypatch, writer_lock, "_acquire", 1, problem_)
    with pytest.warns(errors.StoreWarning, match="cannot be locked .Function not implemented."):
        assert begin(tmp_path / "run.zarr").success


def dies_everywhere(tmp_path, monkeypatch, expected, t_end, stride=1, **options):
    """The end comes at each time (each of every `stride`) that something is brought to the disk; the states by then."""
    monkeypatch.setattr(stream_writer, "COMMIT_SECONDS", 0.0)
    number, ends, step = 0, [], 10  # until there is a store, all ends are alike
    while True:
        number += step
        path = tmp_path / f"{number}.zarr"
        with monkeypatch.context() as patch:
            calls = fails_at(patch, atomic, "sync", number, Death())
            patch.setattr(chunked, "sync", atomic.sync)
            with suppress(Death):
                begin(path, t_end, **options)
        if len(calls) < number:
            return ends
        if chunked.is_store(path):
            step = stride
            ends.append(streaming.open_stream(path).rows)
            assert store.load(path).q.tobytes() == expected.q[: ends[-1]].tobytes()
            streaming.resume(path, problem(t_end))
            assert same(store.load(path), expected)


@pytest.mark.long
@pytest.mark.parametrize(("stride", "last"), [(5, 10), pytest.param(1, 31, marks=pytest.mark.long)])
def test_death_at_every_write(tmp_path, monkeypatch, stride, last):
    ends = dies_everywhere(tmp_path, monkeypatch, whole(0.9), 0.9, stride)
    assert len(ends) > 20 // stride
    assert ends == sorted(ends)
    assert last <= ends[-1] <= 31


@pytest.mark.long
def test_death_between_distant_states(tmp_path, monkeypatch):
    """Where the run is counts, too, if there is no new state for a long time."""
    monkeypatch.setattr(running, "FIRST_PIECE", 100)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e9)
    expected = integrate(problem(6.0), method=METHOD, h=H, save_every=300)
    ends = dies_everywhere(tmp_path, monkeypatch, expected, 6.0, save_every=300)
    assert set(ends) >= {1, 2, 3}


@pytest.mark.long
@pytest.mark.parametrize(("module", "name"), [(_local, "_put"), (atomic, "sync"), (atomic.os, "replace")])
def test_a_full_disk(tmp_path, monkeypatch, module, name):
    """At whatever write: an error that says so, and a store that can go on."""
    expected = whole(0.9)
    monkeypatch.setattr(stream_writer, "COMMIT_SECONDS", 0.0)
    full = OSError(errno.ENOSPC, "No space left on device")
    number, resumed = 0, 0
    while True:
        number += 5
        path = tmp_path / f"{number}.zarr"
        with monkeypatch.context() as patch:
            calls = fails_at(patch, module, name, number, full)
            patch.setattr(chunked, "sync", atomic.sync)
            try:
                begin(path, 0.9)
            except errors.StoreError as problem_:
                told = str(problem_)
        if len(calls) < number:
            break
        assert "No space left on device" in told
        assert str(path) in told
        if path.exists():
            streaming.resume(path, problem(0.9))
            assert same(store.load(path), expected)
            resumed += 1
    assert resumed >= 2


def interrupted(monkeypatch, path, call, resume=False):
    """Ctrl-C at that look at the keyboard."""
    with monkeypatch.context() as patch:
        fails_at(patch, Progress, "show", call, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            streaming.resume(path, problem(12.0)) if resume else begin(path, 12.0)
    return caught.value.trajectory


def test_interrupted_by_hand(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    part = interrupted(monkeypatch, path, 15)
    assert not part.finished
    assert not part.success
    assert 0 < part.rows < part.total == 401
    assert part.message.startswith(f"not finished: {part.rows} of 401 states; type polhode.resume(")
    traj = store.load(path)
    assert len(traj) == part.rows == streaming.open_stream(path).rows
    assert traj.status.tolist() == [-2, -2]
    assert traj.message == part.message
    assert not traj.success
    more = interrupted(monkeypatch, path, 5, resume=True)
    assert more.rows > part.rows
    assert streaming.resume(path, problem(12.0)).success
    assert same(store.load(path), whole(12.0))
    assert streaming.resume(path, problem(12.0)).finished  # there is nothing to do


def test_long_ways_between_two_states(tmp_path, monkeypatch):
    """They are not gone twice."""
    path = tmp_path / "run.zarr"
    monkeypatch.setattr(stream_writer, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(running, "FIRST_PIECE", 100)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    with monkeypatch.context() as patch:
        fails_at(patch, Progress, "show", 60, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            begin(path, 12.0, save_every=600)
    part = caught.value.trajectory
    assert part.rows == 1
    assert 0 < part.stats.steps < 1200
    monkeypatch.undo()
    expected = integrate(problem(12.0), method=METHOD, h=H, save_every=600)
    assert streaming.resume(path, problem(12.0)).stats.torques == expected.stats.torques
    assert same(store.load(path), expected)


FAILING = ph.Torque(lambda t, Q, w, p: (0.1 / max(0.0, p[0] - t), 0.0, 0.0), params=(0.5,), name="failing")


@pytest.mark.parametrize("chunk", [7, 100])
def test_a_body_that_cannot_go_on(tmp_path, chunk):
    body = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), FAILING, (0.0, 1.0))
    path = tmp_path / "run.zarr"
    with pytest.raises(errors.RunError, match="division by zero") as caught:
        streaming.stream(body, path, method="V2", h=0.02, chunk=chunk)
    with pytest.raises(errors.RunError) as direct:
        integrate(body, method="V2", h=0.02)
    expected, traj = direct.value.trajectory, store.load(path)
    reached = np.isfinite(expected.q).all(axis=-1)
    assert traj.q.tobytes() == expected.q[reached].tobytes()
    assert traj.t.tobytes() == expected.t[reached].tobytes()
    assert traj.message == expected.message == str(caught.value)
    assert (traj.status, caught.value.trajectory.rows) == (Status.TORQUE_RAISED, reached.sum())
    with xarray.open_zarr(path) as data:
        assert data.sizes["time"] == reached.sum()
        assert data.attrs["message"] == expected.message
    assert streaming.resume(path, body).message == expected.message


def test_a_body_of_a_batch_that_cannot_go_on(tmp_path):
    some = ph.Torque(lambda t, Q, w, p: (0.1 / max(0.0, p[0] - t), 0.0, 0.0), params=[(0.5,), (9.0,)])
    body = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), some, (0.0, 1.0))
    with pytest.warns(errors.RunWarning, match="1 of 2 bodies stopped early"):
        done = streaming.stream(body, tmp_path / "run.zarr", method="V2", h=0.02, chunk=7)
    with pytest.warns(errors.RunWarning):
        expected = integrate(body, method="V2", h=0.02)
    traj = store.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(traj.q, expected.q)
    assert traj.status.tolist() == done.status.tolist() == [Status.TORQUE_RAISED, 0]
    assert traj.message == expected.message


def chunk_files(path, name="q"):
    return sorted(path.glob(f"{name}/[0-9]*.0.0"))


def unfinished(monkeypatch, path):
    """A store with several whole chunks, and more to come."""
    part = interrupted(monkeypatch, path, 15)
    assert not part.finished
    assert len(chunk_files(path)) > 2
    return part


def refused(path, match):
    """By everything that reads the store."""
    for reading in (store.load, streaming.open_stream, lambda path: streaming.resume(path, problem(12.0))):
        with pytest.raises(errors.StoreError, match=match) as caught:
            reading(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: b"x" + data[1:]])
def test_a_damaged_checkpoint(tmp_path, monkeypatch, damage):
    path = tmp_path / "run.zarr"
    unfinished(monkeypatch, path)
    file = path / chunked.CHECKPOINT
    data = file.read_bytes()
    file.write_bytes(damage(data))
    refused(path, "is damaged")
    file.write_bytes(data[:-9] + b"?" + data[-8:])
    refused(path, "checksum")
    file.write_bytes(data.replace(b"checkpoint 1", b"checkpoint 2", 1))
    refused(path, "version 2; type: pip install --upgrade polhode")
    file.write_bytes(data)
    assert streaming.resume(path, problem(12.0)).success  # no chunk was lost


def test_damaged_chunks(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    part = unfinished(monkeypatch, path)
    for name in ("q", "time"):
        file = path / name / ("1.0.0" if name == "q" else "1")
        data = file.read_bytes()
        file.write_bytes(data[:100])
        refused(path, f"{file} is damaged: it has 100 of {len(data)} bytes")
        file.unlink()
        refused(path, f"{file} is damaged: it has 0 of")
        file.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
        for reading in (store.load, lambda path: streaming.resume(path, problem(12.0))):
            with pytest.raises(errors.StoreError, match=f"{file} is damaged"):  # one bit
                reading(path)
        file.write_bytes(data)
    assert len(store.load(path)) == part.rows


def test_what_is_beyond_the_checkpoint_does_not_count(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    part = unfinished(monkeypatch, path)
    for number in (part.rows // CHUNK + 1, part.total // CHUNK):  # the last one is not full
        (path / "q" / f"{number}.0.0").write_bytes(b"half a chunk")
        (path / "q" / f"{number}.0.0.123.partial").write_bytes(b"half a chunk")
    assert len(store.load(path)) == part.rows
    streaming.resume(path, problem(12.0))
    assert same(store.load(path), whole(12.0))
    assert not list(path.rglob("*.partial"))


def test_other_damage(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    unfinished(monkeypatch, path)
    for name, content in (
        (".zattrs", b"{}"),
        (".zattrs", b"{"),
        (".zgroup", b""),
        ("q/.zarray", b"{}"),
        ("m/.zarray", b""),
    ):
        file = path / name
        data = file.read_bytes()
        file.write_bytes(content)
        refused(path, "run.zarr")
        file.write_bytes(data)
    file = path / ".zattrs"
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"format": 1', b'"format": 7'))
    refused(path, "format 7, written by")
    file.write_bytes(data)
    assert streaming.resume(path, problem(12.0)).success


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "file" / "run.zarr", Path("/proc/run.zarr")):
        with pytest.raises(errors.StoreError, match=str(path)):
            begin(path)


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "run.zarr"
    begin(path)
    with pytest.raises(errors.StoreError, match=r"exists already; type polhode.resume\(path, problem\)"):
        begin(path)
    with pytest.raises(errors.StoreError, match="store of a long run, which is not overwritten"):
        store.save(whole(), path)
    (tmp_path / "other.zarr").mkdir()
    with pytest.raises(errors.StoreError, match="exists already; choose another name"):
        begin(tmp_path / "other.zarr")
    with pytest.raises(errors.StoreError, match="not the store of a long run"):
        streaming.resume(tmp_path / "other.zarr", problem(12.0))
    assert same(store.load(path), whole())


def test_only_the_same_problem_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    unfinished(monkeypatch, path)
    start = problem(12.0)
    force, other_force = forces.gravity(1.0, (0.1, 0.2, 0.5)), forces.gravity(1.1, (0.1, 0.2, 0.5))
    for other, what in (
        (Problem(start.body, start.state, other_force), "params"),
        (Problem(start.body, start.state), "damping, force, params"),
        (Problem(start.body, ph.State(start.state.m * 1.1), force), "start_m"),
        (Problem((1, 2, 3), start.state, force), "axes, moments"),
    ):
        with pytest.raises(errors.InputError, match=f"another problem: {what} differ"):
            streaming.resume(path, other)
    with pytest.raises(errors.InputError, match=r"begun with Splitting\(Exact\(\), 'S6_10'\), and method is"):
        streaming.resume(path, start, method="V2")
    assert streaming.resume(path, start, method=METHOD).success


LAW = """
GAIN = {gain}

@compiled
def helper(x):
    return {factor} * x

def made(k):
    def law(t, Q, w, p, shift={shift}):
        return GAIN * p[0] * k, helper(t), {body}
    return law

law = made({k})
"""


def under_a_law(t_end=12.0, gain=0.01, factor=0.02, shift=0.03, k=1.0, body="shift", **options):
    """A body whose torque is read anew, as from a file that was edited."""
    names = {"compiled": njit if JIT else lambda function: function}
    exec(LAW.format(gain=gain, factor=factor, shift=shift, k=k, body=body), names)
    torque = ph.Torque(names["law"], params=[1.0], **options)
    return Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), torque, (0.0, t_end))


@pytest.fixture
def begun(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    with monkeypatch.context() as patch:
        fails_at(patch, Progress, "show", 15, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            streaming.stream(under_a_law(), path, method="V2", h=H, save_every=EVERY, chunk=CHUNK)
    assert not caught.value.trajectory.finished
    return path


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"body": "shift + t"}, "the code of law"),
        ({"factor": 0.021}, "the code of helper"),
        ({"gain": 0.011}, "GAIN, a global of law"),
        ({"k": 2.0}, "k, a closure variable of law"),
        ({"shift": 0.04}, "shift, a default of law"),
        ({"frame": "space"}, "frame, arrays or degree"),
    ],
)
def test_another_law_is_refused_and_named(begun, other, told):
    rows = streaming.open_stream(begun).rows
    with pytest.raises(errors.InputError, match=f"begun with other functions: {told} differ; .*type force=True"):
        streaming.resume(begun, under_a_law(**other))
    assert streaming.open_stream(begun).rows == rows
    assert streaming.resume(begun, under_a_law()).success
    traj = store.load(begun)
    assert traj.q.tobytes() == integrate(under_a_law(), method="V2", h=H, save_every=EVERY).q.tobytes()


def test_another_law_that_is_meant(begun):
    rows = streaming.open_stream(begun).rows
    assert streaming.resume(begun, under_a_law(gain=0.5), force=True).success
    traj, before = store.load(begun), integrate(under_a_law(), method="V2", h=H, save_every=EVERY)
    assert traj.q[:rows].tobytes() == before.q[:rows].tobytes()
    assert np.abs(traj.q - before.q).max() > 0.01


def test_whether_a_torque_depends_on_the_velocity_is_compared(begun):
    with pytest.raises(errors.InputError, match="another problem: velocity_dependent differ"):
        streaming.resume(begun, under_a_law(velocity=True))


def test_stores_without_digests_of_functions(tmp_path):
    with pytest.warns(errors.StoreWarning, match="whether they have changed is not known"):
        record.check_functions(tmp_path, None, {"the code of law": "0"})
    record.check_functions(tmp_path, None, {})


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_methods_that_choose_their_steps(tmp_path, monkeypatch, calls):
    """States at wished times, the same to the bit as those of ``integrate``, also after Ctrl-C."""
    path = tmp_path / "run.zarr"
    batch = problem(12.0)
    method = ph.Adaptive(1e-12)
    times = np.linspace(0.0, 12.0, 301)
    monkeypatch.setattr(running, "FIRST_PIECE", 20)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    monkeypatch.setattr(stream_writer, "COMMIT_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        fails_at(patch, Progress, "show", calls, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            streaming.stream(batch, path, method=method, t_eval=times, chunk=16)
    assert caught.value.trajectory.rows < 301
    assert streaming.resume(path, batch).success
    expected = integrate(batch, method=method, t_eval=times)
    loaded = store.load(path)
    assert same(loaded, expected)
    assert loaded.stats.steps == expected.stats.steps
    assert streaming.resume(path, batch).finished


@pytest.mark.long
def test_a_free_body_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    free = ph.Problem((1.0, 2.0, 3.0), ph.State((0.3, 0.2, 0.9)), t_span=(0.0, 10.0))
    start = free.rows.m.copy()
    with monkeypatch.context() as patch:
        fails_at(patch, stream_writer.StreamWriter, "_take", 5, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            streaming.stream(free, path, h=0.01, chunk=7)
    assert streaming.resume(path, free).success
    loaded, expected = store.load(path), integrate(free, h=0.01)
    assert np.array_equal(loaded.t, expected.t)
    assert np.abs(loaded.q - expected.q).max() < 1e-14
    assert np.array_equal(free.rows.m, start)


@pytest.mark.parametrize("calls", [3, 7, 11])
def test_own_steps_between_breaks(tmp_path, monkeypatch, calls):
    """Also after Ctrl-C before, between and after breaks, where the first step is chosen anew."""
    path = tmp_path / "run.zarr"
    torque = ph.Torque(lambda t, Q, w, p: (0.0, 0.3 if 3.0 < t < 7.0 else 0.0, 0.1), breaks=(3.0, 7.0))
    body = Problem((1.0, 2.0, 3.0), ph.State([(0.3, 0.2, 0.9), (0.1, -0.7, 4.0)]), torque, (0.0, 10.0))
    method = ph.Adaptive(1e-10)
    times = np.linspace(0.0, 10.0, 101)
    monkeypatch.setattr(running, "FIRST_PIECE", 8)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    with monkeypatch.context() as patch:
        fails_at(patch, Progress, "show", calls, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            streaming.stream(body, path, method=method, t_eval=times, chunk=4)
    assert streaming.resume(path, body).success
    expected = integrate(body, method=method, t_eval=times)
    loaded = store.load(path)
    assert all(getattr(loaded, name).tobytes() == getattr(expected, name).tobytes() for name in ("t", "m", "q"))
    assert loaded.stats.steps == expected.stats.steps


def test_times_of_a_long_run_are_checked(tmp_path):
    """Also for free bodies, whose states ``integrate`` computes at any times: a store grows in one direction."""
    free = ph.Problem((1.0, 2.0, 3.0), ph.State((0.3, 0.2, 0.9)), t_span=(0.0, 10.0))
    for times in ([5.0, 20.0], [5.0, 1.0]):
        with pytest.raises(errors.TimeError):
            streaming.stream(free, tmp_path / "run.zarr", t_eval=times)
    assert list(tmp_path.iterdir()) == []


def test_evenly_spaced_states_of_a_method_that_chooses_its_steps(tmp_path):
    done = streaming.stream(problem(12.0), tmp_path / "run.zarr", method="Adaptive")
    assert (done.rows, done.total) == (1001, 1001)
    free = ph.Problem((1.0, 2.0, 3.0), ph.State((0.3, 0.2, 0.9)), t_span=(0.0, 10.0))
    streaming.stream(free, tmp_path / "free.zarr", h=0.5)
    loaded, expected = store.load(tmp_path / "free.zarr"), integrate(free, h=0.5)
    assert np.array_equal(loaded.t, expected.t)
    assert np.abs(loaded.q - expected.q).max() < 1e-14
    with pytest.raises(errors.InputError, match="t_eval is for methods that choose their steps"):
        streaming.stream(problem(12.0), tmp_path / "other.zarr", method="V2", h=0.1, t_eval=[1.0])


def test_other_conditions_are_told(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    unfinished(monkeypatch, path)
    monkeypatch.setattr("polhode.files.environment.processor", lambda: "abacus")
    with pytest.warns(errors.StoreWarning, match=r"processor was .* and is abacus"):
        assert streaming.resume(path, problem(12.0)).success


def test_memory_stays_bounded(tmp_path):
    """100,000 states take 6.4 MB."""
    body = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), t_span=(0.0, 100.0))
    begin(tmp_path / "warm.zarr")
    tracemalloc.start()
    streaming.stream(body, tmp_path / "run.zarr", method="V2", h=0.001, chunk=4000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5e6
