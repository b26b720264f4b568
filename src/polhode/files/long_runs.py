"""Long runs: states go to a Zarr store in chunks, and the run can go on after any interruption, even a lost process.

Memory holds one chunk of states. Results do not depend on interruptions: on the same processor, with the same versions,
no bit differs from those of an uninterrupted run. ``polhode.load`` reads a store, finished or not, and so do xarray and
zarr.
"""

from __future__ import annotations

import json
import os
import warnings
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.checks import whole_number
from polhode.core.errors import InputError, StoreWarning
from polhode.files import chunked
from polhode.files.environment import environment
from polhode.files.long_run_writer import Streamed, StreamWriter, streamed
from polhode.files.record import check_functions, describe, functions_of, has_energy, parameters
from polhode.files.writer_lock import only_writer
from polhode.integration.problem import Problem, checked_span
from polhode.integration.running import Run
from polhode.methods import as_method
from polhode.methods.expressions import method_of
from polhode.methods.method import Method

CHUNK_BYTES = 2**23


def stream(
    problem: Problem,
    path: str | os.PathLike[str],
    *,
    t_span: tuple[float, float] | None = None,
    method: Any,
    h: float | None = None,
    save_every: int = 1,
    chunk: int | None = None,
    progress: bool = False,
) -> Streamed:
    """Follow a body, or a batch, as ``integrate`` does, and write its states to a Zarr store ``path`` on the way.

    A body that could not go on raises RunError, as in ``integrate``, after everything was written. A run whose states
    do not fit on the disk raises StoreError before it begins.

    Parameters
    ----------
    path : str or path-like
        Of a folder that does not exist yet, such as "run.zarr".
    chunk : int, optional
        How many states are written at once; by default, so many that they take 8 MB.

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
    writer = prepare(problem, path, t_span=t_span, method=method, h=h, save_every=save_every, chunk=chunk)
    return begin(writer, progress=progress)


def prepare(
    problem: Problem,
    path: str | os.PathLike[str],
    *,
    t_span: tuple[float, float] | None = None,
    method: Any,
    h: float | None = None,
    save_every: int = 1,
    chunk: int | None = None,
) -> StreamWriter:
    """Return the writer of a run that ``begin`` begins; what cannot be run is refused here, and nothing is written."""
    span = problem.t_span if t_span is None else checked_span(t_span)
    run = Run(problem, span, _of_one_step(method), h)
    every = min(whole_number(save_every, "save_every", 1), run.count)
    width = prod(run.batch) * (8 if has_energy(problem) else 7) + 1
    chunk = max(1, CHUNK_BYTES // (8 * width)) if chunk is None else whole_number(chunk, "chunk", 1)
    writer = StreamWriter(run, Path(path), every, chunk)
    writer.check_room()
    return writer


def begin(writer: StreamWriter, *, progress: bool = False) -> Streamed:
    """Make the store of a run that ``prepare`` returned, and follow it to its end."""
    writer.run.load()
    with only_writer(writer.path):
        writer.create()
        return writer.go_on(progress)


def resume(
    path: str | os.PathLike[str], problem: Problem, *, method: Any = None, progress: bool = False, force: bool = False
) -> Streamed:
    """Go on with a run that ``stream`` began; ``problem`` must be the same, and ``method`` too, if it is given.

    Functions of the user must do the same as when the run began: their code, defaults, closure variables and the
    globals that they read are compared. With ``force=True`` the run goes on with other functions.

    >>> import tempfile
    >>> import polhode as ph
    >>> top = ph.problems.heavy_top()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = stream(top, f"{folder}/run.zarr", method="V2")  # in another process, which may be lost on the way
    ...     resume(f"{folder}/run.zarr", top).finished
    True
    """
    path = Path(path)
    with only_writer(path):
        return _resumed(path, problem, method, progress, force)


def _resumed(path: Path, problem: Problem, method: Any, progress: bool, force: bool) -> Streamed:
    checkpoint, attributes, plan = _look(path)
    chunked.tidy(path)
    chosen = method_of(attributes["method"]) if method is None else _of_one_step(method)
    if repr(chosen) != attributes["method"]:
        raise InputError(f"{path} was begun with {attributes['method']}, and method is {chosen!r}; leave it out")
    start, end = plan["t_span"]
    run = Run(problem, (start, end), chosen, abs(plan["h"]))
    _check_problem(path, attributes, run)
    if not force:
        check_functions(path, plan.get("functions"), functions_of(problem))
    _compare(path, plan["environment"], environment())
    writer = StreamWriter(run, path, plan["save_every"], plan["chunk"])
    writer.take_over(chunked.verify(path, checkpoint))
    writer.check_room()
    return writer.go_on(progress)


def open_stream(path: str | os.PathLike[str]) -> Streamed:
    """How far the run at ``path`` came, without reading its states."""
    path = Path(path)
    checkpoint, _, plan = _look(path)
    return streamed(path, checkpoint, plan["total"])


def _of_one_step(method: Any) -> Method:
    chosen = as_method(method)
    if not isinstance(chosen, Method):
        raise InputError(f"method is {chosen!r}; long runs take steps of one length: type method='S6_10', for instance")
    return chosen


def _look(path: Path) -> tuple[chunked.Checkpoint, dict[str, Any], dict[str, Any]]:
    checkpoint = chunked.checkpoint_of(path)
    attributes = chunked.check(path, checkpoint)
    return checkpoint, attributes, json.loads(attributes["plan"])


def _check_problem(path: Path, attributes: dict[str, Any], run: Run) -> None:
    """That the run is the one that was begun."""
    stored = chunked.constants(path)
    given = {name: values for name, (_, values) in parameters(run.problem, run.batch).items()}
    names = [name for name in given.keys() | stored.keys() if not _same(given.get(name), stored.get(name))]
    described = describe(run.problem)
    names += [name for name in ("force", "linear", "velocity_dependent") if described[name] != attributes[name]]
    if run.h != attributes["h"]:
        names.append("h")
    if names:
        raise InputError(f"{path} is the run of another problem: {', '.join(sorted(names))} differ; give the same one")


def _same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and np.array_equal(a, b)


def _compare(path: Path, began: dict[str, str], now: dict[str, str]) -> None:
    other = [f"{name} was {began.get(name)} and is {now[name]}" for name in now if began.get(name) != now[name]]
    if other:
        warnings.warn(
            f"{path} was begun under other conditions, so the last bits may differ from those of an uninterrupted run: "
            f"{'; '.join(other)}",
            StoreWarning,
            stacklevel=4,
        )
