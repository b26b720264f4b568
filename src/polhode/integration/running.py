"""Runs: the state of all rows of a problem or a system, the calls of loops, and the messages when a body fails."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import Interrupted, RunError, RunWarning
from polhode.core.messages import Hint, joined
from polhode.core.progress import Progress, Report, go_on
from polhode.core.warning import warn
from polhode.forces import functions
from polhode.integration.base_trajectory import Stats
from polhode.integration.rows import Integrable, States
from polhode.kernels.compiler.compile_time import COMPILE_TIME
from polhode.kernels.stepping.header import BatchState, Clock, Saved, Wanted
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Method

if TYPE_CHECKING:
    from polhode.integration.event_finder import EventFinder
    from polhode.integration.solution import Solution
    from polhode.integration.stretches import StepSize

GOING = int(Status.REACHED_END)  # status of bodies that continue; members of an Enum are slow to look up
PIECE_SECONDS = 0.1  # time after which a compiled loop returns, to show progress and to notice Ctrl-C
LONG_PIECE = 0.01  # time of a call after which a trial run may show that it goes on
FIRST_PIECE = 1000  # steps of all bodies together in the first call of a compiled loop
BY_TORQUE = (Status.TORQUE_RAISED, Status.NOT_FINITE)  # statuses of bodies that their torque stopped
FEWER_STATES = joined(
    "keep fewer, with ",
    Hint("save_every=... or t_eval=...", "--set output.save_every=... or --set output.states=..."),
    ", or write them to a disk as they are computed",
    Hint(": polhode.stream(problem, 'run.zarr', method=..., h=...)", ", with --set output.format=zarr"),
)


class Schedule(NamedTuple):
    """States that a long run saves, one after the other."""

    total: int
    every: int  # number of steps between two states
    times: FloatArray | None = None  # (total,), if the method chooses its steps


class Failure(NamedTuple):
    """Failure of a body."""

    message: str
    text: str  # the message without the name of the body
    cause: BaseException | None  # the exception of its torque


NO_FAILURE = Failure("", "", None)


class Run(ABC):
    """Base class of runs: of those with a fixed step size, and of those whose method chooses the steps.

    Attributes
    ----------
    h : float, or ndarray of the shape of the batch
        Step size, of all bodies or of each; NaN if the method chooses the steps.
    current : BatchState
        State of all bodies, in principal axes.
    interrupted : bool
        Whether the run was interrupted by Ctrl-C.
    raises_for_batches : bool
        Whether the failure of one body of a batch is an error. By default it is a warning.
    """

    current: BatchState
    h: Any
    raises_for_batches: bool = False

    def __init__(self, problem: Integrable, span: tuple[float, float], method: Method) -> None:
        """Take a method that fits what is integrated: see ``Rows.check``."""
        self.problem: Any = problem
        rows = self.rows = problem.rows
        self.method = method
        self.t0, self.t1 = span
        self.batch, self.count_rows, self.bodies = rows.batch, rows.count, rows.bodies_for_run()
        self.interrupted = False
        self.seconds = 0.0
        self.first_piece = max(2, FIRST_PIECE // max(1, rows.size))  # steps of each body in the first call of a loop
        if functions.CTRL_C.is_set():
            functions.forget_ctrl_c()

    @abstractmethod
    def compute(
        self, times: FloatArray | None, every: int, keep: bool, finder: EventFinder | None, progress: bool | Report
    ) -> tuple[States, Solution | None]:
        """Run to the end; return the states to save, and the dense output if its data are kept.

        Parameters
        ----------
        times : ndarray of shape (k,), or None
            Times at which states are saved. None for those of the steps.
        every : int
            Number of steps between two saved states, if `times` is None.
        keep : bool
            Whether to keep the data of the dense output, which may require more memory than `times`.
        finder : EventFinder or None
            Finder that searches every step for events.
        progress : bool or callable
            As in ``integrate``.
        """

    @abstractmethod
    def end(self) -> States:
        """Run to the end and return the states there, k = 1."""

    @abstractmethod
    def states_to_save(self, times: FloatArray | None, every: int, keep: bool) -> int:
        """Return the number of states of a body that `compute` holds in memory, as far as it is known."""

    @abstractmethod
    def schedule(self, times: FloatArray | None, every: int) -> Schedule:
        """Return the states that a long run saves: at `times` (k,), or after every `every` steps."""

    @abstractmethod
    def scheduled(self, schedule: Schedule, first: int, last: int, bar: Progress) -> States:
        """Continue, and return the states `first` to `last - 1` of a schedule, in the order of integration."""

    @property
    @abstractmethod
    def can_pause(self) -> bool:
        """Whether a snapshot of the current state can continue with the states that are scheduled next."""

    @abstractmethod
    def progress(self) -> dict[str, Any]:
        """Return the arguments of a progress bar of the run, which may have begun."""

    @abstractmethod
    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""

    @abstractmethod
    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and what to do."""

    def call(self, clock: Clock, wanted: Wanted, saved: Saved, steps: int) -> float:
        """Call the compiled loop for all bodies, and return the seconds it took.

        `steps`, the expected number of steps, determines the number of threads. If Ctrl-C was pressed while a torque
        was evaluated in Python, KeyboardInterrupt is raised, and bodies that it stopped can go on.
        """
        current = self.current
        advance = self.rows.advance(self.method)
        before = current.status.copy()
        began = perf_counter() - COMPILE_TIME.seconds
        try:
            if self.count_rows == 1:
                advance(self.bodies, clock, wanted, 0, 1, current, saved)
            else:

                def work(start: int, stop: int) -> int:
                    advance(self.bodies, clock, wanted, start, stop, current, saved)
                    return 0

                self.rows.in_threads(work, self.count_rows, steps * self.method.stages)
        finally:
            elapsed = perf_counter() - COMPILE_TIME.seconds - began  # stands still while code is compiled
            self.seconds += elapsed
        if functions.CTRL_C.is_set():
            current.status[:] = before
            functions.raise_ctrl_c()
        if elapsed > LONG_PIECE:
            go_on()
        return elapsed

    def load(self) -> None:
        """Compile all functions of the run, or load them from the cache."""
        self.rows.advance(self.method)
        self.rows.load()

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all arrays that are needed to continue the run."""
        arrays = {name: np.copy(value) for name, value in self.current._asdict().items() if value.size}
        return arrays | {"seconds": np.array(self.seconds)}

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Restore a snapshot; results do not depend, to the bit, on whether the run was interrupted."""
        known = {name: np.array(snapshot[name]) for name in self.current._fields if name in snapshot}
        self.current = self.current._replace(**known)
        self.seconds = float(snapshot["seconds"])

    @property
    def any_stopped(self) -> bool:
        """Whether a body does not continue."""
        return bool(np.count_nonzero(self.current.status))

    @property
    def all_stopped(self) -> bool:
        """Whether no body continues."""
        return int(np.count_nonzero(self.current.status)) == self.count_rows

    def user_status(self) -> Any:
        """Return the status as in ``Trajectory``: a Status, or for a batch an array of its shape."""
        status = self.current.status.copy()
        if self.interrupted:
            status[status == GOING] = Status.INTERRUPTED
        return status.reshape(self.batch) if self.batch else Status(status.item())

    def stats(self) -> Stats:
        """Return the cost of the run so far, of all bodies together."""
        current = self.current
        counters = current.steps, current.torques, current.iterations, current.rejected
        if self.count_rows == 1:  # without the cost of reductions
            steps, torques, iterations, rejected = (counter.item() for counter in counters)
        else:
            steps, torques, iterations, rejected = (int(counter.sum()) for counter in counters)
        return Stats(steps, torques, self.seconds, iterations, rejected)

    def trajectory(
        self, states: States, sol: Solution | None = None, finder: EventFinder | None = None, own_times: bool = False
    ) -> Any:
        """Return the trajectory of saved states, in the axes of the user.

        States after the event that terminated a run are NaN in a batch; for a single body they are removed.
        `own_times` tells whether the times are those of steps, to which the time of that event is then added.

        Raises
        ------
        Interrupted
            If the run was interrupted. Its trajectory has the states that were reached.
        RunError
            If a single body failed. For a batch a RunWarning is issued instead.
        """
        events = None
        any_stopped = self.any_stopped
        if self.interrupted or (any_stopped and self.rows.drops_missing and self.all_stopped):
            reached = self._reached(states)
            states = States(*(array[reached] for array in states))
        if finder is not None:
            states = finder.cut(states, own_times)
            events = finder.events_of()
        arrays = self.rows.to_user(states.m, states.q)
        failure = self.failure() if any_stopped and (self.current.status < 0).any() else NO_FAILURE
        message = Status.INTERRUPTED.message if self.interrupted else failure.message
        result = self.rows.trajectory(
            self.problem, states.t, *arrays, method=self.method, h=self.h, stats=self.stats(),
            status=self.user_status(), message=message, failure=failure.text, sol=sol, events=events,
        )  # fmt: skip
        if self.interrupted:
            raise Interrupted(result if len(states.t) else None)  # None: before the first step
        if failure.text and (self.raises_for_batches or not self.batch):
            raise RunError(message, result) from failure.cause
        if failure.text:
            self.warn_of_failures(failure)
        return result

    def warn_of_failures(self, first: Failure) -> None:
        """Issue a RunWarning that some bodies of a batch failed; `first` is the failure of the first of them."""
        failed = int((self.current.status < 0).sum())
        details = "" if first.cause is None else "\n" + "".join(traceback.format_exception(first.cause))
        text = joined(f"{failed} of {self.count_rows} bodies stopped early; ", first.message, details)
        warn(text, RunWarning)

    def _reached(self, states: States) -> npt.NDArray[np.bool_]:
        """Return which states (k,) all bodies that have not failed reached; those of a system that failed."""
        going = self.current.status >= 0
        m = states.m[:, going] if going.any() else states.m
        return np.asarray(np.isfinite(m).reshape(len(m), -1).all(axis=-1))

    def failure(self) -> Failure:
        """Return the failure of the first body that failed."""
        i = int(np.argmax(self.current.status < 0))
        t, m, q = self.failed_at(i)
        why, cause = self._why(i)
        step = f"stopped in step {int(self.current.steps[i]) + 1}{self.of_steps(i)}"
        text = joined(f"{step}, at t = {t:.6g}{self.rows.show(m, q)}: ", why)
        return Failure(joined(f"{self.rows.name_of(i)} ", text), text, cause)

    def of_steps(self, i: int) -> str:
        """Return the text that follows the number of a step of body `i` in messages."""
        return ""

    def _why(self, i: int) -> tuple[str, BaseException | None]:
        """Return why row `i` stopped, and the original exception, if there is one."""
        if self.current.status[i] not in BY_TORQUE:
            return self.why_no_step(i), None
        return self.rows.why_no_torque(self.bodies, i, *self.failed_at(i))


