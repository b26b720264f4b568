"""Functions that make steps by Taylor series, as compiled loops call them: machine code, or plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.graphs.equations import Equations
from polhode.kernels.graphs.many_bodies import ManyBodies
from polhode.kernels.graphs.one_body import OneBody
from polhode.kernels.graphs.plain_steps import plain_steps
from polhode.kernels.graphs.steps import text_of_steps
from polhode.kernels.graphs.writer import LANES

NUMBER = 8  # bytes
MOST_PRODUCTS = 100  # for lanes: rows of more do not stay in the cache of a processor


class CompiledSteps(NamedTuple):
    """A function as in ``steps``: its address, the number of bodies that it advances, and its work array per order."""

    address: Any
    lanes: int
    work: Callable[[int], int]


def compiled_steps(equations: Equations, in_lanes: bool, in_pairs: bool = True) -> CompiledSteps:
    """Return the function that makes steps of one body, or of as many as there are lanes.

    With `in_pairs`, constants are sums of two numbers, for tolerances near rounding; see ``jet.Pair``.
    """
    if not JIT:
        return CompiledSteps(partial(plain_steps, equations), 1, lambda order: 0)
    from polhode.kernels.compiler.generated import address_of

    jet: OneBody | ManyBodies = (ManyBodies if in_lanes else OneBody)(equations, in_pairs)
    if in_lanes and len(jet.layout.groups) > MOST_PRODUCTS:
        return compiled_steps(equations, False, in_pairs)
    lanes = LANES if in_lanes else 1
    return CompiledSteps(address_of(text_of_steps(jet)), lanes, lambda order: jet.work_size(order) // NUMBER)
