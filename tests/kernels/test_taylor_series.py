"""Taylor series of graphs: every recurrence against mpmath, in plain Python and as generated code."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode.core.rotation import matrix
from polhode.kernels.compiler import JIT
from polhode.kernels.graphs.compiled import compiled_steps
from polhode.kernels.graphs.equations import Equations, equations, in_unit, place
from polhode.kernels.graphs.graph import FUNCTIONS, Graph
from polhode.kernels.graphs.places import (
    ATTITUDE,
    GYRO,
    INERTIA,
    KICK,
    LENGTH,
    LOW_GYRO,
    LOW_KICK,
    MOMENTUM,
    NEW_ATTITUDE,
    NEW_MOMENTUM,
    NEW_T,
    PARAMS,
    UNIT,
    T,
)
from polhode.kernels.graphs.recurrences import series
from test_graphs import as_node

ORDER = 25
DIGITS = 40
ROW = 8  # numbers of a row of coefficients
RTOL = 1e-13
UNIT_OF_TIME = 0.5
START = 0.375  # t at the beginning
X, DX, Y = 0.625, 0.25, 0.75  # x = X + DX T + (DX/4) T^2, y = Y - 1/4 + e^T/4
P = 1.25, 0.4375
IN_DIGITS = {name: getattr(mp, name) for name in (*FUNCTIONS, "atan2")}
IN_DIGITS |= {"power": lambda x, r: x ** mpf(r), "divide": lambda x, y: x / y, "sign": lambda x: -1 if x < 0 else 1}


def inputs_of(**given):
    """Block of a motion without gyroscopic terms in which u1 is x and u2 is y."""
    values = np.zeros(PARAMS + 2)
    kicks = {"ckick0": 1.0, "ckick1": 1.0, "ckick2": 1.0}
    named = {"t": START, "q0": 1.0, "u1": X, "u2": Y, "p0": P[0], "p1": P[1], **kicks, **given}
    values[INERTIA : INERTIA + 4] = 1.0
    for name, value in named.items():
        if name[0] == "u":
            values[MOMENTUM + int(name[1])] = 2.0 * value / UNIT_OF_TIME
        else:
            values[place(name)] = value
    values[UNIT] = values[LENGTH] = UNIT_OF_TIME
    values[NEW_T] = values[T]
    values[NEW_ATTITUDE : NEW_ATTITUDE + 4] = values[ATTITUDE : ATTITUDE + 4]
    values[NEW_MOMENTUM : NEW_MOMENTUM + 3] = values[MOMENTUM : MOMENTUM + 3]
    return values


def with_result(graph, f):
    """Equations in which u0 is the integral of a node f, u1 is x and u2 is y."""
    t = graph.input("t")
    slope = graph.add(graph.number(DX * (1 - START)), graph.multiply(graph.number(DX), t))  # DX + DX T/2
    return Equations(graph, (f, slope, graph.subtract(graph.input("u2"), graph.number(Y - 0.25))))


def interpreted(system, values, order=ORDER, number=float, functions=None):
    """Rows of coefficients of q and u, by plain Python."""
    names = {name for name in system.graph.inputs(system.g) if name[0] != "u"} | {f"q{i}" for i in range(4)}
    names |= {f"c{kind}{i}" for kind in ("gyro", "kick") for i in range(3)}
    unit = number(UNIT_OF_TIME)
    inputs = {name: in_unit(name, number(float(values[place(name)])), unit, 1 / unit) for name in names}
    inputs |= {f"u{i}": number(float(values[MOMENTUM + i])) * number(UNIT_OF_TIME / 2) for i in range(3)}
    found = series(system, inputs, number(float(values[UNIT])), order, functions)
    return [[*q, *u] for q, u in zip(found.q, found.u, strict=True)]


def generated(system, values, order=ORDER, lane=None, in_pairs=True):
    """Rows of coefficients of q and u, by generated code: of one body, or of one of the lanes, with NaN in others."""
    steps = compiled_steps(system, lane is not None, in_pairs)
    W, lane = steps.lanes, lane if steps.lanes > 1 else 0
    block, rows, work = aligned(W * len(values)), aligned(W * ROW * (order + 2)), aligned(steps.work(order))
    block.reshape(-1, W)[:, lane] = values
    if not JIT:
        steps.address(block, rows, work, order, 1)
    else:
        call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 5)(steps.address)
        call(None, None, block.ctypes.data, rows.ctypes.data, work.ctypes.data, order, 1)
    return rows.reshape(-1, ROW, W)[: order + 1, :7, lane]


def aligned(count):
    """An array that begins at a multiple of 32 bytes, with numbers that must not be used."""
    array = np.full(count + 4, np.nan)
    first = -(array.ctypes.data // 8) % 4
    return array[first : first + count]


# Nodes of functions of t, x and y, and the same functions of T in high precision.
def later(T):
    return START + UNIT_OF_TIME * T


def x_of(T):
    return X + DX * T + DX / 4 * T * T


def y_of(T):
    return Y - 0.25 + mp.exp(T) / 4


ONE = {"t": later, "x": x_of, "y": y_of}
CASES = {
    f"{name}({argument})": (
        lambda graph, node, name=name: graph.function(name, node),
        lambda T, value, name=name: getattr(mp, name)(value(T)),
        argument,
    )
    for name in FUNCTIONS
    for argument in ONE
}
CASES |= {
    f"{argument}^{exponent}": (
        lambda graph, node, exponent=exponent: graph.power(node, exponent),
        lambda T, value, exponent=exponent: value(T) ** mpf(exponent),
        argument,
    )
    for exponent in (2, 3, 16, 17, -1, -2, 0.5, -0.5, 0.75, -2.5)
    for argument in ONE
}
CASES |= {
    f"|{argument} - {shift}|": (
        lambda graph, node, shift=shift: graph.absolute(graph.subtract(node, graph.number(shift))),
        lambda T, value, shift=shift: (value(T) - shift) * (1 if value(0) > shift else -1),
        argument,
    )
    for shift in (0.125, 1.0)
    for argument in ONE
}
TWO = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "atan2": lambda a, b: mp.atan2(a, b),
}


def nodes_of(graph):
    return {"t": graph.input("t"), "x": graph.input("u1"), "y": graph.input("u2"), "p": graph.input("p0")}


def check(system, truth):
    """All coefficients of u0' in four ways: to 1e-13 in floats, to 1e-30 in 40 digits."""
    values = inputs_of()
    with mp.workdps(DIGITS + 40):
        wanted = mp.taylor(truth, 0, ORDER)
    with mp.workdps(DIGITS):
        compare(interpreted(system, values), wanted, RTOL)
        compare(generated(system, values), wanted, RTOL)
        compare(generated(system, values, lane=2), wanted, RTOL)
        compare(interpreted(system, values, ORDER, mpf, IN_DIGITS), wanted, 1e-30)


