"""Division of a time span at the breaks of a torque into stretches on which it is smooth, and of these into steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import pairwise
from math import ceil, copysign, inf, isfinite, isinf, ulp
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite, show
from polhode.core.errors import InputError, ShapeError, TimeError
from polhode.kernels.stepping.header import AFTER_ALL, BEFORE_ALL, Clock

MARGIN = 8  # distance from a break, in spacings of doubles, at which the torque is evaluated: switches have round-off
UNUSED = np.array([np.nan])  # of steps that a method chooses
ENDLESS = 2**62  # number of steps of a stretch without end
ALMOST = 1 - 1e-12  # factor of a number of steps that allows for round-off
StepSize = float | FloatArray  # of all bodies, or an array of the shape of the batch
LEAST_STEP = 2  # shortest step, in spacings of doubles, so that no two steps end at the same time


class Stretches:
    """Stretches of a time span between the breaks of a torque, in the direction of the span.

    Attributes
    ----------
    number : int
        Number of stretches.
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
        # Most spans have no breaks: Python numbers are faster than arrays of length 1, which are made when needed.
        t0, t1 = float(span[0]), float(span[1])
        self._sign = 1.0 if t1 > t0 else -1.0
        self._breaks = {*breaks.tolist()}
        self._edges = [t0, t1]
        if self._breaks:
            inside = (t for t in self._breaks if min(span) < t < max(span))
            self._edges[1:1] = sorted(inside, reverse=t1 < t0)
        self.number = len(self._edges) - 1

    @cached_property
    def starts(self) -> FloatArray:
        """Start of each stretch."""
        return np.array(self._edges[:-1])

    @cached_property
    def ends(self) -> FloatArray:
        """End of each stretch."""
        return np.array(self._edges[1:])

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Times between which the torque is evaluated in each stretch, each of shape (k,)."""
        if not self._breaks:
            return BEFORE_ALL, AFTER_ALL
        limits = np.array([_limits_of(pair, self._breaks) for pair in pairwise(self._edges)])
        return limits[:, 0].copy(), limits[:, 1].copy()

    @property
    def low(self) -> FloatArray:
        """Time before which the torque is not evaluated in each stretch."""
        return self._limits[0]

    @property
    def high(self) -> FloatArray:
        """Time after which the torque is not evaluated in each stretch."""
        return self._limits[1]

    def at(self, t: FloatArray) -> IntArray:
        """Return the indices of the stretches that contain times t; a break belongs to the later stretch."""
        return (self._sign * self.starts[1:]).searchsorted(self._sign * t, side="right")

    def window(self, k: int) -> Clock:
        """Return the clock of stretch k for methods that choose their steps."""
        return Clock(UNUSED, UNUSED, *self.limits(k), 0, self._edges[k + 1])

    def limits(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return `low` and `high` of stretch k, each of shape (1,)."""
        if not self._breaks:
            return BEFORE_ALL, AFTER_ALL
        return self.low[k : k + 1], self.high[k : k + 1]


