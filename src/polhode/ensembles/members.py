"""Integration of one chunk of an ensemble: from the samples of its members to results and error messages.

The members of a chunk are a batch of bodies for the compiled loops, so factories get arrays with the members along the
first axis. A member that cannot be built or integrated does not stop the others: a batch that raises an exception is
halved until the failing member is alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats
from polhode.core.errors import InputError, MethodWarning, RunError, RunWarning, ShapeError
from polhode.core.progress import Report, searching
from polhode.ensembles.sampling import Rows, Samples
from polhode.ensembles.variation import OWN_TIME, batch_of, member, varied
from polhode.files.environment import environment
from polhode.free.propagation import propagate
from polhode.integration.choice import Choice, choose
from polhode.integration.output import OutputOptions
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Method
from polhode.solve import integrate_chosen

Factory = Callable[[Rows], Problem]
Reduce = Callable[[Trajectory], Mapping[str, Any]]


@cache
def conditions() -> dict[str, str]:
    """Return the environment of this process; cached, because collecting it takes milliseconds."""
    return environment()


@dataclass
class Chunk:
    """Results of consecutive members of an ensemble.

    Attributes
    ----------
    first : int
        Number of the first member.
    samples : dict of ndarray
        Samples by name, each of shape (members, ...).
    arrays : dict of ndarray
        Results by name, each of shape (members, ...).
    status : ndarray of int, shape (members,)
        Status of each member, as in a Trajectory.
    errors : dict
        Error messages by the number of the member.
    environment : dict
        Processor and versions with which the chunk was computed.
    seconds : float
        Computing time.
    """

    first: int
    samples: Rows
    arrays: Rows
    status: npt.NDArray[np.int64]
    errors: dict[int, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=conditions)
    seconds: float = 0.0


@dataclass(frozen=True)
class Job:
    """How the members of an ensemble are built, integrated and summarized.

    Attributes
    ----------
    source : Problem or callable
        The problem whose parameters the samples replace, or a function that builds problems from samples.
    span : tuple of two floats
        First and last time.
    times : ndarray, shape (k,), or None
        Times at which states are saved. None if the samples "t" hold one time for each member.
    method : Method
        Integration method.
    h : float or None
        Step size. None if the method chooses its steps.
    rtol : float or None
        Wanted error by which each member gets its own step size. Members whose torque is not smooth in time have the
        step size `h`. None if all members have it.
    reduce : callable or None
        Function that summarizes a trajectory. None if states are saved.
    vectorized : bool
        Whether ``source`` takes many members at once.
    shapes : dict
        Shapes of the results of one member, by name.
    """

    source: Problem | Factory
    span: tuple[float, float]
    times: FloatArray | None
    method: Method
    h: float | None
    reduce: Reduce | None
    vectorized: bool
    shapes: dict[str, tuple[int, ...]]
    rtol: float | None = None

    def size(self, members: int) -> int:
        """Return the number of bytes of the results of ``members`` members."""
        return 8 * members * sum(map(prod, self.shapes.values()))

    def run(self, samples: Samples, report: Report | None = None) -> Chunk:
        """Integrate all members of ``samples`` and return their results.

        If the integration is interrupted, KeyboardInterrupt is raised and the whole chunk is discarded. ``report`` is a
        callback that gets the finished fraction of the work.
        """
        start_time = time.perf_counter()
        n = len(samples)
        rows = samples.rows()
        arrays = {name: np.full((n, *shape), np.nan) for name, shape in self.shapes.items()}
        chunk = Chunk(samples.first, rows, arrays, np.zeros(n, np.int64))
        if self.vectorized:
            self._range(chunk, 0, n, report)
        else:
            for i in range(n):
                self._range(chunk, i, i + 1, report)
        chunk.seconds = time.perf_counter() - start_time
        return chunk

    def _range(self, chunk: Chunk, start: int, stop: int, report: Report | None) -> None:
        """Integrate the members ``start:stop`` of a chunk, together if none of them raises an exception."""

        def report_range(fraction: float) -> None:
            if report is not None:
                report((start + fraction * (stop - start)) / len(chunk.status))

        rows = {name: values[start:stop] for name, values in chunk.samples.items()}
        result = None
        try:
            if self.times is None:
                arrays = self._at_own_times(rows)
            else:
                result = self.follow(rows, report_range)
                arrays = self.results(result)
        except MemoryError:
            raise
        except Exception as problem:  # raised for one member, possibly by a user function
            if stop - start > 1:
                middle = (start + stop) // 2
                self._range(chunk, start, middle, report)
                self._range(chunk, middle, stop, report)
            else:
                self._failed(chunk, start, f"{type(problem).__name__}: {problem}")
            return
        report_range(1.0)
        for name, values in arrays.items():
            chunk.arrays[name][start:stop] = values
        if result is None:
            return
        for i in np.flatnonzero(np.atleast_1d(result.status) < 0):
            alone = result if stop - start == 1 else self.integrated(member(result.problem, int(i)))
            message = f"member {chunk.first + start + int(i)} {alone.failure}"
            self._failed(chunk, start + int(i), message, int(np.atleast_1d(alone.status)[0]))

    def _failed(self, chunk: Chunk, i: int, message: str, status: int = Status.FAILED) -> None:
        """Record that member ``i`` of the chunk failed, and why."""
        number = chunk.first + i
        chunk.status[i] = status
        chunk.errors[number] = message
        if self.reduce is not None:  # the summary of an incomplete trajectory is not valid
            for values in chunk.arrays.values():
                values[i] = np.nan

    def follow(self, rows: Rows, report: Report | None = None) -> Trajectory:
        """Return the trajectory of the members with the samples ``rows``, arrays of shape (times, members, ...).

        If the job is not vectorized, ``rows`` has one member and the arrays have shape (times, ...).
        """
        return self.integrated(self.problem(rows), report)

    def integrated(self, problem: Problem, report: Report | None = None) -> Trajectory:
        """Return the trajectory computed by ``integrate``, also if bodies stop early."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunWarning)  # every member that stops is recorded
            warnings.simplefilter("ignore", MethodWarning)  # issued once, by the plan
            try:
                output = OutputOptions(self.times, progress=report or False)
                with searching(output.progress):
                    choice = self._choice(problem, output)
                return integrate_chosen(problem, self.span, choice, output)
            except RunError as stopped:  # raised for a single body, never for a batch
                return stopped.trajectory

    def _choice(self, problem: Problem, output: OutputOptions) -> Choice:
        """Return the method and the step size, or the step size of each member."""
        if self.rtol is None:
            return Choice(self.method, self.h, is_made=False)
        choice = choose(
            problem, self.span, self.method, rtol=self.rtol, output=output, each=True, rough_h=self.h
        )  # fmt: skip
        return choice._replace(is_made=False)

    def problem(self, rows: Rows) -> Problem:
        """Return the problem of the members with the samples ``rows``, after checking its type and batch shape."""
        members = len(next(iter(rows.values())))
        if not self.vectorized:
            rows = {name: values[0] for name, values in rows.items()}
        problem = varied(self.source, rows) if isinstance(self.source, Problem) else self.source(rows)
        if not isinstance(problem, Problem):
            raise InputError(f"the factory returned {type(problem).__name__}; expected a polhode.Problem")
        batch = batch_of(problem)
        if self.vectorized and batch != (members,):
            raise ShapeError(
                f"the factory returned a problem with batch shape {batch} for {members} members; expected "
                f"({members},); build it from arrays with the members along the first axis, or type vectorized=False "
                "to get one member at a time"
            )
        if not self.vectorized and batch:
            raise ShapeError(
                f"the factory returned a problem with batch shape {batch} for one member; expected a single body, "
                "because vectorized=False"
            )
        if not self.vectorized:
            problem = copy(problem)  # that of the user keeps the loop of single bodies
            problem.rows.in_blocks = True
        return problem

    def _at_own_times(self, rows: Rows) -> Rows:
        """Return the states of free bodies, each at a time of its own."""
        problem = self.problem(rows)
        self.method.check(problem.force)
        own_times = rows[OWN_TIME] if self.vectorized else rows[OWN_TIME][0]
        m, q = propagate(problem.body, problem.state.m, problem.state.q, own_times - self.span[0])
        return {"m": m, "q": q}

    def results(self, result: Trajectory) -> Rows:
        """Return the results, arrays with the members along the first axis: states, or what ``reduce`` returns."""
        if self.reduce is None:
            states = {"m": result.m, "q": result.q}
            return {name: np.swapaxes(x, 0, 1) for name, x in states.items()} if self.vectorized else states
        summary = self.reduce(result)
        if not isinstance(summary, Mapping) or not summary:
            raise InputError(
                f"reduce returned {type(summary).__name__}; expected a dict {{name: array of shape (members, ...)}}"
            )
        members = result.m.shape[1:-1]
        arrays = {}
        for name, values in summary.items():
            arrays[name] = as_floats(values, f"reduce: {name}")
            if arrays[name].shape[: len(members)] != members:
                raise ShapeError(
                    f"reduce returned {name} with shape {arrays[name].shape}; expected {members} + (...), with the "
                    "members along the first axis, as along the second axis of trajectory.m"
                )
        return arrays
