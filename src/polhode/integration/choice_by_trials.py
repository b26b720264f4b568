"""Choice of a method and a step size, by the size of the torque and by trial runs.

The user asks for an error of m/|m| and of q at the end. The torque is compared with the free motion (``strength``):
weak torques are integrated by ABA schemes, which are made for small perturbations, unless the wanted error is so small,
or the time so short, that ``Taylor`` is faster. In a very short time ``Taylor`` is chosen before the torque is
measured. All other torques are integrated by ``Taylor`` if they can be traced. Otherwise, strong ones are integrated by
Runge-Kutta-Nyström schemes, and those that depend on the angular velocity or jump by ``Adaptive``. The wanted error
decides between the schemes of a kind. Trial runs find the step size, and the last of them is the result (``trials``).

Runs with two step sizes agree if both skip the same feature of the torque. Therefore user-defined torques are sampled
in time first (``time_structure``), and no step is longer than a feature. Torques that may change suddenly are
integrated by ``Taylor``, whose steps are verified; results of other methods are compared with such a run
(``second_look``). Where a method does not converge, or passes over features of the torque, ``Adaptive`` is tried.
"""

from __future__ import annotations

from functools import cache
from math import inf, isinf
from typing import NamedTuple

import numpy as np

from polhode.forces.base import Force
from polhode.integration import rules
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.choice import Choice
from polhode.integration.output import OutputOptions
from polhode.integration.problem import Problem
from polhode.integration.rows import Integrable, Rows
from polhode.integration.second_look import may_hide, second_look
from polhode.integration.step_search import ROUND_OFF, TEXTS, SearchResult
from polhode.integration.step_sizes import Orders, find_steps, find_tolerance
from polhode.integration.strength import WEAK_SCHEMES, Strength, expected_order, law_of, measured_each, strong_scheme
from polhode.integration.stretches import StepSize
from polhode.integration.time_structure import TimeStructure
from polhode.integration.trials import EachTask, Task
from polhode.methods import as_method
from polhode.methods.adaptive import Adaptive
from polhode.methods.method import Method
from polhode.methods.schemes import get
from polhode.methods.splitting import Splitting
from polhode.methods.taylor import Taylor


class Wish(NamedTuple):
    """What the user passed to ``choice.choose``."""

    method: Method | None
    h: StepSize | None
    tolerances: tuple[float, float]
    output: OutputOptions | None
    each: bool
    rough_h: float | None
    keeps_steps: bool


def choose_by_trials(problem: Problem, span: tuple[float, float], wish: Wish) -> Choice:
    """Choose a method, a step size or both by trial runs; see ``choice.choose``."""
    method, h, tolerances, output, each, rough_h, keeps_steps = wish
    reused = output if output is not None and output.events is None else None  # an event may end a run
    structure = problem.rows.structure(span)
    if method is None and h is None and (task := _short(problem, span, tolerances, structure, reused)) is not None:
        return _by_taylor(task, "a short time")
    strengths = measured_each(problem, span)
    each = each and bool(problem.rows.batch)
    strength = strengths.typical if each else strengths.largest
    keeps_steps = keeps_steps or (output is not None and output.t_eval is None)
    task = Task(problem, span, *tolerances, strength.radian, structure, output=reused, keeps_steps=keeps_steps)
    output = output or OutputOptions()
    if method is not None and method.chooses_steps:
        return by_tolerance(task, method)
    if each and (method is None or rough_h is not None or not structure.rough.any()):
        task = EachTask(
            problem, span, *tolerances, strengths.radian, structure, output=reused, keeps_steps=keeps_steps,
            shared_radian=strength.radian,
        )  # fmt: skip
    if method is None:
        return _by_torque(problem.force, task, strength, strengths if each else strength, output, h)
    if task is not task.shared:
        output.check_own_steps()
    known = strengths if task is not task.shared else strength
    return with_user_method(task, method, known if splits_well(problem.force) else None, rough_h)


