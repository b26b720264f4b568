"""Choice of a method and a step size, by the size of the torque and by trial runs with h and h/2.

The user asks for an error of m/|m| and of q at the end. The torque is compared with the free motion: the change of
momentum per radian of rotation, relative to the momentum, decides whether the torque is weak (ABA schemes, which are
made for small perturbations) or strong (Runge-Kutta-Nyström schemes). Trial runs on the first part of the time span
find the step size of each scheme of the family. The scheme that needs the fewest torque evaluations is chosen, and its
step size is corrected on the whole time span.

Runs with h and h/2 also agree if both skip the same feature of the torque, and may agree by chance if a torque jumps.
Therefore user-defined torques are sampled in time first (``time_structure``): torques that are not smooth are
integrated by ``Adaptive``, and the step size for all others is confirmed by a run with ``Adaptive``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, MethodWarning, RunWarning
from polhode.core.messages import Hint, joined
from polhode.core.warning import warn
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.problem import Problem
from polhode.integration.rows import EndState, Integrable
from polhode.integration.step_search import (
    MOST_TRIALS,
    ROUND_OFF,
    ROUNDING,
    SMALLEST,
    TOO_LONG,
    SearchResult,
    search,
)
from polhode.integration.strength import RADIANS, Strength, measured
from polhode.integration.stretches import Steps, checked_times, finite_times, step_length
from polhode.integration.trials import Task, end_state
from polhode.methods import as_method
from polhode.methods.adaptive import SMALLEST_RTOL, Adaptive, checked_tolerances
from polhode.methods.closed_form import ClosedForm
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting

if TYPE_CHECKING:
    from polhode.methods import MethodLike

Result = TypeVar("Result", bound=BaseTrajectory)
WEAK, STRONG, DAMPED = (
    ("ABA82", "ABA864", "ABA1064"),
    ("RKN4_6b", "RKN6_11b", "RKN8_19"),
    ("V2", "S4_6", "S6_10", "SS10_35"),
)
VELOCITY = ("Adaptive",)
# The method for each family if the user gives h.
BY_FAMILY = {WEAK: "ABA1064", STRONG: "RKN6_14a", WEAK + STRONG: "RKN6_14a", DAMPED: "S6_10", VELOCITY: "V2"}
WEAK_TORQUE, STRONG_TORQUE = 0.01, 0.1  # parts of the momentum per radian; both families are tried between these
LARGEST_TOLERANCE = 1e-2
SMALLEST_TOLERANCE = 4 * SMALLEST_RTOL  # the error can still be estimated by a run with a smaller tolerance
SHORTER = 4  # factor by which steps of that trial run may still become shorter
SLOW_TRIALS = 2  # trials whose errors decrease at less than half the order, after which a scheme is rejected
CLEARLY_BETTER = 0.1
CONFIRMING = 0.1  # part of the wanted error that is the tolerance of the confirming run
DEFAULT_RTOL = 1e-9
FREE = "no torque, so the motion is exact"
FREE_STEPS = 100  # steps of a method that is exact for a free body
FREE_STATES = 3000  # intervals between the states of a free body in closed form: enough for a plot


@dataclass(frozen=True)
class Choice:
    """Method and step size of a run; if one of them was chosen, with the reason and the estimated error."""

    method: Method
    h: float | None  # None if the method chooses its own steps
    why: str = ""
    error: float = nan
    unmet: str = ""  # the reason why the wanted error is not met; empty if it is met
    is_made: bool = True  # False if the user passed both

    def times(self, span: tuple[float, float], t_eval: npt.ArrayLike | None, every: int) -> FloatArray | None:
        """Return the times at which states are saved, or None for those of the steps.

        They are `t_eval`; for methods that choose their steps and take `h`, every `every`-th multiple of `h`.
        """
        if t_eval is not None:
            return finite_times(t_eval) if self.method.any_time else checked_times(t_eval, span)
        if self.h is None or not self.method.chooses_steps:
            return None
        grid = Steps(span, np.empty(0), step_length(self.h))
        return grid.times(np.append(np.arange(0, grid.count, every, dtype=np.int64), grid.count))


def choose(
    problem: Problem, span: tuple[float, float], method: MethodLike | None = None, h: float | None = None,
    rtol: float | None = None, atol: float = 0.0,
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
    h : float, optional
        Step size of the user; by default, one is chosen.
    rtol, atol : float, optional
        Wanted error at the end. The default is 1e-9 and 0.

    Returns
    -------
    Choice
        Method and step size, the reason, and the estimated error.

    Raises
    ------
    InputError
        If an argument is invalid, or `h` is passed with a method that does not take it.
    """
    user_method = user_method_of(method, h)
    tolerances = wanted_tolerances(rtol, atol)
    if user_method is not None:
        user_method.check(problem.force)
        if advice := user_method.advice(problem.force):
            warn(advice, MethodWarning)
        if h is not None:
            return Choice(user_method, h, is_made=False)
        if not has_to_choose(user_method, isinstance(method, str), rtol is None, problem.h is None):
            return Choice(user_method, None if user_method.chooses_steps else problem.h, is_made=False)
    simplest = user_method or (ClosedForm() if problem.force.is_zero else Splitting(None, "V2"))
    if simplest.is_exact_for(problem.force) or 0 in problem.rows.batch:
        why = "no bodies" if 0 in problem.rows.batch else FREE
        return Choice(simplest, _spacing(problem, span, simplest) if h is None else h, why, 0.0)
    strength = measured(problem, span)
    task = Task(problem, span, *tolerances, strength.radian, problem.rows.structure(span))
    if user_method is not None:
        find = own_steps_choice if user_method.chooses_steps else with_user_method
        return find(task, user_method)
    family, names = _family(problem, strength)
    if h is not None:
        return Choice(Splitting(None, BY_FAMILY[names]), h, f"{family}, so {BY_FAMILY[names]}", np.nan)
    if task.structure.rough.any():
        return own_steps_choice(task, Adaptive(), "the torque is not smooth in time")
    if names == VELOCITY:
        return own_steps_choice(task, Adaptive(), family)
    return best_of_family(task, family, names)


