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
