"""Steps of flows and splittings as functions for the user's own compiled loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.core.errors import InputError
from polhode.flows.flow import Flow
from polhode.forces.base import Force
from polhode.kernels.compiler.intrinsics import fixed_address
from polhode.kernels.compiler.jit import address, for_users
from polhode.kernels.stepping.own_loop import OwnFlow, free_functions
from polhode.kernels.stepping.own_splitting import Torque, split_functions
from polhode.kernels.stepping.splitting import split_body
from polhode.methods.splitting import Splitting

FORCES: list[Force] = []  # compiled loops may call their torques until the process ends


class Prepared(NamedTuple):
    """Two functions for compiled loops: the constants of a body, and steps of a body with these constants."""

    prepare: Callable[..., Any]
    advance: Callable[..., Any]


def step(method: Flow | Splitting, force: Force | None = None) -> Callable[..., Any]:
    """Return a step of a flow or of a splitting as a function to call from code compiled by Numba.

    Parameters
    ----------
    method : Flow or Splitting
        A flow, such as ``Exact()``, or a splitting for a body with a torque.
    force : Force, optional
        The torque on the body; required with a splitting. Its damping matrix has to be diagonal in the principal axes.

    Returns
    -------
    function
        For a flow, ``step(inertia, m, q, h) -> (m, q)``. For a splitting,
        ``step(inertia, m, q, t, h, steps=1, params=None) -> (m, q)``: the state after ``steps`` steps from the time t,
        with other parameters of the force if ``params`` are given.

    Raises
    ------
    InputError
        If there is no such function for the method or the force.

    See Also
    --------
    prepared : the same with the constants of a body, which are computed only once.

    Notes
    -----
    ``inertia`` are three positive principal moments in any order, m the angular momentum in the principal axes, and q
    the attitude, scalar first. Each may be a tuple or an array, and the result is a pair of tuples of floats. Arguments
    are not checked, and no exception is raised: a step without a result, or a torque that raises, gives NaN.

    The numbers are those of ``flow.step``, and of `integrate` with the same splitting, to the last bit: the same
    machine code computes them. If the torque has breaks, a step may begin or end at a break, but steps that contain one
    give NaN. A step of length 0 returns the state.

    The functions can be called from Python, too, and are plain Python if ``POLHODE_JIT=0`` is set. Numba keeps
    functions that call them in memory only, even with ``cache=True``, because addresses of machine code belong to the
    process.

    Examples
    --------
    A body that receives a kick about its first axis every tenth of a second:

    >>> import numba
    >>> from polhode import Exact, compiled
    >>> flight = compiled.step(Exact())
    >>> @numba.njit
    ... def kicked(inertia, m, q, count):
    ...     for _ in range(count):
    ...         m, q = flight(inertia, m, q, 0.1)
    ...         m = m[0] + 0.01, m[1], m[2]
    ...     return m, q
    >>> m, q = kicked((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 10)
    >>> [round(x, 6) for x in m]
    [0.357122, 0.390742, 0.851757]
    """
    return _functions(method, force)[2]


def prepared(method: Flow | Splitting, force: Force | None = None) -> Prepared:
    """Return a step of a flow or of a splitting as two functions, of which one computes the constants of a body.

    Parameters
    ----------
    method : Flow or Splitting
        As for `step`.
    force : Force, optional
        As for `step`.

    Returns
    -------
    prepare : function
        ``prepare(inertia, m) -> body``, an array of constants of the body. The momentum m only determines a unit: other
        momenta may follow, and steps with momenta of about this size are the quickest.
    advance : function
        For a flow, ``advance(body, m, q, h) -> (m, q)``; for a splitting,
        ``advance(body, m, q, t, h, steps=1, params=None) -> (m, q)``. The body is not changed, so that several threads
        may use it at the same time.

    Raises
    ------
    InputError
        If there is no such function for the method or the force.

    Notes
    -----
    See `step`; the results have the same bits.

    Examples
    --------
    >>> import numba
    >>> from polhode import Exact, compiled
    >>> prepare, advance = compiled.prepared(Exact())
    >>> @numba.njit
    ... def steps(inertia, m, q, h, count):
    ...     body = prepare(inertia, m)
    ...     for _ in range(count):
    ...         m, q = advance(body, m, q, h)
    ...     return m, q
    >>> m, q = steps((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 0.5, 100)
    >>> [round(x, 6) for x in m]
    [0.035777, 0.628395, 0.737455]
    """
    prepare, advance, _ = _functions(method, force)
    return Prepared(prepare, advance)


def _functions(method: Any, force: Any) -> tuple[Callable[..., Any], ...]:
    """Return the functions prepare, advance and step for a flow or for a splitting with a force."""
    if isinstance(method, Flow):
        if force is not None:
            raise InputError(
                f"got the flow {method!r} and a force; a flow is the motion without torques: omit the force, or type "
                f"Splitting({method!r}, 'RKN6_14a')"
            )
        return _of_flow(_own(method))
    if not isinstance(method, Splitting):
        raise InputError(f"method = {method!r}; expected a flow, such as Exact(), or a splitting, such as Splitting()")
    if force is None:
        raise InputError(f"got no force; type compiled.step({method!r}, force), or {method.flow!r} for free motion")
    _check(method, force)
    FORCES.append(force)
    params, damping = tuple(force.params.tolist()), tuple(np.diagonal(force.damping).tolist())
    address_of_torque = fixed_address(force.torque_address())
    torque = Torque(address_of_torque, bool(force.velocity_dependent), params, damping, tuple(force.breaks.tolist()))
    functions = split_functions(_own(method.flow), method.scheme_table, torque, _address(split_body))
    return tuple(map(for_users, functions))


@functools.cache
def _of_flow(flow: OwnFlow) -> tuple[Callable[..., Any], ...]:
    """Return the functions of a flow, which are compiled only once."""
    return tuple(map(for_users, free_functions(flow)))


def _own(flow: Flow) -> OwnFlow:
    """Return a flow as functions for loops of the user call it."""
    kernels = flow.kernels
    return OwnFlow(
        prepare=_address(kernels.prepare_entry),
        advance=_address(kernels.advance_entry),
        size=kernels.size,
        has_scratch=kernels.has_scratch,
        parameters=tuple(map(float, flow.exact_parameters)),
        fractions=tuple(map(float, flow.fractions)),
    )


@functools.cache
def _address(entry: Any) -> Callable[[], Any]:
    """Return a function that returns the address of an entry point, in compiled code."""
    return fixed_address(address(entry))


def _check(method: Splitting, force: Force) -> None:
    """Raise InputError if the method cannot integrate the force, or if compiled steps cannot."""
    if not isinstance(force, Force):
        raise InputError(
            f"force is of type {type(force).__name__}; expected a force, such as Torque(function) or forces.spring(1.0)"
        )
    method.check(force)
    if force.batch:
        raise InputError(
            f"{force!r} has parameters or damping of shape {force.batch}; expected those of one body: "
            "type force.replaced(params=...), and pass params to each step"
        )
    if (force.damping != np.diag(np.diagonal(force.damping))).any():
        raise InputError(f"the damping of {force!r} is not diagonal; expected principal axes, in which it is")
