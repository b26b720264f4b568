"""Distribution of large batches over threads. Kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from math import ceil, inf
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from polhode.core.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

MOST_THREADS = 4096  # more than any machine has cores; a larger number is a mistake
CGROUPS = (Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))  # limits, and the groups of this process
SMALLEST_PART = 32  # of the items of a thread that are a piece of their own
TOGETHER = 32  # bodies that kernels advance together in vector lanes
PARALLEL_FROM = 20_000  # bodies or samples; for fewer, threads cost more than they save on a busy machine

_pools: dict[int, ThreadPoolExecutor] = {}  # by number of threads; kept because starting threads takes a millisecond


def thread_count() -> int:
    """Return the number of threads for large batches: ``POLHODE_NUM_THREADS``, or the number of available cores."""
    setting = os.environ.get("POLHODE_NUM_THREADS")
    return _whole_number(setting) if setting else _cores()


@cache
def _whole_number(setting: str) -> int:
    """Return the value of ``POLHODE_NUM_THREADS`` as an int; raise InputError if it is invalid."""
    digits = setting.strip()
    number = int(digits) if digits.isdecimal() and len(digits) < 10 else 0
    if not 1 <= number <= MOST_THREADS:
        raise InputError(
            f"the environment variable POLHODE_NUM_THREADS is {setting!r}; expected a whole number from 1 to "
            f"{MOST_THREADS}; unset it to use all available cores"
        )
    return number


@cache
def _cores() -> int:
    """Return the number of cores that the scheduler and the quota of the process allow."""
    if hasattr(os, "process_cpu_count"):
        allowed = os.process_cpu_count()
    elif hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count()
    return max(1, ceil(min(allowed or 1, cgroup_quota(*CGROUPS))))


def cgroup_quota(limits: Path, membership: Path) -> float:
    """Return the number of cores that the control groups of a process allow, as in a container, or inf.

    The parents of a group limit it, too. If a container sees its own group as the root, the path in ``membership`` may
    not exist below ``limits``; groups that cannot be read are ignored.
    """
    smallest = inf
    for line in _text(membership).splitlines():
        _, controllers, group = line.split(":", 2)
        folders = ("",) if controllers == "" else ("cpu", "cpu,cpuacct") if "cpu" in controllers.split(",") else ()
        path = PurePosixPath(group.lstrip("/"))
        for folder in folders:
            for part in (path, *path.parents):
                smallest = min(smallest, _quota(limits / folder / part))
    return smallest


def _quota(group: Path) -> float:
    """Return the limit of one group, which is stored in one file (version 2) or in two (version 1), or inf."""
    words = _text(group / "cpu.max").split() or _text(group / "cpu.cfs_quota_us").split()
    if len(words) == 1:
        words += _text(group / "cpu.cfs_period_us").split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return inf  # "max", -1, or no such file
    return int(words[0]) / int(words[1])


def _text(path: Path) -> str:
    """Return the content of a file, or an empty string if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def threads_for(count: int, weight: float) -> int:
    """Return the number of threads that ``in_ranges`` uses for ``count`` items of the given weight."""
    return thread_count() if count > 1 and count * weight >= PARALLEL_FROM else 1


def pieces(count: int, threads: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges (start, stop) into which ``count`` items are divided for threads that take one after the other.

    They become smaller, so that there are few of them, and threads end at about the same time although items differ.

    Examples
    --------
    >>> list(pieces(12, 2))
    [(0, 3), (3, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 12)]
    """
    start = 0
    while start < count:
        size = max(1, (count - start) // (2 * threads), count // (SMALLEST_PART * threads))
        if size >= 2 * TOGETHER:
            size -= size % TOGETHER
        yield start, min(count, start + size)
        start += size


def in_ranges(work: Callable[[int, int], int], count: int, weight: float = 1.0) -> int:
    """Run ``work(start, stop)`` over ``count`` items, in threads if there are many, and return its smallest result.

    ``weight`` is the number of bodies or samples per item. The calling thread takes part in the work, so that a batch
    does not have to wait until other threads have started.
    """
    threads = threads_for(count, weight)
    if threads == 1:
        return work(0, count)
    work_queue: SimpleQueue[tuple[int, int]] = SimpleQueue()
    for piece in pieces(count, threads):
        work_queue.put(piece)

    results: list[int] = []

    def process_queue() -> None:
        while True:
            try:
                start, stop = work_queue.get_nowait()
            except Empty:
                return
            results.append(work(start, stop))

    pool = _pool(threads - 1)
    try:
        futures = [pool.submit(process_queue) for _ in range(threads - 1)]
    except RuntimeError:  # the interpreter is shutting down and has stopped all pools
        futures = []
    try:
        process_queue()
        for future in futures:
            future.result()
    except BaseException:
        _stop(work_queue, futures)
        raise
    return min(results)


def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the pool of so many threads; the first one imports what pools need, which takes a while."""
    from concurrent.futures import ThreadPoolExecutor

    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "polhode")
    return _pools[threads]


def _stop(work_queue: SimpleQueue[tuple[int, int]], futures: list[Future[None]]) -> None:
    """Discard the rest of the work, and wait until no thread writes to the results anymore, also after Ctrl-C."""
    from concurrent.futures import wait

    while not all(future.done() for future in futures):
        try:
            while not work_queue.empty():
                work_queue.get_nowait()
            wait(futures)
        except (Empty, KeyboardInterrupt):  # another thread took the last item; Ctrl-C was pressed again
            continue


def _after_fork() -> None:
    """Discard the thread pools in a child process, which does not inherit the threads of its parent."""
    _pools.clear()
    _cores.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
