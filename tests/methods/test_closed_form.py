"""The closed form as a method: one answer for a free body, whoever asks."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from conftest import distance
from oracles.addition import addition_flow
from polhode import errors
from polhode.cli import cli
from polhode.integration.choice import choose

MOMENTS, M, Q = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (0.5, 0.1, -0.7, 0.5)
SPAN = (2.0, 52.0)


def free(**more):
    return ph.Problem(MOMENTS, ph.State(M, Q), t_span=SPAN, **more)


def test_everybody_gets_the_same_answer(tmp_path):
    chosen = choose(free(), SPAN)
    whole = ph.integrate(free())
    assert chosen.method == whole.method == ph.ClosedForm()
    named = ph.integrate(free(), method="ClosedForm")
    assert np.array_equal(named.q, whole.q)
    data = ph.ensemble(free(), {"m": np.array([M])}, t_eval=whole.t)
    assert np.array_equal(data.q.values[0], whole.q)
    assert data.attrs["method"] == "ClosedForm()"
    file = tmp_path / "free.toml"
    file.write_text(f"t_span = {list(SPAN)}\nbody.moments = {list(MOMENTS)}\nstate.m = {list(M)}\nstate.q = {list(Q)}")
    done = CliRunner().invoke(cli, ["run", str(file), "--out", str(tmp_path / "out"), "--json"])
    summary = json.loads(done.stdout)
    assert (summary["method"], summary["states"]) == ("ClosedForm()", len(whole))
    assert np.array_equal(summary["q"], whole.q[-1])


def test_states_are_those_of_another_program():
    run = ph.integrate(free(), h=12.5)
    assert run.t.tolist() == [2.0, 14.5, 27.0, 39.5, 52.0]
    for t, m, q in zip(run.t, run.m, run.q, strict=True):
        expected_m, expected_q = addition_flow(MOMENTS, M, Q, t - 2.0)
        assert distance(m, expected_m) < 1e-14
        assert distance(q, expected_q) < 1e-14
    assert run.stats.steps == 1
    assert run.stats.torques == 0
    assert run.status is ph.Status.REACHED_END


@pytest.mark.parametrize("inertia", [MOMENTS, np.diag(MOMENTS) + 0.1, ph.RigidBody.linear(1.5)])
def test_dense_output(inertia):
    """Between saved states, of axes in any direction, and of linear rotors."""
    problem = ph.Problem(inertia, ph.State((0.0, 0.2, 0.9), Q), t_span=SPAN)
    t = np.array([2.0, 17.3, 52.0])
    m, q = problem.free_motion().sample(t - 2.0)
    for run in (ph.integrate(problem), ph.integrate(problem, t_eval=[3.0]), ph.integrate(problem, h=50.0)):
        found_m, found_q = run.sol(t)
        assert np.abs(found_m - m).max() < 2e-14
        assert np.abs(found_q - q).max() < 2e-14


def test_a_batch_keeps_start_and_end():
    batch = ph.Problem(MOMENTS, ph.State(np.array([M, (0.1, 1.0, 0.1)])), t_span=SPAN)
    run = ph.integrate(batch)
    assert run.t.tolist() == list(SPAN)
    assert np.array_equal(run.q[1], ph.propagate(MOMENTS, batch.state.m, t=50.0)[1])
    assert run.sol(20.0)[1].shape == (2, 4)


def test_any_time():
    """A function of time has no end."""
    t = np.array([60.0, -1.0, 2.0])
    run = ph.integrate(free(), t_eval=t)
    assert np.abs(run.q - free().free_motion().q(t - 2.0)).max() < 1e-14


def test_events_and_backward():
    problem = ph.Problem(MOMENTS, ph.State(M, Q), t_span=(0.0, -30.0))
    level = ph.events.section((0.0, 0.0, 1.0), 0.9, direction=0.0)
    run = ph.integrate(problem, events=level)
    assert len(run.t_events[0]) == 3
    assert np.abs(problem.free_motion().m(run.t_events[0])[:, 2] - 0.9).max() < 1e-14


def test_with_a_force_it_is_refused():
    with pytest.raises(errors.InputError, match=r"motion of free bodies, and gravity acts"):
        ph.integrate(ph.problems.heavy_top(), method="ClosedForm")


def test_memory_follows_what_is_saved():
    """Eleven times of a run of a thousand million steps, which fails early: no array is as long as the run."""
    force = ph.Torque(lambda t, Q, w, p: (0.0, 0.0, 0.1 / max(0.0, p[0] - t)), params=[1e-3])
    problem = ph.Problem(MOMENTS, ph.State(M), force, (0.0, 1e3))
    ph.integrate(problem, (0.0, 1e-4), method="V2", h=1e-6)  # compile
    for options in ({}, {"events": ph.events.section((0.0, 0.0, 1.0), 5.0)}):
        tracemalloc.start()
        with pytest.raises(errors.RunError):
            ph.integrate(problem, method="V2", h=1e-6, t_eval=np.linspace(0.0, 1e3, 11), **options)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < (2e5 if not options else 2e6)
