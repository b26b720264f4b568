"""Search for the step size of each body of a batch, by trial runs of all bodies together.

The rules are those of ``step_search`` and ``trials`` for a single body, with arrays in place of numbers. The step size
of a body depends on this body alone: bodies whose error is small enough leave the trials, and the result of each is the
last run in which it took part. Numbers of steps are rounded up to those of a coarse list, so that many bodies have
equal numbers and run together.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple, cast

import numpy as np

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.messages import joined
from polhode.integration.batch_trials import BatchTask, Trial
from polhode.integration.grouped_run import GroupedRun, GroupedSolution
from polhode.integration.grouped_run import joined as joined_runs
from polhode.integration.output import Computed
from polhode.integration.step_search import (
    AIM,
    ASYMPTOTIC,
    BY_CHANCE,
    HIGHEST,
    ITERATIONS,
    MOST_TRIALS,
    NO_NEARER,
    ROUND_OFF,
    ROUNDING,
    SLOW,
    SLOWEST,
    STALLED,
    STEEPEST,
    TINY,
    TOO_LONG,
    TOO_MANY,
)
from polhode.integration.trials import (
    CAUTIOUS,
    COARSE,
    FIRST_PART,
    FIRST_RADIANS,
    HIDDEN,
    LONG,
    MOST_TORQUES,
    SHORTER,
    STEPS,
    TRUSTED,
)
from polhode.methods.method import Method

OF_TWO = 10.0  # times the difference of two trials that the error may be: of many bodies, some agree by chance
COARSEST, OF_COARSE = 0.8, 0.5  # radians per step above which only this part of the order is trusted
AFTER_STALL = 0.6  # largest ratio of the step sizes of two trials, if errors did not decrease much
PAIR, THREE = (2.0, 1.0), (3.0, 1.7, 1.0)  # first step sizes of a long time span, for known and for other torques
REASONS = ("", TOO_MANY, ROUND_OFF, NO_NEARER, SLOW, TOO_LONG)  # why the wanted error is not met
MET, MANY, ROUNDED, NOT_NEARER, SLOWLY, LENGTHY = range(len(REASONS))


class Orders(NamedTuple):
    """Orders with which the errors of a method decrease."""

    expected: float
    nominal: float  # which the method is known to have; errors that decrease with less than half of it are slow
    trusted: float  # the highest by which the error of the last trial is estimated
    are_known: bool = False  # whether the first two trials suffice for an estimate


class Estimates(NamedTuple):
    """What trial runs say about the errors of the last of them; arrays (r,)."""

    error: FloatArray  # which is at most this large
    likely: FloatArray  # by which the next step size is chosen
    observed: FloatArray  # smallest errors that were measured and not estimated
    order: FloatArray
    before: FloatArray  # errors of the run before the last one; 0 if they were not measured


class BatchResult(NamedTuple):
    """Result of a search."""

    h: FloatArray  # (n,)
    errors: FloatArray  # (n,)
    likely: FloatArray  # (n,), errors without caution
    reasons: IntArray  # (n,), why the wanted errors are not met: numbers of REASONS
    computed: Computed | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether errors of a body do not decrease as they should, so that another method may be better."""
        return bool(np.any((self.reasons != MET) & (self.reasons != ROUNDED)))

    def unmet(self, task: BatchTask) -> str:
        """Return the reason why the wanted error cannot be guaranteed; empty if it can."""
        worst = int(np.argmax(np.where(self.reasons == MET, -1.0, self.errors)))
        reason = REASONS[self.reasons[worst]]
        if reason:
            failed = int(np.count_nonzero(self.reasons))
            name = task.problem.rows.name_of(worst)
            reason = f" of {name}{reason}; {failed} of {len(self.h)} bodies have larger errors"
        if not task.structure.hidden.any():
            return reason
        return joined(joined(reason, "; ") if reason else ", but ", HIDDEN)


def orders_of(task: BatchTask, expected: float, nominal: float) -> Orders:
    """Return the orders of a method: user-defined torques may be less smooth than they should be."""
    trusted = min(TRUSTED * expected, nominal)
    return Orders(expected, nominal, trusted if task.problem.rows.is_ready_made else CAUTIOUS * trusted)


