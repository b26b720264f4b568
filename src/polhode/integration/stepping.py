"""Runs without end, which advance by one step or to a time at a call, and whose states may be changed in between."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from math import copysign, inf, isfinite, nan
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.forces import functions
from polhode.integration.base_trajectory import Stats
from polhode.integration.fixed_run import FixedRun
from polhode.integration.own_steps_run import OwnStepsRun
from polhode.integration.rows import Integrable, ProblemRows, States
from polhode.integration.running import FIRST_PIECE, GOING, Run, next_piece, run_time
from polhode.integration.stretches import Steps, Stretches, step_length
from polhode.kernels.stepping.header import NO_TIMES, BatchState, Clock, Saved, Wanted
from polhode.methods.method import Go, Method

# Arrays of a BatchState that `begin` sets: to the new state, to 0 because no step is known, and to going on.
BEGUN = "m", "q", "t", "h", "memory", "status"


class SteppingRun(Run):
    """What a ``Stepper`` requires of a run without end.

    All bodies are at the time `t`. After a failure, or an exception, `go_back` has to be called.
    """

    raises_for_batches = True

    @property
    @abstractmethod
    def t(self) -> float:
        """Time that all bodies have reached."""

    @property
    @abstractmethod
    def states(self) -> States:
        """States at that time, k = 1; they may change with the next call."""

    @abstractmethod
    def begin(self, t: float, m: FloatArray, q: FloatArray) -> None:
        """Go on from states m (n,) + m_shape and q (n,) + q_shape at the time `t`, as at the start of a run."""

    def restart(self) -> None:
        """Go back to the state and the time at which the run began."""
        self.begin(self.t0, self.rows.m, self.rows.q)

    @abstractmethod
    def step(self) -> None:
        """Make one step."""

    def reaches(self, t: float) -> bool:
        """Try to advance to the time `t` by one short call, and return whether that was enough; else call `to`."""
        return False

    @abstractmethod
    def to(self, t: float) -> None:
        """Advance to the time `t`, which is not the present one."""

    @abstractmethod
    def go_back(self) -> None:
        """Return to the last step that all bodies have made, so that the run can go on."""

    def of_steps(self, i: int) -> str:
        """Return nothing: the number of steps is unknown."""
        return ""


class FixedStepping(SteppingRun, FixedRun):
    """Run without end with a fixed step size: a grid of steps begins at every state from which it goes on.

    States that users see have no pending stages, and are separate from those with which the method continues.
    """

    def __init__(self, problem: Integrable, span: tuple[float, float], method: Method, h: float | None) -> None:
        """Begin at the start of `span`, with steps in its direction."""
        start, end = span
        self._forward = end > start
        super().__init__(problem, (start, inf if self._forward else -inf), method, h)
        self._t = start
        self._states = States(np.array([start]), self.rows.m[None].copy(), self.rows.q[None].copy())
        self._next = self.rows.not_reached(np.empty(1))  # swapped with the states after each call
        # The arrays of both as the loops take them.
        self._saved, self._next_saved = (Saved(states.m, states.q) for states in (self._states, self._next))
        self._shown = 0  # number of steps before the states that users see
        self._save = np.zeros(1, np.int64)

    @property
    def t(self) -> float:
        """Time that all bodies have reached."""
        return self._t

    @property
    def states(self) -> States:
        """States at that time, k = 1."""
        return self._states

    def begin(self, t: float, m: FloatArray, q: FloatArray) -> None:
        """Go on from states m and q at the time `t`, where a grid of steps begins."""
        self._states.m[0], self._states.q[0] = m, q
        self._begin_grid(t)

    def _begin_grid(self, t: float) -> None:
        """Go on from the states that users see at the time `t`, where a grid of steps begins."""
        self._t, self._shown = t, self.done
        self.grid = Steps((t, self.t1), self.rows.breaks, abs(self.h), number=self.done)
        self._forget_stages()

    def _forget_stages(self) -> None:
        """Let the method go on from the states that users see, without what it carries from step to step."""
        current, states = self.current, self._states
        current.m[:], current.q[:] = states.m[0], states.q[0]
        current.memory[:] = 0.0
        current.status[:] = GOING
        current.steps[:] = self.done

    def step(self) -> None:
        """Make one step in the direction of the time span."""
        self._turn(self._forward)
        self._to_step(self.done + 1)

    def to(self, t: float) -> None:
        """Make whole steps, and a shorter one if `t` is not the time of a step; a grid of steps then begins at `t`."""
        self._turn(t > self._t)
        last = max(self.done, self.grid.last_before(t))
        if self.grid.time(last + 1) == t:
            self._to_step(last + 1)
            return
        if last > self.done:
            self._to_step(last)
        if not self.any_stopped:
            self._last_step(t)

    def _turn(self, forward: bool) -> None:
        """Begin a grid of steps in the other direction, unless it is the present one."""
        if forward != (self.t1 > 0):
            self.t1 = -self.t1
            self._begin_grid(self._t)

    def _to_step(self, step: int) -> None:
        """Advance to a step of the grid."""
        self._save[0] = step
        if step == self.done + 1:
            clock, end = self.grid.stretch(self.done)
            self.call(clock, Wanted(step, self._save), self._next_saved, 1)
            self.done = step
            if step == end < self.count:
                self._restart(clock, end)
        else:
            self._advance(self._save, self._next, None)
        if not self.any_stopped:
            self._swap(self.grid.time(step))

    def _last_step(self, t: float) -> None:
        """Make one step to the time `t`, between two times of the grid."""
        if self.done > self.grid.begins:
            self._forget_stages()
        low, high = self.grid.stretch(self.done)[0][2:4]
        clock = Clock(np.array([self._t]), np.array([t - self._t]), low, high, self.done)
        self._save[0] = self.done + 1
        self.call(clock, Wanted(self.done + 1, self._save), self._next_saved, 1)
        if not self.any_stopped:
            self.done += 1
            self._swap(t)
            self._begin_grid(t)

    def _swap(self, t: float) -> None:
        """Show the states that were computed last, at the time `t`."""
        self._states, self._next = self._next, self._states
        self._saved, self._next_saved = self._next_saved, self._saved
        self._t = self._states.t[0] = t
        self._shown = self.done

    def go_back(self) -> None:
        """Return to the last step that all bodies have made."""
        reached = int(self.current.steps.min()) if self.any_stopped else self._shown
        for step in range(reached, self._shown, -1):  # mostly one: the last stage of a step may be what failed
            self._show_again()
            self._to_step(step)
            if not self.any_stopped:
                return
        self._show_again()

    def _show_again(self) -> None:
        """Go on from the states that users see."""
        self.done = self._shown
        self._begin_grid(self._t)


class OwnStepping(SteppingRun, OwnStepsRun):
    """Run without end of a method that chooses its steps.

    Single steps are limited by the end of the time span, and behind it by another time span of this length, and so on.
    """

    def __init__(self, problem: Integrable, span: tuple[float, float], method: Method, spacing: float | None) -> None:
        """Begin at the start of `span`; steps of a method that takes a step size have the length `spacing`."""
        super().__init__(problem, span, method)
        self._duration = self.t1 - self.t0
        self._horizon = self.t1
        self.h = nan if spacing is None else copysign(step_length(spacing), self._duration)
        self._breaks = set(self.rows.breaks.tolist())
        self._nothing = self.rows.not_reached(NO_TIMES)
        self._before: Any = None  # t, m and q before the present call, of a batch
        self._earlier_steps = self._earlier_rejected = 0  # trial steps before the present aim

    @property
    def t(self) -> float:
        """Time that all bodies have reached."""
        return float(self.current.t[0]) if self.count_rows else self.t1

    @property
    def states(self) -> States:
        """States at that time, k = 1."""
        return States(self.current.t[:1], self.current.m[None], self.current.q[None])

    def begin(self, t: float, m: FloatArray, q: FloatArray) -> None:
        """Go on from states m and q at the time `t`, with a first step size that is chosen as at the start."""
        current = self.current
        current.m[:], current.q[:] = m, q
        current.t.fill(t)
        for array in (current.h, current.memory, current.status):
            array.fill(0)  # no step is known, and the body goes on
        self.t1 = nan  # so that the next call divides the time anew

    def _aim(self, end: float) -> None:
        """Divide the time up to `end` into stretches; trial steps are counted from here on."""
        current = self.current
        now = self.t
        self.t1 = end
        self.stretches, self.stretch = Stretches((now, end), self.rows.breaks), 0
        if now in self._breaks:
            current.h[:] = 0.0  # the torque there depends on the direction
        self._earlier_steps += _total(current.steps)
        self._earlier_rejected += _total(current.rejected)
        current.steps.fill(0)
        current.rejected.fill(0)

    def step(self) -> None:
        """Make one accepted step, or one of the size that the user passed, in the direction of the time span."""
        if isfinite(self.h):
            self.to(self.t + self.h)
            return
        if self.batch:
            raise InputError(
                f"step() of a batch: every body has its own steps with {self.method!r}; type to(t), which all reach"
            )
        if (self._horizon - self.t) * self._duration <= 0:
            self._horizon = self.t + self._duration
        if self.t1 != self._horizon:
            self._aim(self._horizon)
        self._make_step()

    def _make_step(self) -> None:
        """Make trial steps until one is accepted or the row fails."""
        current = self.current
        before = current.steps[0]
        end = float(self.stretches.ends[self.stretch])
        while current.steps[0] == before and not self.any_stopped:
            self._call_to(end, 1)
        if current.t[0] == end and end != self.t1:
            self.stretch += 1
            current.h[:] = 0.0  # the first step after a break is chosen anew

    def to(self, t: float) -> None:
        """Advance to the time `t`, where the last step ends."""
        if self.batch:
            self._before = self.t, self.current.m.copy(), self.current.q.copy()
        self._aim(t)
        while self.stretch < self.stretches.number:
            self._reach(float(self.stretches.ends[self.stretch]))
            self.stretch += 1
            if self.stretch < self.stretches.number:
                self.current.h[:] = 0.0  # the first step after a break is chosen anew
        if self.batch and not self.any_stopped:
            self._before = None

    def _reach(self, end: float) -> None:
        """Advance all bodies to the end of a stretch, in calls that take about PIECE_SECONDS each."""
        piece = self.first_piece
        elapsed = self._call_to(end, piece)
        while self._is_behind(end):
            piece = next_piece(piece, elapsed)
            elapsed = self._call_to(end, piece)

    def _call_to(self, end: float, limit: int) -> float:
        """Call the compiled loop for at most `limit` steps of each body, and return the seconds it took."""
        saved = Saved(self._nothing.m, self._nothing.q)
        return self.call(self.stretches.window(self.stretch), Wanted(limit), saved, limit)

    def _is_behind(self, t: float) -> bool:
        """Return whether a body that has not failed is not at the time `t`."""
        current = self.current
        return bool(np.any(current.t[current.status == GOING] != t))

    def go_back(self) -> None:
        """Return to the last step of a single row, and to the states before the present call of a batch."""
        before = self._before or (self.t, self.current.m, self.current.q)
        self._before = None
        self.begin(*before)

    def stats(self) -> Stats:
        """Return the cost of the run so far, of all bodies together."""
        stats = super().stats()
        rejected = stats.rejected + self._earlier_rejected
        return replace(stats, steps=stats.steps + self._earlier_steps, rejected=rejected)


PARTS_OF_ARRAYS = "_go", "_begun", "_t", "_status", "_counts"  # of a QuickStepping


class QuickStepping(OwnStepping):
    """Run without end of a single body whose torque has no breaks: calls are prepared, and cost little.

    The arrays of the state are parts of one array, so that the start is restored by a single copy.
    """

    rows: ProblemRows

    def __init__(self, problem: Integrable, span: tuple[float, float], method: Method, spacing: float | None) -> None:
        """Begin at the start of `span`; steps of a method that takes a step size have the length `spacing`."""
        super().__init__(problem, span, method, spacing)
        self._join_arrays()
        self._beginning = self._begun.tobytes()

    def _join_arrays(self) -> None:
        """Put what `begin` sets at the beginning of one array, and make the arrays of the state parts of it."""
        fields = (*BEGUN, *(name for name in BatchState._fields if name not in BEGUN))
        arrays = [getattr(self.current, name) for name in fields]
        joined = np.concatenate([array.reshape(-1).view(np.float64) for array in arrays])
        ends = np.cumsum([array.size for array in arrays])
        parts = {
            name: joined[end - array.size : end].view(array.dtype).reshape(array.shape)
            for name, array, end in zip(fields, arrays, ends, strict=True)
        }
        self.current = BatchState(**parts)
        self._begun = joined[: ends[len(BEGUN) - 1]].data.cast("B")
        # Short memoryviews are faster to read and to write than arrays.
        self._t, self._status = self.current.t.data, self.current.status.data
        self._counts = self.current.steps.data, self.current.rejected.data

    @property
    def t(self) -> float:
        """Time that the body has reached."""
        return self._t[0]

    @property
    def any_stopped(self) -> bool:
        """Whether the body does not continue."""
        return self._status[0] != GOING

    def restart(self) -> None:
        """Go back to the state and the time at which the run began."""
        self._begun[:] = self._beginning
        self.t1 = nan

    def _aim(self, end: float) -> None:
        """Count trial steps from here on."""
        self.t1 = end
        steps, rejected = self._counts
        self._earlier_steps += steps[0]
        self._earlier_rejected += rejected[0]
        steps[0] = rejected[0] = 0

    def _make_step(self) -> None:
        """Make trial steps until one is accepted or the body fails."""
        steps, _ = self._counts
        before = steps[0]
        while steps[0] == before and not self.any_stopped:
            self._call_to(self.t1, 1)

    def reaches(self, t: float) -> bool:
        """Advance towards the time `t` by one prepared call; return whether the body is there, and can go on."""
        self._aim(t)
        self._timed(t, FIRST_PIECE)
        return self._t[0] == t and self._status[0] == GOING

    def to(self, t: float) -> None:
        """Advance to the time `t`, where the last step ends; go on if `reaches` was called before."""
        if t != self.t1 and self.reaches(t):
            return
        functions.raise_ctrl_c()
        if not self.any_stopped:
            self._reach(t)

    def _call_to(self, end: float, limit: int) -> float:
        """Call the compiled loop for at most `limit` steps, and return the seconds it took."""
        elapsed = self._timed(end, limit)
        functions.raise_ctrl_c()
        return elapsed

    def _timed(self, end: float, limit: int) -> float:
        """Call the prepared loop, and return the seconds it took."""
        began = run_time()
        self._go(end, limit)
        elapsed = run_time() - began
        self.seconds += elapsed
        return elapsed

    @cached_property
    def _go(self) -> Go:
        """The prepared loop."""
        return self.method.prepared(self.rows.force, self.bodies, self.current)

    def __getstate__(self) -> dict[str, Any]:
        """Return the data without the prepared loop, which advances only the arrays that it was made for."""
        return {name: value for name, value in vars(self).items() if name not in PARTS_OF_ARRAYS}

    def __setstate__(self, data: dict[str, Any]) -> None:
        """Restore the data, with arrays that are parts of one array again."""
        vars(self).update(data)
        self._join_arrays()


def _total(counts: IntArray) -> int:
    """Return the sum of numbers; Python numbers are faster than arrays of length 1."""
    return int(counts.item() if counts.size == 1 else counts.sum())


def new_stepping(problem: Integrable, span: tuple[float, float], method: Method, h: float | None) -> SteppingRun:
    """Return a run without end of the kind that the method requires; see ``running.new_run``."""
    if not method.chooses_steps:
        return FixedStepping(problem, span, method, h)
    rows = problem.rows
    is_simple = isinstance(rows, ProblemRows) and rows.count == 1 and not len(rows.breaks)
    return (QuickStepping if is_simple else OwnStepping)(problem, span, method, h)
