"""Dense output of a run: states at any time, by repeating steps from the last saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite, show
from polhode.core.errors import TimeError
from polhode.integration.rows import States

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder
    from polhode.integration.fixed_run import FixedRun
    from polhode.integration.running import Run


class Solution(ABC):
    """Callable that returns the states at any times of a run; NaN after a body stopped."""

    _run: Run
    _event_finder: EventFinder | None  # it knows when bodies stopped

    @property
    @abstractmethod
    def _ends(self) -> tuple[float, float]:
        """First and last time."""

    @property
    def t_min(self) -> float:
        """Earliest time."""
        return min(self._ends)

    @property
    def t_max(self) -> float:
        """Latest time."""
        return max(self._ends)

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, ...]:
        """Return the states at times `t`.

        Parameters
        ----------
        t : array_like, shape (...)
            Times within the time span of the run.

        Returns
        -------
        tuple of ndarray
            For bodies m, of shape (...) + batch + (3,), in body axes, and q, (...) + batch + (4,). For a system of n
            bodies x, p, m, of shape (...) + (n, 3), and q, (...) + (n, 4).

        Raises
        ------
        TimeError
            If a time is not finite, or outside the time span.
        """
        times = as_floats(t, "t", units=self._run.problem.units)
        check_finite(times[..., None], "t", TimeError)
        outside = (times < self.t_min) | (times > self.t_max)
        if outside.any():
            raise TimeError(
                f"sol(t): expected t from {self.t_min:g} to {self.t_max:g}; got {show(times[outside].ravel()[:4])}"
            )
        run = self._run
        _, m, q = self.states(times.ravel())
        if self._event_finder is not None:
            late = self._event_finder.after_stop(times.ravel())
            m[late], q[late] = np.nan, np.nan
        return tuple(array.reshape(*times.shape, *array.shape[1:]) for array in run.rows.to_user(m, q))

    def states(self, times: FloatArray) -> States:
        """Return the states of all rows at times (k,)."""
        n = self._run.count_rows
        arrays = self.rows(np.repeat(times, n), np.tile(np.arange(n), len(times)))
        return States(times, *(array.reshape(len(times), n, *array.shape[1:]) for array in arrays))

    @abstractmethod
    def rows(self, t: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) of shape (r, ...), in principal axes, at times t (r,) of rows with indices (r,)."""


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
