"""Trial runs: the step size or the tolerance with which a method meets a wanted error at the end of a time span.

The runs of a short time span are those of ``step_search``, from coarse to fine, and the last of them is the result. In
a long time span, runs over its first part find the step size and how much smaller errors are with it than with up to
three times the step; then one run with the longer step over the whole span is enough to know the error of the result.
User-defined torques may behave differently later: with them, a third run over the whole span measures this ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log, nan
from typing import NamedTuple

import numpy as np

from polhode.core.messages import Hint, joined
from polhode.integration.output import OutputOptions, computed, room_for
from polhode.integration.rows import EndState, Integrable
from polhode.integration.running import new_run
from polhode.integration.step_search import (
    AIM,
    ASYMPTOTIC,
    MORE,
    MOST_TRIALS,
    ROUNDING,
    STEEPEST,
    TINY,
    TOO_LONG,
    Goal,
    Judge,
    SearchResult,
    Trial,
    by_finest,
    by_itself,
    search,
)
from polhode.integration.strength import LENGTH
from polhode.integration.stretches import StepSize
from polhode.integration.time_structure import CELLS, TimeStructure
from polhode.methods.method import Method

MOST_TORQUES = 1_000_000  # torque evaluations in a first trial run; longer runs are judged by their first part
SHORTER = 4  # factor by which steps of that trial run may still become shorter
STEP_ROUNDING = 4.0 * 2.0**-53  # round-off error, per radian and per square root of the number of steps
FIRST_PART = 1 / 64  # part of a long time span in which the step size is found first ...
FIRST_RADIANS = 40.0  # ... if it is not shorter than this
LONG = 16  # times the first part that a long time span has at least
MOST_CALIBRATING = 8  # trial runs in that part
FINER_STEP = 1.7  # ratio of the step sizes of these
CORRECTIONS = 3  # trial runs in that part with step sizes between these
NEARLY = 0.97  # part of the largest error that these aim at
CLOSE = 1.07  # ratio of two step sizes between which no other is tried
COARSE = (2.5, 1.5)  # first step sizes of a short time span, relative to the expected one
STEPS = (1 / 2, 1 / 1.25)  # smallest and largest ratio of the step sizes of successive trials
IRREGULAR = (0.43, 1 / 1.3)  # the same with torques that jump: halved steps would end at the same times
TOLERANCES = (1e-4, 1 / 8)  # the same for tolerances
FINER = 32.0  # ratio of the first tolerances
TOLERANCE_ORDER = 0.8  # with which errors decrease with the tolerance ...
LOWEST_ORDER = 0.65  # ... and the lowest that is expected of ready-made forces
TRUSTED = 0.8  # part of the expected order that is trusted, if it is not higher than the nominal one
# Jumps and kinks of a user-defined torque may affect only one of two runs.
CAUTIOUS = 0.5  # part of that order which is trusted then
TRUSTED_TOLERANCE = (0.2, 0.3)  # the same for tolerances: by the last two trials, or by three if a torque jumps
LARGEST_TOLERANCE = 1e-2
RUNGE_KUTTA = 8.0  # order of ``Adaptive``
TRUTH = 0.05  # part of the wanted error that the truth may have, if it is computed
AIM_OF_PAIR = 0.37  # part of the wanted error that the step size of the whole time span aims at ...
AIM_OF_STEP = 1.25  # ... unless steps would be so many times shorter than those with the wanted error
RESONANT = 1.2  # radians per step; errors with longer steps grow in resonance with the rotation ...
RESONANT_TIME = 160.0  # ... in a time of more radians than this
COARSER = (4.0, 3.0, 2.5, 2.0, 1.7, 1.5)  # ratios of the step sizes of two runs over a long time span
COARSEST = 2.4  # radians per step of the coarser run, if possible
DOUBT = 1.7  # factor by which the ratio of their errors may be smaller than in the first part
LARGEST_ERROR = 0.02  # expected at the end of it, so that it shows how errors grow
HIDDEN = joined(
    f"the torque has features shorter than a {CELLS // 2}th of the time span, some of which may be missed; "
    "give their times as ",
    Hint("Torque(..., breaks=...)", "breaks = [...] of the force"),
)


@dataclass(frozen=True)
class Task:
    """Problem or system, time span and tolerances, with the time scales that are known before any trial run."""

    problem: Integrable
    span: tuple[float, float]
    rtol: float
    atol: float
    radian: float  # time in which the body rotates by one radian
    structure: TimeStructure
    most_torques: int = MOST_TORQUES
    output: OutputOptions | None = None  # of runs that may be the result; None if they are made again
    keeps_steps: bool = False  # whether the result has the states of all steps

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
        return max(self.rtol, ROUNDING)

    @property
    def error_per_length(self) -> float:
        """Wanted error in LENGTH radians, if errors grow in proportion to the time."""
        return self.wanted * min(1.0, LENGTH * self.radian / self.length)

    @property
    def is_long(self) -> bool:
        """Whether the first part of the time span tells enough about the whole."""
        return self.length >= LONG * FIRST_RADIANS * self.radian

    @property
    def longest_step(self) -> float:
        """Longest step that skips no feature of the torque, and in a long time is not in resonance with the motion."""
        longest = min(self.length, self.structure.longest.min() / 2)
        is_resonant = self.length > RESONANT_TIME * self.radian
        return float(min(longest, RESONANT * self.radian) if is_resonant else longest)

    def for_truth(self) -> Task:
        """Return the task for runs with which others are compared: with a smaller error, and without output."""
        return replace(self, rtol=TRUTH * self.rtol, output=None)

    def with_shorter_steps(self, h: float) -> Task:
        """Return the task with steps that are shorter than `h`, or than a radian if it is infinite."""
        longest = np.minimum(self.structure.longest / SHORTER, min(h, self.radian) / SHORTER)
        return replace(self, structure=self.structure._replace(longest=longest))

    def order_of(self, method: Method) -> float:
        """Return the order of the method with the forces of the problem."""
        return self.problem.rows.order_of(method)

    def first(self, part: float) -> Task:
        """Return the task for the first `part` (0 to 1) of the time span, with the same part of the error."""
        t0, t1 = self.span
        if part >= 1:
            return self
        return replace(self, span=(t0, t0 + part * (t1 - t0)), rtol=self.rtol * part, output=None)

    def judged(self, method: Method, h: float) -> Task:
        """Return the task for trial runs: the first part of a long time span, unless the torque changes in time."""
        if np.isfinite(self.structure.longest).any():
            return self
        return self.first(self.most_torques / (self.length / h * method.stages))

    def rounding(self, steps: float) -> float:
        """Return the round-off error that is expected after `steps` steps."""
        return STEP_ROUNDING * max(1.0, self.length / self.radian) * max(1.0, steps) ** 0.5

    def trial(
        self, method: Method, x: float, h: StepSize | None = None, least: int = 1, keep: bool = False,
        shorter: float = 1.0,
    ) -> Trial:  # fmt: skip
        """Run to the end; with the output of the user, if `keep` is true.

        A run with fixed steps `h` has at least `least` steps between breaks of the torque. The longest steps of other
        runs are reduced by the factor `shorter`.
        """
        run = new_run(self.problem, self.span, method, h, least=least, longest=self.structure.longest * shorter)
        made = computed(run, h, self.output) if keep and self.output is not None else None
        if run.interrupted and made is not None:
            made.trajectory(own_times=True)  # raises an exception that has the states
        has_end = made is not None and made.states.t[-1:] == self.span[1]
        states = made.states if made is not None and has_end else run.end()
        if run.interrupted:
            raise KeyboardInterrupt
        if (run.current.status < 0).any():
            return Trial(x, None, made)
        return Trial(x, tuple(array[0] for array in run.rows.to_user(states.m[-1:], states.q[-1:])), made)

    def error(self, a: EndState | None, b: EndState | None) -> float:
        """Return the error of state `a` with respect to `b`; infinite if either run did not reach the end."""
        return inf if a is None or b is None else max(self.problem.rows.differences(a, b, self.atol / self.wanted))

    def own_error(self, method: Method) -> Callable[[Trial], float] | None:
        """Return the function that estimates the error of one trial, or None if several trials do it together.

        Between breaks of the torque that are closer than a step, all step sizes lead to the same steps. Only a run with
        at least two steps between any two of them shows the error.
        """
        low, high = sorted(self.span)
        breaks = self.problem.rows.breaks
        if not ((breaks > low) & (breaks < high)).any():
            return None
        return lambda trial: self.error(trial.end, self.trial(method, trial.x / 2, trial.x / 2, least=2).end)

    def unmet(self, result: SearchResult) -> str:
        """Return the reason why the wanted error cannot be guaranteed; empty if it can."""
        if not self.structure.hidden.any():
            return result.unmet
        return joined(", but " if result.met else joined(result.unmet, "; "), HIDDEN)


def find_step(
    task: Task, method: Method, guess: float, order: float, *, nominal: float | None = None,
    patience: int = MOST_TRIALS, truth: EndState | None = None,
) -> SearchResult:  # fmt: skip
    """Find the step size with which `method` meets rtol at the end of the span.

    Parameters
    ----------
    task : Task
        What to integrate, and the wanted error.
    method : Method
        Method with a fixed step size.
    guess : float
        Step size that may be right.
    order : float
        Order of the error that may be expected at such step sizes.
    nominal : float, optional
        Order that the method is known to have, even if errors decrease faster at such step sizes. The default is
        `order`.
    patience : int, optional
        Number of trials whose errors may decrease at less than half the nominal order.
    truth : tuple of ndarray, optional
        States at the end, if they are known.

    Returns
    -------
    SearchResult
        The step size, its error, and the run over the whole span, if it was made with output.
    """
    judged = task.judged(method, max(guess, task.radian / SHORTER)) if truth is None else task
    goal = _goal_for_steps(judged, method, (order, nominal or order), patience)
    guess = min(goal.bounds[1], max(guess, SHORTER * goal.bounds[0]))

    own_error = judged.own_error(method) if truth is None else lambda trial: judged.error(trial.end, truth)
    if truth is not None:  # of a torque that jumps, with errors that decrease irregularly
        goal = goal._replace(factors=IRREGULAR, stalls=MOST_TRIALS)
    if own_error is not None:
        beginning = Beginning(_series(guess, COARSE[1:], goal.bounds[1]), by_itself(own_error, order), 0)
    else:
        beginning = _beginning(judged, method, guess, goal)

    def trial_at(h: float, k: int) -> Trial:
        return judged.trial(method, h, h, keep=k >= beginning.coarse)

    result = search(trial_at, beginning.steps, beginning.judge, goal)
    return result._replace(error=result.error * task.length / judged.length)


def _goal_for_steps(task: Task, method: Method, orders: tuple[float, float], patience: int) -> Goal:
    """Return the goal of a search for a step size; `orders` are the expected and the nominal one."""
    longest = task.longest_step
    shortest = min(longest, task.length * method.stages / (SHORTER * task.most_torques))

    def rounding(h: float) -> float:
        """Return the round-off error with step size `h`."""
        return task.rounding(task.length / h)

    def snapped(h: float) -> float:
        """Return the size of equal steps that are not longer than `h`: runs with two such sizes are different."""
        return task.length / ceil(task.length / h * (1 - 1e-12))

    return Goal(task.wanted, *orders, (shortest, longest), STEPS, rounding, patience, snapped=snapped)


class Beginning(NamedTuple):
    """Beginning of a search."""

    steps: list[float]  # of the first trials
    judge: Judge
    coarse: int  # number of trials that are expected to be too coarse for a result


def _beginning(task: Task, method: Method, guess: float, goal: Goal) -> Beginning:
    """Return the beginning of a search over the whole span."""
    part = max(FIRST_PART, FIRST_RADIANS * task.radian / task.length)
    known = _calibrated(task.first(part), method, guess, goal) if task.is_long else None
    trusted = min(TRUSTED * goal.order, goal.nominal)
    if not task.is_ready_made:
        trusted *= CAUTIOUS
    if known is None:
        return Beginning(_series(guess, COARSE, task.length), by_finest(task.error, goal.order, trusted), len(COARSE))
    h = known.h
    if task.is_ready_made and known.ratio is not None:
        ratio = min(known.ratio, known.coarser ** (STEEPEST * goal.order)) / DOUBT
        return Beginning([known.coarser * h, h], by_finest(task.error, goal.order, trusted, ratio, most=1.0), 1)
    return Beginning([3 * h, 1.7 * h, h], by_finest(task.error, goal.order, trusted), 2)


def _series(h: float, multiples: Sequence[float], longest: float) -> list[float]:
    """Return multiples of a step size, none of which is longer than `longest`."""
    return [min(longest, multiple * h) for multiple in multiples]


class Calibration(NamedTuple):
    """What the first part of a time span shows about the whole."""

    h: float  # step size
    coarser: float = nan  # ratio of a longer step size to it
    ratio: float | None = None  # of the errors with these two step sizes; None if it is not known


def _calibrated(part: Task, method: Method, guess: float, goal: Goal) -> Calibration | None:
    """Return the step size for the whole time span, by trials on its first `part`; None if they do not converge."""
    longest = goal.bounds[1]
    wanted = AIM_OF_PAIR * part.wanted
    visible = max(wanted, part.rounding(part.length / guess) / 3)  # errors that round-off does not hide
    h = min(longest, 1.3 * guess)
    trials = [part.trial(method, x, x) for x in (h, h / FINER_STEP)]
    while part.error(trials[-2].end, trials[-1].end) > visible:
        if len(trials) == MOST_CALIBRATING:
            return None
        h = trials[-1].x / FINER_STEP
        trials.append(part.trial(method, h, h))
    *coarse, finest = trials

    def error_of(h: float) -> float:
        """Return the error with step size `h`."""
        return part.error(part.trial(method, h, h).end, finest.end)

    errors = {trial.x: part.error(trial.end, finest.end) for trial in coarse}
    h = _longest_step(errors, error_of, max(visible, _aim(errors, part.wanted)), goal)
    if visible > wanted:
        return Calibration(h * max(STEPS[0], (wanted / visible) ** (1.0 / goal.order)))
    for coarser in COARSER:
        if coarser * h <= COARSEST * part.radian or coarser == COARSER[-1]:
            larger = error_of(coarser * h)
            if 2 * errors[h] < larger < LARGEST_ERROR * part.wanted / goal.wanted:
                return Calibration(h, coarser, larger / errors[h])
    return Calibration(h)


def _aim(errors: dict[float, float], wanted: float) -> float:
    """Return the error that `AIM_OF_STEP` suggests, by the order that the smallest `errors` of step sizes show."""
    if len(errors) < 2:
        return 0.0
    (h, error), (longer, larger) = sorted(errors.items())[:2]
    order = log(larger / max(error, TINY)) / log(longer / h)
    return wanted * AIM_OF_STEP**-order if order > 0.0 and larger < ASYMPTOTIC else 0.0


def _longest_step(errors: dict[float, float], error_of: Callable[[float], float], most: float, goal: Goal) -> float:
    """Return about the longest step size whose error is at most `most`, and add those that were tried to `errors`."""
    for _ in range(CORRECTIONS):
        h = max(x for x, error in errors.items() if error <= most)
        longer = min((x for x, error in errors.items() if x > h and error < ASYMPTOTIC), default=None)
        if longer is None:
            factor = (most / max(errors[h], TINY)) ** (1.0 / goal.order)
        else:  # errors between the two are about those of a power law
            factor = (longer / h) ** (log(NEARLY * most / errors[h]) / log(errors[longer] / errors[h]))
        x = min(goal.bounds[1], h * min(FINER_STEP, factor))
        if x < CLOSE * h:
            break
        errors[x] = error_of(x)
    return max(x for x, error in errors.items() if error <= most)


def find_tolerance(task: Task, family: Method) -> tuple[Method, SearchResult]:
    """Find the tolerance with which a method that chooses its steps meets rtol at the end of the span.

    Parameters
    ----------
    task : Task
        What to integrate, and the wanted error.
    family : Method
        Method with any tolerance.

    Returns
    -------
    method : Method
        Method with the tolerance that was found.
    result : SearchResult
        The tolerance, its error, and the run over the whole span, if it was made with output.
    """

    def method(x: float) -> Method:
        """Return the method with tolerance `x`, rounded to two digits."""
        return family.with_tolerance(max(float(f"{x:.2g}"), family.smallest_rtol), task.atol)

    def rounding(x: float) -> float:
        """Return the round-off error, whatever the tolerance."""
        return task.rounding(task.length / task.radian)

    if task.keeps_steps and task.is_long:
        with room_for(new_run(task.problem, task.span, family, longest=task.structure.longest), None, OutputOptions()):
            pass  # otherwise it is refused, before any trial
    bounds = family.smallest_rtol, LARGEST_TOLERANCE
    last = max(bounds[0], AIM * task.error_per_length)
    is_known = task.is_ready_made or family.verifies_steps
    first = _series(last, (FINER, 1.0) if is_known else (FINER**2, FINER, 1.0), bounds[1])
    is_rough = not family.verifies_steps and (bool(task.structure.rough.any()) or not task.problem.rows.is_traced)
    ratio, trusted = (FINER**LOWEST_ORDER, TOLERANCE_ORDER) if is_known else (None, TRUSTED_TOLERANCE[is_rough])
    judge = by_finest(task.error, TOLERANCE_ORDER, trusted, ratio, is_irregular=is_rough)
    goal = Goal(task.wanted, TOLERANCE_ORDER, TOLERANCE_ORDER, bounds, TOLERANCES, rounding, must_end=True)
    coarse = len(first) - 1

    def trial_at(x: float, k: int) -> Trial:
        """Run with tolerance `x`; steps that the torque limits, not the tolerance, become shorter as well."""
        shorter = min(1.0, x / first[0]) ** (1.0 / RUNGE_KUTTA) if is_rough else 1.0
        return task.trial(method(x), x, keep=k >= coarse, shorter=shorter)

    result = search(trial_at, first, judge, goal)
    if result.unmet == TOO_LONG:
        smallest = f"the smallest tolerance of {type(family).__name__} is {family.smallest_rtol:.2g}"
        result = result._replace(unmet=MORE + smallest)
    return method(result.x), result if family.verifies_steps else result._replace(unmet=task.unmet(result))
