"""What an import costs and offers: nothing heavy before it is needed, every public name, a word on wrong ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import polhode as ph

HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "click", "numpy")


def loaded_after(code, *args):
    """Which of the heavy packages a new interpreter has loaded after running ``code``."""
    ending = f"\nimport sys, json; print('\\n' + json.dumps([x for x in {HEAVY!r} if x in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code + ending, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_loads_nothing_heavy():
    assert loaded_after("import polhode; polhode.__version__; dir(polhode)") == set()


def test_bodies_states_and_errors_load_numpy_only():
    code = """
import polhode as ph
body = ph.RigidBody((1, 2, 3), mass=1)
state = ph.State.from_omega(body, (1, 1, 1))
motion = ph.free_motion(body, state)
calls = lambda: ph.propagate((1, 2), (1, 1, 1)), lambda: ph.State((1, 1, 1), (2, 0, 0, 0)), lambda: ph.free_motion(body)
for wrong in calls:
    try:
        wrong()
    except ph.InputError:
        pass
    else:
        raise SystemExit("not refused")
"""
    assert loaded_after(code) == {"numpy"}


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("run", "--help"), ("problems",)], ids=" ".join)
def test_help_loads_neither_numba_nor_scipy_nor_matplotlib(args):
    code = "from polhode.__main__ import main\ntry: main()\nexcept SystemExit as done: assert not done.code"
    loaded = loaded_after(code, *args)
    if args == ("problems",):  # it builds the bodies, whose axes are found by compiled code
        loaded -= {"numba", "llvmlite", "scipy"}
    assert loaded <= {"click", "numpy"}


def test_every_public_name_resolves():
    for name in ph.__all__:
        assert getattr(ph, name).__name__.split(".")[-1] == name
    assert sorted(ph.__all__) == ph.__all__
    assert set(ph.__all__) <= set(dir(ph))


def test_star_import():
    names: dict[str, object] = {}
    exec("from polhode import *", names)
    assert set(ph.__all__) <= set(names)
    assert names["propagate"] is ph.propagate


def test_unknown_attribute():
    with pytest.raises(AttributeError, match=r"'polhode' has no attribute 'propagat'; it has .*propagate"):
        ph.propagat  # noqa: B018
    assert not hasattr(ph, "Integrate")


@pytest.mark.skipif(os.environ.get("POLHODE_JIT") == "0", reason="about compiled code")
def test_first_result_does_not_import_scipy_and_leaves_numba_its_blas():
    code = """
import sys
import numpy as np
import polhode as ph
ph.propagate((1, 2, 3), (1, 1, 1), t=1.0)
assert "scipy.linalg" not in sys.modules
import numba
product = numba.njit(lambda a, b: np.dot(a, b))(np.eye(2), np.ones((2, 2)))
assert (product == 1).all() and "scipy.linalg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
