"""The members of an ensemble that are followed together: from their samples to results, and to what failed.

Members are batches of bodies for the compiled loops, so a factory sees arrays with the members along the first axis.
One that cannot be made, or cannot go on, does not stop the others: batches that raise are halved until it is alone.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats
from polhode.core.errors import InputError, RunError, RunWarning, ShapeError
from polhode.core.progress import Report
from polhode.ensembles.sampling import Rows, Samples
from polhode.ensembles.variation import OWN_TIME, batch_of, member, varied
from polhode.files.environment import environment
from polhode.flows.exact import Exact
from polhode.free.motion import MANY_TIMES
from polhode.free.propagation import propagate
from polhode.integration.problem import Problem
from polhode.integration.trajectory import FAILED, INTERRUPTED, Stats, Trajectory
from polhode.solve import integrate

STOPPED = re.compile(r"^body(\[0\])? stopped")  # how the message of a run begins

Factory = Callable[[Rows], Problem]
Reduce = Callable[[Trajectory], Mapping[str, Any]]


@cache
def conditions() -> dict[str, str]:
    """Of this process; to look at them takes milliseconds."""
    return environment()


@dataclass
class Chunk:
    """Results of some members, each array (members, ...); ``status`` as in a Trajectory; errors by member's number."""

    first: int
    samples: Rows
    arrays: Rows
    status: npt.NDArray[np.int64]
    errors: dict[int, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=conditions)
    seconds: float = 0.0


