"""Output of a run: the states that the user asked for, and the check that they fit into memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.capacity import memory_for
from polhode.core.errors import InputError, MemoryLimitError
from polhode.core.progress import Report
from polhode.integration.rows import States
from polhode.integration.running import FEWER_STATES, Run
from polhode.integration.solution import Solution
from polhode.integration.stretches import Steps, StepSize, checked_times, finite_times, step_length
from polhode.methods.method import Method

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder

SMALL = 2**20  # bytes that every machine has


class OutputOptions(NamedTuple):
    """The arguments of ``integrate`` that determine its output."""

    t_eval: npt.ArrayLike | None = None
    save_every: int = 1
    dense_output: bool = False
    events: Any = None
    progress: bool | Report = False

    def states_of(self, steps: float) -> float:
        """Return the number of states that a run of so many steps computes for the output."""
        if self.dense_output or self.events is not None:
            return steps
        return steps / self.save_every if self.t_eval is None else np.size(self.t_eval)

    def check_own_steps(self) -> None:
        """Raise InputError if states are to be saved by numbers of steps, which are not the same for all bodies."""
        if self.save_every > 1 and self.t_eval is None:
            raise InputError(
                f"save_every = {self.save_every}, but every body of the batch has its own steps, which end at "
                "different times; type t_eval=..., or one number h=... for all bodies"
            )


class Computed(NamedTuple):
    """Run that has reached its end, with its output."""

    run: Run
    states: States
    sol: Solution | None
    finder: EventFinder | None

    def trajectory(self, own_times: bool) -> Any:
        """Return the trajectory; see ``Run.trajectory``."""
        return self.run.trajectory(self.states, self.sol, self.finder, own_times=own_times)


def computed(run: Run, h: StepSize | None, output: OutputOptions) -> Computed:
    """Run to the end, and save the states that the user asked for; `h` is the step size, if there is one."""
    every = output.save_every
    is_of_steps = output.t_eval is None and not run.method.chooses_steps
    times = None if is_of_steps else times_to_save(run.method, h, (run.t0, run.t1), output.t_eval, every)
    finder = None if output.events is None else _finder(output.events, run)
    try:
        with room_for(run, times, output):
            states, sol = run.compute(times, every, output.dense_output, finder, output.progress)
    except MemoryError as error:
        if isinstance(error, MemoryLimitError):
            raise
        with room_for(run, times, output, small=0):
            raise
    return Computed(run, states, sol, finder)


def room_for(
    run: Run, times: FloatArray | None, output: OutputOptions, small: int = SMALL
) -> AbstractContextManager[None]:
    """Return the context in which states are computed; it raises MemoryLimitError if they do not fit into memory.

    Sizes below `small` are not checked.
    """
    count = run.states_to_save(times, output.save_every, output.dense_output)
    rows = run.rows
    size = 8 * count * (rows.floats * rows.count + 1)
    if size < small:
        return nullcontext()
    is_known = times is not None or not run.method.chooses_steps
    what = f"{'' if is_known else 'at least '}{count} states" + (f" of {rows.size} bodies each" * (rows.size > 1))
    return memory_for(what, size, FEWER_STATES)


def _finder(events: Any, run: Run) -> EventFinder:
    """Return what finds events; it is imported only if there are some, because that takes as long as many runs."""
    from polhode.integration.event_finder import EventFinder

    return EventFinder(events, run)


def times_to_save(
    method: Method, h: StepSize | None, span: tuple[float, float], t_eval: npt.ArrayLike | None, every: int
) -> FloatArray | None:
    """Return the times at which states are saved, or None for those of the steps.

    They are `t_eval`; for methods that choose their steps and take `h`, every `every`-th multiple of `h`.
    """
    if t_eval is not None:
        return finite_times(t_eval) if method.any_time else checked_times(t_eval, span)
    if h is None or not method.chooses_steps:
        return None
    grid = Steps(span, np.empty(0), step_length(h))
    return grid.times(np.append(np.arange(0, grid.count, every, dtype=np.int64), grid.count))
