"""Watching a run for events: functions of the state that change sign, and the times when they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, ShapeError
from polhode.integration.running import STOPPED

if TYPE_CHECKING:
    from polhode.core.arrays import IntArray
    from polhode.integration.running import BaseRun
    from polhode.integration.solution import Solution

Event = Callable[[FloatArray, FloatArray, FloatArray], Any]
Found = tuple[Any, FloatArray, FloatArray]  # t, m, q
FARTHEST = 0.5  # radians from one look to the next
MOST_PARTS, LARGEST_BLOCK = 256, 2**18


class EventFinder:
    """What events have happened to which bodies, and which bodies they stopped."""

    def __init__(self, events: Event | Sequence[Event], run: BaseRun) -> None:
        self.events: list[Event] = list(events) if isinstance(events, Sequence) else [events]
        if not all(map(callable, self.events)) or not self.events:
            raise InputError(f"events is {events!r}; expected a function event(t, m, q) -> number, or a list of such")
        n = run.count_bodies
        self._run = run
        self._direction = [float(getattr(event, "direction", 0.0)) for event in self.events]
        self._last = [int(getattr(event, "terminal", False)) for event in self.events]  # the how-manieth one ends it
        self._found: list[list[list[Found]]] = [[[] for _ in range(n)] for _ in self.events]
        self.stops = np.full(n, np.inf)  # when a body was stopped, counted forward in the direction of time
        self._sign = 1.0 if run.t1 > run.t0 else -1.0
        self._at_start = True

    def look(self, t: FloatArray, m: FloatArray, q: FloatArray, sol: Solution) -> None:
        """At states (k, n, .) in principal axes at times t (k,) or (k, n): find what changes sign between neighbors.

        Where a body turns far in a step, also at times within it.
        """
        times = np.broadcast_to(t.reshape(len(t), m.shape[1] if t.ndim > 1 else 1), m.shape[:2])
        if not times.size:
            return
        parts = self._parts(times, m)
        some = max(1, LARGEST_BLOCK // (parts * times.shape[1]))
        for first in range(0, len(times) - 1, some):
            rows = slice(first, first + some + 1)
            self._search(*_divided(times[rows], m[rows], q[rows], parts, sol), sol)
            self._at_start = False
        self._stop()

    def _parts(self, t: FloatArray, m: FloatArray) -> int:
        """Into how many parts steps have to be divided to see every turn."""
        speed = np.linalg.norm(m[:-1] / self._run.bodies.inertia, axis=-1)
        angle = np.nanmax(speed * np.abs(np.diff(t, axis=0)), initial=0.0)
        return min(MOST_PARTS, max(1, ceil(angle / FARTHEST)))

    def _search(self, times: FloatArray, m: FloatArray, q: FloatArray, sol: Solution) -> None:
        for number, event in enumerate(self.events):
            g = self._values(event, times, m, q)
            up, down = (g[:-1] < 0) & (g[1:] >= 0), (g[:-1] > 0) & (g[1:] <= 0)
            if self._at_start and self._last[number]:  # later zeros were counted when they were reached
                up[0] |= (g[0] == 0) & (g[1] >= 0)
                down[0] |= (g[0] == 0) & (g[1] <= 0)
            crossed = (up & (self._direction[number] >= 0)) | (down & (self._direction[number] <= 0))
            if crossed.any():
                self._keep(number, *self._refined(event, crossed, times, g, sol))

    def _values(self, event: Event, t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
        """(k, n) of states (k, n, .), as the user sees them."""
        run = self._run
        shape = len(t), *run.batch
        value = np.asarray(event(t.reshape(shape), *run.to_user(m, q)), dtype=np.float64)
        if value.shape != shape:
            name = getattr(event, "__name__", repr(event))
            raise ShapeError(
                f"event {name} returned shape {value.shape} for t {shape}, m {(*shape, 3)} and q {(*shape, 4)}; "
                f"expected {shape}, one number for each state; type m[..., 0] instead of m[0]"
            )
        return value.reshape(len(t), -1)

    def _refined(
        self, event: Event, crossed: npt.NDArray[np.bool_], t: FloatArray, g: FloatArray, sol: Solution
    ) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return bodies and their (t, m, q) at all changes of sign that follow times t (k, n), to rounding."""
        from scipy.optimize.elementwise import find_root

        row, body = np.nonzero(crossed)
        count = crossed.cumsum(axis=0)[row, body] - 1  # the crossings of one body are a column of states
        now = np.tile(t[0], (count.max() + 1, 1))
        everybody = np.tile(np.arange(now.shape[1]), len(now))

        def value(times: FloatArray, count: IntArray, body: IntArray) -> FloatArray:
            """Evaluate the event for all bodies, as it may depend on them."""
            now[count, body] = times
            m, q = sol.rows(now.ravel(), everybody)
            return self._values(event, now, m.reshape(*now.shape, 3), q.reshape(*now.shape, 4))[count, body]

        begin = t[row, body]
        end = np.where(g[row, body] == 0, begin, t[row + 1, body])
        tolerances = {"xatol": 0.0, "xrtol": 2.0**-52}
        times = find_root(value, (begin, end), args=(count, body), tolerances=tolerances).x
        return body, times, *sol.rows(times, body)

    def _keep(self, number: int, bodies: IntArray, t: FloatArray, m: FloatArray, q: FloatArray) -> None:
        for i, *state in zip(bodies, t, m, q, strict=True):
            self._found[number][i].append(tuple(state))

    def _stop(self) -> None:
        """Bodies whose run an event ends; what was found later is forgotten."""
        for found, last in zip(self._found, self._last, strict=True):
            for i, states in enumerate(found):
                states.sort(key=lambda state: self._sign * state[0])
                if last and len(states) >= last:
                    self.stops[i] = min(self.stops[i], self._sign * states[last - 1][0])
        for i in np.flatnonzero(np.isfinite(self.stops)).tolist():
            self._run.current.status[i] = STOPPED
            for found in self._found:
                found[i] = [state for state in found[i] if self._sign * state[0] <= self.stops[i]]

    def after_stop(self, t: FloatArray) -> npt.NDArray[np.bool_]:
        """Which of times (k,) are after each body's stop, (k, n)."""
        return self._sign * t[:, None] > self.stops

    def with_last(self, t: FloatArray, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """States (k, 1, .) of the one body, and the one that ended its run."""
        last = max((states[0][-1] for states in self._found if states[0]), key=lambda state: self._sign * state[0])
        return (
            np.append(t, last[0]),
            np.append(m, last[1].reshape(1, 1, 3), 0),
            np.append(q, last[2].reshape(1, 1, 4), 0),
        )

    def events_of(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Times, m and q for each event: arrays, or of a batch an array of such arrays."""
        return tuple(  # type: ignore[return-value]
            [self._gathered(found, part, width) for found in self._found] for part, width in enumerate((None, 3, 4))
        )

    def _gathered(self, found: list[list[Any]], part: int, width: int | None) -> Any:
        run = self._run
        each = np.empty(len(found), dtype=object)
        for i, states in enumerate(found):
            rows = np.array([state[part] for state in states]).reshape((-1, width) if width else -1)
            if width:
                other = np.array([state[3 - part] for state in states]).reshape(-1, 7 - width)
                both = (rows, other) if part == 1 else (other, rows)
                rows = run.rows_to_user(both[0], both[1], np.full(len(rows), i))[part - 1]
            each[i] = rows
        return each.reshape(run.batch) if run.batch else each[0]


def _divided(t: FloatArray, m: FloatArray, q: FloatArray, parts: int, sol: Solution) -> Found:
    """The same states (k, n, .), and those at times in between."""
    if parts == 1:
        return t, m, q
    n, part = t.shape[1], np.arange(parts)[:, None] / parts
    between = (t[:-1, None] + part * np.diff(t, axis=0)[:, None]).reshape(-1, n)
    fine = np.concatenate((between, t[-1:]))
    m_fine, q_fine = sol.rows(fine.ravel(), np.tile(np.arange(n), len(fine)))
    return fine, m_fine.reshape(-1, n, 3), q_fine.reshape(-1, n, 4)
