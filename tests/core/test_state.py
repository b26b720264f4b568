"""States: momentum, attitude, and place and momentum of bodies that also move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS, random_attitude
from polhode import rotation


def test_one_state():
    state = ph.State(m=(1, 2, 3), q=(0.5, 0.5, 0.5, 0.5))
    assert state.batch == ()
    assert state.x is None
    assert state.p is None
    np.testing.assert_array_equal(state.m_space, (3, 1, 2))  # e1 -> e2 -> e3 -> e1
    np.testing.assert_array_equal(state.rotation.as_matrix(), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])


def test_attitude_is_the_identity_unless_given():
    np.testing.assert_array_equal(ph.State((1, 2, 3)).q, (1, 0, 0, 0))


def test_attitude_is_normalized_once():
    state = ph.State((1, 2, 3), q=np.array((0.6, 0.0, 0.8, 0.0)) * (1 + 5e-7))
    np.testing.assert_allclose(state.q, (0.6, 0, 0.8, 0), atol=2 * EPS, rtol=0)


def test_state_does_not_share_memory_with_its_input():
    m, q, x = np.array((1.0, 2.0, 3.0)), np.array((1.0, 0.0, 0.0, 0.0)), np.zeros(3)
    state = ph.State(m, q, x=x)
    m[0], q[0], x[0] = 9, 9, 9
    np.testing.assert_array_equal(state.m, (1, 2, 3))
    np.testing.assert_array_equal(state.q, (1, 0, 0, 0))
    np.testing.assert_array_equal(state.x, (0, 0, 0))


@pytest.mark.parametrize("count", [None, 4])
def test_scipy_rotation(count):
    turn = Rotation.from_quat(np.random.default_rng(1).normal(size=(4,) if count is None else (count, 4)))
    state = ph.State((1.0, 2.0, 3.0), turn)
    assert state.batch == (() if count is None else (count,))
    np.testing.assert_allclose(state.m_space, turn.apply((1, 2, 3)), atol=2e-15, rtol=0)
    np.testing.assert_allclose(state.rotation.as_matrix(), turn.as_matrix(), atol=10 * EPS, rtol=0)


def test_batches_broadcast(rng):
    state = ph.State(rng.normal(size=(5, 1, 3)), random_attitude(rng, 4), x=np.zeros(3), p=np.ones((5, 4, 3)))
    assert state.batch == (5, 4)
    assert state.m_space.shape == (5, 4, 3)
    expected = rotation.matrix(state.q[2]) @ state.m[3, 0]
    np.testing.assert_allclose(state.m_space[3, 2], expected, atol=2e-15, rtol=0)


def test_place_and_momentum():
    state = ph.State((0, 0, 1), x=(1, 2, 3), p=[(4, 5, 6), (7, 8, 9)])
    assert state.batch == (2,)
    np.testing.assert_array_equal(state.x, (1, 2, 3))
    np.testing.assert_array_equal(state.p[1], (7, 8, 9))


def test_from_omega():
    body = ph.RigidBody((1, 2, 3), mass=2)
    state = ph.State.from_omega(body, (3, 4, 5), (0, 1, 0, 0), x=(1, 0, 0), p=(0, 2, 0))
    np.testing.assert_array_equal(state.m, (3, 8, 15))
    np.testing.assert_array_equal(state.q, (0, 1, 0, 0))
    np.testing.assert_array_equal(state.x, (1, 0, 0))
    np.testing.assert_array_equal(state.p, (0, 2, 0))


def test_from_omega_with_a_tensor():
    tensor = np.array(((2.0, 0.5, 0.0), (0.5, 3.0, 0.25), (0.0, 0.25, 4.0)))
    w = np.array((0.3, -0.2, 0.7))
    np.testing.assert_allclose(ph.State.from_omega(tensor, w).m, tensor @ w, atol=3e-15, rtol=0)


def test_repr():
    assert repr(ph.State((1, 2, 3))) == "State(m=[1.0, 2.0, 3.0], q=[1.0, 0.0, 0.0, 0.0])"
    assert repr(ph.State((1, 2, 3), x=(0, 0, 1))).endswith(", x=[0.0, 0.0, 1.0])")
    assert repr(ph.State(np.ones((2, 5, 3)))) == "State(<2x5 states>)"
