"""Chunks of an ensemble as tasks of Dask's distributed: workers compute them and write their own regions of the store.

The job is sent as bytes and unpacked once in each worker, so that user functions are compiled once there. A task that
is lost with its worker is done again by another one, to the same bits.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from polhode.core.errors import InputError, PolhodeError
from polhode.core.extras import optional
from polhode.core.progress import Progress
from polhode.ensembles.members import Chunk, Job
from polhode.ensembles.sampling import Samples
from polhode.ensembles.store import InMemory, OnDisk

AHEAD = 3  # tasks for each thread of the workers: none has to wait, and the scheduler holds few samples at a time
RETRIES = 2  # of tasks that raise; those whose worker is lost have tries of their own


def check_client(client: Any) -> None:
    """Raise an InputError unless ``client`` is a Client of Dask's distributed or an address."""
    with optional("distributed", "cluster"):
        import distributed
    if not isinstance(client, (str, distributed.Client)):
        raise InputError(
            f"client is {client!r}; expected a distributed.Client, or the address of its scheduler as a string; "
            "for two processes on this machine type client=distributed.Client(n_workers=2)"
        )


def on_cluster(client: Any, job: Job, parts: list[tuple[int, Samples]], sink: InMemory | OnDisk, bar: Progress) -> None:
    """Compute the chunks by the workers of ``client``, or of the scheduler with that address."""
    with optional("distributed", "cluster"):
        import cloudpickle
        import distributed
    packed = cloudpickle.dumps(job)
    run, waiting, numbers = uuid4().hex[:8], iter(parts), {}
    with distributed.Client(client) if isinstance(client, str) else nullcontext(client) as connected:
        threads = sum(connected.nthreads().values())
        futures = distributed.as_completed()

        def submit() -> None:
            for number, part in waiting:
                key = f"polhode-{run}-{number}"
                numbers[key] = number, len(part)
                futures.add(connected.submit(work, packed, part, sink.path, number, key=key, retries=RETRIES))
                return

        for _ in range(max(1, AHEAD * threads)):
            submit()
        try:
            for future in futures:
                number, members = numbers.pop(future.key)
                _take(future, number, sink)
                submit()
                bar.show(bar.done + members)
        finally:
            connected.cancel(list(futures.futures))


def _take(future: Any, number: int, sink: InMemory | OnDisk) -> None:
    try:
        chunk = future.result()
    except Exception as problem:
        raise PolhodeError(
            f"chunk {number} could not be computed: {type(problem).__name__}: {problem}; chunks that are finished are "
            "kept if out is given, and resume=True goes on"
        ) from problem
    if chunk is not None:
        sink.put(number, chunk)


def work(packed: bytes, part: Samples, path: Path | None, number: int) -> Chunk | None:
    """In a worker: a chunk, to the store if there is one."""
    chunk = unpacked(packed).run(part)
    if path is None:
        return chunk
    OnDisk(path).put(number, chunk)
    return None


@lru_cache(maxsize=4)
def unpacked(packed: bytes) -> Job:
    import cloudpickle

    return cloudpickle.loads(packed)
