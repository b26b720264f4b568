"""Warnings point at the line of the user that called polhode, and not into polhode."""

from __future__ import annotations

import errno
import warnings
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import MethodWarning, RunWarning, StoreWarning
from polhode.ensembles.ensemble import ensemble, open_ensemble
from polhode.files import long_runs, record, writer_lock
from polhode.forces.functions import SlowTorqueWarning
from polhode.kernels.compiler.jit import JIT

TOP = ph.problems.heavy_top()
DAMPED = ph.Problem((1.0, 2.0, 3.0), ph.State((1.0, 1.0, 1.0)), ph.forces.damping(0.1), (0.0, 1.0))
SAMPLES = ph.sampling.draw(6, m=ph.sampling.direction())
KNOWN = {"gain": 2.0}


def late(t, Q, w, p):
    if t > p[0]:
        raise ValueError("too late")
    return 0.0, 0.0, 0.1


def jumping(t, Q, w, p):
    return 0.0, 0.0, 5.0 if 5.0015 < t < 5.0035 else 0.0


def check_place(call, category):
    """Check that a function of one line issues one warning, which points at this line; return its message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [(each.category, each.filename, each.lineno) for each in caught] == [
        (category, __file__, call.__code__.co_firstlineno)
    ]
    return str(caught[0].message)


def of_torque(force, m=(1.0, 1.0, 1.0), t_end=1.0):
    return ph.Problem((1.0, 2.0, 3.0), ph.State(m), force, (0.0, t_end))


# Runs


def test_a_tolerance_that_cannot_be_guaranteed():
    problem = of_torque(ph.Torque(jumping), t_end=10.0)
    assert "may be missed" in check_place(lambda: ph.integrate(problem), RunWarning)


def test_a_body_of_a_batch_that_stops():
    problem = of_torque(ph.Torque(late, [[0.5], [2.0]]))
    assert "1 of 2 bodies" in check_place(lambda: ph.integrate(problem, h=0.1, method="V2"), RunWarning)
    times = [0.0, 1.0]
    check_place(lambda: ph.integrate(problem, method="Adaptive", t_eval=times), RunWarning)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize("options", [{"h": 0.1, "method": "V2"}, {"rtol": 1e-4}], ids=repr)
def test_a_torque_that_cannot_be_compiled(options):
    def not_for_numba(t, Q, w, p):
        return tuple(KNOWN.get(key, 0.0) * w[1] for key in ("gain", "loss", "gain"))

    # In a shorter time, rtol chooses Taylor, for which Numba compiles nothing.
    problem = of_torque(ph.Torque(not_for_numba), t_end=100.0)
    message = check_place(lambda: ph.integrate(problem, **options), SlowTorqueWarning)
    assert f"{__file__}:{not_for_numba.__code__.co_firstlineno}), line " in message


@pytest.mark.parametrize("options", [{"h": 0.1}, {"rtol": 1e-6}, {"h": 0.1, "estimate_error": True}], ids=repr)
def test_negative_kicks_with_damping_are_told_once(options):
    message = check_place(lambda: ph.integrate(DAMPED, method="S6_10", **options), MethodWarning)
    assert message.startswith("S6_10 has kicks of negative length")


def test_negative_kicks_that_polhode_chooses_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.integrate(DAMPED, rtol=1e-10)


# Files


@pytest.fixture
def stored(tmp_path):
    """A finished long run."""
    path = tmp_path / "run.zarr"
    ph.stream(TOP, path, method="V2", chunk=10)
    return path


def test_a_damaged_file(stored):
    chunk = stored / "q" / "1.0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    assert "are left out" in check_place(lambda: ph.load(stored, damaged="skip"), StoreWarning)


def test_a_run_that_is_resumed_in_another_environment(stored, monkeypatch):
    monkeypatch.setattr(long_runs, "environment", lambda: {"processor": "abacus"})
    assert "is abacus" in check_place(lambda: ph.resume(stored, TOP), StoreWarning)


def test_functions_without_digests(stored, monkeypatch):
    look = long_runs._look

    def without_digests(path):
        checkpoint, attributes, plan = look(path)
        return checkpoint, attributes, plan | {"functions": None}

    monkeypatch.setattr(long_runs, "_look", without_digests)
    monkeypatch.setattr(record, "functions_of", lambda problem: {"code of f": "1"})
    assert "is not known" in check_place(lambda: ph.resume(stored, TOP), StoreWarning)


def test_a_disk_without_locks(tmp_path, monkeypatch):
    def refused(handle):
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr(writer_lock, "_acquire", refused)
    path = tmp_path / "run.zarr"
    assert "cannot be locked" in check_place(lambda: ph.stream(TOP, path, method="V2"), StoreWarning)


def test_negative_kicks_of_a_long_run(tmp_path):
    path = tmp_path / "run.zarr"
    check_place(lambda: ph.stream(DAMPED, path, method="S6_10", h=0.1), MethodWarning)


# Ensembles


@pytest.mark.parametrize("options", [{"h": 0.1}, {"rtol": 1e-6}], ids=repr)
def test_negative_kicks_of_an_ensemble_are_told_once(options):
    check_place(lambda: ensemble(DAMPED, SAMPLES, method="S6_10", chunk=2, seed=1, **options), MethodWarning)


def test_an_ensemble_that_is_resumed_in_another_environment(tmp_path, monkeypatch):
    path = tmp_path / "e.zarr"
    ensemble(DAMPED, SAMPLES, method="V2", h=0.1, out=path, seed=1)
    monkeypatch.setattr("polhode.ensembles.ensemble.environment", lambda: {"processor": "abacus"})
    how = {"method": "V2", "h": 0.1, "seed": 1, "resume": True}
    assert "abacus" in check_place(lambda: ensemble(DAMPED, SAMPLES, out=path, **how), StoreWarning)


def test_damaged_chunks_of_an_ensemble(tmp_path):
    path = tmp_path / "e.zarr"
    ensemble(DAMPED, SAMPLES, method="V2", h=0.1, out=path, seed=1, chunk=2)
    Path(path, "q", "1.0.0").unlink()
    assert "are damaged" in check_place(lambda: open_ensemble(path), StoreWarning)
    how = {"method": "V2", "h": 0.1, "seed": 1, "chunk": 2, "resume": True}
    assert "computed again" in check_place(lambda: ensemble(DAMPED, SAMPLES, out=path, **how), StoreWarning)


# Lines of users


def test_the_nearest_line_outside_polhode():
    """A function of the user that polhode calls is nearer than the one that called polhode."""
    problem = of_torque(ph.Torque(late, [[0.5], [2.0]]))

    def reduce(trajectory):
        ph.integrate(problem, h=0.1, method="V2")  # the line of the warning
        return {"last": np.zeros(trajectory.m.shape[1])}

    with pytest.warns(RunWarning) as caught:
        ensemble(DAMPED, SAMPLES, method="V2", h=0.1, seed=1, reduce=reduce)
    assert {each.lineno for each in caught} == {reduce.__code__.co_firstlineno + 1}


def test_frames_of_contextlib_are_no_lines_of_users():
    problem = of_torque(ph.Torque(late, [[0.5], [2.0]]))

    stack = ExitStack()
    stack.callback(ph.integrate, problem, h=0.1, method="V2")
    check_place(lambda: stack.close(), RunWarning)


def test_a_console():
    """Its frames have no file."""
    source = "import polhode as ph\nph.integrate(problem, h=0.1, method='V2')"
    with pytest.warns(RunWarning) as caught:
        exec(compile(source, "<stdin>", "exec"), {"problem": of_torque(ph.Torque(late, [[0.5], [2.0]]))})
    assert (caught[0].filename, caught[0].lineno) == ("<stdin>", 2)