def run_time() -> float:
    """Return a time in seconds that stands still while code is compiled."""
    return perf_counter() - COMPILE_TIME.seconds


def next_piece(steps: int, seconds: float) -> int:
    """Return the number of steps of the next call, after one of `steps` steps that took `seconds`."""
    return max(1, int(steps * min(64.0, max(0.25, PIECE_SECONDS / max(seconds, 1e-6)))))


def new_run(
    problem: Integrable, span: tuple[float, float], method: Method, h: StepSize | None = None, *, least: int = 1,
    longest: FloatArray | None = None,
) -> Run:  # fmt: skip
    """Return a run of the kind that the method requires.

    Parameters
    ----------
    problem : Problem or System
        What to integrate.
    span : tuple of two floats
        Start and end.
    method : Method
        Method of integration.
    h : float or ndarray of the shape of the batch, optional
        Step size, of all bodies or of each. By default, that of the problem. It is ignored if the method chooses the
        steps.
    least : int, optional
        Smallest number of steps of a fixed size between breaks of the torque.
    longest : ndarray of shape (n,) or (1,), optional
        Longest steps that skip no feature of the torque, if they are known.
    """
    fixed_run, own_steps_run, grouped_run = _kinds()
    if method.chooses_steps:
        return own_steps_run(problem, span, method, longest)
    if h is None or isinstance(h, float) or np.ndim(h) == 0:
        return fixed_run(problem, span, method, h, least)
    return grouped_run(problem, span, method, h, least)


@cache
def _kinds() -> tuple[Callable[..., Run], Callable[..., Run], Callable[..., Run]]:
    """Return the classes of runs, which are derived from ``Run``."""
    from polhode.integration.fixed_run import FixedRun
    from polhode.integration.grouped_run import GroupedRun
    from polhode.integration.own_steps_run import OwnStepsRun

    return FixedRun, OwnStepsRun, GroupedRun
