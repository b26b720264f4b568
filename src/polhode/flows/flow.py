"""What all free flows have in common: a record that declares, and ``step``, which takes states to states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments, from_principal, to_principal
from polhode.core.checks import as_floats, check_finite, check_spread, common_batch, place, rows_of, show, whole_number
from polhode.core.errors import StepError, TimeError
from polhode.core.state import State
from polhode.core.threads import in_ranges

NORM, ENERGY, MOMENTUM_SPACE = "|m|", "energy", "Q m"
INVARIANTS = (NORM, ENERGY, MOMENTUM_SPACE)  # of the free body


@dataclass(frozen=True)
class FlowRecord:
    """What a flow declares; ``tests/methods/test_declared.py`` holds every entry of every flow against it, both ways.

    ``order`` is None for an exact flow. ``symmetric``: a step h and a step -h cancel. ``poisson``: m -> m preserves the
    Lie-Poisson bracket. ``symplectic``: (m, q) -> (m, q) preserves the canonical one. ``preserves``: which INVARIANTS
    stay to rounding. ``test_step``: a step, for a body of size 1, at which what is not preserved is seen to move.
    """

    name: str
    summary: str
    order: int | None
    symmetric: bool
    poisson: bool
    symplectic: bool
    preserves: frozenset[str]
    references: tuple[str, ...]
    test_step: float
    limits: str = ""


class StepStats(NamedTuple):
    """Work of an implicit flow: iterations (...) of each body, all steps together; 0 for explicit flows."""

    iterations: FloatArray


class Flow:
    """A map (m, q) -> (m, q) of the free body for a time h.

    A subclass is one file: its kernels (see ``kernels.stepping.repeat``), the number of constants they use, and a
    record.
    """

    prepare: Any
    advance: Any
    repeat: Any
    split: Any
    size: int  # of the constants c
    record: FlowRecord
    no_result = ""  # why a step may have none, if not because its equations have no solution
    exact_parameters: Sequence[float | Fraction] = ()  # what ``prepare`` is told, in full precision
    fractions: Sequence[float | Fraction] = (1,)  # the parts of a step: see ``composed``

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """The members of the family that tables list and tests examine."""
        return (cls(),)

    def bound(self, body: RigidBody, state: State) -> str:
        """What is known of the largest step that works, for the message of a step that failed; '' if nothing is."""
        return ""

    @overload
    def step(
        self,
        body: RigidBody | npt.ArrayLike,
        state: State,
        h: npt.ArrayLike,
        steps: int = 1,
        *,
        return_stats: Literal[False] = False,
    ) -> State: ...
    @overload
    def step(
        self,
        body: RigidBody | npt.ArrayLike,
        state: State,
        h: npt.ArrayLike,
        steps: int = 1,
        *,
        return_stats: Literal[True],
    ) -> tuple[State, StepStats]: ...
    def step(
        self,
        body: RigidBody | npt.ArrayLike,
        state: State,
        h: npt.ArrayLike,
        steps: int = 1,
        *,
        return_stats: bool = False,
    ) -> State | tuple[State, StepStats]:
        """The state after ``steps`` steps of length ``h``, repeated in a compiled loop.

        Parameters
        ----------
        body : RigidBody or array_like
            A RigidBody, principal moments (..., 3) or tensors (..., 3, 3).
        state : State
            Where it starts; batches of bodies, states and h broadcast.
        h : array_like
            Length of a step (...), of either sign.
        return_stats : bool, optional
            Return ``StepStats`` too, which count the iterations of implicit flows.

        Returns
        -------
        State
            The new state; its quaternion is not normalized after the fact.

        Examples
        --------
        >>> from polhode import Exact, State
        >>> Exact().step((1.0, 2.0, 2.0), State(m=(0.0, 0.0, 4.0)), np.pi / 16, steps=4).q.round(6)
        array([0.707107, 0.      , 0.      , 0.707107])
        """
        body = as_body(body)
        times = as_floats(h, "h")
        check_finite(times, "h", TimeError)
        count = whole_number(steps, "steps")
        state.check_at_rest("state")
        batch = common_batch(body=body.batch, state=state.batch, h=times.shape)
        body.check_momentum(state.m, "state.m")
        axes = None if body.is_principal else body.axes
        m, q = to_principal(axes, state.m, state.q)
        m, q = _copies(m, batch, 3), _copies(q, batch, 4)
        done, iterations = self._run(flow_moments(body), m, q, times, count, batch)
        result = state.replaced(*from_principal(axes, m, q))
        if not (done == count).all():
            raise self._failure(body, result, times, count, batch, done)
        return (result, StepStats(iterations)) if return_stats else result

    def _run(
        self, moments: FloatArray, m: FloatArray, q: FloatArray, h: FloatArray, steps: int, batch: tuple[int, ...]
    ) -> tuple[npt.NDArray[np.int64], FloatArray]:
        check_spread(moments)
        bodies = prod(batch)
        done, iterations = np.zeros(bodies, np.int64), np.zeros(bodies)
        parameters, fractions = (np.array([float(x) for x in v]) for v in (self.exact_parameters, self.fractions))
        inertia, times = rows_of(moments, batch, 3), rows_of(h[..., None], batch, 1)[:, 0]
        rows_m, rows_q = m.reshape(bodies, 3), q.reshape(bodies, 4)

        def work(start: int, stop: int) -> int:
            told = parameters, self.size, fractions, inertia, times
            return self.repeat((*told, steps, start, stop, rows_m, rows_q, done, iterations))

        in_ranges(work, bodies, steps * len(fractions))
        return done.reshape(batch), iterations.reshape(batch)

    def _failure(
        self,
        body: RigidBody,
        state: State,
        h: FloatArray,
        steps: int,
        batch: tuple[int, ...],
        done: npt.NDArray[np.int64],
    ) -> StepError:
        """The error of a step without result, with a shorter one that was found to work from the same state."""
        where = tuple(int(i) for i in np.argwhere(done < steps)[0])
        one_body, one = body.select(batch, where), state.select(batch, where)
        length = float(np.broadcast_to(h, batch)[where])
        moments = flow_moments(one_body)
        turns = abs(length) * float(np.abs(one.m).max()) / float(moments.min())
        if not turns <= 1e150:
            reason, works = "that is too many turns", None
        else:
            works = self._working_step(one_body, one, length)
            reason = self.no_result or "the equations of the step have no solution that can be found"
        bound = self.bound(one_body, one)
        message = (
            f"{self!r}: step {int(done[where]) + 1} of {steps} failed for {place('body', where)} at h = {length:.6g}, "
            f"m = {show(one.m)}, inertia {show(one_body.moments)}: {reason}"
            + (f"; {bound}" if bound else "")
            + (f"; h = {works:.6g} works from that state" if works is not None else "")
        )
        return StepError(message, state=state, done=done, working_step=works)

    def _working_step(self, body: RigidBody, state: State, h: float) -> float | None:
        """By bisection: a step from ``state`` that has a solution, within 1 % of the first that has none."""
        works, fails = 0.0, h
        for _ in range(60):
            trial = 0.5 * (works + fails)
            if self._takes(body, state, trial):
                works = trial
            else:
                fails = trial
            if works and abs(fails - works) <= 0.01 * abs(works):
                break
        return works or None

    def _takes(self, body: RigidBody, state: State, h: float) -> bool:
        m, q = to_principal(None if body.is_principal else body.axes, state.m, state.q)
        done, _ = self._run(flow_moments(body), _copies(m, (), 3), _copies(q, (), 4), np.array(h), 1, ())
        return bool(done)

    def __repr__(self) -> str:
        return self.record.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flow) and type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


def _copies(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    return np.array(np.broadcast_to(array, (*batch, components)), order="C")
