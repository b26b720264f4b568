"""Problems of many bodies out of one: with other inertia, states or parameters of the force."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from polhode.core.body import RigidBody
from polhode.core.checks import common_batch, unknown_name
from polhode.core.errors import InputError, ShapeError
from polhode.core.state import State
from polhode.ensembles.sampling import Rows
from polhode.forces.base import Force, as_params
from polhode.forces.damping import damping_matrices, diagonal_matrices
from polhode.integration.problem import Problem

__all__ = [
    "OF_PROBLEMS",
    "member",
    "varied",
    "with_params",
]


def __dir__() -> list[str]:
    return __all__


OF_PROBLEMS = ("moments", "tensor", "m", "omega", "q", "params", "damping", "t")
OWN_TIME = "t"  # the name of samples that are the time at which a free body is wanted


def batch_of(problem: Problem) -> tuple[int, ...]:
    force = problem.force
    return common_batch(body=problem.body.batch, state=problem.state.batch, force=() if force is None else force.batch)


def member(problem: Problem, i: int) -> Problem:
    """Return the problem of body ``i`` of many, as a batch of one, with the same functions.

    >>> from polhode import Problem, State
    >>> many = Problem((1.0, 2.0, 3.0), State(m=[(1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    >>> member(many, 1).state.m
    array([[0., 1., 0.]])
    """
    batch, alone = batch_of(problem), copy.copy(problem)
    alone.body = problem.body.select(batch, slice(i, i + 1))
    alone.state = problem.state.select(batch, slice(i, i + 1))
    force = problem.force
    if force is not None:
        params = np.broadcast_to(force.params, (*batch, force.params.shape[-1]))
        damping = np.broadcast_to(force.damping, (*batch, 3, 3))
        alone.force = with_params(force, params[i : i + 1], damping[i : i + 1])
    return alone


def with_params(force: Force, params: npt.ArrayLike | None = None, damping: npt.ArrayLike | None = None) -> Force:
    """The same force with other parameters (..., k) or damping (..., 3, 3); its functions are not compiled again.

    >>> from polhode import Torque
    >>> motor = Torque(lambda t, Q, w, p: (p[0], 0.0, 0.0), params=[1.0])
    >>> with_params(motor, [[2.0], [3.0]]).batch
    (2,)
    """
    made = copy.copy(force)
    if params is not None:
        made.params = as_params(params)
        if made.params.shape[-1] != force.params.shape[-1]:
            raise ShapeError(f"params have shape {made.params.shape}; {force!r} has {force.params.shape[-1]} of them")
    if damping is not None:
        made.damping = damping_matrices(damping, "damping")
    return made


def varied(problem: Problem, rows: Rows) -> Problem:
    """Return the problem with other inertia, state or parameters of the force, as many as there are rows.

    ``rows`` has arrays by the names of ``OF_PROBLEMS``, with one row for each body.

    >>> from polhode import problems
    >>> varied(problems.heavy_top(), {"m": [(0.1, 0.0, 2.0), (0.2, 0.0, 2.0)]}).state.batch
    (2,)
    """
    for name in rows:
        if name not in OF_PROBLEMS:
            raise unknown_name("sample of a problem", name, OF_PROBLEMS)
    inertia = [name for name in ("moments", "tensor") if name in rows]
    spin = [name for name in ("m", "omega") if name in rows]
    if len(inertia) > 1 or len(spin) > 1:
        raise InputError(f"{' and '.join(inertia if len(inertia) > 1 else spin)} came: give one of them")
    if inertia and not spin:
        raise InputError(
            f"with other {inertia[0]}, should m or omega stay? Add omega=sampling.always(...), or m=..., to the samples"
        )
    body = problem.body
    if inertia:
        body = RigidBody.from_moments(rows["moments"]) if "moments" in rows else RigidBody(rows["tensor"])
    q = rows.get("q", problem.state.q)
    state = State.from_omega(body, rows["omega"], q) if "omega" in rows else State(rows.get("m", problem.state.m), q)
    if set(rows) == {OWN_TIME}:
        state = State(np.broadcast_to(state.m, (*rows[OWN_TIME].shape, 3)), q)
    made = copy.copy(problem)
    made.summary, made.truth = "", {}  # which are those of the problem as it was
    body.check_momentum(state.m, "state.m")
    made.body, made.state, made.force = body, state, _force(problem.force, rows, bool(inertia))
    return made


def _force(force: Force | None, rows: Rows, other_body: bool) -> Force | None:
    given = [name for name in ("params", "damping") if name in rows]
    if force is None:
        if given:
            raise InputError(f"{given[0]} came, and the problem has no force; give it one")
        return None
    if other_body and "params" not in rows and "gravity_gradient" in repr(force):
        raise InputError(
            "a gravity gradient belongs to a body, and the samples have others; write a factory: def make(p): body = "
            "RigidBody.from_moments(p['moments']); return Problem(body, force=forces.gravity_gradient(body, ...), ...)"
        )
    damping = rows.get("damping")
    if damping is not None and damping.ndim == 2:  # numbers along the body axes, also of three members
        damping = diagonal_matrices(damping, "damping")
    return with_params(force, rows.get("params"), damping)
