"""Runs of methods that choose their steps, which each body of a batch has for itself."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.capacity import check_growth
from polhode.core.progress import Progress, Report
from polhode.integration.rows import Integrable, Rows, States
from polhode.integration.running import BY_TORQUE, FEWER_STATES, GOING, Run, Schedule, next_piece
from polhode.integration.solution import Solution
from polhode.integration.stretches import Stretches, checked_times
from polhode.kernels.stepping.header import NO_TIMES, BatchState, Clock, Interpolation, Saved, Wanted
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Between, Method

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder

LARGEST_PIECE = 2**18  # saved steps of all bodies together in one call
EVEN_STATES = 1001  # that a long run saves by default
LEAST_STEPS = 0.2  # in a time of one radian
WAITING = int(Status.ENDED_BY_EVENT)  # status of bodies that wait for others, so that loops do not advance them
NOBODY = np.empty(0, np.int64)  # indices of rows
MARKS = 1000  # resolution of the progress bar
StepRows = tuple[FloatArray, FloatArray, FloatArray]  # t, m and q


class OwnStepsRun(Run):
    """Run in which each body has its own steps.

    All bodies reach a break of the torque before any of them continues, with a first step size chosen as at the start.
    """

    current: BatchState

    def __init__(
        self, problem: Integrable, span: tuple[float, float], method: Method, longest: FloatArray | None = None
    ) -> None:
        """Prepare the run; `longest`, of shape (n,) or (1,), are step sizes that skip no feature, if already known."""
        super().__init__(problem, span, method)
        self.stretches = Stretches(span, self.rows.breaks)
        self.stretch = 0  # the index of the stretch in which all bodies are
        self.h = np.nan
        self._kept_size = 0.0  # bytes
        self._sign = 1.0 if self.t1 > self.t0 else -1.0
        # Blocks (k, n), (k, n) + m_shape and (k, n) + q_shape, with NaN where a row made fewer steps than others.
        self._kept: list[StepRows] = []

        def longest_steps() -> FloatArray:
            """Return the longest steps that skip no feature of the torque."""
            return self.rows.structure(span).longest if longest is None else longest

        self.current = self.rows.new_state(method, self.rows.m, self.rows.q, self.t0, longest_steps)

    def states_to_save(self, times: FloatArray | None, every: int, keep: bool) -> int:
        """Return the number of times and, if steps are kept, the least number of them that is to be expected."""
        of_times = 2 if times is None else len(times)
        if (not keep and (times is not None or self.batch)) or self.rows.is_exact(self.method):
            return of_times
        speed = float(np.max(self.rows.speed(self.rows.m[None]), initial=0.0))
        return of_times + int(min(LEAST_STEPS * speed * abs(self.t1 - self.t0), 2.0**62))

    def compute(
        self, times: FloatArray | None, every: int, keep: bool, finder: EventFinder | None, progress: bool | Report
    ) -> tuple[States, Solution | None]:
        """Run to the end; return the states to save, and the dense output if steps are kept.

        If `times` is None, the states are those of the steps of a single body, or start and end of a batch.
        """
        keep = keep or times is None or finder is not None
        wanted = NO_TIMES if times is None else times
        if times is None and self.batch:
            wanted = np.array([self.t0, self.t1])
        states = self._to_end(wanted, keep, finder, progress)
        if self.rows.is_exact(self.method) and not keep:  # start and end suffice
            self._kept = [self._start(), self._now()]
        sol = OwnStepsSolution(self, self._kept, finder) if self._kept else None
        if times is None and not self.batch:
            t, m, q = (_every_nth(array, every) for array in _by_body(self._kept)[0])
            states = States(t, m[:, None], q[:, None])
        return states, sol

    def end(self) -> States:
        """Run to the end, unless it is reached already, and return the states there."""
        if self.stretch == len(self.stretches.ends):
            return States(np.array([self.t1]), self.current.m[None], self.current.q[None])
        return self._to_end(np.array([self.t1]))

    def _to_end(
        self, times: FloatArray, keep: bool = False, finder: EventFinder | None = None, progress: bool | Report = False
    ) -> States:
        """Run to the end and return the states at `times` (k,)."""
        states = self.rows.not_reached(times)
        self._begin(keep)
        with Progress(progress, **self.progress()) if progress else nullcontext() as bar:
            try:
                self._advance(self.t1, states, keep, finder, bar)
            except KeyboardInterrupt:
                self.interrupted = True
        return states

    def at_times(self, times: FloatArray, bar: Progress) -> States:
        """Continue until all bodies have passed `times` (k,), and return the states there; NaN after a failure.

        Times must be in the order of integration, also from call to call.
        """
        self._begin(keep=not self._kept)
        self._kept_size = -inf  # steps are forgotten after the call: those of the whole time span need not fit
        try:
            self._advance(float(times[-1]), self.rows.not_reached(NO_TIMES), True, None, bar)
        except KeyboardInterrupt:
            self.interrupted = True
        states = OwnStepsSolution(self, self._kept).states(times)
        self._forget(float(times[-1]))
        return states

    def schedule(self, times: FloatArray | None, every: int) -> Schedule:
        """Return the states that a long run saves, at `times` or at evenly spaced times."""
        span = self.t0, self.t1
        saved = np.linspace(*span, EVEN_STATES) if times is None else checked_times(times, span)
        return Schedule(len(saved), 1, saved)

    def scheduled(self, schedule: Schedule, first: int, last: int, bar: Progress) -> States:
        """Continue, and return the states `first` to `last - 1` of a schedule."""
        assert schedule.times is not None
        return self.at_times(schedule.times[first:last], bar)

    @property
    def can_pause(self) -> bool:
        """Whether a snapshot can continue: always, because it includes the steps in which states are still to save."""
        return True

    def progress(self) -> dict[str, Any]:
        """Return the arguments of a progress bar of the run."""
        return {"count": MARKS, "start": self._mark(), "time_after": self._time_at, "unit": "thousandths"}

    def _mark(self) -> int:
        """Return the part of the time span that all bodies have passed, in thousandths."""
        passed = np.abs(self.current.t - self.t0).min(initial=abs(self.t1 - self.t0))
        return int(MARKS * passed / abs(self.t1 - self.t0))

    def _begin(self, keep: bool) -> None:
        """Keep the initial states, if `keep` is true."""
        self._kept_size = 0.0
        if keep:
            self._kept = [self._start()]

    def _start(self) -> StepRows:
        """Return times (1, n) and states (1, n, .) of the start."""
        return np.full((1, self.count_rows), self.t0), self.rows.m[None], self.rows.q[None]

    def _now(self) -> StepRows:
        """Return times (1, n) and states (1, n, .) that bodies have reached."""
        return self.current.t[None], self.current.m[None], self.current.q[None]

    def _forget(self, t: float) -> None:
        """Remove kept steps that are not required for times after `t`."""
        times, m, q = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        before = self._sign * times <= self._sign * t  # NaN is not
        last = len(times) - 1 - np.argmax(before[::-1], axis=0)  # of each body
        going = self.current.status == GOING
        first = last[going].min(initial=len(times) - 1)
        self._kept = [(times[first:], m[first:], q[first:])]

    def _time_at(self, mark: int) -> float:
        """Return the time at a mark of the progress bar."""
        return self.t0 + mark * (self.t1 - self.t0) / MARKS

    def _advance(
        self, target: float, states: States, keep: bool, finder: EventFinder | None, bar: Progress | None
    ) -> None:
        """Advance all bodies to the time `target` at least, in calls that take about PIECE_SECONDS each."""
        current = self.current
        while self.stretch < self.stretches.number:
            clock = self.stretches.window(self.stretch)
            goal = self._sign * min(self._sign * target, self._sign * clock.end)
            self._advance_in_stretch(clock, goal, states, keep, finder, bar)
            if goal != clock.end:
                return
            self.stretch += 1
            if self.stretch < self.stretches.number:
                current.h[current.status == GOING] = 0.0  # the first step after a break is chosen anew

    def _advance_in_stretch(
        self, clock: Clock, goal: float, states: States, keep: bool, finder: EventFinder | None, bar: Progress | None
    ) -> None:
        """Advance all bodies to the time `goal` at least, before the end of the clock."""
        current = self.current
        piece = self.first_piece
        number = self._number_behind(goal)
        while number:
            before = tuple(np.copy(array) for array in self._now()) if keep else ()
            saved = new_saved(self.rows, states, piece) if keep else Saved(states.m, states.q)
            waiting = NOBODY if number == self.count_rows else (current.status == GOING) & ~self._which_behind(goal)
            current.status[waiting] = WAITING
            try:
                elapsed = self.call(clock, Wanted(piece, times=states.t), saved, piece)
            finally:
                current.status[waiting] = GOING
            if keep:
                longest = saved.counts.max()
                block = saved.step_t[:longest], saved.step_m[:longest], saved.step_q[:longest]
                self._save(before, block, finder)
            if bar is not None:
                bar.show(self._mark())
            if number := self._number_behind(goal):
                piece = next_piece(piece, elapsed)
                piece = min(piece, max(2, LARGEST_PIECE // self.rows.size)) if keep else piece

    def _which_behind(self, goal: float) -> BoolArray:
        """Return which bodies continue and have not reached the time `goal`."""
        return (self.current.status == GOING) & (self._sign * (goal - self.current.t) > 0)

    def _number_behind(self, goal: float) -> int:
        """Return how many bodies continue and have not reached the time `goal`; of one body, without arrays."""
        current = self.current
        if self.count_rows == 1:
            return int(current.status.item() == GOING and self._sign * (goal - current.t.item()) > 0)
        return int(np.count_nonzero(self._which_behind(goal)))

    def _save(self, before: Any, block: StepRows, finder: EventFinder | None) -> None:
        """Keep steps (k, n, .) and search them for events; `before`, (1, n, .), are the states where they began."""
        self._kept.append(block)
        self._kept_size += sum(array.nbytes for array in block)
        check_growth("the steps of the run", self._kept_size, self._mark() / MARKS, FEWER_STATES)
        if finder is not None:
            t, m, q = (np.concatenate(pair) for pair in zip(before, block, strict=True))
            finder.search(t, m, q, OwnStepsSolution(self, [before, block]))

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all arrays that are needed to continue the run."""
        kept = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        steps = dict(zip(("step_t", "step_m", "step_q"), kept, strict=True)) if self._kept else {}
        return super().snapshot() | steps | {"stretch": np.array(self.stretch)}

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Restore a snapshot; results do not depend, to the bit, on whether the run was interrupted."""
        super().restore(snapshot)
        self.stretch = int(snapshot["stretch"])
        if "step_t" in snapshot:
            self._kept = [(snapshot["step_t"], snapshot["step_m"], snapshot["step_q"])]

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        current = self.current
        if current.status[i] in BY_TORQUE and np.isfinite(trouble := current.trouble[i]).all():
            k = self.stretches.at(current.t[i])
            t = np.clip(trouble[0], self.stretches.low[k], self.stretches.high[k])
            m, q = np.split(trouble[1:], [prod(self.rows.m_shape)])
            return float(t), m.reshape(self.rows.m_shape), q.reshape(self.rows.q_shape)
        return float(current.t[i]), current.m[i], current.q[i]

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and what to do."""
        return self.rows.why_no_step(self.method, self.current, i, np.nan)


