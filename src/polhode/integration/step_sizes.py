"""The step sizes, or the tolerance, with which a method meets a wanted error at the end of a time span.

The runs of a short time span are those of ``step_search``, from coarse to fine, and the last of them is the result. In
a long time span, runs over its first part find the step size and how much smaller errors are with it than with up to
four times the step; then one run with the longer step over the whole span is enough to know the error of the result.
User-defined torques may behave differently later: with them, a third run over the whole span measures this ratio.

Step sizes are numbers, one for all bodies, or arrays (n,), one for each body of a batch (``trials.EachTask``).
"""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.integration import rules
from polhode.integration.output import OutputOptions, room_for
from polhode.integration.running import new_run
from polhode.integration.step_search import (
    MORE,
    TEXTS,
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
from polhode.integration.trials import Task
from polhode.methods.method import Method


class Orders(NamedTuple):
    """Orders with which the errors of a method decrease."""

    expected: float  # at usual step sizes
    nominal: float  # that the method is known to have


def find_steps(
    task: Task, method: Method, guess: Any, orders: Orders, patience: int = rules.MOST_TRIALS,
    truth: Trial | None = None,
) -> SearchResult:  # fmt: skip
    """Find the step sizes with which `method` meets rtol at the end of the span.

    Parameters
    ----------
    task : Task
        What to integrate, and the wanted error.
    method : Method
        Method with a fixed step size.
    guess : float or ndarray of shape (n,)
        Step sizes that may be right.
    orders : Orders
        Orders of the error.
    patience : int, optional
        Number of trials of a body whose errors may decrease at less than half the nominal order.
    truth : Trial, optional
        States at the end, if they are known.

    Returns
    -------
    SearchResult
        The step sizes, their errors, and the trial runs.
    """
    maximum = task.numbers.maximum
    parts = 1.0 if truth is not None else task.judged_parts(method, maximum(guess, task.radian / rules.SHORTER))
    if isinstance(guess, float):
        result = _found(task.first(float(parts)), method, guess, orders, patience, truth)
        return result._replace(error=result.error / float(parts))
    used = np.unique(parts)
    results = [
        _found(task.first(part), method, np.where(parts == part, guess, nan), orders, patience, None)
        for part in used.tolist()
    ]
    if len(used) == 1:
        return results[0]._replace(error=results[0].error / used)
    columns = zip(*(result[:3] for result in results), strict=True)
    x, error, outcome = (np.choose(np.searchsorted(used, parts), column) for column in columns)
    return SearchResult(x, error / parts, outcome, np.full(len(x), -1))


def _found(task: Task, method: Method, guess: Any, orders: Orders, patience: int, truth: Trial | None) -> SearchResult:
    """Find the step sizes where `guess` is not NaN, by runs over the whole span of the task."""
    _, minimum, maximum, _, _ = task.numbers
    longest = task.longest_step
    least = task.length * method.stages / (rules.SHORTER * task.most_torques)
    shortest = minimum(longest, task.snapped(least))
    guess = minimum(longest, maximum(guess, rules.SHORTER * shortest))
    goal = Goal(
        task.wanted, *orders, shortest, longest, rules.STEPS, lambda h: task.rounding(task.length / h), patience,
        snapped=task.snapped,
    )  # fmt: skip
    own_errors = task.own_errors(method) if truth is None else lambda trial: task.errors(trial, truth)
    if truth is not None:  # of a torque that jumps, with errors that decrease irregularly
        goal = goal._replace(factors=rules.IRREGULAR, stalls=rules.MOST_TRIALS)
    if own_errors is not None:
        first = [task.snapped(minimum(longest, rules.COARSE[1] * guess))]
        judge = by_itself(own_errors, orders.expected)
    else:
        first, judge = _beginning(task, method, guess, goal)
    # Of many bodies, some have a result after the first trials.
    keep_from = len(first) - (own_errors is not None or task.is_long if isinstance(guess, float) else True)

    def trial_at(h: Any, k: int) -> Trial:
        return task.fixed(method, h, keep=k >= keep_from)

    return search(trial_at, first, judge, goal)


def _beginning(task: Task, method: Method, guess: Any, goal: Goal) -> tuple[list[Any], Judge]:
    """Return the step sizes of the first trials over the whole span, and what judges them."""
    coarse = task.snapped(rules.COARSE[0] * guess)
    finer = task.numbers.minimum(coarse * goal.factors[1], rules.COARSE[1] * guess)
    first, known = [coarse, task.snapped(finer)], nan
    if task.numbers.any(task.is_long):
        first, known = _by_first_part(task, method, guess, goal, first)
    trusted = min(rules.TRUSTED * goal.order, goal.nominal) * (1.0 if task.is_ready_made else rules.CAUTIOUS)
    return first, by_finest(
        task.errors, goal.order, trusted, known, doubt=rules.DOUBT, most=1.0, coarse=rules.COARSE_STEP * task.radian
    )


def _by_first_part(task: Task, method: Method, guess: Any, goal: Goal, short: list[Any]) -> tuple[list[Any], Any]:
    """Return the first step sizes of those with a long time span, `short` of others, and the orders that are known."""
    guess = np.atleast_1d(guess)
    first = np.array([np.full(len(guess), nan), *(np.atleast_1d(x) for x in short)])
    known = np.full(len(guess), nan)
    parts = np.where(task.is_long & ~np.isnan(guess), task.first_parts(), nan)
    for part in np.unique(parts[~np.isnan(parts)]).tolist():
        h, coarser, order = _calibrated(task.first(part), method, np.where(parts == part, guess, nan), goal)
        pair, three = ~np.isnan(order), ~np.isnan(h) & np.isnan(order)
        known[pair] = np.minimum(order, rules.STEEPEST * goal.order)[pair]
        # Whole multiples of a step are in resonance with the motion if the step is.
        h = task.snapped(h)
        first[:, pair] = np.stack((np.full(len(h), nan), task.whole(coarser * h), h))[:, pair]
        first[:, three] = task.whole(np.outer(rules.THREE, h))[:, three]
    rows = list(first[1:] if np.isnan(first[0]).all() else first)
    return (rows, known) if isinstance(task.radian, np.ndarray) else ([x.item() for x in rows], known.item())


class Calibration(NamedTuple):
    """What the first part of a time span shows about the whole; arrays (n,)."""

    h: FloatArray  # step sizes; NaN if trials did not converge
    coarser: FloatArray  # multiples of these, for comparison
    order: FloatArray  # of the errors with these two step sizes; NaN if it is not known


def _calibrated(part: Task, method: Method, guess: FloatArray, goal: Goal) -> Calibration:
    """Return the step sizes for the whole time span, by trials on its first `part`."""
    wanted = rules.AIM_OF_PAIR * part.wanted
    # Errors that round-off does not hide.
    visible = np.maximum(wanted, part.rounding(part.length / guess) / rules.VISIBLE)
    goal = goal._replace(snapped=part.snapped)
    trials: list[Trial] = []
    going = ~np.isnan(guess)
    x = np.where(going, part.snapped(np.minimum(goal.longest, rules.FIRST_FINER * guess)), nan)
    while going.any() and len(trials) < rules.MOST_CALIBRATING:
        trials.append(part.fixed(method, x))
        if len(trials) > 1:
            going = going & (part.errors(trials[-2], trials[-1]) > visible)
        x = np.where(going, part.snapped(x / rules.FINER_STEP), nan)
    finest = part.last_of(trials)
    known = Errors(trials, finest, part, method)
    most = np.maximum(visible, known.aim(part.wanted))
    known.refine(most, goal)
    h, error = known.longest_within(most)
    h = np.where(going, nan, h)
    seen = visible <= wanted
    h = np.where(seen, h, h * np.maximum(rules.STEPS[0], (wanted / visible) ** (1.0 / goal.order)))
    coarser, order = np.full((2, len(h)), nan)
    for ratio in rules.COARSER if part.is_ready_made else ():
        is_open = seen & np.isnan(order) & ((ratio * h <= rules.COARSEST * part.radian) | (ratio == rules.COARSER[-1]))
        longer = part.whole(np.where(is_open, ratio * h, nan))
        if np.isnan(longer).all():
            continue
        larger = known.of(longer)
        fits = (rules.GROWTH * error < larger) & (larger < rules.LARGEST_ERROR * part.wanted / goal.wanted)
        coarser = np.where(fits, ratio, coarser)
        order = np.where(fits, np.log(larger / error) / np.log(longer / h), order)
    return Calibration(h, coarser, order)


class Errors:
    """Errors of step sizes in a part of the time span, with respect to the finest trial of each body."""

    def __init__(self, trials: list[Trial], finest: Trial, part: Task, method: Method) -> None:
        """Begin with those of the trials, without the finest ones."""
        self.part, self.method, self.finest = part, method, finest
        self.x = np.array([trial.x for trial in trials])
        errors = np.array([part.errors(trial, finest) for trial in trials])
        self.error = np.maximum(TINY, errors.reshape(self.x.shape))
        self.error[self.x == finest.x] = np.inf

    def of(self, x: FloatArray) -> FloatArray:
        """Return the errors of a run with step sizes x, NaN where there is none."""
        errors = self.part.errors(self.part.fixed(self.method, x), self.finest)
        return np.where(np.isnan(x), nan, np.maximum(TINY, errors))

    def _nearest(self, which: Any, longest: bool) -> tuple[FloatArray, FloatArray]:
        """Return the longest or the shortest of the step sizes (k, n) in `which`, and its error; NaN without any."""
        x = np.where(which, self.x, -np.inf if longest else np.inf)
        number = (x.argmax if longest else x.argmin)(axis=0)
        found = np.arange(x.shape[1])
        is_any = which[number, found]
        return tuple(np.where(is_any, array[number, found], nan) for array in (self.x, self.error))  # type: ignore[return-value]

    def longest_within(self, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the longest step sizes whose errors are at most `most`, and these errors."""
        return self._nearest(self.error <= most, longest=True)

    def aim(self, wanted: float) -> FloatArray:
        """Return the errors that ``AIM_OF_STEP`` suggests, by the order that the two smallest step sizes show."""
        known = np.isfinite(self.error)
        h, error = self._nearest(known, longest=False)
        longer, larger = self._nearest(known & (self.x > h), longest=False)
        order = np.log(larger / error) / np.log(longer / h)
        return np.where((order > 0.0) & (larger < rules.ASYMPTOTIC), wanted * rules.AIM_OF_STEP**-order, 0.0)

    def refine(self, most: FloatArray, goal: Goal) -> None:
        """Add the errors of step sizes between those that are known, until the longest with error `most` is found."""
        for _ in range(rules.CORRECTIONS):
            h, error = self.longest_within(most)
            longer, larger = self._nearest((self.x > h) & (self.error < rules.ASYMPTOTIC), longest=False)
            # Errors between the two are about those of a power law.
            between = (longer / h) ** (np.log(rules.NEARLY * most / error) / np.log(larger / error))
            beyond = (most / error) ** (1.0 / goal.order)
            factor = np.minimum(rules.FINER_STEP, np.where(np.isnan(longer), beyond, between))
            x = goal.snapped(np.minimum(goal.longest, h * factor))
            x[~(x >= rules.CLOSE * h)] = nan
            if np.isnan(x).all():
                return
            self.x, self.error = np.vstack((self.x, x)), np.vstack((self.error, self.of(x)))


def find_tolerance(task: Task, family: Method) -> tuple[Method, SearchResult, str]:
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
        The tolerance, its error, and the trial runs.
    unmet : str
        Why the wanted error is not met; empty if it is.
    """

    def method(x: float) -> Method:
        """Return the method with tolerance `x`, rounded to two digits."""
        return family.with_tolerance(max(float(f"{x:.2g}"), family.smallest_rtol), task.atol)

    if task.keeps_steps and task.is_long:
        with room_for(new_run(task.problem, task.span, family, longest=task.structure.longest), None, OutputOptions()):
            pass  # otherwise it is refused, before any trial
    smallest, largest = family.smallest_rtol, rules.LARGEST_TOLERANCE
    last = float(max(smallest, rules.AIM * task.error_per_length))
    is_known = task.is_ready_made or family.verifies_steps
    first = [min(largest, last * rules.FINER ** (1 if is_known else 2))]
    for multiple in (1.0,) if is_known else (rules.FINER, 1.0):
        first.append(min(last * multiple, first[-1] * rules.TOLERANCES[1]))
    is_rough = not family.verifies_steps and (bool(task.structure.rough.any()) or not task.problem.rows.is_traced)
    order = rules.TOLERANCE_ORDER
    known, trusted = (rules.LOWEST_ORDER, order) if is_known else (nan, rules.TRUSTED_TOLERANCE[is_rough])
    judge = by_finest(task.errors, order, trusted, known, is_irregular=is_rough)
    rounding = float(task.rounding(task.length / task.radian))
    goal = Goal(task.wanted, order, order, smallest, largest, rules.TOLERANCES, lambda x: rounding, must_end=True)
    keep_from = len(first) - 1

    def trial_at(x: float, k: int) -> Trial:
        """Run with tolerance `x`; steps that the torque limits, not the tolerance, become shorter as well."""
        shorter = min(1.0, x / first[0]) ** (1.0 / rules.RUNGE_KUTTA) if is_rough else 1.0
        return task.trial(method(x), x, keep=k >= keep_from, shorter=shorter)

    result = search(trial_at, first, judge, goal)
    reason = TEXTS[result.outcome]
    if result.outcome == TOO_LONG:
        reason = MORE + f"the smallest tolerance of {type(family).__name__} is {smallest:.2g}"
    return method(result.x), result, reason if family.verifies_steps else task.with_hidden(reason)
