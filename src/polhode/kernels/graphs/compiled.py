"""Functions that compute Taylor coefficients, as compiled loops call them: machine code, or plain Python."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from functools import partial
from typing import Any, NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.graphs.equations import UNIT, Equations, place
from polhode.kernels.graphs.jet import ROW, Jet
from polhode.kernels.graphs.recurrences import series

NUMBER = 8  # bytes


class CompiledJet(NamedTuple):
    """A function ``jet(inputs, rows, work, order)``: its address, and the lengths of its arrays per order."""

    address: Any
    work: Callable[[int], int]


def compiled_jet(equations: Equations) -> CompiledJet:
    """Return the function that computes the Taylor coefficients of equations of motion."""
    if not JIT:
        return CompiledJet(partial(python_jet, equations), lambda order: 0)
    from polhode.kernels.compiler.generated import address_of

    jet = Jet(equations)
    return CompiledJet(address_of(jet.text()), lambda order: jet.work_size(order) // NUMBER)


def python_jet(
    equations: Equations, inputs: MutableSequence[float], rows: MutableSequence[float], work: Any, order: int
) -> None:
    """Write the Taylor coefficients of a step to `rows`, as generated code does."""
    graph = equations.graph
    names = {*graph.inputs(equations.g), *(f"q{i}" for i in range(4)), *(f"u{i}" for i in range(3))}
    names |= {f"c{kind}{i}" for kind in ("gyro", "kick") for i in range(3)}
    values = {name: float(inputs[place(name)]) for name in names}
    result = series(equations, values, float(inputs[UNIT]), order)
    width = ROW // NUMBER
    for k in range(order + 1):
        rows[width * k : width * k + 7] = [*result.q[k], *result.u[k]]
