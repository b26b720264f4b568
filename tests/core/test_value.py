"""Values: State and RigidBody cannot be changed, can be replaced in part, and are equal if their content is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError, UnknownNameError
from polhode.core.value import Comparable

TENSOR = np.array(((2.0, 0.5, 0.0), (0.5, 3.0, 0.25), (0.0, 0.25, 4.0)))


def state():
    return ph.State((1, 2, 3), (0.6, 0.0, 0.8, 0.0), x=(1, 0, 0), p=(0, 2, 0))


def body():
    return ph.RigidBody((1, 2, 3), mass=2)


@pytest.mark.parametrize("name", ["m", "q", "x", "p"])
def test_parts_of_a_state_cannot_be_assigned(name):
    value = state()
    with pytest.raises(AttributeError, match=rf"State\.{name} cannot be assigned.*\.replaced\({name}=\.\.\.\)"):
        setattr(value, name, (1, 2, 3))
    with pytest.raises(ValueError, match="read-only"):
        getattr(value, name)[0] = 5.0


def test_other_attributes_cannot_be_assigned_either():
    with pytest.raises(
        AttributeError, match=r"RigidBody\.size cannot be assigned.*\.replaced\(\.\.\.\).*inertia, mass"
    ):
        body().size = 3
    with pytest.raises(AttributeError, match=r"RigidBody\.mass cannot be assigned"):
        body().mass = 3
    with pytest.raises(AttributeError, match=r"State\.m cannot be deleted"):
        del state().m


def test_arrays_of_a_body_are_read_only():
    value = ph.RigidBody(TENSOR, mass=2)
    for array in (value.moments, value.axes, value.mass):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 5.0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_read_only(duplicate):
    for value in (state(), body(), ph.RigidBody(TENSOR), ph.RigidBody.linear(2.0)):
        other = duplicate(value)
        assert other == value
        arrays = [part for part in vars(other).values() if isinstance(part, np.ndarray)]
        assert arrays
        assert not any(array.flags.writeable for array in arrays)


def test_input_stays_writable():
    m, q, moments, mass = np.ones(3), np.array((1.0, 0, 0, 0)), np.array((1.0, 2, 3)), np.array(2.0)
    ph.State(m, q, x=m, p=m).replaced(m=m, q=q, x=m)
    ph.RigidBody(moments, mass=mass).replaced(inertia=moments, mass=mass)
    assert all(array.flags.writeable for array in (m, q, moments, mass))
    mass[...] = 3.0


def test_body_does_not_share_memory_with_its_input():
    moments, mass = np.array((1.0, 2.0, 3.0)), np.array(2.0)
    value = ph.RigidBody(moments, mass=mass)
    moments[0], mass[...] = 9.0, 9.0
    assert value == ph.RigidBody((1, 2, 3), mass=2)


def test_replaced_parts_of_a_state():
    old = state()
    new = old.replaced(m=(4, 5, 6))
    np.testing.assert_array_equal(new.m, (4, 5, 6))
    assert new.q is old.q
    assert old == state()
    assert old.replaced(x=None, p=None) == ph.State((1, 2, 3), (0.6, 0.0, 0.8, 0.0))
    assert old.replaced(m=np.ones((7, 3))).batch == (7,)
    np.testing.assert_allclose(old.replaced(q=np.array((0.0, 0.0, 1.0, 0.0)) * (1 + 5e-7)).q, (0, 0, 1, 0), atol=1e-15)


def test_replaced_is_checked_like_the_constructor():
    with pytest.raises(MomentumError, match="finite"):
        state().replaced(m=(1, np.nan, 3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        state().replaced(m=np.ones((2, 3)), x=np.ones((3, 3)))
    with pytest.raises(InputError, match="positive"):
        body().replaced(mass=-1)
    with pytest.raises(ShapeError, match=r"inertia \(4,\), mass \(2,\)"):
        ph.RigidBody(np.ones((2, 3)), mass=(1, 2)).replaced(inertia=np.ones((4, 3)))
    with pytest.raises(InertiaError, match="no mass distribution"):
        ph.RigidBody((1, 2, 9)).replaced(physical=True)


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match=r"State\.replaced.*'M'; did you mean 'm'"):
        state().replaced(M=(1, 2, 3))
    with pytest.raises(UnknownNameError, match=r"known are: inertia, mass, physical"):
        body().replaced(color="red")


def test_replaced_parts_of_a_body():
    turned = ph.RigidBody(TENSOR)
    heavy = turned.replaced(mass=7)
    assert heavy.moments is turned.moments
    assert heavy.axes is turned.axes
    assert heavy.mass == 7
    assert turned.mass is None
    assert heavy.replaced(mass=None) == turned
    assert body().replaced(inertia=TENSOR) == ph.RigidBody(TENSOR, mass=2)
    assert ph.RigidBody.linear(2.0).replaced(mass=3).is_linear
    assert ph.RigidBody.linear(2.0).replaced(inertia=(1, 2, 3)) == ph.RigidBody((1, 2, 3))


def test_equal_by_value():
    assert state() == state()
    assert hash(state()) == hash(state())
    assert state() != state().replaced(m=np.nextafter(state().m, 9))
    assert state() != state().replaced(x=None)
    assert ph.State((1, 2, 3)) != ph.State(((1, 2, 3),))  # a batch of one
    assert body() == body()
    assert hash(body()) == hash(body())
    assert body() != ph.RigidBody((1, 2, 3))
    assert ph.RigidBody(np.diag((1.0, 2.0, 3.0))) != ph.RigidBody((1, 3, 2))
    assert state() != body()
    assert state() != 3
    assert len({state(), state(), body(), body()}) == 2


def test_zeros_of_both_signs_are_equal():
    plus, minus = ph.State((0.0, 1, 2)), ph.State((-0.0, 1, 2))
    assert plus == minus
    assert hash(plus) == hash(minus)


def test_long_arrays_that_differ_in_one_number():
    many = np.random.default_rng(1).normal(size=(10000, 3))
    other = many.copy()
    other[1234, 1] += 1e-9
    assert ph.State(many) != ph.State(other)
    assert ph.State(many) == ph.State(many.copy())
    assert hash(ph.State(many)) == hash(ph.State(many.copy()))


def test_content_may_be_nested_and_contain_nan():
    class Thing(Comparable):
        def __init__(self, *parts):
            self.parts = parts

    def parts():
        return np.array((1.0, np.nan)), [np.arange(3), "text"], {"a": np.zeros(2), "b": float("inf")}, None

    assert Thing(*parts()) == Thing(*parts())
    assert hash(Thing(*parts())) == hash(Thing(*parts()))
    for i, changed in enumerate([np.array((np.nan, 1.0)), [np.arange(4), "text"], {"a": np.zeros(2)}, 0]):
        other = list(parts())
        other[i] = changed
        assert Thing(*other) != Thing(*parts())
    assert Thing(np.arange(3)) != Thing(np.arange(3.0))
    assert Thing(np.arange(3)) != Thing((0, 1, 2))
