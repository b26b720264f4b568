"""States at any time of a run: steps are repeated from the last state that was kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite, show
from polhode.core.errors import TimeError

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder
    from polhode.integration.running import BaseRun, Run


class Solution(ABC):
    """(m, q) at any times between the first and the last that the run reached; NaN after a body stopped."""

    def __init__(self, run: BaseRun, first: float, last: float, watch: EventFinder | None = None) -> None:
        self._run, self._watch = run, watch
        self.t_min, self.t_max = min(first, last), max(first, last)

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """States at times (...): m (...) + batch + (3,), q (...) + batch + (4,)."""
        times = as_floats(t, "t")
        check_finite(times[..., None], "t", TimeError)
        outside = (times < self.t_min) | (times > self.t_max)
        if outside.any():
            raise TimeError(
                f"sol knows t from {self.t_min:g} to {self.t_max:g}; got {show(times[outside].ravel()[:4])}"
            )
        run, n = self._run, self._run.count_bodies
        m, q = self.rows(np.repeat(times.ravel(), n), np.tile(np.arange(n), times.size))
        m, q = m.reshape(times.size, n, 3), q.reshape(times.size, n, 4)
        if self._watch is not None:
            late = self._watch.after_stop(times.ravel())
            m[late], q[late] = np.nan, np.nan
        m, q = run.to_user(m, q)
        return m.reshape(*times.shape, *run.batch, 3), q.reshape(*times.shape, *run.batch, 4)

    @abstractmethod
    def rows(self, t: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """(m, q) (r, .) in principal axes at times t (r,), each of the body with that number."""


class FixedSolution(Solution):
    """Of steps of one length: whole steps from the last state kept, and one of the remaining length.

    States at breaks are among those kept, or all states on the way are: so no steps are repeated across a break.
    """

    def __init__(
        self, run: Run, steps: IntArray, m: FloatArray, q: FloatArray, watch: EventFinder | None = None
    ) -> None:
        first, last = run.times(np.array([steps[0], run.count]))
        super().__init__(run, float(first), float(last), watch)
        self._fixed, self._steps, self._m, self._q = run, steps, m, q

    def rows(self, t: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        run, steps = self._fixed, self._steps
        whole = np.maximum(run.grid.before(t), steps[0])
        stretch = run.grid.of(whole)
        kept = np.searchsorted(steps, whole, side="right") - 1
        m, q, missing = self._m[kept, body], self._q[kept, body], whole - steps[kept]
        for count in np.unique(missing[missing > 0]):
            some = np.flatnonzero(missing == count)
            start, h = run.times(steps[kept[some]]), run.grid.h[stretch[some]]
            m[some], q[some] = run.single_steps(body[some], stretch[some], start, h, m[some], q[some], int(count))
        start = run.times(whole)
        some = np.flatnonzero(t != start)
        if len(some):
            h = (t - start)[some]
            m[some], q[some] = run.single_steps(body[some], stretch[some], start[some], h, m[some], q[some])
        return m, q
