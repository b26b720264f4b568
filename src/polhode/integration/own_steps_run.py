"""Runs with adaptive step sizes, which each body of a batch chooses independently."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.progress import Progress, Report
from polhode.core.threads import in_ranges
from polhode.integration.problem import Problem
from polhode.integration.running import BY_TORQUE, PIECE_SECONDS, BaseRun
from polhode.integration.solution import Solution
from polhode.integration.stretches import Stretches
from polhode.integration.time_structure import time_structure
from polhode.kernels.stepping.status import Status
from polhode.methods.adaptive import Adaptive, AdaptiveBatchState

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder

FIRST_PIECE = 1000  # trial steps of all bodies together in the first call of the compiled loop
LARGEST_PIECE = 2**18  # saved steps of all bodies together in one call
MARKS = 1000  # resolution of the progress bar
Rows = tuple[FloatArray, FloatArray, FloatArray]


class AdaptiveRun(BaseRun):
    """Run in which each body chooses its own steps; `steps` returns the saved (t, m, q) of each body.

    All bodies reach a break of the torque before any of them continues, with a first step size chosen as at the start.
    """

    method: Adaptive
    current: AdaptiveBatchState

    def __init__(
        self, problem: Problem, span: tuple[float, float], method: Adaptive, longest: FloatArray | None = None
    ) -> None:
        """Prepare the run; `longest`, of shape (n,) or (1,), are step sizes that skip no feature, if already known."""
        super().__init__(problem, span, method)
        self.stretches = Stretches(span, self.force.breaks)
        if method.max_step is None and longest is None:
            longest = time_structure(self.force, self.bodies.params, span).longest
        self.current = method.new_batch_state(*self.start(), self.t0, inf if longest is None else longest)
        self.h = np.nan
        # Blocks of shapes (k, n), (k, n, 3) and (k, n, 4), with NaN where a body made fewer steps than others.
        self._saved_steps: list[Rows] = []

    def to_end(
        self,
        times: FloatArray | None = None,
        keep: bool = False,
        event_finder: EventFinder | None = None,
        progress: bool | Report = False,
    ) -> tuple[FloatArray, FloatArray]:
        """Run to the end and return (m, q) at `times` (k,): arrays (k, n, 3) and (k, n, 4) in principal axes."""
        n = self.count_bodies
        at = np.empty(0) if times is None else times
        m, q = np.full((len(at), n, 3), np.nan), np.full((len(at), n, 4), np.nan)
        if keep:
            self._saved_steps = [
                (self.current.t[None].copy(), self.current.m[None].copy(), self.current.q[None].copy())
            ]
        self._load(m, q)
        began = time.perf_counter()
        with Progress(progress, MARKS, time_after=self._time_at, unit="thousandths") as bar:
            try:
                for k in range(len(self.stretches.ends)):
                    self.current.h[self.current.status == 0] = 0.0
                    self._advance(k, at, m, q, keep, event_finder, bar)
            except KeyboardInterrupt:
                self.interrupted = True
        self.seconds += time.perf_counter() - began
        return m, q

    def _time_at(self, mark: int) -> float:
        """Return the time at a mark of the progress bar."""
        return self.t0 + mark * (self.t1 - self.t0) / MARKS

    def _load(self, m: FloatArray, q: FloatArray) -> None:
        """Compile the loop over steps, or load it from the cache, so that compilation does not count as run time.

        The loop is called for an empty range of bodies.
        """
        n = self.count_bodies
        none = np.empty(0)
        rows = np.empty((0, n)), np.empty((0, n, 3)), np.empty((0, n, 4)), np.zeros(n, np.int64)
        window = -inf, inf
        self.method.advance(self.force)(self.bodies, window, self.t1, none, 1, 0, 0, self.current, m, q, *rows)

    def _advance(
        self,
        k: int,
        times: FloatArray,
        m: FloatArray,
        q: FloatArray,
        keep: bool,
        event_finder: EventFinder | None,
        bar: Progress,
    ) -> None:
        """Advance all bodies to the end of stretch k, in calls that take about PIECE_SECONDS each."""
        advance = self.method.advance(self.force)
        current = self.current
        n = self.count_bodies
        piece = max(2, FIRST_PIECE // max(1, n))
        end = float(self.stretches.ends[k])
        window = float(self.stretches.low[k]), float(self.stretches.high[k])
        while ((current.status == 0) & (current.t != end)).any():
            before = current.t[None].copy(), current.m[None].copy(), current.q[None].copy()
            capacity = piece if keep else 0
            block = (
                np.full((capacity, n), np.nan),
                np.full((capacity, n, 3), np.nan),
                np.full((capacity, n, 4), np.nan),
            )
            counts = np.zeros(n, np.int64)  # saved steps of each body

            def work(start: int, stop: int, piece: int = piece, rows: Any = (*block, counts)) -> int:
                advance(self.bodies, window, end, times, piece, start, stop, current, m, q, *rows)
                return 0

            began = time.perf_counter()
            in_ranges(work, n, piece * self.method.stages)
            elapsed = time.perf_counter() - began
            if keep:
                longest = counts.max()
                self._save(before, (block[0][:longest], block[1][:longest], block[2][:longest]), event_finder)
            reached = np.abs(current.t - self.t0).min() / abs(self.t1 - self.t0)
            bar.show(int(MARKS * reached))
            piece = max(1, int(piece * min(8.0, max(0.25, PIECE_SECONDS / max(elapsed, 1e-6)))))
            piece = min(piece, max(2, LARGEST_PIECE // n)) if keep else piece

    def _save(self, before: Rows, block: Rows, event_finder: EventFinder | None) -> None:
        """Save steps (k, n, .) and search them for events; `before`, (1, n, .), are the states where they began."""
        self._saved_steps.append(block)
        if event_finder is not None:
            t, m, q = (np.concatenate(pair) for pair in zip(before, block, strict=True))
            event_finder.search(t, m, q, AdaptiveSolution(self, _by_body([before, block])))

    def steps(self) -> list[Rows]:
        """Return, for each body, arrays t (k,), m (k, 3) and q (k, 4) at the ends of its steps."""
        return _by_body(self._saved_steps)

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        current = self.current
        trouble = current.trouble[i]
        if current.status[i] in BY_TORQUE and np.isfinite(trouble).all():
            k = self.stretches.at(current.t[i])
            t = np.clip(trouble[0], self.stretches.low[k], self.stretches.high[k])
            return float(t), trouble[1:4], trouble[4:]
        return float(current.t[i]), current.m[i], current.q[i]

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and what to do."""
        if self.current.status[i] == Status.TOO_MANY_STEPS:
            return (
                f"{self.method.max_steps} trial steps are used up, {int(self.current.rejected[i])} of them rejected; "
                "the torque may switch ever faster there; type Adaptive(rtol, max_steps=...) for more, or increase rtol"
            )
        return (
            f"{self.method!r} needs steps that are shorter than the spacing of floating-point numbers at t; "
            "the torque may be singular there; a larger rtol may help"
        )