def _short(
    problem: Problem, span: tuple[float, float], tolerances: tuple[float, float], structure: TimeStructure,
    output: OutputOptions | None,
) -> Task | None:  # fmt: skip
    """Return the task of one body if ``Taylor`` is chosen whatever the size of its torque; otherwise None.

    Its runs then take less time than the trial run that splittings need more. Time is measured in radians of the first
    angular velocity.
    """
    rows = problem.rows
    speed = 0.0 if rows.batch else rows.speed(rows.m).item()
    if not speed > 0.0:
        return None
    task = Task(problem, span, *tolerances, 1.0 / speed, structure, output=output)
    is_short = not task.is_long and _taylor_cost(task) < rules.ONE_MORE_TRIAL
    return task if is_short and problem.force.is_traced else None


def _by_torque(
    force: Force, task: Task, strength: Strength, strengths: Strength, output: OutputOptions, h: StepSize | None
) -> Choice:
    """Choose a method by the properties and the strength of the torque, and its step size unless it is `h`.

    `strength` is that of most bodies, and `strengths` those of all that have a step size of their own.
    """
    if h is not None:
        why, name = _for_step(force, strength)
        return Choice(Splitting(None, name), h, f"{why}, so {name}")
    shared = task.shared
    is_rough = bool(task.structure.rough.any())
    kind = "the torque is not smooth in time" if is_rough else _for_step(force, strength)[0]
    if force.is_traced and (is_rough or may_hide(task.problem)):
        return _by_taylor(shared, kind)
    if is_rough:
        return by_tolerance(shared, Adaptive(), kind)
    name, torques = _cheapest_weak(shared, strength, output) if splits_well(force) and strength.is_weak else ("", inf)
    if _taylor_cost(shared) < torques + (0.0 if shared.is_long else rules.ONE_MORE_TRIAL) and force.is_traced:
        return _by_taylor(shared, kind)
    if not splits_well(force):
        return by_tolerance(shared, Adaptive(), kind)
    name = name or strong_scheme(shared.error_per_length)
    if task is not shared:
        output.check_own_steps()
    return by_scheme(task, name, strengths, kind)


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


def _taylor_cost(task: Task) -> float:
    """Return the cost of ``Taylor`` with a weak torque, in the time of a torque evaluation of a splitting."""
    order = Taylor(max(min(rules.AIM * task.error_per_length, rules.LARGEST_TOLERANCE), Taylor.smallest_rtol)).order
    steps = task.length / task.radian * rules.TAYLOR_STEPS * (rules.TAYLOR_TRIALS if task.is_long else 1.0)
    return steps * (rules.TAYLOR_STEP + rules.TAYLOR_ORDER * order)


def _cheapest_weak(task: Task, strength: Strength, output: OutputOptions) -> tuple[str, float]:
    """Return the scheme for weak torques that needs the fewest torques, including those for each saved state."""
    longest, error = task.longest_step, task.error_per_length

    def torques(name: str) -> float:
        """Return the number of torques that the scheme needs."""
        in_step, in_processor = _torques_of(name)
        steps = task.length / min(longest, strength.steps(name, error))
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


def by_scheme(task: Task, name: str, strength: Strength, why: str) -> Choice:
    """Choose the step sizes of a scheme, or ``Adaptive`` if errors do not decrease as its order predicts."""
    method = as_method(name)
    guess = strength.steps(name, task.error_per_length)
    # Of many bodies, some are slow by chance.
    patience = rules.SLOW_TRIALS if np.size(guess) == 1 else rules.MOST_TRIALS
    result = find_steps(task, method, guess, _orders(method, task.problem.rows), patience)
    choice = _choice_of(task, method, result, why)
    if result.is_rejected:
        return _or_adaptive(task.shared, choice, f"{name} does not converge with its order")
    looked = _looked_at(task.shared, choice)
    if looked.unmet == choice.unmet or not task.compares_states:  # of chaotic systems, Adaptive would take too long
        return looked
    return _or_adaptive(task.shared, looked, f"{name} passes over its changes")


def _choice_of(task: Task, method: Method, result: SearchResult, why: str = "") -> Choice:
    """Return the choice of a method and of the step sizes that a search has found."""
    h = result.x if task is task.shared else result.x.reshape(task.problem.rows.batch)
    return Choice(method, h, why, float(np.max(result.error)), task.unmet(result), computed=task.computed(result))


