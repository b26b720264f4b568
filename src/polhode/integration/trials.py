"""Trial runs, whose ends show the error that a step size or a tolerance leads to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from polhode.core.messages import Hint, joined
from polhode.integration.rows import EndState, Integrable
from polhode.integration.running import new_run
from polhode.integration.step_search import ROUNDING, SearchResult
from polhode.integration.time_structure import CELLS, TimeStructure
from polhode.methods.method import Method

MOST_TORQUES = 1_000_000  # torque evaluations in a first trial run; longer runs are judged by their first part
STEP_ROUNDING = 4.0 * 2.0**-53  # round-off error, per radian and per square root of the number of steps
HIDDEN = joined(
    f", but the torque has features shorter than a {CELLS // 2}th of the time span, some of which may be missed; "
    "give their times as ",
    Hint("Torque(..., breaks=...)", "breaks = [...] of the force"),
)


@dataclass(frozen=True)
class Task:
    """Problem or system, time span and tolerances, with the time scales that are known before any trial run."""

    problem: Integrable
    span: tuple[float, float]
    rtol: float
    atol: float
    radian: float  # time in which the body rotates by one radian
    structure: TimeStructure
    most_torques: int = MOST_TORQUES
    ends: dict[Any, EndState | None] = field(default_factory=dict)  # results of trial runs

    @property
    def length(self) -> float:
        """Length of the time span."""
        return abs(self.span[1] - self.span[0])

    @property
    def is_ready_made(self) -> bool:
        """Whether the force is one of the library, which is known to be smooth."""
        return self.problem.rows.is_ready_made

    @property
    def wanted(self) -> float:
        """Wanted error, not below round-off."""
        return max(self.rtol, ROUNDING)

    def order_of(self, method: Method) -> float:
        """Return the order of the method with the forces of the problem."""
        return self.problem.rows.order_of(method)

    def first(self, part: float) -> Task:
        """Return the task for the first `part` (0 to 1) of the time span, with the same part of the error."""
        t0, t1 = self.span
        return self if part >= 1 else replace(self, span=(t0, t0 + part * (t1 - t0)), rtol=self.rtol * part)

    def judged(self, method: Method, h: float) -> Task:
        """Return the task for trial runs: the first part of a long time span, unless the torque changes in time."""
        if np.isfinite(self.structure.longest).any():
            return self
        return self.first(self.most_torques / (self.length / h * method.stages))

    def rounding(self, steps: float) -> float:
        """Return the round-off error that is expected after `steps` steps."""
        return STEP_ROUNDING * max(1.0, self.length / self.radian) * max(1.0, steps) ** 0.5

    def trial_error(self, method: Method, h: float) -> float:
        """Return the estimated error with step size `h`, by a run with half of it."""
        return self.error(end_state(self, method, h), end_state(self, method, h / 2, 2))

    def error(self, a: EndState | None, b: EndState | None) -> float:
        """Return the error of state `a` with respect to `b`; infinite if either run did not reach the end."""
        return inf if a is None or b is None else max(self.problem.rows.differences(a, b, self.atol / self.wanted))

    def unmet(self, result: SearchResult) -> str:
        """Return the reason why the wanted error cannot be guaranteed; empty if it can."""
        return HIDDEN if result.met and self.structure.hidden.any() else result.unmet


def end_state(task: Task, method: Method, h: float | None = None, least: int = 1) -> EndState | None:
    """Return the state of all bodies at the end of a run; None if a body did not reach it.

    A run with fixed steps has at least `least` steps between breaks of the torque. No run is made twice.
    """
    key = task.span, method, h, least
    if key not in task.ends:
        task.ends[key] = _end_of_run(task, method, h, least)
    return task.ends[key]


def _end_of_run(task: Task, method: Method, h: float | None, least: int) -> EndState | None:
    """Run, and return the state of all bodies at the end; see `_end_state`."""
    run = new_run(task.problem, task.span, method, h, least=least, longest=task.structure.longest)
    states = run.end()
    if run.interrupted:
        raise KeyboardInterrupt
    if (run.current.status < 0).any():
        return None
    return tuple(array[0] for array in run.rows.to_user(states.m, states.q))
