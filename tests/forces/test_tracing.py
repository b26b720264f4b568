"""Graphs of forces: values of the graph against the function itself, derivatives against mpmath, what is refused."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import random
import re
import time
import types
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import atan2, exp, sin

import numba
import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS, random_attitude
from polhode import Potential, Torque, forces, rotation
from polhode.core.errors import InputError, NotTraceable
from polhode.forces import tracing
from polhode.forces.derivatives import ATTITUDE, gradient_of
from polhode.forces.nothing import nothing
from polhode.forces.symbols import Recording
from polhode.kernels.graphs.graph import FUNCTIONS, evaluate
from test_forces import attitude, slopes

GAIN = 0.7
TABLE = np.array([[2.0, 0.3, -0.1], [0.3, 3.0, 0.2], [-0.1, 0.2, 4.0]])
P = (1.3, -0.4, 0.8)


@pytest.fixture(autouse=True)
def no_shared_traces(monkeypatch):
    """Each test makes its own traces."""
    monkeypatch.setattr(tracing, "SHARED", tracing.Recent(4))


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(40):
        yield


def rows_of(q):
    return tuple(map(tuple, rotation.matrix(q).tolist()))


def graph_values(trace, nodes, t, Q, w, p):
    inputs = {"t": t} | {f"Q{i}{j}": Q[i][j] for i in range(3) for j in range(3)}
    inputs |= {f"w{i}": x for i, x in enumerate(w)} | {f"p{k}": float(x) for k, x in enumerate(p)}
    return evaluate(trace.graph, nodes, inputs)


def assert_graph_is_function(force, rng, rtol=4e-14):
    """Compare graph and functions at other arguments than those of the tracer."""
    trace = force.traced()
    for q, w, t in zip(random_attitude(rng, 4), rng.normal(size=(4, 3)).tolist(), (0.3, 0.9, 2.0, 3.1), strict=True):
        for p in np.atleast_2d(force.params):
            Q = rows_of(q)
            wanted = np.array(force._torque.plain(t, Q, tuple(w), p.copy()))
            found = graph_values(trace, trace.torque, t, Q, w, p)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * max(1.0, np.abs(wanted).max()))
            if trace.energy is not None:
                energy = force._energy.plain(t, Q, p.copy())
                assert graph_values(trace, [trace.energy], t, Q, w, p)[0] == pytest.approx(energy, rel=rtol, abs=rtol)
    return trace


# Styles of functions.


def operators(t, Q, w, p):
    return (
        p[0] * w[0] ** 3 - Q[0][1] / (2 + t),
        -(w[1] ** -2) * p[1] + 3,
        (+w[2] - 1) ** 0.5 if False else w[2] * Q[2][2],
    )


def of_math(t, Q, w, p):
    return (
        math.sin(t) * sin(w[0]),
        math.sqrt(1 + w[1] * w[1]) + atan2(w[0], 2.0 + Q[0][0]),
        math.exp(-(w[2] ** 2)) * 2**t,
    )


def more_of_math(t, Q, w, p):
    length = math.hypot(*w) + math.dist(w, (1.0, 2.0, 3.0)) + math.fsum(w) + math.prod((2.0, w[0]))
    return length, math.log(2 + t, 3), math.pow(2.0 + w[0] ** 2, 1.5) + math.degrees(w[1]) + math.log10(3 + w[1] ** 2)


def of_numpy(t, Q, w, p):
    return np.sin(t) * np.square(w[0]), np.hypot(w[1], 1.0), np.float64(2.0) * np.tanh(w[2]) + np.pi


def numpy_scalars(t, Q, w, p):
    return np.float64(2.0) - w[0], np.float64(2.0) / (3.0 + w[1] ** 2), np.int64(3) * w[2] ** np.int64(2)


def in_place(t, Q, w, p):
    f = np.zeros(3)
    f[0] = w[0] * p[0]
    f[1:] += np.array([w[1], 2.0])
    g = np.empty_like(f)
    g[:] = 1.0
    h = np.full(3, t)
    h[2] -= Q[0][0]
    return f + g * h + np.ones(3) + np.eye(3)[1]


def of_arrays(t, Q, w, p):
    spin = Q @ w
    f = np.cross(w, TABLE @ w) - p[0] * spin / np.linalg.norm(spin)
    return f + np.dot(Q.T, np.array([0.0, np.sin(t), 1.0], dtype=float)) + 0.1 * np.sum(w**2) * np.ones(3)


def more_of_arrays(t, Q, w, p):
    u = Q[2].copy()
    mixed = np.sin(np.array([0.0, t, 1.0])) + np.arctan2(w, 2.0) + np.exp(-np.outer(u, w)).sum(axis=0)
    inverse = np.linalg.inv(np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 1.0]]))
    return mixed + inverse @ w + np.einsum("ij,j->i", Q, u) + np.stack([u, w]).mean(axis=0) + p * w.dot(u)


def written_by(helper):
    def torque(t, Q, w, p):
        return helper(w[0]), GAIN * helper(t), GAIN * Q[0][0]

    return torque


@numba.njit
def jitted_helper(x):
    return math.cos(x) ** 2


@numba.njit
def jitted(t, Q, w, p):
    return jitted_helper(w[0]), math.tanh(t), p[0] * Q[1][1]


def recursive(x, n=4):
    return x if n == 0 else math.sin(recursive(x, n - 1))


@lru_cache
def cached(x):
    return math.exp(-x * x)


def with_imports(t, Q, w, p):
    from math import cosh

    import numpy

    return cosh(w[0]), numpy.linalg.norm(w), numpy.sinh(t)


def with_defaults(t, Q, w, p, gains=(2.0, 3.0), function=math.tanh):
    return function(gains[0] * w[0]), sum(x * x for x in w), float(w[2])


def with_branches_on_parameters(t, Q, w, p):
    gain = p[0] if p[0] > 0 else -p[0]
    count = int(abs(p[1]) + 2.5)
    return gain * w[0], sum(w[1] ** k for k in range(count)), max(p[2], 0.0) * w[2] + (1.0 if p[1] == 0 else Q[0][0])


@dataclass
class Controller:
    gains: list = field(default_factory=lambda: [1.0, 2.0])
    calls: int = 0

    def saturated(self, x):
        return math.tanh(x * self.gains[1])

    def __call__(self, t, Q, w, p):
        self.calls += 1
        self.gains.append(t)
        return self.saturated(w[0]), self.gains[0] * w[1], TABLE[1, 1] * Q[0][1]

    def method(self, t, Q, w, p):
        return self(t, Q, w, p)


def shifted(offset, t, Q, w, p):
    return offset + math.sin(w[0]), t, p[0]


settings = types.SimpleNamespace(gain=2.0, law=math.atan)
table_of_functions = {"drag": lambda x: math.exp(x) * GAIN}


def from_tables(t, Q, w, p):
    return settings.law(w[0]) * settings.gain, table_of_functions["drag"](w[1]), [np.sin, np.cos][1](t)


STYLES = [
    Torque(operators, P),
    Torque(of_math, P),
    Torque(more_of_math, P),
    Torque(of_numpy, P),
    Torque(numpy_scalars, P),
    Torque(in_place, P),
    Torque(of_arrays, P, arrays=True),
    Torque(more_of_arrays, P, arrays=True),
    Torque(of_arrays, P, arrays=True, frame="space"),
    Torque(of_math, P, frame="space"),
    Torque(written_by(jitted_helper), P),
    Torque(written_by(recursive), P),
    Torque(written_by(cached), P),
    Torque(written_by(lambda x: GAIN * math.sinh(x)), P),
    Torque(jitted, P),
    Torque(with_imports, P),
    Torque(with_defaults, P),
    Torque(with_branches_on_parameters, P),
    Torque(Controller(), P, name="Controller"),
    Torque(Controller().method, P),
    Torque(partial(shifted, 2.0), P, name="partial"),
    Torque(from_tables, P),
]


@pytest.mark.parametrize("force", STYLES, ids=repr)
def test_the_graph_has_the_values_of_the_function(force, rng):
    assert_graph_is_function(force, rng)
    assert force.is_traced
    assert force.why_not_traced == ""


@pytest.mark.parametrize(
    "force",
    [
        forces.gravity(2.0, (0.1, 0.2, 0.3), up=(1, 2, 3)),
        forces.gravity_gradient(TABLE, 0.5, (1, 2, -2)),
        forces.gravity_gradient(TABLE, [0.5, 0.7], (1, 2, -2), orbit_rate=0.3, orbit_normal=(0.2, 1, 0.4)),
        forces.gravity_gradient((2.0, 2.0, 2.0), 1.0, (1, 2, -2)),  # the torque is zero but for rounding
        forces.restoring(1.0, 2.0, 3.0),
        forces.spring(2.0, rotation.normalize((0.5, -0.5, 0.7, 0.1))),
        forces.constant((1, 2, 3)),
        forces.constant((1, 2, 3), frame="space"),
        forces.damping((1, 2, 3)),
        nothing(),
        forces.gravity([1.0, 2.0], (0, 0, 1)) + Torque(of_math, P) + forces.damping(0.1),
        forces.spring(2.0)
        + forces.gravity(1.0, (0, 0, 1))
        + Potential(lambda t, Q, p: p[0] * Q[0][0] ** 3, params=[2.0]),
    ],
    ids=repr,
)
def test_our_own_forces_and_sums_are_traced(force, rng):
    trace = assert_graph_is_function(force, rng)
    assert (trace.energy is not None) == force.has_energy


def test_the_graph_knows_what_the_torque_depends_on():
    def unused(t, Q, w, p):
        return 0.0 * w[0] + p[1], Q[0][0] - Q[0][0] + w[1] - w[1], 1.0 + Q[1][2]

    force = Torque(unused, P)
    assert not force.velocity_dependent
    assert force.traced().inputs == {"p1", "Q12"}


def test_a_torque_of_values_of_an_energy_is_a_derivative_in_the_graph():
    """By Riesz's formula, the same graph would have hundreds of nodes."""
    force = Potential(lambda t, Q, p: p[0] * Q[2][2] ** 8, params=[2.0])
    assert len(force.traced().graph.used(force.traced().torque)) < 20