def _orders(method: Method, rows: Rows) -> Orders:
    """Return the order that errors of a method have with usual steps, and the order that is certain."""
    name = law_of(method)
    generalized = get(name).generalized_order if name else None
    order = generalized[1] if generalized else rows.order_of(method)
    return Orders(expected_order(name) if name else order, order)


def _by_taylor(task: Task, why: str) -> Choice:
    """Choose the tolerance of ``Taylor``, or ``Adaptive`` if the torque has no series somewhere."""
    choice = by_tolerance(task, Taylor(), why)
    return (
        choice
        if choice.unmet in ("", TEXTS[ROUND_OFF])
        else _or_adaptive(task, choice, "Taylor does not reach the error")
    )


def _or_adaptive(task: Task, choice: Choice, why_not: str) -> Choice:
    """Return ``Adaptive`` if it meets the wanted error or is much better, and otherwise `choice`."""
    other = by_tolerance(task, Adaptive(), f"{choice.why}; {why_not}")
    return other if not other.unmet or other.error < rules.CLEARLY_BETTER * choice.error else choice


def by_tolerance(task: Task, family: Method, why: str = "") -> Choice:
    """Choose the tolerance of a method that chooses its steps, and its longest step if it passes over features."""
    for _ in range(rules.LOOKS):
        method, result, unmet = find_tolerance(task, family)
        choice = Choice(method, None, why, result.error, unmet, computed=task.computed(result))
        looked = _looked_at(task, choice)
        if looked.unmet == choice.unmet:
            break
        task = task.with_shorter_steps(looked.h)
    return looked._replace(h=None)


def _looked_at(task: Task, choice: Choice) -> Choice:
    """Return a choice with what it was compared with, or with the reason why its error is unknown.

    Then the ``h`` of a method that chooses its steps is the length of a step that is too long.
    """
    method = choice.method
    if method.verifies_steps or isinf(choice.error) or not may_hide(task.problem):
        return choice
    look = second_look(task, method, choice.h)
    if look.error <= 1.0:
        return choice._replace(seen=look.what)
    error = max(choice.error, look.error * task.wanted)
    unmet = f", but the torque changes within steps: a comparison with {look.what} shows an error of {error:.1e}"
    return choice._replace(error=error, unmet=unmet, h=look.step if choice.h is None else choice.h)


def with_user_method(
    task: Task, method: Method, strength: Strength | None = None, rough_h: float | None = None
) -> Choice:
    """Choose the step sizes for a method of the user, by the `strength` of the torque if it is known.

    With a torque that jumps, errors with two step sizes may agree by chance, and are compared with ``Adaptive``; bodies
    with step sizes of their own have the step size `rough_h` then.
    """
    order = task.problem.rows.order_of(method)
    orders = Orders(order, order)
    if strength is None:
        guess = task.radian * task.numbers.minimum(1.0, task.error_per_length ** (1.0 / order))
    else:
        guess = strength.guess(method, _orders(method, task.problem.rows).nominal, task.error_per_length)
    rough = task.structure.rough
    if rough_h is None and rough.any():
        finer, _ = find_tolerance(task.for_truth(), Adaptive())[0].finer(None)
        truth = task.for_truth().trial(finer, 0.0)
        return _choice_of(task, method, find_steps(task, method, task.radian, Orders(1.0, 1.0), truth=truth))
    choice = _choice_of(task, method, find_steps(task, method, guess, orders))
    if rough.any():
        choice = choice._replace(h=np.where(rough.reshape(choice.h.shape), rough_h, choice.h), computed=None)
    return _looked_at(task.shared, choice)


def closing_check(problem: Integrable, result: BaseTrajectory) -> tuple[float, ...]:
    """Return the errors at the end by a run with half the step, the largest of all bodies: see ``Rows.differences``."""
    method = result.method
    span = (float(result.t[0]), float(result.t[-1]))
    finer, h = method.finer(abs(result.h))
    task = Task(problem, span, rules.ROUNDING, 0.0, inf, problem.rows.structure(span))
    end = task.trial(finer, 0.0, h, least=2).end
    last = tuple(getattr(result, name)[-1] for name in problem.rows.names)
    return (inf,) * len(last) if end is None else problem.rows.differences(last, end)
