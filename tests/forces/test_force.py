"""Potential, Torque and sums: derived torques against 40 digits, bad input, what cannot be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from copy import copy
from functools import partial
from math import exp, sin

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS, random_attitude
from polhode import forces, rotation
from polhode.core.errors import InputError, ShapeError
from polhode.forces.base import Force, Potential, Torque
from polhode.forces.functions import Recent, SlowTorqueWarning
from polhode.forces.trigonometric import riesz_nodes
from polhode.kernels.compiler import JIT
from polhode.systems.interactions import Field, PairPotential
from test_forces import attitude, slopes

ROWS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
W = (0.5, -1.0, 2.0)
REST, UP = (0.1, 0.7, -0.5, 0.5), (1, 2, 3)


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(40):
        yield


def linear(t, Q, p):
    return p[0] * Q[2][2] + p[1] * Q[0][1]


def quadratic(t, Q, p):
    return p[0] * Q[2][0] * Q[1][1] + p[1] * Q[2][2] ** 2 + t * Q[0][0]


def cubic(t, Q, p):
    return p[0] * Q[2][0] * Q[1][1] * Q[0][2] + p[1] * Q[2][2] ** 3


def quartic(t, Q, p):
    return p[0] * Q[2][0] ** 2 * Q[1][1] ** 2 + p[1] * Q[2][2] ** 4 - Q[0][0]


def linear_gradient(t, Q, p):
    return (0, p[1], 0), (0, 0, 0), (0, 0, p[0])


def wind(t, Q, w, p):
    return p[0] * Q[0][0] - w[0], p[1] * sin(t), w[1] * w[2]


def rows_of(q):
    return tuple(map(tuple, rotation.matrix(q).tolist()))


def in_many_digits(energy, t, p, Q):
    """The energy of this test, which is arithmetic only, in high precision."""
    return energy(mpf(t), Q.tolist(), [mpf(x) for x in p])


@pytest.mark.parametrize(("degree", "energy"), [(1, linear), (2, quadratic), (3, cubic), (4, quartic)])
def test_torques_of_energies_alone_are_exact_to_rounding(degree, energy, rng):
    p = (1.7, -0.6)
    force = Potential(energy, params=p)
    assert force._torque.settings == (riesz_nodes(degree),)
    for t, q in zip((0.0, 2.0, -1.0), random_attitude(rng, 3), strict=True):
        wanted = slopes(partial(in_many_digits, energy, t, p), attitude(q))
        np.testing.assert_allclose(force.torque(t, q), wanted, rtol=0, atol=40 * degree * EPS)
    assert force.has_energy
    assert not force.has_gradient
    with pytest.raises(
        InputError, match=rf"Potential\({energy.__name__}\) was made without .* type Potential\(energy, grad"
    ):
        force.gradient_function()


def test_torques_of_gradients_are_those_of_the_energy(rng):
    force = Potential(linear, linear_gradient, (1.7, -0.6))
    q = random_attitude(rng)
    wanted = slopes(partial(in_many_digits, linear, 0.0, (1.7, -0.6)), attitude(q))
    np.testing.assert_allclose(force.torque(0.0, q), wanted, rtol=0, atol=20 * EPS)
    assert force.gradient_function()(0.0, rows_of(q), np.array([1.7, -0.6])) == ((0, -0.6, 0), (0, 0, 0), (0, 0, 1.7))
    assert not force.velocity_dependent


def test_energies_with_kinks_want_a_gradient():
    def kinked(t, Q, p):
        return max(Q[2][2], 0.0)

    def kinked_gradient(t, Q, p):
        return (0, 0, 0), (0, 0, 0), (0, 0, 1 if Q[2][2] > 0 else 0)

    words = (
        r"kinked .*not a polynomial .*type Potential\(energy, gradient=.*test_force.py:\d+\): "
        r"a branch on the state \(Q22\)"
    )
    with pytest.raises(InputError, match=words):
        Potential(kinked)
    Potential(kinked, kinked_gradient)


def test_the_torque_of_a_magnitude_is_that_of_its_gradient(rng):
    def magnitude(t, Q, p):
        return abs(Q[2][2] - 0.25)

    def gradient(t, Q, p):
        return (0, 0, 0), (0, 0, 0), (0, 0, 1 if Q[2][2] > 0.25 else -1)

    q = random_attitude(rng, 20)
    expected = Potential(magnitude, gradient).torque(0.0, q)
    np.testing.assert_allclose(Potential(magnitude).torque(0.0, q), expected, rtol=0, atol=30 * EPS)


def test_the_torque_of_a_steep_energy_is_that_of_its_gradient(rng):
    def steep(t, Q, p):
        return exp(40 * Q[2][2])

    def steep_gradient(t, Q, p):
        return (0, 0, 0), (0, 0, 0), (0, 0, 40 * exp(40 * Q[2][2]))

    q = random_attitude(rng, 5)
    wanted = Potential(steep, steep_gradient).torque(0.0, q)
    np.testing.assert_allclose(Potential(steep).torque(0.0, q), wanted, rtol=8 * EPS)


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (lambda t, Q, p: ((0, -p[1], 0), (0, 0, 0), (0, 0, -p[0])), "opposite sign"),
        (lambda t, Q, p: ((0, 0, 0), (p[1], 0, 0), (0, 0, p[0])), "transpose"),
        (
            lambda t, Q, p: ((0, 1.1 * p[1], 0), (0, 0, 0), (0, 0, p[0])),
            r"dV/dQ\[0\]\[1\]: gradient returns -0.66, .*give -0.6",
        ),
        (lambda t, Q, p: ((0, p[1], 0), (0, 0, 0), (0, 0, p[0] * (1 + 1e-7))), "does not fit energy"),
        (lambda t, Q, p: ((0, p[1], 0), (0, 0, 0), (0, 0, np.nan)), r"dV/dQ\[2\]\[2\]: gradient returns nan"),
    ],
)
def test_a_gradient_that_does_not_fit_is_refused(gradient, words):
    with pytest.raises(InputError, match=words):
        Potential(linear, gradient, (1.7, -0.6))


def test_an_axis_is_held_against_the_energy():
    def height(t, Q, p):
        return Q[2][0] + Q[2][1]

    np.testing.assert_array_equal(Potential(height, axis=(0, 0, 2)).axis, (0, 0, 1))
    with pytest.raises(InputError, match="not an axis of symmetry"):
        Potential(height, axis=(0, 1, 0))


def test_torques_in_space_axes_are_turned_into_the_body(rng):
    q = random_attitude(rng, 4)
    body, space = Torque(wind, (2.0, 3.0)), Torque(wind, (2.0, 3.0), frame="space")
    np.testing.assert_allclose(
        rotation.rotate(q, space.torque(0.4, q, W)), body.torque(0.4, q, W), rtol=0, atol=25 * EPS
    )
    expected = [wind(0.4, rows_of(x), W, (2.0, 3.0)) for x in q]
    np.testing.assert_allclose(body.torque(0.4, q, W), expected, rtol=0, atol=20 * EPS)


def branching(t, Q, w, p):
    return (1.0 if Q[2][2] > 0.0 else 2.0), 0.0 * w[0], 0.0


def test_whether_t_and_w_matter_is_read_from_the_function():
    """From its graph or, without one, from its code."""
    assert Torque(branching).velocity_dependent
    assert not Torque(branching).time_dependent
    assert not Torque(lambda t, Q, w, p: (0.0 * w[0], w[1] - w[1], Q[0][0] * t**0)).velocity_dependent
    assert not Torque(lambda t, Q, w, p: (0.0 * w[0], w[1] - w[1], Q[0][0] * t**0)).time_dependent
    assert Torque(lambda t, Q, w, p: (sin(t), 0.0, 0.0)).time_dependent
    assert not Potential(lambda t, Q, p: p[0] * Q[2][2] + 0.0 * t, params=[1.0]).time_dependent
    assert Potential(lambda t, Q, p: Q[2][2] + t, params=[1.0]).time_dependent  # the energy does
    assert Torque(wind, (1, 2)).velocity_dependent
    assert not Torque(lambda t, Q, w, p: (0, t, 1)).velocity_dependent
    assert Torque(lambda t, Q, w, p: tuple(x for x in (w[0], 0.0, 0.0))).velocity_dependent
    assert Torque(lambda t, Q, w, p: tuple(w[i] for i in range(3))).velocity_dependent
    assert not Torque(lambda *args: (0, 0, 0)).velocity_dependent
    assert Torque(lambda t, Q, w, p: (0, 0, 0), velocity=True).velocity_dependent
    assert not Torque(wind, (1, 2), velocity=False).velocity_dependent


def test_sums_give_each_part_its_own_parameters(rng):
    q = random_attitude(rng, 3)
    parts = Potential(linear, linear_gradient, (1.7, -0.6)), Torque(wind, (2.0, 3.0)), forces.damping((1, 2, 3))
    total = sum(parts)
    assert isinstance(total, Force)
    wanted = sum(part.torque(0.4, q, W) for part in parts)
    np.testing.assert_allclose(total.torque(0.4, q, W), wanted, rtol=0, atol=10 * EPS)
    assert total.name == "Potential(linear) + Torque(wind) + damping"
    np.testing.assert_array_equal((total + forces.damping(1.0)).damping, np.diag((2, 3, 4)))
    assert total.velocity_dependent
    with pytest.raises(AttributeError, match=r"Torque\(wind\) has no energy"):
        total.potential(0.0, q)
    with pytest.raises(AttributeError, match=r"damping has no gradient"):
        (parts[0] + parts[2]).gradient_function()
    with pytest.raises(TypeError):
        total + 1.0


def test_sums_of_potentials_have_energy_and_gradient(rng):
    q = random_attitude(rng)
    a, b, c = (
        Potential(linear, linear_gradient, (1.7, -0.6)),
        forces.spring(2.0, REST),
        forces.gravity(1.0, (3, 1, 2), UP),
    )
    total = a + (b + c)
    assert total.potential(0.0, q) == pytest.approx(sum(x.potential(0.0, q) for x in (a, b, c)), abs=10 * EPS)
    found = np.array(total.gradient_function()(0.0, rows_of(q), np.array(total.params)))
    wanted = sum(np.array(x.gradient_function()(0.0, rows_of(q), np.array(x.params))) for x in (a, b, c))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=4 * EPS)
    with pytest.raises(InputError, match=r"Potential\(linear\) was made without a gradient"):
        (c + Potential(linear, params=(1, 2))).gradient_function()


def test_sums_keep_an_axis_that_all_parts_share():
    a, b = forces.gravity(1.0, (0, 1, 2)), forces.restoring(1.0, 2.0, 3.0)
    np.testing.assert_array_equal((a + b).axis, (0, 0, 1))
    assert (a + forces.gravity(1.0, (0, 1, 2), up=(1, 0, 0))).axis is None
    assert (a + forces.damping(1.0)).axis is None


def test_sums_broadcast_batches(rng):
    q = random_attitude(rng, 2)
    a, b = forces.gravity([1.0, 2.0], (0, 1, 2)), Torque(wind, [(1.0, 2.0), (3.0, 4.0)])
    total = a + b + forces.spring(1.0)
    assert total.batch == (2,)
    wanted = a.torque(0.1, q, W) + b.torque(0.1, q, W) + forces.spring(1.0).torque(0.1, q)
    np.testing.assert_allclose(total.torque(0.1, q, W), wanted, rtol=0, atol=10 * EPS)
    with pytest.raises(ShapeError, match=r"gravity \(2,\)"):
        a + forces.spring([1.0, 2.0, 3.0])


KNOWN = {"gain": 2.0}


def not_for_numba(t, Q, w, p):
    return tuple(KNOWN.get(key, 0.0) * p[0] * w[1] for key in ("gain", "loss", "gain"))


def test_what_cannot_be_compiled_is_called_back_with_one_warning(rng):
    force = Torque(not_for_numba, [3.0])
    if JIT:
        first = not_for_numba.__code__.co_firstlineno
        told = rf"not_for_numba \(.*test_force.py:{first}\), line {first + 1}: .*Python callback"
        with pytest.warns(SlowTorqueWarning, match=told) as caught:
            force.torque_function()
        assert len(caught) == 1
    np.testing.assert_array_equal(force.torque(0.0, random_attitude(rng), W), (-6.0, 0.0, -6.0))  # no second one
    np.testing.assert_array_equal((force + forces.constant((1, 1, 1))).torque(0.0, (1, 0, 0, 0), W), (-5.0, 1.0, -5.0))


def quiet(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowTorqueWarning)
        force = make()
        force.torque_function()
        if force.has_energy:
            force.energy_function()
        if force.has_gradient:
            force.gradient_function()
        return force


def test_potentials_are_called_back_too(rng):
    def energy(t, Q, p):
        return KNOWN["gain"] * linear(t, Q, p)

    def gradient(t, Q, p):
        return [[KNOWN["gain"] * x for x in row] for row in linear_gradient(t, Q, p)]

    q, twice = random_attitude(rng, 3), Potential(linear, params=(3.4, -1.2))
    for force in (
        quiet(lambda: Potential(energy, params=(1.7, -0.6))),
        quiet(lambda: Potential(energy, gradient, (1.7, -0.6))),
    ):
        np.testing.assert_allclose(force.potential(0.0, q), twice.potential(0.0, q), rtol=0, atol=15 * EPS)
        np.testing.assert_allclose(force.torque(0.0, q), twice.torque(0.0, q), rtol=0, atol=20 * EPS)
    assert force.gradient_function()(0.0, ROWS, np.array([1.0, 2.0])) == ((0, 4, 0), (0, 0, 0), (0, 0, 2))


class Motor:
    def __call__(self, t, Q, w, p):
        if t > 1:
            raise ValueError("the motor stops at t = 1")
        return t, 0, 0


def raising(t, Q, w, p):
    if t > 1:
        raise ValueError("the motor stops at t = 1")
    return t, 0, 0


@pytest.mark.parametrize("function", [raising, Motor(), partial(raising), Motor().__call__])
def test_what_raises_inside_raises_outside(function):
    force = quiet(lambda: Torque(function))
    compiled = force.torque_function()
    assert compiled(0.5, ROWS, W, np.empty(0)) == (0.5, 0.0, 0.0)
    with pytest.raises((ValueError, RuntimeError)):
        compiled(2.0, ROWS, W, np.empty(0))
    with pytest.raises(ValueError, match="the motor stops"):  # with the user's own line in the traceback
        force.torque([0.5, 2.0], (1, 0, 0, 0))
    with pytest.raises(ValueError, match="the motor stops"):
        force.python_torque(2.0, ROWS, W, np.empty(0))


def test_ctrl_c_inside_a_callback_stops_the_run_and_nothing_later():
    pressed = []

    def slow(t, Q, w, p):
        if t > 1 and not pressed:
            pressed.append(KNOWN)
            raise KeyboardInterrupt
        return t, 0, 0

    force = quiet(lambda: Torque(slow))
    with pytest.raises(KeyboardInterrupt):
        force.torque(2.0, (1, 0, 0, 0))
    np.testing.assert_array_equal(force.torque(2.0, (1, 0, 0, 0)), (2, 0, 0))


def test_compiled_functions_refuse_what_python_refuses():
    out_of_range = Torque(lambda t, Q, w, p: (p[int(t)], 0, 0), params=[1.0])
    with pytest.raises(IndexError):
        out_of_range.torque(7.0, (1, 0, 0, 0))
    divided = Torque(lambda t, Q, w, p: (1 / (t - 1), 0, 0))
    with pytest.raises(ZeroDivisionError):
        divided.torque(1.0, (1, 0, 0, 0))


def test_arrays_go_in_and_out_on_request(rng):
    q = random_attitude(rng, 3)

    def control(t, Q, w, p):
        return -p[0] * w + p[1] * Q[2]

    def energy(t, Q, p):
        return np.sum(Q[2] * p[:3])

    def gradient(t, Q, p):
        g = np.zeros((3, 3))
        g[2] = p[:3]
        return g

    torque = Torque(control, (0.5, 2.0), arrays=True)
    wanted = -0.5 * np.array(W) + 2.0 * rotation.matrix(q)[:, 2]
    np.testing.assert_allclose(torque.torque(0.0, q, W), wanted, rtol=0, atol=15 * EPS)
    force = Potential(energy, gradient, (1.0, 2.0, 3.0), arrays=True, axis=(0, 0, 1))
    wanted = np.cross(rotation.matrix(q)[:, 2], (1.0, 2.0, 3.0))
    np.testing.assert_allclose(force.torque(0.0, q), wanted, rtol=0, atol=20 * EPS)
    np.testing.assert_allclose(
        force.potential(0.0, q), rotation.matrix(q)[:, 2] @ (1.0, 2.0, 3.0), rtol=0, atol=25 * EPS
    )


def test_functions_that_are_compiled_already_are_taken():
    if not JIT:
        pytest.skip("Numba is not used")
    from numba import njit

    force = Torque(njit(wind), (2.0, 3.0))
    assert force.velocity_dependent
    np.testing.assert_allclose(force.torque(0.4, (1, 0, 0, 0), W), wind(0.4, ROWS, W, (2.0, 3.0)), rtol=2 * EPS)


def test_times_attitudes_and_parameters_broadcast(rng):
    q, t = random_attitude(rng, 5, 1), np.linspace(0, 1, 5)[:, None]
    force = Potential(quadratic, params=rng.normal(size=(2, 2)))
    found, torque = force.potential(t, q), force.torque(t, q)
    assert found.shape == (5, 2)
    assert torque.shape == (5, 2, 3)
    for i in range(5):
        for j in range(2):
            wanted = quadratic(t[i, 0], rows_of(q[i, 0]), force.params[j])
            assert found[i, j] == pytest.approx(wanted, abs=25 * EPS)
            Q = attitude(q[i, 0])
            slope = slopes(partial(in_many_digits, quadratic, float(t[i, 0]), force.params[j].tolist()), Q)
            np.testing.assert_allclose(torque[i, j], slope, rtol=0, atol=100 * EPS)


def two_arguments(t, Q):
    return 0.0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Torque(3.0), InputError, r"torque is 3.0; expected a function torque\(t, Q, w, p\)"),
        (
            lambda: Potential("V"),
            InputError,
            r"energy is 'V'; expected a function energy\(t, Q, p\) that returns one number",
        ),
        (lambda: Potential(linear, 1, (1, 2)), InputError, r"gradient is 1; expected a function gradient\(t, Q, p\)"),
        (
            lambda: Potential(two_arguments),
            InputError,
            r"two_arguments .*cannot be called as energy\(t, Q, p\): too many",
        ),
        (lambda: Torque(linear), InputError, r"type def torque\(t, Q, w, p\)"),
        (lambda: Torque(wind), InputError, "IndexError.*params has 0 numbers"),
        (lambda: Torque(lambda t, Q, w, p: Q @ w), InputError, "type arrays=True"),
        (lambda: Torque(lambda t, Q, w, p: (1, 2)), ShapeError, "returned .1, 2.; expected three numbers"),
        (lambda: Torque(lambda t, Q, w, p: None), ShapeError, "returned None; expected three numbers"),
        (lambda: Torque(lambda t, Q, w, p: ((1, 2), 3, 4)), ShapeError, "expected three numbers"),
        (lambda: Torque(lambda t, Q, w, p: "abc"), ShapeError, "expected three numbers"),
        (lambda: Potential(lambda t, Q, p: Q[2]), ShapeError, "expected one number"),
        (lambda: Potential(lambda t, Q, p: np.inf), InputError, "is inf at .*expected a finite number"),
        (lambda: Potential(lambda t, Q, p: 1 / t), InputError, "raised ZeroDivisionError.* at t = 0"),
        (lambda: Potential(linear, lambda t, Q, p: (0, 0, 1), (1, 2)), ShapeError, "three rows of three"),
        (lambda: Torque(wind, ("a", "b")), InputError, "params must be numbers"),
        (lambda: Torque(wind, (1.0, np.nan)), InputError, "got NaN"),
        (lambda: Torque(wind, (1.0, 2.0), "Body"), InputError, "frame is 'Body'; expected 'body' or 'space'"),
    ],
)
def test_bad_input_is_explained(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_single_number_is_one_parameter():
    assert Torque(lambda t, Q, w, p: (p[0], 0, 0), 2.0).params.tolist() == [2.0]
    with pytest.raises(ValueError, match="read-only"):
        Torque(wind, (1.0, 2.0)).params[0] = 3.0


def test_a_copy_forgets_where_its_code_is():
    """As pickling does: an address of another process would end this one. Kernels have one function in a process."""
    used = Torque(lambda t, Q, w, p: (t, 0.0, 0.0))
    used.torque_address()
    other = copy(used._torque)
    assert other._code is None
    assert not other._addresses
    assert other.address(used.params) == used.torque_address() or not JIT
    kernel = forces.gravity(2.0, offset=(0, 3, 0))._torque
    assert copy(kernel) is kernel
    assert kernel.__reduce__()[1] == (kernel.form, kernel.plain)


# One function is compiled once

compiled = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def code(force):
    return force.torque_function()


def pushed(k):
    def push(t, Q, w, p):
        return k * p[0], 0.0, 0.0

    return push


@compiled
@pytest.mark.parametrize(
    "make",
    [
        lambda x: Torque(wind, (x, 1.0)),
        lambda x: Torque(wind, (x, 1.0), frame="space"),
        lambda x: Torque(lambda t, Q, w, p: (p[0] * t, 0.0, 0.0), [x]),
        lambda x: Torque(lambda t, Q, w, p: p[0] * w, [x], arrays=True),
        lambda x: Torque(pushed(2.0), [x]),
        lambda x: Torque(pushed(np.float64(2.0)), [x]) + forces.gravity(x, (0, 0, 1)) + forces.damping(x),
        lambda x: Potential(linear, params=(x, 1.0)),
        lambda x: Potential(linear, linear_gradient, (x, 1.0)),
        lambda x: forces.spring(x),
    ],
)
def test_one_function_is_compiled_once(make):
    first, second = make(1.0), make(2.0)
    assert code(first) is code(second)
    assert first.torque_address() == second.torque_address()
    assert not np.array_equal(first.torque(1.0, REST, W), second.torque(1.0, REST, W))


@compiled
def test_energies_gradients_and_functions_of_systems_too():
    one, two = (Potential(linear, linear_gradient, (x, 1.0)) for x in (1.0, 2.0))
    assert one.energy_function() is two.energy_function()
    assert one.gradient_function() is two.gradient_function()
    pairs = [PairPotential(lambda r, A, B, p: p[0] * r[0] ** 2, params=[x]) for x in (1.0, 2.0)]
    assert pairs[0]._address() == pairs[1]._address()

    def field(t, x, Q, F, T, p):
        F[:, 2] = -p[0]

    assert Field(field, [1.0])._compiled.forces is Field(field, [2.0])._compiled.forces


@compiled
def test_what_is_not_the_same_is_compiled_again():
    assert code(Torque(wind, (1, 2))) is not code(Torque(wind, (1, 2), frame="space"))
    assert code(Torque(pushed(2), [1.0])) is not code(Torque(pushed(2.0), [1.0]))
    first, second = Torque(wind, (1, 2)), Torque(pushed(1.0), [1.0])
    assert code(first + second) is not code(second + first)


def test_closures_keep_their_own_values():
    assert [float(Torque(pushed(k), [1.0]).torque(0.0, REST)[0]) for k in (1.0, 2.0, -0.5)] == [1.0, 2.0, -0.5]
    numbers, table = [1.0, 2.0], np.array([3.0])

    def listed(t, Q, w, p):
        return numbers[0], 0.0, 0.0

    def tabled(t, Q, w, p):
        return table[0], 0.0, 0.0

    for function, values in ((listed, numbers), (tabled, table)):
        for k in (1.0, 5.0, 1.0):
            values[0] = k
            assert quiet(lambda function=function: Torque(function)).torque(0.0, REST)[0] == k


SPEED = 1.0


def at_speed(t, Q, w, p):
    return SPEED + doubled(0.25), 0.0, 0.0


def doubled(x):
    return 2.0 * SPEED * x


@pytest.mark.parametrize("function", [at_speed, lambda t, Q, w, p: (SPEED * 1.5, 0.0, 0.0)])
def test_globals_count_as_they_are_when_it_compiles(function, monkeypatch):
    for speed in (1.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "SPEED", speed)
        assert quiet(lambda: Torque(function)).torque(0.0, REST)[0] == 1.5 * speed


class Fan:
    def __init__(self, speed):
        self.speed = speed

    def __call__(self, t, Q, w, p):
        return self.speed, 0.0, 0.0

    def twice(self, t, Q, w, p):
        return 2 * self.speed, 0.0, 0.0


def test_calls_back_into_python_are_not_mixed_up():
    """They see what becomes of their objects later, so that equal ones must not stand in for each other."""
    fans = [Fan(1.0), Fan(1.0)]
    blowing = [quiet(lambda fan=fan: Torque(fan)) for fan in fans]
    methods = [quiet(lambda fan=fan: Torque(fan.twice)) for fan in fans]
    fans[1].speed = 3.0
    assert [float(force.torque(0.0, REST)[0]) for force in blowing + methods] == [1.0, 3.0, 2.0, 6.0]
    assert [float((force + methods[0]).torque(0.0, REST)[0]) for force in blowing] == [3.0, 5.0]
    if JIT:
        assert code(quiet(lambda: Torque(fans[0]))) is code(blowing[0])
        assert code(quiet(lambda: Torque(fans[0].twice))) is code(methods[0])
        assert code(blowing[0]) is not code(blowing[1])


@compiled
def test_compiled_functions_of_the_user_too():
    from numba import njit

    assert code(Torque(njit(pushed(2.0)), [1.0])) is code(Torque(njit(pushed(2.0)), [3.0]))
    assert code(Torque(njit(pushed(2.0)), [1.0])) is not code(Torque(njit(pushed(3.0)), [1.0]))


def test_code_that_was_not_used_for_long_is_forgotten():
    recent = Recent(2)
    recent.keep("a", 1)
    recent.keep("b", 2)
    assert recent.find("a") == 1
    recent.keep("c", 3)
    assert [recent.find(key) for key in "abc"] == [1, None, 3]


SWEEP = """
from pathlib import Path
import polhode as ph

def push(t, Q, w, p):
    return p[0], t, 0.0

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def sweep(count, make):
    for k in range(count):
        force = make(float(k))
        force.torque_address()
        if k % 500 == 0:
            assert force.torque(2.0, (1, 0, 0, 0)).tolist() == [k, 2.0, 0.0]

top = ph.forces.gravity(1.0, (0, 0, 1))
kinds = (
    (10_000, lambda k: ph.Torque(push, params=[k])),
    (1000, lambda k: ph.Torque(lambda t, Q, w, p: (p[0], t, 0.0), params=[k])),
    (1000, lambda k: ph.Torque(push, params=[k]) + top),
)
for _, make in kinds:
    sweep(1, make)
before = megabytes()
for count, make in kinds:
    sweep(count, make)
print(megabytes() - before)
"""


@compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_sweep_of_ten_thousand_torques_takes_no_memory():
    done = subprocess.run([sys.executable, "-c", SWEEP], env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 50.0