def user_method_of(method: MethodLike | None, h: float | None) -> Method | None:
    """Return the method of the user, or None; raise InputError if `h` is passed with a method that does not take it."""
    user_method = None if method is None else as_method(method)
    if user_method is not None and h is not None and not user_method.takes_h:
        raise _no_step_taken(user_method, h)
    return user_method


def wanted_tolerances(rtol: float | None, atol: float) -> tuple[float, float]:
    """Return the wanted errors; raise InputError if they are invalid."""
    if rtol is None and isinstance(atol, float) and atol == 0.0:
        return DEFAULT_RTOL, 0.0
    return checked_tolerances(DEFAULT_RTOL if rtol is None else rtol, atol)


def _no_step_taken(method: Method, h: float) -> InputError:
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


def best_of_family(task: Task, family: str, names: tuple[str, ...]) -> Choice:
    """Choose the scheme that needs the fewest torques, or ``Adaptive`` if it does not meet the wanted error."""
    piece = task.first(RADIANS * task.radian / task.length)
    best = ""
    fewest = inf  # torque evaluations per unit of time
    step = task.radian
    for name in names[::-1]:
        trial = Splitting(None, name)
        torques = trial.scheme.torques_per_step
        result = _find_step(piece, trial, task.radian, shortest=torques / fewest, patience=SLOW_TRIALS)
        if not best or (result.met and torques / result.x < fewest):
            best, fewest, step = name, torques / result.x, result.x
    method = Splitting(None, best)
    result = _find_step(task, method, step, patience=SLOW_TRIALS)
    why = f"{family}; of {', '.join(names)} it needs the fewest torques"
    choice = Choice(method, result.x, why, result.error, result.unmet)
    confirmed = not result.met or _is_confirmed(task, method, result)
    if (result.met and confirmed) or result.unmet == ROUND_OFF:
        return choice
    other = own_steps_choice(task, Adaptive(), f"{family}; {best} does not converge with its order")
    return other if not confirmed or not other.unmet or other.error < CLEARLY_BETTER * result.error else choice


def with_user_method(task: Task, method: Method) -> Choice:
    """Choose the step size for a method of the user."""
    result = None if task.structure.rough.any() else _find_step(task, method, task.radian)
    if result is None or (result.met and not _is_confirmed(task, method, result)):
        first_step = task.radian if result is None else result.x
        result = _find_step(task, method, first_step, truth=_finer(own_steps_choice(task, Adaptive()).method))
    return Choice(method, result.x, "", result.error, task.unmet(result))


def _family(problem: Problem, strength: Strength) -> tuple[str, tuple[str, ...]]:
    """Return the reason for a family of schemes, and the names of its schemes."""
    force = problem.force
    if force.velocity_dependent:
        return "the torque depends on the angular velocity", VELOCITY
    if np.any(force.damping):
        return "damping", DAMPED
    size = f"{strength.torque:.2g} of the momentum per radian"
    if strength.torque <= WEAK_TORQUE:
        return f"a weak torque, {size}", WEAK
    if strength.torque >= STRONG_TORQUE:
        return f"a strong torque, {size}", STRONG
    return f"a moderate torque, {size}", WEAK + STRONG


def _find_step(
    task: Task, method: Method, first: float, truth: Method | None = None, shortest: float = 0.0,
    patience: int = MOST_TRIALS,
) -> SearchResult:  # fmt: skip
    """Find the step size with which `method` meets rtol at the end of the span; steps below `shortest` are not tried.

    The error is estimated by a run with half the step size or, where h and h/2 may agree by chance, by a run with
    `truth`.
    """
    judged = task.judged(method, first) if truth is None else task
    order = task.order_of(method) if truth is None else 1  # errors at a jump are of first order
    longest = min(judged.length, task.structure.longest.min() / 2)
    shortest = max(shortest, judged.length * method.stages / (SHORTER * task.most_torques))
    known = None if truth is None else end_state(judged, truth)

    def error(h: float) -> float:
        """Return the estimated error with step size `h`."""
        return judged.trial_error(method, h) if truth is None else judged.error(end_state(judged, method, h), known)

    def rounding(h: float) -> float:
        """Return the round-off error with step size `h`."""
        return judged.rounding(judged.length / h)

    result = search(error, min(first, longest), (shortest, longest), order, judged.wanted, rounding, patience)
    return result._replace(error=result.error * task.length / judged.length)


