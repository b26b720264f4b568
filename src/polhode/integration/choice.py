"""The choice of a method and a step: by the size of the torque, and by trial runs with h and h/2.

What is asked for is an error of m/|m| and of q at the end. The torque is measured against the free motion: its part of
the momentum per radian of rotation says whether it is weak (ABA schemes, made for that) or strong (Runge-Kutta-Nyström
schemes). On a first piece of the time span each scheme of the family shows how long its steps may be; the one that
needs the fewest torques is taken, and its step is corrected on the whole span.

Runs with h and h/2 agree also where both pass over something, and by chance where a torque jumps. So torques of users
are sampled in time before (``time_structure``), those that are not smooth are left to ``Adaptive``, and what was found
for the others is confirmed by a run with ``Adaptive``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, writable
from polhode.core.checks import common_batch, rows_of
from polhode.core.errors import RunWarning
from polhode.core.progress import Progress
from polhode.forces.base import Force
from polhode.forces.nothing import nothing
from polhode.free.propagation import propagate
from polhode.integration.adaptive_run import AdaptiveRun
from polhode.integration.problem import Problem
from polhode.integration.running import Run
from polhode.integration.time_structure import CELLS, TimeStructure, time_structure
from polhode.integration.trajectory import Trajectory
from polhode.methods import as_method
from polhode.methods.adaptive import SMALLEST_RTOL, Adaptive, checked_tolerances
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting

WEAK, STRONG, DAMPED = (
    ("ABA82", "ABA864", "ABA1064"),
    ("RKN4_6b", "RKN6_11b", "RKN8_19"),
    ("V2", "S4_6", "S6_10", "SS10_35"),
)
VELOCITY = ("Adaptive",)
BY_FAMILY = {WEAK: "ABA1064", STRONG: "RKN6_14a", WEAK + STRONG: "RKN6_14a", DAMPED: "S6_10", VELOCITY: "V2"}  # h given
WEAK_TORQUE, STRONG_TORQUE = 0.01, 0.1  # of the momentum, per radian; between them both families are tried
RADIANS = 20.0  # of rotation in the first piece
AIM, HIGHEST, LOWEST = 0.2, 0.5, 0.05  # of the wanted error: what a step is corrected to, and when it is good enough
ROUNDING = 2.0**-46  # an error that nobody can ask for
FINER_TOLERANCE, LARGEST_TOLERANCE = 32.0, 1e-2
SMALLEST_TOLERANCE = 4 * SMALLEST_RTOL  # of which the error can still be estimated by a finer one
ASYMPTOTIC = 0.1  # an error that is larger says nothing about that of a shorter step
MOST_TRIALS = 12
MOST_TORQUES = 1_000_000  # of a first trial run; longer runs are judged by their first part
SHORTER = 4  # by how much its steps may then still become shorter
CLEARLY_SHORTER = 0.75
SLOW_TRIALS = 2  # whose errors fell by less than half the order, after which a scheme is given up
STALLED = 3  # trials with shorter steps that did not halve the error, after which none is expected to
STEP_ROUNDING = 4.0 * 2.0**-53  # times radians times the root of the number of steps: an error of round-off
CLEARLY_BETTER = 0.1
CONFIRMING = 0.1  # of the wanted error: the tolerance of the run that confirms it
SAMPLES = 64
FREE_STEPS = 100  # of a body without torque: as many states as a plot needs


class Strength(NamedTuple):
    """What the torque does to the free motion: its part of the momentum per radian, and the time of a radian."""

    torque: float
    radian: float


MORE = ", which is more than was asked for: "
ROUND_OFF = MORE + "round-off does not allow less"
NO_NEARER = MORE + "shorter steps do not come nearer"
SLOW = MORE + "errors do not fall as the order says"
TOO_LONG = MORE + "trial runs with still shorter steps would take too long"
SMALLEST = MORE + f"Adaptive takes no smaller tolerance than {SMALLEST_RTOL:.2g}"
TOO_MANY = MORE + f"{MOST_TRIALS} trial runs did not come to it"
NO_END = "; its error is not known: a trial run did not reach the end"
HIDDEN = (
    f", but the torque has features shorter than a {CELLS // 2}th of the time span, of which some may be overlooked; "
    "give their times as Torque(..., breaks=...)"
)


@dataclass(frozen=True)
class Choice:
    """A method, its step (None if it chooses its own), why, the error that was estimated, and why it is not met."""

    method: Any
    h: float | None
    why: str
    error: float
    unmet: str = ""


@dataclass(frozen=True)
class Task:
    """What is asked for, and what is known before any trial run."""

    problem: Problem
    span: tuple[float, float]
    rtol: float
    atol: float
    radian: float  # the time of one
    structure: TimeStructure

    @property
    def length(self) -> float:
        return abs(self.span[1] - self.span[0])

    @property
    def is_ready_made(self) -> bool:
        return self.problem.force is None or self.problem.force.is_ready_made

    @property
    def wanted(self) -> float:
        return max(self.rtol, ROUNDING)

    def order_of(self, method: Method) -> int:
        """Return the order of the method with the force of the problem."""
        return method.order_for(self.problem.force or nothing())

    def first(self, part: float) -> Task:
        """The first part of the span, and of the error."""
        t0, t1 = self.span
        return self if part >= 1 else replace(self, span=(t0, t0 + part * (t1 - t0)), rtol=self.rtol * part)

    def judged(self, method: Method, h: float) -> Task:
        """What trial runs take: all, unless that is too long and one part of it is as good as another."""
        if np.isfinite(self.structure.longest).any():
            return self
        return self.first(MOST_TORQUES / (self.length / h * method.stages))

    def rounding(self, steps: float) -> float:
        """An error that so many steps may have by round-off."""
        return STEP_ROUNDING * max(1.0, self.length / self.radian) * max(1.0, steps) ** 0.5

    def error(self, a: End | None, b: End | None) -> float:
        """Of a, b being the truth; infinite if one of them did not come to the end."""
        return inf if a is None or b is None else max(differences(a, b, self.atol / self.wanted))

    def unmet(self, found: Found) -> str:
        """Why the error cannot be promised; empty if it can."""
        return HIDDEN if found.met and self.structure.hidden.any() else found.unmet


def has_to_choose(problem: Problem, method: Any, h: float | None, rtol: float | None) -> bool:
    """Unless method and step are given, or the method has a step of its own or the problem one that suits it."""
    if method is None:
        return True
    if isinstance(method, Adaptive):
        return False
    return h is None and (rtol is not None or (method != "Adaptive" and problem.h is None))


def choose(
    problem: Problem, span: tuple[float, float], method: Any, h: float | None, rtol: float, atol: float
) -> Choice:
    """Whatever of method and step is not given."""
    rtol, atol = checked_tolerances(rtol, atol)
    given = None if method is None else as_method(method)
    length = abs(span[1] - span[0]) / FREE_STEPS if h is None else h
    if 0 in common_batch(body=problem.body.batch, state=problem.state.batch, force=(problem.force or nothing()).batch):
        return Choice(given or _tried("V2"), None if isinstance(given, Adaptive) else length, "no bodies", 0.0)
    if problem.force is None and (given is None or _drifts_exactly(given)):
        return Choice(given or _tried("V2"), length, "no torque, so all steps are exact", 0.0)
    strength = measured(problem, span)
    task = Task(problem, span, rtol, atol, strength.radian, _structure(problem, span))
    if given is not None:
        return _tolerance(task, "") if isinstance(given, Adaptive) else _given(task, given)
    family, names = _family(problem, strength)
    if h is not None:
        return Choice(_tried(BY_FAMILY[names]), h, f"{family}, so {BY_FAMILY[names]}", np.nan)
    if task.structure.rough.any():
        return _tolerance(task, "the torque is not smooth in time")
    if names == VELOCITY:
        return _tolerance(task, family)
    return _of_family(task, family, names)


def _structure(problem: Problem, span: tuple[float, float]) -> TimeStructure:
    force = problem.force or nothing()
    batch = common_batch(body=problem.body.batch, state=problem.state.batch, force=force.batch)
    return time_structure(force, writable(rows_of(force.params, batch, force.params.shape[-1])), span)


def _of_family(task: Task, family: str, names: tuple[str, ...]) -> Choice:
    """The scheme that needs the fewest torques; ``Adaptive`` if that does not meet what was asked for."""
    piece = task.first(RADIANS * task.radian / task.length)
    best, fewest, step = "", inf, task.radian
    for name in names[::-1]:
        trial = _tried(name)
        torques = trial.scheme.torques_per_step
        found = _step(piece, trial, task.radian, shortest=torques / fewest, patience=SLOW_TRIALS)
        if not best or (found.met and torques / found.x < fewest):
            best, fewest, step = name, torques / found.x, found.x
    method = _tried(best)
    found = _step(task, method, step, patience=SLOW_TRIALS)
    why = f"{family}; of {', '.join(names)} it needs the fewest torques"
    choice = Choice(method, found.x, why, found.error, found.unmet)
    confirmed = not found.met or _is_confirmed(task, method, found)
    if (found.met and confirmed) or found.unmet == ROUND_OFF:
        return choice
    other = _tolerance(task, f"{family}; {best} does not converge as its order says")
    return other if not confirmed or not other.unmet or other.error < CLEARLY_BETTER * found.error else choice


def _given(task: Task, method: Method) -> Choice:
    """The step for a method that the user gave."""
    found = None if task.structure.rough.any() else _step(task, method, task.radian)
    if found is None or (found.met and not _is_confirmed(task, method, found)):
        first = task.radian if found is None else found.x
        found = _step(task, method, first, truth=_finer(_tolerance(task, "").method))
    return Choice(method, found.x, "", found.error, task.unmet(found))


def _drifts_exactly(method: Any) -> bool:
    return isinstance(method, Splitting) and method.flow.record.order is None


def _tried(name: str) -> Splitting:
    """A method that gives no advice: trial runs decide."""
    method = Splitting(None, name)
    method.advises = False
    return method


def measured(problem: Problem, span: tuple[float, float]) -> Strength:
    """The strongest torque, of all bodies, on the free motion in the first radians."""
    body, state, force = problem.body, problem.state, problem.force or nothing()
    batch = common_batch(body=body.batch, state=state.batch, force=force.batch)
    speed = float(np.linalg.norm(body.omega(state.m), axis=-1).max())
    length = min(abs(span[1] - span[0]), RADIANS / speed if speed > 0 else inf)
    t = np.linspace(0.0, np.copysign(length, span[1] - span[0]), SAMPLES).reshape(-1, *(1,) * len(batch))
    m, q = propagate(body, state.m, state.q, t)
    w = body.omega(m)
    f = _sizes(force, span[0] + t, q, w)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(f / (np.linalg.norm(m, axis=-1) * np.linalg.norm(w, axis=-1)), nan=0.0, posinf=inf)
    fastest = max(float(np.linalg.norm(w, axis=-1).max()), float((f.max() / body.moments.min()) ** 0.5))
    return Strength(float(part.max()), 1.0 / fastest if fastest > 0 else length)


def _sizes(force: Force, t: FloatArray, q: FloatArray, w: FloatArray) -> FloatArray:
    """|f| at each time, or only at the first if the torque fails: the run will come to where it does, and tell."""
    try:
        return np.nan_to_num(np.linalg.norm(force.torque(t, q, w), axis=-1), nan=0.0, posinf=0.0)
    except Exception:
        return _sizes(force, t[:1], q[:1], w[:1]) if len(t) > 1 else np.zeros(1)


def _family(problem: Problem, strength: Strength) -> tuple[str, tuple[str, ...]]:
    force = problem.force
    assert force is not None
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


def _step(
    task: Task, method: Method, first: float, truth: Adaptive | None = None, shortest: float = 0.0,
    patience: int = MOST_TRIALS,
) -> Found:  # fmt: skip
    """The step with which ``method`` meets rtol at the end of the span; none below ``shortest`` is tried.

    Errors are those against half the step, or, where h and h/2 may agree by chance, against ``truth``.
    """
    judged = task.judged(method, first) if truth is None else task
    order = task.order_of(method) if truth is None else 1  # of the errors at a jump
    longest = min(judged.length, task.structure.longest.min() / 2)
    shortest = max(shortest, judged.length * method.stages / (SHORTER * MOST_TORQUES))
    known = None if truth is None else _end(judged, truth)

    def error(h: float) -> float:
        return judged.error(_end(judged, method, h), _end(judged, method, h / 2, 2) if truth is None else known)

    def rounding(h: float) -> float:
        return judged.rounding(judged.length / h)

    found = _search(error, min(first, longest), (shortest, longest), order, judged.wanted, rounding, patience)
    return found._replace(error=found.error * task.length / judged.length)


def _is_confirmed(task: Task, method: Method, found: Found) -> bool:
    """Whether ``Adaptive``, whose steps fall on other times, comes to the same; ready-made torques need no such proof.

    Where the tolerance that ``Adaptive`` can be given does not suffice, shorter steps tell: errors must fall as the
    order says.
    """
    if task.is_ready_made:
        return True
    judged = task.judged(method, found.x)
    coarse = Adaptive(max(CONFIRMING * judged.wanted, SMALLEST_RTOL), task.atol)
    ends = [_end(judged, method, found.x), _end(judged, coarse), _end(judged, _finer(coarse))]
    if min(judged.error(ends[0], ends[1]), judged.error(ends[0], ends[2])) <= judged.wanted:
        return True
    if coarse.rtol > SMALLEST_TOLERANCE and judged.error(ends[1], ends[2]) <= judged.wanted:
        return False
    next_error = judged.error(_end(judged, method, found.x / 2, 2), _end(judged, method, found.x / 4, 4))
    rounding = judged.rounding(4 * judged.length / found.x)
    return next_error <= max(found.error * 2.0 ** (-task.order_of(method) / 2), rounding)


def _tolerance(task: Task, why: str) -> Choice:
    """The tolerance of steps with which ``Adaptive`` meets rtol at the end of the span.

    Where a torque jumps, errors do not always fall with the tolerance. So what was found for a torque of the user is
    held against a still finer run, and if that finds fault, found again by errors against it.
    """
    truth: list[End | None] = []

    def method(x: float) -> Adaptive:
        return Adaptive(max(float(f"{x:.2g}"), SMALLEST_TOLERANCE), task.atol)

    def error(x: float) -> float | None:
        coarse, fine = _end(task, method(x)), truth[0] if truth else _end(task, _finer(method(x)))
        return None if coarse is None or fine is None else task.error(coarse, fine)

    def rounding(x: float) -> float:
        return task.rounding(task.length / task.radian)

    bounds = SMALLEST_TOLERANCE, LARGEST_TOLERANCE
    found = _search(error, max(task.rtol, SMALLEST_TOLERANCE), bounds, 1.0, task.wanted, rounding)
    if found.met and not task.is_ready_made:
        truth.append(_end(task, _finer(_finer(method(found.x)))))
        found = _search(error, found.x, bounds, 1.0, task.wanted, rounding)
    return Choice(method(found.x), None, why, found.error, task.unmet(found).replace(TOO_LONG, SMALLEST))


def _finer(method: Adaptive) -> Adaptive:
    """That with which errors of ``method`` are estimated."""
    tolerance = max(method.rtol / FINER_TOLERANCE, SMALLEST_RTOL)
    return Adaptive(tolerance, method.atol, method.first_step, method.max_step, method.max_steps)


class End(NamedTuple):
    m: FloatArray  # batch + (3,)
    q: FloatArray


def _end(task: Task, method: Any, h: float | None = None, least: int = 1) -> End | None:
    """(m, q) of all bodies at the end, with so many steps or more between breaks; None if one did not reach it."""
    run: Run | AdaptiveRun
    if isinstance(method, Adaptive):
        run = AdaptiveRun(task.problem, task.span, method, task.structure.longest)
        m, q = run.to_end(np.array([run.t1]))
    else:
        run = Run(task.problem, task.span, method, h, least)
        _, m, q = run.at_steps(np.array([run.count]), Progress(False, run.count))
    if run.interrupted:
        raise KeyboardInterrupt
    if (run.current.status > 0).any():
        return None
    m, q = run.to_user(m, q)
    return End(m[0], q[0])


def differences(a: End, b: End, floor: float = 0.0) -> tuple[float, float]:
    """Errors of m/|m| and of q, the largest of all bodies; ``floor`` is added to |m|."""
    size = np.linalg.norm(b.m, axis=-1) + floor
    error_m = np.linalg.norm(a.m - b.m, axis=-1) / np.where(size > 0, size, 1.0)
    error_q = np.minimum(np.linalg.norm(a.q - b.q, axis=-1), np.linalg.norm(a.q + b.q, axis=-1))
    return float(error_m.max(initial=0.0)), float(error_q.max(initial=0.0))


class Found(NamedTuple):
    x: float
    error: float
    unmet: str

    @property
    def met(self) -> bool:
        return not self.unmet


def _search(
    error_of: Callable[[float], float | None], x: float, bounds: tuple[float, float], order: float, wanted: float,
    rounding: Callable[[float], float], patience: int = MOST_TRIALS,
) -> Found:  # fmt: skip
    """An x (step or tolerance) whose error is a fifth of what is wanted, or so.

    ``error_of`` returns None where no x can help; ``rounding`` is the error that round-off may have at x; ``patience``
    is the number of trials whose errors may fall by less than half the order.
    """
    before, stalled, slow = None, 0, 0
    lowest = LOWEST * wanted if LOWEST * wanted > ROUNDING else 0.0  # of round-off it cannot be said to be too small
    best = Found(x, inf, TOO_MANY)
    for _ in range(MOST_TRIALS):
        error = error_of(x)
        if error is None:
            return best if best.met else Found(x, inf, NO_END)
        found = Found(x, error, "" if error <= wanted else TOO_MANY)
        if lowest <= error <= HIGHEST * wanted or (error < wanted and x >= bounds[1]):
            return found
        if x <= CLEARLY_SHORTER * best.x and best.error < ASYMPTOTIC:
            slow += error > best.error * (x / best.x) ** (order / 2)
        if error <= 0.5 * best.error:
            stalled = 0
        elif x <= CLEARLY_SHORTER * best.x:
            stalled += 1
            if best.error <= rounding(best.x):
                return best if best.met else best._replace(unmet=ROUND_OFF)
            if stalled >= STALLED and best.error < ASYMPTOTIC:
                break
        best = min(best, found, key=lambda trial: trial.error)
        if slow >= patience and best.error > rounding(best.x):
            return best if best.met else best._replace(unmet=SLOW)
        if error > ASYMPTOTIC:
            factor = 0.5
        else:
            slope = order if before is None else _slope(before, found, order)
            factor = min(8.0, max(0.1, (AIM * wanted / max(error, ROUNDING / 8)) ** (1.0 / slope)))
        before = found
        x = min(bounds[1], x * factor)
        if x < bounds[0]:
            best = best if best.met else best._replace(unmet=TOO_LONG)
            break
    return best if best.met or stalled < STALLED else best._replace(unmet=NO_NEARER)


def _slope(a: Found, b: Found, order: float) -> float:
    """How steeply the error falls, as seen; within reason."""
    if not (a.error < ASYMPTOTIC and a.x != b.x and b.error > 0):
        return order
    return min(3.0 * order, max(0.5 * order, log(a.error / b.error) / log(a.x / b.x)))


def explain(result: Trajectory, choice: Choice) -> None:
    """Say in ``message`` what was chosen and why; warn if the error that was asked for cannot be promised."""
    step = f", h = {result.h:.4g}" if choice.h is not None else ""
    told = f"chosen: {choice.method!r}{step}" + (f" ({choice.why})" if choice.why else "")
    if np.isfinite(choice.error):
        told += f"; estimated error {choice.error:.1e}"
    result.message = "; ".join(part for part in (result.message, told + choice.unmet) if part)
    if choice.unmet:
        warnings.warn(result.message, RunWarning, stacklevel=3)


def closing_check(result: Trajectory) -> tuple[float, float]:
    """(error of m/|m|, error of q) at the end, the largest of all bodies, against a run of half the step."""
    problem, method, span = result.problem, result.method, (float(result.t[0]), float(result.t[-1]))
    task = Task(problem, span, ROUNDING, 0.0, inf, _structure(problem, span))
    finer = _end(task, _finer(method) if isinstance(method, Adaptive) else method, abs(result.h) / 2, least=2)
    return (inf, inf) if finer is None else differences(End(result.m[-1], result.q[-1]), finer)
