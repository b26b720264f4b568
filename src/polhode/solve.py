"""Integration of the motion of bodies under torques: ``integrate`` computes a trajectory from a problem."""

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
from polhode.integration.choice import choose, closing_check, explain, has_to_choose
from polhode.integration.event_finder import EventFinder
from polhode.integration.own_steps_run import AdaptiveRun, AdaptiveSolution
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
STATE_BYTES = 7 * 8  # size of m and q
FEWER_STATES = (
    "keep fewer, with save_every=... or t_eval=..., or write them to a disk as they are computed: "
    "polhode.stream(problem, 'run.zarr', method=..., h=...)"
)
FIRST_BLOCK = 2**6  # steps of the first block that is searched for events
LARGEST_BLOCK = 2**18  # states of the largest such block, over all bodies


class Options(TypedDict, total=False):
    """The keyword arguments of ``integrate``, for type checkers."""

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

    A run can be interrupted with Ctrl-C. The trajectory then ends at the last completed step.

    Parameters
    ----------
    problem : Problem or System
        Body, state, force and time span. Bodies and states may be batches, which broadcast. With a System, only
        ``t_span``, ``method``, ``h``, ``t_eval``, ``save_every`` and ``progress`` can be given.
    t_span : tuple of two floats, optional
        Start and end of the integration. The default is the time span of the problem. The end may be before the start.
    method : str, Scheme or method, optional
        The name of a scheme or method, a Scheme (with exact free flight between kicks), ``Splitting(flow, scheme)``,
        ``Rattle()``, ``Adaptive(rtol)`` and so on. By default a method is chosen automatically; the ``message`` of the
        trajectory gives the choice and its reason.
    h : float, optional
        Step size. It is shortened such that the time span is a whole number of steps, as is every interval between
        ``breaks`` of the force, where steps end with every method. By default it is chosen such that the error at the
        end is ``rtol``; if a method but no ``rtol`` is given, the step size suggested by the problem is used.
    rtol, atol : float, optional
        Target for the error at the end: ``rtol`` for q and for m relative to ``|m|``, ``atol`` for m. The defaults are
        1e-9 and 0. If the target cannot be reached, or the error cannot be estimated, a RunWarning is issued.
    t_eval : array_like of shape (k,), optional
        Times at which states are saved, in the direction of ``t_span``. By default they are those of the steps.
    save_every : int, optional
        Number of steps between two saved states. The default is 1. It is ignored if ``t_eval`` is given.
    dense_output : bool, optional
        Whether to save the states of steps, for ``sol(t)``, even if ``t_eval`` is given.
    events : callable or list of callables, optional
        Functions ``event(t, m, q)`` whose zeros are located. See ``polhode.events``.
    progress : bool or callable, optional
        Whether to show a progress bar, or a callback that is called with the completed fraction of the run, 0 to 1.
    estimate_error : bool, optional
        Whether to repeat the run with half the step size and set ``error_estimate`` of the trajectory to (error of
        ``m/|m|``, error of q).

    Returns
    -------
    Trajectory or SystemTrajectory
        States at the saved times, and quantities derived from them.

    Raises
    ------
    InputError
        If an argument is invalid, or ``h`` is given with ``Adaptive``.
    RunError
        If the integration fails. Its ``trajectory`` contains the states up to the failure.
    MemoryLimitError
        If the states to save do not fit into memory.

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
    run_method = _adaptive if isinstance(method, Adaptive) else _fixed
    result = run_method(problem, span, method, h, OutputOptions(t_eval, save_every, dense_output, events, progress))
    if choice is not None:
        explain(result, choice)
    if estimate_error:
        result.error_estimate = closing_check(result)
    return result


class OutputOptions(NamedTuple):
    """The arguments of ``integrate`` that determine its output."""

    t_eval: npt.ArrayLike | None
    save_every: int
    dense_output: bool
    events: Any
    progress: bool | Report


def _fixed(
    problem: Problem, span: tuple[float, float], method: Method, h: float | None, output: OutputOptions
) -> Trajectory:
    """Integrate with steps of fixed size."""
    run = Run(problem, span, method, h)
    finder = None if output.events is None else EventFinder(output.events, run)
    times = None if output.t_eval is None else _times(output.t_eval, run)
    with _memory_for(run, (0 if times is None else len(times)) + _count_to_save(run, times, output)):
        return _integrate_fixed(run, finder, times, output)


def _integrate_fixed(
    run: Run, finder: EventFinder | None, times: FloatArray | None, output: OutputOptions
) -> Trajectory:
    """Compute the trajectory of a run with fixed steps; ``times`` (k,) are those of ``t_eval``."""
    saved_steps = _steps_to_save(run, times, output)
    # ``sol`` also requires the states at breaks of the force.
    steps = np.union1d(saved_steps, run.grid.first[:-1]) if run.force.breaks.size else saved_steps
    with Progress(output.progress, run.count, time_after=run.times) as bar:
        if finder is None:
            _, m, q = run.at_steps(steps, bar)
        else:
            m, q = _search_events(run, finder, steps, bar)
    sol = FixedSolution(run, steps, m, q, finder)
    if times is not None:
        n = run.count_bodies
        m, q = sol.rows(np.repeat(times, n), np.tile(np.arange(n), len(times)))
        m, q = m.reshape(len(times), n, 3), q.reshape(len(times), n, 4)
    elif len(steps) > len(saved_steps):
        rows = np.searchsorted(steps, saved_steps)
        m, q = m[rows], q[rows]
    return _trajectory(run, run.times(saved_steps) if times is None else times, m, q, sol, finder, times is None)


