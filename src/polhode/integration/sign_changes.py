"""Sign changes of polynomials on the interval from 0 to 1: all of them are isolated, and located to rounding.

Polynomials are written in the basis of Bernstein, in which the number of roots in the interval is at most the number of
sign changes of the coefficients, and differs from it by an even number (rule of Descartes). Intervals with several sign
changes are halved; those with one contain one root.
(R. T. Farouki, The Bernstein polynomial basis: a centennial retrospective, Comput. Aided Geom. Des. 29 (2012) 379-419.)
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray

NOISE = 2.0**-48  # rounding errors of a polynomial, relative to its size
MOST_HALVINGS = 60
MOST_ITERATIONS = 60
CLOSE = 2.0**-50  # relative change of a root in the last iteration
TINY = np.finfo(float).tiny

Flags = npt.NDArray[np.bool_]


class SignChanges(NamedTuple):
    """Sign changes of k polynomials: r of them, in no particular order."""

    row: IntArray  # (r,), index of the polynomial
    x: FloatArray  # (r,), from 0 to 1
    rises: Flags  # (r,), whether the sign changes from negative to positive


class Intervals(NamedTuple):
    """Parts of the interval, with the coefficients of polynomials in the basis of Bernstein there."""

    row: IntArray  # (r,), indices of polynomials
    low: FloatArray
    high: FloatArray
    b: FloatArray  # (r, n + 1)

    def where(self, chosen: Flags) -> Intervals:
        """Return some of the intervals."""
        return Intervals(self.row[chosen], self.low[chosen], self.high[chosen], self.b[chosen])


def sign_changes(c: FloatArray, start: FloatArray, end: FloatArray, size: FloatArray) -> SignChanges:
    """Return where polynomials change their sign, after 0 and up to 1.

    A zero at 1 counts if the polynomial is not zero before. Two sign changes do not count if there is nothing but
    rounding errors between them, as there may be at a double root.

    Parameters
    ----------
    c : ndarray, shape (k, n + 1)
        Coefficients in powers of x, from order 0 on.
    start, end : ndarray, shape (k,)
        Values at 0 and 1: the same ones for the end of a polynomial and the start of the next, so that a root there is
        found exactly once.
    size : ndarray, shape (k,)
        Size of the terms from which the polynomials were computed; rounding errors are relative to it.

    Returns
    -------
    SignChanges
        The sign changes.

    Examples
    --------
    >>> c = np.array([[0.25, -1.25, 1.0]])  # (x - 1/4) (x - 1)
    >>> found = sign_changes(c, np.array([0.25]), np.array([0.0]), np.array([1.0]))
    >>> found.x.tolist(), found.rises.tolist()
    ([0.25, 1.0], [False, True])
    """
    b = c @ _to_bernstein(c.shape[1] - 1)
    b[:, 0], b[:, -1] = start, end
    _decide_ends(b)
    noise = NOISE * np.maximum(np.abs(b).max(axis=1), size)
    count = np.arange(len(c))
    found = _isolated(Intervals(count, np.zeros(len(c)), np.ones(len(c)), b), noise)
    rises = found.b[:, -1] > 0.0
    x = _refined(c[found.row], found, rises)
    return _without_noise(c, SignChanges(found.row, x, rises), noise)


def _isolated(waiting: Intervals, noise: FloatArray) -> Intervals:
    """Return intervals with one sign change each."""
    found = []
    for _ in range(MOST_HALVINGS):
        signs = _signs(waiting.b)
        number = np.count_nonzero(signs[:, 1:] * signs[:, :-1] < 0.0, axis=1)
        is_noise = np.abs(waiting.b).max(axis=1) <= noise[waiting.row]
        # Signs of rounding errors decide nothing but whether the number is odd.
        found.append(waiting.where((number == 1) | (is_noise & (number % 2 == 1))))
        waiting = waiting.where((number > 1) & ~is_noise)
        if not len(waiting.row):
            break
        waiting = _halved(waiting)
    return Intervals(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _signs(b: FloatArray) -> FloatArray:
    """Return the signs of coefficients, where that of a zero is the sign before it."""
    signs = np.sign(b)
    if not signs.all():
        for k in range(1, signs.shape[1]):
            signs[:, k] = np.where(signs[:, k] == 0.0, signs[:, k - 1], signs[:, k])
    return signs


def _decide_ends(b: FloatArray) -> None:
    """Replace a zero at the end by a tiny number, so that the sign changes there."""
    rows = np.flatnonzero(b[:, -1] == 0.0)
    if len(rows):
        b[rows, -1] = -TINY * _signs(b[rows])[:, -1]


def _halved(intervals: Intervals) -> Intervals:
    """Return both halves of intervals, by the algorithm of de Casteljau."""
    row, low, high, b = intervals
    halving = _halving(b.shape[1] - 1)
    left, right = b @ halving, (b[:, ::-1] @ halving)[:, ::-1]
    left[:, 0], right[:, -1] = b[:, 0], b[:, -1]
    middle = left[:, -1].copy()
    zero = middle == 0.0
    if zero.any():  # its sign is that after it
        middle[zero] = TINY * _first_signs(right[zero])
    left[:, -1], right[:, 0] = middle, middle
    x = 0.5 * (low + high)
    parts = (np.concatenate((row, row)), np.concatenate((low, x)), np.concatenate((x, high)))
    return Intervals(*parts, np.concatenate((left, right)))


def _first_signs(b: FloatArray) -> FloatArray:
    """Return the signs of the first coefficients that are not zero."""
    first = np.argmax(b != 0.0, axis=1)
    return np.sign(b[np.arange(len(b)), first])


def _refined(c: FloatArray, intervals: Intervals, rises: Flags) -> FloatArray:
    """Return the roots of polynomials, one in each interval, by Newton's method or, where it fails, bisection."""
    _, low, high, _ = intervals
    x = 0.5 * (low + high)
    sign = np.where(rises, 1.0, -1.0)  # that after the root
    for _ in range(MOST_ITERATIONS):
        value, slope = _evaluated(c, x)
        after = sign * value > 0.0
        low, high = np.where(after, low, x), np.where(after | (value == 0.0), x, high)
        with np.errstate(all="ignore"):
            new = x - value / slope
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        is_close = np.abs(new - x) <= CLOSE * x
        x = new
        if is_close.all():
            break
    return x