def compare(rows, wanted, rtol):
    """Errors are relative to a coefficient or, if it happens to be small, to the geometric mean of its neighbors."""
    for k in range(ORDER):
        found = (k + 1) * mpf(rows[k + 1][4])
        around = mp.sqrt(abs(wanted[k - 1] * wanted[k + 1])) if k else 0
        assert abs(found - wanted[k]) <= rtol * max(abs(wanted[k]), around), (k, found, wanted[k])


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    node, truth, argument = CASES[name]
    graph = Graph()
    f = node(graph, nodes_of(graph)[argument])
    check(with_result(graph, f), lambda T: truth(T, ONE[argument]))


@pytest.mark.parametrize("operation", TWO)
@pytest.mark.parametrize("arguments", ["tx", "xt", "xy", "yx", "xx", "tp", "pt", "xp", "px", "tt"])
def test_operations_on_two_numbers(operation, arguments):
    graph = Graph()
    nodes = nodes_of(graph)
    values = {**ONE, "p": lambda T: mpf(P[0])}
    a, b = arguments
    f = getattr(graph, operation)(nodes[a], nodes[b])
    check(with_result(graph, f), lambda T: TWO[operation](values[a](T), values[b](T)))


def test_constants_are_computed_once():
    """Functions of parameters and numbers, partners included, are constants of a step."""
    graph = Graph()
    p, x = graph.input("p1"), graph.input("u1")
    f = graph.multiply(graph.function("tan", p), graph.multiply(x, x))
    f = graph.add(f, graph.multiply(graph.atan2(p, graph.number(2.0)), graph.function("sin", x)))
    f = graph.divide(f, graph.function("asin", p))
    p1 = mpf(P[1])
    check(
        with_result(graph, f),
        lambda T: (mp.tan(p1) * x_of(T) ** 2 + mp.atan2(p1, 2) * mp.sin(x_of(T))) / mp.asin(p1),
    )


@pytest.mark.parametrize("order", [2, 3, 4, 7])
def test_lower_orders_are_the_beginning_of_higher_ones(order):
    """Orders are computed in pairs; a series may end within a pair."""
    graph = Graph()
    x, y, t = graph.input("u1"), graph.input("u2"), graph.input("t")
    f = graph.multiply(graph.function("sin", graph.multiply(x, t)), graph.function("sqrt", y))
    system = with_result(graph, f)
    for lane in (None, 0):
        found, more = (generated(system, inputs_of(), highest, lane) for highest in (order, 8))
        np.testing.assert_array_equal(found, more[: order + 1])