# Parameters.


def test_decisions_on_parameters_hold_for_parameters_that_decide_alike():
    def torque(t, Q, w, p):
        return (p[1] * w[0] if p[0] > 1.0 else p[1] * w[1] ** 2), 0.0, 0.0

    force = Torque(torque, [[2.0, 3.0], [5.0, 4.0]])
    trace = force.traced()
    assert trace.inputs == {"p1", "w0"}
    assert not trace.params_are_numbers
    assert trace.holds_for(np.array([1.5, 7.0]))
    assert not trace.holds_for(np.array([0.5, 7.0]))
    other = force.replaced(params=[0.5, 7.0]).traced()
    assert other.inputs == {"p1", "w1"}
    with pytest.raises(NotTraceable, match=r"parameters \(p0 and 1\), and is not the same for all bodies"):
        force.replaced(params=[[0.5, 7.0], [2.0, 7.0]]).traced()


def test_parameters_become_numbers_if_that_helps(rng):
    def torque(t, Q, w, p):
        return np.linalg.solve(np.diag(p), w)

    force = Torque(torque, [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]], arrays=True)
    trace = assert_graph_is_function(force, rng)
    assert trace.params_are_numbers
    assert trace.holds_for(force.params)
    assert not trace.holds_for(np.array([1.0, 2.0, 3.0]))
    with pytest.raises(NotTraceable, match="solve cannot be traced"):
        force.replaced(params=[[1.0, 2.0, 4.0], [1.0, 2.0, 3.0]]).traced()


