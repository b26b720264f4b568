"""Torqued bodies in time: ``integrate``, from problems to trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.capacity import memory_for
from polhode.core.checks import whole_number
from polhode.core.errors import InputError, TimeError
from polhode.core.progress import Progress, Report
from polhode.integration.adaptive_run import AdaptiveRun, AdaptiveSolution
from polhode.integration.choice import choose, closing_check, explain, has_to_choose
from polhode.integration.event_finder import EventFinder
from polhode.integration.problem import Problem, checked_span
from polhode.integration.running import BaseRun, Run, times_within
from polhode.integration.solution import FixedSolution
from polhode.integration.trajectory import Trajectory
from polhode.methods import as_method
from polhode.methods.adaptive import Adaptive, checked_tolerances
from polhode.methods.method import Method
from polhode.systems.integration import integrate_system
from polhode.systems.system import System
from polhode.systems.trajectory import SystemTrajectory

DEFAULT_RTOL = 1e-9
STATE_BYTES = 7 * 8  # of m and q
FEWER_STATES = (
    "keep fewer, with save_every=... or t_eval=..., or write them to a disk as they are computed: "
    "polhode.stream(problem, 'run.zarr', method=..., h=...)"
)
FIRST_BLOCK, LARGEST_BLOCK = 2**6, 2**18  # states of which a watched run keeps every step, to look for events


class Options(TypedDict, total=False):
    """The keywords of ``integrate``, for type checkers."""

    method: Any
    h: float | None
    rtol: float | None
    atol: float
    t_eval: npt.ArrayLike | None
    save_every: int
    dense_output: bool
    events: Any
    progress: bool | Report
    estimate_error: bool


Span = tuple[float, float] | None


@overload
def integrate(problem: Problem, t_span: Span = None, **options: Unpack[Options]) -> Trajectory: ...
@overload
def integrate(problem: System, t_span: Span = None, **options: Unpack[Options]) -> SystemTrajectory: ...
def integrate(
    problem: Problem | System,
    t_span: Span = None,
    *,
    method: Any = None,
    h: float | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    t_eval: npt.ArrayLike | None = None,
    save_every: int = 1,
    dense_output: bool = False,
    events: Any = None,
    progress: bool | Report = False,
    estimate_error: bool = False,
) -> Trajectory | SystemTrajectory:
    """Integrate the motion of a body under a torque, of a batch of bodies, or of a system of interacting bodies.

    A run can be interrupted by Ctrl-C. The trajectory then ends there.

    Parameters
    ----------
    problem : Problem or System
        Body, state, force and time span. Bodies and states may be batches, which broadcast. With a System, only
        ``t_span``, ``method``, ``h``, ``t_eval``, ``save_every`` and ``progress`` can be given.
    t_span : tuple of two floats, optional
        Start and end of the integration, instead of those of the problem. It may go backward.
    method : str, Scheme or method, optional
        The name of a scheme or method, a Scheme (with exact free flight between kicks), ``Splitting(flow, scheme)``,
        ``Rattle()``, ``Adaptive(rtol)`` and so on. By default one is chosen, and ``message`` says which and why.
    h : float, optional
        Step size. It is shortened so that a whole number of steps makes the time span, or the time between the
        ``breaks`` of the force, where steps end whatever the method. By default it is chosen so that the error at the
        end is ``rtol``; if a method and no ``rtol`` is given, the step size that the problem suggests is used.
    rtol, atol : float, optional
        Error at the end of q and of m relative to ``|m|``, and error of m, to aim at. The defaults are 1e-9 and 0. If
        the error cannot be made so small, or cannot be estimated, a RunWarning says so.
    t_eval : array_like of shape (k,), optional
        Times at which states are saved. By default those of the steps.
    save_every : int, optional
        Save the state after so many steps. The default is 1. Ignored with ``t_eval``.
    dense_output : bool, optional
        Whether to save states of steps for ``sol(t)`` also if ``t_eval`` is given.
    events : callable or list of callables, optional
        Functions ``event(t, m, q)`` whose zeros are found. See ``polhode.events``.
    progress : bool or callable, optional
        Whether to show a progress bar; or a function that is called with the part of the run that is done, 0 to 1.
    estimate_error : bool, optional
        Whether to run again with half the step size; ``error_estimate`` is then (error of ``m/|m|``, error of q).

    Returns
    -------
    Trajectory or SystemTrajectory
        States at the saved times, and what follows from them.

    Examples
    --------
    >>> from polhode import Problem, State, forces
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> traj = integrate(top, h=0.05)
    >>> len(traj), bool(abs(traj.energy_error()).max() < 1e-9)
    (201, True)
    """
    if isinstance(problem, System):
        return integrate_system(
            problem, t_span, method=method, h=h, t_eval=t_eval, save_every=save_every, progress=progress, rtol=rtol,
            atol=atol, dense_output=dense_output, events=events, estimate_error=estimate_error,
        )  # fmt: skip
    span = problem.t_span if t_span is None else checked_span(t_span)
    tolerances = checked_tolerances(DEFAULT_RTOL if rtol is None else rtol, atol)
    choice = None
    if has_to_choose(problem, method, h, rtol):
        choice = choose(problem, span, method, h, *tolerances)
        method, h = choice.method, choice.h
    method = as_method(method)
    follow = _adaptive if isinstance(method, Adaptive) else _fixed
    result = follow(problem, span, method, h, Wanted(t_eval, save_every, dense_output, events, progress))
    if choice is not None:
        explain(result, choice)
    if estimate_error:
        result.error_estimate = closing_check(result)
    return result


class Wanted(NamedTuple):
    """What a user wants to get."""

    t_eval: npt.ArrayLike | None
    save_every: int
    dense_output: bool
    events: Any
    progress: bool | Report


def _fixed(problem: Problem, span: tuple[float, float], method: Method, h: float | None, wanted: Wanted) -> Trajectory:
    run = Run(problem, span, method, h)
    watch = None if wanted.events is None else EventFinder(wanted.events, run)
    times = None if wanted.t_eval is None else _times(wanted.t_eval, run)
    with _memory_for(run, (0 if times is None else len(times)) + _count_to_keep(run, times, wanted)):
        return _followed(run, watch, times, wanted)


def _followed(run: Run, watch: EventFinder | None, times: FloatArray | None, wanted: Wanted) -> Trajectory:
    saves = _steps_to_keep(run, times, wanted)
    steps = np.union1d(saves, run.grid.first[:-1]) if run.force.breaks.size else saves  # ``sol`` needs those at breaks
    with Progress(wanted.progress, run.count, time_after=run.times) as bar:
        if watch is None:
            _, m, q = run.at_steps(steps, bar)
        else:
            m, q = _watched(run, watch, steps, bar)
    sol = FixedSolution(run, steps, m, q, watch)
    if times is not None:
        n = run.count_bodies
        m, q = sol.rows(np.repeat(times, n), np.tile(np.arange(n), len(times)))
        m, q = m.reshape(len(times), n, 3), q.reshape(len(times), n, 4)
    elif len(steps) > len(saves):
        wanted_rows = np.searchsorted(steps, saves)
        m, q = m[wanted_rows], q[wanted_rows]
    return _trajectory(run, run.times(saves) if times is None else times, m, q, sol, watch, times is None)


def _adaptive(problem: Problem, span: tuple[float, float], method: Adaptive, h: Any, wanted: Wanted) -> Trajectory:
    if h is not None:
        raise InputError(f"h = {h!r}: Adaptive chooses its steps; type Adaptive(rtol, max_step={h!r}), or omit h")
    run = AdaptiveRun(problem, span, method)
    watch = None if wanted.events is None else EventFinder(wanted.events, run)
    times = None if wanted.t_eval is None else _times(wanted.t_eval, run)
    if times is None and run.batch:
        raise InputError(
            "the bodies of a batch choose steps of their own with Adaptive; say at which times states are wanted, such "
            f"as t_eval=numpy.linspace({span[0]:g}, {span[1]:g}, 101)"
        )
    keep = times is None or wanted.dense_output or watch is not None
    with _memory_for(run, 0 if times is None else len(times)):
        m, q = run.to_end(times, keep, watch, wanted.progress)
    sol = AdaptiveSolution(run, run.steps(), watch) if keep else None
    if times is None:
        every = whole_number(wanted.save_every, "save_every", 1)
        times, m, q = (_thinned(array, every) for array in run.steps()[0])
        return _trajectory(run, times, m[:, None], q[:, None], sol, watch, True)
    return _trajectory(run, times, m, q, sol, watch, False)


def _thinned(rows: FloatArray, every: int) -> FloatArray:
    """Every so many rows, and the last."""
    return rows[np.union1d(np.arange(0, len(rows), every), [len(rows) - 1])]


def _trajectory(
    run: BaseRun, t: FloatArray, m: FloatArray, q: FloatArray, sol: Any, watch: EventFinder | None, own_times: bool
) -> Trajectory:
    """In the user's axes; what comes after the event that ended a run is NaN, or left away if there is one body."""
    events = None
    if watch is not None:
        late = watch.after_stop(t)
        m[late], q[late] = np.nan, np.nan
        events = watch.events_of()
        if not run.batch:
            t, m, q = t[~late[:, 0]], m[~late[:, 0]], q[~late[:, 0]]
            if own_times and late.any():
                t, m, q = watch.with_last(t, m, q)
    m, q = run.to_user(m, q)
    return run.trajectory(t, m, q, sol=sol, events=events)


