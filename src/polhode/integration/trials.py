"""Trial runs: of all bodies with one step size or tolerance, or of each body of a batch with a step size of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.messages import Hint, joined
from polhode.integration import rules
from polhode.integration.grouped_run import GroupedRun, GroupedSolution
from polhode.integration.grouped_run import joined as joined_runs
from polhode.integration.output import Computed, OutputOptions, computed
from polhode.integration.rows import EndState, States, attitude_errors, momentum_errors
from polhode.integration.running import Run, new_run
from polhode.integration.step_search import MET, TEXTS, Numbers, SearchResult, Trial
from polhode.integration.stretches import ALMOST, StepSize
from polhode.integration.time_structure import TimeStructure
from polhode.methods.method import Method

BREAKS = Hint("Torque(..., breaks=...)", "breaks = [...] of the force")
OCTAVES = 40


def numbers_of_steps(per_octave: int) -> tuple[IntArray, FloatArray]:
    """Return the numbers of steps that runs may have, and limits below which the next lower one is taken.

    They are all small numbers, and `per_octave` of each octave. The lower one of two is taken if steps are then longer
    by at most half of their ratio.
    """
    powers = 2.0 ** (np.arange(OCTAVES * per_octave + 1) / per_octave)
    counts = np.array(sorted({ceil(power - 1e-9) for power in powers.tolist()}))  # np.unique imports numpy.ma
    return counts, counts[:-1] * np.minimum(np.sqrt(counts[1:] / counts[:-1]), 2.0 ** (0.5 / per_octave))


COUNTS, LIMITS = numbers_of_steps(rules.PER_OCTAVE)


@dataclass(frozen=True)
class Task:
    """Problem or system, time span and tolerances, with the time scales that are known before any trial run.

    All bodies have one step size. Quantities that differ between bodies are numbers here, and arrays of `EachTask`.
    """

    problem: Any  # Integrable
    span: tuple[float, float]
    rtol: float
    atol: float
    radian: Any  # time in which the body rotates by one radian
    structure: TimeStructure
    most_torques: int = rules.MOST_TORQUES
    output: OutputOptions | None = None  # of runs that may be the result; None if they are made again
    keeps_steps: bool = False  # whether the result has the states of all steps

    @property
    def shared(self) -> Task:
        """The task of finding one step size, or one tolerance, for all bodies."""
        return self

    @property
    def compares_states(self) -> bool:
        """Whether the wanted error is that of the states at the end."""
        return True

    @property
    def numbers(self) -> Numbers:
        """Functions of what differs between bodies."""
        return Numbers.of(self.radian)

    @property
    def length(self) -> float:
        """Length of the time span."""
        return abs(self.span[1] - self.span[0])

    @property
    def is_ready_made(self) -> bool:
        """Whether the force is one of the library, which is known to be smooth."""
        return self.problem.rows.is_ready_made

    @property
    def wanted(self) -> float:
        """Wanted error, not below round-off."""
        return max(self.rtol, rules.ROUNDING)

    @property
    def error_per_length(self) -> Any:
        """Wanted error in LENGTH radians, if errors grow in proportion to the time."""
        return self.wanted * self.numbers.minimum(1.0, rules.LENGTH * self.radian / self.length)

    @property
    def is_long(self) -> Any:
        """Whether the first part of the time span tells enough about the whole."""
        return self.length >= rules.LONG * rules.FIRST_RADIANS * self.radian

    @property
    def longest_of_torque(self) -> Any:
        """Longest step that skips no feature of the torque."""
        return float(self.structure.longest.min(initial=inf)) / 2

    @property
    def longest_step(self) -> Any:
        """Longest step that skips no feature of the torque, and in a long time is not in resonance with the motion."""
        where, minimum, _, _, _ = self.numbers
        is_resonant = self.length > rules.RESONANT_TIME * self.radian
        by_motion = where(is_resonant, rules.RESONANT * self.radian, self.length)
        return minimum(minimum(self.length, self.longest_of_torque), by_motion)

    @property
    def has_breaks(self) -> bool:
        """Whether the torque has breaks within the time span."""
        low, high = sorted(self.span)
        breaks = self.problem.rows.breaks
        return bool(((breaks > low) & (breaks < high)).any())

    def for_truth(self) -> Task:
        """Return the task for runs with which others are compared: with a smaller error, and without output."""
        return replace(self, rtol=rules.TRUTH * self.rtol, output=None)

    def with_shorter_steps(self, h: float) -> Task:
        """Return the task with steps that are shorter than `h`, or than a radian if it is infinite."""
        longest = np.minimum(self.structure.longest / rules.SHORTER, min(h, self.radian) / rules.SHORTER)
        return replace(self, structure=self.structure._replace(longest=longest))

    def first(self, part: float) -> Task:
        """Return the task for the first `part` (0 to 1) of the time span, with the same part of the error."""
        t0, t1 = self.span
        if part == 1:
            return self
        return replace(self, span=(t0, t0 + part * (t1 - t0)), rtol=self.rtol * part, output=None)

    def judged_parts(self, method: Method, h: Any) -> Any:
        """Return the first part of the time span in which trial runs are short enough, a power of two, for each of `h`.

        It is 1 if the torque changes in time.
        """
        part = self.most_torques / (self.length / h * method.stages)
        is_judged = part < 1
        if not self.numbers.any(is_judged) or not np.isinf(self.structure.longest).all():
            return self.numbers.where(is_judged, 1.0, 1.0)
        return np.where(is_judged, np.ldexp(1.0, np.frexp(part)[1] - 1), 1.0)

    def first_parts(self) -> FloatArray:
        """Return the part of a long time span in which the step size is found first, a power of two (n,)."""
        part = np.maximum(rules.FIRST_PART, rules.FIRST_RADIANS * np.atleast_1d(self.radian) / self.length)
        fraction, exponent = np.frexp(part)
        return np.ldexp(1.0, exponent - (fraction == 0.5))

    def rounding(self, steps: Any) -> Any:
        """Return the round-off error that is expected after `steps` steps."""
        maximum = self.numbers.maximum
        return rules.STEP_ROUNDING * maximum(1.0, self.length / self.radian) * maximum(1.0, steps) ** 0.5

    def whole(self, x: Any) -> Any:
        """Return the sizes of equal steps that are not longer than x."""
        return self.length / np.ceil(self.length / x * ALMOST)

    def snapped(self, x: Any) -> Any:
        """Return the sizes of equal steps of about the size x, of a number in COUNTS: many bodies have equal ones."""
        size = self.length / COUNTS[LIMITS.searchsorted(self.length / x)]
        return float(size) if isinstance(x, float) else size

    def trial(
        self, method: Method, x: Any, h: StepSize | None = None, least: int = 1, keep: bool = False,
        shorter: float = 1.0,
    ) -> Trial:  # fmt: skip
        """Run to the end; with the output of the user, if `keep` is true.

        A run with steps of fixed sizes `h` has at least `least` steps between breaks of the torque. The longest steps
        of other runs are reduced by the factor `shorter`.
        """
        run = self.run(method, h, least, shorter)
        made = computed(run, h, self.output) if keep and self.output is not None else None
        if run.interrupted and made is not None:
            made.trajectory(own_times=True)  # raises an exception that has the states
        has_end = made is not None and made.states.t[-1:] == self.span[1]
        states = made.states if made is not None and has_end else run.end()
        if run.interrupted:
            raise KeyboardInterrupt
        return Trial(x, self.end(run, states), made)

    def fixed(self, method: Method, x: Any, least: int = 1, keep: bool = False) -> Trial:
        """Run with steps of the sizes x: a number here, or an array (1,)."""
        return self.trial(method, x, np.asarray(x).item(), least, keep)

    def run(self, method: Method, h: StepSize | None, least: int = 1, shorter: float = 1.0) -> Run:
        """Return a new run; see `trial`."""
        return new_run(self.problem, self.span, method, h, least=least, longest=self.structure.longest * shorter)

    def end(self, run: Run, states: States) -> EndState | None:
        """Return the last of the states, or None if a body did not reach the end."""
        if run.any_stopped and (run.current.status < 0).any():
            return None
        return tuple(array[0] for array in run.rows.to_user(states.m[-1:], states.q[-1:]))

    def error(self, a: EndState | None, b: EndState | None) -> float:
        """Return the error of state `a` with respect to `b`; infinite if either run did not reach the end."""
        return inf if a is None or b is None else max(self.problem.rows.differences(a, b, self.atol / self.wanted))

    def errors(self, a: Trial, b: Trial) -> Any:
        """Return the errors of the end of trial `a` with respect to that of `b`."""
        return self.error(a.end, b.end)

    def last_of(self, trials: Sequence[Trial]) -> Trial:
        """Return the last trial of each body as one."""
        return trials[-1]

    def own_errors(self, method: Method) -> Callable[[Trial], Any] | None:
        """Return the function that estimates the errors of one trial, or None if several trials do it together.

        Between breaks of the torque that are closer than a step, all step sizes lead to the same steps. Only a run with
        at least two steps between any two of them shows the error.
        """
        if not self.has_breaks:
            return None
        return lambda trial: self.errors(trial, self.fixed(method, trial.x / 2, least=2))

    def computed(self, result: SearchResult) -> Computed | None:
        """Return the run that is the result, if it was made with output."""
        return result.trials[result.chosen].computed

    def unmet(self, result: SearchResult) -> str:
        """Return the reason why the wanted error cannot be guaranteed; empty if it can."""
        return self.with_hidden(TEXTS[result.outcome])

    def with_hidden(self, reason: str) -> str:
        """Return the reason, and that the torque may have features which no run has seen."""
        if not self.structure.hidden.any():
            return reason
        length = f"a {self.problem.rows.cells // 2}th of the time span"
        hidden = f"the torque has features shorter than {length}, some of which may be missed; give their times as "
        return joined(joined(reason, "; ") if reason else ", but ", hidden, BREAKS)


@dataclass(frozen=True)
class EachTask(Task):
    """Task of finding a step size for each body of a batch."""

    shared_radian: float = inf  # of most bodies

    @property
    def shared(self) -> Task:
        """The task of finding one step size, or one tolerance, for all bodies."""
        return Task(
            self.problem, self.span, self.rtol, self.atol, self.shared_radian, self.structure, self.most_torques,
            self.output, self.keeps_steps,
        )  # fmt: skip

    @property
    def longest_of_torque(self) -> FloatArray:
        """Longest steps that skip no feature of the torque."""
        return np.broadcast_to(self.structure.longest / 2, self.radian.shape)

    def snapped(self, x: FloatArray) -> FloatArray:
        """Return the sizes of equal steps of about the size x; NaN where x is."""
        return np.where(np.isnan(x), x, super().snapped(x))

    def fixed(self, method: Method, x: FloatArray, least: int = 1, keep: bool = False) -> Trial:
        """Run with steps of the sizes x, those bodies for which they are not NaN."""
        return self.trial(method, x, x, least, keep)

    def run(self, method: Method, h: Any, least: int = 1, shorter: float = 1.0) -> Run:
        """Return a new run of some bodies."""
        rows, has_part = self.problem.rows, ~np.isnan(h)
        lengths = np.where(has_part, h, self.length).reshape(rows.batch)
        return GroupedRun(self.problem, self.span, method, lengths, least, np.flatnonzero(has_part))

    def end(self, run: Run, states: States) -> EndState:
        """Return the last states in principal axes; NaN where a body did not take part, or not reach the end."""
        return states.m[-1], states.q[-1]

    def errors(self, a: Trial, b: Trial) -> FloatArray:
        """Return the errors (n,) of the ends of two trials; infinite where a body did not reach the end."""
        assert a.end is not None
        assert b.end is not None
        of_m = momentum_errors(a.end[0], b.end[0], self.atol / self.wanted)
        errors = np.maximum(of_m, attitude_errors(a.end[1], b.end[1]))
        return np.where(np.isnan(errors), inf, errors)

    def last_of(self, trials: Sequence[Trial]) -> Trial:
        """Return the last trial of each body as one."""
        arrays = [(trial.x, *trial.end) for trial in trials if trial.end is not None]
        x, *end = (array.copy() for array in arrays[0])
        for other in arrays[1:]:
            took_part = ~np.isnan(other[0])
            for mine, its in zip((x, *end), other, strict=True):
                mine[took_part] = its[took_part]
        return Trial(x, tuple(end))

    def computed(self, result: SearchResult) -> Computed | None:
        """Return the run whose bodies are those of the trials that are the results, if all were made with output."""
        numbers = np.unique(result.chosen[result.chosen >= 0]).tolist()
        made = [result.trials[number].computed for number in numbers]
        if self.output is None or not made or any(one is None for one in made):
            return None
        runs: list[Any] = [one.run for one in made if one is not None]
        run = joined_runs(runs, np.searchsorted(numbers, result.chosen))
        times = np.array(self.span) if self.output.t_eval is None else np.asarray(self.output.t_eval, np.float64)
        return Computed(run, run.saved(times), GroupedSolution(run), None)

    def unmet(self, result: SearchResult) -> str:
        """Return the reason why the wanted errors cannot be guaranteed, and for which body; empty if they can."""
        failed = result.outcome != MET
        worst = int(np.argmax(np.where(failed, result.error, -1.0)))
        reason = TEXTS[result.outcome[worst]]
        if reason:
            name, count = self.problem.rows.name_of(worst), int(np.count_nonzero(failed))
            reason = f" of {name}{reason}; {count} of {len(failed)} bodies have larger errors"
        return self.with_hidden(reason)