class Steps(Stretches):
    """Steps of equal size in each stretch, at least `least` of them and none longer than `length`.

    The first step has the number `number`. If the end of the span is infinite, steps of the last stretch have the size
    `length`, and there are ENDLESS of them.

    Attributes
    ----------
    first : ndarray of int, shape (k + 1,)
        Number of the step that begins each stretch; the last item is `count`.
    h : ndarray, shape (k,)
        Step size in each stretch.
    longest : float
        Longest step size.
    count : int
        Number of the step that would follow the last one: the number of all steps if `number` is 0.

    Examples
    --------
    >>> Steps((0.0, 100.0), np.array([30.0, 31.0]), 0.4).h.round(6)
    array([0.4     , 0.333333, 0.398844])
    """

    def __init__(
        self, span: tuple[float, float], breaks: FloatArray, length: float, least: int = 1, number: int = 0
    ) -> None:
        """Divide each stretch of `span` into steps."""
        super().__init__(span, breaks)
        self._first, self._h = [number], []
        for start, end in pairwise(self._edges):
            count = ENDLESS if isinf(end) else max(least, step_count((start, end), length))
            self._first.append(self._first[-1] + count)
            self._h.append(copysign(length, end) if isinf(end) else (end - start) / count)
        self.count = self._first[-1]
        self.longest = max(self._h, key=abs)
        self._clocks: dict[int, Clock] = {}

    @cached_property
    def first(self) -> IntArray:
        """Number of the step that begins each stretch; the last item is `count`."""
        return np.array(self._first)

    @cached_property
    def h(self) -> FloatArray:
        """Step size in each stretch."""
        return np.array(self._h)

    @property
    def begins(self) -> int:
        """Number of the first step."""
        return self._first[0]

    def of(self, steps: IntArray | int) -> IntArray:
        """Return the indices of the stretches that contain the steps of the given numbers."""
        return self.first[1:-1].searchsorted(steps, side="right")

    def times(self, steps: IntArray | int) -> FloatArray:
        """Return the times after numbers of steps, without accumulated round-off."""
        if self.number == 1:  # Python numbers give the same bits without the cost of indices
            since = steps - self._first[0] if self._first[0] else steps
            return np.asarray(self._edges[0] + since * self._h[0], dtype=np.float64)
        k = self.of(steps)
        return np.asarray(self.starts[k] + (steps - self.first[k]) * self.h[k], dtype=np.float64)

    def time(self, step: int) -> float:
        """Return the time after a number of steps, to the bits of `times`."""
        k = bisect_right(self._first, step, 1, len(self._first) - 1) - 1
        return self._edges[k] + (step - self._first[k]) * self._h[k]

    def last_before(self, t: float) -> int:
        """Return the number of steps after which one more step, not longer up to round-off, ends at the time `t`."""
        k = bisect_left(self._edges, self._sign * t, 1, len(self._edges) - 1, key=self._sign.__mul__) - 1
        steps = (t - self._edges[k]) / self._h[k]
        return self._first[k] + max(0, ceil(ALMOST * steps) - 1)

    def before(self, t: FloatArray) -> IntArray:
        """Return the number of steps that end at or before times t."""
        k = self.at(t)
        within = self.first[k + 1] - self.first[k] - (self.first[k + 1] < self.count)
        whole = np.floor((t - self.starts[k]) / self.h[k]).astype(np.int64)
        return np.asarray(self.first[k] + np.clip(whole, 0, within))

    def stretch(self, step: int) -> tuple[Clock, int]:
        """Return the clock of the stretch that contains the step of a number, and the number that ends it."""
        k = bisect_right(self._first, step, 1, len(self._first) - 1) - 1
        if k not in self._clocks:
            low, high = self.limits(k) if self._breaks else (BEFORE_ALL, AFTER_ALL)
            start, size = np.array([self._edges[k]]), np.array([self._h[k]])
            self._clocks[k] = Clock(start, size, low, high, self._first[k])
        return self._clocks[k], self._first[k + 1]


def _limits_of(stretch: tuple[float, float], breaks: set[float]) -> tuple[float, float]:
    """Return the times between which the torque is evaluated in a stretch."""
    left, right = sorted(stretch)
    latest = max(abs(t) for t in (left, right) if isfinite(t))
    margin = min(MARGIN * ulp(latest), 0.5 * (right - left))
    return left + margin if left in breaks else -inf, right - margin if right in breaks else inf


def checked_times(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """Return `t_eval` as an array (k,); raise TimeError unless it is within the time span and in its direction."""
    times = times_within(t_eval, span)
    before, after = (times[:-1], times[1:]) if span[1] > span[0] else (times[1:], times[:-1])
    if np.count_nonzero(after < before):
        back = "[::-1]" if span[1] < span[0] else ""
        raise TimeError(
            f"t_eval is not in order; expected times in the direction of t_span; type numpy.sort(t_eval){back}"
        )
    return times


def times_within(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """Return `t_eval` as an array of shape (k,); raise TimeError unless all times are finite and within the span."""
    times = finite_times(t_eval)
    low, high = sorted(span)
    if np.count_nonzero((times < low) | (times > high)):
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
    if type(h) is float and 0 < h < inf:
        return h
    length = as_floats(h, "h")
    if length.shape or not 0 < length < inf:
        raise TimeError(f"h = {h!r}: expected one positive finite number (the direction is that of t_span)")
    return float(length)


def step_lengths(h: npt.ArrayLike, batch: tuple[int, ...]) -> FloatArray:
    """Return the step sizes of all bodies of a batch, as an array (n,); raise an error unless all can be steps."""
    lengths = as_floats(h, "h")
    own = lengths.shape
    if len(own) > len(batch) or any(k not in (1, n) for k, n in zip(own[::-1], batch[::-1], strict=False)):
        shape = f"one number, or an array of the shape {batch} of the batch" if batch else "one number"
        raise ShapeError(f"h has shape {own}; expected {shape}")
    wrong = ~((lengths > 0) & (lengths < inf))
    if wrong.any():
        raise TimeError(
            f"h contains {show(lengths[wrong][:4])}: expected positive finite numbers (the direction is that of t_span)"
        )
    return np.broadcast_to(lengths, batch).reshape(-1)


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
    return max(1, ceil(duration / length * ALMOST))


def step_counts(stretches: Stretches, lengths: FloatArray, least: int) -> IntArray:
    """Return the numbers of steps (k, n) in k stretches of n bodies with these step sizes, as ``Steps`` has them."""
    durations = np.abs(stretches.ends - stretches.starts)
    counts = np.ceil(durations[:, None] / lengths * ALMOST)
    return np.maximum(np.minimum(counts, ENDLESS), least).astype(np.int64)