# The equations of a body, in its own axes.

TURN = matrix(np.array([0.6, -0.4, 0.2, np.sqrt(0.44)]))
MOMENTS = 1.0, 1.75, 1.5
DAMPING = {
    "none": np.zeros((3, 3)),
    "diagonal": np.diag([0.25, 0.5, 0.125]),
    "full": np.array([[0.5, 0.25, 0.0], [0.25, 0.75, 0.125], [0.0, 0.125, 0.25]]),
}
START_W, START_Q = (0.5, -1.25, 0.75), (0.5, 0.5, -0.5, 0.5)


def torque_graph():
    """Torque (p0 sin(t) Q21, w0 w1, -Q20 w2) in axes of the user."""
    graph = Graph()
    Q20, Q21, *w = (graph.input(name) for name in ("Q20", "Q21", "w0", "w1", "w2"))
    x = graph.multiply(graph.multiply(graph.input("p0"), graph.function("sin", graph.input("t"))), Q21)
    return graph, (x, graph.multiply(w[0], w[1]), graph.negative(graph.multiply(Q20, w[2])))


def motion(T, turned, drag):
    """(q, u) after T units of time, from the equations m' = m x w + A^T f - D w, q' = q w/2 in principal axes."""
    A = mp.matrix(TURN.tolist()) if turned else mp.eye(3)
    D = mp.matrix(DAMPING[drag].tolist())
    I = [mpf(x) for x in MOMENTS]

    def slope(t, y):
        a, b, c, d = y[:4]
        w = y[4:]
        Q = mp.matrix([
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ]) * A.T  # fmt: skip
        v = A * mp.matrix(w)
        f = A.T * mp.matrix([mpf(P[0]) * mp.sin(t) * Q[2, 1], v[0] * v[1], -Q[2, 0] * v[2]]) - D * mp.matrix(w)
        turn = [(I[1] - I[2]) * w[1] * w[2], (I[2] - I[0]) * w[2] * w[0], (I[0] - I[1]) * w[0] * w[1]]
        return [
            -(b * w[0] + c * w[1] + d * w[2]) / 2, (a * w[0] + c * w[2] - d * w[1]) / 2,
            (a * w[1] + d * w[0] - b * w[2]) / 2, (a * w[2] + b * w[1] - c * w[0]) / 2,
            *((turn[i] + f[i]) / I[i] for i in range(3)),
        ]  # fmt: skip

    start = [mpf(x) for x in (*START_Q, *START_W)]
    y = mp.odefun(slope, mpf(START), start, tol=mpf(10) ** -25)(START + UNIT_OF_TIME * T)
    return [*y[:4], *(UNIT_OF_TIME * x / 2 for x in y[4:])]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("drag", DAMPING)
def test_equations_of_a_body(turned, drag):
    """The sum of the series after a short time; turned axes and damping are inputs of a step."""
    graph, components = torque_graph()
    system = equations(graph, components, turned, drag)
    I, s = np.array(MOMENTS), UNIT_OF_TIME
    given = {f"q{i}": START_Q[i] for i in range(4)} | {"crate": 2.0, "cscale": 0.5}
    for i in range(3):
        given |= {f"u{i}": s * START_W[i] / 2, f"ckick{i}": 1 / I[i]}
        given[f"cgyro{i}"] = 2 * (I[(i + 1) % 3] - I[(i + 2) % 3])
        for j in range(3):
            given |= {f"caxis{i}{j}": TURN[i, j], f"cdrag{i}{j}": DAMPING[drag][i, j]}
    values = inputs_of(**given)
    T = 0.125
    with mp.workdps(30):
        wanted = motion(T, turned, drag)
    for rows in (
        interpreted(system, values),
        generated(system, values),
        generated(system, values, lane=1),
        generated(system, values, in_pairs=False),
        generated(system, values, lane=3, in_pairs=False),
    ):
        found = np.polynomial.polynomial.polyval(T, np.array(rows))
        np.testing.assert_allclose(found, np.array(wanted, dtype=float), rtol=0, atol=1e-15)


# Sums of products, which generated code for one body adds as vectors.

STATE = {"q0": 0.6, "q1": -0.3, "q2": 0.8, "q3": 0.2, "u0": 0.375, "cgyro0": -0.5, "cgyro1": 0.75, "cgyro2": -0.25}
STATE |= {"ckick0": 1.0, "ckick1": 0.75, "ckick2": 1.5}


