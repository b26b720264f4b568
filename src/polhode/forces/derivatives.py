"""Derivatives of expressions by reverse differentiation, and the torque of an energy: f = -rot(Q^T dV/dQ)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polhode.kernels.graphs.graph import Graph

ATTITUDE = tuple(f"Q{i}{j}" for i in range(3) for j in range(3))  # names of the inputs


def gradient_of(graph: Graph, node: int, names: Sequence[str]) -> list[int]:
    """Return the nodes of the derivatives of an expression by some inputs, which are added to the graph.

    Examples
    --------
    >>> graph = Graph()
    >>> x, y = graph.input("Q00"), graph.input("Q01")
    >>> [graph.text(slope) for slope in gradient_of(graph, graph.multiply(x, graph.function("sin", y)), ["Q00", "Q01"])]
    ['sin(Q01)', 'Q00*cos(Q01)']
    """
    slopes = {node: graph.number(1.0)}  # of the expression by each node
    for index in reversed(_dependent(graph, node, names)):
        for argument, factor in _factors(graph, index) if index in slopes else ():
            term = graph.multiply(slopes[index], factor)
            slopes[argument] = graph.add(slopes[argument], term) if argument in slopes else term
    return [slopes.get(graph.input(name), graph.number(0.0)) for name in names]


def _dependent(graph: Graph, node: int, names: Sequence[str]) -> list[int]:
    """Return the nodes, in their order, on which an expression depends and which depend on some inputs themselves."""
    dependent: dict[int, None] = {}
    for index in graph.used([node]):
        operation, _, value = graph.nodes[index]
        own = graph.own_arguments(index)
        if value in names if operation == "input" else any(argument in dependent for argument in own):
            dependent[index] = None
    return list(dependent)


def _factors(graph: Graph, index: int) -> Iterator[tuple[int, int]]:
    """Yield the arguments of a node, and its derivatives by them."""
    operation, arguments, _ = graph.nodes[index]
    if operation in ("input", "sign"):
        return
    x = arguments[0]
    if operation in ("add", "subtract"):
        yield x, graph.number(1.0)
        yield arguments[1], graph.number(1.0 if operation == "add" else -1.0)
    elif operation == "multiply":
        yield x, arguments[1]
        yield arguments[1], x
    elif operation == "divide":
        inverse = graph.divide(graph.number(1.0), arguments[1])
        yield x, inverse
        yield arguments[1], graph.negative(graph.multiply(index, inverse))
    elif operation == "atan2":
        _, other, square = arguments
        yield x, graph.divide(other, square)
        yield other, graph.negative(graph.divide(x, square))
    else:
        yield x, _slope(graph, index)


def _slope(graph: Graph, index: int) -> int:
    """Return the derivative of a function of one argument; partners make it short."""
    operation, arguments, value = graph.nodes[index]
    x, partner = arguments[0], arguments[-1]
    one = graph.number(1.0)
    if operation == "square":
        return graph.multiply(graph.number(2.0), x)
    if operation == "power":
        lower = graph.divide(index, x) if graph.exact else graph.power(x, value - 1.0)  # the exponent may be rounded
        return graph.multiply(graph.number(value), lower)
    if operation == "sqrt":
        return graph.divide(graph.number(0.5), index)
    if operation == "exp":
        return index
    if operation == "log":
        return graph.divide(one, x)
    if operation in ("asin", "atan"):
        return graph.divide(one, partner)
    return graph.negative(partner) if operation == "cos" else partner  # sin, sinh, cosh, tan, tanh


def torque_of(graph: Graph, energy: int) -> tuple[int, int, int]:
    """Return the nodes of the torque of an energy, in body axes: f = -rot(Q^T dV/dQ)."""
    slopes = gradient_of(graph, energy, ATTITUDE)
    Q = [graph.input(name) for name in ATTITUDE]

    def entry(i: int, j: int) -> int:
        """Return (Q^T dV/dQ)_ij."""
        return graph.dot(Q[i::3], slopes[j::3])

    x, y, z = (graph.subtract(entry(i, j), entry(j, i)) for i, j in ((1, 2), (2, 0), (0, 1)))
    return x, y, z