def _evaluated(c: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values and slopes of polynomials, each at one point."""
    value, slope = c[:, -1], np.zeros(len(c))
    for k in range(c.shape[1] - 2, -1, -1):
        slope = value + x * slope
        value = c[:, k] + x * value
    return value, slope


def _without_noise(c: FloatArray, found: SignChanges, noise: FloatArray) -> SignChanges:
    """Return sign changes in order, without pairs between which a polynomial is zero to rounding."""
    order = np.lexsort((found.x, found.row))
    row, x, rises = found.row[order], found.x[order], found.rises[order]
    middle, _ = _evaluated(c[row[:-1]], 0.5 * (x[:-1] + x[1:]))
    is_pair = (row[:-1] == row[1:]) & (rises[:-1] != rises[1:]) & (np.abs(middle) <= noise[row[:-1]])
    kept = np.ones(len(row), dtype=bool)
    for n in np.flatnonzero(is_pair):
        if kept[n]:
            kept[n : n + 2] = False
    return SignChanges(row[kept], x[kept], rises[kept])


@cache
def _to_bernstein(n: int) -> FloatArray:
    """Return the matrix (n + 1, n + 1) by which rows of coefficients are multiplied: C(i, k)/C(n, k)."""
    return np.array([[comb(i, k) / comb(n, k) for i in range(n + 1)] for k in range(n + 1)])


@cache
def _halving(n: int) -> FloatArray:
    """Return the matrix (n + 1, n + 1) for the left half of an interval: C(i, j)/2^i."""
    return np.array([[comb(i, j) / 2.0**i for i in range(n + 1)] for j in range(n + 1)])