def test_exponents_that_are_parameters(rng):
    def torque(t, Q, w, p):
        return w[0] ** p[0], (1.0 + w[1] ** 2) ** p[1], 0.0

    force = Torque(torque, [[3.0, 0.5], [3.0, 1.5]])
    trace = assert_graph_is_function(force, rng)
    assert [condition.outcome for condition in trace.conditions] == [3.0]  # p1 differs: exp(p1 log(...))


# What is refused.


def branch(t, Q, w, p):
    return (1.0 if w[0] > 0 else -1.0), 0.0, 0.0


def switch(t, Q, w, p):
    if t < 0.5:
        return 1.0, 0.0, 0.0
    return 0.0, 0.0, 0.0


def sign(t, Q, w, p):
    return -np.sign(w[0]) * w[0], 0.0, 0.0


def decided_by_sign(t, Q, w, p):
    return (1.0 if w[0] / abs(w[0]) > 0.0 else 2.0), 0.0, 0.0


def clipped(t, Q, w, p):
    return tuple(np.clip(np.array(w), -1.0, 1.0))


def largest(t, Q, w, p):
    return max(w[0], 0.1), 0.0, 0.0


def integer(t, Q, w, p):
    return float(int(10 * w[0])), 0.0, 0.0


def rounded(t, Q, w, p):
    return round(w[0]), 0.0, 0.0