def find_steps(task: BatchTask, method: Method, guess: FloatArray, orders: Orders, patience: int) -> BatchResult:
    """Find the step sizes with which `method` meets rtol at the end of the span, for each body of a batch.

    Parameters
    ----------
    task : BatchTask
        What to integrate, and the wanted error.
    method : Method
        Method with a fixed step size.
    guess : ndarray, shape (n,)
        Step sizes that may be right.
    orders : Orders
        Orders of the errors.
    patience : int
        Number of trials of a body whose errors may decrease at less than half the nominal order.

    Returns
    -------
    BatchResult
        Step sizes, errors, and the runs over the whole span, if they were made with output.
    """
    parts = _judged_parts(task, method, np.maximum(guess, task.radian / SHORTER))
    results = []
    for part in np.unique(parts).tolist():
        found = _find(task.first(part), method, guess, np.flatnonzero(parts == part), orders, patience)
        results.append(found._replace(errors=found.errors / part))
    return _together(task, results, np.searchsorted(np.unique(parts), parts))


def _find(
    task: BatchTask, method: Method, guess: FloatArray, some: IntArray, orders: Orders, patience: int
) -> BatchResult:
    """Find the step sizes of bodies `some`: in a long time span, in its first part first."""
    longest = task.longest
    shortest = np.minimum(longest, task.length * method.stages / (SHORTER * MOST_TORQUES))
    bounds = shortest, longest
    guess = np.minimum(longest, np.maximum(guess, SHORTER * shortest))
    if task.has_breaks:
        return _search(task, method, guess[None], some, bounds, orders, patience)
    parts = _first_parts(task)
    is_long = parts < 1
    for part in np.unique(parts[is_long]).tolist():
        early = some[parts[some] == part]
        known = _search(task.first(part), method, np.outer(COARSE, guess), early, bounds, orders, patience)
        aim = AIM * part * task.wanted / np.maximum(known.likely[early], ROUNDING / 8)
        factor = np.clip(aim ** (1.0 / orders.expected), STEPS[0], 1.0 / STEPS[0])
        guess[early] = np.minimum(longest[early], known.h[early] * factor)
    of_long = orders._replace(are_known=True)
    multiples = PAIR if task.problem.rows.is_ready_made else THREE
    results = [
        _search(task, method, np.outer(multiples, guess), some[is_long[some]], bounds, of_long, patience),
        _search(task, method, np.outer(COARSE, guess), some[~is_long[some]], bounds, orders, patience),
    ]
    return _together(task, results, np.where(is_long, 0, 1))


def _judged_parts(task: BatchTask, method: Method, guess: FloatArray) -> FloatArray:
    """Return the first part of the time span of each body in which trial runs are short enough, a power of two.

    It is 1 if the torque changes in time.
    """
    part = MOST_TORQUES / (task.length / guess * method.stages)
    is_judged = (part < 1) & np.isinf(task.structure.longest).all()
    return np.where(is_judged, np.ldexp(1.0, np.frexp(part)[1] - 1), 1.0)


def _first_parts(task: BatchTask) -> FloatArray:
    """Return the part of the time span of each body in which its step size is found first; 1 if the span is short."""
    part = np.maximum(FIRST_PART, FIRST_RADIANS * task.radian / task.length)
    is_long = task.length >= LONG * FIRST_RADIANS * task.radian
    fraction, exponent = np.frexp(part)
    return np.where(is_long, np.ldexp(1.0, exponent - (fraction == 0.5)), 1.0)  # rounded up to a power of two


def _together(task: BatchTask, results: list[BatchResult], chosen: IntArray) -> BatchResult:
    """Return for body i what the search number ``chosen[i]`` has found."""
    used = [k for k in range(len(results)) if (chosen == k).any()]
    if len(used) == 1:
        return results[used[0]]
    h, errors, likely, reasons = (
        np.choose(chosen, columns) for columns in zip(*(result[:4] for result in results), strict=True)
    )
    runs = [result.computed for result in results if result.computed is not None]
    made = _made(task, runs, chosen) if len(runs) == len(results) else None
    return BatchResult(h, errors, likely, reasons, made)


def _made(task: BatchTask, runs: list[Computed], chosen: IntArray) -> Computed:
    """Return the run whose body i is that of the run number ``chosen[i]``, with the output of the user."""
    assert task.output is not None
    run = joined_runs([cast(GroupedRun, made.run) for made in runs], chosen)
    times = np.array(task.span) if task.output.t_eval is None else np.asarray(task.output.t_eval, np.float64)
    return Computed(run, run.saved(times), GroupedSolution(run), None)


