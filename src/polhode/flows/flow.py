"""Base class of all free flows: a record of declared properties, and ``step``, which maps states to states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments, frame_of, from_principal, to_principal
from polhode.core.checks import as_floats, check_finite, check_spread, common_batch, place, rows_of, show, whole_number
from polhode.core.errors import StepError, TimeError
from polhode.core.state import State
from polhode.core.threads import in_ranges
from polhode.core.value import Comparable
from polhode.kernels.compiler.jit import address
from polhode.kernels.stepping.header import FlowData, FreeSteps
from polhode.kernels.stepping.repeat import repeat

if TYPE_CHECKING:
    from polhode.kernels.stepping.loops import FlowKernels

NORM, ENERGY, MOMENTUM_SPACE = "|m|", "energy", "Q m"
INVARIANTS = (NORM, ENERGY, MOMENTUM_SPACE)  # of the free body


@dataclass(frozen=True)
class FlowRecord:
    """Declared properties of a flow; ``tests/methods/test_declared.py`` verifies every entry of every flow.

    Parameters
    ----------
    name : str
        Expression that constructs the flow.
    summary : str
        Short description.
    order : int or None
        Order of convergence, None for an exact flow.
    symmetric : bool
        Whether a step -h is the inverse of a step h.
    poisson : bool
        Whether the map m -> m preserves the Lie-Poisson bracket.
    symplectic : bool
        Whether the map (m, q) -> (m, q) preserves the canonical bracket.
    preserves : frozenset of str
        The members of INVARIANTS that are preserved up to rounding.
    references : tuple of str
        Publications.
    test_step : float
        Step length, for a body of size 1, at which the change of quantities that are not preserved is visible.
    limits : str, optional
        Restrictions of the flow.
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
    """Work of a flow: the total number of iterations of each body, of the shape of the batch; 0 for explicit flows."""

    iterations: FloatArray


