"""The examples do what their first lines say."""

from __future__ import annotations

import importlib.util

import pytest

from conftest import ROOT
from polhode.kernels.compiler import JIT


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_controller_reaches_its_target():
    example = load("detumble")
    run = example.controlled(200.0)
    assert abs(run.omega).max() < 1e-3
    assert abs(run.q @ example.TARGET) > 1 - 1e-4
    assert len(run.trajectory()) == 2001


def test_scipy_agrees_until_it_drifts(capsys):
    example = load("against_scipy")
    assert example.difference(1.0)[0] < 2e-13
    assert example.difference(100.0)[0] < 2e-11
    example.TIMES = (1.0,)
    example.main()
    assert "SciPy" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="the example is compiled by Numba")
def test_the_brick_keeps_its_energy():
    example = load("collisions")
    start = 1.0, 0.0, (0.01, 0.02, 0.001), (1.0, 0.0, 0.0, 0.0)
    z, v, m, q, time = example.bounce(*start, 20)
    assert abs(example.energy(z, v, m) / example.energy(*start[:3]) - 1.0) < 1e-14
    assert abs(z + (example.CORNERS @ example.up(q)).min()) < 1e-12  # a corner is on the floor
    assert time > 1.0
