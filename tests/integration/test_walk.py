"""The way of a call through the package stays short; benchmarks/walk.py names the functions on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import polhode as ph
from polhode.kernels.compiler import JIT

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import walk


@pytest.mark.skipif(not JIT, reason="kernels are Python functions, too")
def test_a_call_with_a_method_and_a_step_size():
    problem = ph.problems.heavy_top()
    functions, calls_of_core, frames = walk.crossed(lambda: ph.integrate(problem, method="V2", h=0.05))
    assert len(functions) <= 40, functions
    assert len({file for file, _ in functions}) <= 12
    assert calls_of_core == 0
    assert frames == 7
