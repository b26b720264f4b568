"""Choice of a method and a step size, by the size of the torque and by trial runs.

The user asks for an error of m/|m| and of q at the end. The torque is compared with the free motion (``strength``):
weak torques are integrated by ABA schemes, which are made for small perturbations, unless the wanted error is so small,
or the time so short, that ``Taylor`` is faster. All other torques are integrated by ``Taylor`` if they can be traced.
Otherwise, strong ones are integrated by Runge-Kutta-Nyström schemes, and those that depend on the angular velocity or
jump by ``Adaptive``. The wanted error decides between the schemes of a kind. Trial runs find the step size, and the
last of them is the result (``trials``).

Runs with two step sizes agree if both skip the same feature of the torque. Therefore user-defined torques are sampled
in time first (``time_structure``), and no step is longer than a feature. Where a torque jumps with the attitude, errors
do not decrease as the order of a scheme predicts, and ``Adaptive`` is chosen.
"""

from __future__ import annotations

from functools import cache
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, MethodWarning, RunWarning
from polhode.core.messages import Hint, joined
from polhode.core.warning import warn
from polhode.forces.base import Force
from polhode.integration.base_trajectory import BaseTrajectory, step_text
from polhode.integration.batch_search import BatchResult, find_steps, orders_of
from polhode.integration.batch_trials import BatchTask
from polhode.integration.output import Computed, OutputOptions, times_to_save
from polhode.integration.problem import Problem
from polhode.integration.rows import Integrable, Rows
from polhode.integration.step_search import AIM, MOST_TRIALS, ROUND_OFF, ROUNDING
from polhode.integration.strength import WEAK_SCHEMES, Strength, expected_order, law_of, measured_each, strong_scheme
from polhode.integration.stretches import StepSize
from polhode.integration.trials import Task, find_step, find_tolerance
from polhode.methods import as_method
from polhode.methods.adaptive import Adaptive, checked_tolerances
from polhode.methods.closed_form import ClosedForm
from polhode.methods.method import Method
from polhode.methods.schemes import get
from polhode.methods.splitting import Splitting
from polhode.methods.taylor import Taylor

if TYPE_CHECKING:
    from polhode.methods import MethodLike

Result = TypeVar("Result", bound=BaseTrajectory)
SLOW_TRIALS = 2  # trials whose errors decrease at less than half the order, after which a scheme is rejected
CLEARLY_BETTER = 0.1
DEFAULT_RTOL = 1e-9
# Steps of ``Taylor`` per radian, and their cost: of a step and of each order, in torque evaluations of a splitting.
TAYLOR_STEPS, TAYLOR_STEP, TAYLOR_ORDER = 1.55, 0.4, 0.32
TAYLOR_TRIALS = 1.8  # cost of all trial runs in a long time, relative to those of a splitting, which are shorter
ONE_MORE_TRIAL = 400.0  # torque evaluations in the time of the trial run that splittings need more in a short time
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

    def times(self, span: tuple[float, float], t_eval: npt.ArrayLike | None, every: int) -> FloatArray | None:
        """Return the times at which states are saved, or None for those of the steps."""
        return times_to_save(self.method, self.h, span, t_eval, every)


