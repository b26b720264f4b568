"""Many independent runs: ``ensemble``, from samples to an xarray.Dataset, on one machine or on a cluster.

Members are followed in chunks of a fixed number of them, which bounds the memory, and which a store and a cluster can
handle one by one. No bit of a result depends on where or in which order chunks are computed, nor on interruptions.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from polhode.core.capacity import memory_for
from polhode.core.errors import InputError, StoreWarning
from polhode.core.progress import Progress
from polhode.ensembles.cluster import check_client, on_cluster
from polhode.ensembles.members import Factory, Job, Reduce
from polhode.ensembles.plan import Wanted, layout_of, plan
from polhode.ensembles.random_streams import as_seed
from polhode.ensembles.reader import Contents, opened
from polhode.ensembles.sampling import Samples, as_samples
from polhode.ensembles.store import InMemory, Layout, OnDisk
from polhode.ensembles.summaries import as_summary
from polhode.files.checksums import RAISE, as_damaged
from polhode.files.environment import environment
from polhode.files.writer_lock import only_writer
from polhode.integration.problem import Problem

Sink = InMemory | OnDisk
Compute = Callable[[Job, list[tuple[int, Samples]], Sink, Progress], None]


def ensemble(
    problem: Problem | Factory,
    samples: Samples | Mapping[str, Any],
    *,
    t_span: tuple[float, float] | None = None,
    method: Any = None,
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
    """Follow many independent bodies and return an ``xarray.Dataset`` of the results and of the samples.

    Members that fail do not stop the others: their ``status`` is -1, and ``error`` says why, for the members listed in
    ``failed``. After Ctrl-C the status of missing members is -2; it is -3 if their files were damaged or deleted. A
    store that another call of ``ensemble`` is writing to is refused.

    Parameters
    ----------
    problem : Problem or callable
        A Problem of one body, of which samples replace ``moments`` or ``tensor``, ``m`` or ``omega``, ``q``, and
        ``params`` or ``damping`` of its force. Or a function of samples ``{name: array of shape (members, ...)}`` that
        returns a Problem of that many bodies.
    samples : dict of arrays, or Samples
        Arrays of shape (members, ...) by name, ``sampling.draw(count, ...)`` or ``sampling.grid(...)``. Samples ``t``
        of free bodies are times, one for each member.
    t_span, method, h, rtol : optional
        As in ``integrate``. What is not given is chosen once, by a few members. Free bodies need none of them.
    t_eval : array_like of shape (k,), optional
        Times at which states are saved. By default the end.
    reduce : callable or str, optional
        A function of a Trajectory of many bodies that returns ``{name: array of shape (members, ...)}``, which is saved
        instead of the states; or the name of one in ``polhode.summaries``.
    out : str or path, optional
        A folder "name.zarr" to which finished chunks are written. The Dataset then reads from it. A StoreError is
        raised before anything is computed if they do not fit on the disk.
    resume : bool, optional
        Whether to go on with ``out``: finished chunks are not computed again. Functions must do the same as before.
    force : bool, optional
        Whether to resume also if functions have changed since the ensemble began.
    chunk : int, optional
        Number of members that are integrated together. By default so many that their states take 16 MB.
    client : distributed.Client or str, optional
        A Dask client, or the address of its scheduler. Chunks are computed by its workers.
    seed : int, optional
        Seed of random samples. By default a new one. It is kept, as ``chunk`` is, in the Dataset's attributes.
    vectorized : bool, optional
        Whether the function takes many members at once. If false, it gets the values of one member, and makes one body.
    progress : bool, optional
        Whether to show how many members are done, and how long the rest will take.

    Returns
    -------
    xarray.Dataset
        Results and samples, with the dimension ``member`` first.

    Examples
    --------
    >>> from polhode import Problem, State, sampling
    >>> body = Problem((1.0, 2.0, 3.0), State(m=(0, 0, 1)), t_span=(0, 10))
    >>> found = ensemble(body, sampling.draw(100, m=sampling.direction(), q=sampling.attitude()), seed=1)
    >>> dict(found.q.sizes), int(found.failed.size)
    ({'member': 100, 'time': 1, 'quaternion': 4}, 0)
    """
    if client is not None:
        check_client(client)
    if force and not resume:
        raise InputError("force=True goes on although functions have changed: it needs resume=True")
    members = as_samples(samples).seeded(_seed(out, resume, seed))
    wanted = Wanted(t_span, method, h, rtol, t_eval, as_summary(reduce), vectorized)
    job, pilot = plan(problem, members, wanted)
    layout = layout_of(job, pilot, members, chunk)
    compute = _locally if client is None else partial(on_cluster, client)
    if out is None:
        return _computed(job, members, layout, compute, InMemory(layout), progress)
    if client is None:
        with _memory_for(job, min(layout.chunk, len(members))):
            pass  # a look, before anything is written
    with only_writer(Path(out)):
        sink = OnDisk.reopen(Path(out), layout, force=force) if resume else OnDisk.create(Path(out), layout)
        return _computed(job, members, layout, compute, sink, progress)


def _computed(job: Job, members: Samples, layout: Layout, compute: Compute, sink: Sink, progress: bool) -> Any:
    """All chunks that are not finished yet; what is finished counts after Ctrl-C."""
    done = sink.finished
    parts = [(i, members[i * layout.chunk : (i + 1) * layout.chunk]) for i in range(layout.chunks) if i not in done]
    before = len(members) - sum(len(part) for _, part in parts)
    with Progress(progress, len(members), before, unit="members") as bar, suppress(KeyboardInterrupt):
        compute(job, parts, sink, bar)
    _compare_environments(sink)
    return sink.close()


def open_ensemble(path: str | os.PathLike[str], *, damaged: str = RAISE) -> Any:
    """Open a store that ``ensemble`` wrote, finished or not, as an ``xarray.Dataset`` that reads what it is asked for.

    Members whose files are missing have status -3 and no numbers, and a StoreWarning names the files. Others are
    compared with their checksums when they are read: StoreError names a file that is damaged. With ``damaged="skip"``
    everything is read and compared at once, and members in damaged files have status -3, too.

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
    return memory_for(f"a chunk of {members} members", job.size(members), "type a smaller chunk=...")


def _locally(job: Job, parts: list[tuple[int, Samples]], sink: Sink, bar: Progress) -> None:
    for number, part in parts:
        with _memory_for(job, len(part)):
            show_part = bar.within(len(part))
            sink.put(number, job.run(part, show_part))
            show_part(1.0)


def _seed(out: Any, resume: bool, seed: int | None) -> int:
    """A run that goes on has the seed that it began with."""
    if resume and out is None:
        raise InputError("resume=True goes on with a store; type out='name.zarr', its name")
    if resume and seed is None:
        return int(Contents(Path(out)).attributes["seed"])
    return as_seed(seed)


def _compare_environments(sink: Sink) -> None:
    here = environment()
    found = {(name, there.get(name)) for there in sink.environments for name in here}
    other = sorted(f"{name}: {value} and {here[name]}" for name, value in found if value != here[name])
    if other:
        warnings.warn(
            "chunks were computed under different conditions, so that their last bits (10 eps (1 + cond)) may differ "
            f"from those of one machine: {'; '.join(other)}",
            StoreWarning,
            stacklevel=4,
        )
