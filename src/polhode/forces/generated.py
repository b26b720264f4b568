"""Machine code of functions from their graphs, without Numba, which takes ten times as long.

Such code replaces the function, whatever its parameters are. It is therefore made only if the graph stands for the
function: if nothing was decided by parameters, if the function has no effect but its result and refers to nothing that
may change, and if all its operations are as accurate in the graph. Numba compiles all other functions.
"""

from __future__ import annotations

import warnings
from typing import Any

from polhode.core.arrays import FloatArray
from polhode.core.errors import NotTraceable
from polhode.forces.functions import Function
from polhode.forces.tracing import LOCK, Tracer
from polhode.kernels.compiler.generated import address_of as address_of_text
from polhode.kernels.graphs.function import function_text
from polhode.kernels.graphs.graph import Graph
from polhode.kernels.stepping.torque_code import torque_text

MOST_OPERATIONS = 4000  # of a graph; loops of larger functions are compiled faster as loops, by Numba


def address_of(function: Function, params: FloatArray) -> Any:
    """Return the address of the code of a function, made from its graph, or None if that does not stand for it.

    Parameters
    ----------
    function : Function
        Function of any form.
    params : ndarray, shape (..., k)
        Parameters for trial calls.

    Returns
    -------
    int or None
        The address: see ``intrinsics.call_by_address``.
    """
    made = _graph_of(function, Tracer(params, params_are_numbers=False))
    return None if made is None else address_of_text(function_text(*made, function.form.has_velocity))


def block_address_of(function: Function, params: FloatArray, turned: bool) -> Any:
    """Return the address of the code of a torque for blocks of bodies, or None if its graph does not stand for it.

    Parameters
    ----------
    function : Function
        Torque.
    params : ndarray, shape (..., k)
        Parameters for trial calls.
    turned : bool
        Whether the principal axes differ from the body axes of the user.

    Returns
    -------
    int or None
        The address: see ``kernels.stepping.torque_code``.
    """
    made = _graph_of(function, Tracer(params, params_are_numbers=False, without_branches=True))
    return None if made is None else address_of_text(torque_text(*made, params.shape[-1], turned))


def _graph_of(function: Function, tracer: Tracer) -> tuple[Graph, list[int]] | None:
    """Return the graph of a function and the nodes of its values, or None if they do not stand for it."""
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = tracer.values(function)
            if not tracer.stands_for_function or len(tracer.graph.needed(values)) > MOST_OPERATIONS:
                return None
            tracer.compare(function, values)  # only here: a function with other effects would have them
        except NotTraceable:
            return None
    return tracer.graph, values
