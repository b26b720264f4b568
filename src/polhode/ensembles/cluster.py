"""Computation of an ensemble on a Dask cluster: each chunk is a task whose worker writes its own region of the store.

The job is sent as bytes and deserialized once in each worker, so that user functions are compiled once per worker. If a
worker is lost, its tasks are repeated by another worker and give the same bits.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from polhode.core.errors import InputError, PolhodeError
from polhode.core.extras import optional
from polhode.core.messages import Hint
from polhode.core.progress import Progress
from polhode.ensembles.members import Chunk, Job
from polhode.ensembles.sampling import Samples
from polhode.ensembles.store import InMemory, OnDisk

AHEAD = 3  # tasks submitted per worker thread: no thread has to wait, and the scheduler holds few samples at a time
RETRIES = 2  # for tasks that raise; Dask counts the retries after a lost worker separately


def check_client(client: Any) -> None:
    """Raise InputError unless ``client`` is a ``distributed.Client`` or the address of a scheduler (a string)."""
    with optional("distributed", "cluster"):
        import distributed
    if not isinstance(client, (str, distributed.Client)):
        raise InputError(
            f"client is {client!r}; expected a distributed.Client, or the address of its scheduler as a string; "
            "for two processes on this machine type client=distributed.Client(n_workers=2)"
        )


def on_cluster(client: Any, job: Job, parts: list[tuple[int, Samples]], sink: InMemory | OnDisk, bar: Progress) -> None:
    """Compute chunks with the workers of ``client`` and put the results into ``sink``.

    ``client`` is a ``distributed.Client`` or the address of a scheduler; ``parts`` are pairs of a chunk number and the
    samples of that chunk.
    """
    with optional("distributed", "cluster"):
        import cloudpickle
        import distributed
    packed = cloudpickle.dumps(job)
    run_id = uuid4().hex[:8]
    pending = iter(parts)
    submitted: dict[str, tuple[int, int]] = {}  # task key: chunk number, number of members
    with distributed.Client(client) if isinstance(client, str) else nullcontext(client) as connected:
        threads = sum(connected.nthreads().values())
        futures = distributed.as_completed()

        def submit() -> None:
            for number, part in pending:
                key = f"polhode-{run_id}-{number}"
                submitted[key] = number, len(part)
                futures.add(connected.submit(work, packed, part, sink.path, number, key=key, retries=RETRIES))
                return

        for _ in range(max(1, AHEAD * threads)):
            submit()
        try:
            for future in futures:
                number, members = submitted.pop(future.key)
                _take(future, number, sink)
                submit()
                bar.show(bar.done + members)
        finally:
            connected.cancel(list(futures.futures))


def _take(future: Any, number: int, sink: InMemory | OnDisk) -> None:
    """Put the result of a finished task into ``sink``, unless the worker has written it to the store already."""
    try:
        chunk = future.result()
    except Exception as problem:
        raise PolhodeError(
            f"chunk {number} could not be computed: {type(problem).__name__}: ",
            problem,
            "; chunks that are finished are ",
            Hint("kept if out is given, and resume=True", "kept, and --resume"),
            " goes on",
        ) from problem
    if chunk is not None:
        sink.put(number, chunk)


def work(packed: bytes, part: Samples, path: Path | None, number: int) -> Chunk | None:
    """Compute chunk ``number`` in a worker; write it to the store ``path``, or return it if ``path`` is None."""
    chunk = unpack_job(packed).run(part)
    if path is None:
        return chunk
    OnDisk(path).put(number, chunk)
    return None


@lru_cache(maxsize=4)
def unpack_job(packed: bytes) -> Job:
    """Return the job serialized in ``packed``; cached, so that each worker deserializes it once."""
    import cloudpickle

    return cloudpickle.loads(packed)
