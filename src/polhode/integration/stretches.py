"""Division of a time span at the breaks of a torque into stretches on which it is smooth, and of these into steps."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import ceil, inf, ulp
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite, show
from polhode.core.errors import InputError, TimeError
from polhode.kernels.stepping.header import Clock

MARGIN = 8  # distance from a break, in spacings of doubles, at which the torque is evaluated: switches have round-off
NO_SIZE = np.array([np.nan])  # of steps that a method chooses
LEAST_STEP = 2  # shortest step, in spacings of doubles, so that no two steps end at the same time


class Stretches:
    """Stretches of a time span between the breaks of a torque, in the direction of the span.

    Attributes
    ----------
    starts, ends : ndarray, shape (k,)
        Start and end of each stretch: breaks, except for the first start and the last end.
    low, high : ndarray, shape (k,)
        Times between which the torque is evaluated: limits slightly inside the stretch at breaks, infinite elsewhere.

    Examples
    --------
    >>> Stretches((0.0, 100.0), np.array([30.0, 31.0])).ends
    array([ 30.,  31., 100.])
    """

    def __init__(self, span: tuple[float, float], breaks: FloatArray) -> None:
        """Divide `span` at those of the `breaks`, in ascending order, that are inside it."""
        # Most spans have no breaks: lists of Python numbers are faster than arrays of length 1.
        t0, t1 = span
        self._sign = 1.0 if t1 > t0 else -1.0
        jumps = breaks.tolist()
        inside = [t for t in jumps if min(span) < t < max(span)]
        self._edges = [t0, *(inside if t1 > t0 else inside[::-1]), t1]
        edges = np.array(self._edges)
        self.starts, self.ends = edges[:-1], edges[1:]
        limits = np.array([_limits(*sorted(pair), set(jumps)) for pair in pairwise(self._edges)])
        self.low, self.high = limits.T.copy()

    def at(self, t: FloatArray) -> IntArray:
        """Return the indices of the stretches that contain times t; a break belongs to the later stretch."""
        return (self._sign * self.starts[1:]).searchsorted(self._sign * t, side="right")

    def window(self, k: int) -> Clock:
        """Return the clock of stretch k for methods that choose their steps."""
        row = slice(k, k + 1)
        return Clock(self.starts[row], NO_SIZE, self.low[row], self.high[row], 0, float(self.ends[k]))


class Steps(Stretches):
    """Steps of equal size in each stretch, at least `least` of them and none longer than `length`.

    Attributes
    ----------
    first : ndarray of int, shape (k + 1,)
        Number of the step that begins each stretch; the last item is `count`.
    h : ndarray, shape (k,)
        Step size in each stretch.
    count : int
        Number of all steps.

    Examples
    --------
    >>> Steps((0.0, 100.0), np.array([30.0, 31.0]), 0.4).h.round(6)
    array([0.4     , 0.333333, 0.398844])
    """

    def __init__(self, span: tuple[float, float], breaks: FloatArray, length: float, least: int = 1) -> None:
        """Divide each stretch of `span` into steps."""
        super().__init__(span, breaks)
        stretches = list(pairwise(self._edges))
        counts = [max(least, step_count(stretch, length)) for stretch in stretches]
        self.first = np.array(list(accumulate(counts, initial=0)))
        self.h = np.array([(end - start) / count for (start, end), count in zip(stretches, counts, strict=True)])
        self.count = sum(counts)

    def of(self, steps: IntArray | int) -> IntArray:
        """Return the indices of the stretches that contain the steps of the given numbers."""
        return self.first[1:-1].searchsorted(steps, side="right")

    def times(self, steps: IntArray | int) -> FloatArray:
        """Return the times after numbers of steps, without accumulated round-off."""
        k = self.of(steps)
        return np.asarray(self.starts[k] + (steps - self.first[k]) * self.h[k], dtype=np.float64)

    def before(self, t: FloatArray) -> IntArray:
        """Return the number of steps that end at or before times t."""
        k = self.at(t)
        within = self.first[k + 1] - self.first[k] - (self.first[k + 1] < self.count)
        whole = np.floor((t - self.starts[k]) / self.h[k]).astype(np.int64)
        return np.asarray(self.first[k] + np.clip(whole, 0, within))

    def clock(self, k: int) -> Clock:
        """Return the clock of stretch k, which is the same for all bodies."""
        row = slice(k, k + 1)
        return Clock(self.starts[row], self.h[row], self.low[row], self.high[row], int(self.first[k]))


def _limits(left: float, right: float, breaks: set[float]) -> tuple[float, float]:
    """Return the times between which the torque is evaluated in the stretch from `left` to `right`."""
    margin = min(MARGIN * ulp(max(abs(left), abs(right))), 0.5 * (right - left))
    return left + margin if left in breaks else -inf, right - margin if right in breaks else inf


def checked_times(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """Return `t_eval` as an array (k,); raise TimeError unless it is within the time span and in its direction."""
    times = times_within(t_eval, span)
    if (np.diff(times) * (span[1] - span[0]) < 0).any():
        back = "[::-1]" if span[1] < span[0] else ""
        raise TimeError(
            f"t_eval is not in order; expected times in the direction of t_span; type numpy.sort(t_eval){back}"
        )
    return times


def times_within(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """Return `t_eval` as an array of shape (k,); raise TimeError unless all times are finite and within the span."""
    times = finite_times(t_eval)
    low, high = sorted(span)
    if not ((times >= low) & (times <= high)).all():
        raise TimeError(f"t_eval: expected times (k,) between {low:g} and {high:g}; got {show(times[:4])}...")
    return times


def finite_times(t_eval: npt.ArrayLike) -> FloatArray:
    """Return `t_eval` as an array of shape (k,); raise TimeError unless all times are finite."""
    times = as_floats(t_eval, "t_eval")
    check_finite(times, "t_eval", TimeError)
    if times.ndim != 1:
        raise TimeError(f"t_eval has shape {times.shape}; expected times (k,)")
    return times


def step_length(h: Any) -> float:
    """Return the step size as a float; raise an error unless it is one positive finite number."""
    if h is None:
        raise InputError("h is missing; expected the step size, such as h=0.01")
    length = as_floats(h, "h")
    if length.shape or not 0 < length < inf:
        raise TimeError(f"h = {h!r}: expected one positive finite number (the direction is that of t_span)")
    return float(length)


def step_count(span: tuple[float, float], length: float) -> int:
    """Return the number of equal steps, no longer than `length`, that make up the span."""
    duration = abs(span[1] - span[0])
    latest = max(map(abs, span))
    spacing = ulp(latest)
    if length < min(duration, LEAST_STEP * spacing):
        raise TimeError(
            f"h = {length:g}: a step must be longer than the spacing of doubles, which is {spacing:.2g} at t = "
            f"{latest:g}, because t does not change otherwise; expected h of at least {LEAST_STEP * spacing:.2g}"
        )
    return max(1, ceil(duration / length * (1 - 1e-12)))