def _search(
    task: BatchTask, method: Method, first: FloatArray, some: IntArray, bounds: tuple[FloatArray, FloatArray],
    orders: Orders, patience: int,
) -> BatchResult:  # fmt: skip
    """Search for the step sizes of bodies `some`, beginning with trials of sizes `first` (k, n)."""
    shortest, longest = bounds
    trials: list[Trial] = []
    standing = Standing(first[0], orders, patience)
    x = task.snapped(np.minimum(first[0], longest))
    for k in range(MOST_TRIALS if len(some) else 0):
        trials.append(task.trial(method, x, some, keep=k >= len(first) - (len(first) > 1)))
        if k + 1 < len(first):
            x = task.snapped(np.minimum(first[k + 1], np.minimum(longest, x * STEPS[1])))
            continue
        estimate = _estimates(task, method, trials, some, orders)
        goes_on = standing.judge(task, k, x, some, estimate, bounds)
        x = x.copy()
        x[some] *= np.minimum(_factors(estimate, task.wanted, orders), standing.largest_factors(some))
        x = task.snapped(np.minimum(longest, np.maximum(shortest, x)))
        some = some[goes_on]
        if not len(some):
            break
    runs = [trial.computed for trial in trials if trial.computed is not None]
    if not runs:
        return standing.best
    kept = standing.chosen - (len(trials) - len(runs))  # those before had no output
    return standing.best._replace(computed=_made(task, runs, np.where(kept < 0, len(runs) - 1, kept)))


class Standing:
    """What trials have shown so far: the best of each body, and how their errors decrease."""

    def __init__(self, h: FloatArray, orders: Orders, patience: int) -> None:
        """Begin without any trial."""
        n = len(h)
        self.orders, self.patience = orders, patience
        self.best = BatchResult(h.copy(), np.full(n, inf), np.full(n, inf), np.full(n, MANY))
        self.chosen = np.full(n, -1)  # number of the trial that is the result
        self.observed = np.full(n, inf)
        self.stalled, self.slow = np.zeros((2, n), np.int64)  # trials whose errors did not halve, or decrease slowly

    def judge(
        self, task: BatchTask, k: int, x: FloatArray, some: IntArray, estimate: Estimates,
        bounds: tuple[FloatArray, FloatArray],
    ) -> BoolArray:  # fmt: skip
        """Take into account trial number `k` of bodies `some`, with step sizes x (n,); return which of them go on."""
        best = self.best
        shortest, longest = (bound[some] for bound in bounds)
        rounding = task.rounding(x[some], some)
        error = np.where(estimate.observed <= rounding / 4, estimate.observed, estimate.error)
        self._improve(task, k, x, some, error, estimate)
        is_done = (error <= HIGHEST * task.wanted) | ((error <= task.wanted) & (x[some] >= longest))
        reasons = self._reasons(some, estimate, rounding, x[some] <= shortest)
        gives_up = ~is_done & (reasons != MET)
        failed = some[gives_up]
        best.reasons[failed] = np.where(best.errors[failed] <= task.wanted, MET, reasons[gives_up])
        self.observed[some] = estimate.observed  # not the least: two trials of one of many bodies may agree by chance
        return ~(is_done | gives_up)

    def _improve(
        self, task: BatchTask, k: int, x: FloatArray, some: IntArray, error: FloatArray, estimate: Estimates
    ) -> None:
        """Replace the best trial of each body, if trial number `k` with this error is better."""
        best = self.best
        measured = estimate.before / HIGHEST
        is_worse = (self.chosen[some] == k - 1) & (best.errors[some] < measured) & (measured < inf)
        best.errors[some[is_worse]] = measured[is_worse]  # more than was estimated
        is_better = error <= best.errors[some]
        rows = some[is_better]
        self.chosen[rows], best.h[rows] = k, x[rows]
        best.errors[rows], best.likely[rows] = error[is_better], estimate.likely[is_better]
        best.reasons[some] = np.where(best.errors[some] <= task.wanted, MET, MANY)

    def _reasons(self, some: IntArray, estimate: Estimates, rounding: FloatArray, is_shortest: BoolArray) -> IntArray:
        """Return the reasons why bodies, unless their error is small enough, should not go on; MET if they should."""
        observed = self.observed[some]
        has_stalled = (observed < inf) & (estimate.observed > 0.5 * observed)
        stalled = self.stalled[some] = np.where(has_stalled, self.stalled[some] + 1, 0)
        self.slow[some] += (estimate.observed < ASYMPTOTIC) & (estimate.order < self.orders.nominal / 2)
        is_rounded = (stalled > 0) & (np.minimum(observed, estimate.observed) <= rounding)
        most_stalls = np.where(observed < ASYMPTOTIC, STALLED, 2 * STALLED)
        conditions = [is_rounded, stalled >= most_stalls, self.slow[some] >= self.patience, is_shortest]
        return np.select(conditions, [ROUNDED, NOT_NEARER, SLOWLY, LENGTHY], MET)

    def largest_factors(self, some: IntArray) -> FloatArray:
        """Return the largest ratios of the next step sizes to the last ones, so that stalled errors decrease."""
        return np.where(self.stalled[some] > 0, AFTER_STALL, 1.0)


