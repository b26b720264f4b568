"""Events whose graph is known, of runs whose steps are polynomials: all sign changes within each step.

Along a step, the event is a series as well, by the recurrences of Taylor. It is computed to higher order than the step
itself, so that it represents the event of the dense output to rounding. Where that does not succeed, for example near a
singularity of the event, the step is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import NotTraceable
from polhode.forces.event_graph import EventGraph, inputs_of, traced_event
from polhode.integration.doubtful_places import is_rough, places_in_doubt, warn_of_rough
from polhode.integration.sign_changes import sign_changes
from polhode.kernels.graphs.array_series import NodeSeries, WatchedArgument, array_series

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
SAMPLED = np.linspace(0.0, 1.0, 33)
FEW = 0.25  # part of the samples of a piece that may be rough, because the event has a pole or jumps
MISSED = 2.0**-40  # by which the series of an event may miss its values, relative to its size
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
        c, size, watched = _series(event, pieces)
        scale = np.maximum(np.abs(c).max(axis=0), size)
        is_accurate = np.abs(c[-LAST:]).max(axis=0) <= NEGLIGIBLE * scale
        is_accurate &= np.abs(c.sum(axis=0) - pieces.end) <= MISSED * scale
        _verify(event, pieces, c, watched, is_accurate, MISSED * scale)
        found.append(_located(pieces.where(is_accurate), c[:, is_accurate].T, size[is_accurate]))
        is_known = np.isfinite(pieces.start) | np.isfinite(pieces.end)
        pieces = pieces.where(~is_accurate & is_known)
        if not len(pieces.step):
            break
        pieces = _halved(event, pieces)
    found.append(_bracketed(event, pieces))
    return Crossings(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _series(event: EventGraph, pieces: Pieces) -> NodeSeries:
    """Return the coefficients of an event, and of its watched arguments, on pieces of steps."""
    order = max(2 * (len(pieces.m) - 1), LEAST_ORDER)
    inputs = inputs_of(_padded(pieces), pieces.m, pieces.q)
    return array_series(event.graph, event.value, inputs, order, event.watches)


def _event_at(event: EventGraph, pieces: Pieces, piece: IntArray, x: FloatArray) -> FloatArray:
    """Return the values (r,) of an event in some pieces, at points x from 0 to 1."""
    return _values(event, *(_at(array[:, piece], x) for array in (_padded(pieces), pieces.m, pieces.q)))


def _padded(pieces: Pieces) -> FloatArray:
    """Return the coefficients of t, as many as those of the states."""
    t = np.zeros(pieces.m.shape[:2])
    t[:2] = pieces.t
    return t


def _verify(
    event: EventGraph,
    pieces: Pieces,
    c: FloatArray,
    watched: Sequence[WatchedArgument],
    is_accurate: Any,
    tolerance: FloatArray,
) -> None:
    """Change `is_accurate` (r,) where the series c misses the event at an extreme or a zero of a watched argument."""
    for piece, x in places_in_doubt(watched, is_accurate):
        missed = np.abs(_event_at(event, pieces, piece, x) - _at(c[:, piece], x))
        is_accurate[piece[~(missed <= tolerance[piece])]] = False


def _at(c: FloatArray, x: FloatArray) -> FloatArray:
    """Return polynomials with coefficients (k, r, ...) at points (r,)."""
    x = x.reshape(-1, *[1] * (c.ndim - 2))
    value = np.zeros_like(c[0])
    for coefficient in c[::-1]:
        value = coefficient + x * value
    return value


def _located(pieces: Pieces, c: FloatArray, size: FloatArray) -> Crossings:
    """Return the sign changes of polynomials with the coefficients c (r, n + 1)."""
    index, x, rises = sign_changes(c, pieces.start, pieces.end, size)
    t, length = pieces.t[:, index]
    times = t + x * length
    return Crossings(pieces.step[index], times, times, rises)


def _bracketed(event: EventGraph, pieces: Pieces) -> Crossings:
    """Return the sign changes in pieces in which the event has no accurate series, between points where it is known.

    These are the ends, and the middles between places in doubt: right at these, rounding may decide the sign.
    """
    every = np.arange(len(pieces.step))
    if is_rough(np.array([_event_at(event, pieces, every, x * np.ones(len(every))) for x in SAMPLED]), FEW):
        warn_of_rough(event.name)
    places = [*places_in_doubt(_series(event, pieces).watched, pieces.step >= 0)]
    piece = np.concatenate([every, *(index for index, _ in places), every])
    x = np.concatenate([np.zeros(len(every)), *(x for _, x in places), np.ones(len(every))])
    piece, x, is_inner = _middles(piece, x)
    value = np.empty(len(x))
    value[~is_inner] = np.column_stack((pieces.start, pieces.end)).ravel()
    value[is_inner] = _event_at(event, pieces, piece[is_inner], x[is_inner])
    is_known = ~is_inner | np.isfinite(value)
    piece, x, value = piece[is_known], x[is_known], value[is_known]
    up, down = (value[:-1] < 0.0) & (value[1:] >= 0.0), (value[:-1] > 0.0) & (value[1:] <= 0.0)
    first = np.flatnonzero((up | down) & (piece[:-1] == piece[1:]))
    t, length = pieces.t[:, piece[first]]
    return Crossings(pieces.step[piece[first]], t + x[first] * length, t + x[first + 1] * length, up[first])


def _middles(piece: IntArray, x: FloatArray) -> tuple[IntArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return the ends of pieces, the middles between all places, and which of these points are no ends, in order."""
    order = np.lexsort((x, piece))
    piece, x = piece[order], x[order]
    is_first, is_last = np.diff(piece, prepend=-1) != 0, np.diff(piece, append=-1) != 0
    middles = np.where(is_last, 1.0, 0.5 * (x + np.append(x[1:], 1.0)))
    points = np.concatenate((piece[is_first], piece)), np.concatenate((x[is_first], middles))
    is_inner = np.concatenate((np.zeros(np.count_nonzero(is_first), bool), ~is_last))
    order = np.lexsort((is_inner & (points[1] > 0.0), points[1], points[0]))
    return points[0][order], points[1][order], is_inner[order]


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
