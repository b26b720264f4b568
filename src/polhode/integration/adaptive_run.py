"""A run whose steps are chosen on the way, by each body alone."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.progress import Progress, Report
from polhode.core.threads import in_ranges
from polhode.integration.problem import Problem
from polhode.integration.running import NOT_FINITE, PIECE_SECONDS, RAISED, TOO_MANY, BaseRun
from polhode.integration.solution import Solution
from polhode.integration.stretches import Stretches
from polhode.integration.time_structure import time_structure
from polhode.methods.adaptive import Adaptive, AdaptiveBatchState

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder

FIRST_PIECE, LARGEST_PIECE = 1000, 2**18  # trials; and, of all bodies together, steps that are kept at a time
MARKS = 1000  # of the progress bar
Rows = tuple[FloatArray, FloatArray, FloatArray]


class AdaptiveRun(BaseRun):
    """Bodies that choose their own steps; ``steps`` has the (t, m, q) of each, if they are kept.

    All bodies come to a break of the torque before any goes on, with a first step as at the start.
    """

    method: Adaptive
    current: AdaptiveBatchState

    def __init__(
        self, problem: Problem, span: tuple[float, float], method: Adaptive, longest: FloatArray | None = None
    ) -> None:
        """``longest`` (n,) or (1,), the longest steps that pass over nothing, if that is already known."""
        super().__init__(problem, span, method)
        self.stretches = Stretches(span, self.force.breaks)
        if method.max_step is None and longest is None:
            longest = time_structure(self.force, self.bodies.params, span).longest
        self.current = method.new_batch_state(*self.start(), self.t0, inf if longest is None else longest)
        self.h = np.nan
        self._kept: list[Rows] = []  # blocks (k, n), (k, n, 3), (k, n, 4); NaN where a body made fewer steps

    def to_end(
        self,
        times: FloatArray | None = None,
        keep: bool = False,
        watch: EventFinder | None = None,
        progress: bool | Report = False,
    ) -> tuple[FloatArray, FloatArray]:
        """(m, q) at ``times`` (k,): rows (k, n, .) in principal axes."""
        n, at = self.count_bodies, np.empty(0) if times is None else times
        m, q = np.full((len(at), n, 3), np.nan), np.full((len(at), n, 4), np.nan)
        if keep:
            self._kept = [(self.current.t[None].copy(), self.current.m[None].copy(), self.current.q[None].copy())]
        self._load(m, q)
        began = time.perf_counter()
        with Progress(progress, MARKS, time_after=self._time_at, unit="thousandths") as bar:
            try:
                for k in range(len(self.stretches.ends)):
                    self.current.h[self.current.status == 0] = 0.0
                    self._advance(k, at, m, q, keep, watch, bar)
            except KeyboardInterrupt:
                self.interrupted = True
        self.seconds += time.perf_counter() - began
        return m, q

    def _time_at(self, mark: int) -> float:
        return self.t0 + mark * (self.t1 - self.t0) / MARKS

    def _load(self, m: FloatArray, q: FloatArray) -> None:
        """Compile the loop over steps, or load it from the cache, by a call for no body: runs are timed without it."""
        n, none = self.count_bodies, np.empty(0)
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
        watch: EventFinder | None,
        bar: Progress,
    ) -> None:
        """To the end of stretch number k, in pieces of about PIECE_SECONDS."""
        advance, current, n = self.method.advance(self.force), self.current, self.count_bodies
        piece, end = max(2, FIRST_PIECE // max(1, n)), float(self.stretches.ends[k])
        window = float(self.stretches.low[k]), float(self.stretches.high[k])
        while ((current.status == 0) & (current.t != end)).any():
            before = current.t[None].copy(), current.m[None].copy(), current.q[None].copy()
            cap = piece if keep else 0
            block = np.full((cap, n), np.nan), np.full((cap, n, 3), np.nan), np.full((cap, n, 4), np.nan)
            kept = np.zeros(n, np.int64)

            def work(start: int, stop: int, piece: int = piece, rows: Any = (*block, kept)) -> int:
                advance(self.bodies, window, end, times, piece, start, stop, current, m, q, *rows)
                return 0

            began = time.perf_counter()
            in_ranges(work, n, piece * self.method.stages)
            elapsed = time.perf_counter() - began
            if keep:
                made = kept.max()
                self._keep(before, (block[0][:made], block[1][:made], block[2][:made]), watch)
            reached = np.abs(current.t - self.t0).min() / abs(self.t1 - self.t0)
            bar.show(int(MARKS * reached))
            piece = max(1, int(piece * min(8.0, max(0.25, PIECE_SECONDS / max(elapsed, 1e-6)))))
            piece = min(piece, max(2, LARGEST_PIECE // n)) if keep else piece

    def _keep(self, before: Rows, block: Rows, watch: EventFinder | None) -> None:
        """Steps (k, n, .) that were made; ``before``, (1, n, .), is where they began."""
        self._kept.append(block)
        if watch is not None:
            t, m, q = (np.concatenate(pair) for pair in zip(before, block, strict=True))
            watch.look(t, m, q, AdaptiveSolution(self, _by_body([before, block])))

    def steps(self) -> list[Rows]:
        """(t (k,), m (k, 3), q (k, 4)) at the ends of its steps, of each body."""
        return _by_body(self._kept)

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        trouble, current = self.current.trouble[i], self.current
        if current.status[i] in (RAISED, NOT_FINITE) and np.isfinite(trouble).all():
            k = self.stretches.at(current.t[i])
            t = np.clip(trouble[0], self.stretches.low[k], self.stretches.high[k])
            return float(t), trouble[1:4], trouble[4:]
        return float(current.t[i]), current.m[i], current.q[i]

    def why_no_step(self, i: int) -> str:
        if self.current.status[i] == TOO_MANY:
            return (
                f"{self.method.max_steps} trial steps are used up, {int(self.current.rejected[i])} of them rejected; "
                "the torque may switch ever faster there; type Adaptive(rtol, max_steps=...) for more, or a larger rtol"
            )
        return (
            f"the steps that {self.method!r} needs are too short for the digits of t; "
            "the torque may be singular there, or a larger rtol may do"
        )


def _by_body(blocks: list[Rows]) -> list[Rows]:
    t, m, q = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    made = np.isfinite(t)
    return [(t[made[:, i], i], m[made[:, i], i], q[made[:, i], i]) for i in range(t.shape[1])]


class AdaptiveSolution(Solution):
    """The interpolant of the step in which a time lies; that step is repeated."""

    def __init__(self, run: AdaptiveRun, steps: list[Rows], watch: EventFinder | None = None) -> None:
        super().__init__(run, run.t0, run.t1, watch)
        self._adaptive, self._steps = run, steps

    def rows(self, t: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """NaN beyond a body's last step."""
        sign = 1.0 if self._run.t1 > self._run.t0 else -1.0
        ends, m, q = np.full((2, len(t)), np.nan), np.full((len(t), 3), np.nan), np.full((len(t), 4), np.nan)
        for i in np.unique(body):
            some, (at, m_kept, q_kept) = np.flatnonzero(body == i), self._steps[i]
            left = np.searchsorted(sign * at, sign * t[some], side="right") - 1
            inside = (left >= 0) & (sign * t[some] <= sign * at[-1])
            left, some = left[inside], some[inside]
            m[some], q[some] = m_kept[left], q_kept[left]
            ends[:, some] = at[left], at[np.minimum(left + 1, len(at) - 1)]
        within = np.flatnonzero(np.isfinite(ends[0]) & (ends[0] != t))
        if len(within):
            m[within], q[within] = self._within(t[within], body[within], ends[:, within], m[within], q[within])
        return m, q

    def _within(
        self, t: FloatArray, body: IntArray, ends: FloatArray, m: FloatArray, q: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        run = self._adaptive
        m_out, q_out = np.full_like(m, np.nan), np.full_like(q, np.nan)
        interpolate, bodies = run.method.interpolate(run.force), run.bodies.take(body)
        stretch = run.stretches.at(ends[0])
        when = ends[0].copy(), ends[1].copy(), run.stretches.low[stretch], run.stretches.high[stretch]

        def work(start: int, stop: int) -> int:
            interpolate(bodies, *when, start, stop, m, q, t, m_out, q_out)
            return 0

        in_ranges(work, len(t), run.method.stages)
        return m_out, q_out
