"""Functions of the library in this process: by ctypes, by SciPy, and by Numba."""

from __future__ import annotations

import ctypes

import numba
import numpy as np
import pytest
from scipy import LowLevelCallable
from scipy.integrate import quad

import polhode as ph
from polhode.compiled.functions import MOTION
from polhode.kernels.compiler import JIT

INERTIA, M = np.array([1.0, 2.0, 3.0]), np.array([0.3, 0.2, 0.9])
Q = np.array([1.0, 0.0, 0.0, 0.0])

compiled = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@compiled
def test_step_and_propagate():
    m, q = np.empty(3), np.empty(4)
    step = ph.compiled.c_function("polhode_step")
    assert step(pointer(INERTIA), pointer(M), pointer(Q), 50.0, pointer(m), pointer(q)) == 0
    expected = ph.Exact().step(INERTIA, ph.State(M, Q), 50.0)
    np.testing.assert_array_equal(m, expected.m)
    np.testing.assert_array_equal(q, expected.q)


@compiled
@pytest.mark.parametrize("count", [1, 4096, 5000])
def test_batches(count, rng):
    inertia, m = rng.uniform(1, 3, (count, 3)), rng.normal(size=(count, 3))
    q, t = np.tile(Q, (count, 1)), rng.uniform(-30, 30, count)
    m_out, q_out = np.empty((count, 3)), np.empty((count, 4))
    arrays = [pointer(x) for x in (inertia, m, q, t, m_out, q_out)]
    propagate = ph.compiled.c_function("polhode_propagate")
    assert propagate(count, *arrays) == 0
    expected = ph.propagate(inertia, m, q, t)
    np.testing.assert_array_equal(m_out, expected[0])
    np.testing.assert_array_equal(q_out, expected[1])
    inertia[count - 1, 1] = -1.0
    assert propagate(count, *arrays) == count


@compiled
@pytest.mark.parametrize("argument", [0, 1, 2, 3])
def test_invalid_input(argument):
    arrays = [INERTIA.copy(), M.copy(), Q.copy(), np.array([1.0])]
    arrays[argument][0] = np.nan
    inertia, m, q, h = arrays
    m_out, q_out = np.zeros(3), np.zeros(4)
    step = ph.compiled.c_function("polhode_step")
    assert step(pointer(inertia), pointer(m), pointer(q), h[0], pointer(m_out), pointer(q_out)) == 1
    assert np.isnan([*m_out, *q_out]).all()


@compiled
def test_a_negative_number_of_bodies_or_times_is_refused():
    m, q, motion = np.zeros(3), np.zeros(4), np.zeros(1000)
    arrays = [pointer(x) for x in (INERTIA, M, Q, np.array([1.0]), m, q)]
    propagate, evaluate = (ph.compiled.c_function(f"polhode_{name}") for name in ("propagate", "motion_evaluate"))
    for count in (-1, -5, -(2**62)):
        assert propagate(count, *arrays) == -1
        assert evaluate(pointer(motion), count, pointer(np.array([1.0])), pointer(m), pointer(q)) == -1
    assert propagate(0, *arrays) == 0
    assert not m.any()


@compiled
def test_scipy_integrates_a_component():
    """The mean of m3 over a period, by a function of C that SciPy calls; the truth is from samples in Python."""
    motion = ph.free_motion(INERTIA, m=M)
    chosen = np.empty(1 + MOTION)
    chosen[0] = 2
    prepare = ph.compiled.c_function("polhode_motion_prepare")
    assert prepare(pointer(INERTIA), pointer(M), pointer(Q), pointer(chosen[1:])) == 0
    component = ph.compiled.c_function("polhode_motion_component")
    call = LowLevelCallable(component, ctypes.c_void_p(chosen.ctypes.data))
    assert call.signature == "double (double, void *)"
    mean = quad(call, 0.0, motion.period, epsabs=1e-13, epsrel=1e-13)[0] / motion.period
    samples = motion.m(motion.period * np.arange(64) / 64)[:, 2].mean()  # spectrally accurate
    assert abs(mean - samples) < 1e-13


@compiled
def test_numba_calls_by_ctypes():
    period = ph.compiled.c_function("polhode_period")

    @numba.njit
    def in_a_loop(inertia, m):
        out = np.empty(2)
        period(inertia.ctypes, m.ctypes, out.ctypes, out[1:].ctypes)
        return out[0]

    assert in_a_loop(INERTIA, M) == ph.free_motion(INERTIA, m=M).period


@compiled
def test_addresses():
    names = ph.compiled.c_names()
    addresses = [ph.compiled.c_address(name) for name in names]
    assert len(set(addresses)) == len(names)
    function = ph.compiled.c_function("polhode_step")
    assert ctypes.cast(function, ctypes.c_void_p).value == ph.compiled.c_address("polhode_step")


def test_unknown_names():
    with pytest.raises(ph.InputError, match="polhode_step"):
        ph.compiled.c_function("polhode_stepp")


@pytest.mark.skipif(JIT, reason="everything is compiled")
def test_without_compilation():
    with pytest.raises(ph.InputError, match="POLHODE_JIT"):
        ph.compiled.c_address("polhode_step")
    with pytest.raises(ph.InputError, match="POLHODE_JIT"):
        ph.compiled.export("nowhere")