def _is_confirmed(task: Task, method: Method, result: SearchResult) -> bool:
    """Return whether a run with ``Adaptive``, which evaluates the torque at other times, confirms the step size.

    Forces of the library need no confirmation. If the smallest tolerance of ``Adaptive`` is not sufficient, shorter
    steps decide: errors must decrease with at least half the order of the method.
    """
    if task.is_ready_made:
        return True
    judged = task.judged(method, result.x)
    coarse = Adaptive(max(CONFIRMING * judged.wanted, SMALLEST_RTOL), task.atol)
    ends = [end_state(judged, method, result.x), end_state(judged, coarse), end_state(judged, _finer(coarse))]
    if min(judged.error(ends[0], ends[1]), judged.error(ends[0], ends[2])) <= judged.wanted:
        return True
    if coarse.rtol > SMALLEST_TOLERANCE and judged.error(ends[1], ends[2]) <= judged.wanted:
        return False
    next_error = judged.error(end_state(judged, method, result.x / 2, 2), end_state(judged, method, result.x / 4, 4))
    rounding = judged.rounding(4 * judged.length / result.x)
    return next_error <= max(result.error * 2.0 ** (-task.order_of(method) / 2), rounding)


def own_steps_choice(task: Task, family: Method, why: str = "") -> Choice:
    """Choose the tolerance with which a method that chooses its steps meets rtol at the end of the span.

    If a torque jumps, errors do not always decrease with the tolerance. Therefore the tolerance for a user-defined
    torque is searched again, with errors relative to a run of much smaller tolerance.
    """
    truth: list[EndState | None] = []

    def method(x: float) -> Method:
        """Return the method with tolerance `x`, rounded to two digits."""
        return family.with_tolerance(max(float(f"{x:.2g}"), SMALLEST_TOLERANCE), task.atol)

    def error(x: float) -> float | None:
        """Return the estimated error with tolerance `x`; None if a run did not reach the end."""
        coarse = end_state(task, method(x))
        fine = truth[0] if truth else end_state(task, _finer(method(x)))
        return None if coarse is None or fine is None else task.error(coarse, fine)

    def rounding(x: float) -> float:
        """Return the round-off error, whatever the tolerance."""
        return task.rounding(task.length / task.radian)

    bounds = SMALLEST_TOLERANCE, LARGEST_TOLERANCE
    result = search(error, max(task.rtol, SMALLEST_TOLERANCE), bounds, 1.0, task.wanted, rounding)
    if result.met and not task.is_ready_made:
        truth.append(end_state(task, _finer(_finer(method(result.x)))))
        result = search(error, result.x, bounds, 1.0, task.wanted, rounding)
    unmet = task.unmet(result)
    return Choice(method(result.x), None, why, result.error, SMALLEST if unmet == TOO_LONG else unmet)


def _finer(method: Method) -> Method:
    """Return a method that chooses its steps with a smaller tolerance, by which errors of `method` are estimated."""
    return method.finer(None)[0]


def explained(result: Result, choice: Choice) -> Result:
    """Return a result with the choice and its reason in its message; warn if the wanted error cannot be guaranteed.

    Parameters
    ----------
    result : Trajectory
        Result of the run.
    choice : Choice
        The method and the step size that were chosen.

    Returns
    -------
    Trajectory
        The result with an extended message.

    Warns
    -----
    RunWarning
        If the wanted error is not met, or is unknown.
    """
    step = f", h = {result.h:.4g}" if np.isfinite(result.h) else ""
    summary = f"chosen: {choice.method!r}{step}" + (f" ({choice.why})" if choice.why else "")
    if np.isfinite(choice.error):
        summary += f"; estimated error {choice.error:.1e}"
    message = joined(result.message, "; " if result.message else "", summary, choice.unmet)
    if choice.unmet:
        warn(message, RunWarning)
    return result.replaced(message=message)


def closing_check(problem: Integrable, result: BaseTrajectory) -> tuple[float, ...]:
    """Return the errors at the end by a run with half the step, the largest of all bodies: see ``Rows.differences``."""
    method = result.method
    span = (float(result.t[0]), float(result.t[-1]))
    finer, h = method.finer(abs(result.h))
    task = Task(problem, span, ROUNDING, 0.0, inf, problem.rows.structure(span))
    end = end_state(task, finer, h, least=2)
    last = tuple(getattr(result, name)[-1] for name in problem.rows.names)
    return (inf,) * len(last) if end is None else problem.rows.differences(last, end)
