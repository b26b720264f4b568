"""Code of torques for blocks of bodies, against the functions from which it is generated."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS
from polhode import forces
from polhode.core.rotation import matrix
from polhode.kernels.compiler import JIT
from polhode.kernels.numbers.lanes import LANES
from polhode.kernels.stepping.torqued_block import own, torque_fields

pytestmark = pytest.mark.skipif(not JIT, reason="there is no such code without the compiler")

CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RNG = np.random.default_rng(7)


def evaluated(force, lanes, turned=False, params=None, time=None, velocity=None):
    """The block after the call for so many lanes, and its fields by name."""
    count = force.params.shape[-1]
    numbers = np.full(own.params + LANES * count + 4, np.nan)
    block = numbers[(-(numbers.ctypes.data >> 3)) % 4 :][: own.params + LANES * count]  # aligned to 32 bytes
    places = torque_fields(count)
    fields = {name: block[place : place + LANES] for name, place in places.items()}
    q = RNG.normal(size=(4, LANES))
    q /= np.linalg.norm(q, axis=0)
    for k in range(4):
        fields[f"q{k}"][:] = q[k]
    for name, field in fields.items():
        if name[0] in "wt" or name.startswith("caxis"):
            field[:] = RNG.normal(size=LANES)
    if time is not None:
        fields["t"][:] = time
    if velocity is not None:
        fields["w0"][:] = velocity
    for k in range(count):
        fields[f"p{k}"][:] = force.params[..., k] if params is None else params[:, k]
    assert CALL(force.torque_block_address(turned))(None, None, block.ctypes.data, lanes) == 0
    return fields


def expected(force, fields, l):
    """The torque of lane l in Python."""
    q = np.array([fields[f"q{k}"][l] for k in range(4)])
    w = tuple(float(fields[f"w{k}"][l]) for k in range(3))
    p = np.array([fields[f"p{k}"][l] for k in range(force.params.shape[-1])])
    return np.array(force.python_torque(float(fields["t"][l]), tuple(map(tuple, matrix(q).tolist())), w, p))


def everything(t, Q, w, p):
    x, y, z = Q[0][0], Q[1][2], Q[2][1]
    first = math.sqrt(2.0 + x) * math.exp(y) + math.log(3.0 + z) / (2.0 + y)
    second = math.sin(t) * math.cos(3.0 * t + x) + math.tan(0.5 * x) + math.atan2(y, 2.0 + z)
    return first, second, (2.0 + x) ** 2.5 * math.tanh(w[0]) + p[0] * math.asin(0.9 * z) + math.atan(w[1]) * p[1] ** 3


FORCES = {
    "gravity": forces.gravity(2.0, (0.1, 0.2, 1.0)),
    "gravity gradient": forces.gravity_gradient((1.0, 2.0, 3.0), 0.5, orbit_rate=0.3),
    "constant": forces.constant((1.0, 2.0, 3.0)),
    "sum": forces.gravity_gradient((1.0, 2.0, 3.0), 0.5) + forces.gravity(2.0, (0.1, 0.2, 1.0)),
    "everything": ph.Torque(everything, params=(0.5, 0.7)),
}


@pytest.mark.parametrize("name", FORCES)
def test_torques_of_all_lanes(name):
    force = FORCES[name]
    fields = evaluated(force, LANES)
    for l in range(LANES):
        f = expected(force, fields, l)
        got = [fields[f"f{k}"][l] for k in range(3)]
        np.testing.assert_allclose(got, f, rtol=0, atol=40 * EPS * (1.0 + np.abs(f).max()))
    assert (fields["raised"] == 0.0).all()


def test_only_so_many_lanes_are_computed():
    fields = evaluated(FORCES["gravity"], 8)
    assert np.isfinite(fields["f0"][:8]).all()
    assert np.isnan(fields["f0"][8:]).all()


def test_axes_of_the_user():
    """A torque that is the velocity, through axes that are any matrix A: A^T A w."""
    force = ph.Torque(lambda t, Q, w, p: (w[0], w[1], w[2]))
    fields = evaluated(force, LANES, turned=True)
    A = np.array([[fields[f"caxis{i}{j}"] for j in range(3)] for i in range(3)])
    w, f = (np.array([fields[f"{name}{k}"] for k in range(3)]) for name in "wf")
    np.testing.assert_allclose(f, np.einsum("kil,kjl,jl->il", A, A, w), rtol=0, atol=1e-13)


def test_sine_and_cosine_of_any_number():
    """To 1.5 eps, also far from 0, where neighbors in a vector are near 0."""
    t = np.concatenate([RNG.uniform(-10, 10, LANES - 9), (0.0, 1e-300, np.pi, 1e6, 1e6 + 1.0, 1e15, -1e300, 7e5, -2e6)])
    fields = evaluated(ph.Torque(lambda t, Q, w, p: (math.sin(t), math.cos(t), 0.0)), LANES, time=t)
    with mp.workdps(400):
        for x, s, c in zip(t, fields["f0"], fields["f1"], strict=True):
            assert abs(mp.sin(mpf(float(x))) - mpf(float(s))) <= 1.6 * EPS
            assert abs(mp.cos(mpf(float(x))) - mpf(float(c))) <= 1.6 * EPS
    assert fields["f0"][-8] == 1e-300


def test_exponential_and_logarithm_of_any_number():
    """To 1.5 eps, also where C computes them for the whole vector or for one lane of it."""
    far = (0.0, 1e-300, -1e-17, 1.0, 709.5, -745.0, -700.5, 1e-5, 0.5)
    t = np.concatenate([RNG.uniform(-30, 30, LANES - 9), far])
    force = ph.Torque(lambda t, Q, w, p: (math.exp(t), math.log(w[0]), 0.0))
    fields = evaluated(force, LANES, time=t)
    special = (5e-324, 1e-310, 1e-301, 1e301, 1.0, 1.0 - EPS / 2, 1.0 + EPS, math.sqrt(0.5), math.sqrt(2.0))
    w = np.concatenate([10.0 ** RNG.uniform(-3, 3, LANES - 18), RNG.uniform(0.6, 1.5, 9), special])
    logarithms = evaluated(force, LANES, velocity=w)["f1"]
    with mp.workdps(400):
        for x, y in zip(t, fields["f0"], strict=True):
            truth = mp.exp(mpf(float(x)))
            assert abs(truth - mpf(float(y))) <= 3 * EPS * truth + mpf(2) ** -1074
        for x, y in zip(w, logarithms, strict=True):
            truth = mp.log(mpf(float(x)))
            assert abs(truth - mpf(float(y))) <= 3 * EPS * abs(truth)


def test_logarithms_of_other_numbers_are_not_finite():
    fields = evaluated(ph.Torque(lambda t, Q, w, p: (math.log(w[0]), 0.0, 0.0)), LANES, velocity=np.arange(LANES) - 1.0)
    assert np.isnan(fields["f0"][0])
    assert fields["f0"][1] == -np.inf
    np.testing.assert_allclose(fields["f0"][2:], np.log(np.arange(1.0, LANES - 1.0)), rtol=6 * EPS)


def test_a_division_by_0_is_marked_in_its_lane_only():
    force = ph.Torque(lambda t, Q, w, p: (1.0 / p[0], Q[0][0] / (p[0] - 2.0), 0.0), params=[1.0])
    params = np.ones((LANES, 1))
    params[3], params[17] = 0.0, 2.0
    raised = evaluated(force, LANES, params=params)["raised"]
    assert np.flatnonzero(raised).tolist() == [3, 17]


def test_decisions_by_parameters_have_no_such_code():
    """Bodies of a batch may decide differently, and each must have the same bits in every batch."""
    force = ph.Torque(lambda t, Q, w, p: (p[0] if p[0] > 1.0 else Q[0][0], 0.0, 0.0), params=[2.0])
    assert force.torque_block_address(turned=False) is None
    assert force.is_traced


def test_a_rate_of_0_among_others_is_exact():
    """The code of a gravity gradient has no branch: with a rate of 0, sine and cosine change nothing."""
    force = forces.gravity_gradient((1.0, 2.0, 3.0), 0.5, orbit_rate=0.3)
    params = np.tile(force.params, (LANES, 1))
    params[::2, 12] = 0.0
    fields = evaluated(force, LANES, params=params)
    for l in range(LANES):
        got = [fields[f"f{k}"][l] for k in range(3)]
        np.testing.assert_allclose(got, expected(force, fields, l), rtol=0, atol=20 * EPS)
