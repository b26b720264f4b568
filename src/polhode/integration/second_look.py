"""A second look at the result of a search: whether the torque has features that its runs have passed over.

Two runs of one method agree if both pass over the same feature of the torque. Steps of ``Taylor`` are verified, and
torques that are polynomials of the attitude and of the angular velocity have no features to pass over. With all others,
the motion is computed once more: by ``Taylor``, whose steps are verified, or if the torque has no graph by
``Adaptive``, with the torque evaluated between the stages of each step. In a long time span, that is done in parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil, inf, isinf
from typing import NamedTuple, cast

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, lengths
from polhode.core.rotation import multiply, normalize
from polhode.core.state import State
from polhode.integration import rules
from polhode.integration.own_steps_run import OwnStepsRun, OwnStepsSolution, Steps
from polhode.integration.problem import Problem
from polhode.integration.rows import EndState, Integrable, ProblemRows
from polhode.integration.running import new_run
from polhode.integration.stretches import StepSize
from polhode.integration.time_structure import CELLS
from polhode.integration.trials import Task
from polhode.kernels.graphs.watches import watches
from polhode.methods.adaptive import Adaptive
from polhode.methods.method import Method
from polhode.methods.taylor import Taylor

WHOLE = 400.0  # radians of a time span that is looked at as a whole
PARTS, RADIANS = 4, 100.0  # number of parts of a longer one, and the length of each
AIM = 0.1  # part of the wanted error that the second method aims at
GROWTH = 3.0  # times its share of the wanted error that a part may have
INSIDE = 15  # places within each step, or within pieces of it such that there are at least CELLS
FEWER = 7  # places that show as much as the stages of a step
AT_ONCE = 2**14  # places whose torques are computed together


def may_hide(problem: Integrable) -> bool:
    """Return whether torques may change suddenly: those that are functions of the user, other than polynomials."""
    force = getattr(problem, "force", None)
    if force is None or force.is_ready_made:
        return False
    if not force.is_traced:
        return True
    trace = force.traced()
    return bool(watches(trace.graph, trace.torque))


class Look(NamedTuple):
    """What a second look has found."""

    error: float  # of the result, relative to the largest that is allowed
    step: float  # length of the step in which the torque changes most between the stages; infinite if none was found
    what: str  # what was compared, for messages


def second_look(task: Task, method: Method, h: StepSize | None) -> Look:
    """Compare the result of a search with a method that looks at the torque within its steps.

    Parameters
    ----------
    task : Task
        Problem, time span and wanted error.
    method : Method
        Method of the result.
    h : float or ndarray, optional
        Its step size.

    Returns
    -------
    Look
        The largest error in any part of the time span that was compared.
    """
    spans = _parts(task)
    share = 1.0 if len(spans) == 1 else min(1.0, GROWTH * RADIANS * task.radian / task.length)
    allowed = task.wanted * share + task.rounding(task.length / task.radian)
    other = _other(task, method)
    error, step = 0.0, inf
    problem = cast(Problem, task.problem)
    for span, state, end in _states(task, spans, method, h):
        part = replace(task, problem=problem.replaced(state=state, t_span=span), span=span)
        found = _compared(part, other, end)
        if isinstance(other, Taylor) and isinf(found.error):  # the expression of the torque has no series there
            found = _compared(part, _with_small_tolerance(Adaptive(), task), end)
        error = max(error, found.error / allowed)
        step = min(step, found.step)
    where = "" if len(spans) == 1 else f" in {PARTS} parts of {RADIANS:g} radians"
    return Look(error, step, ("the torque between its stages" if other is method else repr(other)) + where)


def _parts(task: Task) -> list[tuple[float, float]]:
    """Return the parts of the time span that are looked at, in their order."""
    t0, t1 = task.span
    if task.length <= WHOLE * task.radian:
        return [task.span]
    starts = np.linspace(t0, t1 - np.copysign(RADIANS * task.radian, t1 - t0), PARTS)
    return [(t, t + np.copysign(RADIANS * task.radian, t1 - t0)) for t in starts[:-1].tolist()] + [
        (float(starts[-1]), t1)
    ]


def _other(task: Task, method: Method) -> Method:
    """Return the method that looks within its steps."""
    if task.problem.rows.is_traced:
        return _with_small_tolerance(Taylor(), task)
    return method if isinstance(method, Adaptive) else _with_small_tolerance(Adaptive(), task)


def _with_small_tolerance(family: Method, task: Task) -> Method:
    """Return a method whose error is small compared with the wanted one."""
    tolerance = float(f"{min(AIM * task.error_per_length, rules.LARGEST_TOLERANCE):.1g}")
    return family.with_tolerance(max(tolerance, family.smallest_rtol), task.atol)


def _states(
    task: Task, spans: list[tuple[float, float]], method: Method, h: StepSize | None
) -> Iterator[tuple[tuple[float, float], State, EndState]]:
    """Return each part with the states of the result where it begins and where it ends."""
    run = new_run(task.problem, task.span, method, h, longest=task.structure.longest)
    times = np.array(spans).ravel()
    states, _ = run.compute(times, 1, False, None, False)
    if run.interrupted:
        raise KeyboardInterrupt
    m, q = run.rows.to_user(states.m, states.q)
    for k, span in enumerate(spans):
        yield span, State(m[2 * k], q[2 * k]), (m[2 * k + 1], q[2 * k + 1])


def _compared(task: Task, other: Method, end: EndState) -> Look:
    """Return the difference of another run to a state at the end, or by how much it does not see the torque."""
    run = new_run(task.problem, task.span, other, longest=task.structure.longest)
    assert isinstance(run, OwnStepsRun)
    _, sol = run.compute(None, 1, True, None, False)
    if run.interrupted:
        raise KeyboardInterrupt
    if run.any_stopped:
        return Look(inf, inf, "")
    last = tuple(array[0] for array in run.rows.to_user(run.current.m[None], run.current.q[None]))
    difference = task.error(end, last)
    if other.verifies_steps:
        return Look(difference, inf, "")
    assert isinstance(sol, OwnStepsSolution)
    unseen, step = _unseen(cast(ProblemRows, run.rows), sol.steps)
    return Look(max(difference, unseen), step, "")


def _unseen(rows: ProblemRows, steps: Steps) -> tuple[float, float]:
    """Return the impulse of the torque that only more places in each step show, and the length of the main step.

    The impulse is relative to the largest momentum, and that of the body with the largest one.
    """
    places, weights = _rules(max(1, ceil(CELLS * len(rows.m) / (INSIDE * len(steps.t)))))
    sizes = np.maximum.reduceat(lengths(steps.m), steps.first[:-1])
    total = np.zeros(len(sizes))
    largest, main = -1.0, inf
    first = np.flatnonzero(np.diff(steps.row) == 0)
    for some in np.array_split(first, len(first) * len(places) // AT_ONCE + 1):
        length, row = np.diff(steps.t)[some], steps.row[some]
        f = rows.torques(*_states_within(rows, steps, some, places), np.repeat(row, len(places)))
        impulses = lengths(weights @ f.reshape(len(some), len(places), 3)) * np.abs(length)
        impulses /= np.where(sizes > 0, sizes, 1.0)[row]
        np.add.at(total, row, impulses)
        worst = int(np.argmax(impulses))
        if impulses[worst] > largest:
            largest, main = float(impulses[worst]), float(abs(length[worst]))
    return float(total.max()), main


def _states_within(
    rows: ProblemRows, steps: Steps, some: IntArray, places: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (t, m, q) at places of steps with the indices `some`, near enough to see what the torque is there.

    Components are cubic polynomials; their slopes at the ends of a step are those of the free motion.
    """
    ends = np.concatenate((some, some + 1))
    t, m, q = steps.t[ends], steps.m[ends], steps.q[ends]
    w = m / rows.bodies.inertia[steps.row[ends] if len(rows.bodies.inertia) > 1 else 0]
    slopes = np.cross(m, w), 0.5 * multiply(q, np.insert(w, 0, 0.0, axis=-1))
    n = len(some)
    h, s = (t[n:] - t[:n])[:, None, None], places[:, None]
    parts = [
        (x[:n, None] * (1.0 + 2.0 * s) + h * s * slope[:n, None]) * (1.0 - s) ** 2
        + (x[n:, None] * (3.0 - 2.0 * s) - h * (1.0 - s) * slope[n:, None]) * s**2
        for x, slope in zip((m, q), slopes, strict=True)
    ]
    within = (t[:n, None] + (t[n:] - t[:n])[:, None] * places).ravel()
    return within, parts[0].reshape(-1, 3), normalize(parts[1].reshape(-1, 4))


@cache
def _rules(pieces: int) -> tuple[FloatArray, FloatArray]:
    """Return places in a step (0 to 1), and weights of the difference of two quadrature rules.

    One has INSIDE places in each of equal pieces of the step. The other has FEWER places in the whole step, about as
    many as the stages of ``Adaptive``. Both are rules of Fejér.
    """
    (fine, weights), (few, few_weights) = _fejer(INSIDE), _fejer(FEWER)
    places = (np.arange(pieces)[:, None] + fine).ravel() / pieces
    return np.append(places, few), np.append(np.tile(weights, pieces) / pieces, -few_weights)


def _fejer(count: int) -> tuple[FloatArray, FloatArray]:
    """Return the places (0 to 1) and the weights of a rule that integrates polynomials of degree count - 1."""
    angles = np.arange(1, count + 1) * np.pi / (count + 1)
    polynomials = np.polynomial.legendre.legvander(np.cos(angles), count - 1)
    return (1.0 - np.cos(angles)) / 2.0, np.linalg.solve(polynomials.T, np.eye(count)[0])
