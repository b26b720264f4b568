"""Ctrl-C in a program of its own: it ends a loop of runs, and what was computed is in the exception."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import pytest
from llvmlite.binding import ExecutionEngine

import polhode as ph
from polhode.ensembles import ensemble as ensemble_module
from polhode.files import long_runs
from polhode.integration import trials
from polhode.kernels.compiler import JIT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to other processes")

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import polhode as ph

def slow(t, Q, w, p):
    {work}
    return 0.0, 0.0, 0.01

force = ph.Torque(slow)
problem = ph.Problem((1.0, 2.0, 3.0), ph.State([(0.3, 0.2, 0.9)] * {bodies}), force, (0.0, 1e4))
TIMES = np.linspace(0.0, 0.1, 3)
ph.integrate(problem, (0.0, 0.1), {options})
TIMES = np.linspace(0.0, 1e4, 1_000_001)
signal.signal(signal.SIGINT, signal.default_int_handler)  # also if it is ignored where the tests run
timers = []

def soon(fraction):
    if not timers:
        timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
        timers[0].start()

runs = 0
try:
    for _ in range(3):
        ph.integrate(problem, {options}, save_every=100, progress=soon)
        runs += 1
except KeyboardInterrupt as stop:
    traj = stop.trajectory
    print(runs, len(traj) > 1, bool(np.isfinite(traj.m).all()), np.unique(traj.status).tolist(), traj.message)
"""


BEGINNINGS = {
    "stream": lambda path: ph.stream(ph.problems.heavy_top(), path, method="V2", h=0.1),
    "ensemble": lambda path: ph.ensemble(ph.problems.heavy_top(), {"m": [(0.0, 0.1, 1.0)]}),
}


@pytest.mark.long
@pytest.mark.parametrize("bodies", [1, 3])
@pytest.mark.parametrize("work", ["pass", "open(os.devnull).close()"], ids=["compiled", "in Python"])
@pytest.mark.parametrize(
    "options", ["method='V2', h=0.001", "method=ph.Adaptive(1e-9, max_step=0.001), t_eval=TIMES"], ids=["fixed", "own"]
)
def test_ctrl_c_ends_a_loop_of_runs(bodies, work, options):
    program = textwrap.dedent(PROGRAM).format(work=work, bodies=bodies, options=options)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "0 True True [-2] interrupted\n", done.stderr


def test_nothing_is_lost_where_nothing_was_computed(monkeypatch):
    """Also during the choice of a method the exception has the attribute."""

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "new_run", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        ph.integrate(ph.problems.heavy_top())
    assert caught.value.trajectory is None


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_ctrl_c_is_not_lost_while_numba_compiles(monkeypatch):
    """LLVM calls a function in Python for each machine code that it has made; what that raises is not propagated."""
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ExecutionEngine, "_find_module_ptr", interrupted)
    unknown = time.time()  # to the cache of compiled code
    force = ph.Torque(lambda t, Q, w, p: (unknown if Q[2][1] > t else 0.2, 0.0, 0.0))
    with pytest.raises(KeyboardInterrupt) as caught:
        ph.integrate(ph.Problem((1.0, 2.0, 3.0), omega=(0.1, 0.2, 0.3), force=force), method="V2", h=0.1)
    assert calls
    assert caught.value.trajectory is None


def test_ctrl_c_during_imports_has_a_trajectory():
    """Names are imported at their first use: that is a part of the time in which a run seems to have begun."""
    program = """
import sys
import polhode as ph

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "polhode.integration.choice":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
try:
    ph.integrate(ph.problems.heavy_top())
except KeyboardInterrupt as stop:
    print(stop.trajectory)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "None\n", done.stderr


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_nothing_was_computed_for_a_file_either(tmp_path, monkeypatch, begin):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(long_runs, "new_run", interrupted)
    monkeypatch.setattr(ensemble_module, "plan", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        begin(tmp_path / "run.zarr")
    assert caught.value.trajectory is None