def remainder(t, Q, w, p):
    return t % 1.0, 0.0, 0.0


def interpolated(t, Q, w, p):
    return np.interp(t, (0.0, 1.0), (2.0, 3.0)), 0.0, 0.0


def error_function(t, Q, w, p):
    return math.erf(w[0]), 0.0, 0.0


def clock(t, Q, w, p):
    return 1e-12 * time.time(), 0.0, 0.0


def noise(t, Q, w, p):
    return random.random(), np.random.default_rng().normal(), 0.0


def of_methods(t, Q, w, p):
    return float.fromhex(w[0].hex()), 0.0, 0.0


def long_loop(t, Q, w, p):
    x = w[0]
    for k in range(30000):
        x = x + 0.001 * k * w[1]
    return x, 0.0, 0.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (branch, r"a branch on the state \(w0\) cannot be traced; use the method Adaptive, and pass the times"),
        (switch, r"a branch on the state \(t\) cannot be traced; .* as breaks"),
        (sign, r"sign of the state \(w0\)"),
        (decided_by_sign, "a branch on the state"),
        (clipped, "a branch on the state"),
        (largest, "a branch on the state"),
        (integer, r"int\(\) of the state \(10\*w0\)"),
        (rounded, r"round\(\) of the state"),
        (remainder, "a remainder or a rounded quotient"),
        (interpolated, "a function that requires a number"),
        (error_function, "the function erf cannot be traced"),
        (clock, "time.time returns another value on each call"),
        (noise, "random returns another value on each call"),
        (of_methods, "calling it with symbols raised AttributeError"),
        (long_loop, "more than 20000 operations"),
    ],
)
def test_what_cannot_be_traced_is_refused_with_the_line(function, words):
    force = Torque(function)
    lines, first = inspect.getsourcelines(function)
    with pytest.raises(NotTraceable, match=words) as caught:
        force.traced()
    line = int(re.match(rf"{function.__name__} \({__file__}:(\d+)\): ", str(caught.value))[1])
    assert first < line < first + len(lines)
    assert not force.is_traced
    assert force.why_not_traced == str(caught.value)


def counter():
    count = 0

    def torque(t, Q, w, p):
        nonlocal count
        count += 1
        return w[0] * count, 0.0, 0.0

    return torque


def named_type(t, Q, w, p):
    return (w[0] if type(w[0]) is float else 2.0 * w[0]), 0.0, 0.0


