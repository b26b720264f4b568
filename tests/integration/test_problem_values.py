"""Problems are values: they never change, can be replaced in part, and are equal if their parts are."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import polhode as ph
from polhode import Problem, State, forces
from polhode.core.errors import MomentumError, TimeError, UnknownNameError

TENSOR = np.array(((2.0, 0.5, 0.0), (0.5, 3.0, 0.25), (0.0, 0.25, 4.0)))


def top(**more):
    gravity = forces.gravity(1.0, (0, 0, 0.3))
    return Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), gravity, (0.0, 2.0), **more)


@pytest.mark.parametrize("name", ["body", "state", "force", "t_span", "name", "units", "h", "truth"])
def test_a_problem_cannot_be_changed(name):
    with pytest.raises(AttributeError, match=rf"Problem\.{name} cannot be assigned.*\.replaced\({name}=\.\.\.\)"):
        setattr(top(), name, None)


def test_replaced_parts_of_a_problem():
    old = top(name="top", units={"t": "s"})
    new = old.replaced(t_span=(0, 5), name="longer")
    assert new.t_span == (0.0, 5.0)
    assert new.name == "longer"
    assert new.units == {"t": "s"}
    assert new.state is old.state
    assert new.force is old.force
    assert old == top(name="top", units={"t": "s"})
    assert old.replaced(force=None).force != old.force
    assert old.replaced(body=TENSOR).body == ph.RigidBody(TENSOR)


def test_replaced_velocity_and_attitude():
    old = top().replaced(q=(0.6, 0.8, 0, 0))
    np.testing.assert_array_equal(old.state.m, top().state.m)
    np.testing.assert_array_equal(old.state.q, (0.6, 0.8, 0, 0))
    new = old.replaced(omega=(1, 2, 3))
    np.testing.assert_array_equal(new.state.m, (1, 2, 1.5))
    np.testing.assert_array_equal(new.state.q, (0.6, 0.8, 0, 0))
    other = old.replaced(body=(1, 2, 3), omega=(1, 2, 3), q=(1, 0, 0, 0))
    assert other.state == State.from_omega((1, 2, 3), (1, 2, 3))


def test_replaced_is_checked():
    with pytest.raises(TimeError, match="two different finite times"):
        top().replaced(t_span=(1, 1))
    with pytest.raises(MomentumError, match="both state and omega"):
        top().replaced(state=State((1, 2, 3)), omega=(1, 2, 3))
    with pytest.raises(MomentumError, match="neither state nor omega"):
        top().replaced(state=None)
    with pytest.raises(MomentumError, match="linear rotor"):
        top().replaced(body=ph.RigidBody.linear(1.0))
    with pytest.raises(UnknownNameError, match=r"Problem\.replaced.*'tspan'; did you mean 't_span'"):
        top().replaced(tspan=(0, 1))


def test_equal_problems():
    truth = {2.0: State((1, 2, 3))}
    one, two = top(truth=truth), top(truth={2.0: State((1, 2, 3))})
    assert one == two
    assert hash(one) == hash(two)
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert one != top()
    assert top() != top().replaced(t_span=(0, 2.5))
    assert top() != top().replaced(force=forces.gravity(1.1, (0, 0, 0.3)))