def _factors(estimate: Estimates, wanted: float, orders: Orders) -> FloatArray:
    """Return the ratios of the next step sizes to the last ones."""
    low, high = STEPS
    order = np.clip(estimate.order, 0.5 * orders.expected, STEEPEST * orders.expected)
    factor = np.clip((AIM * wanted / np.maximum(estimate.likely, ROUNDING / 8)) ** (1.0 / order), low, high)
    return np.where(estimate.observed > ASYMPTOTIC, low, factor)


def _estimates(task: BatchTask, method: Method, trials: list[Trial], some: IntArray, orders: Orders) -> Estimates:
    """Return the estimates for the last trial of bodies `some`: see ``step_search.by_finest`` and ``by_itself``."""
    last = trials[-1]
    expected = np.full(len(some), orders.expected)
    if task.has_breaks:  # only a run with two steps between any two breaks shows the error
        error = task.errors(last, task.trial(method, last.x / 2, some, least=2), some)
        return Estimates(error, error, error, expected, np.zeros(len(some)))
    before = trials[-2]
    observed = task.errors(before, last, some)
    finer = before.x[some] / last.x[some]
    if len(trials) == 2:
        sure = _reduced(observed, finer**orders.trusted) if orders.are_known else OF_TWO * observed
        likely = _reduced(observed, finer**orders.expected)
        seen = expected
    else:
        first = trials[-3]
        coarse = first.x[some] / last.x[some]
        larger = task.errors(first, last, some)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = _observed_orders(larger / observed, coarse, finer)
        is_coarse = last.x[some] > COARSEST * task.radian[some]
        trusted = np.where(is_coarse, OF_COARSE, 1.0) * orders.trusted
        likely = _reduced(observed, finer ** np.minimum(seen, STEEPEST * orders.expected))
        sure = _reduced(observed, finer ** np.minimum(seen, trusted))
        # Of many bodies, some have two trials that are close by chance: the one before them counts as well.
        sure = np.maximum(sure, _reduced(larger, coarse**trusted))
        sure = np.where(seen > BY_CHANCE * orders.expected, observed, sure)
    is_known = (observed > 0.0) & (observed <= ASYMPTOTIC)
    return Estimates(
        np.where(is_known, sure, observed), np.where(is_known, likely, observed), observed,
        np.where(is_known, seen, expected), observed,
    )  # fmt: skip


def _observed_orders(ratio: FloatArray, coarse: FloatArray, medium: FloatArray) -> FloatArray:
    """Return the orders of errors: see ``step_search._observed_order``."""
    ratio = np.nan_to_num(ratio, nan=1.0, posinf=1 / TINY)
    order = known = np.log(np.maximum(ratio, TINY)) / np.log(coarse / medium)
    for _ in range(ITERATIONS):
        better = known - np.log((1.0 - coarse**-order) / (1.0 - medium**-order)) / np.log(coarse / medium)
        order = np.where(order > 0.0, better, order)
    return order


def _reduced(observed: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return the errors of trials, by the differences to coarser ones whose errors are `ratio` times as large."""
    return np.asarray(observed / np.maximum(ratio - 1.0, SLOWEST))
