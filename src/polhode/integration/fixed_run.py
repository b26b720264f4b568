"""Runs with a fixed step size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.core.progress import Progress, Report
from polhode.integration.rows import Integrable, States
from polhode.integration.running import GOING, Run, Schedule, next_piece
from polhode.integration.solution import Solution
from polhode.integration.stretches import Steps, step_length
from polhode.kernels.stepping.header import Clock, Saved, Wanted
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Method

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder

FIRST_BLOCK = 2**6  # steps of the first block that is searched for events
LARGEST_BLOCK = 2**18  # states of the largest such block, over all bodies
HALVINGS, REFINEMENTS = 30, 5  # iterations of the search for a step size that has a solution


class FixedRun(Run):
    """Run with a fixed step size; if the torque has breaks, with one step size between each two of them.

    At a break the method restarts from the states there, without the data that it carries from step to step. The
    attribute ``h`` is the longest step size. Each stretch between breaks has at least `least` steps.
    """

    def __init__(
        self, problem: Integrable, span: tuple[float, float], method: Method, h: float | None, least: int = 1
    ) -> None:
        """Divide `span` into steps no longer than `h`, or than the step size of the problem if `h` is None."""
        super().__init__(problem, span, method)
        length = h if type(h) is float and 0.0 < h < inf else step_length(problem.h if h is None else h)
        self.grid = Steps(span, self.rows.breaks, length, least)
        self.count = self.grid.count
        self.h = self.grid.longest
        self.current = self.rows.new_state(method, self.rows.m, self.rows.q)
        self.done = 0  # number of steps that all bodies that continue have made
        self._next_save = -1  # step of the next state of a schedule, if it is the only one of its block

    def times(self, steps: IntArray) -> FloatArray:
        """Return the times after numbers of steps."""
        return self.grid.times(steps)

    def states_to_save(self, times: FloatArray | None, every: int, keep: bool) -> int:
        """Return the number of states of a body that `compute` holds in memory."""
        of_steps = 1 + -(-self.count // every) if times is None or keep else 1
        return of_steps + (0 if times is None else len(times))

    def compute(
        self, times: FloatArray | None, every: int, keep: bool, finder: EventFinder | None, progress: bool | Report
    ) -> tuple[States, Solution]:
        """Run to the end; return the states to save, and the dense output."""
        steps = self._steps_to_save(times, every, keep)
        # The dense output also requires the states at breaks of the torque.
        saved_steps = np.union1d(steps, self.grid.first[:-1]) if self.rows.breaks.size else steps
        with Progress(progress, **self.progress()) if progress else nullcontext() as bar:
            states = self.at_steps(saved_steps, bar) if finder is None else self._searched(finder, saved_steps, bar)
        sol = FixedSolution(self, saved_steps, states.m, states.q, finder)
        if times is not None:
            return sol.states(times), sol
        if len(saved_steps) > len(steps):
            rows = np.searchsorted(saved_steps, steps)
            states = States(*(array[rows] for array in states))
        return states, sol

    def _steps_to_save(self, times: FloatArray | None, every: int, keep: bool) -> IntArray:
        """Return the steps to save: every `every`-th with the first and last, or those before `times`."""
        before = np.empty(0, np.int64) if times is None else self.grid.before(times)
        if times is not None and not keep:
            return np.union1d(before, [0])
        steps = np.arange(0, self.count + every, every, dtype=np.int64)
        steps[-1] = self.count
        return steps if times is None else np.union1d(before, steps)

    def _searched(self, finder: EventFinder, saved_steps: IntArray, bar: Progress | None) -> States:
        """Return the states after the steps to save, and search every step for events."""
        saved = self.rows.not_reached(self.times(saved_steps))
        last = self.rows.not_reached(np.empty(0))
        for steps in _blocks(self.count, self.rows.size):
            block = self.at_steps(steps, bar)
            known = States(*(np.concatenate((a[-1:], b)) for a, b in zip(last, block, strict=True)))
            first, end = np.searchsorted(saved_steps, (steps[0], steps[-1] + 1))
            rows = saved_steps[first:end] - steps[0] - len(steps)  # from the end of the block
            saved.m[first:end], saved.q[first:end] = known.m[rows], known.q[rows]
            if len(known.t) > 1:
                numbers = np.arange(steps[-1] - len(known.t) + 1, steps[-1] + 1)
                finder.search(*known, FixedSolution(self, numbers, known.m, known.q))
            if self.all_stopped or self.interrupted:
                break
            last = block
        return saved

    def schedule(self, times: FloatArray | None, every: int) -> Schedule:
        """Return the states that a long run saves, after every `every` steps."""
        if times is not None:
            raise InputError(
                f"t_eval is for methods that choose their steps, such as Adaptive(), and {self.method!r} has steps of "
                "equal size; omit t_eval, or type save_every=..."
            )
        every = min(every, self.count)
        return Schedule(-(-self.count // every) + 1, every)

    def scheduled(self, schedule: Schedule, first: int, last: int, bar: Progress) -> States:
        """Continue, and return the states `first` to `last - 1` of a schedule."""
        steps = np.minimum(np.arange(first, last, dtype=np.int64) * schedule.every, self.count)
        self._next_save = int(steps[0]) if len(steps) == 1 else -1
        return self.at_steps(steps, bar)

    @property
    def can_pause(self) -> bool:
        """Whether the next state to save is not reached yet, and the only one of its block."""
        return int(self.current.steps.max(initial=0)) < self._next_save

    def progress(self) -> dict[str, Any]:
        """Return the arguments of a progress bar of the run."""
        return {"count": self.count, "start": self.done, "time_after": self.times}

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Restore a snapshot; results do not depend, to the bit, on whether the run was interrupted."""
        super().restore(snapshot)
        going = self.current.status == GOING
        self.done = int(self.current.steps[going].min(initial=self.count))

    def end(self) -> States:
        """Run to the end and return the states there."""
        return self.at_steps(np.array([self.count]), None)

    def at_steps(self, saves: IntArray, bar: Progress | None) -> States:
        """Return the states after the steps `saves` (k,); NaN where a body did not reach them."""
        states = self.rows.not_reached(self.grid.times(saves))
        try:
            self._advance(saves, states, bar)
        except KeyboardInterrupt:
            self.interrupted = True
        return states

    def _advance(self, saves: IntArray, states: States, bar: Progress | None) -> None:
        """Advance to the last of `saves`, in calls of about PIECE_SECONDS, none of which crosses a break."""
        saved = 0
        piece = self.first_piece
        while saved < len(saves) and not (self.any_stopped and self.all_stopped):
            began = self.done
            clock, end = self.grid.stretch(began)
            limit = min(began + piece, end, int(saves[-1]))
            last = int(saves.searchsorted(limit, side="right"))
            part = slice(saved, max(last, saved + 1))
            elapsed = self.call(clock, Wanted(limit, saves[part]), Saved(states.m[part], states.q[part]), limit - began)
            self.done = limit
            if limit == end < self.count:
                self._restart(clock, end)
            saved = max(saved, last)
            if bar is not None:
                bar.show(min(self.done, self.count))
            if saved == len(saves):
                return
            piece = next_piece(limit - began, elapsed)

    def _restart(self, clock: Clock, step: int) -> None:
        """Restart from the states after `step` as they would be saved; `clock` is that of the steps up to there."""
        current = self.current
        states = self.rows.not_reached(np.empty(1))
        self.call(clock, Wanted(step, np.array([step])), Saved(states.m, states.q), 1)
        going = current.status == GOING
        current.m[going], current.q[going], current.memory[going] = states.m[0, going], states.q[0, going], 0.0

    def single_steps(
        self, row: IntArray, stretch: IntArray, t: FloatArray, h: FloatArray, m: FloatArray, q: FloatArray,
        steps: int = 1,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Return (m, q) after `steps` steps from each of r states.

        Parameters
        ----------
        row, stretch : ndarray of int, shape (r,)
            Indices of the rows, and of the stretches of time in which the steps are.
        t, h : ndarray, shape (r,)
            Initial times and step sizes.
        m, q : ndarray, shape (r,) + m_shape and (r,) + q_shape
            Initial states in principal axes.
        steps : int, optional
            Number of steps. The default is 1.

        Returns
        -------
        m, q : ndarray, shape (r,) + m_shape and (r,) + q_shape
            States after the steps; NaN where they failed.
        """
        current = self.rows.new_state(self.method, m, q)
        current.status[~np.isfinite(m).reshape(len(m), -1).all(axis=-1)] = Status.NOT_FINITE
        saved = Saved(np.full((1, *m.shape), np.nan), np.full((1, *q.shape), np.nan))
        advance = self.rows.advance(self.method)
        bodies = self.bodies.take(row)
        clock = Clock(t, h, self.grid.low[stretch], self.grid.high[stretch])
        wanted = Wanted(steps, np.array([steps]))

        def work(start: int, stop: int) -> int:
            advance(bodies, clock, wanted, start, stop, current, saved)
            return 0

        self.rows.in_threads(work, len(m), steps * self.method.stages)
        self.current.torques[0] += current.torques.sum()
        return saved.m[0], saved.q[0]

    def of_steps(self, i: int) -> str:
        """Return the number of all steps of body `i`, for messages."""
        return f" of {self.count}"

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        clock = self._clock_of(i)
        t = min(max(self.method.time_of(self.current, i, clock), float(clock.low[0])), float(clock.high[0]))
        return t, self.current.m[i], self.current.q[i]

    def _clock_of(self, i: int) -> Clock:
        """Return the clock of the stretch of time in which body `i` is."""
        return self.grid.stretch(int(self.current.steps[i]))[0]

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and a step size that works, if one is found."""
        residual = float(self.current.residual[i])
        why = f"a step of {self.method!r} has no solution"
        why += f" (residual {residual:.1e})" if residual else ""
        why += self.rows.why_no_step(self.method, self.current, i, float(self._clock_of(i).h[0]))
        works = self._working_step(i)
        return f"{why}; {'no shorter step with a solution was found' if works is None else f'h = {works:.3g} has one'}"

    def _working_step(self, i: int) -> float | None:
        """Return a step size that works where body `i` failed, found by halving and refined by bisection."""
        good = None
        bad = abs(float(self._clock_of(i).h[0]))
        for _ in range(HALVINGS):
            if self._works(i, bad / 2):
                good = bad / 2
                break
            bad /= 2
        for _ in range(REFINEMENTS if good is not None else 0):
            middle = 0.5 * (good + bad)  # type: ignore[operator]
            good, bad = (middle, bad) if self._works(i, middle) else (good, middle)
        return good

    def _works(self, i: int, length: float) -> bool:
        """Return whether a step of size `length` from where body `i` failed has a solution."""
        t, m, q = self.failed_at(i)
        h = np.array([np.copysign(length, self.h)])
        stretch = np.array([self.grid.of(self.current.steps[i])])
        m, _ = self.single_steps(np.array([i]), stretch, np.array([t]), h, m[None], q[None])
        return bool(np.isfinite(m).all())


def _blocks(count: int, bodies: int) -> Iterator[IntArray]:
    """Yield the steps 0..count in blocks of increasing size, so that a run that ends early computes little more."""
    first = 0
    size = FIRST_BLOCK
    while first <= count:
        yield np.arange(first, min(first + size, count + 1))
        first += size
        size = max(2, min(2 * size, LARGEST_BLOCK // max(1, bodies)))


class FixedSolution(Solution):
    """Dense output of a run with fixed steps: whole steps from the last saved state, and one step of the remainder.

    The states at breaks of the torque are always saved, so that no steps are repeated across a break.
    """

    _run: FixedRun

    def __init__(
        self, run: FixedRun, steps: IntArray, m: FloatArray, q: FloatArray, event_finder: EventFinder | None = None
    ) -> None:
        """Store states m and q, of shape (k, n, ...), after the steps (k,), in principal axes."""
        self._run = run
        self._event_finder = event_finder
        self._steps = steps
        self._m, self._q = m, q

    @property
    def _ends(self) -> tuple[float, float]:
        """First and last time."""
        first, last = self._run.times(np.array([self._steps[0], self._run.count]))
        return float(first), float(last)

    def states(self, times: FloatArray) -> States:
        """Return the states of all rows at times (k,); those that are saved are copied together."""
        whole, saved = self._last_saved(times)
        m, q = self._m[saved], self._q[saved]
        others = np.flatnonzero((self._steps[saved] != whole) | (self._run.times(whole) != times))
        if len(others):
            _, m[others], q[others] = super().states(times[others])
        return States(times, m, q)

    def _last_saved(self, t: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the numbers of whole steps before times t, or at them, and the indices of the last saved states."""
        whole = np.maximum(self._run.grid.before(t), self._steps[0])
        return whole, np.searchsorted(self._steps, whole, side="right") - 1

    def rows(self, t: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) of shape (r, ...), in principal axes, at times t (r,) of rows with indices (r,)."""
        run = self._run
        steps = self._steps
        whole, saved = self._last_saved(t)
        stretch = run.grid.of(whole)
        m, q = self._m[saved, row], self._q[saved, row]
        missing = whole - steps[saved]
        for count in np.unique(missing[missing > 0]):
            some = np.flatnonzero(missing == count)
            start = run.times(steps[saved[some]])
            h = run.grid.h[stretch[some]]
            m[some], q[some] = run.single_steps(row[some], stretch[some], start, h, m[some], q[some], int(count))
        start = run.times(whole)
        some = np.flatnonzero(t != start)
        if len(some):
            h = (t - start)[some]
            m[some], q[some] = run.single_steps(row[some], stretch[some], start[some], h, m[some], q[some])
        return m, q