class Flow(Comparable):
    """Base class of maps (m, q) -> (m, q) of the free body for a time h.

    A subclass defines its kernels (by ``kernels.stepping.loops``) and a record.
    """

    kernels: FlowKernels
    record: FlowRecord
    no_result = ""  # reason why a step may fail, unless its equations have no solution
    exact_parameters: Sequence[float | Fraction] = ()  # parameters of ``prepare``, in full precision
    fractions: Sequence[float | Fraction] = (1,)  # lengths of the parts of a step: see ``composed``

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return (cls(),)

    def bound(self, body: RigidBody, state: State) -> str:
        """Return a bound of the step length, for the message of a failed step; an empty string if none is known."""
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
        """Return the state after ``steps`` steps of length ``h``, repeated in a compiled loop.

        Parameters
        ----------
        body : RigidBody or array_like
            A RigidBody, principal moments (..., 3) or tensors (..., 3, 3).
        state : State
            Initial state; batches of bodies, states and h are broadcast.
        h : array_like, shape (...)
            Length of a step, of either sign.
        steps : int, optional
            Number of steps. Default is 1.
        return_stats : bool, optional
            Whether to return ``StepStats``, too, which contain the number of iterations of implicit flows.

        Returns
        -------
        state : State
            The new state; its quaternion is not normalized afterwards.
        stats : StepStats
            Only if ``return_stats`` is True.

        Raises
        ------
        StepError
            If a step has no result. The error contains the state of the last successful steps and a step length that
            works.

        Examples
        --------
        >>> from polhode import Exact, State
        >>> Exact().step((1.0, 2.0, 2.0), State(m=(0.0, 0.0, 4.0)), np.pi / 16, steps=4).q.round(6) + 0.0
        array([0.707107, 0.      , 0.      , 0.707107])
        """
        body = as_body(body)
        times = as_floats(h, "h")
        check_finite(times, "h", TimeError)
        count = whole_number(steps, "steps")
        state.check_at_rest("state")
        batch = common_batch(body=body.batch, state=state.batch, h=times.shape)
        body.check_momentum(state.m, "state.m")
        frame = frame_of(body)
        m, q = to_principal(frame, state.m, state.q)
        m, q = _copies(m, batch, 3), _copies(q, batch, 4)
        done, iterations = self._run(flow_moments(body), m, q, times, count, batch)
        m, q = from_principal(frame, m, q)
        result = state._exactly(m=m, q=q)
        if not (done == count).all():
            raise self._failure(body, result, times, count, batch, done)
        return (result, StepStats(iterations)) if return_stats else result

    def data(self) -> FlowData:
        """Return the flow as the compiled loops use it; its machine code is loaded, or made, if necessary."""
        parameters, fractions = (np.array([float(x) for x in v]) for v in (self.exact_parameters, self.fractions))
        prepare, advance = address(self.kernels.prepare_entry), address(self.kernels.advance_entry)
        return FlowData(prepare, advance, parameters, self.kernels.size, fractions)

    def _run(
        self, moments: FloatArray, m: FloatArray, q: FloatArray, h: FloatArray, steps: int, batch: tuple[int, ...]
    ) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Step m and q in place; return the number of successful steps and of iterations of each body."""
        check_spread(moments)
        bodies = prod(batch)
        done = np.zeros(bodies, np.int64)
        iterations = np.zeros(bodies)
        flow = self.data()
        inertia = rows_of(moments, batch, 3)
        times = rows_of(h[..., None], batch, 1)[:, 0]
        rows_m, rows_q = m.reshape(bodies, 3), q.reshape(bodies, 4)

        def work(start: int, stop: int) -> int:
            free_steps = FreeSteps(inertia, times, steps, start, stop, rows_m, rows_q, done, iterations)
            return repeat(flow, free_steps)

        in_ranges(work, bodies, steps * len(self.fractions))
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
        """Return the error of a step without result, with a shorter step that works from the same state."""
        where = tuple(int(i) for i in np.argwhere(done < steps)[0])
        one_body, one = body.select(batch, where), state.select(batch, where)
        length = float(np.broadcast_to(h, batch)[where])
        moments = flow_moments(one_body)
        turns = abs(length) * float(np.abs(one.m).max()) / float(moments.min())
        if not turns <= 1e150:
            works = None
            reason = "the body makes too many turns in a step"
        else:
            works = self._working_step(one_body, one, length)
            reason = self.no_result or "no solution of the equations of the step was found"
        bound = self.bound(one_body, one)
        message = (
            f"{self!r}: step {int(done[where]) + 1} of {steps} failed for {place('body', where)} at h = {length:.6g}, "
            f"m = {show(one.m)}, inertia {show(one_body.moments)}: {reason}"
            + (f"; {bound}" if bound else "")
            + (f"; h = {works:.6g} works from that state" if works is not None else "")
        )
        return StepError(message, state=state, done=done, working_step=works)

    def _working_step(self, body: RigidBody, state: State, h: float) -> float | None:
        """Return a step that has a result from ``state``, by bisection to 1 % of one that has none, or None."""
        works, fails = 0.0, h
        for _ in range(60):
            trial = 0.5 * (works + fails)
            if self._has_result(body, state, trial):
                works = trial
            else:
                fails = trial
            if works and abs(fails - works) <= 0.01 * abs(works):
                break
        return works or None

    def _has_result(self, body: RigidBody, state: State, h: float) -> bool:
        """Return whether a single step h has a result."""
        m, q = to_principal(frame_of(body), state.m, state.q)
        done, _ = self._run(flow_moments(body), _copies(m, (), 3), _copies(q, (), 4), np.array(h), 1, ())
        return bool(done)

    def __repr__(self) -> str:
        """Return the expression that constructs the flow."""
        return self.record.name


def _copies(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    """Return a C-contiguous copy of ``array``, broadcast to ``batch`` + (components,)."""
    return np.array(np.broadcast_to(array, (*batch, components)), order="C")
