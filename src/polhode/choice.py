"""The choice of a method and a step: by the size of the torque, and by trial runs with h and h/2.

What is asked for is an error of m/|m| and of q at the end. The torque is measured against the free motion: its part of
the momentum per radian of rotation says whether it is weak (ABA schemes, made for that) or strong (Runge-Kutta-Nyström
schemes). On a first piece of the time span each scheme of the family shows how long its steps may be; the one that
needs the fewest torques is taken, and its step is corrected on the whole span.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from polhode.adaptive_run import AdaptiveRun
from polhode.checks import FloatArray, common_batch
from polhode.errors import RunWarning
from polhode.force import Force
from polhode.forces.nothing import nothing
from polhode.methods import as_method
from polhode.methods.adaptive import SMALLEST_RTOL, Adaptive
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting
from polhode.problem import Problem
from polhode.progress import Progress
from polhode.propagation import propagate
from polhode.running import Run
from polhode.trajectory import Trajectory

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
ASYMPTOTIC = 0.1  # an error that is larger says nothing about that of a shorter step
MOST_TRIALS = 12
MOST_TORQUES = 1_000_000  # of a first trial run; longer runs are judged by their first part
SHORTER = 4  # by how much its steps may then still become shorter
SAMPLES = 64
FREE_STEPS = 100  # of a body without torque: as many states as a plot needs


class Strength(NamedTuple):
    """What the torque does to the free motion: its part of the momentum per radian, and the time of a radian."""

    torque: float
    radian: float


@dataclass(frozen=True)
class Choice:
    """A method, its step (None if it chooses its own), why, the error that was estimated, and whether it is met."""

    method: Any
    h: float | None
    why: str
    error: float
    met: bool


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
    given = None if method is None else as_method(method)
    length = abs(span[1] - span[0]) / FREE_STEPS if h is None else h
    if 0 in common_batch(body=problem.body.batch, state=problem.state.batch, force=(problem.force or nothing()).batch):
        return Choice(given or _tried("V2"), None if isinstance(given, Adaptive) else length, "no bodies", 0.0, True)
    if problem.force is None and (given is None or _drifts_exactly(given)):
        return Choice(given or _tried("V2"), length, "no torque, so all steps are exact", 0.0, True)
    strength = measured(problem, span)
    if given is not None:
        return _step(problem, span, given, rtol, atol, strength.radian, "")
    family, names = _family(problem, strength)
    if h is not None:
        return Choice(_tried(BY_FAMILY[names]), h, f"{family}, so {BY_FAMILY[names]}", np.nan, True)
    if names == VELOCITY:
        return _tolerance(problem, span, rtol, atol, family)
    first = _first_piece(span, strength.radian)
    part = abs(first[1] - first[0]) / abs(span[1] - span[0])
    best, fewest = "", inf
    for name in names[::-1]:
        trial = _tried(name)
        torques = trial.scheme.torques_per_step
        found = _step(problem, first, trial, rtol * part, atol, strength.radian, "", shortest=torques / fewest)
        length = found.h or strength.radian
        if not best or (found.met and torques / length < fewest):
            best, fewest, step = name, torques / length, length
    why = f"{family}; of {', '.join(names)} it needs the fewest torques"
    return _step(problem, span, _tried(best), rtol, atol, step, why)


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


def _first_piece(span: tuple[float, float], radian: float) -> tuple[float, float]:
    length = min(abs(span[1] - span[0]), RADIANS * radian)
    return span[0], span[0] + np.copysign(length, span[1] - span[0])


def _step(
    problem: Problem, span: tuple[float, float], method: Any, rtol: float, atol: float, first: float, why: str,
    shortest: float = 0.0,
) -> Choice:  # fmt: skip
    """The step with which ``method`` meets rtol at the end of the span; none shorter than ``shortest`` is tried."""
    if isinstance(method, Adaptive):
        return _tolerance(problem, span, rtol, atol, why)
    part, judged = _judged(span, method, first)
    longest = abs(judged[1] - judged[0])
    shortest = max(shortest, longest * method.stages / (SHORTER * MOST_TORQUES))
    found = _search(
        lambda h, least: _end(problem, judged, method, h, least),
        min(first, longest), (shortest, longest), 2.0, method.order, rtol * part, atol,
    )  # fmt: skip
    return Choice(method, found.x, why, found.error / part, found.met)


def _judged(span: tuple[float, float], method: Method, h: float) -> tuple[float, tuple[float, float]]:
    """The part of the span that trial runs take: all, unless that is too long."""
    torques = abs(span[1] - span[0]) / h * method.stages
    part = min(1.0, MOST_TORQUES / torques)
    return part, (span[0], span[0] + part * (span[1] - span[0]))


def _tolerance(problem: Problem, span: tuple[float, float], rtol: float, atol: float, why: str) -> Choice:
    """The tolerance of steps with which ``Adaptive`` meets rtol at the end of the span."""
    found = _search(
        lambda tolerance, _: _end(problem, span, Adaptive(max(tolerance, SMALLEST_RTOL), atol)),
        max(rtol, SMALLEST_RTOL), (SMALLEST_RTOL, LARGEST_TOLERANCE), FINER_TOLERANCE, 1.0, rtol, atol,
    )  # fmt: skip
    return Choice(Adaptive(max(float(f"{found.x:.2g}"), SMALLEST_RTOL), atol), None, why, found.error, found.met)


class End(NamedTuple):
    m: FloatArray  # batch + (3,)
    q: FloatArray


def _end(
    problem: Problem, span: tuple[float, float], method: Any, h: float | None = None, least: int = 1
) -> End | None:
    """(m, q) of all bodies at the end, with so many steps or more between breaks; None if one did not reach it."""
    run: Run | AdaptiveRun
    if isinstance(method, Adaptive):
        run = AdaptiveRun(problem, span, method)
        m, q = run.to_end(np.array([run.t1]))
    else:
        run = Run(problem, span, method, h, least)
        _, m, q = run.at_steps(np.array([run.count]), Progress(False, run.times, run.count))
    if run.interrupted:
        raise KeyboardInterrupt
    if (run.course.status > 0).any():
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
    met: bool


def _search(
    end: Callable[[float, int], End | None], x: float, bounds: tuple[float, float], finer: float, order: float,
    rtol: float, atol: float,
) -> Found:  # fmt: skip
    """An x (step or tolerance) whose result differs from that of x/finer by a tenth of rtol, or so."""
    wanted, before = max(rtol, ROUNDING), None
    lowest = LOWEST * wanted if LOWEST * wanted > ROUNDING else 0.0  # of round-off it cannot be said to be too small
    best = Found(x, inf, False)
    for _ in range(MOST_TRIALS):
        coarse, fine = end(x, 1), end(x / finer, 2)  # two steps also where a break leaves room for one only
        error = inf if coarse is None or fine is None else max(differences(coarse, fine, atol / wanted))
        found = Found(x, error, error <= wanted)
        if found.x < best.x and error > 0.5 * best.error and best.error < ASYMPTOTIC:
            break  # round-off, which shorter steps do not make smaller
        best = min(best, found, key=lambda trial: trial.error)
        if lowest <= error <= HIGHEST * wanted or (error < wanted and x >= bounds[1]):
            return found
        if error > ASYMPTOTIC:
            factor = 0.5
        else:
            slope = order if before is None else _slope(before, found, order)
            factor = min(8.0, max(0.1, (AIM * wanted / max(error, ROUNDING / 8)) ** (1.0 / slope)))
        before = found
        x = min(bounds[1], x * factor)
        if x < bounds[0]:
            break
    return best


def _slope(a: Found, b: Found, order: float) -> float:
    """How steeply the error falls, as seen; within reason."""
    if not (a.error < ASYMPTOTIC and a.x != b.x and b.error > 0):
        return order
    return min(3.0 * order, max(0.5 * order, log(a.error / b.error) / log(a.x / b.x)))


def explain(result: Trajectory, choice: Choice) -> None:
    """Say in ``message`` what was chosen and why; warn if the error that was asked for cannot be reached."""
    step = f", h = {result.h:.4g}" if choice.h is not None else ""
    told = f"chosen: {choice.method!r}{step}" + (f" ({choice.why})" if choice.why else "")
    if np.isfinite(choice.error):
        told += f"; estimated error {choice.error:.1e}"
    result.message = "; ".join(part for part in (result.message, told) if part)
    if not choice.met:
        result.message += ", which is more than was asked for: shorter steps do not come nearer"
        warnings.warn(result.message, RunWarning, stacklevel=3)


def closing_check(result: Trajectory) -> tuple[float, float]:
    """(error of m/|m|, error of q) at the end, the largest of all bodies, against a run of half the step."""
    method, span = result.method, (float(result.t[0]), float(result.t[-1]))
    if isinstance(method, Adaptive):
        method = Adaptive(max(method.rtol / FINER_TOLERANCE, SMALLEST_RTOL), method.atol, max_step=method.max_step)
    finer = _end(result.problem, span, method, abs(result.h) / 2, least=2)
    return (inf, inf) if finer is None else differences(End(result.m[-1], result.q[-1]), finer)
