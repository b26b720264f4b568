"""Batches of bodies built from the problem of one body by varying inertia, state or parameters of the force."""

from __future__ import annotations

import numpy as np

from polhode.core.body import RigidBody
from polhode.core.checks import common_batch, unknown_name
from polhode.core.errors import InputError
from polhode.core.state import State
from polhode.ensembles.sampling import Rows
from polhode.forces.base import Force
from polhode.forces.matrices import diagonal_matrices
from polhode.integration.problem import Problem

__all__ = [
    "OF_PROBLEMS",
    "member",
    "varied",
]
__dir__ = __all__.copy  # public names only


OF_PROBLEMS = ("moments", "tensor", "m", "omega", "q", "params", "damping", "t")
OWN_TIME = "t"  # the name of samples that hold, for each free body, the time at which its state is computed


def batch_of(problem: Problem) -> tuple[int, ...]:
    """Return the batch shape of a problem: that of its body, state and force, broadcast."""
    return common_batch(body=problem.body.batch, state=problem.state.batch, force=problem.force.batch)


def member(problem: Problem, i: int) -> Problem:
    """Return the problem of body ``i`` of a batch, as a batch of one body.

    Parameters
    ----------
    problem : Problem
        Problem with a batch of bodies, of shape (n,).
    i : int
        Index of the body.

    Returns
    -------
    Problem
        Problem with batch shape (1,). The functions of its force are not compiled again.

    Examples
    --------
    >>> from polhode import Problem, State
    >>> many = Problem((1.0, 2.0, 3.0), State(m=[(1, 0, 0), (0, 1, 0), (0, 0, 1)]))
    >>> member(many, 1).state.m
    array([[0., 1., 0.]])
    """
    batch = batch_of(problem)
    one = slice(i, i + 1)
    force = problem.force
    params = np.broadcast_to(force.params, (*batch, force.params.shape[-1]))
    force = force.replaced(params=params[one], damping=np.broadcast_to(force.damping, (*batch, 3, 3))[one])
    body, state = problem.body.select(batch, one), problem.state.select(batch, one)
    return problem.replaced(body=body, state=state, force=force)


def varied(problem: Problem, rows: Rows) -> Problem:
    """Return the problem of a batch of bodies that differ in inertia, state or parameters of the force.

    Parameters
    ----------
    problem : Problem
        Problem of one body; it is not changed.
    rows : dict of array_like
        Arrays of shape (n, ...), with one row for each body. The names are those of ``OF_PROBLEMS``: ``moments`` or
        ``tensor``, ``m`` or ``omega``, ``q``, ``params``, ``damping`` and ``t``.

    Returns
    -------
    Problem
        Problem with batch shape (n,).

    Raises
    ------
    InputError
        If a name is not known, or if the names contradict each other.

    Examples
    --------
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
        both = " and ".join(inertia if len(inertia) > 1 else spin)
        raise InputError(f"samples contain both {both}; expected only one of them")
    if inertia and not spin:
        raise InputError(
            f"samples contain {inertia[0]} but neither m nor omega, and it is not clear which of the two stays the "
            "same; add omega=sampling.always(...) or m=sampling.always(...) to the samples"
        )
    body = problem.body
    if inertia:
        body = RigidBody.from_moments(rows["moments"]) if "moments" in rows else RigidBody(rows["tensor"])
    q = rows.get("q", problem.state.q)
    state = State.from_omega(body, rows["omega"], q) if "omega" in rows else State(rows.get("m", problem.state.m), q)
    if set(rows) == {OWN_TIME}:
        state = State(np.broadcast_to(state.m, (*rows[OWN_TIME].shape, 3)), q)
    force = _force(problem.force, rows, bool(inertia))
    # the summary and the reference values describe the original problem
    return problem.replaced(body=body, state=state, force=force, summary="", truth=None)


def _force(force: Force, rows: Rows, other_body: bool) -> Force:
    """Return the force with the ``params`` and ``damping`` of the samples; ``other_body`` tells if inertia varies."""
    names = [name for name in ("params", "damping") if name in rows]
    if force.is_zero and names:
        raise InputError(f"samples contain {names[0]}, but the problem has no force; pass a problem with a force")
    if other_body and "params" not in rows and force.depends_on_inertia:
        raise InputError(
            "a gravity gradient depends on the inertia, which the samples change; write a factory: def make(p): body = "
            "RigidBody.from_moments(p['moments']); return Problem(body, force=forces.gravity_gradient(body, ...), ...)"
        )
    changes = {name: rows[name] for name in names}
    if "damping" in names and changes["damping"].ndim == 2:  # coefficients (members, 3), also if there are three
        changes["damping"] = diagonal_matrices(changes["damping"], "damping")
    return force.replaced(**changes)
