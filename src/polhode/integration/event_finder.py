"""Event finder: locates the times at which functions of the state change sign during a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.capacity import check_growth
from polhode.core.errors import InputError, ShapeError
from polhode.integration.doubtful_places import MOST_PARTS, is_rough, warn_of_rough
from polhode.integration.events import Event as NamedEvent
from polhode.integration.rows import Rows, States
from polhode.integration.traced_events import StepPolynomials, graph_of
from polhode.kernels.stepping.status import Status

if TYPE_CHECKING:
    from polhode.core.arrays import IntArray
    from polhode.integration.running import Run
    from polhode.integration.solution import Solution

Event = Callable[..., Any]
EventState = tuple[Any, FloatArray, FloatArray]  # t, m, q
FARTHEST = 0.5  # largest rotation, in radians, between two evaluations of an event
LARGEST_BLOCK = 2**18
EVENT_BYTES = 400.0  # of an event that is kept, besides the numbers of its state
FEWER_EVENTS = "keep fewer: set event.direction or event.terminal, or integrate parts of the time span"
JUMPS = 0.05  # part of the samples that may be rough, because the event jumps


class Samples(NamedTuple):
    """Times (k, n), and values (k, n) of events by their number."""

    t: FloatArray
    values: dict[int, FloatArray]


class EventFinder:
    """Event finder of a run: stores the events of each body, and stops bodies at terminal events.

    Parameters
    ----------
    events : callable or sequence of callables
        Functions ``event(t, m, q)``, or ``event(t, x, p, m, q)`` of a system, as in ``polhode.events``.
    run : Run
        The run whose states are searched.
    """

    def __init__(self, events: Event | Sequence[Event], run: Run) -> None:
        """Check that `events` are callable, and read their attributes ``terminal`` and ``direction``."""
        self.events: list[Event] = list(events) if isinstance(events, Sequence) else [events]
        if not all(map(callable, self.events)) or not self.events:
            call = f"event(t, {', '.join(run.rows.names)})"
            raise InputError(f"events is {events!r}; expected a function {call} -> number, or a list of such functions")
        for event in self.events:
            _check_arguments(event, run.rows)
        n = run.count_rows
        self._run = run
        self._direction = [float(getattr(event, "direction", 0.0)) for event in self.events]
        # Number of occurrences after which an event ends the run; 0 if it does not.
        self._last = [int(getattr(event, "terminal", False)) for event in self.events]
        has_polynomials = run.rows.polynomials(run.method) is not None
        self._graphs = [graph_of(_function_of(event), run) if has_polynomials else None for event in self.events]
        self._states: list[list[list[EventState]]] = [[[] for _ in range(n)] for _ in self.events]
        self.stops = np.full(n, np.inf)  # times at which bodies were stopped, multiplied by the direction of time
        self._sign = 1.0 if run.t1 > run.t0 else -1.0
        self._at_start = True
        self._size = 0.0  # bytes of the events that are kept

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the functions: dense output only has to know when bodies stopped."""
        return vars(self) | {"events": [], "_graphs": []}

    def search(self, t: FloatArray, m: FloatArray, q: FloatArray, sol: Solution) -> None:
        """Find the sign changes of events, and stop bodies at terminal events.

        If steps are polynomials, all sign changes of events whose graph is known are found. Other events are evaluated
        at the states and, if a body rotates by a large angle in a step, at times within the step.

        Parameters
        ----------
        t : ndarray, shape (k,) or (k, n)
            Times of the states.
        m, q : ndarray, shape (k, n, ...)
            States in principal axes.
        sol : Solution
            Dense output that contains these states.
        """
        times = np.broadcast_to(t.reshape(len(t), m.shape[1] if t.ndim > 1 else 1), m.shape[:2])
        if not times.size:
            return
        if len(times) > 1:
            self._search_polynomials(times, m, q, sol)
            self._search_samples(times, m, q, sol)
            self._at_start = False
        self._stop()

    def _search_polynomials(self, t: FloatArray, m: FloatArray, q: FloatArray, sol: Any) -> None:
        """Find and store all sign changes of events whose graph is known, in steps that are polynomials."""
        steps = StepPolynomials(t, m, q, sol, self._run.rows)
        for number, graph in enumerate(self._graphs):
            if graph is None:
                continue
            found = [steps.crossings(graph)]
            if self._at_start and self._last[number]:  # later zeros are counted when they are reached
                found.append(steps.start_zeros(graph))
            for body, begin, end, rises in found:
                counts = (rises & (self._direction[number] >= 0)) | (~rises & (self._direction[number] <= 0))
                if counts.any():
                    interval = begin[counts], end[counts]
                    self._store(number, *self._refined(self.events[number], body[counts], *interval, t[0], sol))

    def _search_samples(self, t: FloatArray, m: FloatArray, q: FloatArray, sol: Solution) -> None:
        """Find and store the sign changes of other events between consecutive states, divided into blocks."""
        if None not in self._graphs:
            return
        parts = self._parts(t, m)
        block = max(1, LARGEST_BLOCK // (parts * t.shape[1]))
        for first in range(0, len(t) - 1, block):
            rows = slice(first, first + block + 1)
            is_first = self._at_start and first == 0
            self._search_block(self._sampled(t[rows], m[rows], q[rows], parts, sol), sol, is_first)

    def _sampled(self, t: FloatArray, m: FloatArray, q: FloatArray, parts: int, sol: Solution) -> Samples:
        """Return the values of all events without a graph, at so many times that they change little in between."""
        while True:
            times, *states = _divided(t, m, q, parts, sol)
            values = {
                number: self._values(event, times, *states)
                for number, event in enumerate(self.events)
                if self._graphs[number] is None
            }
            rough = [number for number, g in values.items() if is_rough(g, JUMPS)]
            if not rough or parts >= MOST_PARTS:
                break
            parts = min(MOST_PARTS, 4 * parts)
        for number in rough:
            warn_of_rough(_name_of(self.events[number]))
        return Samples(times, values)

    def _parts(self, t: FloatArray, m: FloatArray) -> int:
        """Return the number of parts into which steps are divided, so that no rotation is missed."""
        angle = np.nanmax(self._run.rows.speed(m[:-1]) * np.abs(np.diff(t, axis=0)), initial=0.0)
        return min(MOST_PARTS, max(1, ceil(angle / FARTHEST)))

    def _search_block(self, samples: Samples, sol: Solution, is_first: bool) -> None:
        """Find and store the sign changes of events without a graph between consecutive samples."""
        times = samples.t
        for number, g in samples.values.items():
            up, down = (g[:-1] < 0) & (g[1:] >= 0), (g[:-1] > 0) & (g[1:] <= 0)
            if is_first and self._last[number]:  # later zeros are counted when they are reached
                up[0] |= (g[0] == 0) & (g[1] >= 0)
                down[0] |= (g[0] == 0) & (g[1] <= 0)
            crossed = (up & (self._direction[number] >= 0)) | (down & (self._direction[number] <= 0))
            if crossed.any():
                row, body = np.nonzero(crossed)
                begin = times[row, body]
                end = np.where(g[row, body] == 0, begin, times[row + 1, body])
                self._store(number, *self._refined(self.events[number], body, begin, end, times[0], sol))

    def _values(self, event: Event, t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
        """Return the values (k, n) of an event at states (k, n, .), passed to it in the body axes of the user."""
        run = self._run
        shape = len(t), *run.batch
        arrays = run.rows.to_user(m, q)
        value = np.asarray(event(t.reshape(shape), *arrays), dtype=np.float64)
        if value.shape != shape:
            passed = [f"{key} {array.shape}" for key, array in zip(run.rows.names, arrays, strict=True)]
            raise ShapeError(
                f"event {_name_of(event)} returned shape {value.shape} for t {shape}, {', '.join(passed[:-1])} and "
                f"{passed[-1]}; expected {shape}, one number for each state; type m[..., 0] instead of m[0]"
            )
        return value.reshape(len(t), -1)

    def _refined(
        self, event: Event, body: IntArray, begin: FloatArray, end: FloatArray, valid: FloatArray, sol: Solution
    ) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return the bodies (r,) and their (t, m, q) at sign changes between two times, accurate to round-off.

        If the times are equal, the sign change is there. The times `valid` (n,) are any at which there are states.
        """
        times = begin.copy()
        wide = begin != end
        if wide.any():
            times[wide] = self._roots(event, body[wide], begin[wide], end[wide], valid, sol)
        return body, times, *sol.rows(times, body)

    def _roots(
        self, event: Event, body: IntArray, begin: FloatArray, end: FloatArray, valid: FloatArray, sol: Solution
    ) -> FloatArray:
        """Return the roots of an event for bodies (r,), between times at which it has different signs."""
        from scipy.optimize.elementwise import find_root

        count = _occurrences(body)  # sign changes of one body are evaluated as rows of one column
        now = np.tile(valid, (count.max() + 1, 1))
        all_bodies = np.tile(np.arange(now.shape[1]), len(now))

        def value(times: FloatArray, count: IntArray, body: IntArray) -> FloatArray:
            """Return the event at `times`; it is evaluated for all bodies because it may depend on their index."""
            now[count, body] = times
            m, q = sol.rows(now.ravel(), all_bodies)
            return self._values(event, now, m.reshape(*now.shape, *m.shape[1:]), q.reshape(*now.shape, *q.shape[1:]))[
                count, body
            ]

        tolerances = {"xatol": 0.0, "xrtol": 2.0**-52}
        return np.asarray(find_root(value, (begin, end), args=(count, body), tolerances=tolerances).x)

    def _store(self, number: int, bodies: IntArray, t: FloatArray, m: FloatArray, q: FloatArray) -> None:
        """Store the states (r, .) of bodies (r,) at events of the given number; raise an error if they will not fit."""
        for i, *state in zip(bodies, t, m, q, strict=True):
            self._states[number][i].append(tuple(state))
        self._size += m.nbytes + q.nbytes + EVENT_BYTES * len(t)
        first, last = self._run.t0, self._run.t1
        part = float(np.abs(t - first).max(initial=0.0)) / abs(last - first)
        check_growth("the events of the run", self._size, part, FEWER_EVENTS)

    def _stop(self) -> None:
        """Stop the bodies that reached a terminal event, and remove their later events."""
        for by_body, last in zip(self._states, self._last, strict=True):
            for i, states in enumerate(by_body):
                states.sort(key=lambda state: self._sign * state[0])
                if last and len(states) >= last:
                    self.stops[i] = min(self.stops[i], self._sign * states[last - 1][0])
        for i in np.flatnonzero(np.isfinite(self.stops)).tolist():
            self._run.current.status[i] = Status.ENDED_BY_EVENT
            for by_body in self._states:
                by_body[i] = [state for state in by_body[i] if self._sign * state[0] <= self.stops[i]]

    def after_stop(self, t: FloatArray) -> npt.NDArray[np.bool_]:
        """Return an array (k, n): whether times t (k,) are later than the stop of each body."""
        return self._sign * t[:, None] > self.stops

    def cut(self, states: States, own_times: bool) -> States:
        """Return the states without those after terminal events: NaN in a batch, removed for a single body.

        If `own_times` is true, the state of a single body at its terminal event is appended.
        """
        late = self.after_stop(states.t)
        if self._run.batch:
            states.m[late], states.q[late] = np.nan, np.nan
            return states
        kept = States(*(array[~late[:, 0]] for array in states))
        return self._with_last(kept) if own_times and late.any() else kept

    def _with_last(self, states: States) -> States:
        """Return states of a single row, with the state at its terminal event appended."""
        last = max((found[0][-1] for found in self._states if found[0]), key=lambda state: self._sign * state[0])
        return States(
            np.append(states.t, last[0]),
            np.append(states.m, last[1][None, None], 0),
            np.append(states.q, last[2][None, None], 0),
        )

    def events_of(self) -> tuple[list[Any], ...]:
        """Return lists of times and of each array of the user, with one item for each event.

        An item is an array, or for a batch an object array of such arrays.
        """
        found = [self._gathered(by_row) for by_row in self._states]
        return tuple([event[part] for event in found] for part in range(1 + len(self._run.rows.names)))

    def _gathered(self, by_row: list[list[EventState]]) -> tuple[Any, ...]:
        """Return the times and arrays of one event, in the axes of the user; for a batch, arrays of arrays."""
        rows = self._run.rows
        parts = [np.empty(len(by_row), dtype=object) for _ in range(1 + len(rows.names))]
        for i, states in enumerate(by_row):
            t, m, q = (np.array([state[part] for state in states]) for part in range(3))
            m, q = m.reshape(-1, *rows.m_shape), q.reshape(-1, *rows.q_shape)
            for part, values in zip(parts, (t, *rows.rows_to_user(m, q, np.full(len(t), i))), strict=True):
                part[i] = values
        return tuple(part.reshape(rows.batch) if rows.batch else part[0] for part in parts)


def _check_arguments(event: Event, rows: Rows) -> None:
    """Raise an InputError if an event cannot be called with the time and the arrays of a state."""
    try:
        arguments = inspect.signature(event)
    except ValueError:  # functions written in C may have no signature
        return
    try:
        arguments.bind("t", *rows.names)
    except TypeError:
        raise InputError(
            f"event {_name_of(event)} has the arguments ({', '.join(arguments.parameters)}); expected event(t, "
            f"{', '.join(rows.names)}), {rows.event_arguments}"
        ) from None


def _function_of(event: Event) -> Event:
    """Return the function of an event."""
    return event.__wrapped__ if isinstance(event, NamedEvent) else event


def _occurrences(items: IntArray) -> IntArray:
    """Return, for each item, how many equal ones are before it."""
    order = np.argsort(items, kind="stable")
    ranks = np.empty(len(items), dtype=np.int64)
    ranks[order] = np.arange(len(items)) - np.searchsorted(items[order], items[order])
    return ranks


def _name_of(event: Event) -> str:
    """Return the name of an event for messages."""
    return getattr(event, "__name__", repr(event))


def _divided(t: FloatArray, m: FloatArray, q: FloatArray, parts: int, sol: Solution) -> EventState:
    """Return states (k, n, .) with the states at `parts - 1` equally spaced times within each step inserted."""
    if parts == 1:
        return t, m, q
    n = t.shape[1]
    part = np.arange(parts)[:, None] / parts
    between = (t[:-1, None] + part * np.diff(t, axis=0)[:, None]).reshape(-1, n)
    fine = np.concatenate((between, t[-1:]))
    m_fine, q_fine = sol.rows(fine.ravel(), np.tile(np.arange(n), len(fine)))
    return fine, m_fine.reshape(-1, n, *m.shape[2:]), q_fine.reshape(-1, n, *q.shape[2:])
