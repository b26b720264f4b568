"""Ensembles on one machine: true results, whatever the chunks; failures that stay alone; stores that go on."""

from __future__ import annotations

import json
import os
import re
import sys
import tracemalloc

import numpy as np
import pytest
import xarray

import polhode as ph
from conftest import EPS, distance, golden_cases
from ensemble_cases import CHUNK, COUNT, HOW, SAMPLES, SEED, pendulums, tops
from polhode import errors, forces, sampling
from polhode.core import progress
from polhode.ensembles import cost, members
from polhode.ensembles import reader as ensemble_reader
from polhode.ensembles import store as ensemble_store
from polhode.ensembles.ensemble import ensemble, open_ensemble
from polhode.ensembles.plan import EnsembleOptions, plan
from polhode.files import atomic, checksums, chunked
from polhode.integration import running
from polhode.solve import integrate

FREE = ph.Problem((1.0, 1.5, 2.0), ph.State(m=(0, 0, 1)), t_span=(0.0, 10.0))
TOP = ph.Problem((1.0, 1.0, 0.5), ph.State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 5))


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """A process can be lost without the machine: that files are on the disk matters to the latter, and takes time."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)


def same(a, b):
    """The same bits of everything but attributes."""
    assert set(a.variables) == set(b.variables)
    return all(np.asarray(a[name]).tobytes() == np.asarray(b[name]).tobytes() for name in a.variables)


def run(source=tops, **options):
    return ensemble(source, SAMPLES, **(HOW | options))


def test_free_bodies_against_high_precision():
    """Members are golden cases, each with a time of its own."""
    cases = [case for case in golden_cases() if case["label"].startswith("generic")]
    names = {"moments": "I", "m": "m0", "q": "q0", "t": "t"}
    found = ensemble(FREE, {name: [case[key] for case in cases] for name, key in names.items()}, chunk=7)
    for case, m, q in zip(cases, found.m.values, found.q.values, strict=True):
        size = np.linalg.norm(case["m0"])
        assert distance(m, case["m"]) <= 6 * EPS * (1 + case["cond_m"]) * size
        assert distance(q, case["q"]) <= 6 * EPS * (1 + case["cond_q"])
    assert found.t.values.tolist() == [case["t"] for case in cases]


def test_torqued_bodies_against_high_precision():
    """Copies of the satellite, with a state known from Taylor series."""
    satellite = ph.problems.get("satellite")
    (t, truth), *_ = satellite.truth.items()
    samples = sampling.draw(5, m=sampling.always(satellite.state.m), q=sampling.always(satellite.state.q))
    found = ensemble(satellite, samples, t_span=(0, t), method="RKN8_19", h=0.002, chunk=2)
    assert np.abs(found.q.values[:, -1] - truth.q).max() < 1e-9
    assert np.abs(found.m.values[:, -1] / truth.m - 1).max() < 1e-9


def test_a_member_is_a_run_of_its_own():
    found = run()
    rows = SAMPLES.seeded(SEED).rows()
    for i in (0, CHUNK, COUNT - 1):
        alone = tops({name: values[i : i + 1] for name, values in rows.items()})
        direct = integrate(alone, method=HOW["method"], h=HOW["h"], t_eval=HOW["t_eval"])
        assert found.q.values[i].tobytes() == direct.q[:, 0].tobytes()
        assert found.m.values[i].tobytes() == direct.m[:, 0].tobytes()
    assert found.start_q.values.tobytes() == rows["q"].tobytes()
    assert found.weight.dims == ("member",)
    assert found.q.dims == ("member", "time", "quaternion")
    assert found.m.attrs["frame"] == "body"


@pytest.mark.parametrize("chunk", [1, 7, 1000, None])
def test_no_bit_depends_on_chunks(chunk):
    some = SAMPLES[:60]
    assert same(ensemble(tops, some, **HOW), ensemble(tops, some, **(HOW | {"chunk": chunk})))


def test_many_times_of_free_bodies():
    """From 16 times on they are evaluated in another way, to the same digits."""
    samples = sampling.draw(20, m=sampling.direction(), q=sampling.attitude())
    times = np.linspace(0, 50, 40)
    many, few = (ensemble(FREE, samples, t_eval=t, seed=1) for t in (times, times[::4]))
    assert np.abs(many.q.values[:, ::4] - few.q.values).max() < 1e-13
    assert many.attrs["method"] == "ClosedForm()"
    last = ensemble(FREE, samples, seed=1)
    assert np.abs(last.q.values[:, 0] - ph.propagate(FREE.body, last.start_m, last.start_q, 10.0)[1]).max() == 0


def test_one_member_at_a_time():
    def make(row):
        assert row["weight"].shape == ()
        body = ph.RigidBody(row["moments"])
        force = forces.gravity(float(row["weight"]), (0.0, 0.0, 0.2))
        return ph.Problem(body, force=force, omega=row["omega"], q=row["q"], t_span=(0.0, 4.0))

    assert same(ensemble(make, SAMPLES[:20], vectorized=False, **HOW), ensemble(tops, SAMPLES[:20], **HOW))
    free = sampling.draw(3, m=sampling.direction(), t=sampling.uniform(0, 5))
    alone = ensemble(lambda row: ph.Problem((1, 2, 3), ph.State(row["m"])), free, vectorized=False, seed=1)
    together = ensemble(ph.Problem((1, 2, 3), ph.State((1, 0, 0))), free, seed=1)
    assert same(alone, together)


def full(rows):
    """Damping matrices (n, 3, 3) that are not diagonal."""
    return rows[:, None, :] * np.eye(3) + 0.3 * np.sqrt(rows[:, :, None] * rows[:, None, :])


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("of", [np.asarray, full])
def test_parameters_and_damping_of_a_force(members, of):
    """Also where three members of three numbers look like a matrix."""
    force = ph.Torque(lambda t, Q, w, p: (p[0], p[1], 0.0), params=(0.1, 0.0)) + forces.damping((0.1, 0.1, 0.1))
    problem = ph.Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), force, (0, 1))
    params = np.array([(0.1, 0.2), (0.3, -0.1), (0.2, 0.2)])[:members]
    damping = of(np.array([(0.1, 0.0, 0.2), (0.0, 0.3, 0.1), (0.2, 0.1, 0.1)])[:members])
    found = ensemble(problem, {"params": params, "damping": damping}, method="V2", h=0.1)
    for i in range(members):
        force = ph.Torque(lambda t, Q, w, p: (p[0], p[1], 0.0), params=params[i]) + forces.damping(damping[i])
        single = ph.Problem((1, 2, 3), ph.State(((0.3, 0.2, 0.9),)), force, (0, 1))
        alone = integrate(single, method="V2", h=0.1, t_eval=[1.0])
        assert found.q.values[i, -1].tobytes() == alone.q[-1, 0].tobytes()
    assert (problem.force.params == (0.1, 0.0)).all()


def test_trial_runs_of_an_ensemble_print_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    monkeypatch.setattr(running, "LONG_PIECE", 0.0)
    samples = sampling.draw(4, m=sampling.normal((0.1, 0, 2), 0.5))
    ensemble(TOP, samples, rtol=1e-8, seed=2, progress=True)
    assert "trial runs, which choose the steps, have taken" in capsys.readouterr().err
    ensemble(TOP, samples, rtol=1e-8, seed=2)
    assert not capsys.readouterr().err


def test_trial_runs_of_a_chunk_show_its_part(monkeypatch):
    monkeypatch.setattr(running, "LONG_PIECE", 0.0)
    samples = sampling.draw(4, m=sampling.normal((0.1, 0, 2), 0.5)).seeded(2)
    job, _ = plan(TOP, samples, EnsembleOptions(None, "RKN6_14a", None, 1e-8, None, None, True))
    shown = []
    job.run(samples, shown.append)
    assert shown.count(0.0) > 1


@pytest.mark.parametrize("method", [None, "RKN6_14a"])
def test_method_is_chosen_once_and_a_step_for_each_member(method):
    """To the error that was asked for, and to the bits of ``integrate`` with all members, whatever the chunks."""
    samples = sampling.draw(40, m=sampling.normal((0.1, 0, 2), 0.5))
    found = ensemble(TOP, samples, rtol=1e-8, method=method, seed=2, chunk=9)
    fine = ensemble(TOP, samples, method="RKN8_19", h=0.01, seed=2)
    assert np.abs(found.q.values - fine.q.values).max() < 1e-8
    for chunk in (1, 40):
        other = ensemble(TOP, samples, rtol=1e-8, method=method, seed=2, chunk=chunk)
        assert other.q.values.tobytes() == found.q.values.tobytes()


def test_steps_of_members_are_those_of_integrate():
    m = np.random.default_rng(1).normal(size=(12, 3)) * np.geomspace(0.3, 4.0, 12)[:, None]
    found = ensemble(TOP, {"m": m}, rtol=1e-7, method="RKN6_14a", chunk=5)
    batch = TOP.replaced(state=ph.State(m=m, q=TOP.state.q))
    expected = integrate(batch, rtol=1e-7, method="RKN6_14a", t_eval=[TOP.t_span[1]])
    assert found.m.values.tobytes() == np.swapaxes(expected.m, 0, 1).tobytes()
    assert (found.attrs["h"], found.attrs["rtol"]) == ("null", 1e-7)


# Cost


def with_cost(monkeypatch, seconds):
    """Members take so many seconds on one core, of which there are two."""
    module = sys.modules["polhode.ensembles.ensemble"]
    monkeypatch.setattr(module, "measured_cost", lambda job, pilot: cost.Cost(seconds))
    monkeypatch.setattr(cost, "thread_count", lambda: 2)


def test_chunks_take_seconds_and_a_resumed_ensemble_keeps_its_own(tmp_path, monkeypatch):
    """With 0.5 s for a member and two cores, 12 members take 3 s; later measurements do not matter."""
    how = {"method": "V2", "h": 0.05, "seed": 3}
    samples = sampling.draw(30, m=sampling.normal((0.1, 0, 2), 0.05))
    with_cost(monkeypatch, 0.5)
    found = ensemble(TOP, samples, out=tmp_path / "a.zarr", **how)
    assert found.attrs["chunk"] == 12
    (tmp_path / "a.zarr" / "status" / "done" / "1.json").unlink()
    with_cost(monkeypatch, 1e-9)
    again = ensemble(TOP, samples, out=tmp_path / "a.zarr", resume=True, **how)
    assert again.attrs["chunk"] == 12
    assert again.q.values.tobytes() == ensemble(TOP, samples, **how).q.values.tobytes()
    with pytest.raises(errors.StoreError, match="chunk was 12 and is 10"):
        ensemble(TOP, samples, out=tmp_path / "a.zarr", resume=True, chunk=10, **how)
    with_cost(monkeypatch, 100.0)
    assert ensemble(TOP, samples[:2], **how).attrs["chunk"] == 1


def test_a_large_ensemble_is_announced(tmp_path, monkeypatch, capsys):
    how = {"method": "V2", "h": 0.5, "seed": 3, "progress": True}
    samples = sampling.draw(300, m=sampling.normal((0.1, 0, 2), 0.05))
    with_cost(monkeypatch, 2.0)
    ensemble(TOP, samples, chunk=100, **how)
    # 300 members of 3 + 3 + 4 + 1 numbers of 8 bytes
    assert "300 members in 3 chunks: about 5 min, and 26.4 kB of memory" in capsys.readouterr().err
    ensemble(TOP, samples, chunk=100, out=tmp_path / "b.zarr", **how)
    assert f"about 5 min, and 26.4 kB in {tmp_path / 'b.zarr'}" in capsys.readouterr().err
    with_cost(monkeypatch, 0.01)
    ensemble(TOP, samples, chunk=100, **how)
    assert "about" not in capsys.readouterr().err


def test_cost_is_measured_with_parts_of_the_time_span(monkeypatch):
    """By a clock on which every unit of time of a member takes a millisecond."""
    from polhode.ensembles.members import Job

    clock = [0.0]
    spans = []

    def integrated(self, problem, report=None):
        spans.append(self.span[1] - self.span[0])
        clock[0] += 1e-3 * spans[-1] * 8

    monkeypatch.setattr(Job, "integrated", integrated)
    monkeypatch.setattr(cost.time, "perf_counter", lambda: clock[0])
    problem = TOP.replaced(t_span=(0.0, 1e4))
    pilot = problem.replaced(state=ph.State(m=np.tile(TOP.state.m, (8, 1)), q=TOP.state.q))
    job = Job(problem, (0.0, 1e4), np.array([1e4]), ph.Splitting(), 0.1, None, True, {})
    assert cost.measured_cost(job, pilot).seconds == pytest.approx(10.0)
    assert max(spans) < 100.0


def test_first_members_that_fail_have_no_cost(monkeypatch):
    from polhode.ensembles.members import Job

    def fails(self, problem, report=None):
        raise ValueError

    monkeypatch.setattr(Job, "integrated", fails)
    job = Job(TOP, (0.0, 1.0), np.array([1.0]), ph.Splitting(), 0.1, None, True, {})
    assert cost.measured_cost(job, TOP).members(2) == np.inf


def test_adaptive_methods_agree():
    samples = sampling.draw(40, m=sampling.normal((0.1, 0, 2), 0.05))
    fine = ensemble(TOP, samples, method="RKN8_19", h=0.01, seed=2)
    adaptive = ensemble(TOP, samples, method=ph.Adaptive(1e-10), seed=2)
    assert np.abs(adaptive.q.values - fine.q.values).max() < 1e-7


# What fails


def test_failures_stay_alone():
    found, good = run(pendulums), SAMPLES.seeded(SEED).rows()["weight"] <= 1.4
    assert 0 < found.failed.size == (~good).sum() < COUNT / 4
    assert found.failed.values.tolist() == np.flatnonzero(~good).tolist()
    assert ((found.status.values < 0) == ~good).all()
    late = found.time.values > 2.1
    assert np.isnan(found.q.values[~good][:, late]).all()
    assert np.isfinite(found.q.values[~good][:, ~late]).all()
    assert np.isfinite(found.q.values[good]).all()
    first = str(found.error.values[0])
    assert first.startswith(f"member {int(found.failed[0])} stopped in step 41 of 80, at t = 2.0")
    assert first.endswith("the torque raised ValueError: the string broke")


def test_members_that_cannot_be_made():
    samples = {"moments": np.ones((50, 3)), "m": np.ones((50, 3))}
    samples["moments"][[9, 10, 33], 1] = (-1.0, np.nan, 0.0)
    found = ensemble(FREE, samples, chunk=20)
    assert found.failed.values.tolist() == [9, 10, 33]
    assert all("InertiaError" in text and "must be positive" in text for text in found.error.values)
    assert (np.isnan(found.q.values).any(axis=(1, 2)) == (found.status.values < 0)).all()
    samples["moments"][:] = -1.0
    with pytest.raises(errors.InertiaError, match="must be positive"):
        ensemble(FREE, samples)


def test_failures_have_no_summary():
    found = run(pendulums, reduce=lambda trajectory: {"first": trajectory.q[0]})
    bad = found.status.values < 0
    assert np.isnan(found["first"].values[bad]).all()
    assert np.isfinite(found["first"].values[~bad]).all()
    assert "q" not in found
    assert "time" not in found.dims


def test_one_at_a_time_fails_alone():
    def make(row):
        if row["weight"] > 1.2:
            raise RuntimeError("no such body")
        return pendulums({name: values[None] for name, values in row.items()})

    with pytest.raises(errors.ShapeError, match="expected a single body"):
        ensemble(make, SAMPLES[:20], vectorized=False, **HOW)
    force = ph.Torque(lambda t, Q, w, p: (1.0 / (1.0 - p[0] * (t > 1.0)), 0.0, 0.0), params=(1.0,))
    how = {"t_span": (0, 2), "method": "V2", "h": 0.1, "t_eval": [0.5, 1.5], "vectorized": False}
    failing = ensemble(lambda row: ph.Problem((1, 2, 3), ph.State(row["m"]), force), {"m": np.eye(3)}, **how)
    assert (failing.status.values < 0).all()
    assert str(failing.error.values[2]).startswith("member 2 stopped in step 11 of 20")
    assert np.isfinite(failing.q.values[:, 0]).all()
    assert np.isnan(failing.q.values[:, 1]).all()


# Summaries


def test_summaries():
    def last(trajectory):
        return {"end": trajectory.q[-1], "angle": 2 * np.arccos(np.abs(trajectory.q[-1, :, 0]))}

    found, states = run(reduce=last), run()
    assert found.end.values.tobytes() == states.q.values[:, -1].tobytes()
    assert found.end.dims == ("member", "end_0")
    assert found.angle.dims == ("member",)
    omega = np.linalg.norm(states.m.values / states.moments.values[:, None], axis=-1)
    assert np.abs(run(reduce="rate").fastest.values - omega.max(axis=1)).max() < 1e-15
    assert run(reduce="energy_error").energy_error.values.max() < 1e-5
    still = run(reduce="tilt", t_eval=[0.0, 0.0])
    assert np.abs(still.tilt.values).max() < 1e-7


def test_tilt_of_a_known_motion():
    spin = ph.Problem((1, 1, 1), ph.State((0.5, 0, 0)), t_span=(0, 3))
    found = ensemble(spin, {"m": [(0.5, 0, 0), (0, 0, 2.0)]}, t_eval=np.linspace(0, 3, 31), reduce="tilt")
    assert np.abs(found.tilt.values - (1.5, 0.0)).max() < 1e-15


# Stores


def test_the_store_is_the_same(tmp_path):
    stored, direct = run(pendulums, out=tmp_path / "e.zarr"), run(pendulums)
    assert same(stored, direct)
    assert same(open_ensemble(tmp_path / "e.zarr"), direct)
    assert (stored.attrs["message"], stored.attrs["chunk"], stored.attrs["seed"]) == ("", CHUNK, SEED)
    assert json.loads(stored.attrs["environment"])["polhode"] == ph.__version__
    with xarray.open_zarr(tmp_path / "e.zarr") as others:
        assert others.q.values.tobytes() == direct.q.values.tobytes()
        assert others.error.values.tolist() == direct.error.values.tolist()
    assert stored.status.dtype == np.int64


def interrupted(monkeypatch, chunks, **options):
    """Ctrl-C in that chunk."""
    original, calls = members.Job.run, []

    def fewer(job, part, *more):
        calls.append(part)
        if len(calls) > chunks:
            raise KeyboardInterrupt
        return original(job, part, *more)

    with monkeypatch.context() as patch:
        patch.setattr(members.Job, "run", fewer)
        with pytest.raises(KeyboardInterrupt) as caught:
            run(**options)
    return caught.value.trajectory


def test_interrupted_and_resumed(tmp_path, monkeypatch):
    path = tmp_path / "e.zarr"
    part, whole = interrupted(monkeypatch, 4, out=path, source=pendulums), run(pendulums)
    assert (part.status.values[4 * CHUNK :] == -2).all()
    assert part.q.values[: 4 * CHUNK].tobytes() == whole.q.values[: 4 * CHUNK].tobytes()
    assert "11 of 15 chunks are missing" in part.attrs["message"]
    assert 0 < part.failed.size < whole.failed.size
    again = interrupted(monkeypatch, 5, out=path, source=pendulums, resume=True)
    assert (again.status.values != -2).sum() == 9 * CHUNK
    calls = []
    original = members.Job.run
    monkeypatch.setattr(members.Job, "run", lambda job, part, *more: calls.append(part) or original(job, part, *more))
    assert same(run(pendulums, out=path, resume=True, seed=None), whole)
    assert len(calls) == 6
    assert same(run(pendulums, out=path, resume=True), whole)
    assert len(calls) == 6


def test_interrupted_in_memory(monkeypatch):
    part = interrupted(monkeypatch, 2)
    assert (part.status.values == -2).sum() == COUNT - 2 * CHUNK
    assert "with out=" in part.attrs["message"]


def test_interrupted_while_bodies_move(tmp_path, monkeypatch):
    """``integrate`` then raises KeyboardInterrupt with what it has; of the chunk nothing is kept."""
    original, calls = members.integrate_chosen, []

    def stops(*arguments, **options):
        result = original(*arguments, **options)
        calls.append(1)
        if len(calls) == 3:
            raise errors.Interrupted(result)
        return result

    monkeypatch.setattr(members, "integrate_chosen", stops)
    with pytest.raises(KeyboardInterrupt) as caught:
        run(out=tmp_path / "e.zarr")
    part = caught.value.trajectory
    assert (part.status.values != -2).sum() == 2 * CHUNK


def test_one_writer(tmp_path):
    """Two ensembles at once on one store: the second is refused, and disturbs nothing."""
    path, told = tmp_path / "e.zarr", []

    def begins_another(rows):
        if not told and path.exists():
            for resume in (False, True):
                with pytest.raises(errors.StoreError, match=f"is being written by process {os.getpid()}") as caught:
                    run(out=path, resume=resume)
                told.append(caught.value)
        return tops(rows)

    assert same(run(begins_another, out=path), run())
    assert len(told) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["e.zarr"]


def test_a_chunk_without_any_number(tmp_path):
    """All of its members failed: NaN is written as other numbers are."""
    some = SAMPLES[:40]
    how = HOW | {"chunk": 1, "reduce": lambda trajectory: {"first": trajectory.q[0]}}
    assert same(ensemble(pendulums, some, out=tmp_path / "e.zarr", **how), ensemble(pendulums, some, **how))


class Death(BaseException):
    """Stands for the end of the process: nobody catches it."""


@pytest.mark.long
@pytest.mark.parametrize("stride", [10, pytest.param(3, marks=pytest.mark.long)])
def test_death_at_every_write(tmp_path, monkeypatch, stride):
    """A chunk counts as a whole or not at all."""
    some, how = SAMPLES[:40], HOW | {"chunk": 10}
    whole = ensemble(pendulums, some, **how)
    number, ends = 0, []
    while True:
        number += stride
        path, calls = tmp_path / f"{number}.zarr", []

        def dies(place, calls=calls, number=number):
            calls.append(place)
            if len(calls) >= number:
                raise Death

        with monkeypatch.context() as patch:
            for module in (atomic, chunked, ensemble_store):
                patch.setattr(module, "sync", dies)
            try:
                ensemble(pendulums, some, out=path, **how)
                break
            except Death:
                pass
        if path.exists():
            ends.append(len(ensemble_store.OnDisk(path).finished))
            assert same(ensemble(pendulums, some, out=path, resume=True, **how), whole)
            assert not list(path.rglob("*.partial"))
    assert ends == sorted(ends)
    assert set(ends) >= {0, 1, 2, 3}


def test_other_ensembles_are_refused(tmp_path):
    path = tmp_path / "e.zarr"
    run(out=path)
    with pytest.raises(errors.StoreError, match="exists already; type resume=True"):
        run(out=path)
    for other in ({"seed": 1}, {"h": 0.04}, {"chunk": 15}, {"method": "V2"}, {"t_eval": [1.0, 2, 3, 3.5, 4]}):
        with pytest.raises(errors.StoreError, match=r"is another ensemble: .* was .* and is"):
            run(out=path, resume=True, **other)
    with pytest.raises(errors.StoreError, match="is another ensemble: count was 240"):
        ensemble(tops, SAMPLES[:100], out=path, resume=True, **HOW)
    with pytest.raises(errors.StoreError, match="is another ensemble: force"):
        run(pendulums, out=path, resume=True)
    with pytest.raises(errors.StoreError, match="does not exist"):
        run(out=tmp_path / "none.zarr", resume=True)
    with pytest.raises(errors.InputError, match="type out="):
        run(resume=True)
    integrate(TOP, h=0.1).save(tmp_path / "run.zarr")
    with pytest.raises(errors.StoreError, match="is not an ensemble"):
        open_ensemble(tmp_path / "run.zarr")


def a_study(monkeypatch=None, chunks=0, rate=1.0, scale=1.0, weight=1.0, power=1, **options):
    """An ensemble with functions of four kinds, of which any can be another one; Ctrl-C after some chunks."""

    def push(t, Q, w, p):
        return rate * p[0], 0.0, 0.0

    def make(rows):
        force = ph.Torque(push, params=scale * rows["weight"][:, None])
        return ph.Problem((1, 2, 3), ph.State(np.broadcast_to((0.3, 0.2, 0.9), (len(rows["weight"]), 3))), force)

    def last(trajectory):
        return {"end": trajectory.q[-1, :, 0] ** power}

    law = sampling.each(lambda rng: weight * rng.uniform() if rng.uniform() > 0.0 else 0.0)
    samples = sampling.draw(12, weight=law)
    given = {"t_span": (0, 1), "method": "V2", "h": 0.1, "chunk": 3, "seed": 5, "reduce": last} | options
    if not chunks:
        return ensemble(make, samples, **given)
    original, calls = members.Job.run, []

    def fewer(job, part, *more):
        calls.append(part)
        if len(calls) > chunks:
            raise KeyboardInterrupt
        return original(job, part, *more)

    with monkeypatch.context() as patch:
        patch.setattr(members.Job, "run", fewer)
        with pytest.raises(KeyboardInterrupt) as caught:
            ensemble(make, samples, **given)
    return caught.value.trajectory


def test_other_functions_are_refused_and_named(tmp_path, monkeypatch):
    path = tmp_path / "e.zarr"
    a_study(monkeypatch, 2, out=path)
    for other, told in (
        ({"rate": 2.0}, "rate, a closure variable of push"),
        ({"scale": 1}, "scale, a closure variable of make"),
        ({"power": 2}, "power, a closure variable of last"),
        ({"reduce": "tilt"}, "reduce"),
    ):
        with pytest.raises(
            errors.InputError, match=f"begun with other functions: .*{told}.* differ; .*type force=True"
        ):
            a_study(out=path, resume=True, **other)
    whole = a_study()
    assert same(a_study(out=path, resume=True), whole)


def test_a_law_that_gives_the_same_first_and_last_members(tmp_path, monkeypatch):
    """The values of some members are compared, too; here just the function differs."""
    path = tmp_path / "e.zarr"
    a_study(monkeypatch, 2, out=path)
    with pytest.raises(errors.InputError, match="weight, a closure variable of <lambda> differ"):
        a_study(out=path, resume=True, weight=1)


def test_other_functions_that_are_meant(tmp_path, monkeypatch):
    path = tmp_path / "e.zarr"
    a_study(monkeypatch, 2, out=path)
    mixed = a_study(out=path, resume=True, force=True, power=2).end.values
    assert mixed.tobytes() == np.concatenate([a_study().end.values[:6], a_study(power=2).end.values[6:]]).tobytes()
    with pytest.raises(errors.InputError, match="it needs resume=True"):
        a_study(force=True)


def test_other_conditions_are_told(tmp_path, monkeypatch):
    path = tmp_path / "e.zarr"
    interrupted(monkeypatch, 4, out=path)
    there = members.conditions() | {"processor": "another one"}
    mark = ensemble_reader.mark_of(path, 1) | {"environment": there}
    text = json.dumps(mark | {checksums.SEAL: checksums.of_texts(mark)})
    (path / ensemble_reader.MARKS / "1.json").write_text(text)
    with pytest.warns(errors.StoreWarning, match="processor: another one and"):
        run(out=path, resume=True)


@pytest.mark.long
def test_memory_is_that_of_a_chunk(tmp_path):
    """Twenty times the members take no more memory, if results go to a store."""
    samples = sampling.draw(40_000, m=sampling.direction(), q=sampling.attitude())
    times = np.linspace(0, 1, 20)

    def peak(count):
        tracemalloc.start()
        ensemble(FREE, samples[:count], t_eval=times, chunk=1000, out=tmp_path / f"{count}.zarr", seed=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1000)
    small, large = peak(2000), peak(40_000)
    assert large < 1.5 * small
    assert large < 40_000 * 20 * 7 * 8 / 4


# What makes no sense


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((FREE, {"omga": np.ones((2, 3))}), "did you mean 'omega'"),
        ((FREE, {"moments": np.ones((2, 3))}), "neither m nor omega"),
        ((FREE, {"m": np.ones((2, 3)), "omega": np.ones((2, 3))}), "contain both m and omega; expected only one"),
        ((FREE, {"params": np.ones((2, 3))}), "the problem has no force"),
        ((TOP, {"params": np.ones((2, 3))}), "gravity has 6 parameters"),
        ((TOP, {"t": np.ones(2), "m": np.ones((2, 3))}), "times of free bodies"),
        ((FREE, {"t": np.ones((2, 2)), "m": np.ones((2, 3))}), "one time for each member"),
        ((lambda rows: 3, {"m": np.ones((2, 3))}), "the factory returned int"),
        ((lambda rows: FREE, {"m": np.ones((2, 3))}), r"batch shape \(\) for 2 members"),
        ((3, {"m": np.ones((2, 3))}), "expected a Problem, or a function"),
        ((FREE, 3), "expected a dict of arrays"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(errors.InputError, match=told):
        ensemble(*arguments)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"t_eval": [6.0]}, "between 0 and 5"),
        ({"t_eval": [3.0, 2.0]}, "not in order"),
        ({"t_eval": [[3.0]]}, r"expected times \(k,\)"),
        ({"method": "Adaptive", "h": 0.1}, "Adaptive chooses its steps"),
        ({"method": "V2", "h": -0.1}, "one positive finite number"),
        ({"chunk": 0}, "chunk is 0"),
        ({"reduce": "tlt"}, "did you mean 'tilt'"),
        ({"reduce": lambda trajectory: 3}, "reduce returned int"),
        ({"reduce": lambda trajectory: {"x": trajectory.m[:, 0]}}, r"expected \(2,\)"),
        ({"reduce": lambda trajectory: {"start_m": trajectory.m[0]}}, "the name of a sample and of a result"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, told):
    with pytest.raises(errors.PolhodeError, match=told):
        ensemble(TOP, {"m": np.ones((2, 3))}, **({"method": "V2", "h": 0.5} | options))


def test_a_gravity_gradient_belongs_to_its_body():
    with pytest.raises(errors.InputError, match="write a factory"):
        ensemble(ph.problems.get("satellite"), {"moments": np.ones((2, 3)), "m": np.ones((2, 3))})


def test_a_force_that_appears_later():
    def make(rows):
        force = forces.gravity(1.0, (0, 0, 1)) if rows["m"][0, 0] > 50 else None
        return ph.Problem((1, 2, 3), ph.State(rows["m"]), force)

    found = ensemble(make, {"m": np.arange(300.0).reshape(100, 3)}, chunk=10)
    assert "pass another one and h" in str(found.error.values[-1])


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr("polhode.core.progress.PATIENCE", 0.0)
    run(progress=True)
    assert re.search(rf"{COUNT}/{COUNT} .*members/s|100% of {COUNT} members", capsys.readouterr().err)
