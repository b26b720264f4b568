"""Taylor coefficients of a graph along many curves at once: the recurrences of ``recurrences`` for arrays of NumPy.

The curves are given by polynomials of the inputs, such as the states within steps; the graph is that of an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.kernels.graphs.graph import FUNCTIONS, Graph, Kind, Node, computed
from polhode.kernels.graphs.recurrences import Factor, Sum, end_term, sums
from polhode.kernels.graphs.watches import Watch

Floats = npt.NDArray[np.float64]

# Functions that compute the nodes of a graph from arrays.
OF_ARRAYS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in FUNCTIONS if hasattr(np, name)},
    "asin": np.arcsin, "atan": np.arctan, "atan2": np.arctan2, "power": np.power, "divide": np.divide,
    "sign": lambda x: np.where(x < 0.0, -1.0, 1.0),
}  # fmt: skip


class WatchedArgument(NamedTuple):
    """Coefficients (order + 1, n) of an argument of a function, and the square (n,) of its limit: see ``watches``."""

    coefficients: Floats
    square_of_limit: Floats


class NodeSeries(NamedTuple):
    """Coefficients (order + 1, n) of a node, and the size (n,) of the terms of which it is the sum, at order 0."""

    coefficients: Floats
    size: Floats
    watched: list[WatchedArgument]


def array_series(
    graph: Graph, output: int, inputs: Mapping[str, Floats], order: int, watches: Sequence[Watch] = ()
) -> NodeSeries:
    """Return the Taylor coefficients of a node, up to an order, from those of the inputs along n curves.

    Parameters
    ----------
    graph : Graph
        The graph.
    output : int
        The node.
    inputs : mapping
        Coefficients (k, n) of the inputs, by name; those that are missing at the end are 0.
    order : int
        Highest order.
    watches : sequence of Watch, optional
        Arguments of functions whose coefficients are returned, too.

    Returns
    -------
    NodeSeries
        The coefficients; they are not finite where a function has no series.

    Examples
    --------
    >>> graph = Graph()
    >>> node = graph.function("exp", graph.input("t"))
    >>> array_series(graph, node, {"t": np.array([[0.0], [1.0]])}, 3).coefficients.ravel().round(4).tolist()
    [1.0, 1.0, 0.5, 0.1667]
    """
    with np.errstate(all="ignore"):
        rows = _first_rows(graph, graph.used([output]), inputs, order)
        varying = [i for i in rows if graph.kinds[i] != Kind.CONSTANT and graph.nodes[i].operation != "input"]
        pairs = {i: sums(graph, i) for i in varying}
        for k in range(1, order + 1):
            for i in varying:
                rows[i][k] = _next(graph.nodes[i], i, pairs[i], rows, k)
        watched = [
            WatchedArgument(rows[watch.argument], np.asarray(watch.limit(lambda i: rows[i][0]))) for watch in watches
        ]
        return NodeSeries(rows[output], _size(graph, output, rows), watched)


def _first_rows(graph: Graph, used: list[int], inputs: Mapping[str, Floats], order: int) -> dict[int, Floats]:
    """Return arrays (order + 1, n) for the coefficients of all nodes, with those of inputs and of order 0."""
    count = next(iter(inputs.values())).shape[1]
    rows = {i: np.zeros((order + 1, count)) for i in used}
    for i, row in rows.items():
        node = graph.nodes[i]
        if node.operation == "number":
            row[0] = node.value
        elif node.operation == "input":
            row[: len(inputs[node.value])] = inputs[node.value]
        else:
            row[0] = computed(node, [rows[argument][0] for argument in graph.own_arguments(i)], OF_ARRAYS)
    return rows


def _next(node: Node, i: int, pairs: list[Sum | None], rows: Mapping[int, Floats], k: int) -> Any:
    """Return coefficient k of node i, whose interior sums have the factors `pairs`."""
    S = [0.0 if pair is None else _interior(rows, *pair, k) for pair in pairs]
    first = [rows[argument][0] for argument in node.arguments]
    now = [rows[argument][k] for argument in node.arguments]
    return end_term(node, S, first, now, rows[i][0], 1.0 / k)


def _interior(rows: Mapping[int, Floats], left: Factor, right: Factor, k: int) -> Any:
    """Return an interior sum of order k, whose right factor is never primed."""
    a, b = rows[left.node][1:k], rows[right.node][k - 1 : 0 : -1]
    if left.primed:
        return np.einsum("j,jn,jn->n", np.arange(1.0, k), a, b)
    return np.einsum("jn,jn->n", a, b)


def _size(graph: Graph, output: int, rows: Mapping[int, Floats]) -> Floats:
    """Return the sum of the absolute values of the terms of a sum; errors of the sum are relative to it."""
    total = np.zeros(rows[output].shape[1])
    waiting = [output]
    while waiting:
        node = graph.nodes[i := waiting.pop()]
        if node.operation in ("add", "subtract"):
            waiting += node.arguments
        else:
            total += np.abs(rows[i][0])
    return total
