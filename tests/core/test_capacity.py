"""What does not fit in memory or on the disk is refused before it is computed, with its size and a way out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from polhode.cli import cli
from polhode.core import capacity
from polhode.core.errors import MemoryLimitError, StoreError
from polhode.files.long_runs import open_stream
from polhode.integration.fixed_run import FixedRun
from polhode.integration.own_steps_run import OwnStepsRun
from polhode.systems.interactions import DipolarSoftSpheres

Usage = namedtuple("Usage", "total used free")
SAMPLES = ph.sampling.draw(1000, m=ph.sampling.direction())
FREE = ph.problems.free_body()


def run(*args):
    return CliRunner().invoke(cli, [str(word) for word in args], prog_name="polhode")


def message_of(result):
    return " ".join(result.stderr.split())


@pytest.fixture
def disk(monkeypatch):
    """Sets the room that disks are said to have."""

    def set_free(free, total=10**15):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(total, total - free, free))

    return set_free


@pytest.fixture
def memory(monkeypatch):
    """Sets the memory that this machine is said to have."""
    return lambda size: monkeypatch.setattr(capacity, "physical_memory", lambda: size)


# Steps that a method chooses


def test_steps_that_do_not_fit_are_refused_before_anything_runs(memory, tmp_path, monkeypatch):
    """By the least number of steps in the time span, before trial runs."""
    memory(5e9)
    monkeypatch.setattr(OwnStepsRun, "_advance", None)  # so that no run can begin
    problem = ph.problems.perturbed(t_end=1e9)
    told = r"at least 9\d{7} states would take 6\.\d+ GB of memory, and this machine has 5 GB; keep fewer, with"
    for choice in ({}, {"rtol": 1e-8}, {"method": ph.Taylor(1e-12)}, {"method": ph.Adaptive(1e-9)}):
        with pytest.raises(MemoryLimitError, match=told):
            ph.integrate(problem, **choice)
    result = run("run", "perturbed", "--set", "t_end=1e9", "--out", tmp_path / "out")
    assert result.exit_code > 0
    assert "--set output.states=..., or write them to a disk as they are computed, with" in message_of(result)


def test_steps_that_become_too_many_are_refused_soon(memory, monkeypatch):
    """A body that turns slowly at first."""
    memory(1e7)
    monkeypatch.setattr(capacity, "CHECKED_FROM", 2**18)
    force = ph.forces.gravity(1.0, (0.0, 0.0, 0.3))
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.0, 0.0, 1e-7), (0.8, 0.6, 0.0, 0.0)), force, (0.0, 1e6))
    told = r"the steps of the run take [\d.]+ MB of memory after [\d.]+% of the time span, and would not fit; "
    with pytest.raises(MemoryLimitError, match=told):
        ph.integrate(problem, method=ph.Adaptive(1e-9))
    traj = ph.integrate(problem, (0.0, 1e4), method=ph.Adaptive(1e-9), t_eval=[0.0, 1e4])  # these are not kept
    assert traj.success


def test_steps_of_a_stream_are_forgotten(memory, monkeypatch, tmp_path):
    """So that only those between two saved states have to fit."""
    memory(1e7)
    monkeypatch.setattr(capacity, "CHECKED_FROM", 2**12)
    problem = ph.problems.perturbed(t_end=2e5)
    with pytest.raises(MemoryLimitError, match="the steps of the run take"):
        ph.integrate(problem, method=ph.Taylor(1e-9))
    assert ph.stream(problem, tmp_path / "run.zarr", method=ph.Taylor(1e-9), t_eval=np.linspace(0.0, 2e5, 11)).finished


def test_events_that_do_not_fit_end_the_run(memory, monkeypatch):
    """Whatever the states that are saved."""
    problem = ph.Problem((1.0, 1.0, 0.5), ph.State((0.1, 0.0, 2.0)), ph.forces.gravity(0.1, (0, 0, 1)), (0.0, 3000.0))
    options = {"method": "V2", "h": 0.1, "t_eval": [3000.0]}

    def crossing(t, m, q):
        return m[..., 0]

    memory(1e6)
    monkeypatch.setattr(capacity, "CHECKED_FROM", 2**17)
    told = r"the events of the run take [\d.]+ kB of memory after [\d.]+% of the time span, and would not fit; keep"
    with pytest.raises(MemoryLimitError, match=told):
        ph.integrate(problem, events=crossing, **options)
    crossing.terminal = 5
    traj = ph.integrate(problem, events=crossing, **options)
    assert len(traj.t_events[0]) == 5


def test_windows_has_no_limits_of_processes(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert capacity.physical_memory.__wrapped__() >= capacity.physical_memory()


def test_the_memory_of_a_process_may_be_limited():
    """As by ``ulimit -v``."""
    resource = pytest.importorskip("resource")
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({2**42}, {2**42}))"
    code += "; from polhode.core.capacity import physical_memory; print(physical_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == min(capacity.physical_memory(), 2.0**42)
    assert resource.RLIMIT_AS


# Disks


def test_a_long_run_that_does_not_fit_is_refused(tmp_path, disk):
    disk(20e9)
    path, problem = tmp_path / "run.zarr", ph.problems.perturbed(t_end=1e9)
    told = r"run\.zarr: 2000000001 states of 72 bytes would take 144 GB, and its disk has 20 GB free; keep fewer, with "
    with pytest.raises(StoreError, match=told + r"save_every=\.\.\., make room, or choose a path on another disk"):
        ph.stream(problem, path, method="V2")
    assert list(tmp_path.iterdir()) == []


def test_a_long_run_that_is_resumed_needs_room_for_the_rest(tmp_path, disk, monkeypatch):
    path, problem = tmp_path / "run.zarr", ph.problems.heavy_top(t_end=200.0)

    def interrupted(self, *arguments):
        if self.current.steps.max() > 100:
            raise KeyboardInterrupt
        advance(self, *arguments)

    advance = FixedRun._advance
    with monkeypatch.context() as patch:
        patch.setattr(FixedRun, "_advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ph.stream(problem, path, method="V2", chunk=10)
    rest = 401 - open_stream(path).rows
    assert 0 < rest < 400
    disk(72 * rest - 1)
    with pytest.raises(StoreError, match=f"{rest} states of 72 bytes would take"):
        ph.resume(path, problem)
    disk(72 * rest)
    assert ph.resume(path, problem).finished
    disk(0)
    assert ph.resume(path, problem).finished  # nothing is left to write


def test_a_disk_whose_size_is_not_known_is_tried(tmp_path, disk):
    disk(0, total=0)
    assert ph.stream(ph.problems.heavy_top(), tmp_path / "run.zarr", method="V2").finished


def test_an_ensemble_that_does_not_fit_is_refused(tmp_path, disk):
    how = {"t_eval": np.linspace(0, 1, 50), "seed": 1, "chunk": 100}
    size = 1000 * 8 * (50 * 7 + 3 + 1)  # states, samples, status
    disk(size - 1)
    told = (
        r"1000 members would take 2\.83 MB, and its disk has .* free; keep fewer times \(t_eval=\.\.\.\) or a summary "
    )
    with pytest.raises(StoreError, match=told + r"\(reduce=\.\.\.\), follow fewer members, make room"):
        ph.ensemble(FREE, SAMPLES, out=tmp_path / "e.zarr", **how)
    assert not (tmp_path / "e.zarr").exists()
    disk(size)
    assert ph.ensemble(FREE, SAMPLES, out=tmp_path / "e.zarr", **how).failed.size == 0
    disk(0)
    ph.ensemble(FREE, SAMPLES, out=tmp_path / "e.zarr", resume=True, **how)  # nothing is left to write
    for number in (0, 3):
        (tmp_path / "e.zarr" / "status" / "done" / f"{number}.json").unlink()
    with pytest.raises(StoreError, match="200 members would take 566 kB"):
        ph.ensemble(FREE, SAMPLES, out=tmp_path / "e.zarr", resume=True, **how)


def test_commands_refuse_what_does_not_fit(tmp_path, disk, monkeypatch):
    monkeypatch.chdir(tmp_path)
    disk(20e9)
    result = run("run", "perturbed", "--set", "t_end=1e9", "--method", "V2", "--out", "o")
    assert result.exit_code == 2
    assert message_of(result).endswith(
        "o/trajectory.zarr: 2000000001 states of 72 bytes would take 144 GB, and its disk has 20 GB free; keep fewer, "
        "with --set output.save_every=..., make room, or choose a folder on another disk with --out"
    )
    assert [path.name for path in tmp_path.rglob("*")] == ["o"]
    disk(1000)
    assert "3001 states would take 192 kB" in message_of(run("run", "dzhanibekov", "--out", "o"))
    assert "41 states would take 8.2 kB" in message_of(
        run("run", "heavy_top", "--method", "V2", "--set", "output.format=csv", "--out", "o")
    )
    (tmp_path / "e.toml").write_text(
        "t_span = [0, 1]\n[body]\nmoments = [1, 2, 3]\n[state]\nm = [1, 1, 1]\n"
        '[ensemble]\ncount = 1000\n[ensemble.samples]\n"state.m" = {kind = "direction", length = 1}\n'
    )
    assert message_of(run("ensemble", "e.toml")).endswith(
        "1000 members would take 88 kB, and its disk has 1 kB free; keep fewer times (--set ensemble.states=...) or a "
        "summary (--set ensemble.reduce=...), follow fewer members (--set ensemble.count=...), make room, or choose a "
        "folder on another disk with --out"
    )


# Memory


LARGE = 1e6  # bytes
TOP = ph.problems.heavy_top(t_end=20_000.0)


def crystal():
    return ph.System.lattice(ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: ph.integrate(TOP, method="V2"), r"40001 states would take 2\.56 MB of memory.*polhode\.stream\("),
        (
            lambda path: ph.integrate(TOP, method="V2", t_eval=np.linspace(0, 1, 20_000)),
            r"20001 states would take 1\.28 MB of memory.*save_every=\.\.\. or t_eval=\.\.\.",
        ),
        (
            lambda path: ph.integrate(TOP, method=ph.Adaptive(1e-6), t_eval=np.linspace(0, 1, 20_000)),
            r"20000 states would take 1\.28 MB",
        ),
        (
            lambda path: ph.integrate(crystal(), (0, 10), h=1e-3),
            r"10001 states of 8 bodies each would take 8\.4 MB of memory",
        ),
        (
            lambda path: ph.propagate((1, 2, 3), (1, 1, 1), t=np.broadcast_to(0.0, (2**20,))),
            r"1048576 states would take 58\.7 MB of memory.*fewer bodies or times at once, or out=\(m, q\)",
        ),
        (
            lambda path: ph.ensemble(FREE, SAMPLES, t_eval=np.linspace(0, 1, 50)),
            r"1000 members would take 2\.83 MB of memory.*type out='name\.zarr'",
        ),
        (
            lambda path: ph.ensemble(FREE, SAMPLES, t_eval=np.linspace(0, 1, 50), chunk=1000, out=path / "e.zarr"),
            r"a chunk of 1000 members would take 2\.8 MB of memory.*type a smaller chunk=",
        ),
    ],
)
def test_what_does_not_fit_in_memory_is_refused(call, message, tmp_path, memory):
    memory(LARGE)
    with pytest.raises(MemoryLimitError, match=message):
        call(tmp_path)
    assert list(tmp_path.glob("*.zarr")) == []
    assert issubclass(MemoryLimitError, MemoryError)


def test_what_the_system_refuses_is_told_with_its_size(monkeypatch):
    def refused(*arguments):
        raise MemoryError

    monkeypatch.setattr(FixedRun, "at_steps", refused)
    with pytest.raises(
        MemoryLimitError, match=r"41 states would take 2\.62 kB of memory, which could not be allocated"
    ):
        ph.integrate(ph.problems.heavy_top(), method="V2")


def test_a_long_run_that_is_too_large_to_load(tmp_path, memory):
    ph.stream(ph.problems.heavy_top(), tmp_path / "run.zarr", method="V2")
    memory(1000)
    with pytest.raises(
        MemoryLimitError, match=r"run\.zarr: 41 states would take 2\.95 kB of memory.*xarray\.open_zarr"
    ):
        ph.load(tmp_path / "run.zarr")


def test_commands_say_so(tmp_path, memory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory(LARGE)
    for arguments in (("dzhanibekov",), ("heavy_top", "--method", "V2")):
        result = run("run", *arguments, "--set", "output.states=100000", "--out", "o")
        assert result.exit_code == 2
        assert message_of(result).startswith(
            "Error: 100000 states would take 6.4 MB of memory, and this machine has 1 MB"
        )
        assert "--set output.save_every=... or --set output.states=..." in message_of(result)