@dataclass(frozen=True)
class Job:
    """How members are made, followed and summed up; ``shapes`` (of one member) are those of the results."""

    source: Problem | Factory
    span: tuple[float, float]
    times: FloatArray | None  # None: each member has its own, by the samples "t"
    method: Any  # None: free bodies, exactly
    h: float | None
    reduce: Reduce | None
    vectorized: bool
    shapes: dict[str, tuple[int, ...]]

    def size(self, members: int) -> int:
        """Return the bytes of the states or results of so many members."""
        return 8 * members * sum(map(prod, self.shapes.values()))

    def run(self, samples: Samples, report: Report | None = None) -> Chunk:
        """All members; KeyboardInterrupt if they were interrupted, which leaves nothing of them.

        ``report`` is told on the way which part of the work is done.
        """
        began, n = time.perf_counter(), len(samples)
        rows = samples.rows()
        arrays = {name: np.full((n, *shape), np.nan) for name, shape in self.shapes.items()}
        chunk = Chunk(samples.first, rows, arrays, np.zeros(n, np.int64))
        if self.vectorized:
            self._range(chunk, 0, n, report)
        else:
            for i in range(n):
                self._range(chunk, i, i + 1, report)
        chunk.seconds = time.perf_counter() - began
        return chunk

    def _range(self, chunk: Chunk, start: int, stop: int, report: Report | None) -> None:
        """Members start..stop of a chunk, together if that is possible."""

        def report_all(part: float) -> None:
            if report is not None:
                report((start + part * (stop - start)) / len(chunk.status))

        try:
            result = self.follow({name: values[start:stop] for name, values in chunk.samples.items()}, report_all)
            found = self.results(result)
        except MemoryError:
            raise
        except Exception as problem:  # of one member, or of the user's functions for it
            if stop - start > 1:
                middle = (start + stop) // 2
                self._range(chunk, start, middle, report)
                self._range(chunk, middle, stop, report)
            else:
                self._failed(chunk, start, f"{type(problem).__name__}: {problem}")
            return
        report_all(1.0)
        for name, values in found.items():
            chunk.arrays[name][start:stop] = values
        for i in np.flatnonzero(np.atleast_1d(result.status) == FAILED):
            alone = result if stop - start == 1 else self._followed(member(result.problem, int(i)))
            self._failed(chunk, start + int(i), alone.message)

    def _failed(self, chunk: Chunk, i: int, told: str) -> None:
        number = chunk.first + i
        chunk.status[i] = FAILED
        chunk.errors[number] = STOPPED.sub(f"member {number} stopped", told, count=1)
        if self.reduce is not None:  # a summary of a part of the way is none of the whole
            for values in chunk.arrays.values():
                values[i] = np.nan

    def follow(self, rows: Rows, report: Report | None = None) -> Trajectory:
        """The trajectory of these members, (times, members, ...); of one member alone if it is not vectorized."""
        problem = self.problem(rows)
        if self.method is None:
            own = rows.get(OWN_TIME)
            return self._exact(problem, own if own is None or self.vectorized else own[0])
        return self._followed(problem, report)

    def _followed(self, problem: Problem, report: Report | None = None) -> Trajectory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunWarning)  # every member that stops is recorded
            try:
                how: Any = {"method": self.method, "h": self.h, "t_eval": self.times, "progress": report or False}
                result = integrate(problem, self.span, **how)
            except RunError as stopped:  # one body that is no batch
                result = stopped.trajectory
        if np.any(np.equal(result.status, INTERRUPTED)):
            raise KeyboardInterrupt
        return result

    def problem(self, rows: Rows) -> Problem:
        members = len(next(iter(rows.values())))
        if not self.vectorized:
            rows = {name: values[0] for name, values in rows.items()}
        made = varied(self.source, rows) if isinstance(self.source, Problem) else self.source(rows)
        if not isinstance(made, Problem):
            raise InputError(f"the factory returned {type(made).__name__}; expected a polhode.Problem")
        batch = batch_of(made)
        if self.vectorized and batch != (members,):
            raise ShapeError(
                f"the factory made a problem with batch {batch} of {members} members; expected ({members},), made of "
                "arrays with members along the first axis; or type vectorized=False, and it gets one at a time"
            )
        if not self.vectorized and batch:
            raise ShapeError(f"the factory made a batch {batch} of one member; with vectorized=False, make one body")
        return made

    def _exact(self, problem: Problem, own: FloatArray | None) -> Trajectory:
        body, state, t0 = problem.body, problem.state, self.span[0]
        if problem.force is not None:
            raise InputError("the factory made free bodies at first, and here one with a force; give method and h")
        times = np.array([self.span[1]]) if self.times is None else self.times
        if own is not None:
            elapsed = np.asarray(own - t0)[None]
        else:
            elapsed = (times - t0).reshape(-1, *(1,) * len(batch_of(problem)))
        if own is None and len(times) >= MANY_TIMES:
            m, q = problem.free_motion().sample(times - t0)
        else:
            m, q = propagate(body, state.m, state.q, elapsed)
        status = np.zeros(m.shape[1:-1], np.int64)
        return Trajectory(problem, times, m, q, method=Exact(), h=0.0, stats=Stats(0, 0, 0.0), status=status)

    def results(self, result: Trajectory) -> Rows:
        """Arrays with the members first: states, or what ``reduce`` makes of them."""
        if self.reduce is None:
            own = self.times is None
            states = {"m": result.m, "q": result.q}
            return {name: x[0] if own else _members_first(x, self.vectorized) for name, x in states.items()}
        found = self.reduce(result)
        if not isinstance(found, Mapping) or not found:
            raise InputError(f"reduce returned {type(found).__name__}; expected a table {{name: array (members, ...)}}")
        members = result.m.shape[1:-1]
        arrays = {}
        for name, values in found.items():
            arrays[name] = as_floats(values, f"reduce: {name}")
            if arrays[name].shape[: len(members)] != members:
                raise ShapeError(
                    f"reduce returned {name} with shape {arrays[name].shape}; expected {members} + (...), the first "
                    "axis being members, as the second axis of trajectory.m is"
                )
        return arrays


def _members_first(x: FloatArray, batched: bool) -> FloatArray:
    return np.swapaxes(x, 0, 1) if batched else x
