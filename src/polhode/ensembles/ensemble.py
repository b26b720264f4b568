"""Integration of many independent bodies, from samples to an xarray.Dataset, on one machine or on a cluster.

Members are integrated in chunks of a few seconds, which also bounds the memory; stores and clusters handle each chunk
separately. Results are identical to the bit wherever and in whatever order the chunks are computed, and whether or not
the computation was interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from polhode.core.capacity import memory_for
from polhode.core.errors import InputError, Interrupted, StoreWarning, nothing_computed
from polhode.core.messages import Hint
from polhode.core.progress import Progress, searching, tell
from polhode.core.warning import warn
from polhode.ensembles.cluster import check_client, on_cluster
from polhode.ensembles.cost import Cost, estimate, measured_cost, threads_of
from polhode.ensembles.members import Factory, Job, Reduce
from polhode.ensembles.plan import EnsembleOptions, layout_of, plan
from polhode.ensembles.random_streams import as_seed
from polhode.ensembles.reader import Contents, opened
from polhode.ensembles.sampling import Samples, as_samples
from polhode.ensembles.store import InMemory, Layout, OnDisk
from polhode.ensembles.summaries import as_summary
from polhode.files.checksums import RAISE, as_damaged
from polhode.files.environment import environment
from polhode.files.writer_lock import only_writer
from polhode.integration.problem import Problem

if TYPE_CHECKING:
    from polhode.methods import MethodLike

Sink = InMemory | OnDisk
Compute = Callable[[Job, list[tuple[int, Samples]], Sink, Progress], None]


def ensemble(
    problem: Problem | Factory,
    samples: Samples | Mapping[str, Any],
    *,
    t_span: tuple[float, float] | None = None,
    method: MethodLike | None = None,
    h: float | None = None,
    rtol: float | None = None,
    t_eval: npt.ArrayLike | None = None,
    reduce: Reduce | str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    chunk: int | None = None,
    client: Any = None,
    seed: int | None = None,
    vectorized: bool = True,
    progress: bool = False,
) -> Any:
    """Integrate many independent bodies and return an ``xarray.Dataset`` of the results and the samples.

    Members that fail do not stop the others: their ``status`` is negative (see ``Status``), ``failed`` lists their
    numbers, and ``error`` holds the reasons. After Ctrl-C, members that were not computed have status -2. Members whose
    files were damaged or deleted have status -3.

    Parameters
    ----------
    problem : Problem or callable
        A Problem of one body, in which samples replace ``moments`` or ``tensor``, ``m`` or ``omega``, ``q``, and the
        ``params`` or ``damping`` of its force. Alternatively, a function that takes a dict of samples
        ``{name: array of shape (members, ...)}`` and returns a Problem with a batch of ``members`` bodies.
    samples : dict of arrays, or Samples
        Arrays of shape (members, ...) by name, ``sampling.draw(count, ...)`` or ``sampling.grid(...)``. For free
        bodies, the samples ``t`` are times, one for each member.
    t_span : tuple of two floats, optional
        First and last time, as in ``integrate``. By default, that of the problem.
    method : str or method, optional
        Integration method, as in ``integrate``. By default, free bodies are evaluated in closed form; otherwise the
        method is chosen once, from a few members.
    h : float, optional
        Step size of all members, as in ``integrate``. By default, that of the problem, or each member gets its own.
    rtol : float, optional
        Relative tolerance, as in ``integrate``, by which the method is chosen, once, and the step size of each member,
        which depends on this member alone.
    t_eval : array_like, shape (k,), optional
        Times at which states are saved. By default, only the last time.
    reduce : callable or str, optional
        A function that takes a Trajectory of many bodies and returns ``{name: array of shape (members, ...)}``, which
        is saved instead of the states; or the name of a function in ``polhode.summaries``.
    out : str or path-like, optional
        Name of a Zarr store, "name.zarr", to which finished chunks are written. The returned Dataset then reads from
        the store.
    resume : bool, optional
        Whether to continue with the store ``out``: finished chunks are not computed again. User functions must be the
        same as before.
    force : bool, optional
        Whether to resume even if user functions have changed since the ensemble was started.
    chunk : int, optional
        Number of members that are integrated together. By default, as many as take about 3 seconds, by a measurement
        with the first members, but not more than have 16 MB of states. Results do not depend on it. An ensemble is
        resumed with the number with which it began.
    client : distributed.Client or str, optional
        A Dask client, or the address of its scheduler. Chunks are computed by its workers.
    seed : int, optional
        Seed of random samples. By default, a new one. The seed and ``chunk`` are saved in the Dataset's attributes.
    vectorized : bool, optional
        Whether the function ``problem`` takes many members at once. If False, it is called with the values of one
        member and returns a Problem of one body.
    progress : bool, optional
        Whether to show the number of finished members and the estimated remaining time; for a large ensemble, also its
        estimated time and size before it begins.

    Returns
    -------
    xarray.Dataset
        Results and samples, with the dimension ``member`` first.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed. It is a KeyboardInterrupt, and its attribute ``trajectory`` is the Dataset so far,
        or None if nothing has been computed.
    InputError
        If an argument is not valid, or if user functions have changed since the ensemble was started.
    StoreError
        If the results do not fit on the disk (before anything is computed), if ``out`` exists and ``resume`` is False,
        if it is the store of another ensemble, or if another process is writing to it.

    Examples
    --------
    >>> from polhode import Problem, State, sampling
    >>> body = Problem((1.0, 2.0, 3.0), State(m=(0, 0, 1)), t_span=(0, 10))
    >>> data = ensemble(body, sampling.draw(100, m=sampling.direction(), q=sampling.attitude()), seed=1)
    >>> dict(data.q.sizes), int(data.failed.size)
    ({'member': 100, 'time': 1, 'quaternion': 4}, 0)
    """
    if client is not None:
        check_client(client)
    if force and not resume:
        changed = "goes on although functions have changed: it needs"
        raise InputError(Hint(f"force=True {changed} resume=True", f"--force {changed} --resume"))
    try:
        members = as_samples(samples).seeded(_seed(out, resume, seed))
        options = EnsembleOptions(t_span, method, h, rtol, t_eval, as_summary(reduce), vectorized)
        with searching(progress):
            job, pilot = plan(problem, members, options)
        if chunk is None and resume:
            chunk = Contents(Path(str(out))).chunk
        threads = threads_of(client is not None)
        cost = measured_cost(job, pilot) if chunk is None or progress else Cost(0.0)
        layout = layout_of(job, pilot, members, chunk, cost.members(threads))
        if progress:
            path = None if out is None else Path(out)
            tell(estimate(cost, len(members), layout.chunks, layout.size(len(members)), path, threads))
        compute = _locally if client is None else partial(on_cluster, client)
        if out is None:
            return _compute_chunks(job, members, layout, compute, InMemory(layout), progress)
        if client is None:
            with _memory_for(job, min(layout.chunk, len(members))):
                pass  # check the memory before anything is written
        with only_writer(Path(out)):
            sink = OnDisk.reopen(Path(out), layout, force=force) if resume else OnDisk.create(Path(out), layout)
            return _compute_chunks(job, members, layout, compute, sink, progress)
    except KeyboardInterrupt as stop:
        nothing_computed(stop)
        raise


def _compute_chunks(job: Job, members: Samples, layout: Layout, compute: Compute, sink: Sink, progress: bool) -> Any:
    """Compute all chunks that are not finished yet and return the Dataset.

    After Ctrl-C, Interrupted is raised with the Dataset of the finished chunks.
    """
    interrupted = False
    done = sink.finished
    parts = [(i, members[i * layout.chunk : (i + 1) * layout.chunk]) for i in range(layout.chunks) if i not in done]
    before = len(members) - sum(len(part) for _, part in parts)
    with Progress(progress, len(members), before, unit="members") as bar:
        try:
            compute(job, parts, sink, bar)
        except KeyboardInterrupt:
            interrupted = True
    _compare_environments(sink)
    data = sink.close()
    if interrupted:
        raise Interrupted(data)
    return data


def open_ensemble(path: str | os.PathLike[str], *, damaged: str = RAISE) -> Any:
    """Open a store written by ``ensemble``, finished or not, as an ``xarray.Dataset`` that loads arrays on demand.

    Members whose files are missing have status -3 and results of NaN, and a StoreWarning lists the files. Arrays are
    compared with their checksums when they are read.

    Parameters
    ----------
    path : str or path-like
        Name of the store, "name.zarr".
    damaged : {"raise", "skip"}, optional
        With "raise" (the default), reading an array from a damaged file raises StoreError. With "skip", everything is
        read and compared immediately, and members in damaged files get status -3 as well.

    Returns
    -------
    xarray.Dataset
        Results and samples, with the dimension ``member`` first.

    Raises
    ------
    StoreError
        If ``path`` does not exist or is not the store of an ensemble, or if its attributes are damaged.

    Examples
    --------
    >>> import tempfile
    >>> from polhode import problems, sampling
    >>> samples = sampling.draw(10, m=sampling.direction())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ensemble(problems.free_body(), samples, t_eval=[0.0, 1.0], seed=1, out=f"{folder}/run.zarr")
    ...     shape = open_ensemble(f"{folder}/run.zarr").q.shape
    >>> shape
    (10, 2, 4)
    """
    return opened(Path(path), as_damaged(damaged))


def _memory_for(job: Job, members: int) -> AbstractContextManager[None]:
    """Return a context manager that raises MemoryLimitError if a chunk does not fit in memory."""
    advice = Hint("type a smaller chunk=...", "add --set ensemble.chunk=..., a smaller one")
    return memory_for(f"a chunk of {members} members", job.size(members), advice)


def _locally(job: Job, parts: list[tuple[int, Samples]], sink: Sink, bar: Progress) -> None:
    """Compute chunks in this process, one after the other, and put the results into ``sink``."""
    for number, part in parts:
        with _memory_for(job, len(part)):
            show_part = bar.within(len(part))
            sink.put(number, job.run(part, show_part))
            show_part(1.0)


def _seed(out: Any, resume: bool, seed: int | None) -> int:
    """Return the seed: that of the store if an ensemble is resumed without a seed, or else ``seed`` or a new one."""
    if resume and out is None:
        raise InputError("resume=True continues a stored ensemble; type out='name.zarr', the name of its store")
    if resume and seed is None:
        return int(Contents(Path(out)).attributes["seed"])
    return as_seed(seed)


def _compare_environments(sink: Sink) -> None:
    """Warn if chunks were computed with another processor or other versions than those of this process."""
    current = environment()
    recorded = {(name, conditions.get(name)) for conditions in sink.environments for name in current}
    changed = sorted(f"{name}: {value} and {current[name]}" for name, value in recorded if value != current[name])
    if changed:
        warn(
            "chunks were computed under different conditions, so that their last bits (10 eps (1 + cond)) may differ "
            f"from those of one machine: {'; '.join(changed)}",
            StoreWarning,
        )
