"""Graphs of forces: their functions are called once with symbols (``symbols``), in copies that accept these.

A trace is not proof: a function may depend on what symbols do not show, such as the state of a closure. Therefore the
graph is compared with the function itself at trial arguments (``comparison``).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import NotTraceable
from polhode.forces.comparison import check_values
from polhode.forces.derivatives import torque_of
from polhode.forces.functions import Function, ReadyMade, Recent, described, plain
from polhode.forces.rebinding import Rebinder
from polhode.forces.symbols import OTHERWISE, Condition, Recording, Symbol, is_inner, located
from polhode.kernels.graphs.graph import Graph

if TYPE_CHECKING:
    from polhode.forces.base import Force

SHARED_SIZE = 64  # number of traces that can be used by other forces with the same functions


@dataclass(frozen=True, eq=False)  # equal only if it is the same, so that code is found quickly
class Trace:
    """Graph of a force.

    Attributes
    ----------
    graph : Graph
        The graph. Its inputs are t, Q00 to Q22, w0 to w2, and the parameters p0, p1, ...
    torque : tuple of int
        Nodes of the torque in body axes, without damping.
    energy : int or None
        Node of the potential energy; None if there is none, or if only the energy cannot be traced.
    conditions : tuple of Condition
        What was decided by the numbers of parameters: the graph holds for parameters that decide alike.
    params_are_numbers : bool
        Whether the graph contains the numbers of the parameters, and holds for these only.
    """

    graph: Graph
    torque: tuple[int, int, int]
    energy: int | None
    conditions: tuple[Condition, ...]
    params_are_numbers: bool

    @property
    def inputs(self) -> set[str]:
        """Return the names of the inputs on which the torque and the energy depend."""
        nodes = self.torque if self.energy is None else (*self.torque, self.energy)
        return {*self.graph.inputs(nodes)}

    def holds_for(self, params: FloatArray) -> bool:
        """Return whether the graph holds for parameters (..., k), of as many bodies as there are."""
        rows = _rows(params)
        with np.errstate(all="ignore"):
            return all(condition.holds(self.graph, rows) for condition in self.conditions)


SHARED = Recent[Trace](SHARED_SIZE)  # the traces that were made last, by the functions of their forces
LOCK = threading.RLock()  # filters of warnings belong to the process


def traced(force: Force) -> Trace:
    """Return the graph of a force; raise NotTraceable, with the reason and what to do, if there is none."""
    torque, energy, params = force._torque, force._energy, force.params
    key = torque.key(), energy and energy.key(), params.shape[-1]
    with LOCK:
        trace = SHARED.find(key)
        if trace is None or not trace.holds_for(params):
            trace = SHARED.keep(key, traced_functions(torque, energy, params))
        return trace


def exact_trace(force: Force) -> Trace:
    """Return the graph of a force without rounded numbers, for arithmetic of higher precision.

    Torques of potentials are derivatives of their energies, even if the torque functions contain rounded numbers.
    """
    from polhode.forces.base import Potential

    graph = Graph(exact=True)
    total = [graph.number(0.0)] * 3
    first = 0  # parameter of a part
    for part in force._parts():
        is_derived = isinstance(part, Potential) and not part.has_gradient
        trace = traced_functions(None if is_derived else part._torque, part._energy, part.params, exact=True)
        count = part.params.shape[-1]
        inputs = {f"p{k}": graph.input(f"p{first + k}") for k in range(count)}
        first += count
        copies = trace.graph.copied(trace.torque, graph, inputs)
        total = [graph.add(x, y) for x, y in zip(total, copies, strict=True)]
    return Trace(graph, (total[0], total[1], total[2]), None, (), params_are_numbers=False)


def traced_functions(
    torque: Function | None, energy: Function | None, params: FloatArray, exact: bool = False
) -> Trace:
    """Return the graph of a torque and an energy, with parameters as inputs or, if that fails, as numbers.

    Without a torque, that of the energy is derived. In an exact graph, no number is rounded.
    """
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _attempt(torque, energy, params, params_are_numbers=False, exact=exact)
        except NotTraceable:
            rows = _rows(params)
            if not rows.size or np.any(rows != rows[0]):
                raise
        return _attempt(torque, energy, params, params_are_numbers=True, exact=exact)


def _attempt(
    torque: Function | None, energy: Function | None, params: FloatArray, params_are_numbers: bool, exact: bool
) -> Trace:
    """Return the graph of a torque and an energy, after a comparison with the functions."""
    tracer = Tracer(params, params_are_numbers, exact)
    energy_node: int | None = None
    if energy is not None:
        try:
            (energy_node,) = tracer.compared_values(energy)
        except NotTraceable:
            if torque is None:
                raise
    if torque is None:
        assert energy_node is not None
        nodes = torque_of(tracer.graph, energy_node)
    else:
        x, y, z = tracer.compared_values(torque)
        nodes = x, y, z
    return Trace(tracer.graph, nodes, energy_node, tuple(tracer.recording.conditions), params_are_numbers)


class Tracer:
    """Calls functions with symbols.

    Parameters
    ----------
    params : ndarray, shape (..., k)
        Parameters.
    params_are_numbers : bool
        Whether functions are called with the numbers of parameters, which are the same for all bodies.
    exact : bool, optional
        Whether the graph contains no rounded numbers.
    without_branches : bool, optional
        Whether kernels are replaced by those that decide nothing by parameters, where there are such.
    """

    def __init__(
        self, params: FloatArray, params_are_numbers: bool, exact: bool = False, without_branches: bool = False
    ) -> None:
        self.params = params
        self._without_branches = without_branches
        self.recording = Recording(_rows(params), exact)
        self.graph = self.recording.graph
        self._rebinder = Rebinder()
        self.energies: list[int] = []  # nodes of energies of which torques are derivatives
        symbol = self.recording.input
        self.t = symbol("t")
        self.Q = tuple(tuple(symbol(f"Q{i}{j}") for j in range(3)) for i in range(3))
        self.w = tuple(symbol(f"w{i}") for i in range(3))
        self.p = np.array([symbol(f"p{k}") for k in range(params.shape[-1])], dtype=object)
        if params_are_numbers:
            numbers = self.recording.rows[0].copy()
            self.recording.conditions += [
                Condition(np.positive, (symbol.node,), number)
                for symbol, number in zip(self.p, numbers.tolist(), strict=True)
            ]
            self.p = numbers

    @property
    def stands_for_function(self) -> bool:
        """Return whether the graph has the same values as the functions called so far, whatever the arguments are."""
        recording = self.recording
        return recording.is_faithful and not recording.conditions and self._rebinder.is_pure

    def compared_values(self, function: Function) -> list[int]:
        """Return the nodes of the values of a function; raise NotTraceable if they are not those of the function."""
        nodes = self.values(function)
        self.compare(function, nodes)
        return nodes

    def compare(self, function: Function, nodes: Sequence[int]) -> None:
        """Raise NotTraceable if the values of nodes are not those of a function, which is called for that."""
        name = described(function.user) if function.user is not None else f"the {function.form.name}"
        check_values(
            name, self.in_python(function), self.graph, nodes, self.energies, self.params, function.form.has_velocity
        )

    def values(self, function: Function) -> list[int]:
        """Return the nodes of the values of a function."""
        velocity = (self.w,) if function.form.has_velocity else ()
        try:
            with np.errstate(all="ignore"):
                result = self._callable(function)(self.t, self.Q, *velocity, self.p)
                values = np.ravel(np.array(result, dtype=object)).tolist()
                return [self.recording.symbol(value).node for value in values]
        except NotTraceable:
            raise
        except Exception as problem:
            raise NotTraceable(
                f"{_place(problem)}: calling it with symbols raised {problem!r}; {OTHERWISE}"
            ) from problem

    def in_python(self, function: Function) -> Callable[..., Any]:
        """Return a function of numbers in plain Python, without loading the machine code of kernels."""
        if isinstance(function, ReadyMade):
            return self._rebinder.rebound(function.plain)
        return function.applied(lambda part: self.in_python(part) if isinstance(part, Function) else plain(part))

    def _callable(self, function: Function) -> Callable[..., Any]:
        """Return a function that accepts symbols; torques of energies are derivatives of these."""
        if function.energy is not None:
            return self._torque_of(self._callable(function.energy))
        if self._without_branches and isinstance(function, ReadyMade):
            return self._rebinder.rebound(function.without_branches)
        return self._rebinder.rebound(function.applied(self._part))

    def _part(self, part: Any) -> Any:
        """Return a part of a function, which accepts symbols or will be copied."""
        return self._callable(part) if isinstance(part, Function) else part

    def _torque_of(self, energy: Callable[..., Any]) -> Callable[..., Any]:
        """Return the torque of an energy."""

        def torque(t: Any, Q: Any, w: Any, p: Any) -> Any:
            node = self.recording.symbol(energy(t, Q, p)).node
            self.energies.append(node)
            return tuple(Symbol(self.recording, component) for component in torque_of(self.graph, node))

        return self._rebinder.keep(torque)


def _rows(params: FloatArray) -> FloatArray:
    """Return parameters (..., k) as rows (n, k)."""
    return params.reshape(prod(params.shape[:-1]), params.shape[-1])


def _place(problem: BaseException) -> str:
    """Return the name, file and line of the last function of the user in the traceback of an exception."""
    frames = [(tb.tb_frame, tb.tb_lineno) for tb in _tracebacks(problem)]
    outer = [(frame, line) for frame, line in frames if not is_inner(frame.f_globals.get("__name__", ""))]
    frame, line = (outer or frames)[-1]
    return located(frame.f_code, line)


def _tracebacks(problem: BaseException) -> Iterator[TracebackType]:
    """Yield the entries of the traceback of an exception, from the outermost on."""
    traceback = problem.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
