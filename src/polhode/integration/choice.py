"""Choice of a method and a step size: what the user passed, or what trial runs show (``choice_by_trials``)."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, MethodWarning, RunWarning
from polhode.core.messages import Hint, joined
from polhode.core.warning import warn
from polhode.integration.base_trajectory import BaseTrajectory, step_text
from polhode.integration.output import Computed, OutputOptions, times_to_save
from polhode.integration.problem import Problem
from polhode.integration.stretches import StepSize
from polhode.methods import as_method
from polhode.methods.adaptive import checked_tolerances
from polhode.methods.closed_form import ClosedForm
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting

if TYPE_CHECKING:
    from polhode.methods import MethodLike

Result = TypeVar("Result", bound=BaseTrajectory)
DEFAULT_RTOL = 1e-9
FREE = "no torque, so the motion is exact"
FREE_STEPS = 100  # steps of a method that is exact for a free body
FREE_STATES = 3000  # intervals between the states of a free body in closed form: enough for a plot


class Choice(NamedTuple):
    """Method and step size of a run; if one of them was chosen, with the reason and the estimated error."""

    method: Method
    h: Any  # a number, or an array of the shape of the batch; None if the method chooses its own steps
    why: str = ""
    error: float = nan
    unmet: str = ""  # the reason why the wanted error is not met; empty if it is met
    is_made: bool = True  # False if the user passed both
    computed: Computed | None = None  # the run and its output, if it was made in order to choose
    seen: str = ""  # with what the result was compared, if it was

    def times(self, span: tuple[float, float], t_eval: npt.ArrayLike | None, every: int) -> FloatArray | None:
        """Return the times at which states are saved, or None for those of the steps."""
        return times_to_save(self.method, self.h, span, t_eval, every)


def choose(
    problem: Problem, span: tuple[float, float], method: MethodLike | None = None, h: StepSize | None = None,
    rtol: float | None = None, atol: float = 0.0, output: OutputOptions | None = None, each: bool = False,
    rough_h: float | None = None, keeps_steps: bool = False,
) -> Choice:  # fmt: skip
    """Choose a method, a step size or both, whichever the user omitted.

    Nothing is chosen if `method` and `h` are passed, if `method` is an object that chooses its own steps, or if the
    problem suggests a step size and `rtol` is omitted.

    Parameters
    ----------
    problem : Problem
        Problem to integrate.
    span : tuple of two floats
        Start and end of the integration.
    method : str, Scheme or Method, optional
        Method of the user; by default, one is chosen.
    h : float, or ndarray of the shape of the batch, optional
        Step size of the user; by default, one is chosen.
    rtol, atol : float, optional
        Wanted error at the end. The default is 1e-9 and 0.
    output : OutputOptions, optional
        Output of the run, if the choice shall include the run. By default it does not.
    each : bool, optional
        Whether each body of a batch may get its own step size. By default, one is chosen for all.
    rough_h : float, optional
        Step size, with a method of the user, of bodies whose torque is not smooth in time. By default, if there are
        any, one step size is chosen for all bodies.
    keeps_steps : bool, optional
        Whether a run that follows keeps the states of all steps, which have to fit into memory; so do those of
        `output` without times.

    Returns
    -------
    Choice
        Method and step size, the reason, and the estimated error.

    Raises
    ------
    InputError
        If an argument is invalid, or `h` is passed with a method that does not take it.
    """
    if h is not None and np.ndim(h):
        (output or OutputOptions()).check_own_steps()
    user_method = None if method is None else as_method(method)
    if user_method is not None:
        if h is not None and not user_method.takes_h:
            raise no_step_taken(user_method, h)
        user_method.check(problem.force)
        if advice := user_method.advice(problem.force):
            warn(advice, MethodWarning)
        if h is not None and rtol is None and type(atol) is float and atol == 0.0:
            return Choice(user_method, h, is_made=False)
    tolerances = wanted_tolerances(rtol, atol, h)
    if user_method is not None:
        no_choice = not has_to_choose(user_method, isinstance(method, str), rtol is None, problem.h is None)
        if h is not None or no_choice:
            suggested = None if user_method.chooses_steps else problem.h
            return Choice(user_method, suggested if h is None else h, is_made=False)
    simplest = user_method or (ClosedForm() if problem.force.is_zero else Splitting(None, "V2"))
    if simplest.is_exact_for(problem.force) or 0 in problem.rows.batch:
        why = "no bodies" if 0 in problem.rows.batch else FREE
        return Choice(simplest, _spacing(problem, span, simplest) if h is None else h, why, 0.0)
    from polhode.integration.choice_by_trials import Wish, choose_by_trials  # with all that trial runs need

    return choose_by_trials(problem, span, Wish(user_method, h, tolerances, output, each, rough_h, keeps_steps))


def wanted_tolerances(rtol: float | None, atol: float, h: StepSize | None = None) -> tuple[float, float]:
    """Return the wanted errors; raise InputError if they are invalid, or if the step size is given as well."""
    if rtol is None and isinstance(atol, float) and atol == 0.0:
        return DEFAULT_RTOL, 0.0
    tolerances = checked_tolerances(DEFAULT_RTOL if rtol is None else rtol, atol)
    if rtol is not None and h is not None:
        given = f"h = {h!r}" if np.ndim(h) == 0 else "an array h"
        raise InputError(
            f"got {given} and rtol = {rtol!r}, but the step size follows from rtol; ",
            Hint("omit h, or omit rtol and type estimate_error=True", "omit --h, or omit --rtol"),
        )
    return tolerances


def no_step_taken(method: Method, h: StepSize) -> InputError:
    """Return the error that `h` is passed with a method that does not take it."""
    name = type(method).__name__
    limited = f"{name}(rtol, max_step={h!r})"
    advice = Hint(f"type {limited}, or omit h", f'add --method "{limited}", or omit --h')
    return InputError(f"h = {h!r}: {name} chooses its steps; ", advice)


def has_to_choose(method: Method, is_named: bool, no_rtol: bool, no_suggestion: bool) -> bool:
    """Return whether a step size or a tolerance has to be chosen for a method of the user, who passed no `h`."""
    if method.chooses_steps:
        return method.takes_h or (is_named and not no_rtol)
    return not no_rtol or no_suggestion


def _spacing(problem: Problem, span: tuple[float, float], method: Method) -> float | None:
    """Return the spacing of the states of a free body, enough for a plot; None for start and end of a batch."""
    if not method.chooses_steps:
        return abs(span[1] - span[0]) / FREE_STEPS
    return None if problem.rows.batch else abs(span[1] - span[0]) / FREE_STATES


def explained(result: Result, choice: Choice) -> Result:
    """Write the choice and its reason to the message of a new result; warn if the wanted error cannot be guaranteed.

    Parameters
    ----------
    result : Trajectory
        Result of the run.
    choice : Choice
        The method and the step size that were chosen.

    Returns
    -------
    Trajectory
        The result.

    Warns
    -----
    RunWarning
        If the wanted error is not met, or is unknown.
    """
    step = f", {size}" if (size := step_text(result.h, digits=4)) else ""
    summary = f"chosen: {choice.method!r}{step}" + (f" ({choice.why})" if choice.why else "")
    if choice.seen:
        summary += f"; compared with {choice.seen}"
    if np.isfinite(choice.error):
        summary += f"; estimated error {choice.error:.1e}"
    message = joined(result.message, "; " if result.message else "", summary, choice.unmet)
    if choice.unmet:
        warn(message, RunWarning)
    result._store(message=message)
    return result
