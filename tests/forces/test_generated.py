"""Machine code of functions from their graphs: values of the functions, what Numba compiles instead, and exceptions."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from math import cos, exp, sin, sqrt

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, random_attitude
from polhode import Potential, Torque, forces, rotation
from polhode.forces import functions, generated
from polhode.integration.running import RunError
from polhode.kernels.compiler import JIT

compiled = pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")
P = (1.3, -0.4, 0.8)
REST = (1.0, 0.0, 0.0, 0.0)
BODY, STATE = (1.0, 1.65, 1.97), ph.State(m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0))
GAIN = 0.7
TABLE = np.array([[2.0, 0.3, -0.1], [0.3, 3.0, 0.2], [-0.1, 0.2, 4.0]])


def is_generated(function, params):
    return generated.address_of(function, np.asarray(params, float)) is not None


def rows_of(q):
    return tuple(map(tuple, rotation.matrix(q).tolist()))


# Values.


def arithmetic(t, Q, w, p):
    a, (b, c, d) = p[0] * Q[0][1] - Q[1][2] / (2.0 + w[0] ** 2), Q[2]
    return a * b - c, (a + d) ** 3 / p[1], p[2] * w[1] * (1.0 - w[2]) + t


def of_math(t, Q, w, p):
    angle = math.atan2(w[1], 2.0 + w[0] ** 2) + math.asin(0.5 * Q[0][0]) + math.atan(p[1] * w[2])
    return sin(angle) * cos(p[0] * t), exp(-(w[2] ** 2)) + math.tan(0.1 * t), sqrt(1.0 + w[0] ** 2) ** 1.7


def hyperbolic(t, Q, w, p):
    return math.sinh(0.3 * w[0]), math.cosh(p[0] * w[1]), math.tanh(w[2]) * math.log(2.0 + t) * math.hypot(*w)


def loop(t, Q, w, p):
    f = [0.0, 0.0, 0.0]
    for i in range(3):
        for j in range(3):
            f[i] += GAIN * TABLE[i, j] * Q[i][j] * w[j] * p[j]
    return f[0], f[1], f[2]


def helped(t, Q, w, p):
    return doubled(w[0]), doubled(Q[1][1]) * t, sum(x * x for x in w)


def doubled(x):
    return 2.0 * x * GAIN


def of_arrays(t, Q, w, p):
    f = np.zeros(3)
    f[1] = w @ TABLE @ w
    return np.cross(w, TABLE @ w) - p * w * np.linalg.norm(w) + Q.T[2] * np.sin(t) + f


STYLES = {
    "arithmetic": Torque(arithmetic, P),
    "of_math": Torque(of_math, P),
    "hyperbolic": Torque(hyperbolic, P),
    "loop": Torque(loop, P),
    "helped": Torque(helped, P),
    "constant": Torque(lambda t, Q, w, p: (1, 2, 3), P),
    "space frame": Torque(of_math, P, frame="space"),
    "arrays": Torque(of_arrays, P, arrays=True),
    "arrays in space": Torque(of_arrays, P, arrays=True, frame="space"),
    "sum": Torque(of_math, P) + forces.gravity(0.3, (0, 0, 1)) + Torque(arithmetic, P, frame="space"),
    "polynomial": Potential(lambda t, Q, p: p[0] * Q[2][2] * Q[0][1] ** 2 + p[1] * Q[1][0], params=P),
    "derivative": Potential(lambda t, Q, p: exp(p[0] * Q[2][2]) * sin(t) * sqrt(2.0 + Q[0][1]), params=P),
    "gradient": Potential(
        lambda t, Q, p: p[0] * Q[2][2] ** 2,
        lambda t, Q, p: ((0, 0, 0), (0, 0, 0), (0, 0, 2 * p[0] * Q[2][2])),
        P,
    ),
    "sum of potentials": Potential(lambda t, Q, p: p[0] * Q[2][2] ** 2, params=P) + forces.spring(0.7),
}


@pytest.mark.parametrize("name", STYLES)
def test_torques_have_the_values_of_the_plain_function(name, rng):
    force = STYLES[name]
    assert not JIT or is_generated(force._torque, force.params)
    for _ in range(20):
        t, q, w, p = (
            rng.uniform(0, 3),
            random_attitude(rng),
            rng.normal(size=3),
            rng.uniform(0.2, 2.0, force.params.size),
        )
        found = force.replaced(params=p).torque(t, q, w)
        wanted = np.array(force.python_torque(t, rows_of(q), tuple(w.tolist()), p))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=200 * EPS * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", [name for name in STYLES if STYLES[name].has_energy])
def test_energies_have_the_values_of_the_plain_function(name, rng):
    force = STYLES[name]
    assert not JIT or is_generated(force._energy, force.params)
    q = random_attitude(rng, 10)
    wanted = [force._energy.plain(0.7, rows_of(x), np.array(force.params)) for x in q]
    np.testing.assert_allclose(force.potential(0.7, q), wanted, rtol=0, atol=20 * EPS * np.abs(wanted).max())


def test_gradients_are_generated_and_used_by_whole_steps():
    """A potential with a branch that is never taken is compiled by Numba, and must give the same motion."""

    def gradient(t, Q, p):
        return (p[0] * Q[0][1], p[0] * Q[0][0], 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, p[1])

    def energy(t, Q, p):
        return p[0] * Q[0][0] * Q[0][1] + p[1] * Q[2][2]

    def branched(t, Q, p):
        k = p[0] if Q[0][0] < 2.0 else 0.0
        return (k * Q[0][1], k * Q[0][0], 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, p[1])

    ends = []
    for slope in (gradient, branched):
        force = Potential(energy, slope, (0.3, 0.5))
        assert not JIT or is_generated(force._gradient, force.params) == (slope is gradient)
        problem = ph.Problem(BODY, STATE, force, t_span=(0, 2))
        ends.append(ph.integrate(problem, method=ph.Rattle(), h=0.1).q[-1])
    np.testing.assert_allclose(*ends, rtol=0, atol=100 * EPS)


def test_batches_and_sums_take_their_own_parameters(rng):
    params = rng.uniform(0.5, 2.0, (5, 3))
    force = Torque(of_math, params) + Torque(arithmetic, P)
    q, w = random_attitude(rng, 5), rng.normal(size=(5, 3))
    found = force.torque(0.4, q, w)
    for k in range(5):
        wanted = np.add(of_math(0.4, rows_of(q[k]), w[k], params[k]), arithmetic(0.4, rows_of(q[k]), w[k], P))
        np.testing.assert_allclose(found[k], wanted, rtol=0, atol=100 * EPS * np.abs(wanted).max())


def test_runs_agree_with_those_of_code_by_numba(monkeypatch):
    """To rounding, at all sizes of steps."""

    def ends():
        force = Torque(of_math, P) + Potential(lambda t, Q, p: p[0] * Q[2][2], params=[0.5])
        problem = ph.Problem(BODY, STATE, force, t_span=(0, 3))
        runs = [ph.integrate(problem, method="Suzuki4", h=0.1), ph.integrate(problem, method=ph.Adaptive(1e-10))]
        return [run.m[-1] for run in runs]

    found = ends()
    monkeypatch.setattr(functions, "RECENT", functions.Recent(8))
    monkeypatch.setattr(generated, "address_of", lambda *_: None)
    np.testing.assert_allclose(found, ends(), rtol=0, atol=1e-13)


def test_parameters_of_a_run_may_change():
    def wheels(t, Q, w, p):
        return p[0], p[1] * w[0], p[2]

    run = ph.start(ph.Problem(BODY, ph.State(m=(0.0, 0.0, 0.0)), Torque(wheels, (1.0, 0.0, 0.0))), method="V2", h=0.05)
    run.to(1.0)
    run.params[:] = (-1.0, 0.0, 0.0)
    run.to(2.0)
    np.testing.assert_allclose(run.m, 0.0, atol=1e-14)
    run.params[:] = (0.0, 0.0, 2.0)
    run.to(3.0)
    np.testing.assert_allclose(run.m, (0.0, 0.0, 2.0), atol=1e-14)


# What Numba compiles, or Python computes.

CALLS = []
COUNT = np.zeros(1)
NUMBER = 0


class Controller:
    gain = 2.0

    def __call__(self, t, Q, w, p):
        return self.gain * t, 0.0, 0.0


CONTROLLER = Controller()


def branch_on_the_state(t, Q, w, p):
    return (1.0 if w[0] < 0.0 else -1.0), 0.0, 0.0


def branch_on_parameters(t, Q, w, p):
    return (p[0] * t if p[0] > 1.0 else t), 0.0, 0.0


def power_of_a_parameter(t, Q, w, p):
    return (2.0 + t) ** p[0], 0.0, 0.0


def appends(t, Q, w, p):
    CALLS.append(t)
    return t, 0.0, 0.0


def counts(t, Q, w, p):
    COUNT[0] += 1
    return t, 0.0, 0.0


def counts_globally(t, Q, w, p):
    global NUMBER
    NUMBER += 1
    return t, 0.0, 0.0


def counts_in_a_closure():
    number = 0

    def torque(t, Q, w, p):
        nonlocal number
        number += 1
        return t, 0.0, 0.0

    return torque


def prints(t, Q, w, p):
    print(t)
    return t, 0.0, 0.0


def writes(t, Q, w, p):
    sys.stdout.write("called")
    return t, 0.0, 0.0


def catches(t, Q, w, p):
    try:
        return 1.0 / (t - 2.0), 0.0, 0.0
    except Exception:
        return 0.0, 0.0, 0.0


def of_an_object(t, Q, w, p):
    return CONTROLLER.gain * t, 0.0, 0.0


def inverse_cosine(t, Q, w, p):
    return math.acos(Q[2][2]), 0.0, 0.0


def small_logarithm(t, Q, w, p):
    return math.log1p(t * t), 0.0, 0.0


def very_long(t, Q, w, p):
    x = 0.0
    for k in range(3000):
        x += (w[0] + k) * (w[1] - k)
    return x, 0.0, 0.0


@pytest.mark.parametrize(
    "function",
    [
        branch_on_the_state, branch_on_parameters, power_of_a_parameter, appends, counts, counts_globally,
        counts_in_a_closure(), prints, writes, catches, CONTROLLER, CONTROLLER.__call__, of_an_object, inverse_cosine,
        small_logarithm, very_long,
    ],
    ids=lambda function: getattr(function, "__qualname__", "object"),
)  # fmt: skip
def test_a_graph_that_does_not_stand_for_the_function_is_not_compiled(function, capsys):
    CALLS.clear()
    force = Torque(function, [0.5])
    before = len(CALLS), capsys.readouterr().out
    assert not is_generated(force._torque, force.params)
    assert len(CALLS) == before[0]
    assert capsys.readouterr().out in ("", "called")  # functions of other modules are called once


def test_decisions_by_parameters_hold_for_each_body():
    force = Torque(branch_on_parameters, [[0.5], [2.0]])
    np.testing.assert_array_equal(force.torque(3.0, REST)[:, 0], (3.0, 6.0))
    np.testing.assert_array_equal(force.replaced(params=[[4.0], [0.1]]).torque(3.0, REST)[:, 0], (12.0, 3.0))


def test_exceptions_that_are_handled_stay_inside():
    assert Torque(catches).torque(2.0, REST)[0] == 0.0


def test_small_numbers_keep_their_digits():
    found = Torque(small_logarithm).torque(1e-9, REST)[0]
    assert found == pytest.approx(1e-18, rel=1e-15)


# Exceptions.


def divides(t, Q, w, p):
    return 1.0 / (1.0 + 1.0 / (t - 1.0)), 0.0, 0.0  # a quotient of infinity would be 0


@pytest.mark.parametrize(("method", "h", "start"), [("V2", 0.25, 0.875), (ph.Adaptive(1e-8), None, 1.0)])
def test_a_division_by_zero_is_reported_with_the_traceback_of_the_user(method, h, start):
    assert not JIT or is_generated(Torque(divides)._torque, ())
    with pytest.raises(ZeroDivisionError) as raised:
        Torque(divides).torque(1.0, REST)
    assert raised.traceback[-1].name == "divides"
    problem = ph.Problem(BODY, STATE, Torque(divides), t_span=(start, start + 2.0))
    with pytest.raises(RunError, match="ZeroDivisionError") as stopped:
        ph.integrate(problem, method=method, h=h)
    assert isinstance(stopped.value.__cause__, ZeroDivisionError)


def test_a_division_by_a_parameter_that_is_zero_is_reported():
    """In Python it is a division of NumPy, which results in infinity."""
    force = Torque(lambda t, Q, w, p: (w[0] / p[0], 0.0, 0.0), [1.0]).replaced(params=[0.0])
    with np.errstate(all="ignore"), pytest.raises(RunError, match="not three finite numbers"):
        ph.integrate(ph.Problem(BODY, STATE, force, t_span=(0.0, 2.0)), method="Suzuki4", h=0.125)


def test_an_invalid_argument_of_a_function_is_reported():
    problem = ph.Problem(BODY, STATE, Torque(lambda t, Q, w, p: (sqrt(1.0 - t), 0.0, 0.0)), t_span=(0.0, 2.0))
    with pytest.raises(RunError, match="ValueError: math domain error"):
        ph.integrate(problem, method="V2", h=0.125)


def test_infinity_is_reported():
    problem = ph.Problem(BODY, STATE, Torque(lambda t, Q, w, p: (1e300 * t * 1e300, 0.0, 0.0)), t_span=(0.0, 2.0))
    with pytest.raises(RunError, match="not three finite numbers"):
        ph.integrate(problem, method="V2", h=0.125)


# Globals, copies and equality.


def test_globals_count_as_they_are_at_the_first_use(monkeypatch):
    first = Torque(helped)
    assert first.torque(0.0, REST, (1.0, 0.0, 0.0))[0] == pytest.approx(1.4)
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    second = Torque(helped)
    assert second.torque(0.0, REST, (1.0, 0.0, 0.0))[0] == pytest.approx(4.0)
    if JIT:
        assert first.torque(0.0, REST, (1.0, 0.0, 0.0))[0] == pytest.approx(1.4)
        assert first != second


@compiled
def test_a_part_of_a_sum_whose_globals_have_changed_is_not_mixed_up(monkeypatch):
    def gained(t, Q, w, p):
        return GAIN * w[0], 0.0, 0.0

    part, other, w = Torque(gained), forces.constant((1.0, 0.0, 0.0)), (1.0, 0.0, 0.0)
    part.torque_address()
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    (part + other).torque_address()
    monkeypatch.setitem(globals(), "GAIN", 0.7)
    assert (Torque(gained) + other).torque(0.0, REST, w)[0] == pytest.approx(1.7)
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert (Torque(gained) + other).torque(0.0, REST, w)[0] == pytest.approx(3.0)


@compiled
def test_the_number_of_parameters_belongs_to_the_code():
    def last(t, Q, w, p):
        return p[-1], float(len(p)), sum(p)

    for params in ([1.0], [1.0, 2.0], [4.0, 5.0, 6.0]):
        force = Torque(last, params)
        assert is_generated(force._torque, params)
        np.testing.assert_array_equal(force.torque(0.0, REST), (params[-1], len(params), sum(params)))


@compiled
def test_copies_have_no_addresses_and_the_same_values():
    force = Torque(arithmetic, P)
    found = force.torque(0.3, REST, (1.0, 2.0, 3.0))
    for other in (pickle.loads(pickle.dumps(force)), copy.deepcopy(force)):
        assert other == force
        np.testing.assert_array_equal(other.torque(0.3, REST, (1.0, 2.0, 3.0)), found)
    assert not copy.copy(force._torque)._addresses


@compiled
def test_the_same_code_is_loaded_once_and_found_again(monkeypatch):
    from polhode.kernels.compiler import generated as texts

    address = Torque(arithmetic, P).torque_address()
    monkeypatch.setattr(functions, "RECENT", functions.Recent(8))
    texts.address_of.cache_clear()  # as if very many others had been used meanwhile
    assert Torque(arithmetic, P).torque_address() == address


@compiled
def test_zeros_have_no_sign():
    force = Torque(lambda t, Q, w, p: (-w[0], -2.0 * w[0], p[0] * (w[1] - w[0])), [-1.0])
    assert is_generated(force._torque, force.params)
    assert not np.signbit(force.torque(0.0, REST, (0.0, 0.0, 0.0))).any()
