"""Integration of the motion of bodies: ``integrate`` computes a trajectory, ``start`` returns a run to step through."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import RunWarning, nothing_computed
from polhode.core.messages import joined
from polhode.core.progress import Report, searching
from polhode.core.units import WITHOUT_UNITS, in_numbers, together
from polhode.core.warning import warn
from polhode.integration.choice import Choice, choose, explained
from polhode.integration.output import Computed, OutputOptions, computed
from polhode.integration.problem import Problem, checked_span
from polhode.integration.rows import Integrable
from polhode.integration.running import new_run
from polhode.integration.stepper import Stepper
from polhode.integration.stepping import new_stepping
from polhode.integration.stretches import StepSize
from polhode.integration.trajectory import Trajectory

if TYPE_CHECKING:
    from polhode.methods import MethodLike
    from polhode.systems.system import System
    from polhode.systems.trajectory import SystemTrajectory


class Options(TypedDict, total=False):
    """The keyword arguments of ``integrate``, for type checkers."""

    method: MethodLike | None
    h: npt.ArrayLike | None
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
    method: MethodLike | None = None,
    h: npt.ArrayLike | None = None,
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

    Ctrl-C raises a KeyboardInterrupt that has the states computed so far as its attribute ``trajectory``.

    Parameters
    ----------
    problem : Problem or System
        Body, state, force and time span. Bodies and states may be batches, which broadcast. A System has the same
        options; methods for systems are splittings and ``Adaptive``, and notes below say what differs.
    t_span : tuple of two floats, optional
        Start and end of the integration. The default is the time span of the problem. The end may be before the start.
    method : str, Scheme or method, optional
        The name of a scheme or method, a Scheme (with exact free flight between kicks), ``Splitting(flow, scheme)``,
        ``Rattle()``, ``Adaptive(rtol)`` and so on. By default a method is chosen automatically; the ``message`` of the
        trajectory gives the choice and its reason.
    h : float, or array_like of the shape of the batch, optional
        Step size, of all bodies or of each. It is shortened such that the time span is a whole number of steps, as is
        every interval between ``breaks`` of the force, where steps end with every method. By default it is chosen such
        that the error at the end is ``rtol``; if a method but no ``rtol`` is given, the step size suggested by the
        problem is used. For a free body, whose motion is computed in closed form, it is the spacing of saved states.
        With an array, each body has its own steps and moves as it does alone, to the bit, whatever the steps of others
        are.
    rtol, atol : float, optional
        Target for the error at the end: ``rtol`` for q and for m relative to ``|m|``, ``atol`` for m. The defaults are
        1e-9 and 0. If the target cannot be reached, or the error cannot be estimated, a RunWarning is issued. Each body
        of a batch gets its own step size, which depends on this body alone if a method with fixed steps is given; by
        default, one method is chosen for all, by the torques on most of them.
    t_eval : array_like of shape (k,), optional
        Times at which states are saved, in the direction of ``t_span``. By default they are those of the steps; if
        every body of a batch has its own steps, start and end are saved, and ``sol(t)`` gives the rest. If ``h`` is an
        array, ``sol(t)`` repeats the steps from the start, unless ``dense_output`` is true.
    save_every : int, optional
        Number of steps between two saved states. The default is 1. It is ignored if ``t_eval`` is given. If every body
        has its own step size, an InputError is raised.
    dense_output : bool, optional
        Whether to save the states of steps, for ``sol(t)``, even if ``t_eval`` is given.
    events : callable or list of callables, optional
        Functions ``event(t, m, q)``, or ``event(t, x, p, m, q)`` of a System, whose zeros are located. See
        ``polhode.events``.
    progress : bool or callable, optional
        Whether to show a progress bar, or a callback that is called with the completed fraction of the run, 0 to 1.
        Trial runs, by which steps are chosen, show a line each minute after the first two seconds; then a callback is
        called with 0.
    estimate_error : bool, optional
        Whether to repeat the run with half the step size and set ``error_estimate`` of the trajectory to (error of
        ``m/|m|``, error of q), or of a System to the errors of x, p, m and q.

    Returns
    -------
    Trajectory or SystemTrajectory
        States at the saved times, and quantities derived from them.

    Raises
    ------
    InputError
        If an argument is invalid, or ``h`` is given with ``Adaptive``.
    Interrupted
        If Ctrl-C is pressed. It is a KeyboardInterrupt, and its ``trajectory`` contains the states computed so far,
        or None if there are none.
    RunError
        If the integration fails. Its ``trajectory`` contains the states up to the failure.
    MemoryLimitError
        If the states to save do not fit into memory.

    Notes
    -----
    If neither ``h`` nor ``rtol`` is given for a System, and it suggests no step size, steps are 1/8 of a radian of the
    fastest motion at the start, and the method is V2. Systems of many bodies are chaotic: if the time span is longer
    than 20 radians of the fastest motion, ``rtol`` is the error of the energy, relative to the kinetic energy, during
    20 radians, and otherwise the error of all states at the end.

    Examples
    --------
    >>> from polhode import Problem, State, forces
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> traj = integrate(top, h=0.05)
    >>> len(traj), bool(abs(traj.energy_error()).max() < 1e-9)
    (201, True)
    """
    try:
        with np.errstate(under="ignore"):  # which is harmless here, and which the user may treat as an error
            problem = problem.current()
            if not WITHOUT_UNITS.issuperset(map(type, (h, atol, t_eval, t_span))):
                h, atol, t_eval, t_span = together(problem.units, h=h, atol=atol, t_eval=t_eval, t_span=t_span).values()
            span = problem.t_span if t_span is None else checked_span(t_span)
            every = (
                save_every if type(save_every) is int and save_every > 0 else whole_number(save_every, "save_every", 1)
            )
            output = OutputOptions(t_eval, every, dense_output, events, progress)
            size = h if h is None or isinstance(h, (float, int)) else as_floats(h, "h")
            with searching(progress) if progress else nullcontext():
                choice = choice_for(problem, span, method, size, rtol, atol, output)
            made = choice.computed or computed(new_run(problem, span, choice.method, choice.h), choice.h, output)
            return result_of(problem, choice, made, output, estimate_error=estimate_error)
    except KeyboardInterrupt as stop:
        nothing_computed(stop)
        raise


