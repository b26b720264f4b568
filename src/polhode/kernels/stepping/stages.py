"""Loop over the stages of splitting schemes, for a body in compiled code and for systems of bodies.

A scheme is a table of stages, (DRIFT, a, .), (KICK, b, time) or (GRADIENT, c, time), in units of the step. Adjacent
drifts, and adjacent kicks, are merged: also those at the end of a step and the beginning of the next, unless the state
in between is saved. Stages that are not yet done are ``pending``, which is part of the state, so that an interruption
does not change the result.

The loop does not know what moves: it is made from functions of the ``subject``, which is passed on to them.
"""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import in_python, inline
from polhode.kernels.stepping.header import FINE

DRIFT, KICK, GRADIENT = 0.0, 1.0, 2.0
SAVE = 3.0  # not a stage of a scheme, but the last row of its table: all pending stages have to be done
PROCESSOR, STEPS, ALL_DONE, INVERSE, SAVED = range(5)  # parts of the stages that lead to the next saved state


class Pending(NamedTuple):
    """Stages that are not yet done: coefficients of h, h and h^3, and the time of the kick.

    That time is in steps, from the beginning of the window on.
    """

    drift: float
    kick: float
    gradient: float
    time: float


class Progress(NamedTuple):
    """Number of steps made, and whether the processor was applied."""

    steps: int
    begun: bool


class Window(NamedTuple):
    """Times of steps: step number ``first`` begins at t0, and has the length h."""

    first: int
    t0: float
    h: float


@inline
def time_in(window, steps):
    """Return a time that is given in steps from the beginning of the window on."""
    return window.t0 + steps * window.h


class Part(NamedTuple):
    """Stages first..end of a scheme, ``repetitions`` times."""

    first: int
    end: int
    repetitions: int


@inline
def with_stage(p, kind, x, t):
    """Return pending stages and one more, of coefficient x, at the time t, in steps."""
    if kind == DRIFT:
        return Pending(p.drift + x, p.kick, p.gradient, p.time)
    if kind == KICK:
        return Pending(p.drift, p.kick + x, p.gradient, t)
    return Pending(p.drift, p.kick, p.gradient + x, t)


@inline
def part_of(scheme, part, begun, steps):
    """Return a part of the stages that lead to the next saved state, after so many steps.

    A state that is saved before the first step needs no processor.
    """
    count = scheme.count
    after_step = count - scheme.after
    processed = begun and scheme.after > 0
    if part == PROCESSOR:
        return Part(0, scheme.before, 0 if begun or steps == 0 else 1)
    if part == STEPS:
        return Part(scheme.before, after_step, steps)
    if part == INVERSE:
        return Part(after_step, count, 1 if processed else 0)
    return Part(count, count + 1, 1 if part == ALL_DONE or processed else 0)


def stage_loop(kick, drift, with_pending, write, copied, restored, compiled=True):
    """Return the function ``run(subject, scheme, window, wanted, s, progress)``, from functions of what moves.

    It advances a state s to the last of the wanted steps, or to step ``limit``, and returns s and the progress. The
    functions kick and drift are inlined once, because they are large: so every stage is done at the same place.

    Parameters
    ----------
    kick, drift : function
        ``kick(subject, window, s)`` and ``drift(subject, window, s)`` return the state after its pending kick or drift.
    with_pending : function
        ``with_pending(s, pending)`` returns the state s with other pending stages.
    write : function
        ``write(subject, j, s)`` saves the state as number j.
    copied, restored : function
        ``copied(subject, s)`` returns a copy that does not change, and ``restored(subject, copy, s)`` a state that is
        the copy with the cost and the status of s.
    compiled : bool, optional
        Whether the loop is compiled, and inlined into its caller, or a Python function.
    """
    decorate = inline if compiled else lambda function: function
    part_for, added = (part_of, with_stage) if compiled else (in_python(part_of), in_python(with_stage))

    @decorate
    def do_part(subject, scheme, window, part, n, s):
        """Return the state after the stages of a part, which begins with step n, and the number of the next step."""
        for step in range(n, n + part.repetitions):
            for k in range(part.first, part.end):
                kind = float(scheme.stages[k, 0])
                if kind in (DRIFT, SAVE):
                    s = kick(subject, window, s)
                if kind != DRIFT:
                    s = drift(subject, window, s)
                if s.status != FINE:
                    return s, step
                if kind != SAVE:
                    t = (step - window.first) + float(scheme.stages[k, 2])
                    s = with_pending(s, added(s.pending, kind, float(scheme.stages[k, 1]), t))
        return s, n + part.repetitions

    @decorate
    def run(subject, scheme, window, wanted, s, progress):
        """Advance the state s; see ``stage_loop``."""
        n, begun = progress.steps, progress.begun
        unprocessed = copied(subject, s) if scheme.after > 0 else s
        for j in range(len(wanted.steps)):
            target = max(n, min(int(wanted.steps[j]), wanted.limit))
            for number in range(SAVED + 1):
                part = part_for(scheme, number, begun, target - n)
                s, next_step = do_part(subject, scheme, window, part, n, s)
                if number == STEPS:
                    begun = begun or next_step > n
                    n = next_step
                if s.status != FINE or (number == STEPS and n < wanted.steps[j]):
                    return s, Progress(n, begun)
                if number == ALL_DONE and scheme.after > 0:
                    unprocessed = copied(subject, s)  # the inverse of the processor works on a copy
            write(subject, j, s)
            if scheme.after > 0:
                s = restored(subject, unprocessed, s)
        return s, Progress(n, begun)

    return run
