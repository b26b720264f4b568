"""The search for step sizes, or for a tolerance, with which runs meet a wanted error.

Trial runs become finer until the error of the last one is small enough, and this run is the result: no run is repeated.
Its error is estimated from the runs before it. Their differences to the last run are their errors, which show the order
with which errors decrease; one more factor of this kind, never more than the order of the method promises, leads to the
error of the last run. A first pair of runs proves less: then the error of the last run is only known to be smaller than
that of the run before, unless the order of their errors was measured elsewhere.

A search has one step size x for all bodies, a number, or one for each body of a batch, an array (n,). What happens to
one of them depends on its own errors alone, so that a body gets the same steps alone and in a batch. Runs are made for
all together; those that have ended take no further part, and their x is NaN. `Outcome` names the states of each.
Expressions are the same for numbers and for arrays (`Numbers`). The thresholds are those of ``rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from math import inf, log, nan
from typing import Any, NamedTuple

import numpy as np

from polhode.integration import rules
from polhode.integration.output import Computed
from polhode.integration.rows import EndState

TINY, LARGE = 1e-300, 1e3  # errors
LEAST_ORDER = 1e-3  # that can be observed
ITERATIONS = 5  # for the observed order


class Numbers(NamedTuple):
    """Functions of numbers and of arrays: for one number, those of NumPy take far more time than those of Python."""

    where: Callable[[Any, Any, Any], Any]
    minimum: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    log: Callable[[Any], Any]
    any: Callable[[Any], Any]

    @classmethod
    def of(cls, x: Any) -> Numbers:
        """Return the functions for a number x, or for an array."""
        return OF_ONE if isinstance(x, float) else OF_MANY


OF_ONE = Numbers(lambda condition, x, y: x if condition else y, min, max, log, bool)
OF_MANY = Numbers(np.where, np.minimum, np.maximum, np.log, np.any)


class Outcome(IntEnum):
    """State of the search for one step size: going on, or why it has ended, of which the first that fits counts."""

    GOING = 0
    MET = 1  # the error is small enough
    ROUND_OFF = 2  # it was not halved, and it or the one before is round-off
    NO_NEARER = 3  # it was not halved several times in succession
    SLOW = 4  # it decreased with less than half the order several times
    TOO_LONG = 5  # x is the smallest
    TOO_MANY = 6  # none of these after MOST_TRIALS trials
    NO_END = 7  # a trial run did not reach the end


GOING, MET, ROUND_OFF, NO_NEARER, SLOW, TOO_LONG, TOO_MANY, NO_END = map(int, Outcome)  # which are faster to look up
MORE = ", which is more than was asked for: "
TEXTS: dict[int, str] = {  # why the wanted error is not met
    Outcome.MET: "",
    Outcome.ROUND_OFF: MORE + "round-off does not allow less",
    Outcome.NO_NEARER: MORE + "shorter steps do not reduce the error",
    Outcome.SLOW: MORE + "errors do not decrease as the order of the method predicts",
    Outcome.TOO_LONG: MORE + "trial runs with even shorter steps would take too long",
    Outcome.TOO_MANY: MORE + f"{rules.MOST_TRIALS} trial runs did not reach the wanted error",
    Outcome.NO_END: "; its error is unknown because a trial run did not reach the end",
}


class Trial(NamedTuple):
    """Trial run with step sizes or a tolerance `x`."""

    x: Any  # NaN where it has no part
    end: EndState | None  # None if a run of all bodies did not reach the end
    computed: Computed | None = None  # the run with its output, if it may be the result


class Estimate(NamedTuple):
    """What trial runs say about the errors of the last of them."""

    error: Any  # of the last run, which is at most this large
    likely: Any  # by which the next step size is chosen
    observed: Any  # the smallest error that was measured and not estimated
    order: Any  # observed, with which errors decrease
    before: Any = 0.0  # error of the run before the last one, if it was measured
    most: Any = rules.HIGHEST  # part of the wanted error that the estimate may have


class SearchResult(NamedTuple):
    """Result of a search."""

    x: Any  # step sizes, or the tolerance
    error: Any
    outcome: Any  # numbers of `Outcome`
    chosen: Any  # numbers of the trials that are the results; -1 if there are none
    trials: Sequence[Trial] = ()

    @property
    def is_rejected(self) -> bool:
        """Whether errors do not decrease as they should, so that another method may be better."""
        return bool(np.any((self.outcome != Outcome.MET) & (self.outcome != Outcome.ROUND_OFF)))


class Goal(NamedTuple):
    """Wanted error, and what is known about the errors of a method."""

    wanted: float
    order: float  # expected order of the error in x
    nominal: float  # order that the method is known to have; errors that decrease with less than half of it are slow
    shortest: Any  # smallest x
    longest: Any  # largest x
    factors: tuple[float, float]  # smallest and largest ratio of x in two successive trials
    rounding: Callable[[Any], Any]  # rounding(x) is the round-off error to expect
    patience: int = rules.MOST_TRIALS  # number of trials whose errors may decrease too slowly
    stalls: int = rules.STALLED  # number of successive trials that may not halve the error; twice if it is large
    snapped: Callable[[Any], Any] = lambda x: x  # snapped(x): sizes near x that runs can have
    must_end: bool = False  # whether a run that does not reach the end shows that no x does


Judge = Callable[[Sequence[Trial]], Estimate]


def search(trial_at: Callable[[Any, int], Trial], first: Sequence[Any], judge: Judge, goal: Goal) -> SearchResult:
    """Search for step sizes or a tolerance x whose error is below the wanted error.

    Parameters
    ----------
    trial_at : callable
        ``trial_at(x, k)`` makes the trial run number k (0, 1, ...) with x, for those that are not NaN.
    first : sequence of float, or of ndarray of shape (n,)
        The x of the first trial runs. Those that begin later are NaN before, and those without a part NaN in all.
    judge : callable
        ``judge(trials)`` estimates the error of the last of them.
    goal : Goal
        Wanted error and properties of the method.

    Returns
    -------
    SearchResult
        The best x, its error, and why the search has ended.
    """
    trials: list[Trial] = []
    standing = Standing(first[-1], goal)
    following = first[-1]
    for k in range(rules.MOST_TRIALS):
        x = first[k] if k < len(first) else following
        trials.append(trial_at(x, k))
        if goal.must_end and trials[-1].end is None:
            return SearchResult(x, inf, Outcome.NO_END, k, trials)
        if k + 1 < len(first):
            continue
        estimate = judge(trials)
        if not standing.goes_on(k, x, estimate):
            break
        following = standing.next(x, estimate)
    return standing.result(trials)


class Standing:
    """What trials have shown so far: the best x of each search, how its errors decrease, and whether it goes on."""

    def __init__(self, x: Any, goal: Goal) -> None:
        """Begin without any trial; `x` is NaN where nothing is searched."""
        self.goal, self.numbers = goal, Numbers.of(x)
        self.x, self.error = x, x * 0.0 + inf  # of the best trial
        self.chosen = self.numbers.where(x == x, -1, -1)  # its number
        self.outcome: Any = self.numbers.where(x == x, GOING, MET)
        self.observed: Any = inf  # by the trial before
        self.stalled: Any = 0  # successive trials whose errors were not half of those before
        self.slow: Any = 0  # trials whose errors decreased slowly

    def goes_on(self, k: int, x: Any, estimate: Estimate) -> bool:
        """Take into account trial number `k` with x; return whether any search goes on."""
        goal, before, observed = self.goal, self.observed, estimate.observed
        where, minimum, _, _, is_any = self.numbers
        rounding = goal.rounding(x)
        # Round-off does not decrease with any order.
        error = where(observed <= rounding / 4, observed, estimate.error)
        self._improve(k, x, error, estimate)
        self._move((error <= estimate.most * goal.wanted) | ((error <= goal.wanted) & (x >= goal.longest)), MET)
        if not is_any(self.outcome == GOING):
            return False
        # Not the least error of all, because two trials may agree by chance.
        self.stalled = where((before < inf) & (observed > 0.5 * before), self.stalled + 1, 0)
        self._move((self.stalled > 0) & (minimum(before, observed) <= rounding), ROUND_OFF)
        self._move(self.stalled >= goal.stalls * where(before < rules.ASYMPTOTIC, 1, 2), NO_NEARER)
        self.slow = self.slow + ((observed < rules.ASYMPTOTIC) & (estimate.order < goal.nominal / 2))
        self._move(self.slow >= goal.patience, SLOW)
        self._move(x <= goal.shortest, TOO_LONG)
        self.observed = observed
        return bool(is_any(self.outcome == GOING))

    def _improve(self, k: int, x: Any, error: Any, estimate: Estimate) -> None:
        """Replace the best trials by number `k` where its error is smaller."""
        where, going = self.numbers.where, self.outcome == GOING
        measured = estimate.before / rules.HIGHEST  # more than was estimated
        is_worse = going & (k > 0) & (self.chosen == k - 1) & (self.error < measured) & (measured < inf)
        self.error = where(is_worse, measured, self.error)
        is_better = going & (error <= self.error)
        self.x, self.error = where(is_better, x, self.x), where(is_better, error, self.error)
        self.chosen = where(is_better, k, self.chosen)

    def _move(self, which: Any, outcome: int) -> None:
        """End the searches among `which` that are going on."""
        self.outcome = self.numbers.where(which & (self.outcome == GOING), outcome, self.outcome)

    def next(self, x: Any, estimate: Estimate) -> Any:
        """Return the next x."""
        goal, (where, minimum, maximum, _, _) = self.goal, self.numbers
        low, high = goal.factors
        order = minimum(rules.STEEPEST * goal.order, maximum(0.5 * goal.order, estimate.order))
        factor = (rules.AIM * goal.wanted / maximum(estimate.likely, rules.ROUNDING / 8)) ** (1.0 / order)
        highest = where(self.stalled > 0, min(high, rules.STALLED_FACTOR), high)
        factor = where(estimate.observed > rules.ASYMPTOTIC, low, minimum(highest, maximum(low, factor)))
        x = goal.snapped(minimum(goal.longest, maximum(goal.shortest, x * factor)))
        return where(self.outcome == GOING, x, nan)

    def result(self, trials: Sequence[Trial]) -> SearchResult:
        """Return the best x. An error that is small enough is met, however the search has ended."""
        self._move(self.stalled > 0, NO_NEARER)
        self._move(True, TOO_MANY)
        outcome = self.numbers.where(self.error <= self.goal.wanted, MET, self.outcome)
        return SearchResult(self.x, self.error, outcome, self.chosen, trials)


def by_finest(
    errors: Callable[[Trial, Trial], Any], order: float, trusted: float, known: Any = nan, *,
    doubt: float = 1.0, most: float = rules.HIGHEST, is_irregular: bool = False, coarse: Any = inf,
) -> Judge:  # fmt: skip
    """Return the judge of trials that become finer, by their differences to the last one.

    Parameters
    ----------
    errors : callable
        ``errors(a, b)`` are the differences of the ends of the trials a and b.
    order : float
        Expected order of the error in x.
    trusted : float
        Largest order with which the error of the last trial is assumed to be smaller than that of the one before.
    known : float or ndarray of shape (n,), optional
        Order of the errors of the first two trials, NaN where it is not known.
    doubt : float, optional
        Factor by which the ratio of these errors may be smaller.
    most : float, optional
        Part of the wanted error that the estimate by this order may have.
    is_irregular : bool, optional
        Whether a trial may by chance be close to a finer one: then the error of the one before it counts as well.
    coarse : float or ndarray of shape (n,), optional
        Size x above which only the part OF_COARSE of `trusted` is trusted.
    """

    def judge(trials: Sequence[Trial]) -> Estimate:
        """Return the estimates for the last trial."""
        if len(trials) == 1:
            return Estimate(inf, inf, inf, order)
        *_, before, last = trials
        numbers = Numbers.of(last.x)
        where = numbers.where
        observed, finer = errors(before, last), before.x / last.x
        is_third = trials[-3].x == trials[-3].x if len(trials) > 2 else last.x != last.x
        estimate = of_two(numbers, observed, finer)
        if numbers.any(is_third):
            pairs = zip(of_three(numbers, trials[-3], last, observed, finer), estimate, strict=True)
            estimate = Estimate(*(where(is_third, *pair) for pair in pairs))
        is_known = (observed > 0.0) & (observed <= rules.ASYMPTOTIC)
        sure, likely = (where(is_known, x, observed) for x in estimate[:2])
        return estimate._replace(error=sure, likely=likely, order=where(is_known, estimate.order, order))

    def of_two(numbers: Numbers, observed: Any, finer: Any) -> Estimate:
        """Return the estimates by two trials."""
        where, is_given = numbers.where, known == known
        seen = where(is_given, known, order)
        likely = _reduced(numbers, observed, finer**seen / where(is_given, doubt, 1.0))
        sure, largest = where(is_given, likely, rules.OF_TWO * observed), where(is_given, most, rules.HIGHEST)
        return Estimate(sure, likely, observed, seen, observed, largest)

    def of_three(numbers: Numbers, first: Trial, last: Trial, observed: Any, finer: Any) -> Estimate:
        """Return the estimates by three trials."""
        where, minimum, maximum, _, _ = numbers
        coarser, larger = first.x / last.x, errors(first, last)
        ratio = minimum(larger, LARGE) / maximum(observed, TINY)  # also if both are infinite
        seen = _observed_order(numbers, ratio, coarser, finer)
        most_trusted = trusted * where(last.x > coarse, rules.OF_COARSE, 1.0)
        likely = _reduced(numbers, observed, finer ** minimum(seen, rules.STEEPEST * order))
        sure = _reduced(numbers, observed, finer ** minimum(seen, most_trusted))
        sure = where(seen > rules.BY_CHANCE * order, observed, sure)
        if is_irregular:
            sure = maximum(sure, _reduced(numbers, larger, coarser**most_trusted))
        return Estimate(sure, likely, observed, seen, observed)

    return judge


def _observed_order(numbers: Numbers, ratio: Any, coarse: Any, medium: Any) -> Any:
    """Return the order p of errors x^p, from the differences of two trials to a third, finer one.

    The ratio of the differences is (coarse^p - 1)/(medium^p - 1) if the steps are `coarse` and `medium` times as long
    as those of the third trial. The equation is solved by iteration.
    """
    where, _, maximum, log, _ = numbers
    per = 1.0 / log(coarse / medium)
    order = known = log(maximum(ratio, TINY)) * per
    for _ in range(ITERATIONS):
        p = maximum(order, LEAST_ORDER)
        order = where(order > 0.0, known - log((1.0 - coarse**-p) / (1.0 - medium**-p)) * per, order)
    return order


def _reduced(numbers: Numbers, observed: Any, ratio: Any) -> Any:
    """Return the error of a trial, by the difference to a coarser one whose error is `ratio` times as large."""
    return observed / numbers.maximum(ratio - 1.0, rules.SLOWEST)


def by_itself(errors_of: Callable[[Trial], Any], order: float) -> Judge:
    """Return the judge of trials whose errors are known one by one: ``errors_of(trial)``."""
    errors: list[Any] = []

    def judge(trials: Sequence[Trial]) -> Estimate:
        """Return the errors of the last trial."""
        where, _, maximum, log, _ = Numbers.of(trials[-1].x)
        errors.append(errors_of(trials[-1]))
        last = errors[-1]
        seen: Any = order
        if len(errors) > 1:
            is_known = (last > 0.0) & (errors[-2] < rules.ASYMPTOTIC)
            ratio = maximum(errors[-2], TINY) / maximum(last, TINY)
            seen = where(is_known, log(ratio) / log(trials[-2].x / trials[-1].x), order)
        return Estimate(last, last, last, seen)

    return judge
