"""Comparison of the graph of a function with the function itself, at trial arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, writable
from polhode.core.checks import show
from polhode.core.errors import NotTraceable
from polhode.forces.symbols import OTHERWISE
from polhode.forces.trigonometric import Case, trial_cases
from polhode.kernels.graphs.array_series import OF_ARRAYS
from polhode.kernels.graphs.graph import Graph, computed, evaluate

MISFIT = 1e-12  # of graph and function, relative to the largest component of the function
SEED = 1765  # of random angular velocities and errors
NOISE = 1e-14  # relative errors of operations, about a hundred times as large as those of double precision
SAMPLES = 8  # of such errors

Inputs = Mapping[str, FloatArray]  # arrays (n,), by the names of the inputs of a graph


def check_values(
    name: str,
    function: Callable[..., Any],
    graph: Graph,
    nodes: Sequence[int],
    energies: Sequence[int],
    params: FloatArray,
    has_velocity: bool,
) -> None:
    """Raise NotTraceable if the values of nodes are not those of a function at trial arguments.

    Parameters
    ----------
    name : str
        Name of the function in messages.
    function : callable
        Function of (t, Q, w, p) or of (t, Q, p), in plain Python.
    graph : Graph
        The graph.
    nodes : sequence of int
        The nodes of its values.
    energies : sequence of int
        Nodes of energies from whose values the function computes torques; its errors are relative to these.
    params : ndarray, shape (..., k)
        Parameters.
    has_velocity : bool
        Whether w is an argument of the function.
    """
    cases, velocities, expected = _trials(function, has_velocity, params)
    if not cases:
        raise NotTraceable(f"{name} raises at all trial arguments, so its graph cannot be checked; {OTHERWISE}")
    found, wrong = different(graph, nodes, energies, _inputs(cases, velocities), expected)
    if wrong.any():
        i, n = (int(index[0]) for index in np.nonzero(wrong))
        raise NotTraceable(
            f"{name} at {cases[n]}, w = {show(velocities[n])} returns {expected[i, n]:.17g} in component {i}, but what "
            f"it did when it was called with symbols gives {found[i, n]:.17g}: it depends on more than its arguments, "
            f"or rounds them; {OTHERWISE}"
        )


class Difference(NamedTuple):
    """Values of nodes, and where they are not those of a function; both of shape (nodes, n)."""

    found: FloatArray
    wrong: npt.NDArray[np.bool_]


def different(
    graph: Graph, nodes: Sequence[int], energies: Sequence[int], inputs: Inputs, expected: FloatArray
) -> Difference:
    """Return where the values of nodes differ from those of a function, `expected`, by more than rounding."""
    with np.errstate(all="ignore"):
        found = np.array([value + 0.0 * inputs["t"] for value in evaluate(graph, nodes, inputs, OF_ARRAYS)])
        misfit = np.abs(found - expected)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))  # also if both are infinite
        wrong = ~same & ~(misfit <= MISFIT * np.abs(expected).max(axis=0))
        if wrong.any():
            wrong &= ~(misfit <= _rounding_errors(graph, nodes, energies, inputs))
    return Difference(found, wrong)


def _trials(
    function: Callable[..., Any], has_velocity: bool, params: FloatArray
) -> tuple[list[Case], FloatArray, FloatArray]:
    """Return trial arguments at which a function does not raise, random velocities (n, 3), and its values (..., n)."""
    cases = trial_cases(params)
    velocities = np.random.default_rng(SEED).normal(size=(len(cases), 3))
    called: list[int] = []
    values: list[Any] = []
    for n, (case, velocity) in enumerate(zip(cases, velocities.tolist(), strict=True)):
        w = (tuple(velocity),) if has_velocity else ()
        try:
            with np.errstate(all="ignore"):
                values.append(np.ravel(function(case.t, case.Q, *w, writable(case.p))))
        except Exception:  # may be intended at these arguments
            continue
        called.append(n)
    return [cases[n] for n in called], velocities[called], np.array(values).T


def _inputs(cases: Sequence[Case], velocities: FloatArray) -> Inputs:
    """Return the inputs of a graph at trial arguments."""
    Q, p = np.array([case.Q for case in cases]), np.array([case.p for case in cases])
    inputs = {f"Q{i}{j}": Q[:, i, j] for i in range(3) for j in range(3)}
    inputs |= {f"w{i}": velocities[:, i] for i in range(3)}
    inputs |= {f"p{k}": p[:, k] for k in range(p.shape[1])}
    return inputs | {"t": np.array([case.t for case in cases])}


def _rounding_errors(graph: Graph, nodes: Sequence[int], energies: Sequence[int], inputs: Inputs) -> FloatArray:
    """Return bounds (nodes, n) of rounding errors, from the effect of random errors of all operations."""
    rng = np.random.default_rng(SEED)
    shape = SAMPLES, inputs["t"].size
    values: dict[int, Any] = {}
    for index in graph.used([*nodes, *energies]):
        node = graph.nodes[index]
        if node.operation in ("number", "input"):
            exact = node.value if node.operation == "number" else inputs[node.value]
        else:
            exact = computed(node, [values[argument] for argument in graph.own_arguments(index)], OF_ARRAYS)
        values[index] = exact * (1.0 + NOISE * rng.uniform(-1.0, 1.0, shape))
    errors = np.array([np.ptp(values[node], axis=0) for node in nodes])
    return errors + MISFIT * sum(np.abs(values[node]).max(axis=0) for node in energies)
