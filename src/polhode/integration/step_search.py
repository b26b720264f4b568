"""Search for the step size or the tolerance with which a run meets a wanted error.

Trial runs become finer until the error of the last one is small enough, and this run is the result: no run is repeated.
Its error is estimated from the runs before it. Their differences to the last run are their errors, which show the order
with which errors decrease; one more factor of this kind, never more than the order of the method promises, leads to the
error of the last run. A first pair of runs proves less: then the error of the last run is only known to be smaller than
that of the run before, unless the ratio of their errors was measured elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log
from typing import Any, NamedTuple

from polhode.integration.output import Computed
from polhode.integration.rows import EndState

AIM = 0.3  # part of the wanted error that the next trial run aims at
HIGHEST = 0.7  # part of the wanted error that an estimate may have
TINY = 1e-300
ROUNDING = 2.0**-46  # smallest error that can be asked for
ASYMPTOTIC = 0.1  # a larger error does not predict the error of a shorter step
MOST_TRIALS = 12
STALLED = 3  # finer trials that did not halve the error, after which the search ends
SLOWEST = 0.1  # least relative decrease of the error that is assumed
BY_CHANCE = 2.5  # observed order, relative to that of the method, above which two trials may agree by chance
ITERATIONS = 5  # for the observed order
STEEPEST = 1.5  # largest observed order, relative to that of the method, that chooses the next step
MORE = ", which is more than was asked for: "
ROUND_OFF = MORE + "round-off does not allow less"
NO_NEARER = MORE + "shorter steps do not reduce the error"
SLOW = MORE + "errors do not decrease as the order of the method predicts"
TOO_LONG = MORE + "trial runs with even shorter steps would take too long"
TOO_MANY = MORE + f"{MOST_TRIALS} trial runs did not reach the wanted error"
NO_END = "; its error is unknown because a trial run did not reach the end"


class Trial(NamedTuple):
    """Trial run with a step size or a tolerance `x`."""

    x: float
    end: EndState | None  # None if a body did not reach the end
    computed: Computed | None = None  # the run with its output, if it may be the result


class Estimate(NamedTuple):
    """What trial runs say about the last of them."""

    error: float  # of the last run, which is at most this large
    likely: float  # the error by which the next step size is chosen
    observed: float  # the smallest error that was measured and not estimated
    order: float  # observed, with which errors decrease
    before: float = 0.0  # error of the run before the last one, if it was measured
    most: float = HIGHEST  # part of the wanted error that the estimate may have


class SearchResult(NamedTuple):
    """Result of a search for a step size or a tolerance."""

    x: float  # step size or tolerance
    error: float
    unmet: str  # the reason why the wanted error is not met; empty if it is met
    computed: Computed | None = None

    @property
    def met(self) -> bool:
        """Whether the wanted error is met."""
        return not self.unmet


class Goal(NamedTuple):
    """Wanted error, and what is known about the errors of a method."""

    wanted: float
    order: float  # expected order of the error in x
    nominal: float  # order that the method is known to have; errors that decrease with less than half of it are slow
    bounds: tuple[float, float]  # smallest and largest x
    factors: tuple[float, float]  # smallest and largest ratio of x in two successive trials
    rounding: Callable[[float], float]  # rounding(x) is the round-off error to expect
    patience: int = MOST_TRIALS  # number of trials whose errors may decrease too slowly
    stalls: int = STALLED  # number of successive trials that may not halve the error; twice as many if it is large
    snapped: Callable[[float], float] = float  # snapped(x) is the value at or below x with which runs can be made
    must_end: bool = False  # whether a run that does not reach the end shows that no x does


Judge = Callable[[Sequence[Trial]], Estimate]


def search(trial_at: Callable[[float, int], Trial], first: Sequence[float], judge: Judge, goal: Goal) -> SearchResult:
    """Search for a step size or tolerance x whose error is below the wanted error.

    Parameters
    ----------
    trial_at : callable
        ``trial_at(x, k)`` makes the trial run number k (0, 1, ...).
    first : sequence of float
        The x of the first trial runs.
    judge : callable
        ``judge(trials)`` estimates the error of the last of them.
    goal : Goal
        Wanted error and properties of the method.

    Returns
    -------
    SearchResult
        The best x, its error, and the reason if the wanted error is not met.
    """
    trials: list[Trial] = []
    best = SearchResult(first[0], inf, TOO_MANY)
    observed = inf
    stalled = slow = 0
    x = goal.snapped(first[0])
    for k in range(MOST_TRIALS):
        trials.append(trial_at(x, k))
        if trials[-1].end is None and goal.must_end:
            return SearchResult(x, inf, NO_END, trials[-1].computed)
        if k + 1 < len(first):
            x = goal.snapped(min(first[k + 1], x * goal.factors[1]))
            continue
        estimate = judge(trials)
        if estimate.observed <= goal.rounding(x) / 4:
            estimate = estimate._replace(error=estimate.observed)  # round-off does not decrease with any order
        if best.error < estimate.before / HIGHEST < inf and best.x == trials[-2].x:
            best = _result(trials[-2], estimate.before / HIGHEST, goal)  # more than was estimated
        if estimate.error <= best.error:
            best = _result(trials[-1], estimate.error, goal)
        if estimate.error <= estimate.most * goal.wanted or (estimate.error <= goal.wanted and x >= goal.bounds[1]):
            return best
        if observed < inf:
            stalled = stalled + 1 if estimate.observed > 0.5 * observed else 0
        if stalled and min(observed, estimate.observed) <= goal.rounding(x):
            return best if best.met else best._replace(unmet=ROUND_OFF)
        if stalled >= (goal.stalls if observed < ASYMPTOTIC else 2 * goal.stalls):
            return best if best.met else best._replace(unmet=NO_NEARER)
        slow += estimate.observed < ASYMPTOTIC and estimate.order < goal.nominal / 2
        if slow >= goal.patience:
            return best if best.met else best._replace(unmet=SLOW)
        observed = min(observed, estimate.observed)
        if x <= goal.bounds[0]:
            return best if best.met else best._replace(unmet=TOO_LONG)
        x = goal.snapped(min(goal.bounds[1], max(goal.bounds[0], x * _factor(estimate, goal))))
    return best if best.met or not stalled else best._replace(unmet=NO_NEARER)


def _result(trial: Trial, error: float, goal: Goal) -> SearchResult:
    """Return a trial with this error as the result, for the time being."""
    return SearchResult(trial.x, error, "" if error <= goal.wanted else TOO_MANY, trial.computed)


def _factor(estimate: Estimate, goal: Goal) -> float:
    """Return the ratio of the next x to the last one."""
    low, high = goal.factors
    if estimate.observed > ASYMPTOTIC:
        return low
    order = min(STEEPEST * goal.order, max(0.5 * goal.order, estimate.order))
    return float(min(high, max(low, (AIM * goal.wanted / max(estimate.likely, ROUNDING / 8)) ** (1.0 / order))))


def by_finest(
    error: Callable[[Any, Any], float], order: float, trusted: float, ratio: float | None = None, *,
    most: float = HIGHEST, is_irregular: bool = False,
) -> Judge:  # fmt: skip
    """Return the judge of trials that become finer, by their differences to the last one.

    Parameters
    ----------
    error : callable
        ``error(a, b)`` is the difference of the end states a and b.
    order : float
        Expected order of the error in x.
    trusted : float
        Largest order with which the error of the last trial is assumed to be smaller than that of the one before.
    ratio : float, optional
        Ratio of the errors of the first two trials, if it is known.
    most : float, optional
        Part of the wanted error that the estimate by this ratio may have.
    is_irregular : bool, optional
        Whether a trial may by chance be close to a finer one: then the error of the one before it counts as well.
    """

    def judge(trials: Sequence[Trial]) -> Estimate:
        """Return the estimate for the last trial."""
        if len(trials) == 1:
            return Estimate(inf, inf, inf, order)
        *_, before, last = trials
        observed = error(before.end, last.end)
        if observed == 0.0 or observed > ASYMPTOTIC:
            return Estimate(observed, observed, observed, order, observed)
        finer = before.x / last.x
        if len(trials) == 2 and ratio is not None:
            seen = log(ratio) / log(finer)
            return Estimate(observed / (ratio - 1.0), observed / (ratio - 1.0), observed, seen, observed, most)
        if len(trials) == 2:
            return Estimate(observed, _reduced(observed, finer**order), observed, order, observed)
        first = trials[-3]
        larger = error(first.end, last.end)
        seen = _observed_order(larger / observed, first.x / last.x, finer)
        likely, sure = (_reduced(observed, finer ** min(seen, most)) for most in (STEEPEST * order, trusted))
        if seen > BY_CHANCE * order:
            sure = observed
        if is_irregular:
            sure = max(sure, _reduced(larger, (first.x / last.x) ** trusted))
        return Estimate(sure, likely, observed, seen, observed)

    return judge


def _observed_order(ratio: float, coarse: float, medium: float) -> float:
    """Return the order p of errors x^p, from the differences of two trials to a third, finer one.

    The ratio of the differences is (coarse^p - 1)/(medium^p - 1) if the steps are `coarse` and `medium` times as long
    as those of the third trial. The equation is solved by iteration.
    """
    order = known = log(max(ratio, TINY)) / log(coarse / medium)
    for _ in range(ITERATIONS):
        if order <= 0.0:
            break
        order = known - log((1.0 - coarse**-order) / (1.0 - medium**-order)) / log(coarse / medium)
    return order


def _reduced(observed: float, ratio: float) -> float:
    """Return the error of a trial, by the difference to a coarser one whose error is `ratio` times as large."""
    return observed / max(ratio - 1.0, SLOWEST)


def by_itself(error_of: Callable[[Trial], float], order: float) -> Judge:
    """Return the judge of trials whose errors are known one by one: ``error_of(trial)``."""
    errors: list[float] = []

    def judge(trials: Sequence[Trial]) -> Estimate:
        """Return the error of the last trial."""
        errors.append(error_of(trials[-1]))
        last = errors[-1]
        seen = order
        if len(errors) > 1 and last > 0.0 and errors[-2] < ASYMPTOTIC:
            seen = log(max(errors[-2], TINY) / last) / log(trials[-2].x / trials[-1].x)
        return Estimate(last, last, last, seen)

    return judge
