"""Events whose graph is known, of runs whose steps are polynomials: all sign changes within each step.

Along a step, the event is a series as well, by the recurrences of Taylor. It is computed to higher order than the step
itself, so that it represents the event of the dense output to rounding. Where that does not succeed, for example near a
singularity of the event, the step is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import NotTraceable
from polhode.forces.event_graph import EventGraph, inputs_of, traced_event
from polhode.integration.sign_changes import sign_changes
from polhode.kernels.graphs.array_series import array_series

if TYPE_CHECKING:
    from polhode.integration.own_steps_run import OwnStepsSolution
    from polhode.integration.rows import Rows
    from polhode.integration.running import Run

TRIALS = 8  # states of each body at which an event is compared with its graph
LARGEST_TRIAL = 2**16  # states of all bodies
SEED = 2212
LEAST_ORDER = 30  # of the series of an event
NEGLIGIBLE = 2.0**-52  # size of its last coefficients
LAST = 4  # how many of them are tested
MOST_HALVINGS = 8
SOON = 2.0**-10  # part of a step after which an event that begins with zero has its sign
BLOCK = 2**11  # steps whose series are computed at once


def graph_of(event: Callable[..., Any], run: Run) -> EventGraph | None:
    """Return the graph of an event of the bodies of a run; None if it has none, or is not the same for all bodies."""
    rows = run.rows
    rng = np.random.default_rng(SEED)
    shape = max(1, min(TRIALS, LARGEST_TRIAL // max(1, rows.count))), *rows.batch
    t = rng.uniform(min(run.t0, run.t1), max(run.t0, run.t1), shape)
    m = np.abs(rows.m).max(initial=0.0) * rng.normal(size=(*shape, 3))
    q = rng.normal(size=(*shape, 4))
    try:
        return traced_event(event, t, m, q / np.linalg.norm(q, axis=-1, keepdims=True))
    except NotTraceable:
        return None


class Pieces(NamedTuple):
    """Parts of r steps, on which the states are polynomials of a variable from 0 to 1."""

    step: IntArray  # (r,)
    t: FloatArray  # (2, r), coefficients
    m: FloatArray  # (k, r, 3), in body axes of the user
    q: FloatArray  # (k, r, 4)
    start: FloatArray  # (r,), values of the event at the ends
    end: FloatArray

    def where(self, chosen: Any) -> Pieces:
        """Return some of the pieces."""
        t, m, q = (array[:, chosen] for array in (self.t, self.m, self.q))
        return Pieces(self.step[chosen], t, m, q, self.start[chosen], self.end[chosen])


class Crossings(NamedTuple):
    """Sign changes of an event: each of them is between two times, which are equal if it is located."""

    step: IntArray  # (r,), or the row of the body
    begin: FloatArray  # (r,)
    end: FloatArray
    rises: Any  # (r,), whether the event becomes positive


class StepPolynomials:
    """The steps (k - 1, n) between states, as polynomials.

    Parameters
    ----------
    t : ndarray, shape (k, n)
        Times of states; NaN after the last one.
    m, q : ndarray, shapes (k, n, 3), (k, n, 4)
        States in principal axes.
    sol : OwnStepsSolution
        Dense output of the run.
    rows : Rows
        The bodies.
    """

    def __init__(self, t: FloatArray, m: FloatArray, q: FloatArray, sol: OwnStepsSolution, rows: Rows) -> None:
        self._t, self._m, self._q, self._sol, self._rows = t, m, q, sol, rows
        self._place, self._row = np.nonzero(np.isfinite(t[:-1]) & np.isfinite(t[1:]))

    def crossings(self, event: EventGraph) -> Crossings:
        """Return all sign changes of an event, after the start of a step and up to its end, with their rows."""
        found = [_crossings(event, pieces) for pieces in self._pieces(event)]
        step, begin, end, rises = (np.concatenate(parts) for parts in zip(*found, strict=True))
        place, row = self._place[step], self._row[step]
        ends = np.sort((self._t[place, row], self._t[place + 1, row]), axis=0)
        return Crossings(row, np.clip(begin, *ends), np.clip(end, *ends), rises)

    def start_zeros(self, event: EventGraph) -> Crossings:
        """Return the first times of bodies for which an event is zero then; it rises if it is positive soon after."""
        row = self._row[self._place == 0]
        start = self._t[0, row]
        row = row[_values(event, start, *self._to_user(self._m[0, row], self._q[0, row], row)) == 0.0]
        start, soon = self._t[0, row], self._t[0, row] + SOON * (self._t[1, row] - self._t[0, row])
        after = _values(event, soon, *self._to_user(*self._sol.rows(soon, row), row))
        return Crossings(row, start, start, after > 0.0)

    def _pieces(self, event: EventGraph) -> Iterator[Pieces]:
        """Yield blocks of steps."""
        for first in range(0, max(1, len(self._row)), BLOCK):
            chosen = slice(first, first + BLOCK)
            place, row = self._place[chosen], self._row[chosen]
            left, right = self._t[place, row], self._t[place + 1, row]
            m, q = self._sol.polynomials(row, (left, right), self._m[place, row], self._q[place, row])
            states = [self._to_user(self._m[at, row], self._q[at, row], row) for at in (place, place + 1)]
            start, end = (_values(event, t, *state) for t, state in zip((left, right), states, strict=True))
            orders = m.shape[1]
            m, q = self._to_user(m.reshape(-1, 3), q.reshape(-1, 4), np.repeat(row, orders))
            m, q = (array.reshape(len(row), orders, -1).swapaxes(0, 1) for array in (m, q))
            steps = np.arange(len(self._row))[chosen]
            yield Pieces(steps, np.array((left, right - left)), m, q, start, end)

    def _to_user(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, ...]:
        """Return m and q of rows (r,), or their coefficients, in body axes of the user."""
        return self._rows.rows_to_user(m, q, row)


def _crossings(event: EventGraph, pieces: Pieces) -> Crossings:
    """Return the sign changes of an event in pieces of steps."""
    found = []
    for _ in range(MOST_HALVINGS):
        order = max(2 * (len(pieces.m) - 1), LEAST_ORDER)
        c, size = array_series(event.graph, event.value, inputs_of(_padded(pieces), pieces.m, pieces.q), order)
        is_accurate = np.abs(c[-LAST:]).max(axis=0) <= NEGLIGIBLE * np.maximum(np.abs(c).max(axis=0), size)
        found.append(_located(pieces.where(is_accurate), c[:, is_accurate].T, size[is_accurate]))
        is_known = np.isfinite(pieces.start) | np.isfinite(pieces.end)
        pieces = pieces.where(~is_accurate & is_known)
        if not len(pieces.step):
            break
        pieces = _halved(event, pieces)
    found.append(_bracketed(pieces))
    return Crossings(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _padded(pieces: Pieces) -> FloatArray:
    """Return the coefficients of t, as many as those of the states."""
    t = np.zeros(pieces.m.shape[:2])
    t[:2] = pieces.t
    return t


def _located(pieces: Pieces, c: FloatArray, size: FloatArray) -> Crossings:
    """Return the sign changes of polynomials with the coefficients c (r, n + 1)."""
    index, x, rises = sign_changes(c, pieces.start, pieces.end, size)
    t, length = pieces.t[:, index]
    times = t + x * length
    return Crossings(pieces.step[index], times, times, rises)


def _bracketed(pieces: Pieces) -> Crossings:
    """Return the sign changes between the ends of pieces in which the event has no accurate series."""
    up, down = (pieces.start < 0.0) & (pieces.end >= 0.0), (pieces.start > 0.0) & (pieces.end <= 0.0)
    some = pieces.where(up | down)
    return Crossings(some.step, some.t[0], some.t[0] + some.t[1], some.end > some.start)


def _halved(event: EventGraph, pieces: Pieces) -> Pieces:
    """Return both halves of pieces."""
    step, t, m, q, start, end = pieces
    half = 0.5 * t[1]
    middle = t[0] + half
    scale = 0.5 ** np.arange(len(m))[:, None, None]
    m_left, q_left = m * scale, q * scale
    m_right, q_right = (np.einsum("kj,krn->jrn", _shift(len(m) - 1), array) for array in (m, q))
    value = _values(event, middle, m_right[0], q_right[0])
    return Pieces(
        np.concatenate((step, step)),
        np.concatenate(((t[0], half), (middle, half)), axis=1),
        np.concatenate((m_left, m_right), axis=1),
        np.concatenate((q_left, q_right), axis=1),
        np.concatenate((start, value)),
        np.concatenate((value, end)),
    )


def _values(event: EventGraph, t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
    """Return the values (r,) of an event at t (r,), m (r, 3) and q (r, 4)."""
    return array_series(event.graph, event.value, inputs_of(t[None], m[None], q[None]), 0).coefficients[0]


@cache
def _shift(n: int) -> FloatArray:
    """Return the matrix of the second half of polynomials: coefficient j is the sum of C(k, j)/2^k c_k over k."""
    return np.array([[comb(k, j) / 2.0**k for j in range(n + 1)] for k in range(n + 1)])
