"""``polhode ensemble``: members of a scenario file, here and on a cluster."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from conftest import ROOT
from polhode import errors, sampling
from polhode.cli import cli
from polhode.core import progress
from polhode.ensembles import members
from polhode.ensembles.ensemble import ensemble, open_ensemble
from polhode.integration import running
from polhode.scenarios.ensemble import arguments_of
from polhode.scenarios.scenario import build, json_schema

TOP = """
name = "top"
t_span = [0, 2]
method = "S6_10"
h = 0.1
[body]
moments = [1.0, 1.5, 2.0]
[state]
m = [0.3, 0.2, 0.9]
[[force]]
kind = "gravity"
weight = 1.0
offset = [0, 0, 0.2]
[ensemble]
count = 50
seed = 3
states = 3
chunk = 20
[ensemble.samples]
"state.m" = {kind = "direction", length = 0.9}
"force.0.weight" = {kind = "uniform", low = 0.5, high = 1.5}
"""
GRID = """
problem = "heavy_top"
t_span = [0, 1]
method = "V2"
h = 0.1
[ensemble.samples]
eps = {kind = "values", values = [1e-3, 1e-2, 1e-1]}
"""


def run(*args):
    return CliRunner().invoke(cli, ["ensemble", *map(str, args)], prog_name="polhode")


@pytest.fixture
def top(tmp_path):
    path = tmp_path / "top.toml"
    path.write_text(TOP)
    return path


def expected():
    """The same without a file."""

    def make(rows):
        force = ph.forces.gravity(rows["force.0.weight"], (0, 0, 0.2))
        return ph.Problem((1.0, 1.5, 2.0), ph.State(rows["state.m"]), force, (0, 2))

    laws = {"state.m": sampling.direction(0.9), "force.0.weight": sampling.uniform(0.5, 1.5)}
    how = {"method": "S6_10", "h": 0.1, "t_eval": [0, 1, 2], "seed": 3}
    return ensemble(make, sampling.draw(50, **laws), **how)


def test_a_scenario(tmp_path, top):
    result = run(top, "--out", tmp_path / "e.zarr", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["members"], told["failed"], told["seed"], told["chunk"]) == (50, 0, 3, 20)
    found, direct = open_ensemble(told["store"]), expected()
    assert found.q.values.tobytes() == direct.q.values.tobytes()
    assert found["force.0.weight"].values.tobytes() == direct["force.0.weight"].values.tobytes()
    low, middle, high = told["force.0.weight"]
    assert 0.5 < low < middle < high < 1.5


def test_a_table_for_people(tmp_path, top):
    result = run(top, "--out", tmp_path / "e.zarr", "--set", "ensemble.reduce=rate", "--set", "ensemble.count=10")
    assert result.exit_code == 0, result.output
    assert "members                10" in result.stdout
    assert "nine in ten" in result.stdout
    assert "fastest" in result.stdout


def test_interrupted_and_resumed(tmp_path, top, monkeypatch):
    original, calls = members.Job.run, []

    def fewer(job, part, *more):
        calls.append(part)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(job, part, *more)

    path = tmp_path / "e.zarr"
    with monkeypatch.context() as patch:
        patch.setattr(members.Job, "run", fewer)
        result = run(top, "--out", path)
    assert result.exit_code == 130
    assert "2 of 3 chunks are missing" in result.stderr
    assert run(top, "--out", path).exit_code == 2
    assert run(top, "--out", path, "--resume").exit_code == 0
    assert open_ensemble(path).q.values.tobytes() == expected().q.values.tobytes()


def test_on_a_cluster(tmp_path, top):
    distributed = pytest.importorskip("distributed")
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **local) as workers:
        result = run(top, "--out", tmp_path / "e.zarr", "--scheduler", workers.scheduler_address)
    assert result.exit_code == 0, result.output
    assert open_ensemble(tmp_path / "e.zarr").q.values.tobytes() == expected().q.values.tobytes()


def test_a_grid_of_arguments(tmp_path):
    """Built-in problems take one number, so members are made one by one."""
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    assert run(path, "--out", tmp_path / "e.zarr").exit_code == 0
    found = open_ensemble(tmp_path / "e.zarr")
    assert found.eps.values.tolist() == [1e-3, 1e-2, 1e-1]
    for q, eps in zip(found.q.values, found.eps.values, strict=True):
        problem = ph.problems.heavy_top(eps=float(eps))
        state = problem.state
        batch = problem.replaced(state=state._exactly(m=state.m[None], q=state.q[None]))  # members are batches of one
        alone = ph.integrate(batch, (0, 1), method="V2", h=0.1, t_eval=[1.0])
        assert q.tobytes() == alone.q.tobytes()


def test_the_example():
    data = tomllib.loads((ROOT / "examples" / "debris.toml").read_text())
    data["ensemble"]["count"], data["t_span"] = 20, [0.0, 3600.0]
    given = arguments_of(build(data, "debris.toml"), "debris.toml")
    assert given["vectorized"]
    found = ensemble(**given)
    assert found.failed.size == 0
    assert (found.slowest.values > 0.015).all()
    assert (found.fastest.values < 0.03).all()


def test_the_schema_knows_what_the_library_has():
    table = json_schema()["properties"]["ensemble"]["properties"]
    branches = table["samples"]["additionalProperties"]["oneOf"]
    laws = ["always", "attitude", "attitude_near", "direction", "inertia_triangle", "log_normal", "moments_near"]
    assert [b["properties"]["kind"]["const"] for b in branches] == [*laws, "normal", "uniform", "values"]
    assert table["reduce"]["enum"] == ["energy_error", "rate", "tilt"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[ensemble]", "[output]", "count is not known"),
        ("count = 50", "", "ensemble.count is missing"),
        ("count = 50", "count = 0", "count = 0; expected the number of members"),
        ('kind = "direction"', 'kind = "directon"', "did you mean 'direction'"),
        ("length = 0.9", "length = -0.9", "a positive number"),
        ('"state.m" =', '"state.mm" =', "state.mm is not known"),
        ('"state.m" =', '"stat.m" =', "stat is not known; did you mean 'state'"),
        ('kind = "direction", length = 0.9', 'kind = "values", values = [[1.0, 0, 0]]', "expected all of them or none"),
        (
            'kind = "direction", length = 0.9',
            'kind = "normal", mean = [1, 2, 3], deviation = [1, 2]',
            "do not broadcast",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, old, new, told):
    assert old in TOP
    path = tmp_path / "bad.toml"
    path.write_text(TOP.replace(old, new))
    result = run(path, "--out", tmp_path / "e.zarr")
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())


def test_a_scenario_without_members(tmp_path):
    path = tmp_path / "top.toml"
    path.write_text(TOP.partition("[ensemble]")[0])
    result = run(path)
    assert result.exit_code == 2
    assert "there is no table [ensemble]" in " ".join(result.stderr.split())
    with pytest.raises(errors.InputError, match="is empty"):
        arguments_of(build(tomllib.loads(TOP) | {"ensemble": {"samples": {}}}, "x"), "x")
    assert np.isfinite(expected().q.values).all()


@pytest.mark.parametrize("text", [TOP.replace("chunk = 20", ""), GRID], ids=["all at once", "one by one"])
def test_progress_is_shown(text, tmp_path, monkeypatch):
    """Also within a chunk, which may have all members."""
    path = tmp_path / "e.toml"
    path.write_text(text)
    monkeypatch.setattr(import_module("polhode.cli.ensemble"), "show_progress", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm", None)  # every line of text can be read
    monkeypatch.setattr(running, "FIRST_PIECE", 50)
    monkeypatch.setattr(running, "PIECE_SECONDS", 0.0)
    result = run(path, "--out", tmp_path / "e.zarr")
    assert result.exit_code == 0, result.output
    count = 3 if "heavy_top" in text else 50
    parts = [int(part) for part in re.findall(rf"(\d+)% of {count} members\n", result.stderr)]
    assert parts == sorted(parts)
    assert parts[-1] == 100
    assert len(set(parts)) > 2


def test_the_progress_of_a_run_can_be_told_to_a_function():
    for how in ({"method": "V2", "h": 1e-3}, {"method": ph.Adaptive(1e-10), "t_eval": [20.0]}):
        parts = []
        ph.integrate(ph.problems.heavy_top(), **how, progress=parts.append)
        assert parts == sorted(parts)
        assert (parts[0] >= 0, parts[-1]) == (True, 1.0)
