"""Methods and flows are equal if their types and settings are, whatever their repr says."""

from __future__ import annotations

import pickle

import pytest

import polhode as ph
from polhode import (
    Adaptive,
    AlgoC1,
    Composed,
    Exact,
    Gauss,
    Magnus,
    Midpoint,
    Rattle,
    Scheme,
    Splitting,
    ThreeRotations,
)

MAKE = [
    Exact,
    lambda: Gauss(3),
    lambda: Gauss(2),
    lambda: Magnus(4),
    lambda: Magnus(6),
    lambda: ThreeRotations(axes=(1, 2, 3)),
    ThreeRotations,
    lambda: Composed(Midpoint(), "Yoshida4"),
    lambda: Composed(ThreeRotations(), "Yoshida4"),
    lambda: Composed(Midpoint(), "Suzuki4"),
    Splitting,
    lambda: Splitting(Midpoint(), "V2"),
    lambda: Splitting(Midpoint(), "S4_6"),
    Rattle,
    AlgoC1,
    lambda: AlgoC1("trapezoidal"),
    ph.QuatEM,
    Adaptive,
    lambda: Adaptive(1e-6),
    lambda: Adaptive(1e-6, max_steps=7),
]


@pytest.mark.parametrize("make", MAKE)
def test_equal_to_itself_made_again_and_to_nothing_else(make):
    value = make()
    for other in (make(), pickle.loads(pickle.dumps(value))):
        assert other == value
        assert hash(other) == hash(value)
    assert sum(other() == value for other in MAKE) == 1
    assert value != repr(value)


def test_schemes_of_the_same_name_are_not_the_same_method():
    stages = (("A", "1/2"), ("B", 1), ("A", "1/2"))
    other = Scheme("V2", 2, stages), Scheme("V2", 2, (("B", "1/2"), ("A", 1), ("B", "1/2")))
    first, second = (Splitting(Exact(), scheme) for scheme in other)
    assert repr(first) == repr(second)
    assert first != second
    assert first == Splitting(Exact(), Scheme("V2", 2, stages))


def test_a_subclass_is_another_method():
    class Louder(Adaptive):
        pass

    assert Louder() != Adaptive()
