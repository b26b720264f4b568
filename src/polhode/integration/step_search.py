"""Search for the step size or the tolerance with which a run meets a wanted error."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import NamedTuple

from polhode.methods.adaptive import SMALLEST_RTOL

AIM = 0.2  # part of the wanted error that a corrected step size aims at
HIGHEST, LOWEST = 0.5, 0.05  # parts of the wanted error between which a step size is accepted
ROUNDING = 2.0**-46  # smallest error that can be asked for
ASYMPTOTIC = 0.1  # a larger error does not predict the error of a shorter step
MOST_TRIALS = 12
CLEARLY_SHORTER = 0.75
STALLED = 3  # trials with shorter steps that did not halve the error, after which the search ends

MORE = ", which is more than was asked for: "
ROUND_OFF = MORE + "round-off does not allow less"
NO_NEARER = MORE + "shorter steps do not reduce the error"
SLOW = MORE + "errors do not decrease as the order of the method predicts"
TOO_LONG = MORE + "trial runs with even shorter steps would take too long"
SMALLEST = MORE + f"the smallest tolerance of Adaptive is {SMALLEST_RTOL:.2g}"
TOO_MANY = MORE + f"{MOST_TRIALS} trial runs did not reach the wanted error"
NO_END = "; its error is unknown because a trial run did not reach the end"


class SearchResult(NamedTuple):
    """Result of a search for a step size or a tolerance."""

    x: float  # step size or tolerance
    error: float
    unmet: str  # the reason why the wanted error is not met; empty if it is met

    @property
    def met(self) -> bool:
        """Whether the wanted error is met."""
        return not self.unmet


def search(
    error_of: Callable[[float], float | None], x: float, bounds: tuple[float, float], order: float, wanted: float,
    rounding: Callable[[float], float], patience: int = MOST_TRIALS,
) -> SearchResult:  # fmt: skip
    """Search for a step size or tolerance x whose error is about a fifth of the wanted error.

    Parameters
    ----------
    error_of : callable
        ``error_of(x)`` returns the error, or None if no x leads to the end of the run.
    x : float
        First trial value.
    bounds : tuple of two floats
        Smallest and largest x.
    order : float
        Expected order of the error in x.
    wanted : float
        Wanted error.
    rounding : callable
        ``rounding(x)`` returns the round-off error to expect.
    patience : int, optional
        Number of trials whose errors may decrease at less than half the order.

    Returns
    -------
    SearchResult
        The best x, its error, and the reason if the wanted error is not met.
    """
    before = None
    stalled = slow = 0
    lowest = LOWEST * wanted if LOWEST * wanted > ROUNDING else 0.0  # an error at round-off level is never too small
    best = SearchResult(x, inf, TOO_MANY)
    for _ in range(MOST_TRIALS):
        error = error_of(x)
        if error is None:
            return best if best.met else SearchResult(x, inf, NO_END)
        result = SearchResult(x, error, "" if error <= wanted else TOO_MANY)
        if lowest <= error <= HIGHEST * wanted or (error < wanted and x >= bounds[1]):
            return result
        if x <= CLEARLY_SHORTER * best.x and best.error < ASYMPTOTIC:
            slow += error > best.error * (x / best.x) ** (order / 2)
        if error <= 0.5 * best.error:
            stalled = 0
        elif x <= CLEARLY_SHORTER * best.x:
            stalled += 1
            if best.error <= rounding(best.x):
                return best if best.met else best._replace(unmet=ROUND_OFF)
            if stalled >= STALLED and best.error < ASYMPTOTIC:
                break
        best = min(best, result, key=lambda trial: trial.error)
        if slow >= patience and best.error > rounding(best.x):
            return best if best.met else best._replace(unmet=SLOW)
        if error > ASYMPTOTIC:
            factor = 0.5
        else:
            slope = order if before is None else _slope(before, result, order)
            factor = min(8.0, max(0.1, (AIM * wanted / max(error, ROUNDING / 8)) ** (1.0 / slope)))
        before = result
        x = min(bounds[1], x * factor)
        if x < bounds[0]:
            best = best if best.met else best._replace(unmet=TOO_LONG)
            break
    return best if best.met or stalled < STALLED else best._replace(unmet=NO_NEARER)


def _slope(a: SearchResult, b: SearchResult, order: float) -> float:
    """Return the observed order of the error between two trials, limited to 0.5 to 3 times the expected order."""
    if not (a.error < ASYMPTOTIC and a.x != b.x and b.error > 0):
        return order
    return min(3.0 * order, max(0.5 * order, log(a.error / b.error) / log(a.x / b.x)))
