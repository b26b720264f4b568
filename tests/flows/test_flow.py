"""``flow.step``: what it takes and gives back, whichever flow it is; what it says when there is no step to take."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, random_attitude
from polhode import errors, flows
from polhode.core.rotation import conjugate, matrix, multiply
from polhode.core.threads import PARALLEL_FROM
from polhode.flows.midpoint import newton
from polhode.kernels.compiler import JIT
from polhode.kernels.stepping.loops import loops

INERTIA = (1.65, 1.0, 1.97)
M, Q = (0.3, 0.2, 0.9), (0.5, -0.5, 0.5, 0.5)
START = ph.State(M, Q)
FLOW = ph.SymmetricRotation()


def same(a, b):
    np.testing.assert_array_equal(a.m, b.m)
    np.testing.assert_array_equal(a.q, b.q)


def close(a, b, eps):
    np.testing.assert_allclose(a.m, b.m, atol=eps * EPS, rtol=0)
    np.testing.assert_allclose(a.q, b.q, atol=eps * EPS, rtol=0)


def test_one_body():
    end = ph.Exact().step(INERTIA, START, 0.7, steps=10)
    m, q = ph.propagate(INERTIA, M, Q, 7.0)
    assert (end.m.shape, end.q.shape, end.batch) == ((3,), (4,), ())
    close(end, START._exactly(m=m, q=q), 50)


def test_bodies_in_any_form():
    """A RigidBody, moments, a tensor: one result."""
    expected = FLOW.step(INERTIA, START, 0.1, 5)
    same(FLOW.step(ph.RigidBody(INERTIA), START, 0.1, 5), expected)
    same(FLOW.step(list(INERTIA), START, 0.1, 5), expected)
    close(FLOW.step(np.diag(INERTIA), START, 0.1, 5), expected, 20)


def test_what_came_in_is_not_changed():
    state, body, h = ph.State(M, Q), ph.RigidBody(INERTIA), np.array([0.1, 0.2])
    FLOW.step(body, state, h, 3)
    same(state, START)
    np.testing.assert_array_equal(h, [0.1, 0.2])


@pytest.mark.parametrize(
    ("body", "state", "h"),
    [
        ((), (5,), ()),
        ((5,), (), ()),
        ((), (), (5,)),
        ((4, 1), (5,), ()),
        ((4, 1), (1, 5), (4, 1)),
        ((2, 1, 1), (5,), (3, 1)),
    ],
    ids=str,
)
def test_broadcasting(rng, body, state, h):
    moments, m, q = rng.uniform(1, 3, (*body, 3)), rng.normal(size=(*state, 3)), random_attitude(rng, *state)
    times = rng.uniform(-0.5, 0.5, h)
    bodies, start = ph.RigidBody.from_moments(moments), ph.State(m, q)
    end = FLOW.step(bodies, start, times, 3)
    batch = np.broadcast_shapes(body, state, h)
    assert end.batch == batch
    for i in np.ndindex(batch):
        one = FLOW.step(bodies.select(batch, i), start.select(batch, i), np.broadcast_to(times, batch)[i], 3)
        same(one, end.select(batch, i))


def test_q_and_m_of_different_batches(rng):
    end = FLOW.step(INERTIA, ph.State(M, random_attitude(rng, 6)), 0.2)
    assert (end.m.shape, end.q.shape) == ((6, 3), (6, 4))
    assert np.ptp(end.m, axis=0).max() == 0


def test_empty_batches():
    end = FLOW.step(INERTIA, ph.State(np.empty((0, 3)), np.empty((0, 4))), 0.2)
    assert (end.m.shape, end.q.shape) == ((0, 3), (0, 4))


def test_shapes_that_do_not_fit(rng):
    with pytest.raises(errors.ShapeError, match=r"state \(3,\), h \(4,\)"):
        FLOW.step(INERTIA, ph.State(rng.normal(size=(3, 3))), np.ones(4))


def turned_body(moments, axes):
    """Tensor and state of a body that is given in axes turned by ``axes`` from its principal ones."""
    A = matrix(axes)
    tensor = A @ np.diag(moments) @ A.T
    return 0.5 * (tensor + tensor.T), ph.State(A @ np.array(M), multiply(Q, conjugate(axes)))


@pytest.mark.parametrize("flow", [ph.Exact(), FLOW], ids=repr)
def test_a_tensor_keeps_the_axes_of_the_user(rng, flow):
    """The same body, described in turned axes: m is turned, and q takes that back."""
    axes = random_attitude(rng)
    tensor, start = turned_body(INERTIA, axes)
    plain, end = flow.step(INERTIA, START, 0.4, 5), flow.step(tensor, start, 0.4, 5)
    close(end, plain._exactly(m=matrix(axes) @ plain.m, q=multiply(plain.q, conjugate(axes))), 200)


def test_batches_of_tensors(rng):
    pairs = [turned_body(INERTIA, random_attitude(rng)) for _ in range(4)]
    tensors = np.array([tensor for tensor, _ in pairs])
    start = ph.State([s.m for _, s in pairs], [s.q for _, s in pairs])
    end = FLOW.step(tensors, start, 0.3, 2)
    for i, (tensor, state) in enumerate(pairs):
        same(end.select((4,), i), FLOW.step(tensor, state, 0.3, 2))


def test_a_fixed_axis_of_a_flow_is_a_principal_axis(rng):
    """ThreeRotations(axes=...) of a tensor: its principal axes are numbered as in ``body.moments``."""
    tensor, start = turned_body(INERTIA, random_attitude(rng))
    body, flow = ph.RigidBody(tensor), ph.ThreeRotations(axes=(2, 3, 1))
    axes = ph.rotation.from_matrix(body.axes)
    inside = ph.State(body.axes.T @ start.m, multiply(start.q, axes))
    end, plain = flow.step(body, start, 0.4), flow.step(body.moments, inside, 0.4)
    close(end, plain._exactly(m=body.axes @ plain.m, q=multiply(plain.q, conjugate(axes))), 100)


@pytest.mark.parametrize("flow", [ph.Exact(), FLOW, ph.NoSquish(), ph.Gauss(4)], ids=repr)
def test_linear_rotors(flow):
    """Turn about m, which stays, at |m|/I; every flow is exact then, as it is for spheres."""
    body, m, h = ph.RigidBody.linear(2.0), np.array([0.0, 0.6, 0.8]), 0.05
    end = flow.step(body, ph.State(m), h, 3)
    half = 0.5 * 3 * h / 2.0
    np.testing.assert_allclose(end.m, m, atol=10 * EPS, rtol=0)
    np.testing.assert_allclose(end.q, [np.cos(half), *(np.sin(half) * m)], atol=10 * EPS, rtol=0)
    with pytest.raises(
        errors.MomentumError, match=r"state\.m = \(0\.1, 0, 1\): a linear rotor has no angular momentum"
    ):
        flow.step(body, ph.State((0.1, 0.0, 1.0)), h)


@pytest.mark.parametrize("flow", flows.variants(), ids=repr)
def test_linear_rotors_get_no_momentum_about_their_axis(flow):
    """Nor does their momentum turn, whichever flow it is."""
    m = np.array([0.0, 0.6, 0.8])
    end = flow.step(ph.RigidBody.linear(2.0), ph.State(m), 0.05, 100)
    np.testing.assert_allclose(end.m, m, atol=20 * EPS, rtol=0)


@pytest.mark.parametrize("flow", [ph.NoSquish(), ph.ThreeRotations(4)], ids=repr)
def test_linear_rotors_that_are_kicked(flow):
    """By a weight on the axis, against a rotor that is nearly linear, by another method."""
    force, state = ph.forces.gravity(1.0, (0.5, 0.0, 0.0)), ph.State((0.0, 0.6, 0.8), (0.8, 0.0, 0.6, 0.0))
    run = ph.integrate(
        ph.Problem(ph.RigidBody.linear(2.0), state, force, (0, 5)), method=ph.Splitting(flow, "RKN6_14a"), h=0.05
    )
    assert np.abs(run.m[:, 0]).max() <= 10 * EPS
    top = ph.Problem((1e-9, 2.0, 2.0), state, force, (0, 5))
    expected = ph.integrate(top, method=ph.Adaptive(1e-12))
    np.testing.assert_allclose(run.q[-1], expected.q[-1], atol=1e-8, rtol=0)


def test_no_steps():
    same(FLOW.step(INERTIA, START, 0.3, steps=0), START)
    same(FLOW.step(INERTIA, START, 0.0, steps=4), START)


def test_backward():
    same(FLOW.step(INERTIA, START, -0.3), FLOW.step(INERTIA, START, np.array(-0.3)))
    there = FLOW.step(INERTIA, START, 0.3, steps=7)
    close(FLOW.step(INERTIA, there, -0.3, steps=7), START, 60)


def test_steps_are_repeated_steps():
    """To the bit; a state that comes back from a step is taken as it is, not normalized."""
    state = START
    for _ in range(5):
        state = FLOW.step(INERTIA, state, 0.3)
    same(state, FLOW.step(INERTIA, START, 0.3, steps=5))


def test_the_quaternion_is_not_normalized():
    off = START._exactly(q=1.001 * START.q)
    end, plain = FLOW.step(INERTIA, off, 0.3), FLOW.step(INERTIA, START, 0.3)
    np.testing.assert_allclose(end.q, 1.001 * plain.q, rtol=0, atol=6 * EPS)


def test_rest():
    for h in (0.3, -5.0):
        same(FLOW.step(INERTIA, ph.State((0, 0, 0), Q), h, 3), ph.State((0, 0, 0), Q))


@pytest.mark.parametrize("place", [{"x": (1.0, 2.0, 3.0)}, {"p": (-1.0, 0.0, 4.0)}, {"x": np.zeros((5, 3)), "p": M}])
def test_a_state_that_moves_is_refused(place):
    """A free flow turns; it does not move."""
    state, named = ph.State(M, Q, **place), " and ".join(place)
    told = rf"state has {named}; expected only m and q, .* System\(body, state, .*; otherwise omit {named}: State\(m="
    for call in (
        lambda: FLOW.step(INERTIA, state, 0.3),
        lambda: ph.free_motion(INERTIA, state),
        lambda: ph.Problem(INERTIA, state),
    ):
        with pytest.raises(errors.InputError, match=told):
            call()
    assert FLOW.step(INERTIA, START, 0.3).x is None


@pytest.mark.parametrize("h", [np.nan, np.inf, [0.1, -np.inf]], ids=str)
def test_h_must_be_finite(h):
    with pytest.raises(errors.TimeError, match=r"h.* every value must be finite"):
        FLOW.step(INERTIA, START, h)


@pytest.mark.parametrize("h", ["0.1", None, 1j, [[0.1], [0.2, 0.3]]], ids=str)
def test_h_must_be_numbers(h):
    with pytest.raises(ph.InputError, match="h must be numbers"):
        FLOW.step(INERTIA, START, h)


@pytest.mark.parametrize("steps", [1.0, "3", None, 2.5, (1,)], ids=repr)
def test_steps_must_be_whole(steps):
    with pytest.raises(ph.InputError, match=r"steps is .*; expected a whole number, 0 or more"):
        FLOW.step(INERTIA, START, 0.1, steps)


def test_steps_must_not_be_negative():
    with pytest.raises(
        ph.InputError, match=r"steps is -2; expected 0 or more \(for a motion backward make h negative\)"
    ):
        FLOW.step(INERTIA, START, 0.1, -2)
    same(FLOW.step(INERTIA, START, 0.1, np.int64(2)), FLOW.step(INERTIA, START, 0.1, 2))


def test_bodies_no_kernel_takes():
    with pytest.raises(errors.InertiaError, match="moments may differ by factors up to 1e150"):
        FLOW.step((1e-100, 1.0, 1e100), START, 0.1)
    with pytest.raises(errors.InertiaError, match="principal moments must be positive"):
        FLOW.step((1.0, 2.0, -3.0), START, 0.1)


def test_stats():
    """Iterations of each body, all steps together; explicit flows have none."""
    moments, h = ph.RigidBody.from_moments([INERTIA, (1.0, 2.0, 3.0)]), np.array([[0.01], [0.1], [0.4]])
    end, stats = ph.MoserVeselov().step(moments, START, h, 10, return_stats=True)
    same(end, ph.MoserVeselov().step(moments, START, h, 10))
    assert stats.iterations.shape == (3, 2)
    assert (stats.iterations >= 10).all()
    assert (np.diff(stats.iterations, axis=0) >= 0).all()
    assert stats.iterations[2, 0] > stats.iterations[0, 0]
    assert FLOW.step(INERTIA, START, 0.1, 10, return_stats=True)[1].iterations == 0


# Steps without a result: discrete Moser-Veselov about a principal axis needs h |omega| <= 1, sin(angle) = h omega

SPIN = ph.State((0.0, 0.0, 4.0))  # about axis 3 of (1, 1.5, 2): omega = 2


def failure(*args):
    with pytest.raises(errors.StepError) as caught:
        ph.MoserVeselov().step(*args)
    return caught.value


def test_a_step_that_has_no_solution():
    error = failure((1.0, 1.5, 2.0), SPIN, 0.6, 5)
    assert isinstance(error, ph.PolhodeError)
    assert isinstance(error, ArithmeticError)
    assert error.done == 0
    assert 0.495 <= error.working_step <= 0.5
    same(error.state, SPIN)
    ph.MoserVeselov().step((1.0, 1.5, 2.0), error.state, error.working_step)
    for part in (
        "MoserVeselov()",
        "step 1 of 5",
        "h = 0.6",
        "m = (0, 0, 4)",
        "inertia (1, 1.5, 2)",
        "works from that state",
    ):
        assert part in str(error)


def test_a_step_backward_that_has_no_solution():
    assert -0.5 <= failure((1.0, 1.5, 2.0), SPIN, -0.6).working_step <= -0.495


def test_what_a_batch_has_done_is_not_lost():
    """The other bodies have taken all their steps; the message is about the first that has not."""
    h = np.array([0.1, 0.6, 0.2, 0.7])
    error = failure((1.0, 1.5, 2.0), SPIN, h, 5)
    np.testing.assert_array_equal(error.done, [5, 0, 5, 0])
    assert "body[1] at h = 0.6" in str(error)
    for i in (0, 2):
        same(error.state.select((4,), i), ph.MoserVeselov().step((1.0, 1.5, 2.0), SPIN, h[i], 5))
    same(error.state.select((4,), 1), SPIN)


def test_a_run_that_fails_on_its_way():
    """omega changes along the motion: a step can work for a while, and fail later."""
    body, start, h = (1.247, 1.605, 2.819), ph.State((0.6843, -0.4706, -0.5571)), 1.6
    error = failure(body, start, h, 1000)
    done = int(error.done)
    assert 0 < done < 1000
    assert f"step {done + 1} of 1000" in str(error)
    same(error.state, ph.MoserVeselov().step(body, start, h, done))
    ph.MoserVeselov().step(body, error.state, error.working_step)
    assert 0 < error.working_step < h


def test_failures_in_the_axes_of_the_user(rng):
    tensor, start = turned_body((1.0, 1.5, 2.0), random_attitude(rng))
    start = ph.State(20 * start.m, start.q)
    error = failure(tensor, start, 0.5)
    close(error.state, start, 500)
    ph.MoserVeselov().step(tensor, error.state, error.working_step)


@pytest.mark.parametrize("flow", [ph.Exact(), FLOW], ids=repr)
def test_too_many_turns(flow):
    with pytest.raises(errors.StepError, match="too many turns") as caught:
        flow.step(INERTIA, ph.State((1e200, 0.0, 1e200)), 1e10)
    assert caught.value.working_step is None
    assert caught.value.done == 0


@pytest.mark.dense
def test_threads_report_every_failure(monkeypatch):
    monkeypatch.setenv("POLHODE_NUM_THREADS", "4")
    n, steps = 40, 600
    assert n * steps >= PARALLEL_FROM
    h = np.full(n, 0.01)
    h[[7, 31]] = 0.7
    error = failure((1.0, 1.5, 2.0), SPIN, h, steps)
    np.testing.assert_array_equal(np.flatnonzero(error.done < steps), [7, 31])
    assert "body[7]" in str(error)


def test_flows_are_values():
    assert ph.Gauss(3) == ph.Gauss(3) != ph.Gauss(4)
    assert ph.Exact() != "Exact()"
    assert len({ph.NoSquish(), ph.NoSquish(), ph.ThreeRotations()}) == 2


@pytest.mark.parametrize("flow", [ph.Exact(), ph.Gauss(3), ph.Composed(ph.NoSquish(), "Yoshida4")], ids=repr)
def test_flows_can_be_pickled(flow):
    again = pickle.loads(pickle.dumps(flow))
    assert again == flow
    same(again.step(INERTIA, START, 0.1), flow.step(INERTIA, START, 0.1))


def test_kernels_can_be_pickled():
    """The class of a flow in a script is sent as a whole by cloudpickle; its kernels are made again there."""
    kernels = ph.Midpoint().kernels
    again = pickle.loads(pickle.dumps(kernels))
    assert again[:3] == kernels[:3]
    assert again.advance_entry.__qualname__ == kernels.advance_entry.__qualname__


@pytest.mark.skipif(not JIT, reason="nothing is cached")
@pytest.mark.parametrize("flow", [ph.Exact(), ph.Midpoint()], ids=repr)
def test_entry_points_belong_to_the_file_of_their_flow(flow):
    """By which the cache knows whether they are up to date."""
    for entry in (flow.kernels.prepare_entry, flow.kernels.advance_entry):
        assert entry.__wrapped__.__code__.co_filename == flow.kernels.advance.py_func.__code__.co_filename
        assert entry.__module__ == type(flow).__module__


@pytest.mark.skipif(not JIT, reason="nothing is cached")
def test_no_two_entry_points_have_the_same_name():
    """The names of module and function identify compiled code in the cache."""
    exact, midpoint = ph.Exact().kernels, ph.Midpoint().kernels
    functions = (exact.prepare, midpoint.advance), (midpoint.prepare, midpoint.advance), (midpoint.prepare, newton)
    made = [loops(*pair, size=20) for pair in functions]
    entries = [entry for kernels in made for entry in (kernels.prepare_entry, kernels.advance_entry)]
    names = [(entry.__module__, entry.__qualname__) for entry in entries]
    assert len(set(names)) == len(names)