def _watched(run: Run, watch: EventFinder, keep: IntArray, bar: Progress) -> tuple[FloatArray, FloatArray]:
    """(m, q) after the steps to keep, with a look at every step on the way."""
    n = run.count_bodies
    m_kept, q_kept = np.full((len(keep), n, 3), np.nan), np.full((len(keep), n, 4), np.nan)
    m, q = np.empty((0, n, 3)), np.empty((0, n, 4))
    for steps in _blocks(run.count, n):
        _, m_new, q_new = run.at_steps(steps, bar)
        m, q = np.concatenate((m[-1:], m_new)), np.concatenate((q[-1:], q_new))
        known = np.arange(steps[-1] - len(m) + 1, steps[-1] + 1)
        first, last = np.searchsorted(keep, steps[0]), np.searchsorted(keep, steps[-1], side="right")
        m_kept[first:last], q_kept[first:last] = (x[keep[first:last] - known[0]] for x in (m, q))
        if len(known) > 1:
            watch.look(run.times(known), m, q, FixedSolution(run, known, m, q))
        if run.all_stopped or run.interrupted:
            break
    return m_kept, q_kept


def _blocks(count: int, bodies: int) -> Iterator[IntArray]:
    """Steps 0..count in blocks: small ones first, so that an early end costs little."""
    first, size = 0, FIRST_BLOCK
    while first <= count:
        yield np.arange(first, min(first + size, count + 1))
        first += size
        size = max(2, min(2 * size, LARGEST_BLOCK // max(1, bodies)))


def _memory_for(run: BaseRun, states: int) -> AbstractContextManager[None]:
    bodies = f" of {run.count_bodies} bodies each" if run.batch else ""
    return memory_for(f"{states} states{bodies}", states * (STATE_BYTES * run.count_bodies + 8), FEWER_STATES)


def _count_to_keep(run: Run, times: FloatArray | None, wanted: Wanted) -> int:
    """Return how many steps are kept, beside those before the times that are wanted."""
    every = whole_number(wanted.save_every, "save_every", 1)
    return 1 + -(-run.count // every) if times is None or wanted.dense_output else 1


def _steps_to_keep(run: Run, times: FloatArray | None, wanted: Wanted) -> IntArray:
    """Every so many steps, the first and the last included; or those before the times that are wanted."""
    if times is not None and not wanted.dense_output:
        return np.union1d(run.grid.before(times), [0])
    saves = np.append(np.arange(0, run.count, wanted.save_every, dtype=np.int64), run.count)
    return saves if times is None else np.union1d(run.grid.before(times), saves)


def _times(t_eval: npt.ArrayLike, run: BaseRun) -> FloatArray:
    times = times_within(t_eval, (run.t0, run.t1))
    if (np.diff(times) * (run.t1 - run.t0) < 0).any():
        raise TimeError("t_eval must run in the direction of t_span; type numpy.sort(t_eval)")
    return times