def caught(t, Q, w, p):
    try:
        return (1.0 if w[0] > 0.0 else 2.0), 0.0, 0.0
    except ValueError:
        return w[0], 0.0, 0.0


@pytest.mark.parametrize("function", [counter(), named_type, caught], ids=["counter", "type", "caught"])
def test_a_graph_that_is_not_the_function_is_refused(function):
    with pytest.raises(NotTraceable, match=r"returns .* but what it did when it was called with symbols gives"):
        Torque(function).traced()


def test_differences_of_one_part_in_a_million_million_are_found():
    def torque(t, Q, w, p):
        return w[0] * (1.0 if type(w[0]) is float else 1.0 + 4e-12), 1e-3, 0.0

    with pytest.raises(NotTraceable, match="called with symbols gives"):
        Torque(torque).traced()


def test_a_function_that_raises_at_all_trial_arguments_is_refused():
    def torque(t, Q, w, p):
        return math.sqrt(-2.0 - w[0] * 0.0 + t * 0.0) if type(t) is float else w[0], 0.0, 0.0

    with pytest.raises(NotTraceable, match="raises at all trial arguments"):
        Torque(torque).traced()


# Side effects, caches, copies.


def test_tracing_changes_nothing_outside(capsys, recwarn):
    log, counts, last = [], {"calls": 0}, np.zeros(3)
    controller = Controller()

    def torque(t, Q, w, p):
        log.append(w[0])
        counts["calls"] += 1
        print("called with", w[0], f"{t:.3f}")
        return controller(t, Q, w, p)

    force = Torque(torque)
    controller.gains[2:], controller.calls = [], 0
    log.clear()
    capsys.readouterr()
    tracer = tracing.Tracer(force.params, params_are_numbers=False)
    tracer.values(force._torque)
    assert (log, counts, last.tolist()) == ([], {"calls": 1}, [0.0, 0.0, 0.0])  # one trial call of Torque itself
    assert controller == Controller()
    assert capsys.readouterr().out == ""
    assert not recwarn.list


def test_the_trace_of_a_force_is_not_made_unless_asked_for(monkeypatch):
    monkeypatch.setattr(tracing, "traced_functions", lambda *_: pytest.fail("traced"))
    force = Torque(of_math, P) + forces.gravity(1.0, (0, 0, 1))
    force.torque(0.0, (1, 0, 0, 0))
    assert "_trace" not in vars(force)
    assert "velocity_dependent" not in vars(force)


def test_forces_with_the_same_functions_share_a_trace():
    first, second = Torque(of_math, P), Torque(of_math, (1.0, 2.0, 3.0))
    assert first.traced() is second.traced()
    assert first.traced() is first.replaced(params=(2.0, 2.0, 2.0)).traced()
    assert first.traced() is not Torque(of_numpy, P).traced()
    for k in range(5):
        Torque(lambda t, Q, w, p, k=k: (k * t, 0.0, 0.0)).traced()
    assert first.traced() is not Torque(of_math, P).traced()  # only the latest are kept


def test_globals_are_those_of_the_time_of_tracing(monkeypatch):
    def torque(t, Q, w, p):
        return GAIN * w[0], 0.0, 0.0

    before = Torque(torque).traced()
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    after = Torque(torque).traced()
    assert [trace.graph.text(trace.torque[0]) for trace in (before, after)] == ["0.7*w0", "3*w0"]


def test_traces_are_not_pickled_or_compared():
    force = Torque(of_math, P)
    size = len(pickle.dumps(force))
    assert force.is_traced
    assert len(pickle.dumps(force)) == size
    assert force == Torque(of_math, P)
    other = pickle.loads(pickle.dumps(force))
    assert "_trace" not in vars(other)
    assert other.is_traced
    assert copy.deepcopy(force) == force


# Functions that graphs do not have.

