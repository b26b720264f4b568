"""Runs of batches in which every body has a step size of its own.

Bodies with equal numbers of steps form a group, which is a run with a fixed step size. The result of a body is
therefore that of a run of this body with its step size, to the bit, whatever the step sizes of other bodies are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.core.progress import Progress, Report
from polhode.integration.fixed_run import FixedRun
from polhode.integration.rows import Integrable, ProblemRows, States
from polhode.integration.running import GOING, Run, Schedule
from polhode.integration.solution import Solution
from polhode.integration.stretches import Stretches, step_counts, step_lengths
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Method

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder


class Part(NamedTuple):
    """Some bodies of a problem, as runs take them."""

    rows: ProblemRows
    t_span: tuple[float, float]
    h: float


@dataclass(frozen=True)
class Group:
    """Bodies that have the same steps, and the run of these and perhaps of others."""

    run: FixedRun
    rows: IntArray  # (r,), the bodies, by their indices in the batch
    places: IntArray  # (r,), and by their indices in the run
    states: States | None = None  # of all bodies of the run
    sol: Solution | None = None

    def only(self, some: BoolArray) -> Group:
        """Return the group of those bodies for which `some`, an array of all bodies of the batch, is true."""
        mine = some[self.rows]
        return replace(self, rows=self.rows[mine], places=self.places[mine])


class GroupedRun(Run):
    """Run in which each body has a step size of its own.

    States are saved at given times, otherwise at start and end. A run of some rows of the batch has no states of the
    others, see `joined`.
    """

    h: Any  # an array of the shape of the batch

    def __init__(
        self, problem: Integrable, span: tuple[float, float], method: Method, h: npt.ArrayLike, least: int = 1,
        some: IntArray | None = None,
    ) -> None:  # fmt: skip
        """Divide `span` into steps of each body no longer than its `h`; `some` are the rows to run, (r,)."""
        super().__init__(problem, span, method)
        lengths = step_lengths(h, self.batch)
        self.groups = self._grouped(lengths, np.arange(self.count_rows) if some is None else some, least)
        self.current = self.rows.new_state(method, self.rows.m, self.rows.q)
        self._set_sizes()

    def _grouped(self, lengths: FloatArray, some: IntArray, least: int) -> list[Group]:
        """Return groups of those of the rows `some` that have equal numbers of steps in all stretches of time."""
        rows = cast(ProblemRows, self.rows)
        span = self.t0, self.t1
        counts = step_counts(Stretches(span, rows.breaks), lengths[some], least)
        order = np.lexsort(counts)
        differs = np.diff(counts[:, order], axis=1).any(axis=0)
        groups = []
        for places in np.split(order, np.flatnonzero(differs) + 1) if len(some) else []:
            members = np.sort(some[places])
            part = Part(rows.take(members), span, float(lengths[members[0]]))
            groups.append(Group(FixedRun(part, span, self.method, part.h, least), members, np.arange(len(members))))
        return groups

    def _set_sizes(self) -> None:
        """Set `h` to the longest steps of all bodies."""
        self.h = self._of_all(np.nan, lambda group: np.full(len(group.rows), group.run.h)).reshape(self.batch)

    def _of_all(self, missing: float, values: Any) -> npt.NDArray[Any]:
        """Return an array (n,) of the ``values(group)`` of each group, in the order of its rows."""
        array = np.full(self.count_rows, missing)
        for group in self.groups:
            array[group.rows] = values(group)
        return array

    @cached_property
    def _owners(self) -> tuple[IntArray, IntArray]:
        """The number of the group of each body, and its place in the run of that group."""
        owner, place = np.full((2, self.count_rows), -1)
        for number, group in enumerate(self.groups):
            owner[group.rows], place[group.rows] = number, group.places
        return owner, place

    def compute(
        self, times: FloatArray | None, every: int, keep: bool, finder: EventFinder | None, progress: bool | Report
    ) -> tuple[States, Solution]:
        """Run to the end; return the states at `times`, or at start and end, and the dense output."""
        saved = np.array([self.t0, self.t1]) if times is None else times
        if finder is None and (times is not None or not keep):
            self._compute_groups(times, keep, progress)
            return self.saved(saved), GroupedSolution(self)
        self._compute_groups(None, True, progress)
        sol = GroupedSolution(self, finder)
        t, m, q = self._all_steps()
        if finder is not None:
            finder.search(t, m, q, sol)
        return States(saved, m[[0, -1]], q[[0, -1]]) if times is None else sol.states(times), sol

    def _compute_groups(self, times: FloatArray | None, keep: bool, progress: bool | Report) -> None:
        """Run all groups to the end, one after the other, unless they are interrupted.

        States are saved at `times`, and after all steps if `keep` is true; without either, at start and end.
        """
        sizes = [group.run.count * group.run.count_rows for group in self.groups]
        with Progress(progress, sum(sizes)) if progress else nullcontext() as bar:
            for number, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
                report = False if bar is None else bar.within(size)
                every = 1 if keep else group.run.count
                states, sol = group.run.compute(times, every, keep, None, report)
                self.groups[number] = replace(group, states=states, sol=sol)
                if group.run.interrupted:
                    self.interrupted = True
                    break
        self._collect()

    def _collect(self) -> None:
        """Gather the states of all groups, and the cost."""
        current = self.current
        for group in self.groups:
            for mine, its in zip(current, group.run.current, strict=True):
                if mine.size:
                    mine[group.rows] = its[group.places]
        self.seconds = sum(group.run.seconds for group in self.groups)

    def saved(self, times: FloatArray) -> States:
        """Return the states of all groups at the times at which they were saved."""
        states = self.rows.not_reached(times)
        for group in self.groups:
            if group.states is not None:
                states.m[:, group.rows] = group.states.m[:, group.places]
                states.q[:, group.rows] = group.states.q[:, group.places]
        return states

    def _all_steps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return times (k, n) and states (k, n, .) of all steps; bodies with fewer steps stay at the end."""
        longest = 1 + max((group.run.count for group in self.groups), default=0)
        t = np.full((longest, self.count_rows), np.nan)
        _, m, q = self.rows.not_reached(t[:, 0])
        for group in self.groups:
            if group.states is not None:
                step = np.minimum(np.arange(longest), group.run.count)
                t[:, group.rows] = group.states.t[step, None]
                m[:, group.rows] = group.states.m[step][:, group.places]
                q[:, group.rows] = group.states.q[step][:, group.places]
        return t, m, q

    def end(self) -> States:
        """Run to the end and return the states there."""
        states = self.rows.not_reached(np.array([self.t1]))
        for group in self.groups:
            end = group.run.end()
            states.m[0, group.rows], states.q[0, group.rows] = end.m[0, group.places], end.q[0, group.places]
            if group.run.interrupted:
                self.interrupted = True
                break
        self._collect()
        return states

    def states_to_save(self, times: FloatArray | None, every: int, keep: bool) -> int:
        """Return the largest number of states of a body that `compute` holds in memory."""
        of_steps = 1 + max((group.run.count for group in self.groups), default=0) if keep else 0
        return of_steps + (2 if times is None else 1 + len(times))

    def user_status(self) -> Any:
        """Return the status of all bodies; INTERRUPTED where a group did not reach the end."""
        status = self.current.status.copy()
        for group in self.groups:
            if self.interrupted and (group.states is None or group.run.interrupted):
                status[group.rows[status[group.rows] == GOING]] = Status.INTERRUPTED
        return status.reshape(self.batch)

    def _reached(self, states: States) -> BoolArray:
        """Return which states (k,) any body reached."""
        return np.asarray(np.isfinite(states.m).any(axis=(1, 2)))

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        group, place = self._where(i)
        return group.run.failed_at(place)

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and a step size that works, if one is found."""
        group, place = self._where(i)
        return group.run.why_no_step(place)

    def of_steps(self, i: int) -> str:
        """Return the number of all steps of body `i`, for messages."""
        group, place = self._where(i)
        return group.run.of_steps(place)

    def _where(self, i: int) -> tuple[Group, int]:
        """Return the group of body `i`, and its place in the run of the group."""
        owner, place = self._owners
        return self.groups[owner[i]], int(place[i])

    def schedule(self, times: FloatArray | None, every: int) -> Schedule:
        """Raise InputError: a run on disk needs states of all bodies at the same times."""
        raise InputError(
            f"h has shape {self.batch}, but states that are written while they are computed are those of steps, which "
            "all bodies must share; type one number for h, or integrate(..., h=..., t_eval=...).save(...)"
        )

    def scheduled(self, schedule: Schedule, first: int, last: int, bar: Progress) -> States:
        """Raise NotImplementedError: there is no schedule."""
        raise NotImplementedError

    @property
    def can_pause(self) -> bool:
        """Whether a snapshot can continue: never."""
        return False

    def progress(self) -> dict[str, Any]:
        """Return the arguments of a progress bar of the run."""
        return {"count": sum(group.run.count * group.run.count_rows for group in self.groups)}


def joined(runs: Sequence[GroupedRun], chosen: IntArray) -> GroupedRun:
    """Return the run whose body i is that of the run number ``chosen[i]``; the runs have the same problem and times."""
    first = runs[0]
    result = GroupedRun(first.problem, (first.t0, first.t1), first.method, 1.0, some=np.empty(0, np.int64))
    parts = [group.only(chosen == number) for number, run in enumerate(runs) for group in run.groups]
    result.groups = [group for group in parts if len(group.rows)]
    result._set_sizes()
    result._collect()
    return result


class GroupedSolution(Solution):
    """Dense output of a run in which each body has a step size of its own."""

    _run: GroupedRun

    def __init__(self, run: GroupedRun, event_finder: EventFinder | None = None) -> None:
        """Use the dense output of the groups of a run that has reached its end."""
        self._run = run
        self._event_finder = event_finder

    @property
    def _ends(self) -> tuple[float, float]:
        """First and last time."""
        return self._run.t0, self._run.t1

    def rows(self, t: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q) of shape (r, ...), in principal axes, at times t (r,) of rows with indices (r,)."""
        run = self._run
        owner, place = run._owners
        m, q = np.full((len(t), *run.rows.m_shape), np.nan), np.full((len(t), *run.rows.q_shape), np.nan)
        order = np.argsort(owner[row], kind="stable")
        starts = np.searchsorted(owner[row][order], np.arange(len(run.groups) + 1))
        for number, group in enumerate(run.groups):
            some = order[starts[number] : starts[number + 1]]
            if len(some) and group.sol is not None:
                m[some], q[some] = group.sol.rows(t[some], place[row[some]])
        return m, q
