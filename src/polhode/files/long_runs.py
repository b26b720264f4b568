"""Long runs: states are written to a Zarr store in chunks, and a run can be resumed after any interruption.

Memory holds one chunk of states. Results do not depend on interruptions, not even of a killed process: with the same
processor and the same versions, they are identical to the bit to those of an uninterrupted run. A store, finished or
not, can be read by ``polhode.load``, xarray and zarr.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError, StoreWarning, nothing_computed
from polhode.core.progress import Report
from polhode.core.units import together
from polhode.core.warning import warn
from polhode.files import chunked
from polhode.files.contents import contents_of
from polhode.files.environment import environment
from polhode.files.long_run_writer import TIMES, Streamed, StreamWriter, streamed
from polhode.files.record import check_functions
from polhode.files.writer_lock import only_writer
from polhode.integration.problem import Problem, checked_span
from polhode.integration.running import Run, new_run
from polhode.methods import as_method
from polhode.methods.expressions import method_of
from polhode.solve import choice_for
from polhode.systems.system import System

if TYPE_CHECKING:
    from polhode.methods import MethodLike

CHUNK_BYTES = 2**23  # of the states of a chunk


def stream(
    problem: Problem | System,
    path: str | os.PathLike[str],
    *,
    t_span: tuple[float, float] | None = None,
    method: MethodLike | None = None,
    h: float | None = None,
    t_eval: npt.ArrayLike | None = None,
    save_every: int = 1,
    chunk: int | None = None,
    progress: bool | Report = False,
) -> Streamed:
    """Integrate bodies or a system as ``integrate`` does, and write the states to a Zarr store during the run.

    Parameters
    ----------
    problem : Problem or System
        Body, state, force and time span; or a system of interacting bodies.
    path : str or path-like
        Name of a folder that does not exist yet, such as "run.zarr".
    t_span : tuple of two floats, optional
        First and last time. By default, those of the problem.
    method : str, Scheme or method, optional
        Integration method, as in ``integrate``. By default, it is chosen automatically.
    h : float, optional
        Step size, as in ``integrate``. By default, that of the problem, or chosen automatically.
    t_eval : array_like of shape (k,), optional
        Times at which states are saved, with methods that choose their steps. By default, 1001 evenly spaced times;
        multiples of ``h`` if the body is free.
    save_every : int, optional
        Number of steps between two saved states. The default is 1.
    chunk : int, optional
        Number of states that are written at once. By default, as many as take 8 MB.
    progress : bool or callable, optional
        Whether to show a progress bar, or a function that is called with the completed fraction.

    Returns
    -------
    Streamed
        The finished run.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed; it is a KeyboardInterrupt, and its attribute ``trajectory`` is the Streamed so far, which
        ``resume`` continues, or None if the run has not begun.
    StoreError
        If ``path`` exists, or if the states do not fit on the disk; nothing is computed then.
    RunError
        If a single body cannot go on, as in ``integrate``; the states before that are in the store.

    Examples
    --------
    >>> import tempfile
    >>> import polhode as ph
    >>> top = ph.problems.heavy_top()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = stream(top, f"{folder}/run.zarr", method="S6_10", save_every=2)
    >>> done.finished, done.rows
    (True, 21)
    """
    try:
        problem = problem.current()
        h, t_eval, t_span = together(problem.units, h=h, t_eval=t_eval, t_span=t_span).values()
        span = problem.t_span if t_span is None else checked_span(t_span)
        choice = choice_for(problem, span, method, h)
        every = whole_number(save_every, "save_every", 1)
        run = new_run(problem, span, choice.method, choice.h)
        writer = prepare(run, path, times=choice.times(span, t_eval, every), save_every=every, chunk=chunk)
        return begin(writer, progress=progress)
    except KeyboardInterrupt as stop:
        nothing_computed(stop)
        raise


def prepare(
    run: Run,
    path: str | os.PathLike[str],
    *,
    times: FloatArray | None = None,
    save_every: int = 1,
    chunk: int | None = None,
) -> StreamWriter:
    """Return the writer of a run that ``begin`` starts; check the arguments, as in ``stream``, and write nothing."""
    width = run.rows.count * (run.rows.floats + 1) + 1  # of the states, the energies and the time
    chunk = max(1, CHUNK_BYTES // (8 * width)) if chunk is None else whole_number(chunk, "chunk", 1)
    schedule = run.schedule(times, whole_number(save_every, "save_every", 1))
    writer = StreamWriter(run, Path(path), schedule, chunk)
    writer.check_room()
    return writer


def begin(writer: StreamWriter, *, progress: bool | Report = False) -> Streamed:
    """Create the store of a run prepared by ``prepare``, and integrate it to the end."""
    writer.run.load()
    with only_writer(writer.path):
        writer.create()
        return writer.go_on(progress)


def resume(
    path: str | os.PathLike[str],
    problem: Problem | System,
    *,
    method: MethodLike | None = None,
    progress: bool | Report = False,
    force: bool = False,
) -> Streamed:
    """Continue a run that was started by ``stream``.

    User functions must be the same as when the run was started: their code, default arguments, closure variables and
    the globals that they read are compared.

    Parameters
    ----------
    path : str or path-like
        Folder of the store.
    problem : Problem or System
        The same problem as that passed to ``stream``.
    method : str, Scheme or method, optional
        The same method as that passed to ``stream``. By default, it is read from the store.
    progress : bool or callable, optional
        Whether to show a progress bar, or a function that is called with the completed fraction.
    force : bool, optional
        Whether to continue even if user functions have changed.

    Returns
    -------
    Streamed
        The finished run.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed, as in ``stream``.
    InputError
        If the problem, the method or, without ``force``, a user function differs from that of the stored run.
    StoreError
        If the store is missing or damaged, or if another process is writing to it.
    RunError
        If a single body cannot go on, as in ``integrate``.

    Examples
    --------
    >>> import tempfile
    >>> import polhode as ph
    >>> top = ph.problems.heavy_top()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = stream(top, f"{folder}/run.zarr", method="V2")  # usually in another process, which was interrupted
    ...     resume(f"{folder}/run.zarr", top).finished
    True
    """
    path = Path(path)
    try:
        with only_writer(path):
            return _resumed(path, problem, method, progress, force)
    except KeyboardInterrupt as stop:
        nothing_computed(stop)
        raise


def _resumed(
    path: Path, problem: Problem | System, method: MethodLike | None, progress: bool | Report, force: bool
) -> Streamed:
    """Compare a stored run with ``problem`` and ``method``, and continue it; the caller holds the lock."""
    checkpoint, attributes, plan = _look(path)
    chunked.tidy(path)
    chosen = method_of(attributes["method"]) if method is None else as_method(method)
    if repr(chosen) != attributes["method"]:
        raise InputError(f"{path} was begun with {attributes['method']}, and method is {chosen!r}; omit method")
    start, end = plan["t_span"]
    problem.rows.check(chosen)
    run = new_run(problem, (start, end), chosen, abs(plan["h"]))
    _check_problem(path, attributes, run)
    if not force:
        check_functions(path, plan.get("functions"), contents_of(problem).functions_of(problem))
    _compare(path, plan["environment"], environment())
    times = chunked.constants(path).get(TIMES)
    writer = StreamWriter(run, path, run.schedule(times, plan["save_every"]), plan["chunk"])
    writer.take_over(chunked.verify(path, checkpoint))
    writer.check_room()
    return writer.go_on(progress)


def open_stream(path: str | os.PathLike[str]) -> Streamed:
    """Return the progress of the run at ``path`` without reading its states.

    Parameters
    ----------
    path : str or path-like
        Folder of the store.

    Returns
    -------
    Streamed
    """
    path = Path(path)
    checkpoint, _, plan = _look(path)
    return streamed(path, checkpoint, plan["total"])


def _look(path: Path) -> tuple[chunked.Checkpoint, dict[str, Any], dict[str, Any]]:
    """Return the checkpoint, the attributes and the plan (times, step, chunks, environment) of a store."""
    checkpoint = chunked.checkpoint_of(path)
    attributes = chunked.check(path, checkpoint)
    return checkpoint, attributes, json.loads(attributes["plan"])


def _check_problem(path: Path, attributes: dict[str, Any], run: Run) -> None:
    """Raise InputError unless ``run`` has the same problem and step size as the stored run."""
    stored = {name: values for name, values in chunked.constants(path).items() if name != TIMES}
    contents = contents_of(run.problem)
    passed = {name: values for name, (_, values) in contents.parameters(run.problem).items()}
    names = [name for name in passed.keys() | stored.keys() if not _same(passed.get(name), stored.get(name))]
    described = contents.describe(run.problem)
    names += [name for name in contents.DEFINING if described[name] != attributes[name]]
    if not _same(run.h, attributes["h"]):
        names.append("h")
    if names:
        raise InputError(
            f"{path} is the run of another problem: {', '.join(sorted(names))} differ; pass the same problem"
        )


def _same(a: Any, b: Any) -> bool:
    """Return whether both arrays or numbers exist and are equal; NaN is equal to NaN."""
    return a is not None and b is not None and np.array_equal(a, b, equal_nan=True)


def _compare(path: Path, stored: dict[str, str], current: dict[str, str]) -> None:
    """Warn if the environment has changed since the run was started."""
    changed = [
        f"{name} was {stored.get(name)} and is {current[name]}" for name in current if stored.get(name) != current[name]
    ]
    if changed:
        warn(
            f"{path} was begun under other conditions, so the last bits may differ from those of an uninterrupted run: "
            f"{'; '.join(changed)}",
            StoreWarning,
        )
