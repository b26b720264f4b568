"""What an import costs and offers: nothing heavy before it is needed, every public name, a word on wrong ones."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import polhode as ph
from polhode.flows import FLOWS
from polhode.methods import METHODS

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


def test_every_flow_and_method_is_a_public_name():
    assert {*FLOWS, *METHODS} <= {*ph.__all__}


SHOWN = """
import polhode as ph
traj = ph.integrate(ph.problems.heavy_top(), method="V2", h=0.5)
ph.problems.free_body().free_motion().flips(0, 1)
assert dir(ph) == sorted([*ph.__all__, "__version__"]), dir(ph)
modules = [module for name in ph.__all__ if isinstance(module := getattr(ph, name), type(ph))]
assert len(modules) > 10
for module in modules:
    name = module.__name__
    assert dir(module) == sorted(module.__all__), (name, dir(module))
    for member in module.__all__:
        getattr(module, member)
"""


def test_dir_shows_public_names_only():
    """After use, too, when modules inside are loaded; Tab shows what dir does."""
    subprocess.run([sys.executable, "-c", SHOWN], check=True)


def test_star_import():
    names: dict[str, object] = {}
    exec("from polhode import *", names)
    assert set(ph.__all__) <= set(names)
    assert names["propagate"] is ph.propagate


def test_unknown_attribute():
    code = "import polhode; polhode.propagat"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "'polhode' has no attribute 'propagat'. Did you mean: 'propagate'?" in done.stderr
    assert not hasattr(ph, "Integrate")
