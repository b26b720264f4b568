"""Functions that make steps by Taylor series, as compiled loops call them: machine code, or plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.graphs.equations import Equations
from polhode.kernels.graphs.many_bodies import ManyBodies
from polhode.kernels.graphs.one_body import OneBody
from polhode.kernels.graphs.plain_steps import PlainSteps
from polhode.kernels.graphs.steps import text_of_steps
from polhode.kernels.graphs.watches import Watch
from polhode.kernels.graphs.writer import LANES

NUMBER = 8  # bytes
MOST_PRODUCTS = 100  # for lanes: rows of more do not stay in the cache of a processor


class WatchedSeries(NamedTuple):
    """Where the work array has what is known of watched arguments, in numbers; see ``watches``."""

    count: int  # of arguments, each with a number per lane
    bending: int  # number of the first ones at whose zeros a function bends or jumps
    limits: int  # index of the squares of their limits
    first: int  # index of their coefficients of order 0
    stride: int  # from order to order


class CompiledSteps(NamedTuple):
    """A function as in ``steps``: its address, the number of bodies that it advances, and its work array per order."""

    address: Any
    lanes: int
    work: Callable[[int], int]
    watched: WatchedSeries


def watched_series(watches: Sequence[Watch], *places: int) -> WatchedSeries:
    """Return where the work array has what is known of watched arguments."""
    return WatchedSeries(len(watches), sum(watch.bends for watch in watches), *places)


def compiled_steps(equations: Equations, in_lanes: bool, in_pairs: bool = True) -> CompiledSteps:
    """Return the function that makes steps of one body, or of as many as there are lanes.

    With `in_pairs`, constants are sums of two numbers, for tolerances near rounding; see ``jet.Pair``.
    """
    if not JIT:
        steps = PlainSteps(equations)
        return CompiledSteps(steps, 1, steps.work_size, watched_series(steps.watches, *steps.places))
    from polhode.kernels.compiler.generated import address_of

    jet: OneBody | ManyBodies = (ManyBodies if in_lanes else OneBody)(equations, in_pairs)
    layout = jet.layout
    if in_lanes and len(layout.groups) > MOST_PRODUCTS:
        return compiled_steps(equations, False, in_pairs)
    places = (size // NUMBER for size in (layout.limits, jet.head_size + layout.watched, layout.stride))
    watched = watched_series(layout.watches, *places)
    address = address_of(text_of_steps(jet))
    return CompiledSteps(address, LANES if in_lanes else 1, lambda order: jet.work_size(order) // NUMBER, watched)
