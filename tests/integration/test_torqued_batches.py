"""Batches of bodies under torques, which are computed in blocks: bits do not depend on anything but the body itself.

The reference of features is the loop for one body alone, which shares neither the drift nor the kick with blocks.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS
from polhode import errors, forces
from polhode.integration import running
from polhode.kernels.compiler import JIT
from test_torqued_golden import CASES, REACHED, SLACK, times
from test_torqued_golden import errors as golden_errors

pytestmark = pytest.mark.dense

RNG = np.random.default_rng(34)
COUNT = 45  # a block and a part of one
NUDGE = 1e-7  # relative change of an input, for its condition
H, STEPS = 0.1, 4


def unit(q):
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


MOMENTS = np.sort(RNG.uniform(1.0, 2.0, (COUNT, 3)), axis=1)[:, [2, 0, 1]]
AXES = Rotation.random(COUNT, rng=1).as_matrix()
TENSORS = np.einsum("nij,nj,nkj->nik", AXES, MOMENTS, AXES)
M = RNG.normal(size=(COUNT, 3)) * 10.0 ** RNG.uniform(-1.0, 1.5, (COUNT, 1))  # all tiers of drifts
Q = unit(RNG.normal(size=(COUNT, 4)))
PARAMS = RNG.uniform(0.1, 0.5, (COUNT, 2))


def traced(t, Q, w, p):
    return p[0] * Q[2][1] + p[1] * np.cos(t) * Q[0][0], -p[0] * Q[2][0] / (2.0 + Q[0][0]), np.sqrt(p[1])


def branching(t, Q, w, p):
    return (p[0] * Q[2][1] if Q[0][0] > 0.0 else p[1]), -p[0] * Q[2][0], 0.0


def swift(t, Q, w, p):
    return p[0] * Q[2][1] - 0.1 * p[1] * w[0] * w[1], -p[0] * Q[2][0], -p[1] * w[2]


GRAVITY = forces.gravity(PARAMS[:, 0], (0.1, 0.2, 1.0))
TRACED = ph.Torque(traced, params=PARAMS)
FEATURES = {
    "built-in": (MOMENTS, GRAVITY, "ABA82"),
    "gravity gradient": (MOMENTS, forces.gravity_gradient(MOMENTS, PARAMS[:, 0]), "ABA1064"),
    "orbit": (MOMENTS, forces.gravity_gradient(MOMENTS, 0.3, orbit_rate=PARAMS[:, 1]), "ABA1064"),
    "traced": (MOMENTS, TRACED, "RKN6_14a"),
    "called": (MOMENTS, ph.Torque(branching, params=PARAMS), "RKN6_14a"),
    "tensors": (TENSORS, TRACED, "V2"),
    "tensors, called": (TENSORS, ph.Torque(branching, params=PARAMS), "V2"),
    "processor": (MOMENTS, TRACED, "PABA1264"),
    "gradient": (TENSORS, GRAVITY, "Chin4A"),
    "gradient, called": (MOMENTS, ph.Torque(branching, params=PARAMS), "OMF6"),
    "damping": (MOMENTS, GRAVITY + forces.damping((0.1, 0.0, 0.3)), "V2"),
    "oblique damping": (TENSORS, TRACED + forces.damping((0.1, 0.2, 0.3)), "V2"),
    "velocity": (TENSORS, ph.Torque(swift, params=PARAMS), "V2"),
    "velocity and damping": (TENSORS, ph.Torque(swift, params=PARAMS) + forces.damping((0.1, 0.2, 0.3)), "V2"),
    "another flow": (MOMENTS, GRAVITY, ph.Splitting(ph.ThreeRotations(), "V2")),
}


def some(body, force, rows, m=M, q=Q):
    """The problem of some of the bodies; of one body alone if `rows` is an int."""
    params = force.params[rows] if force.params.ndim > 1 else force.params
    made = ph.RigidBody.from_moments(body[rows]) if body.ndim == 2 else ph.RigidBody(body[rows])
    return ph.Problem(made, ph.State(m[rows], q[rows]), force.replaced(params=params), (0.0, STEPS * H))


def run(body, force, method, rows, **more):
    return ph.integrate(some(body, force, rows, **more), method=method, h=H)


def distance(a, b, size):
    """Of two trajectories of one body alone: the larger error of m, relative to `size`, and of q."""
    return max(np.abs(a.m - b.m).max() / size, np.abs(a.q - b.q).max())


def assert_same_bits(a, b, rows):
    """Trajectory a has the bodies `rows` of trajectory b."""
    np.testing.assert_array_equal(a.m, b.m[:, rows])
    np.testing.assert_array_equal(a.q, b.q[:, rows])


@pytest.fixture(params=[1, 2])
def threads(request, monkeypatch):
    monkeypatch.setenv("POLHODE_NUM_THREADS", str(request.param))
    monkeypatch.setattr(sys.modules["polhode.core.threads"], "PARALLEL_FROM", 1)


@pytest.mark.parametrize("name", FEATURES)
def test_features_agree_with_one_body_alone(name):
    """To 5 eps (1 + cond) per step, with the condition of the loop for one body."""
    body, force, method = FEATURES[name]
    together = run(body, force, method, np.arange(COUNT))
    for i in range(0, COUNT, 4):
        alone, size = run(body, force, method, i), float(np.linalg.norm(M[i]))
        cond = 0.0
        for k in range(3):
            moved = M.copy()
            moved[i, k] += NUDGE * size
            cond += distance(run(body, force, method, i, m=moved), alone, size) / NUDGE
        turned = unit(Q + NUDGE * RNG.normal(size=Q.shape))
        cond += distance(run(body, force, method, i, q=turned), alone, size) / NUDGE
        error = max(np.abs(together.m[:, i] - alone.m).max() / size, np.abs(together.q[:, i] - alone.q).max())
        assert error <= 5.0 * EPS * (1.0 + cond) * STEPS


@pytest.mark.parametrize("name", FEATURES)
def test_neighbors_and_places_change_no_bit(name, threads):
    body, force, method = FEATURES[name]
    together = run(body, force, method, np.arange(COUNT))
    for rows in (RNG.permutation(COUNT), RNG.permutation(COUNT)[:9], np.array([7]), np.array([7, 7, 3]), np.arange(33)):
        assert_same_bits(run(body, force, method, rows), together, rows)


@pytest.mark.parametrize("name", ["traced", "called", "velocity", "processor"])
def test_pieces_and_saving_change_no_bit(name, monkeypatch):
    body, force, method = FEATURES[name]
    together = run(body, force, method, np.arange(COUNT))
    monkeypatch.setattr(running, "FIRST_PIECE", 7)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    pieces = run(body, force, method, np.arange(COUNT))
    assert_same_bits(pieces, together, np.arange(COUNT))
    assert pieces.stats.torques == together.stats.torques


@pytest.mark.parametrize("name", ["traced", "called"])
def test_states_between_steps_do_not_depend_on_neighbors(name):
    body, force, method = FEATURES[name]
    rows, t = np.array([3, 44, 8]), np.array([0.05, 0.2, 0.333])
    one, other = (run(body, force, method, some_rows).sol(t) for some_rows in (np.arange(COUNT), rows))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a[:, rows], b)


def test_events_do_not_depend_on_neighbors():
    def found(some_rows):
        problem = some(MOMENTS, TRACED, some_rows)
        return ph.integrate(problem, method="RKN6_14a", h=H, events=lambda t, m, q: q[..., 0]).t_events[0]

    many = found(np.arange(COUNT))
    rows = np.array([i for i in range(COUNT) if len(many[i])])[::-3]
    few = found(rows)
    assert len(rows) > 2
    for times_of_body, row in zip(few, rows, strict=True):
        np.testing.assert_array_equal(times_of_body, many[row])


# The golden cases, among neighbors of any kind


def golden_batch(problem, places, count):
    """The body of a golden case at some places of a batch, among bodies of other moments, momenta and attitudes."""
    rng = np.random.default_rng(count)
    size = np.linalg.norm(problem.state.m)
    m = size * rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-2, 1, (count, 1))
    q, moments = unit(rng.normal(size=(count, 4))), problem.body.moments * rng.uniform(0.8, 1.25, (count, 1))
    m[places], q[places], moments[places] = problem.state.m, problem.state.q, problem.body.moments
    return ph.Problem(ph.RigidBody.from_moments(moments), ph.State(m, q), problem.force, problem.t_span)


@pytest.mark.skipif(not JIT, reason="takes long without the compiler")
@pytest.mark.parametrize("name", REACHED)
def test_golden_cases_have_the_same_bits_anywhere(name, threads):
    make, scheme, steps, reached = REACHED[name]
    problem, case = make(), CASES[name]

    def states(places, count):
        batch = golden_batch(problem, places, count)
        traj = ph.integrate(batch, method=scheme, h=problem.duration / steps, t_eval=times(case))
        return traj.m[:, places], traj.q[:, places]

    m, q = (array[:, 0] for array in states([0], 1))
    assert max(golden_errors(case, m, q)) <= 2.0 * SLACK * reached  # which was reached by the loop for one body
    for places, count in (([0, 4], 5), ([31, 32, 69], 70)):
        for array, expected in zip(states(places, count), (m, q), strict=True):
            for k in range(len(places)):
                np.testing.assert_array_equal(array[:, k], expected)


# Bodies that fail, and rare ones


def fragile(t, Q, w, p):
    """Not finite for a huge p[0]; at t = p[1], a division by 0."""
    x = float(p[0])
    return x * Q[2][1] / (t - float(p[1])), 0.0, 1e200 * x * x


def stumbling(t, Q, w, p):
    x = float(p[0])
    if t > p[1] > 0.0:
        raise ValueError("too late")
    return x * Q[2][1], 0.0, 1e200 * x * x


@pytest.mark.parametrize("function", [fragile, stumbling])
@pytest.mark.parametrize("method", ["V2", "PABA1264", "Chin4A"])
def test_a_body_that_fails_does_not_disturb_others(function, method):
    """A division by 0, a torque that is not finite, an exception: each at a time of its own, and alone as together."""
    params = np.column_stack([np.full(COUNT, 1e-100), np.full(COUNT, -1.0)])
    good = run(MOMENTS, ph.Torque(function, params=params), method, np.arange(COUNT))
    bad = params.copy()
    bad[[5, 33], 1] = 0.25, 0.15
    bad[40, 0] = 1e80
    force = ph.Torque(function, params=bad)
    with pytest.warns(errors.RunWarning):
        mixed = run(MOMENTS, force, method, np.arange(COUNT))
    others = np.flatnonzero(mixed.status == 0)
    assert {40} <= set(range(COUNT)) - set(others.tolist()) <= {5, 33, 40}
    np.testing.assert_array_equal(mixed.m[:, others], good.m[:, others])
    for i in set(range(COUNT)) - set(others.tolist()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.RunWarning)
            alone = run(MOMENTS, force, method, np.array([i]))
        with pytest.raises(errors.RunError) as single:
            run(MOMENTS, force, method, i)
        assert mixed.status[i] == alone.status[0] == single.value.trajectory.status
        np.testing.assert_array_equal(mixed.m[:, i], alone.m[:, 0])
        reached = np.isfinite(single.value.trajectory.m[:, 0]).sum()
        assert np.isfinite(mixed.m[:reached, i]).all()
        assert np.isnan(mixed.m[reached:, i]).all()


def test_all_bodies_of_a_block_may_fail():
    force = ph.Torque(stumbling, params=np.full((COUNT, 2), (1e-100, 0.25)))
    with pytest.warns(errors.RunWarning, match=f"{COUNT} of {COUNT} bodies stopped early"):
        failed = run(MOMENTS, force, "V2", np.arange(COUNT))
    assert (failed.status < 0).all()
    assert np.isfinite(failed.m[:3]).all()


def test_a_drift_without_a_result_stops_its_body_only():
    m = M.copy()
    m[7] = 1e200
    with pytest.warns(errors.RunWarning, match=r"1 of 45 bodies stopped early; body\[7\].*no solution"):
        mixed = run(MOMENTS, GRAVITY, "V2", np.arange(COUNT), m=m)
    others = np.arange(COUNT) != 7
    np.testing.assert_array_equal(mixed.q[:, others], run(MOMENTS, GRAVITY, "V2", np.arange(COUNT)).q[:, others])


def test_rare_bodies_among_others():
    """Rest, momenta near underflow, steps of many turns, and bodies next to the separatrix with long steps."""
    m, moments = M.copy(), MOMENTS.copy()
    m[3], m[4], m[5] = 0.0, 1e-310, 1e-200
    m[6] = 1e5, 2e5, 3e5
    moments[7], m[7] = (1.0, 2.0, 3.0), (1e-9, 400.0, 1e-9)
    q = Q.copy()
    together = run(moments, GRAVITY, "V2", np.arange(COUNT), m=m, q=q)
    rows = np.array([7, 6, 5, 4, 3])
    assert_same_bits(run(moments, GRAVITY, "V2", rows, m=m, q=q), together, rows)
    for i in (3, 4, 5):
        alone = run(moments, GRAVITY, "V2", i, m=m, q=q)
        np.testing.assert_allclose(together.m[:, i], alone.m, rtol=0, atol=20 * EPS * np.abs(alone.m).max())
        np.testing.assert_allclose(together.q[:, i], alone.q, rtol=0, atol=20 * EPS)


def test_units_do_not_matter():
    """Powers of two of the units of mass and time, as large as they may be, change no bit."""
    force = forces.gravity(0.3, (0.1, 0.2, 1.0))
    problem = ph.Problem(MOMENTS, ph.State(M, Q), force, (0.0, 0.4))
    plain = ph.integrate(problem, method="Chin4A", h=H)
    for mass in (2.0**-200, 2.0**200):
        weight = forces.gravity(0.3 * mass, (0.1, 0.2, 1.0))
        scaled = ph.Problem(MOMENTS * mass, ph.State(M * mass, Q), weight, (0.0, 0.4))
        result = ph.integrate(scaled, method="Chin4A", h=H)
        np.testing.assert_array_equal(result.q, plain.q)
        np.testing.assert_array_equal(result.m, plain.m * mass)