def start(
    problem: Problem | System,
    method: MethodLike | None = None,
    *,
    h: float | None = None,
    rtol: float | None = None,
    keep: bool = False,
) -> Stepper:
    """Start a run that advances by one step, or to a time, at each call: for control, games and co-simulation.

    Between calls the state and the parameters of the force may be read and changed.

    Parameters
    ----------
    problem : Problem or System
        Body, state, force and time span, whose end is not the end of the run; a batch of bodies; or a System.
    method : str, Scheme or method, optional
        The method, as with ``integrate``. By default a method is chosen automatically.
    h : float, optional
        Step size, of all bodies. Unlike that of ``integrate`` it is not shortened, because the run has no end. By
        default it is chosen as with ``integrate``, for the time span of the problem.
    rtol : float, optional
        Target for the error at the end of the time span, by which the step size is chosen.
    keep : bool, optional
        Whether to keep the states after all calls, for ``trajectory()``. The default is False.

    Returns
    -------
    Stepper
        The run.

    Raises
    ------
    InputError
        If an argument is invalid, or ``h`` is given with ``Adaptive``.

    Examples
    --------
    A body is slowed down by a controller that sets the torque ten times in a unit of time:

    >>> from polhode import Problem, State, Torque
    >>> wheel = Torque(lambda t, Q, w, p: (p[0], p[1], p[2]), params=(0.0, 0.0, 0.0))
    >>> run = start(Problem((1.0, 1.65, 1.97), State(m=(0.3, 0.2, 0.9)), wheel), method="V2", h=0.05)
    >>> for k in range(100):
    ...     run.params[:] = -run.omega
    ...     run.to(0.1 * (k + 1))
    >>> bool(abs(run.omega).max() < 0.01)
    True
    """
    problem = problem.current()
    with np.errstate(under="ignore"):
        choice = choice_for(problem, problem.t_span, method, in_numbers(h, "h", problem.units), rtol)
    if choice.unmet:
        warn(joined(f"{choice.method!r}", choice.unmet), RunWarning)
    run = new_stepping(problem, problem.t_span, choice.method, choice.h)
    run.load()
    return Stepper(run, keep)


def choice_for(
    problem: Problem | System, span: tuple[float, float], method: MethodLike | None = None, h: StepSize | None = None,
    rtol: float | None = None, atol: float = 0.0, output: OutputOptions | None = None,
) -> Choice:  # fmt: skip
    """Choose a method, a step size or both, whichever the user omitted, for bodies or for a system.

    With `output`, the choice includes the run, if it was made in order to choose, and each body of a batch may get its
    own step size.
    """
    if isinstance(problem, Problem):
        return choose(problem, span, method, h, rtol, atol, output, each=output is not None)
    from polhode.systems.choice import choose_for_system

    return choose_for_system(problem, span, method, h, rtol, atol, output)


def integrate_chosen(problem: Integrable, span: tuple[float, float], choice: Choice, output: OutputOptions) -> Any:
    """Integrate a problem with the method and the step size of a choice, which may be older; see ``integrate``."""
    problem.rows.check(choice.method)
    made = choice.computed or computed(new_run(problem, span, choice.method, choice.h), choice.h, output)
    return result_of(problem, choice, made, output)


def result_of(
    problem: Integrable, choice: Choice, made: Computed, output: OutputOptions, *, estimate_error: bool = False
) -> Any:
    """Return the trajectory of a run that has reached its end, with the reason of the choice."""
    result = made.run.trajectory(made.states, made.sol, made.finder, own_times=output.t_eval is None)
    if choice.is_made:
        result = explained(result, choice)
    if doubt := result.doubt():
        warn(doubt, RunWarning)
    if not estimate_error:
        return result
    from polhode.integration.choice_by_trials import closing_check

    return result.replaced(error_estimate=closing_check(problem, result))
