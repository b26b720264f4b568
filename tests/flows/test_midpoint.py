"""The implicit midpoint rule against its definition, closed forms and printed numbers, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, random_attitude
from multiprecision import in_digits, uncompiled_only
from oracles.addition import addition_flow
from polhode.core.errors import StepError
from polhode.flows.midpoint import Midpoint
from polhode.kernels.compiler import JIT
from test_chain import bodies as chain_bodies
from test_chain import drifts, rms
from test_moser_veselov import cross, fails, frobenius_error, kinds, states, stretch

FLOW = Midpoint()
I, M, Q = (1.0, 1.65, 1.97), (0.5, -0.6, 0.7), (0.5, 0.5, -0.5, 0.5)


def defect(inertia, before, after):
    """m1 - m - Y x Y/I and Q1 - Q - (Q + Q1)/2 hat(Y/I) for h = 1, Y the middle of m and m1: what the rule says."""
    with mp.workdps(40):
        (m0, q0), (m1, q1) = (([mpf(float(x)) for x in v] for v in s) for s in (before, after))
        Y = [(a + b) / 2 for a, b in zip(m0, m1, strict=True)]
        w = [y / mpf(float(i)) for y, i in zip(Y, inertia, strict=True)]
        of_m = [b - a - c for a, b, c in zip(m0, m1, cross(Y, w), strict=True)]
        Q0, Q1 = matrix(q0), matrix(q1)
        of_q = Q1 - Q0 - (Q0 + Q1) / 2 * hat(w)
        return float(mp.norm(of_m) / mp.norm(m0)), float(mp.mnorm(of_q, "f"))


def hat(v):
    return mp.matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def matrix(q):
    v = hat(q[1:])
    return mp.eye(3) + 2 * (q[0] * v + v * v) / sum(x * x for x in q)


@pytest.mark.parametrize("turn", [0.01, 0.3, 0.9])
def test_definition(rng, turn):
    moments = kinds(rng)
    start = states(rng, moments, turn)
    end = FLOW.step(ph.RigidBody.from_moments(moments), start, 1.0)
    for i, m, q, n, p in zip(moments, start.m, start.q, end.m, end.q, strict=True):
        assert max(defect(i, (m, q), (n, p))) <= 12 * EPS * stretch(i)


def errors(span, counts):
    m, q = (np.array([float(x) for x in v]) for v in addition_flow(I, M, Q, span))
    for n in counts:
        end = FLOW.step(I, ph.State(M, Q), span / n, n)
        yield float(np.hypot(np.linalg.norm(end.m - m), np.linalg.norm(end.q - q)))


def test_order():
    found = list(errors(8.0, (64, 128, 256, 512)))
    np.testing.assert_allclose(np.log2(np.divide(found[:-1], found[1:])), 2, atol=0.05)


@uncompiled_only
def test_order_in_many_digits():
    """The solver converges to as many digits as there are: energy and |m| show it."""
    inertia, m = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0)
    with mp.workdps(60):
        truth = addition_flow(inertia, m, Q, 1, 60)[0]
        found = []
        for n in (8, 16):
            end, _ = in_digits(FLOW, inertia, m, Q, mpf(1) / n, n, 60)
            found.append(mp.norm([a - b for a, b in zip(end, truth, strict=True)]))
            assert abs(mp.norm(end) - mp.norm(m)) < 1e-58
            assert abs(sum((a * a - mpf(b) ** 2) / c for a, b, c in zip(end, m, inertia, strict=True))) < 1e-58
        assert float(mp.log(found[0] / found[1], 2)) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(("h", "expected"), [(0.05, 2.35), (0.01, 3.30e-1), (0.001, 3.36e-3), (0.0001, 3.36e-5)])
def test_free_body_of_betsch_and_siebert(h, expected):
    assert frobenius_error(FLOW, h) == pytest.approx(expected, rel=3e-3)


def test_invariants_walk_at_random():
    steps = 100_000 if JIT else 500
    bodies = chain_bodies() if JIT else chain_bodies()[::4]
    moments, m, q = (np.array([body[i] for body in bodies]) for i in range(3))
    start = ph.State(m / np.linalg.norm(m / moments, axis=-1, keepdims=True), q)
    end = FLOW.step(ph.RigidBody.from_moments(moments), start, 0.3, steps)
    with mp.workdps(40):
        found = [drifts(*row) for row in zip(moments, start.m, start.q, end.m, end.q, strict=True)]
    found = np.array(found) / np.sqrt(steps)
    assert max(rms(column) for column in found.T) < 2.5
    assert np.abs(found).max() < 6


def test_a_batch_is_a_loop(rng):
    moments = kinds(rng)
    start = states(rng, moments, 0.6)
    whole, stats = FLOW.step(ph.RigidBody.from_moments(moments), start, 1.0, 3, return_stats=True)
    assert stats.iterations.min() >= 3
    assert stats.iterations.max() <= 15
    for i in range(0, len(moments), 5):
        one = FLOW.step(moments[i], start.select((len(moments),), i), 1.0, 3)
        np.testing.assert_array_equal(one.m, whole.m[i])
        np.testing.assert_array_equal(one.q, whole.q[i])


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("h", [1e-9, -0.3, 2.0, 6.0])
def test_steady_spin(axis, h):
    """About a principal axis tan(half the angle of the step) = h omega/2, for steps of any length."""
    start = ph.State.from_omega(I, np.eye(3)[axis])
    end = FLOW.step(I, start, h)
    np.testing.assert_array_equal(end.m, start.m)
    with mp.workdps(30):
        half = mp.atan(mpf(h) / 2)
        assert abs(end.q[0] - mp.cos(half)) <= 2 * EPS
        assert abs(end.q[1 + axis] - mp.sin(half)) <= 4 * EPS


def test_rest_and_no_time():
    for start, h in ((ph.State((0.0, 0.0, 0.0), Q), 1e3), (ph.State(M, Q), 0.0), (ph.State(M, Q), -1e-300)):
        end = FLOW.step(I, start, h, 3)
        np.testing.assert_allclose(end.m, start.m, rtol=0, atol=1e-299)
        np.testing.assert_allclose(end.q, start.q, rtol=0, atol=1e-299)


def limit(moments, m):
    """Steps up to which there is one root and no other: 2/(|m| sqrt((1/I1 - 1/I2)(1/I2 - 1/I3)))."""
    x = np.sort(1 / np.array(moments))
    return 2 / (np.linalg.norm(m) * np.sqrt((x[2] - x[1]) * (x[1] - x[0])))


def test_every_step_below_the_limit_works(rng):
    for _ in range(30):
        moments, start = 10 ** rng.uniform(-1, 1, 3), ph.State(rng.normal(size=3), random_attitude(rng))
        h = 0.99 * limit(moments, start.m)
        end = FLOW.step(moments, start, h)
        Y = 0.5 * (start.m + end.m)
        size = np.linalg.norm(start.m)
        residual = np.linalg.norm(end.m - start.m - h * np.cross(Y, Y / moments)) / size
        assert residual <= 50 * EPS * (1 + abs(h) * size / moments.min())


def test_on_the_middle_axis_beyond_the_limit():
    """The spin is still a solution, but one of three, and not that of its neighbors."""
    start = ph.State((0.0, 1.0, 0.0))
    last = limit(I, start.m)
    assert not fails(FLOW, I, start, 0.999 * last)
    with pytest.raises(StepError, match=rf"unique solution for \|h\| < {last:.6g}; h = ") as caught:
        FLOW.step(I, start, 1.001 * last)
    assert 0.99 * last < caught.value.working_step < last


@pytest.mark.dense
def test_next_to_the_middle_axis_the_root_is_that_of_shorter_steps():
    m = np.array((0.05, 1.0, -0.08))
    for factor in (0.5, 1.0, 1.2, 1.5):
        h = factor * limit(I, m)
        Y = m
        for part in np.arange(1, 401) / 400:
            k = 0.5 * part * h / np.array(I)
            a, b, c = k[2] - k[1], k[0] - k[2], k[1] - k[0]
            for _ in range(20):
                A = np.array([[1, -a * Y[2], -a * Y[1]], [-b * Y[2], 1, -b * Y[0]], [-c * Y[1], -c * Y[0], 1]])
                Y = Y + np.linalg.solve(A, m + np.cross(Y, k * Y) - Y)
        np.testing.assert_allclose(FLOW.step(I, ph.State(m), h).m, 2 * Y - m, rtol=0, atol=1e-12)


def test_record():
    record = FLOW.record
    assert repr(FLOW) == "Midpoint()"
    assert (record.order, record.symmetric, record.poisson, record.symplectic) == (2, True, False, False)
    assert Midpoint.variants() == (FLOW,)
