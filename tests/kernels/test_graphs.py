"""Graphs of expressions: simplification never changes values; partners; copies; text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode.kernels.graphs.graph import FUNCTIONS, MATH, Graph, Kind, evaluate

NAMES = ("t", "w0", "Q01", "p0", "p1")
VALUES = dict(zip(NAMES, (0.75, -1.25, 0.4375, 2.5, -0.625), strict=True))
DIGITS = 40
IN_DIGITS = {name: getattr(mp, name) for name in (*FUNCTIONS, "atan2")}
IN_DIGITS |= {"power": lambda x, r: x ** mpf(r), "divide": lambda x, y: x / y}
IN_DIGITS["sign"] = lambda x: mpf(-1 if x < 0 else 1)

# An expression is a name, a number, or an operation with its arguments; exponents are numbers.
leaves = st.one_of(st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.375]))
EXPONENTS = (0, 1, 2, 3, 5, -1, -2, 0.5, -0.5, 1.75)


def larger(inner):
    two = st.tuples(st.sampled_from(["add", "subtract", "multiply", "divide", "atan2"]), inner, inner)
    one = st.tuples(st.sampled_from([*FUNCTIONS, "negative"]), inner)
    return st.one_of(two, two, one, st.tuples(st.just("power"), inner, st.sampled_from(EXPONENTS)))


expressions = st.recursive(leaves, larger, max_leaves=12)


def as_node(graph, expression):
    """The node of an expression, as the graph simplifies it."""
    if isinstance(expression, str):
        return graph.input(expression)
    if isinstance(expression, float):
        return graph.number(expression)
    operation, *arguments = expression
    if operation == "power":
        return graph.power(as_node(graph, arguments[0]), arguments[1])
    nodes = [as_node(graph, argument) for argument in arguments]
    return graph.function(operation, *nodes) if operation in FUNCTIONS else getattr(graph, operation)(*nodes)


def in_digits(expression):
    """The value of an expression in 40 digits, without the graph; raise ValueError where it is not defined well."""
    if isinstance(expression, str):
        return mpf(VALUES[expression])
    if isinstance(expression, float):
        return mpf(expression)
    operation, *arguments = expression
    x = in_digits(arguments[0])
    if operation == "power":
        return checked(x ** mpf(arguments[1])) if x or arguments[1] >= 0 else checked(mp.nan)
    if operation == "negative":
        return -x
    if operation in FUNCTIONS:
        return checked(getattr(mp, operation)(x)) if x or operation != "log" else checked(mp.nan)
    y = in_digits(arguments[1])
    if operation == "divide":
        return checked(x / y if y else mp.nan)
    operations = {"add": lambda: x + y, "subtract": lambda: x - y, "multiply": lambda: x * y}
    return checked(operations.get(operation, lambda: mp.atan2(x, y))())


def checked(x):
    """Refuse complex and huge numbers, and those that are rounded to zero or next to it."""
    if isinstance(x, mp.mpc) or not 1e-12 < abs(x) < 1e12:
        if x == 0:
            return x
        raise ValueError
    return x


@given(expressions)
def test_simplification_never_changes_values(expression):
    """In 40 digits, so that only constants that the graph computes at once are rounded."""
    with mp.workdps(DIGITS):
        try:
            wanted = in_digits(expression)
        except ValueError:
            assume(False)
        graph = Graph()
        node = as_node(graph, expression)
        try:
            found = evaluate(graph, [node], {name: mpf(x) for name, x in VALUES.items()}, IN_DIGITS)[0]
        except ZeroDivisionError:  # a difference that is zero, but for rounded constants
            assume(False)
        assume(not isinstance(found, mp.mpc))
        assert abs(found - wanted) <= 1e-9 * max(1, abs(wanted))


@given(expressions)
def test_a_copy_has_the_same_values(expression):
    graph, copy = Graph(), Graph()
    node = as_node(graph, expression)
    copied = graph.copied([node], copy, {})[0]
    found, wanted = (evaluate(g, [n], VALUES)[0] for g, n in ((copy, copied), (graph, node)))
    assert found == pytest.approx(wanted, rel=1e-12, nan_ok=True)


@given(expressions)
def test_arguments_come_before_their_nodes_and_kinds_tell_what_depends_on_what(expression):
    graph = Graph()
    node = as_node(graph, expression)
    for index in graph.used([node]):
        assert all(argument < index for argument in graph.own_arguments(index))
        inputs = {*graph.inputs([index])}
        if any(graph.nodes[part].operation == "sign" for part in graph.used([index])):
            continue  # which is a constant of a step, whatever its argument depends on
        if graph.kinds[index] == Kind.CONSTANT:
            assert inputs <= {"p0", "p1"}
        if graph.kinds[index] == Kind.LINEAR:
            assert inputs <= {"p0", "p1", "t"}


def test_equal_expressions_exist_once():
    graph = Graph()
    x, y = graph.input("w0"), graph.input("w1")
    assert graph.add(x, y) == graph.add(y, x)
    assert graph.multiply(graph.number(2.0), graph.multiply(x, y)) == graph.multiply(
        graph.multiply(y, graph.number(2.0)), x
    )
    assert graph.subtract(graph.add(x, y), graph.add(y, x)) == graph.number(0.0)
    assert graph.divide(graph.multiply(graph.input("p0"), x), x) == graph.input("p0")
    assert graph.power(x, 2) == graph.multiply(x, x)


@pytest.mark.parametrize(("name", "slope"), [
    ("sin", math.cos), ("cos", math.sin), ("sinh", math.cosh), ("cosh", math.sinh),
    ("tan", lambda x: 1 / math.cos(x) ** 2), ("tanh", lambda x: 1 / math.cosh(x) ** 2),
    ("asin", lambda x: math.sqrt(1 - x * x)), ("atan", lambda x: 1 + x * x),
])  # fmt: skip
@pytest.mark.parametrize("argument", ["w0", "p0"])
def test_partners_are_those_of_the_derivative(name, slope, argument):
    graph = Graph()
    node = graph.function(name, graph.input(argument))
    assert graph.function(name, graph.input(argument)) == node
    partner = graph.nodes[node].arguments[-1]
    assert evaluate(graph, [node, partner], {argument: 0.3}) == pytest.approx([getattr(math, name)(0.3), slope(0.3)])
    assert partner in graph.used([node])


def test_a_copy_replaces_inputs():
    graph, other = Graph(), Graph()
    w = graph.input("w0")
    f = graph.multiply(graph.function("sin", w), graph.add(w, graph.input("t")))
    doubled = other.multiply(other.number(2.0), other.input("m0"))
    (copied,) = graph.copied([f], other, {"w0": doubled})
    assert {*other.inputs([copied])} == {"m0", "t"}
    assert evaluate(other, [copied], {"m0": 0.3, "t": 1.0})[0] == pytest.approx(math.sin(0.6) * 1.6, rel=1e-15)


def test_values_that_python_refuses_are_those_of_compiled_code():
    found = [MATH["sqrt"](-1.0), MATH["log"](0.0), MATH["divide"](1.0, 0.0), MATH["exp"](1000.0)]
    np.testing.assert_array_equal(np.isfinite(found), False)


def test_sums_of_very_many_terms():
    """Only short sums are searched for equal terms."""
    graph = Graph()
    x = graph.input("w0")
    total = graph.sum(graph.function("sin", graph.multiply(graph.number(float(k)), x)) for k in range(1, 3001))
    wanted = math.fsum(math.sin(0.3 * k) for k in range(1, 3001))
    assert evaluate(graph, [total], {"w0": 0.3}) == pytest.approx([wanted], abs=1e-11)