def choose(
    problem: Problem, span: tuple[float, float], method: MethodLike | None = None, h: StepSize | None = None,
    rtol: float | None = None, atol: float = 0.0, output: OutputOptions | None = None, each: bool = False,
    rough_h: float | None = None,
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
    strengths = measured_each(problem, span)
    strength = strengths.typical if each and problem.rows.batch else strengths.largest
    reused = output if output is not None and output.events is None else None  # an event may end a run
    structure = problem.rows.structure(span)
    task = Task(problem, span, *tolerances, strength.radian, structure, output=reused)
    batch = BatchTask(problem, span, *tolerances, strengths, structure, reused) if each and problem.rows.batch else None
    output = output or OutputOptions()
    if user_method is not None:
        if user_method.chooses_steps:
            return by_tolerance(task, user_method)
        if batch is None or (structure.rough.any() and rough_h is None):
            return with_user_method(task, user_method, strength if splits_well(problem.force) else None)
        output.check_own_steps()
        return _each_with_user_method(batch, user_method, rough_h)
    return _by_torque(problem.force, task, batch, strength, output, h)


def _by_torque(
    force: Force, task: Task, batch: BatchTask | None, strength: Strength, output: OutputOptions, h: StepSize | None
) -> Choice:
    """Choose a method by the properties and the strength of the torque, and its step size unless it is `h`."""
    if h is not None:
        why, name = _for_step(force, strength)
        return Choice(Splitting(None, name), h, f"{why}, so {name}")
    if task.structure.rough.any():
        return by_tolerance(task, Adaptive(), "the torque is not smooth in time")
    kind = _for_step(force, strength)[0]
    name, torques = _cheapest_weak(task, strength, output) if splits_well(force) and strength.is_weak else ("", inf)
    if _taylor_cost(task, strength) < torques + (0.0 if task.is_long else ONE_MORE_TRIAL) and force.is_traced:
        return by_tolerance(task, Taylor(), kind)
    if not splits_well(force):
        return by_tolerance(task, Adaptive(), kind)
    name = name or strong_scheme(task.error_per_length)
    if batch is not None:
        output.check_own_steps()
        return _each_by_scheme(batch, task, name, kind)
    return by_scheme(task, name, strength.step(name, task.error_per_length), kind)


def splits_well(force: Force) -> bool:
    """Return whether the errors of schemes with this force are those of torques that depend on time and attitude."""
    return not (force.velocity_dependent or force.is_damped)


def _for_step(force: Force, strength: Strength) -> tuple[str, str]:
    """Return what kind of torque it is, and the name of the scheme that suits it with a step size of the user."""
    if force.velocity_dependent:
        return "the torque depends on the angular velocity", "V2"
    if np.any(force.damping):
        return "damping", "S6_10"
    size = f"{strength.torque:.2g} of the momentum per radian"
    return (f"a weak torque, {size}", "ABA1064") if strength.is_weak else (f"a strong torque, {size}", "RKN6_14a")


def _taylor_cost(task: Task, strength: Strength) -> float:
    """Return the cost of ``Taylor`` with a weak torque, in the time of a torque evaluation of a splitting."""
    order = Taylor(max(AIM * task.error_per_length, Taylor.smallest_rtol)).order
    steps = task.length / strength.radian * TAYLOR_STEPS * (TAYLOR_TRIALS if task.is_long else 1.0)
    return steps * (TAYLOR_STEP + TAYLOR_ORDER * order)


def _cheapest_weak(task: Task, strength: Strength, output: OutputOptions) -> tuple[str, float]:
    """Return the scheme for weak torques that needs the fewest torques, including those for each saved state."""
    longest, error = task.longest_step, task.error_per_length

    def torques(name: str) -> float:
        """Return the number of torques that the scheme needs."""
        in_step, in_processor = _torques_of(name)
        steps = task.length / min(longest, strength.step(name, error))
        return steps * in_step + in_processor * (1.0 + output.states_of(steps))

    names = WEAK_SCHEMES if task.is_long else WEAK_SCHEMES[1:]
    has_breaks = task.problem.rows.breaks.size > 0
    costs = {name: torques(name) for name in names if not (has_breaks and get(name).looks_beyond)}
    best = min(costs, key=lambda name: costs[name])
    return best, costs[best]


@cache
def _torques_of(name: str) -> tuple[float, int]:
    """Return the numbers of torques in a step of a scheme and in its processor, which are counted only once."""
    scheme = get(name)
    return scheme.torques_per_step, sum(letter == "B" for letter, _ in scheme.processor)


def user_method_of(method: MethodLike | None, h: StepSize | None) -> Method | None:
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


def _no_step_taken(method: Method, h: StepSize) -> InputError:
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


def by_scheme(task: Task, name: str, guess: float, why: str) -> Choice:
    """Choose the step size of a scheme, or ``Adaptive`` if errors do not decrease as its order predicts."""
    method = as_method(name)
    expected, nominal = _orders(method, task.problem.rows)
    result = find_step(task, method, guess, expected, nominal=nominal, patience=SLOW_TRIALS)
    choice = Choice(method, result.x, why, result.error, task.unmet(result), computed=result.computed)
    return choice if result.met or result.unmet == ROUND_OFF else _or_adaptive(task, choice, name)


def _each_by_scheme(batch: BatchTask, task: Task, name: str, why: str) -> Choice:
    """Choose the step sizes of a scheme for each body, or ``Adaptive`` for all."""
    method = as_method(name)
    orders = orders_of(batch, *_orders(method, batch.problem.rows))
    guess = batch.strength.steps(name, batch.errors_per_length)
    result = find_steps(batch, method, guess, orders, MOST_TRIALS)  # of many bodies, some are slow by chance
    choice = _choice_of(batch, method, result, why)
    return _or_adaptive(task, choice, name) if result.is_rejected else choice


def _each_with_user_method(batch: BatchTask, method: Method, rough_h: float | None) -> Choice:
    """Choose the step sizes of a method of the user for each body; `rough_h` if its torque is not smooth in time."""
    errors = batch.errors_per_length
    if splits_well(batch.problem.force):
        expected, order = _orders(method, batch.problem.rows)
        guess = batch.strength.guess(method, order, errors)
    else:
        expected = order = batch.problem.rows.order_of(method)
        guess = batch.radian * np.minimum(1.0, errors ** (1.0 / order))
    result = find_steps(batch, method, guess, orders_of(batch, expected, order), MOST_TRIALS)
    if rough_h is not None and batch.structure.rough.any():
        result = result._replace(h=np.where(batch.structure.rough, rough_h, result.h), computed=None)
    return _choice_of(batch, method, result)


def _choice_of(batch: BatchTask, method: Method, result: BatchResult, why: str = "") -> Choice:
    """Return the choice of a method and of the step sizes of each body that a search has found."""
    h = result.h.reshape(batch.problem.rows.batch)
    return Choice(method, h, why, float(result.errors.max()), result.unmet(batch), computed=result.computed)


def _orders(method: Method, rows: Rows) -> tuple[float, float]:
    """Return the order that errors of a method have with usual steps, and the order that is certain."""
    name = law_of(method)
    generalized = get(name).generalized_order if name else None
    order = generalized[1] if generalized else rows.order_of(method)
    return expected_order(name) if name else order, order


def _or_adaptive(task: Task, choice: Choice, name: str) -> Choice:
    """Return ``Adaptive`` if it meets the wanted error or is much better, and otherwise `choice`, of a scheme."""
    other = by_tolerance(task, Adaptive(), f"{choice.why}; {name} does not converge with its order")
    return other if not other.unmet or other.error < CLEARLY_BETTER * choice.error else choice


def by_tolerance(task: Task, family: Method, why: str = "") -> Choice:
    """Choose the tolerance of a method that chooses its steps."""
    method, result = find_tolerance(task, family)
    return Choice(method, None, why, result.error, result.unmet, computed=result.computed)


def with_user_method(task: Task, method: Method, strength: Strength | None = None) -> Choice:
    """Choose the step size for a method of the user, by the `strength` of the torque if it is known.

    With a torque that jumps, errors with two step sizes may agree by chance, and are compared with ``Adaptive``.
    """
    order = task.order_of(method)
    if strength is None:
        guess = task.radian * min(1.0, task.error_per_length ** (1.0 / order))
    else:
        guess = float(strength.guess(method, _orders(method, task.problem.rows)[1], task.error_per_length))
    if task.structure.rough.any():
        finer, _ = find_tolerance(task.for_truth(), Adaptive())[0].finer(None)
        truth = task.for_truth().trial(finer, 0.0)
        result = find_step(task, method, task.radian, 1.0, truth=truth.end)
    else:
        result = find_step(task, method, guess, order)
    return Choice(method, result.x, "", result.error, task.unmet(result), computed=result.computed)


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
    step = f", {size}" if (size := step_text(result.h, digits=4)) else ""
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
    end = task.trial(finer, 0.0, h, least=2).end
    last = tuple(getattr(result, name)[-1] for name in problem.rows.names)
    return (inf,) * len(last) if end is None else problem.rows.differences(last, end)
