"""Arguments of functions that are watched during a step: a function may do anything where its argument changes much.

The coefficients of tanh(300 x), for example, say nothing about a zero of x that the step passes. Let u be such an
argument, with coefficients u_k, and D = sum over k > 0 of |u_k| h^k a bound on its change within a step h. A step is
doubtful if D exceeds a limit, once or twice the distance from u_0 to the next singularity of the function:

    e^u                6
    tanh u, sinh u     sqrt(u_0^2 + (pi/2)^2)
    atan u             sqrt(u_0^2 + 1)
    1/u, sqrt u, log u 2 |u_0|; u^r for |r| > 1: 2 |u_0|/|r|
    tan u              pi/4
    |u|, atan2(u, x)   |u_0|
    products u^n       2 |u_0|/n, from n = 8 on

Sine and cosine are never flat, and asin u has the partner sqrt(1 - u^2). Doubtful steps are then looked at in their
interior, so limits need not be sharp. Where the function is the same on both sides of its feature, like 1/u^2, D is
several times the distance as soon as u has passed the feature; tanh differs there, and u need not pass it by much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any, NamedTuple

from polhode.kernels.graphs.graph import Graph, Kind

SMALLEST_POWER = 8  # products of fewer equal factors are not watched
WIDE = 4.0  # square of a limit, in units of the square of the argument
FIXED = {"exp": 36.0, "tan": (pi / 4.0) ** 2}  # squares of limits
FROM_AXIS = {"tanh": pi**2 / 4.0, "sinh": pi**2 / 4.0, "cosh": pi**2 / 4.0, "atan": 1.0}  # of u_0 = 0


class Watch(NamedTuple):
    """A watched argument u; the square of its limit is ``factor`` u_0^2 + ``constant``."""

    argument: int
    factor: float
    constant: float
    bends: bool = False  # whether the function bends or jumps where u is 0

    def limit(self, value: Callable[[int], Any]) -> Any:
        """Return the square of the limit, from the values of nodes at the beginning of a step."""
        if self.factor == 0.0:
            return self.constant
        u = value(self.argument)
        return self.factor * (u * u) + self.constant


def watches(graph: Graph, outputs: Sequence[int]) -> list[Watch]:
    """Return the arguments that are watched, of all functions on which some nodes depend; first those that bend.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.input("w0")
    >>> watches(graph, [graph.function("sqrt", x), graph.function("sin", x)])
    [Watch(argument=0, factor=4.0, constant=0.0, bends=False)]
    """
    found = dict.fromkeys((*_of_functions(graph, outputs), *_of_products(graph, outputs)))
    varying = [watch for watch in found if graph.kinds[watch.argument] != Kind.CONSTANT]
    return sorted(varying, key=lambda watch: not watch.bends)


def _of_functions(graph: Graph, outputs: Sequence[int]) -> list[Watch]:
    """Return the arguments of functions and divisors."""
    found = []
    for i in graph.used(outputs):
        operation, arguments, value = graph.nodes[i]
        if operation in FIXED:
            found.append(Watch(arguments[0], 0.0, FIXED[operation]))
        elif operation in FROM_AXIS:
            found.append(Watch(arguments[0], 1.0, FROM_AXIS[operation]))
        elif operation in ("sign", "atan2"):
            found.append(Watch(arguments[0], 1.0, 0.0, bends=True))
        elif operation in ("sqrt", "log", "divide"):
            found.append(Watch(arguments[-1], WIDE, 0.0))
        elif operation == "power":
            found.append(Watch(arguments[0], WIDE / max(1.0, value * value), 0.0))
    return found


def _of_products(graph: Graph, outputs: Sequence[int]) -> list[Watch]:
    """Return the factors of products that are high powers of them."""
    powers: dict[int, tuple[int, int]] = {}  # base and exponent of nodes
    highest: dict[int, int] = {}
    for i in graph.used(outputs):
        operation, arguments, _ = graph.nodes[i]
        if operation not in ("multiply", "square"):
            continue
        (base, n), (other, m) = (powers.get(argument, (argument, 1)) for argument in (arguments[0], arguments[-1]))
        if base == other:
            powers[i] = base, n + m
            highest[base] = n + m
    return [Watch(base, 4.0 / n**2, 0.0) for base, n in highest.items() if n >= SMALLEST_POWER]
