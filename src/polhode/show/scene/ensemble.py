"""Members of an ensemble as a motion to show, from the states in its Dataset."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.state import State
from polhode.ensembles.reader import KIND
from polhode.integration.problem import Problem


class SavedStates(NamedTuple):
    """States of n bodies at k times: ``t`` of shape (k,), ``m`` of shape (k, n, 3), ``q`` of shape (k, n, 4)."""

    t: FloatArray
    m: FloatArray
    q: FloatArray


def is_ensemble(shown: Any) -> bool:
    """Return whether an object is the Dataset that ``polhode.ensemble`` returns."""
    return getattr(shown, "attrs", {}).get("kind") == KIND


def members_of(data: Any, problem: Problem | None) -> tuple[Problem, SavedStates]:
    """Return the problem of all members that did not fail, and their states.

    `problem` is that of the ensemble; its body is used unless moments were sampled.
    """
    if problem is None:
        raise InputError("an ensemble does not contain its body; pass its problem: view(data, problem=problem)")
    if "q" not in data or "m" not in data or len(data["time"]) < 2:
        raise InputError(
            "this ensemble has no states at several times; expected at least two: pass t_eval=... to polhode.ensemble"
        )
    m, q = (np.moveaxis(data[name].to_numpy(), 0, 1) for name in ("m", "q"))
    reached = np.flatnonzero(np.isfinite(q).all(axis=(0, 2)))
    if not len(reached):
        raise InputError("all members of this ensemble failed; there is nothing to show")
    states = SavedStates(data["time"].to_numpy(), m[:, reached], q[:, reached])
    body = RigidBody.from_moments(data["moments"].to_numpy()[reached]) if "moments" in data else problem.body
    start = State(states.m[0], states.q[0])
    span = float(states.t[0]), float(states.t[-1])
    return problem.replaced(body=body, state=start, t_span=span), states