def _adaptive(
    problem: Problem, span: tuple[float, float], method: Adaptive, h: Any, output: OutputOptions
) -> Trajectory:
    """Integrate with steps of adaptive size."""
    if h is not None:
        raise InputError(f"h = {h!r}: Adaptive chooses its steps; type Adaptive(rtol, max_step={h!r}), or omit h")
    run = AdaptiveRun(problem, span, method)
    finder = None if output.events is None else EventFinder(output.events, run)
    times = None if output.t_eval is None else _times(output.t_eval, run)
    if times is None and run.batch:
        raise InputError(
            "with Adaptive, every body of a batch has its own steps; expected the times at which to save states, such "
            f"as t_eval=numpy.linspace({span[0]:g}, {span[1]:g}, 101)"
        )
    save_steps = times is None or output.dense_output or finder is not None
    with _memory_for(run, 0 if times is None else len(times)):
        m, q = run.to_end(times, save_steps, finder, output.progress)
    sol = AdaptiveSolution(run, run.steps(), finder) if save_steps else None
    if times is None:
        every = whole_number(output.save_every, "save_every", 1)
        times, m, q = (_every_nth(array, every) for array in run.steps()[0])
        return _trajectory(run, times, m[:, None], q[:, None], sol, finder, True)
    return _trajectory(run, times, m, q, sol, finder, False)


def _every_nth(rows: FloatArray, every: int) -> FloatArray:
    """Return the rows 0, ``every``, 2 ``every`` and so on, and the last one."""
    return rows[np.union1d(np.arange(0, len(rows), every), [len(rows) - 1])]


def _trajectory(
    run: BaseRun, t: FloatArray, m: FloatArray, q: FloatArray, sol: Any, finder: EventFinder | None, own_times: bool
) -> Trajectory:
    """Return the trajectory, transformed to the user's axes.

    States after the event that terminated a run are NaN in a batch; for a single body they are removed. ``own_times``
    tells whether ``t`` are the times of steps, to which the time of that event is then added.
    """
    events = None
    if finder is not None:
        late = finder.after_stop(t)
        m[late] = np.nan
        q[late] = np.nan
        events = finder.events_of()
        if not run.batch:
            t, m, q = t[~late[:, 0]], m[~late[:, 0]], q[~late[:, 0]]
            if own_times and late.any():
                t, m, q = finder.with_last(t, m, q)
    m, q = run.to_user(m, q)
    return run.trajectory(t, m, q, sol=sol, events=events)


def _search_events(
    run: Run, finder: EventFinder, saved_steps: IntArray, bar: Progress
) -> tuple[FloatArray, FloatArray]:
    """Return m and q after the steps to save, and search every step for events."""
    n = run.count_bodies
    m_saved = np.full((len(saved_steps), n, 3), np.nan)
    q_saved = np.full((len(saved_steps), n, 4), np.nan)
    m, q = np.empty((0, n, 3)), np.empty((0, n, 4))
    for steps in _blocks(run.count, n):
        _, m_new, q_new = run.at_steps(steps, bar)
        m, q = np.concatenate((m[-1:], m_new)), np.concatenate((q[-1:], q_new))
        known = np.arange(steps[-1] - len(m) + 1, steps[-1] + 1)
        first = np.searchsorted(saved_steps, steps[0])
        last = np.searchsorted(saved_steps, steps[-1], side="right")
        m_saved[first:last], q_saved[first:last] = (x[saved_steps[first:last] - known[0]] for x in (m, q))
        if len(known) > 1:
            finder.search(run.times(known), m, q, FixedSolution(run, known, m, q))
        if run.all_stopped or run.interrupted:
            break
    return m_saved, q_saved


def _blocks(count: int, bodies: int) -> Iterator[IntArray]:
    """Yield the steps 0..count in blocks of increasing size, so that a run that ends early computes little more."""
    first = 0
    size = FIRST_BLOCK
    while first <= count:
        yield np.arange(first, min(first + size, count + 1))
        first += size
        size = max(2, min(2 * size, LARGEST_BLOCK // max(1, bodies)))


def _memory_for(run: BaseRun, states: int) -> AbstractContextManager[None]:
    """Return a context that raises MemoryLimitError if that many states per body do not fit into memory."""
    bodies = f" of {run.count_bodies} bodies each" if run.batch else ""
    return memory_for(f"{states} states{bodies}", states * (STATE_BYTES * run.count_bodies + 8), FEWER_STATES)


def _count_to_save(run: Run, times: FloatArray | None, output: OutputOptions) -> int:
    """Return the number of saved steps, not counting those before the times of ``t_eval``."""
    every = whole_number(output.save_every, "save_every", 1)
    return 1 + -(-run.count // every) if times is None or output.dense_output else 1


def _steps_to_save(run: Run, times: FloatArray | None, output: OutputOptions) -> IntArray:
    """Return the steps to save: every ``save_every``-th with the first and last, or those before ``t_eval``."""
    if times is not None and not output.dense_output:
        return np.union1d(run.grid.before(times), [0])
    steps = np.append(np.arange(0, run.count, output.save_every, dtype=np.int64), run.count)
    return steps if times is None else np.union1d(run.grid.before(times), steps)


def _times(t_eval: npt.ArrayLike, run: BaseRun) -> FloatArray:
    """Return ``t_eval`` as an array (k,); raise TimeError unless it is within the time span and in its direction."""
    times = times_within(t_eval, (run.t0, run.t1))
    if (np.diff(times) * (run.t1 - run.t0) < 0).any():
        raise TimeError("t_eval is not in order; expected times in the direction of t_span; type numpy.sort(t_eval)")
    return times
