"""Graphs of arithmetic expressions, in which equal subexpressions exist once and are simplified when created.

A node is an operation on earlier nodes. It belongs to one of three kinds: constants do not change within a step,
because they depend on parameters only, or are signs; linear nodes are constants plus a constant times t; all others are
variables. Constant factors are moved out of products and quotients, so that few products of variables remain: only
these are expensive in series of Taylor.

Some functions have a partner, the last of their arguments, with which their derivative is computed: the cosine of a
sine, 1 + tan^2 of a tangent. It may be a later node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

# Operations on one number, other than those that are replaced by others, and the names of their functions.
FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "atan")
CONSTANT_INPUTS = "pc"  # first letters of the names of inputs that do not change during a step
MOST_TERMS = 16  # of sums in which equal terms are collected
LARGEST_POWER = 2**16  # exponents up to this one are computed by products
WITH_PARTNER = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}


class Kind(IntEnum):
    """How a node depends on time."""

    CONSTANT = 0
    LINEAR = 1
    VARIABLE = 2


class Node(NamedTuple):
    """An operation on nodes.

    The operations are "number" and "input" without arguments, "add", "subtract", "multiply", "square", "divide",
    "power" (a constant exponent), "atan2", "sign" (1 or -1), and those of FUNCTIONS.
    """

    operation: str
    arguments: tuple[int, ...] = ()
    value: Any = None  # the number, the name of the input, or the exponent


class Graph:
    """Graph that grows while expressions are built; nodes are referred to by their index.

    In an exact graph, operations on numbers are kept instead of being computed, so that nothing is rounded.

    Inputs have names: ``t``, attitudes ``Q00`` to ``Q22``, angular velocities ``w0`` to ``w2``, parameters ``p0``,
    ``p1``, ... Names that begin with one of CONSTANT_INPUTS are constants.

    Examples
    --------
    >>> graph = Graph()
    >>> x, y = graph.input("w0"), graph.input("w1")
    >>> product = graph.multiply(graph.multiply(graph.number(2.0), x), graph.multiply(graph.number(3.0), y))
    >>> graph.text(product)
    '6*(w0*w1)'
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.nodes: list[Node] = []
        self.kinds: list[Kind] = []
        self._index: dict[Node, int] = {}

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def number(self, value: float) -> int:
        """Return the node of a number."""
        return self._node(Node("number", (), float(value) + 0.0), Kind.CONSTANT)  # there is no negative zero

    def input(self, name: str) -> int:
        """Return the node of an input."""
        kind = Kind.LINEAR if name == "t" else Kind.CONSTANT if name[0] in CONSTANT_INPUTS else Kind.VARIABLE
        return self._node(Node("input", (), name), kind)

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        if self._is(a, 0.0) or self._is(b, 0.0):
            return b if self._is(a, 0.0) else a
        if (minus := self._negated(b)) is not None:
            return self.subtract(a, minus)
        if (minus := self._negated(a)) is not None:
            return self.subtract(b, minus)
        shorter = self._collected(a, b, 1.0)
        return self._apply("add", *sorted((a, b))) if shorter is None else shorter

    def subtract(self, a: int, b: int) -> int:
        """Return a - b."""
        if a == b:
            return self.number(0.0)
        if self._is(b, 0.0):
            return a
        if self._is(a, 0.0):
            return self.negative(b)
        if (minus := self._negated(b)) is not None:
            return self.add(a, minus)
        if (minus := self._negated(a)) is not None:
            return self.negative(self.add(minus, b))
        shorter = self._collected(a, b, -1.0)
        return self._apply("subtract", a, b) if shorter is None else shorter

    def negative(self, a: int) -> int:
        """Return -a."""
        if self.nodes[a].operation == "subtract":
            x, y = self.nodes[a].arguments
            return self.subtract(y, x)
        return self.multiply(self.number(-1.0), a)

    def multiply(self, a: int, b: int) -> int:
        """Return a b, with constant factors first."""
        if self._is(a, 0.0) or self._is(b, 0.0):
            return self.number(0.0)
        factor_a, a = self._factors(a)
        factor_b, b = self._factors(b)
        if a is None or b is None:
            return self._scaled(self._product(factor_a, factor_b), b if a is None else a)
        product = self._apply("square", a) if a == b else self._apply("multiply", *sorted((a, b)))
        return self._scaled(self._product(factor_a, factor_b), product)

    def divide(self, a: int, b: int) -> int:
        """Return a/b."""
        if self.kinds[b] == Kind.CONSTANT:
            return self.multiply(self._constant("divide", self.number(1.0), b), a)
        factor_a, a = self._factors(a)
        factor_b, b = self._factors(b)
        factor = self._constant("divide", factor_a, factor_b)
        if a == b:
            return factor
        return self._scaled(factor, self._apply("divide", self.number(1.0) if a is None else a, b))

    def power(self, a: int, exponent: float) -> int:
        """Return a to the power of a number."""
        if exponent == int(exponent) and abs(exponent) <= LARGEST_POWER:
            power = self._whole_power(a, int(abs(exponent)))
            return power if exponent >= 0 else self.divide(self.number(1.0), power)
        if abs(exponent) == 0.5:
            root = self.function("sqrt", a)
            return root if exponent > 0 else self.divide(self.number(1.0), root)
        return self._apply("power", a, value=float(exponent))

    def function(self, name: str, a: int) -> int:
        """Return the value of one of FUNCTIONS."""
        if name == "sqrt" and (absolute := self._root_of_square(a)) is not None:
            return absolute
        if name == "asin":
            partner = self.function("sqrt", self.subtract(self.number(1.0), self.multiply(a, a)))
            return self._apply("asin", a, partner)
        if name == "atan":
            return self._apply("atan", a, self.add(self.number(1.0), self.multiply(a, a)))
        if name not in (*WITH_PARTNER, "tan", "tanh") or self.nodes[a].operation == "number":
            return self._apply(name, a)
        if Node(name, (a,)) not in self._index:
            self._add_with_partner(name, a)
        return self._index[Node(name, (a,))]

    def sign(self, a: int) -> int:
        """Return 1 or, if a is negative, -1; it is a constant of a step, which must not pass a zero of a."""
        node = Node("sign", (a,))
        number = self.nodes[a].value if self.nodes[a].operation == "number" and not self.exact else None
        return self._node(node, Kind.CONSTANT) if number is None else self.number(MATH["sign"](number))

    def absolute(self, a: int) -> int:
        """Return |a|."""
        return self.multiply(self.sign(a), a)

    def atan2(self, y: int, x: int) -> int:
        """Return the angle of the vector (x, y)."""
        return self._apply("atan2", y, x, self.add(self.multiply(x, x), self.multiply(y, y)))

    def sum(self, terms: Iterable[int]) -> int:
        """Return the sum of nodes."""
        total = self.number(0.0)
        for term in terms:
            total = self.add(total, term)
        return total

    def dot(self, a: Sequence[int], b: Sequence[int]) -> int:
        """Return the sum of the products of two sequences of nodes."""
        return self.sum(self.multiply(x, y) for x, y in zip(a, b, strict=True))

    def text(self, node: int) -> str:
        """Return an expression as text, for messages."""
        operation, arguments, value = self.nodes[node]
        if operation == "number":
            return f"{value:g}"
        if operation == "input":
            return str(value)
        sign = {"add": " + ", "subtract": " - ", "multiply": "*", "divide": "/"}.get(operation)
        if sign:
            return sign.join(self._bracketed(argument) for argument in arguments)
        if operation in ("square", "power"):
            return f"{self._bracketed(arguments[0])}^{value or 2:g}"
        return f"{operation}({', '.join(map(self.text, self.own_arguments(node)))})"

    def _bracketed(self, node: int) -> str:
        """Return an expression as text, in brackets if it consists of several terms or factors."""
        is_simple = self.nodes[node].operation not in ("add", "subtract", "multiply", "divide")
        return self.text(node) if is_simple else f"({self.text(node)})"

    def own_arguments(self, node: int) -> tuple[int, ...]:
        """Return the arguments of a node without the partner of a function."""
        operation, arguments, _ = self.nodes[node]
        return arguments[: 2 if operation in ("add", "subtract", "multiply", "divide", "atan2") else 1]

    def used(self, outputs: Iterable[int]) -> list[int]:
        """Return the nodes on which some nodes depend, these included, in their order."""
        return _reached(outputs, lambda node: self.nodes[node].arguments)

    def needed(self, outputs: Iterable[int]) -> list[int]:
        """Return the nodes from which some nodes are computed, these included, in their order; partners are not."""
        return _reached(outputs, self.own_arguments)

    def inputs(self, outputs: Iterable[int]) -> list[str]:
        """Return the names of the inputs on which some nodes depend, in the order of their nodes.

        The order decides which products are fused with sums: it has to be the same in every process.
        """
        return [self.nodes[node].value for node in self.used(outputs) if self.nodes[node].operation == "input"]

    def copied(self, outputs: Sequence[int], target: Graph, inputs: Mapping[str, int]) -> list[int]:
        """Return the nodes of another graph for expressions of this one, with inputs replaced by nodes there."""
        copies: dict[int, int] = {}
        for node in self.used(outputs):
            operation, _, value = self.nodes[node]
            if operation == "input" and value in inputs:
                copies[node] = inputs[value]
            else:
                own = [copies[argument] for argument in self.own_arguments(node)]
                copies[node] = target.again(operation, own, value)
        return [copies[node] for node in outputs]

    def again(self, operation: str, arguments: Sequence[int], value: Any) -> int:
        """Return the node of an operation, by its name."""
        if operation == "number":
            return self.number(value)
        if operation == "input":
            return self.input(value)
        if operation == "square":
            return self.multiply(arguments[0], arguments[0])
        if operation == "power":
            return self.power(arguments[0], value)
        if operation in FUNCTIONS:
            return self.function(operation, arguments[0])
        method: Callable[..., int] = getattr(self, operation)
        return method(*arguments)

    def _collected(self, a: int, b: int, sign: float) -> int | None:
        """Return a + sign b with equal terms collected; None if there are none, or many, or if they may be rounded."""
        if self.exact:
            return None
        first, second = self._terms(a), self._terms(b)
        if first is None or second is None or len(first) + len(second) > MOST_TERMS:
            return None
        if not first.keys() & second.keys():
            return None
        terms = {x: first.get(x, 0.0) + sign * second.get(x, 0.0) for x in {**first, **second}}
        return self.sum(self.multiply(self.number(factor), x) for x, factor in terms.items() if factor)

    def _terms(self, a: int) -> dict[int, float] | None:
        """Return the terms of a sum of terms with numbers as factors, and these; None if there are many."""
        terms: dict[int, float] = {}
        waiting = [(a, 1.0)]
        while waiting:
            if len(terms) + len(waiting) > MOST_TERMS:
                return None
            x, factor = waiting.pop()
            operation, arguments, _ = self.nodes[x]
            if operation == "multiply" and self.nodes[arguments[0]].operation == "number":
                waiting.append((arguments[1], factor * self.nodes[arguments[0]].value))
            elif operation in ("add", "subtract"):
                waiting.append((arguments[1], factor if operation == "add" else -factor))
                waiting.append((arguments[0], factor))
            else:
                terms[x] = terms.get(x, 0.0) + factor
        return terms

    def _node(self, node: Node, kind: Kind) -> int:
        """Return the index of a node, which is created if it does not exist."""
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
            self.kinds.append(kind)
        return self._index[node]

    def _apply(self, operation: str, *arguments: int, value: Any = None) -> int:
        """Return the node of an operation, which is computed at once if all arguments are numbers, unless exact."""
        node = Node(operation, arguments, value)
        if not self.exact and all(self.nodes[argument].operation == "number" for argument in arguments):
            return self.number(computed(node, [self.nodes[argument].value for argument in arguments], MATH))
        kind = max(self.kinds[argument] for argument in arguments)
        is_linear = operation in ("add", "subtract") or (operation == "multiply" and self.kinds[arguments[0]] == 0)
        return self._node(node, kind if is_linear or kind == Kind.CONSTANT else Kind.VARIABLE)

    def _constant(self, operation: str, a: int, b: int) -> int:
        """Return a product or quotient of constants, without factors of 1."""
        if self._is(b, 1.0):
            return a
        if operation == "multiply" and self._is(a, 1.0):
            return b
        return self._apply(operation, *(sorted((a, b)) if operation == "multiply" else (a, b)))

    def _product(self, a: int, b: int) -> int:
        """Return the product of two constants."""
        return self._constant("multiply", a, b)

    def _scaled(self, factor: int, a: int | None) -> int:
        """Return a constant times a node that is not constant; the constant if there is none."""
        if a is None or self._is(factor, 0.0):
            return factor
        return a if self._is(factor, 1.0) else self._apply("multiply", factor, a)

    def _factors(self, a: int) -> tuple[int, int | None]:
        """Return the constant factor of a node, and the other one, which is None if the node is constant."""
        if self.kinds[a] == Kind.CONSTANT:
            return a, None
        operation, arguments, _ = self.nodes[a]
        if operation == "multiply" and self.kinds[arguments[0]] == Kind.CONSTANT:
            return arguments
        return self.number(1.0), a

    def _negated(self, a: int) -> int | None:
        """Return b if a is -b, with a number as factor; otherwise None."""
        operation, arguments, value = self.nodes[a]
        if operation == "number":
            return self.number(-value) if value < 0.0 else None
        if operation == "multiply" and self.nodes[arguments[0]].operation == "number":
            factor = self.nodes[arguments[0]].value
            return self.multiply(self.number(-factor), arguments[1]) if factor < 0.0 else None
        return None

    def _root_of_square(self, a: int) -> int | None:
        """Return the square root of a if it is a constant times the square of a variable, otherwise None."""
        factor, square = self._factors(a)
        if square is None or self.nodes[square].operation != "square":
            return None
        return self.multiply(self.function("sqrt", factor), self.absolute(self.nodes[square].arguments[0]))

    def _whole_power(self, a: int, exponent: int) -> int:
        """Return a to the power of a whole number that is not negative, by squares and products."""
        if exponent == 0:
            return self.number(1.0)
        half = self._whole_power(a, exponent // 2)
        square = self.multiply(half, half)
        return self.multiply(square, a) if exponent % 2 else square

    def _add_with_partner(self, name: str, a: int) -> None:
        """Add the node of a function, and those with which its derivative is computed."""
        kind = Kind.CONSTANT if self.kinds[a] == Kind.CONSTANT else Kind.VARIABLE
        one = self.number(1.0)
        first = len(self.nodes)
        other = WITH_PARTNER.get(name)
        names = (name, other) if other else (name,)
        for place, function in enumerate(names):
            self._index[Node(function, (a,))] = first + place
            self.nodes.append(Node(function, (a, first + 1 - place if other else first + 2)))
            self.kinds.append(kind)
        if not other:
            square = self.multiply(first, first)
            self.add(one, square) if name == "tan" else self.subtract(one, square)

    def _is(self, node: int, value: float) -> bool:
        """Return whether a node is this number."""
        return self.nodes[node].operation == "number" and self.nodes[node].value == value


def _reached(nodes: Iterable[int], arguments: Callable[[int], Iterable[int]]) -> list[int]:
    """Return nodes, their arguments, the arguments of these, and so on, in the order of a graph."""
    waiting = list(nodes)
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(arguments(node))
    return sorted(found)


def computed(node: Node, arguments: Sequence[Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the value of a node from those of its arguments; `functions` compute square roots and so on."""
    operation = node.operation
    x = arguments[0]
    if operation == "add":
        return x + arguments[1]
    if operation == "subtract":
        return x - arguments[1]
    if operation == "multiply":
        return x * arguments[1]
    if operation == "square":
        return x * x
    if operation == "divide":
        return functions["divide"](x, arguments[1])
    if operation == "power":
        return functions["power"](x, node.value)
    if operation == "atan2":
        return functions["atan2"](x, arguments[1])
    return functions[operation](x)


def evaluate(
    graph: Graph,
    outputs: Sequence[int],
    inputs: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> list[Any]:
    """Return the values of some nodes, from those of the inputs, in the arithmetic of their type.

    Examples
    --------
    >>> graph = Graph()
    >>> evaluate(graph, [graph.function("sin", graph.input("t"))], {"t": 0.5})
    [0.479425538604203]
    """
    functions = MATH if functions is None else functions
    values: dict[int, Any] = {}
    used = graph.used(outputs)
    for i in used:
        node = graph.nodes[i]
        if node.operation == "number":
            values[i] = node.value
        elif node.operation == "input":
            values[i] = inputs[node.value]
        else:
            values[i] = computed(node, [values[argument] for argument in graph.own_arguments(i)], functions)
    return [values[i] for i in outputs]


def _or_nan(function: Callable[..., float]) -> Callable[..., float]:
    """Return a function that returns NaN or infinity where that of Python raises, as compiled code does."""

    def guarded(*arguments: float) -> float:
        try:
            return function(*arguments)
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return guarded


MATH: dict[str, Callable[..., Any]] = {
    **{name: _or_nan(getattr(math, name)) for name in (*FUNCTIONS, "atan2")},
    "power": _or_nan(math.pow),
    "divide": _or_nan(lambda x, y: x / y),
    "sign": lambda x: -1.0 if x < 0.0 else 1.0,
}