@pytest.mark.parametrize("count", [0, 1, 2, 5, 16, 17, 40])
@pytest.mark.parametrize("seed", range(4))
def test_sums_of_products(count, seed):
    """Terms in any order, with constants and signs; a component with none, one of many, and one with roots."""
    rng = np.random.default_rng([count, seed])
    graph = Graph()
    names = ["q0", "q1", "q2", "q3", "u0", "u1", "u2", "t"]

    def term():
        product = graph.multiply(*(graph.input(name) for name in rng.choice(names, 2)))
        constant = graph.input(f"p{rng.integers(2)}")
        return graph.multiply(graph.multiply(constant, graph.number(rng.uniform(-1, 1))), product)

    def total(number):
        signs = rng.choice([graph.add, graph.subtract], number)
        result = graph.number(0.5)
        for sign in signs:
            result = sign(result, term())
        return result

    y = graph.input("u2")
    root = graph.multiply(graph.function("sqrt", graph.multiply(y, y)), graph.input("q1"))  # |y|
    root = graph.add(root, graph.function("sqrt", graph.add(graph.number(1.0), graph.multiply(y, y))))
    system = Equations(graph, tuple(rng.permutation([total(count), total(3), graph.add(total(1), root)]).tolist()))
    values = inputs_of(**STATE)
    with mp.workdps(DIGITS):
        exact = np.array(interpreted(system, values, 9, mpf, IN_DIGITS), dtype=float)
    size = abs(exact).max(axis=1, keepdims=True)
    for lane in (None, 2):
        assert (abs(generated(system, values, 9, lane) - exact) / size).max() < 2e-14


@pytest.mark.skipif(not JIT, reason="plain Python has no low parts")
@pytest.mark.parametrize("lane", [None, 1])
def test_low_parts_of_constants(lane):
    """Each is added to its own constant; numbers that are far larger than rounding errors show that."""
    graph = Graph()
    u, q = graph.input("u1"), graph.input("q2")
    system = Equations(graph, (graph.multiply(u, q), graph.multiply(q, q), graph.multiply(u, u)))
    values = inputs_of(**STATE)
    exact = values.copy()
    for high, low, numbers in ((GYRO, LOW_GYRO, (1, -2, 4)), (KICK, LOW_KICK, (3, 5, -7))):
        values[low : low + 3] = np.array(numbers) / 2**20
        exact[high : high + 3] += values[low : low + 3]
    with mp.workdps(DIGITS):
        wanted = np.array(interpreted(system, exact, 9, mpf, IN_DIGITS), dtype=float)
    size = abs(wanted).max(axis=1, keepdims=True)
    assert (abs(generated(system, values, 9, lane) - wanted) / size).max() < 1e-14
    assert (abs(generated(system, values, 9, lane, in_pairs=False) - wanted) / size).max() > 1e-7


# Random graphs: generated code against plain Python.

NAMES = ("t", "q0", "q2", "u0", "u1", "u2", "p0", "p1")
leaves = st.one_of(st.sampled_from(NAMES), st.sampled_from([1.0, -1.0, 2.0, 0.5, -3.0, 0.375]))


def larger(inner):
    two = st.tuples(st.sampled_from(["add", "subtract", "multiply", "divide", "atan2"]), inner, inner)
    one = st.tuples(st.sampled_from([*FUNCTIONS, "negative"]), inner)
    return st.one_of(two, two, one, st.tuples(st.just("power"), inner, st.sampled_from([2, 3, 5, -2, 0.5, 1.75])))


expressions = st.recursive(leaves, larger, max_leaves=8)


@settings(max_examples=settings.default.max_examples // 3)
@given(st.tuples(expressions, expressions, expressions))
def test_generated_code_agrees_with_plain_python(three):
    """Up to errors 100 times as large as those of plain Python, which are found with 40 digits."""
    graph = Graph()
    g = tuple(as_node(graph, expression) for expression in three)
    system = Equations(graph, g)
    values, order = inputs_of(**STATE), 9
    plain = np.array(interpreted(system, values, order))
    assume(np.isfinite(plain).all() and abs(plain).max() < 1e12)
    size = np.maximum(abs(plain).max(axis=1, keepdims=True), 1.0)
    with mp.workdps(DIGITS):
        try:
            exact = np.array(interpreted(system, values, order, mpf, IN_DIGITS))
            lost = float((abs(plain - exact) / size).max())
        except (TypeError, ZeroDivisionError):  # complex numbers; differences that vanish but for rounding
            assume(False)
    for lane in (None, 3):
        found = generated(system, values, order, lane)
        assert (abs(found - plain) / size).max() <= max(1e-13, 100 * lost)
