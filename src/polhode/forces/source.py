"""Python source of the torque that a graph describes: one assignment for each operation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from polhode.kernels.graphs.graph import FUNCTIONS, Graph

SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
NAMES: dict[str, Any] = {name: getattr(math, name) for name in (*FUNCTIONS, "atan2", "copysign", "pow")} | {
    "inf": math.inf,
    "nan": math.nan,
}


def torque_source(graph: Graph, torque: Sequence[int]) -> str:
    """Return the source of a function torque(t, Q, w, p) that computes three nodes of a graph.

    Examples
    --------
    >>> graph = Graph()
    >>> zero = graph.number(0.0)
    >>> print(torque_source(graph, [graph.function("sin", graph.input("Q01")), zero, zero]))
    def torque(t, Q, w, p):
        x0 = Q[0][1]
        x1 = sin(x0)
        return x1, 0.0, 0.0
    """
    texts: dict[int, str] = {}
    lines = ["def torque(t, Q, w, p):"]
    for index in graph.needed(torque):
        expression = _expression(graph, index, texts)
        if graph.nodes[index].operation == "number":
            texts[index] = expression
        else:
            texts[index] = f"x{len(lines) - 1}"
            lines.append(f"    {texts[index]} = {expression}")
    return "\n".join([*lines, f"    return {', '.join(texts[index] for index in torque)}"])


def _expression(graph: Graph, index: int, texts: dict[int, str]) -> str:
    """Return the expression of a node; `texts` are the names of its arguments."""
    operation, _, value = graph.nodes[index]
    x = [texts[argument] for argument in graph.own_arguments(index)]
    if operation == "number":
        return f"({value!r})" if value < 0.0 else repr(value)
    if operation == "input":
        return value if value == "t" else f"{value[0]}{''.join(f'[{place}]' for place in _places(value))}"
    if operation in SIGNS:
        return f"{x[0]} {SIGNS[operation]} {x[1]}"
    if operation == "square":
        return f"{x[0]} * {x[0]}"
    if operation == "sign":
        return f"copysign(1.0, {x[0]})"
    if operation == "power":
        return f"pow({x[0]}, {value!r})"
    return f"{operation}({', '.join(x)})"


def _places(name: str) -> Sequence[str]:
    """Return the indices in the name of an input: two of Q, one of w and p."""
    return name[1:] if name[0] == "Q" else (name[1:],)


@functools.lru_cache(maxsize=128)
def torque_of_source(source: str) -> Any:
    """Return the function of a source that `torque_source` has made."""
    names = dict(NAMES)
    exec(compile(source, "<torque of an energy>", "exec"), names)
    return names["torque"]
