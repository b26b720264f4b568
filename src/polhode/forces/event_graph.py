"""Graphs of events: functions of time, momentum and attitude, which are called once with symbols like torques."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import NotTraceable
from polhode.forces.comparison import different
from polhode.forces.rebinding import Rebinder
from polhode.forces.symbols import Recording
from polhode.forces.tracing import LOCK
from polhode.kernels.graphs.graph import Graph
from polhode.kernels.graphs.watches import Watch, watches

MOMENTA, ATTITUDES = ("m0", "m1", "m2"), ("q0", "q1", "q2", "q3")


class EventGraph(NamedTuple):
    """Graph of an event with the inputs t, m0 to m2, q0 to q3, in body axes of the user; q need not be normalized."""

    graph: Graph
    value: int
    watches: list[Watch]
    name: str  # of the function


def traced_event(event: Callable[..., Any], t: FloatArray, m: FloatArray, q: FloatArray) -> EventGraph:
    """Return the graph of an event.

    Parameters
    ----------
    event : callable
        Function ``event(t, m, q)``.
    t, m, q : ndarray, shapes (...), (..., 3), (..., 4)
        Trial arguments, at which the values of the graph are compared with those of the function.

    Returns
    -------
    EventGraph
        The graph.

    Raises
    ------
    NotTraceable
        If the event cannot be called with symbols, or has other values than its graph, as events have that are not the
        same for all bodies.
    """
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, value = _called(event)
        inputs = inputs_of(t.reshape(1, -1), m.reshape(1, -1, 3), q.reshape(1, -1, 4))
        rows = {name: array[0] for name, array in inputs.items()}
        for _ in range(2):  # the second time, because it may depend on earlier calls
            expected = np.asarray(event(t, m, q), dtype=np.float64)
            if expected.shape != t.shape:
                raise NotTraceable("the event has another shape than t")
            if different(graph, [value], [], rows, expected.reshape(1, -1)).wrong.any():
                raise NotTraceable("the event depends on more than its arguments")
    return _of_unit_quaternion(graph, value, getattr(event, "__name__", repr(event)))


def inputs_of(t: FloatArray, m: FloatArray, q: FloatArray) -> Mapping[str, FloatArray]:
    """Return the inputs of a graph from t (k, n), m (k, n, 3) and q (k, n, 4), as arrays (k, n)."""
    names = ("t", *MOMENTA, *ATTITUDES)
    return dict(zip(names, (t, *np.moveaxis(m, -1, 0), *np.moveaxis(q, -1, 0)), strict=True))


def _called(event: Callable[..., Any]) -> tuple[Graph, int]:
    """Return the graph of an event that is called with symbols of one state, and the node of its value."""
    recording = Recording(np.empty((1, 0)))
    t, m, q = (
        np.array([[recording.input(name) for name in names]], dtype=object) for names in (("t",), MOMENTA, ATTITUDES)
    )
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(Rebinder().rebound(event)(t[:, 0], m, q), dtype=object)
        if value.shape != (1,):
            raise NotTraceable("the event has another shape than t")
        return recording.graph, recording.symbol(value[0]).node
    except NotTraceable:
        raise
    except Exception as problem:
        raise NotTraceable(f"calling the event with symbols raised {problem!r}") from problem


def _of_unit_quaternion(graph: Graph, value: int, name: str) -> EventGraph:
    """Return the graph of an event of q times (3 - |q|^2)/2, whose length is 1 if that of q is almost 1."""
    target = Graph()
    names = graph.inputs([value])
    inputs = {name: target.input(name) for name in names}
    if inputs.keys() & {*ATTITUDES}:
        q = [target.input(name) for name in ATTITUDES]
        half = target.multiply(target.number(0.5), target.dot(q, q))
        factor = target.subtract(target.number(1.5), half)
        inputs |= {name: target.multiply(factor, target.input(name)) for name in names if name in ATTITUDES}
    (copy,) = graph.copied([value], target, inputs)
    return EventGraph(target, copy, watches(target, [copy]), name)
