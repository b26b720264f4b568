"""A time span, cut where a torque has breaks: on each stretch the torque is smooth, and whole steps make it up."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats
from polhode.core.errors import InputError, TimeError
from polhode.methods.method import Clock

MARGIN = 8  # spacings of doubles from a break at which the torque is evaluated: a switch may be off by some roundings
LEAST_STEP = 2  # spacings of doubles: then no two steps end at the same time


class Stretches:
    """The stretches of a span, in its direction: (k,) ``starts`` and ``ends``, which are breaks but for t0 and t1.

    Torques are evaluated at times from ``low`` to ``high`` (k,). At a break, these are the limits from within.

    >>> Stretches((0.0, 100.0), np.array([30.0, 31.0])).ends
    array([ 30.,  31., 100.])
    """

    def __init__(self, span: tuple[float, float], breaks: FloatArray) -> None:
        t0, t1 = span
        self._sign = 1.0 if t1 > t0 else -1.0
        inside = breaks[(breaks > min(span)) & (breaks < max(span))]
        cuts = inside if t1 > t0 else inside[::-1]
        self.starts, self.ends = np.append(t0, cuts), np.append(cuts, t1)
        left, right = np.minimum(self.starts, self.ends), np.maximum(self.starts, self.ends)
        margin = np.minimum(MARGIN * np.spacing(np.maximum(np.abs(left), np.abs(right))), 0.5 * (right - left))
        self.low = np.where(np.isin(left, breaks), left + margin, -np.inf)
        self.high = np.where(np.isin(right, breaks), right - margin, np.inf)

    def at(self, t: FloatArray) -> IntArray:
        """The numbers of the stretches that times belong to; a break belongs to the one that it begins."""
        return np.searchsorted(self._sign * self.starts[1:], self._sign * t, side="right")


class Steps(Stretches):
    """Steps of one length in each stretch, no longer than ``length``, and ``least`` of them or more; ``count`` in all.

    >>> Steps((0.0, 100.0), np.array([30.0, 31.0]), 0.4).h.round(6)
    array([0.4     , 0.333333, 0.398844])
    """

    def __init__(self, span: tuple[float, float], breaks: FloatArray, length: float, least: int = 1) -> None:
        super().__init__(span, breaks)
        ends = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        counts = np.array([max(least, step_count(stretch, length)) for stretch in ends], dtype=np.int64)
        self.first = np.append(0, np.cumsum(counts))  # (k + 1,): the step that begins a stretch; and the count of all
        self.h = (self.ends - self.starts) / counts
        self.count = int(self.first[-1])

    def of(self, steps: IntArray | int) -> IntArray:
        """The numbers of the stretches to which step numbers belong."""
        return np.searchsorted(self.first[1:-1], steps, side="right")

    def times(self, steps: IntArray | int) -> FloatArray:
        """After so many steps: never a sum."""
        k = self.of(steps)
        return np.asarray(self.starts[k] + (steps - self.first[k]) * self.h[k], dtype=np.float64)

    def before(self, t: FloatArray) -> IntArray:
        """The number of steps that end at t or before."""
        k = self.at(t)
        within = self.first[k + 1] - self.first[k] - (self.first[k + 1] < self.count)
        whole = np.floor((t - self.starts[k]) / self.h[k]).astype(np.int64)
        return np.asarray(self.first[k] + np.clip(whole, 0, within))

    def clock(self, k: int) -> Clock:
        """Of all bodies in one stretch."""
        row = slice(k, k + 1)
        return Clock(self.starts[row], self.h[row], self.low[row], self.high[row], int(self.first[k]))


def step_length(h: Any) -> float:
    """One positive finite number."""
    if h is None:
        raise InputError("h is missing: give the length of a step, such as h=0.01")
    length = as_floats(h, "h")
    if length.shape or not np.isfinite(length) or not length > 0:
        raise TimeError(f"h = {h!r}: expected one positive finite number (the direction is that of t_span)")
    return float(length)


def step_count(span: tuple[float, float], length: float) -> int:
    """How many steps, no longer than ``length``, make the span."""
    duration, latest = abs(span[1] - span[0]), max(map(abs, span))
    apart = float(np.spacing(latest))
    if length < min(duration, LEAST_STEP * apart):
        raise TimeError(
            f"h = {length:g}: a step must be longer than the spacing of doubles, which is {apart:.2g} at t = "
            f"{latest:g}, or t does not change; give h of at least {LEAST_STEP * apart:.2g}"
        )
    return max(1, ceil(duration / length * (1 - 1e-12)))
