"""Forces are values: they never change, can be replaced in part, and are equal if they do the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from polhode import Potential, Torque, forces
from polhode.core.errors import InputError, ShapeError, UnknownNameError
from polhode.forces import functions

ATTITUDE = (0.8, 0.6, 0.0, 0.0)
RATE = 2.0


def motor(t, Q, w, p):
    return p[0] * RATE, p[1] * w[0], 0.0


def quadratic(t, Q, p):
    return p[0] * Q[2][2] + p[1] * Q[2][2] ** 2


def quadratic_gradient(t, Q, p):
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, p[0] + 2.0 * p[1] * Q[2][2])


def made():
    """Each force in two calls."""
    return [
        lambda: forces.gravity(2.0, (0, 0, 1)),
        lambda: forces.damping((1, 2, 3)),
        lambda: forces.gravity(2.0, (0, 0, 1)) + forces.damping(0.5),
        lambda: Torque(motor, (1.0, 2.0)),
        lambda: Torque(motor, (1.0, 2.0), frame="space"),
        lambda: Torque(motor, (1.0, 2.0), arrays=True),
        lambda: Torque(motor, (1.0, 3.0)),
        lambda: Torque(motor, (1.0, 2.0), breaks=(3.0,)),
        lambda: Torque(motor, (1.0, 2.0), name="motor"),
        lambda: Potential(quadratic, params=(1.0, 2.0)),
        lambda: Potential(quadratic, quadratic_gradient, params=(1.0, 2.0)),
        lambda: Potential(quadratic, params=(1.0, 2.0), axis=(0, 0, 1)),
        lambda: Torque(motor, (1.0, 2.0)) + forces.gravity(1.0, (1, 0, 0)),
    ]


@pytest.mark.parametrize("make", made())
def test_equal_if_made_in_the_same_way(make):
    force = make()
    for other in (make(), copy.copy(force), copy.deepcopy(force)):
        assert other == force
        assert hash(other) == hash(force)
    assert sum(other() == force for other in made()) == 1


def test_a_pickled_force_is_equal():
    """Also for whether there is only damping, which was a question of identity."""
    for force in (
        forces.gravity(2.0, (0, 0, 1)),
        forces.damping(0.5),
        forces.gravity(2.0, (0, 0, 1)) + forces.damping(1),
    ):
        other = pickle.loads(pickle.dumps(force))
        assert other == force
        assert other.without_damping() == force.without_damping()
        assert not other.params.flags.writeable


def test_functions_are_compared_by_what_they_do():
    def twin(factor):
        return Torque(lambda t, Q, w, p: (factor * w[0], 0.0, 0.0))

    assert twin(2.0) == twin(2.0)
    assert hash(twin(2.0)) == hash(twin(2.0))
    assert twin(2.0) != twin(3.0)


def test_a_compiled_force_is_that_of_its_compilation(monkeypatch):
    before = Torque(motor, (1.0, 2.0))
    before.torque(0.0, ATTITUDE)
    monkeypatch.setitem(globals(), "RATE", 5.0)
    after = Torque(motor, (1.0, 2.0))
    if functions.JIT:  # Numba has frozen the global
        assert before != after
    assert hash(before) == hash(after)
    assert after == Torque(motor, (1.0, 2.0))


@pytest.mark.parametrize("name", ["params", "damping", "breaks", "name"])
def test_attributes_cannot_be_assigned(name):
    force = Torque(motor, (1.0, 2.0))
    with pytest.raises(AttributeError, match=rf"Torque\.{name} cannot be assigned.*\.replaced\({name}=\.\.\.\)"):
        setattr(force, name, 3.0)


@pytest.mark.parametrize("duplicate", [lambda x: x, copy.copy, copy.deepcopy])
def test_arrays_are_read_only(duplicate):
    force = duplicate(Potential(quadratic, params=(1.0, 2.0), axis=(0, 0, 1), breaks=(1.0,)))
    for array in (force.params, force.damping, force.axis, force.breaks):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 7.0


def test_replaced_params_damping_breaks_and_name():
    force = Torque(motor, (1.0, 2.0))
    assert force.replaced(params=(1.0, 3.0)) == Torque(motor, (1.0, 3.0))
    assert force.replaced(breaks=(3.0,)) == Torque(motor, (1.0, 2.0), breaks=(3.0,))
    assert force.replaced(name="motor") == Torque(motor, (1.0, 2.0), name="motor")
    np.testing.assert_array_equal(force.replaced(damping=0.5).damping, 0.5 * np.eye(3))
    np.testing.assert_array_equal(force.replaced(damping=(1, 2, 3)).damping, np.diag((1, 2, 3)))
    assert force.replaced(params=[[2.0, 0.0], [3.0, 0.0]]).batch == (2,)
    assert force == Torque(motor, (1.0, 2.0))


def test_replaced_is_checked():
    force = Torque(motor, (1.0, 2.0))
    with pytest.raises(ShapeError, match=r"params have shape \(3,\); expected \(\.\.\., 2\).*2 parameters"):
        force.replaced(params=(1, 2, 3))
    with pytest.raises(InputError, match="not negative"):
        force.replaced(damping=(-1, 0, 0))
    with pytest.raises(ShapeError, match="do not broadcast"):
        force.replaced(params=np.ones((3, 2)), damping=np.ones((4, 3)))
    with pytest.raises(InputError, match="finite times"):
        force.replaced(breaks=(1, np.inf))
    with pytest.raises(UnknownNameError, match=r"Torque\.replaced is called 'parms'; did you mean 'params'"):
        force.replaced(parms=(1, 2))


@pytest.mark.skipif(not functions.JIT, reason="nothing is compiled")
def test_replaced_is_not_compiled_again(monkeypatch):
    force = Torque(motor, (1.0, 2.0)) + Potential(quadratic, params=(1.0, 2.0))
    force.torque(0.0, ATTITUDE)
    monkeypatch.setattr(functions, "compile_user", None)
    force.replaced(params=(5.0, 2.0, 1.0, 2.0)).torque(0.0, ATTITUDE)


def test_a_sum_hands_new_parameters_to_its_parts():
    both = forces.gravity(1.0, (0, 0, 1)) + Potential(quadratic, params=(1.0, 2.0)) + forces.damping(0.5)
    params = np.concatenate([both.params[:6], (3.0, 4.0)])
    other = both.replaced(params=params)
    expected = forces.gravity(1.0, (0, 0, 1)) + Potential(quadratic, params=(3.0, 4.0)) + forces.damping(0.5)
    assert other == expected
    assert other.without_damping() == expected.without_damping()
    energy = forces.gravity(1.0, (0, 0, 1)).potential(0.0, ATTITUDE) + 3 * 0.28 + 4 * 0.28**2
    assert float(other.without_damping().potential(0.0, ATTITUDE)) == pytest.approx(float(energy), rel=1e-14)


def test_damping_that_was_replaced_is_left_out():
    gravity = forces.gravity(1.0, (0, 0, 1))
    assert not gravity.replaced(damping=0.5).without_damping().damping.any()


def test_the_axis_is_kept_only_where_it_is_one():
    gravity = forces.gravity(1.0, (0, 0, 1))
    np.testing.assert_array_equal(gravity.replaced(params=2 * gravity.params).axis, (0, 0, 1))
    np.testing.assert_array_equal(gravity.replaced(name="g").axis, (0, 0, 1))
    assert gravity.replaced(params=(1, 0, 0, 0, 0, 1)).axis is None  # another direction of gravity
    assert gravity.replaced(damping=0.1).axis is None
    np.testing.assert_array_equal(gravity.replaced(damping=0.0).axis, (0, 0, 1))


def test_a_potential_of_a_higher_degree():
    """The torque is computed from values of the energy, whose degree may depend on the parameters."""
    linear = Potential(quadratic, params=(1.0, 0.0))
    torque = linear.replaced(params=(1.0, 2.0)).torque(0.0, ATTITUDE)
    np.testing.assert_allclose(torque, Potential(quadratic, params=(1.0, 2.0)).torque(0.0, ATTITUDE), rtol=1e-14)


def test_a_gradient_is_checked_with_the_new_parameters():
    def wrong(t, Q, p):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, p[0])

    force = Potential(quadratic, wrong, params=(1.0, 0.0))
    with pytest.raises(InputError, match="gradient"):
        force.replaced(params=(1.0, 2.0))


def test_whether_a_force_depends_on_the_inertia():
    gradient = forces.gravity_gradient((1, 2, 3), 0.5)
    assert gradient.depends_on_inertia
    assert (gradient + forces.damping(0.1)).depends_on_inertia
    assert gradient.replaced(name="tide").depends_on_inertia
    assert not forces.gravity(1.0, (0, 0, 1)).depends_on_inertia
    assert not Torque(motor, (1.0, 2.0), name="not a gravity_gradient").depends_on_inertia