POSITIVE = ("sqrt", "log", "log2", "log10", "log1p")
DOMAINS = {"arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9), "arctanh": (-0.9, 0.9), "arccosh": (1.1, 4.0)}
DOMAINS |= dict.fromkeys(POSITIVE, (0.1, 4.0))
EVERYWHERE = (
    "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "arcsinh", "exp2", "expm1", "cbrt", "square",
    "reciprocal", "negative", "positive", "conjugate", "radians", "deg2rad", "degrees", "rad2deg",
)  # fmt: skip


@pytest.mark.parametrize("name", [*DOMAINS, *EVERYWHERE])
def test_functions_of_numpy_have_the_values_of_numpy(name):
    function = getattr(np, name)
    recording = Recording(np.empty((1, 0)))
    x = recording.input("t")
    array = np.array([x, 2.0 * x])
    nodes = [function(x).node, *(symbol.node for symbol in function(array))]
    for value in np.linspace(*DOMAINS.get(name, (-3.0, 3.1)), 7).tolist():
        found = evaluate(recording.graph, nodes[:2], {"t": value})
        np.testing.assert_allclose(found, function(value), rtol=4e-15, atol=4 * EPS)


@pytest.mark.parametrize("name", ["arctan2", "hypot", "logaddexp", "power", "float_power", "maximum"])
def test_functions_of_two_numbers(name):
    function = getattr(np, name)
    recording = Recording(np.array([[1.5, 0.7]]))
    x, y = recording.input("p0"), recording.input("p1")
    for a, b, wanted in ((x, y, (1.5, 0.7)), (x, 0.3, (1.5, 0.3)), (0.3, y, (0.3, 0.7)), (np.float64(2), y, (2, 0.7))):
        node = recording.symbol(function(a, b)).node
        found = evaluate(recording.graph, [node], {"p0": 1.5, "p1": 0.7})[0]
        assert found == pytest.approx(function(*map(float, wanted)), rel=4 * EPS)


# Derivatives.


def in_mpmath(graph, node, **inputs):
    functions = {name: getattr(mp, name) for name in (*FUNCTIONS, "atan2")}
    functions |= {"power": lambda x, r: x ** mpf(r), "divide": lambda x, y: x / y}
    return evaluate(graph, [node], inputs, functions)[0]


def every_operation(x, y, z):
    """Constants are binary fractions, so that their products are exact."""
    one = np.sqrt(2 + x * y) + np.exp(-x) * np.log(3 + y) - np.sin(x * z) * np.cos(y) + np.tan(0.25 * z)
    two = np.sinh(x) / np.cosh(y) + np.tanh(x + z) * np.arcsin(0.25 * y) + np.arctan(z * z) + np.arctan2(x, 2 + y)
    return one * two + (2 + z) ** 1.75 - x / (3 + z) + z**5


def test_derivatives_are_those_of_mpmath():
    recording = Recording(np.empty((1, 0)))
    names = ("Q00", "Q01", "Q02", "Q10")
    value = every_operation(*(recording.input(name) for name in names[:3])).node
    found = gradient_of(recording.graph, value, names)
    point = (mpf("0.3"), mpf("-0.6"), mpf("0.45"))
    inputs = dict(zip(names, point, strict=False))
    for k in range(3):
        order = tuple(int(i == k) for i in range(3))
        wanted = mp.diff(
            lambda *x: in_mpmath(recording.graph, value, **dict(zip(names, x, strict=False))), point, order
        )
        assert abs(in_mpmath(recording.graph, found[k], **inputs) - wanted) < 1e-25
    assert recording.graph.nodes[found[3]].value == 0.0


def magnet(t, Q, p):
    """Dipole in the field of another one, with a screened interaction."""
    x, y, z = 1.0 + 0.2 * Q[0][2], 0.2 * Q[1][2], 2.0 + 0.2 * Q[2][2]
    r = (x * x + y * y + z * z) ** 0.5
    return p[0] * (2.718281828459045 ** (-p[1] * r)) * (Q[2][2] / r**3 - 3 * z * (x * Q[0][2] + z * Q[2][2]) / r**5)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_torques_of_energies_that_are_not_polynomials(rng, batch):
    params = np.broadcast_to((40.0, 0.3), (*batch, 2))
    force = Potential(magnet, params=params)
    for q in random_attitude(rng, 3):
        wanted = slopes(lambda Q: magnet(0, Q.tolist(), (mpf(40.0), mpf(0.3))), attitude(q))
        np.testing.assert_allclose(force.torque(0.0, q), np.broadcast_to(wanted, (*batch, 3)), rtol=0, atol=5e-14)


def test_energies_of_every_style_have_torques(rng):
    def plain(t, Q, p):
        return p[0] * exp(-3 * Q[2][2]) / (2 + math.cos(t) * Q[0][0])

    def with_arrays(t, Q, p):
        return p[0] * np.exp(-3 * Q[2] @ np.array([0.0, 0.0, 1.0])) / (2 + np.cos(t) * Q[0, 0])

    q = random_attitude(rng)
    wanted = slopes(lambda Q: 2 * mp.exp(-3 * Q[2, 2]) / (2 + mp.cos(mpf(0.4)) * Q[0, 0]), attitude(q))
    for energy, arrays in ((plain, False), (with_arrays, True)):
        force = Potential(energy, params=[2.0], arrays=arrays)
        np.testing.assert_allclose(force.torque(0.4, q), wanted, rtol=0, atol=2e-14 * max(map(abs, wanted)))
        assert force.is_traced


def test_an_energy_with_a_branch_on_parameters_is_derived_for_each(rng):
    def energy(t, Q, p):
        return exp(6 * Q[2][2]) if p[0] > 0 else exp(6 * Q[0][0])

    force = Potential(energy, params=[1.0])
    assert abs(force.torque(0.0, (1, 0, 0, 0))[2]) == 0.0
    q = random_attitude(rng)
    wanted = slopes(lambda Q: mp.exp(6 * Q[0, 0]), attitude(q))
    other = force.replaced(params=[-1.0])
    np.testing.assert_allclose(other.torque(0.0, q), wanted, rtol=0, atol=1e-14 * max(map(abs, wanted)))
    with pytest.raises(InputError, match="not the same for all bodies"):
        force.replaced(params=[[1.0], [-1.0]])


def test_torques_of_other_energies_can_be_pickled_and_replaced():
    force = Potential(magnet, params=(40.0, 0.3))
    other = pickle.loads(pickle.dumps(force))
    assert other == force
    q = (0.8, 0.6, 0.0, 0.0)
    np.testing.assert_array_equal(other.torque(0.0, q), force.torque(0.0, q))
    np.testing.assert_allclose(
        force.replaced(params=(80.0, 0.3)).torque(0.0, q), 2 * force.torque(0.0, q), rtol=4 * EPS
    )


def test_the_gradient_of_an_energy_by_all_entries():
    trace = Potential(lambda t, Q, p: exp(Q[2][1]) * Q[0][0], params=()).traced()
    nodes = gradient_of(trace.graph, trace.energy, ATTITUDE)
    Q = ((0.3, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.5, 0.0))
    found = graph_values(trace, nodes, 0.0, Q, (0.0, 0.0, 0.0), ())
    np.testing.assert_allclose(found, [math.exp(0.5), 0, 0, 0, 0, 0, 0, 0.3 * math.exp(0.5), 0], rtol=4 * EPS)


def test_a_function_without_a_module():
    """As `exec` makes it in a dictionary without a name; its error has no other place either."""
    names = {"math": math, "erf": math.erf}
    exec("def torque(t, Q, w, p):\n    return math.sin(w[0]), p[0] * Q[2][1], 0.0", names)
    exec("def refused(t, Q, w, p):\n    return erf(w[0]), 0.0, 0.0", names)
    assert Torque(names["torque"], params=(2.0,)).is_traced
    assert "the function erf cannot be traced" in Torque(names["refused"]).why_not_traced
