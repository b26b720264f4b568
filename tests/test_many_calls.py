"""Programs that run for long: many calls need no more memory than a few, and other interpreters do no harm."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polhode.kernels.compiler import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="calls of compiled code")

CALLS = """
import gc
import sys
import polhode as ph

def blocks():
    gc.collect()
    return sys.getallocatedblocks()

def twist(t, Q, w, p):
    return 0.1 * Q[2][0], -p[0] * w[1], 0.0

state = ph.State((0.3, 0.2, 0.9))
problem = ph.Problem((1.0, 1.6, 2.0), state, ph.Torque(twist, params=(0.1,)), (0.0, 0.2))
run = ph.start(problem, method="Taylor")

def prepared():
    run.reset(state)
    run.to(0.2)

def refused():
    try:
        ph.propagate((1, 2, 3), (1, 1, float("nan")), (1, 0, 0, 0), 1.0)
    except ph.errors.InputError:
        pass

kinds = (
    lambda: ph.propagate((1, 2, 3), (1, 1, 1), (1, 0, 0, 0), 1.0),
    prepared,
    lambda: ph.integrate(problem, method="V2", h=0.1),
    lambda: ph.elliptic.ellipj(0.5, m=0.3),
    refused,
)

def call(times):
    for kind in kinds:
        for _ in range(times):
            kind()

call(100)
before = blocks()
call(1000)
print(blocks() - before)
"""


def test_calls_leave_nothing_behind():
    """Every object of Python, such as an array, is a block of memory or more."""
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100


OTHER = """
import importlib.util
import polhode as ph

FREE = "import polhode as ph; print(ph.propagate((1, 2, 3), (1, 1, 1), (1, 0, 0, 0), 1.0)[0].tolist(), flush=True)"
exec(FREE)
name = next(name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name))
interpreters = importlib.import_module(name)
other = interpreters.create()
try:
    failure = interpreters.run_string(other, FREE)
except Exception as problem:
    failure = problem
interpreters.destroy(other)
print("ImportError" if "ImportError" in str(failure) else failure, flush=True)
exec(FREE)
"""


def test_another_interpreter_works_or_says_why_not():
    """NumPy is for one interpreter of a process; what the first one computes does not change."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", OTHER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *other, outcome, last = done.stdout.splitlines()
    assert first == last
    assert outcome == "ImportError" or other == [first]
