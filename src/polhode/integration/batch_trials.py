"""Trial runs of a batch in which every body has a step size of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.integration.grouped_run import GroupedRun
from polhode.integration.output import Computed, OutputOptions, computed
from polhode.integration.problem import Problem
from polhode.integration.rows import attitude_errors, momentum_errors
from polhode.integration.step_search import ROUNDING
from polhode.integration.strength import LENGTH, Strength
from polhode.integration.time_structure import TimeStructure
from polhode.integration.trials import RESONANT, RESONANT_TIME, STEP_ROUNDING
from polhode.methods.method import Method

PER_OCTAVE = 8  # numbers of steps of a trial run between one and its double
OCTAVES = 40


def _numbers_of_steps() -> IntArray:
    """Return the numbers of steps that runs may have: all small ones, and PER_OCTAVE in each octave."""
    powers = 2.0 ** (np.arange(OCTAVES * PER_OCTAVE + 1) / PER_OCTAVE)
    return np.array(sorted({ceil(power - 1e-9) for power in powers.tolist()}))  # np.unique imports numpy.ma


COUNTS = _numbers_of_steps()


@dataclass(frozen=True)
class BatchTask:
    """Batch of bodies, time span and tolerances, with the time scales of each body."""

    problem: Problem
    span: tuple[float, float]
    rtol: float
    atol: float
    strength: Strength  # of the torques on each body
    structure: TimeStructure
    output: OutputOptions | None = None  # of runs that may be the result; None if they are made again

    @property
    def length(self) -> float:
        """Length of the time span."""
        return abs(self.span[1] - self.span[0])

    @property
    def radian(self) -> FloatArray:
        """Times (n,) in which bodies rotate by one radian."""
        return np.asarray(self.strength.radian)

    @property
    def wanted(self) -> float:
        """Wanted error, not below round-off."""
        return max(self.rtol, ROUNDING)

    @property
    def errors_per_length(self) -> FloatArray:
        """Wanted errors in LENGTH radians of each body, if errors grow in proportion to the time."""
        return self.wanted * np.minimum(1.0, LENGTH * self.radian / self.length)

    @property
    def longest(self) -> FloatArray:
        """Longest steps that skip no feature of the torque, and in a long time are not in resonance with the motion."""
        longest = np.minimum(self.length, np.broadcast_to(self.structure.longest / 2, self.radian.shape))
        is_resonant = self.length > RESONANT_TIME * self.radian
        return np.where(is_resonant, np.minimum(longest, RESONANT * self.radian), longest)

    @property
    def has_breaks(self) -> bool:
        """Whether the torque has breaks within the time span."""
        low, high = sorted(self.span)
        breaks = self.problem.rows.breaks
        return bool(((breaks > low) & (breaks < high)).any())

    def first(self, part: float) -> BatchTask:
        """Return the task for the first `part` (0 to 1) of the time span, with the same part of the error."""
        t0, t1 = self.span
        if part == 1:
            return self
        return replace(self, span=(t0, t0 + part * (t1 - t0)), rtol=self.rtol * part, output=None)

    def rounding(self, x: FloatArray, some: IntArray) -> FloatArray:
        """Return the round-off errors that are expected of bodies `some` with step sizes x."""
        turned = np.maximum(1.0, self.length / self.radian[some])
        return STEP_ROUNDING * turned * np.maximum(1.0, self.length / x) ** 0.5

    def snapped(self, x: FloatArray) -> FloatArray:
        """Return the sizes of equal steps, of a number in COUNTS, that are not longer than x."""
        counts = np.ceil(self.length / x * (1 - 1e-12))
        return self.length / COUNTS[np.minimum(np.searchsorted(COUNTS, counts), len(COUNTS) - 1)]

    def trial(self, method: Method, x: FloatArray, some: IntArray, least: int = 1, keep: bool = False) -> Trial:
        """Run bodies `some` with step sizes x (n,) to the end; with the output of the user, if `keep` is true."""
        run = GroupedRun(self.problem, self.span, method, x.reshape(self.problem.rows.batch), least, some)
        made = computed(run, x, self.output) if keep and self.output is not None else None
        if run.interrupted and made is not None:
            made.trajectory(own_times=True)  # raises an exception that has the states
        has_end = made is not None and made.states.t[-1:] == self.span[1]
        states = made.states if made is not None and has_end else run.end()
        if run.interrupted:
            raise KeyboardInterrupt
        return Trial(x, states.m[-1], states.q[-1], made)

    def errors(self, a: Trial, b: Trial, some: IntArray) -> FloatArray:
        """Return the differences of the ends of two trials; infinite where a body did not reach the end."""
        of_m = momentum_errors(a.m[some], b.m[some], self.atol / self.wanted)
        errors = np.maximum(of_m, attitude_errors(a.q[some], b.q[some]))
        return np.where(np.isnan(errors), inf, errors)


class Trial(NamedTuple):
    """Trial run of some bodies; arrays have a row for each body of the batch."""

    x: FloatArray  # (n,), step sizes
    m: FloatArray  # (n, 3), states at the end in principal axes; NaN if a body did not run or did not get there
    q: FloatArray  # (n, 4)
    computed: Computed | None = None