def _by_body(blocks: list[Rows]) -> list[Rows]:
    """Return the concatenated steps of each body, without the rows that are NaN."""
    t, m, q = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    valid = np.isfinite(t)
    return [(t[valid[:, i], i], m[valid[:, i], i], q[valid[:, i], i]) for i in range(t.shape[1])]


class AdaptiveSolution(Solution):
    """Dense output of an adaptive run: repeats the step that contains a time, and interpolates within it."""

    def __init__(self, run: AdaptiveRun, steps: list[Rows], event_finder: EventFinder | None = None) -> None:
        """Store the run and its steps: for each body, arrays t (k,), m (k, 3) and q (k, 4)."""
        super().__init__(run, run.t0, run.t1, event_finder)
        self._adaptive = run
        self._steps = steps

    def rows(self, t: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q), of shapes (r, 3) and (r, 4), at times t (r,) of bodies (r,); NaN after a body's last step."""
        sign = 1.0 if self._run.t1 > self._run.t0 else -1.0
        ends = np.full((2, len(t)), np.nan)
        m, q = np.full((len(t), 3), np.nan), np.full((len(t), 4), np.nan)
        for i in np.unique(body):
            rows = np.flatnonzero(body == i)
            t_steps, m_steps, q_steps = self._steps[i]
            left = np.searchsorted(sign * t_steps, sign * t[rows], side="right") - 1
            inside = (left >= 0) & (sign * t[rows] <= sign * t_steps[-1])
            left, rows = left[inside], rows[inside]
            m[rows], q[rows] = m_steps[left], q_steps[left]
            ends[:, rows] = t_steps[left], t_steps[np.minimum(left + 1, len(t_steps) - 1)]
        within = np.flatnonzero(np.isfinite(ends[0]) & (ends[0] != t))
        if len(within):
            m[within], q[within] = self._within(t[within], body[within], ends[:, within], m[within], q[within])
        return m, q

    def _within(
        self, t: FloatArray, body: IntArray, ends: FloatArray, m: FloatArray, q: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) at times t (r,) inside steps from `ends[0]` to `ends[1]`, which begin at states m and q."""
        run = self._adaptive
        m_out, q_out = np.full_like(m, np.nan), np.full_like(q, np.nan)
        interpolate = run.method.interpolate(run.force)
        bodies = run.bodies.take(body)
        stretch = run.stretches.at(ends[0])
        intervals = ends[0].copy(), ends[1].copy(), run.stretches.low[stretch], run.stretches.high[stretch]

        def work(start: int, stop: int) -> int:
            interpolate(bodies, *intervals, start, stop, m, q, t, m_out, q_out)
            return 0

        in_ranges(work, len(t), run.method.stages)
        return m_out, q_out
