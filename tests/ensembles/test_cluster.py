"""Ensembles on a cluster: workers in processes of their own on this machine; the same bits, come what may."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import polhode as ph
from ensemble_cases import CHUNK, COUNT, HOW, SAMPLES, KillsItsWorker, pendulums, slowly, tops, torque
from polhode import errors, sampling
from polhode.ensembles import cluster
from polhode.ensembles.ensemble import ensemble, open_ensemble

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # those of other packages are theirs


def workers(count):
    return distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def two():
    with workers(2) as several, distributed.Client(several) as client:
        yield client


def run(source, **options):
    return ensemble(source, SAMPLES, **(HOW | options))


def same(a, b):
    assert set(a.variables) == set(b.variables)
    return all(np.asarray(a[name]).tobytes() == np.asarray(b[name]).tobytes() for name in a.variables)


@pytest.fixture(scope="module")
def local():
    """Results of this process, by their factory."""
    return {source: run(source) for source in (tops, pendulums)}


@pytest.mark.parametrize("client", [2, True, object(), ["127.0.0.1:8786"]])
def test_what_is_no_client_is_refused_before_anything_is_written(tmp_path, client):
    with pytest.raises(errors.InputError, match=r"client is .*; expected a distributed\.Client, or the address"):
        run(tops, client=client, out=tmp_path / "e.zarr")
    assert not (tmp_path / "e.zarr").exists()


@pytest.mark.long
@pytest.mark.parametrize("count", [1, pytest.param(4, marks=pytest.mark.long)])
def test_any_number_of_workers(tmp_path, local, count):
    with workers(count) as several, distributed.Client(several) as client:
        assert same(run(tops, client=client), local[tops])
        assert same(run(tops, client=client, out=tmp_path / "e.zarr"), local[tops])


@pytest.mark.long
def test_functions_and_failures(tmp_path, local, two):
    """A torque in Python was compiled here, and is compiled there again; what fails is told as here."""
    assert same(run(pendulums, client=two), local[pendulums])
    found = run(pendulums, client=two, out=tmp_path / "e.zarr")
    assert same(found, local[pendulums])
    assert found.failed.size > 0


def test_a_force_that_was_used_here(two):
    """Its machine code must not go with it: in another process the address would be that of anything."""
    problem = ph.Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), ph.Torque(torque, params=(1.0,)), (0.0, 4.0))
    options = {"samples": {"params": np.linspace(0, 1.5, 50)[:, None]}, "method": "V2", "h": 0.1, "chunk": 8}
    here = ensemble(problem, **options)
    assert here.failed.size > 0
    assert same(ensemble(problem, client=two, **options), here)


@pytest.mark.long
def test_by_address(tmp_path, local, two):
    address = two.scheduler.address
    assert same(run(tops, client=address, out=tmp_path / "e.zarr"), local[tops])
    assert two.nthreads()  # it is still there


@pytest.mark.long
def test_arrays_are_sent_in_parts(two):
    free = {"m": np.random.default_rng(1).normal(size=(1000, 3)), "q": sampling.attitude()}
    problem = tops({name: values[:1] for name, values in SAMPLES.seeded(1)[:1].rows().items()})
    problem = problem.replaced(force=None, body=problem.body.select((1,), 0), state=problem.state.select((1,), 0))
    options = {"seed": 4, "chunk": 64, "t_eval": np.linspace(0, 3, 20)}
    assert same(ensemble(problem, free, client=two, **options), ensemble(problem, free, **options))


def test_a_worker_that_is_killed_at_work(tmp_path, local, two):
    """In the fifth chunk, while others are under way and some are written."""
    flag = tmp_path / "killed"
    found = run(KillsItsWorker(flag, os.getpid()), client=two, out=tmp_path / "e.zarr")
    assert flag.exists(), "no worker was killed"
    assert same(found, local[tops])


@pytest.mark.long
def test_a_worker_that_is_killed_from_outside(tmp_path, local):
    """By its process id, once a few chunks are finished."""
    path = tmp_path / "e.zarr"
    with workers(2) as several, distributed.Client(several) as client:
        pids = client.run(os.getpid)
        killed = []

        def kill():
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if path.exists() and len(list(path.glob("status/done/[0-9]*.json"))) >= 2:
                    killed.append(next(iter(pids.values())))
                    os.kill(killed[0], signal.SIGKILL)
                    return
                time.sleep(0.005)

        killer = threading.Thread(target=kill)
        killer.start()
        found = run(slowly, client=client, out=path)
        killer.join()
        assert killed
        assert killed[0] not in client.run(os.getpid).values()
    assert same(found, local[tops])


@pytest.mark.long
def test_a_client_that_is_lost_and_another_that_goes_on(tmp_path, local, monkeypatch):
    path = tmp_path / "e.zarr"
    with workers(2) as several, distributed.Client(several) as client:
        taken = []

        def interrupted(future, number, sink):
            future.result()
            taken.append(number)
            if len(taken) == 5:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(cluster, "_take", interrupted)
            with pytest.raises(KeyboardInterrupt) as caught:
                run(slowly, client=client, out=path)
    part = caught.value.trajectory
    finished = (part.status.values == 0).sum()
    assert 5 * CHUNK <= finished < COUNT
    assert "are missing; the same call with resume=True goes on" in part.attrs["message"]
    before = {file: file.stat().st_mtime_ns for file in path.glob("status/done/*.json")}
    with workers(1) as several, distributed.Client(several) as client:
        assert same(run(slowly, client=client, out=path, resume=True), local[tops])
    assert all(file.stat().st_mtime_ns == time_ for file, time_ in before.items())
    assert same(open_ensemble(path), local[tops])


@pytest.mark.long
def test_begun_here_and_finished_there(tmp_path, local, two, monkeypatch):
    path, original, calls = tmp_path / "e.zarr", cluster.Job.run, []

    def fewer(job, part, *more):
        calls.append(part)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return original(job, part, *more)

    with monkeypatch.context() as patch:
        patch.setattr(cluster.Job, "run", fewer)
        with pytest.raises(KeyboardInterrupt):
            run(pendulums, out=path)
    assert same(run(pendulums, client=two, out=path, resume=True), local[pendulums])


class FailsThere:
    """Not a member's failure: a machine without memory."""

    def __init__(self, here: int) -> None:
        self.here = here

    def __call__(self, rows):
        if os.getpid() != self.here:
            raise MemoryError("this machine is too small")
        return tops(rows)


def test_what_cannot_be_computed_is_told(two):
    with pytest.raises(errors.PolhodeError, match=r"chunk \d+ could not be computed: MemoryError: this machine"):
        run(FailsThere(os.getpid()), client=two)
