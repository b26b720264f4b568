"""Loop over the stages of splitting schemes, for a body in compiled code and for systems of bodies.

A scheme is a table of stages, (DRIFT, a, .), (KICK, b, time) or (GRADIENT, c, time), in units of the step. Adjacent
drifts, and adjacent kicks, are merged: also those at the end of a step and the beginning of the next, unless the state
in between is saved. Stages that are not yet done are ``pending``, which is part of the state, so that an interruption
does not change the result.

The loop does not know what moves: its first arguments are functions of the ``subject``, which is passed on to them.
"""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline
from polhode.kernels.stepping.header import FINE

DRIFT, KICK, GRADIENT = 0.0, 1.0, 2.0
SAVE = 3.0  # not a stage: all pending stages have to be done


@inline
def run_stages(
    kick, drift, with_stage, write, copied, restored, forces, flow, subject, table, window, saves, limit, s, n, begun
):
    """Advance a state to the last of the steps ``saves``, or to step ``limit``.

    Parameters
    ----------
    kick, drift : function
        ``kick(forces, subject, h, s)`` and ``drift(flow, subject, h, s)`` return the state after its pending kick or
        drift.
    with_stage : function
        ``with_stage(kind, x, t, s)`` returns the state with one more pending stage, of coefficient x at the time t.
    write : function
        ``write(subject, j, s)`` saves the state as number j.
    copied, restored : function
        ``copied(subject, s)`` returns a copy that does not change, and ``restored(subject, copy, s)`` a state that is
        the copy with the cost and the status of s.
    forces, flow : function or address
        Passed on to ``kick`` and to ``drift``.
    subject : tuple
        What moves.
    table : tuple
        The stages (k, 3), k, and the numbers of those that are done before the first step, and after the last one on
        copies of the states that are saved: a processor and its inverse.
    window : tuple
        The number of the step that begins at t0, t0, and the step h.
    saves : ndarray of int
        Steps after which states are saved.
    limit : int
        Step after which the loop returns even if not all states are saved.
    s : object
        The state, with a status and with its pending stages.
    n : int
        Number of steps made.
    begun : bool
        Whether the processor was applied.

    Returns
    -------
    s, n, begun
        The same after the steps.
    """
    stages, count, before, after = table
    first, t0, h = window
    end = count - after
    j = 0
    k = before if begun else 0
    unprocessed = copied(subject, s) if after > 0 else s
    while j < len(saves) and s.status == FINE:
        between_steps = k in (0, before)
        if between_steps and n >= limit and n != saves[j]:
            break
        saved = (between_steps and n == saves[j]) or k == count
        kind = SAVE if saved else float(stages[k, 0])
        if kind in (DRIFT, SAVE):
            s = kick(forces, subject, h, s)
        if kind != DRIFT:
            s = drift(flow, subject, h, s)
        if s.status != FINE:
            break
        if not saved:
            s = with_stage(kind, float(stages[k, 1]), t0 + ((n - first) + float(stages[k, 2])) * h, s)
            k += 1
            if k == end:
                n += 1
                k = before
        elif 0 < k < end and after > 0:
            unprocessed = copied(subject, s)  # the processor works on a copy
            k = end
        else:
            write(subject, j, s)
            j += 1
            if k > end:
                s = restored(subject, unprocessed, s)
                k = before
    return s, n, k > 0
