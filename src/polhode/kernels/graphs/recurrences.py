"""Recurrences for the Taylor coefficients of a graph, for any type of numbers.

Let [a, b]_k be the sum of a_j b_(k-j) over j = 1, ..., k - 1: the interior sum of a product. It contains coefficients
of lower order only. With a' the coefficients j a_j, every operation consists of interior sums and end terms:

    a b     [a,b] + a_0 b_k + a_k b_0              a^2     [a,a] + 2 a_0 a_k
    c=a/b   (a_k - [b,c] - b_k c_0)/b_0            sqrt a  (a_k - [c,c])/(2 c_0)
    exp a   [a',c]/k + a_k c_0                     log a   (a_k - [c',a]/k)/a_0
    sin a   [a',cos]/k + a_k cos_0                 cos a   -([a',sin]/k + a_k sin_0)      sinh, cosh alike
    a^r     (r [a',c] - [a,c'])/(k a_0) + r a_k c_0/a_0
    tan a   [a',g]/k + a_k g_0,  g = 1 + tan^2     tanh    the same, g = 1 - tanh^2
    atan a  (a_k - [c',g]/k)/g_0,  g = 1 + a^2     asin    the same, g = sqrt(1 - a^2)
    atan2   (([y',x] - [x',y] - [c',g])/k + y_k x_0 - x_k y_0)/g_0,  g = x^2 + y^2

(A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
Exp. Math. 14 (2005) 99-117, section 2; functions with a partner g follow by differentiation.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from polhode.kernels.graphs.equations import ATTITUDES, TURNS, Equations
from polhode.kernels.graphs.graph import MATH, Graph, Kind, Node, computed


class Factor(NamedTuple):
    """Coefficients of a node in an interior sum: a_j or, if primed, j a_j."""

    node: int
    primed: bool = False


Sum = tuple[Factor, Factor]
Dot = Callable[[Sequence[Any], Sequence[Any]], Any]


def sums(graph: Graph, i: int) -> list[Sum | None]:
    """Return the interior sums that the recurrence of a node needs; None if a sum vanishes, because of a constant."""
    node = graph.nodes[i]
    name = node.operation
    if not node.arguments or name in ("add", "subtract"):
        return []
    a, last = node.arguments[0], node.arguments[-1]
    pairs = {
        "multiply": [(Factor(a), Factor(last))],
        "square": [(Factor(a), Factor(a))],
        "divide": [(Factor(last), Factor(i))],
        "sqrt": [(Factor(i), Factor(i))],
        "log": [(Factor(i, True), Factor(a))],
        "exp": [(Factor(a, True), Factor(i))],
        "power": [(Factor(a, True), Factor(i)), (Factor(i, True), Factor(a))],
        "atan": [(Factor(i, True), Factor(last))],
        "asin": [(Factor(i, True), Factor(last))],
    }
    if name == "atan2":
        y, x, g = node.arguments
        pairs[name] = [(Factor(y, True), Factor(x)), (Factor(x, True), Factor(y)), (Factor(i, True), Factor(g))]
    needed = pairs.get(name) or [(Factor(a, True), Factor(last))]  # functions with a partner
    return [None if Kind.CONSTANT in (graph.kinds[x.node], graph.kinds[y.node]) else (x, y) for x, y in needed]


def end_term(
    node: Node,
    S: Sequence[Any],
    first: Sequence[Any],
    now: Sequence[Any],
    own: Any,
    per_k: Any,
    divide: Callable[[Any, Any], Any] = operator.truediv,
) -> Any:
    """Return coefficient k of a node, k > 0.

    Parameters
    ----------
    node : Node
        The operation.
    S : sequence
        Its interior sums: see `sums`.
    first, now : sequence
        Coefficients 0 and k of its arguments; that of a later partner is not used.
    own : number
        Coefficient 0 of the node itself.
    per_k : number
        1/k.
    divide : callable, optional
        ``divide(x, y)`` returns x/y; it decides what happens if y is 0.

    Returns
    -------
    number
        The coefficient.
    """
    name = node.operation
    s = S[0] if S else 0.0
    a0, ak, b0 = first[0], now[0], first[-1]
    if name == "add":
        return ak + now[1]
    if name == "subtract":
        return ak - now[1]
    if name == "multiply":
        return s + ak * b0 + a0 * now[1]  # that of the later node, which is known last, is added last
    if name == "square":
        return s + (a0 + a0) * ak
    if name == "divide":
        per_b0 = divide(1.0, b0)
        return (ak - s) * per_b0 - now[1] * (own * per_b0)
    if name == "sqrt":
        factor = divide(0.5, own)
        return ak * factor - s * factor
    if name == "exp":
        return s * per_k + ak * own
    if name == "log":
        return (ak - s * per_k) * divide(1.0, a0)
    if name == "power":
        return (node.value * s - S[1]) * (per_k * divide(1.0, a0)) + ak * (node.value * own * divide(1.0, a0))
    if name in ("atan", "asin"):
        return (ak - s * per_k) * divide(1.0, b0)
    if name == "atan2":
        return ((s - S[1] - S[2]) * per_k + ak * first[1] - now[1] * a0) * divide(1.0, b0)
    change = s * per_k + ak * b0  # functions with a partner
    return -change if name == "cos" else change


class Series(NamedTuple):
    """Taylor coefficients of a motion: lists over the order, of four and three numbers."""

    q: list[tuple[Any, ...]]
    u: list[tuple[Any, ...]]
    nodes: dict[int, list[Any]]  # coefficients of all nodes that were needed


def series(
    equations: Equations,
    inputs: Mapping[str, Any],
    unit: Any,
    order: int,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Series:
    """Return the Taylor coefficients of q and u in powers of T, up to an order, in the arithmetic of the inputs.

    Parameters
    ----------
    equations : Equations
        The equations of motion.
    inputs : mapping
        Values of the inputs at the beginning, by name.
    unit : number
        Unit of time s: the derivative of the input ``t`` by T.
    order : int
        Highest order.
    functions : mapping, optional
        Functions such as the square root, for the type of the numbers; the default is for floats. If there is a
        function "dot", it computes sums of products.

    Returns
    -------
    Series
        The coefficients.
    """
    functions = MATH if functions is None else functions
    dot = functions.get("dot", _dot)
    graph = equations.graph
    used = graph.used(equations.g)
    q = [tuple(inputs[name] for name in ATTITUDES)]
    u = [tuple(inputs[name] for name in TURNS)]
    gyro, kick = ([inputs[f"c{kind}{i}"] for i in range(3)] for kind in ("gyro", "kick"))
    rows: dict[int, list[Any]] = {i: [] for i in used}
    one = unit / unit  # in the type of the numbers
    for k in range(order):
        now = dict(zip((*ATTITUDES, *TURNS), (*q[k], *u[k]), strict=True))
        if k == 0:
            _begin(graph, used, inputs, functions, rows, one)
        else:
            now["t"] = unit if k == 1 else 0.0
            for i in used:
                rows[i].append(_next(graph, i, rows, now, k, one / k, functions["divide"], dot))
        g = [rows[i][k] for i in equations.g]
        spin = [_product(u, 1, u, 2, dot), _product(u, 2, u, 0, dot), _product(u, 0, u, 1, dot)]
        q.append(tuple(x / (k + 1) for x in _turned(q, u, dot)))
        u.append(tuple(kick[i] * (gyro[i] * spin[i] + g[i]) / (k + 1) for i in range(3)))
    return Series(q, u, rows)


def series_of_nodes(
    graph: Graph, outputs: Iterable[int], inputs: Mapping[str, Sequence[float]], order: int
) -> dict[int, list[float]]:
    """Return the Taylor coefficients of all nodes on which some depend, from those of the inputs, in floats.

    Coefficients of inputs that are missing at the end are 0.

    Examples
    --------
    >>> graph = Graph()
    >>> node = graph.function("exp", graph.input("t"))
    >>> series_of_nodes(graph, [node], {"t": [0.0, 1.0]}, 3)[node]
    [1.0, 1.0, 0.5, 0.16666666666666666]
    """
    used = graph.used(outputs)
    rows: dict[int, list[Any]] = {i: [] for i in used}
    _begin(graph, used, {name: row[0] for name, row in inputs.items()}, MATH, rows, 1.0)
    for k in range(1, order + 1):
        now = {name: row[k] if k < len(row) else 0.0 for name, row in inputs.items()}
        for i in used:
            rows[i].append(_next(graph, i, rows, now, k, 1.0 / k, MATH["divide"], _dot))
    return rows


def _begin(
    graph: Graph,
    used: list[int],
    inputs: Mapping[str, Any],
    functions: Mapping[str, Any],
    rows: dict[int, list[Any]],
    one: Any,
) -> None:
    """Append the values of all nodes to their rows."""
    for i in used:
        node = graph.nodes[i]
        if node.operation == "number":
            rows[i].append(one * node.value)  # in the type of the numbers
        elif node.operation == "input":
            rows[i].append(inputs[node.value])
        else:
            rows[i].append(computed(node, [rows[argument][0] for argument in graph.own_arguments(i)], functions))


def _next(
    graph: Graph,
    i: int,
    rows: dict[int, list[Any]],
    now: Mapping[str, Any],
    k: int,
    per_k: Any,
    divide: Callable[[Any, Any], Any],
    dot: Dot,
) -> Any:
    """Return coefficient k of a node."""
    node = graph.nodes[i]
    if graph.kinds[i] == Kind.CONSTANT:
        return 0.0
    if node.operation == "input":
        return now[node.value]
    S = [_interior(rows, pair, k, dot) for pair in sums(graph, i)]
    first = [rows[argument][0] for argument in node.arguments]
    current = [rows[argument][k] if len(rows[argument]) > k else None for argument in node.arguments]
    return end_term(node, S, first, current, rows[i][0], per_k, divide)


def _interior(rows: Mapping[int, Sequence[Any]], pair: Sum | None, k: int, dot: Dot) -> Any:
    """Return an interior sum."""
    if pair is None:
        return 0.0
    left, right = (_factors(rows[factor.node], factor.primed, k) for factor in pair)
    return dot(left, right[::-1])


def _factors(row: Sequence[Any], primed: bool, k: int) -> list[Any]:
    """Return the factors of an interior sum of order k, from order 1 on."""
    return [j * row[j] for j in range(1, k)] if primed else list(row[1:k])


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the sum of products."""
    return sum(map(operator.mul, a, b))


def _product(a: Sequence[Any], i: int, b: Sequence[Any], j: int, dot: Dot) -> Any:
    """Return the latest coefficient of the product of component i of a and component j of b."""
    return dot([x[i] for x in a], [y[j] for y in reversed(b)])


def _turned(q: Sequence[Any], u: Sequence[Any], dot: Dot) -> list[Any]:
    """Return the latest coefficient of the quaternion product q u."""

    def of(i: int, j: int) -> Any:
        return _product(q, i, u, j, dot)

    return [
        -of(1, 0) - of(2, 1) - of(3, 2),
        of(0, 0) + of(2, 2) - of(3, 1),
        of(0, 1) + of(3, 0) - of(1, 2),
        of(0, 2) + of(1, 1) - of(2, 0),
    ]