def new_saved(rows: Rows, states: States, capacity: int) -> Saved:
    """Return the arrays of states, and arrays for the ends of `capacity` steps of each row."""
    steps = rows.not_reached(np.empty(capacity))
    times = np.full((capacity, rows.count), np.nan)
    return Saved(states.m, states.q, times, steps.m, steps.q, np.zeros(rows.count, np.int64))


def _every_nth(rows: FloatArray, every: int) -> FloatArray:
    """Return the rows 0, `every`, 2 `every` and so on, and the last one."""
    last = len(rows) - 1
    chosen = range(0, len(rows), every)
    return rows[::every] if last % every == 0 else rows[[*chosen, last]]


def _by_body(blocks: list[StepRows]) -> list[StepRows]:
    """Return the concatenated steps of each body, without the rows that are NaN."""
    t, m, q = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    valid = np.isfinite(t)
    return [(t[valid[:, i], i], m[valid[:, i], i], q[valid[:, i], i]) for i in range(t.shape[1])]


class OwnStepsSolution(Solution):
    """Dense output of a run with own steps: evaluates the step that contains a time, by ``Method.between``."""

    _run: OwnStepsRun

    def __init__(self, run: OwnStepsRun, blocks: list[StepRows], event_finder: EventFinder | None = None) -> None:
        """Store the run and blocks of its steps."""
        self._run = run
        self._event_finder = event_finder
        self._blocks = blocks

    @property
    def _ends(self) -> tuple[float, float]:
        """First and last time."""
        return self._run.t0, self._run.t1

    @cached_property
    def steps(self) -> Steps:
        """The steps of all rows, arranged when they are used."""
        return Steps.of(self._blocks)

    def rows(self, t: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) of shape (r, ...) at times t (r,) of rows (r,); NaN after the last step of a row."""
        steps, rows = self.steps, self._run.rows
        place = steps.places(t, row, 1.0 if self._run.t1 > self._run.t0 else -1.0)
        m, q = (np.full((len(t), *shape), np.nan) for shape in (rows.m_shape, rows.q_shape))
        known = np.flatnonzero((place >= 0) & (steps.t[place] == t))
        m[known], q[known] = steps.m[place[known]], steps.q[place[known]]
        within = np.flatnonzero((place >= 0) & (steps.t[place] != t))
        step = place[within]
        if np.any(step[1:] < step[:-1]):  # times in the same step have to follow each other
            order = np.argsort(step, kind="stable")
            within, step = within[order], step[order]
        if len(within):
            m[within], q[within] = self._within(t[within], step)
        return m, q

    def _within(self, t: FloatArray, step: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) at times t (r,) within the steps with these indices (r,)."""
        used, run = self.steps, self._run
        first, last = step.min(), step.max() + 1
        chosen = slice(first, last)
        m, q = used.m[chosen], used.q[chosen]
        ends = used.t[chosen], used.t[first + 1 : last + 1]
        m_out, q_out = (np.full((len(t), *array.shape[1:]), np.nan) for array in (m, q))
        between = run.rows.between(run.method)
        self._on_steps(between, used.row[chosen], ends, m, q, Times(t, step - first, m_out, q_out))
        return m_out, q_out

    @property
    def has_polynomials(self) -> bool:
        """Whether steps are polynomials."""
        return self._polynomials is not None

    @cached_property
    def _polynomials(self) -> Between | None:
        """The function that computes the polynomials of steps, if there are such."""
        return self._run.rows.polynomials(self._run.method)

    def polynomials(
        self, row: IntArray, ends: tuple[FloatArray, FloatArray], m: FloatArray, q: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the polynomials of k steps of rows (k,) from `ends[0]` to `ends[1]`, which begin at m and q.

        They are coefficients of shapes (k, order + 1, 3) and (k, order + 1, 4), in powers of the part of the step.
        """
        assert self._polynomials is not None
        count, orders = len(row), int(self._run.method.order) + 1
        out = np.empty((count, 3 * orders)), np.empty((count, 4 * orders))
        self._on_steps(self._polynomials, row, ends, m, q, Times(ends[1], np.arange(count), *out))
        return out[0].reshape(count, orders, 3), out[1].reshape(count, orders, 4)

    def _on_steps(
        self,
        function: Between,
        row: IntArray,
        ends: tuple[FloatArray, FloatArray],
        m: FloatArray,
        q: FloatArray,
        times: Times,
    ) -> None:
        """Call a function of times within steps on several threads; the steps are those of rows (k,)."""
        run = self._run
        bodies = run.bodies.take(row)
        stretch = run.stretches.at(ends[0])
        steps = bodies, *ends, run.stretches.low[stretch], run.stretches.high[stretch], m, q

        def work(start: int, stop: int) -> int:
            function(Interpolation(*steps, start, stop, *times))
            return 0

        run.rows.in_threads(work, len(times.t), run.method.stages)


class Times(NamedTuple):
    """Times t (n,) within steps with the indices ``step``, and arrays for the states at these times."""

    t: FloatArray
    step: IntArray
    m: FloatArray
    q: FloatArray


class Steps(NamedTuple):
    """States at the ends of the steps of all rows, row after row: a step leads from a state to the next one."""

    t: FloatArray  # (k,)
    m: FloatArray  # (k,) + m_shape
    q: FloatArray
    row: IntArray  # (k,)
    first: IntArray  # (n + 1,), where the states of a row begin

    @classmethod
    def of(cls, blocks: list[StepRows]) -> Steps:
        """Return the steps of blocks."""
        by_body = _by_body(blocks)
        t, m, q = (np.concatenate(parts) for parts in zip(*by_body, strict=True))
        counts = [len(steps[0]) for steps in by_body]
        return cls(t, m, q, np.repeat(np.arange(len(counts)), counts), np.cumsum([0, *counts]))

    def places(self, t: FloatArray, row: IntArray, sign: float) -> IntArray:
        """Return the indices of the last states of rows (r,) before times t (r,), or at them; -1 if there is none."""
        place = np.full(len(t), -1)
        for i in np.unique(row) if len(self.first) > 2 else range(len(self.first) - 1):
            own = np.flatnonzero(row == i) if len(self.first) > 2 else slice(None)
            first, end = self.first[i], self.first[i + 1]
            found = first + np.searchsorted(sign * self.t[first:end], sign * t[own], side="right") - 1
            is_known = (found >= first) & (sign * t[own] <= sign * self.t[end - 1] if end > first else False)
            place[own] = np.where(is_known, found, -1)
        return place
