"""A second look at the result of a search: whether the torque has features that its runs have passed over.

Two runs of one method agree if both pass over the same feature of the torque. Steps of ``Taylor`` are verified, and
torques that are polynomials of the attitude and of the angular velocity have no features to pass over. With all others,
the motion is computed once more: by ``Taylor``, whose steps are verified, or if the torque has no graph by
``Adaptive``, with the torque evaluated between the stages of each step. In a long time span, that is done in parts.

Systems are compared with ``Adaptive``: few bodies in the whole time span, if their states can be predicted, and others
in stretches of a radian, one after the other, as many as take a small part of the time of the trial runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil, inf, isinf
from typing import NamedTuple, cast

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, lengths
from polhode.core.state import State
from polhode.integration import rules
from polhode.integration.own_steps_run import OwnStepsRun, OwnStepsSolution, Steps
from polhode.integration.problem import Problem
from polhode.integration.rows import EndState, Integrable, ProblemRows, Rows
from polhode.integration.running import new_run
from polhode.integration.stretches import StepSize
from polhode.integration.trials import Task
from polhode.kernels.graphs.watches import watches
from polhode.methods.adaptive import Adaptive
from polhode.methods.method import Method
from polhode.methods.taylor import Taylor

WHOLE = 400.0  # radians of a time span that is looked at as a whole
PARTS, RADIANS = 4, 100.0  # number of parts of a longer one, and the length of each
AIM = 0.1  # part of the wanted error that the second method aims at
GROWTH = 3.0  # times its share of the wanted error that a part may have
INSIDE = 15  # places within each step, or within pieces of it if there would be fewer than `Rows.places`
FEWER = 7  # places that show as much as the stages of a step
AT_ONCE = 2**14  # places whose torques are computed together
FEW_BODIES = 8  # of a system that is compared in the whole time span
SHARE = 0.15  # part of the evaluations of a call that stretches of other systems may take
MOST_STRETCHES = 4
OF_STRETCH = 160  # evaluations of ``Adaptive`` in a stretch, and between its stages


def may_hide(problem: Integrable) -> bool:
    """Return whether torques may change suddenly: those that are functions of the user, other than polynomials."""
    if not isinstance(problem.rows, ProblemRows):
        return not problem.interaction.is_ready_made  # type: ignore[attr-defined]
    force = problem.rows.force
    if force.is_ready_made:
        return False
    if not force.is_traced:
        return True
    trace = force.traced()
    return bool(watches(trace.graph, trace.torque))


Span = tuple[float, float]


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
    is_body = isinstance(task.problem.rows, ProblemRows)
    spans = _parts(task) if is_body else _parts_of_system(task, method, h)
    if not spans:
        return Look(0.0, inf, "")
    share = 1.0 if len(spans) == 1 else min(1.0, GROWTH * RADIANS * task.radian / task.length)
    allowed = task.wanted * share + task.rounding(task.length / task.radian)
    other = _other(task, method)
    places = task.problem.rows.places if is_body or spans == [task.span] else 0
    error, step = 0.0, inf
    states = _states(task, spans, method, h) if is_body else _successive(task, spans, method, h)
    for part, end, expected in states:
        found = _compared(part, other, end, places)
        if isinstance(other, Taylor) and isinf(found.error):  # the expression of the torque has no series there
            found = _compared(part, _with_small_tolerance(Adaptive(), task), end, places)
        error = max(error, found.error / max(allowed, expected))
        step = min(step, found.step)
    compared = ("the torque" if is_body else "the forces") + " between its stages" if other is method else repr(other)
    return Look(error, step, compared + _where(task, spans))


def _where(task: Task, spans: list[Span]) -> str:
    """Return what parts of the time span were compared, for messages; nothing if it was the whole."""
    if isinstance(task.problem.rows, ProblemRows):
        return "" if len(spans) == 1 else f" in {PARTS} parts of {RADIANS:g} radians"
    return "" if spans == [task.span] else f" until t = {spans[-1][1]:.5g}"


def _parts(task: Task) -> list[Span]:
    """Return the parts of the time span that are looked at, in their order."""
    t0, t1 = task.span
    if task.length <= WHOLE * task.radian:
        return [task.span]
    starts = np.linspace(t0, t1 - np.copysign(RADIANS * task.radian, t1 - t0), PARTS)
    return [(t, t + np.copysign(RADIANS * task.radian, t1 - t0)) for t in starts[:-1].tolist()] + [
        (float(starts[-1]), t1)
    ]


def _parts_of_system(task: Task, method: Method, h: StepSize | None) -> list[Span]:
    """Return the stretches of the time span of a system that are looked at, one after the other."""
    count = task.problem.rows.size
    if count <= FEW_BODIES and task.compares_states:
        return [task.span]
    if h is None:
        return []
    t0, t1 = task.span
    steps = ceil(min(task.radian, task.length) / float(h))
    evaluations = 2.0 * task.length / float(h) * method.stages  # of the trial runs, and of the result
    number = min(MOST_STRETCHES, int(SHARE * evaluations / (3 * steps * method.stages + OF_STRETCH)))
    ends = t0 + np.copysign(steps * float(h), t1 - t0) * np.arange(number + 1)
    return [(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True) if abs(b - t0) <= task.length]


def _other(task: Task, method: Method) -> Method:
    """Return the method that looks within its steps."""
    if isinstance(task.problem.rows, ProblemRows) and task.problem.rows.is_traced:
        return _with_small_tolerance(Taylor(), task)
    return method if isinstance(method, Adaptive) else _with_small_tolerance(Adaptive(), task)


def _with_small_tolerance(family: Method, task: Task) -> Method:
    """Return a method whose error is small compared with the wanted one."""
    tolerance = float(f"{min(AIM * task.error_per_length, rules.LARGEST_TOLERANCE):.1g}")
    return family.with_tolerance(max(tolerance, family.smallest_rtol), task.atol)


def _states(
    task: Task, spans: list[Span], method: Method, h: StepSize | None
) -> Iterator[tuple[Task, EndState, float]]:
    """Return each part, from a state of the result, and the state of the result where it ends."""
    run = new_run(task.problem, task.span, method, h, longest=task.structure.longest)
    times = np.array(spans).ravel()
    states, _ = run.compute(times, 1, False, None, False)
    if run.interrupted:
        raise KeyboardInterrupt
    m, q = run.rows.to_user(states.m, states.q)
    problem = cast(Problem, task.problem)
    for k, span in enumerate(spans):
        state = State(m[2 * k], q[2 * k])
        part = replace(task, problem=problem.replaced(state=state, t_span=span), span=span)
        yield part, (m[2 * k + 1], q[2 * k + 1]), 0.0


def _successive(
    task: Task, spans: list[Span], method: Method, h: StepSize | None
) -> Iterator[tuple[Task, EndState | None, float]]:
    """Return successive stretches of a system like `_states`, and the error that is expected in each.

    If errors of states are not those that were asked for, half the step shows what they are.
    """
    problem = task.problem
    for span in spans:
        part = replace(task, problem=problem.replaced(t_span=span), span=span, output=None)
        if isinstance(method, Adaptive):  # compared with itself, and in the whole time span
            yield part, None, 0.0
            return
        end = _end_of(part, method, h)
        expected = 0.0
        if not task.compares_states:
            assert h is not None
            finer, half = method.finer(float(h))
            expected = GROWTH * part.error(end, _end_of(part, finer, half))
        yield part, end, expected
        if end is None:
            return
        problem = problem.replaced(state=State(**dict(zip(problem.rows.names, end, strict=True))))


def _end_of(task: Task, method: Method, h: StepSize | None) -> EndState | None:
    """Return the state at the end, or None if it is not reached."""
    return Task.trial(task, method, 0.0, h).end


def _compared(task: Task, other: Method, end: EndState | None, places: int) -> Look:
    """Return the difference of another run to a state at the end, or by how much it does not see the torque.

    Without a state, the other run is that of the result. The torque is evaluated at so many `places`, at least.
    """
    run = new_run(task.problem, task.span, other, longest=task.structure.longest)
    assert isinstance(run, OwnStepsRun)
    _, sol = run.compute(None, 1, True, None, False)
    if run.interrupted:
        raise KeyboardInterrupt
    if run.any_stopped:
        return Look(inf, inf, "")
    last = tuple(array[0] for array in run.rows.to_user(run.current.m[None], run.current.q[None]))
    difference = 0.0 if end is None else task.error(end, last)
    if other.verifies_steps:
        return Look(difference, inf, "")
    assert isinstance(sol, OwnStepsSolution)
    unseen, step = _unseen(run.rows, sol.steps, places)
    return Look(max(difference, unseen), step, "")


def _unseen(rows: Rows, steps: Steps, least: int) -> tuple[float, float]:
    """Return the impulse of the torques that only more places in each step show, and the length of the main step.

    The impulse is relative to the largest momentum of its kind, and that of the body with the largest one.
    """
    places, weights = _rules(max(1, ceil(least / (INSIDE * len(steps.t)))))
    sizes = np.maximum.reduceat(rows.sizes(steps.m), steps.first[:-1])
    sizes[~(sizes > 0)] = 1.0
    total = np.zeros_like(sizes)
    largest, main = -1.0, inf
    first = np.flatnonzero(np.diff(steps.row) == 0)
    for some in np.array_split(first, len(first) * len(places) // AT_ONCE + 1):
        length, row = np.diff(steps.t)[some], steps.row[some]
        f = rows.torques(*_states_within(rows, steps, some, places), np.repeat(row, len(places)))
        f = f.reshape(len(some), len(places), -1, 3)
        impulses = lengths(np.einsum("p,spbc->sbc", weights, f)) * np.abs(length)[:, None] / sizes[row]
        np.add.at(total, row, impulses)
        of_step = impulses.max(axis=-1)
        worst = int(np.argmax(of_step))
        if of_step[worst] > largest:
            largest, main = float(of_step[worst]), float(abs(length[worst]))
    return float(total.max()), main


def _states_within(
    rows: Rows, steps: Steps, some: IntArray, places: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (t, m, q) at places of steps with the indices `some`, near enough to see what the torque is there.

    Components are cubic polynomials; their slopes at the ends of a step are those of the free motion.
    """
    ends = np.concatenate((some, some + 1))
    m, q = steps.m[ends], steps.q[ends]
    slopes = rows.free_slopes(m, q, steps.row[ends])
    n = len(some)
    length = steps.t[some + 1] - steps.t[some]
    parts = []
    for x, slope in zip((m, q), slopes, strict=True):
        own = (1,) * (x.ndim - 1)
        h, s = length.reshape(-1, 1, *own), places.reshape(-1, *own)
        parts.append(
            (x[:n, None] * (1.0 + 2.0 * s) + h * s * slope[:n, None]) * (1.0 - s) ** 2
            + (x[n:, None] * (3.0 - 2.0 * s) - h * (1.0 - s) * slope[n:, None]) * s**2
        )
    within = (steps.t[some, None] + length[:, None] * places).ravel()
    return within, *(part.reshape(-1, *part.shape[2:]) for part in parts)  # type: ignore[return-value]


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
