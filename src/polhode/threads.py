"""Large batches on all cores. Kernels release the GIL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from polhode.errors import InputError

PARALLEL_FROM = 20_000  # bodies or samples; below, threads cost more than they save on a busy machine
T = TypeVar("T")

before_batches: list[Callable[[], None]] = []  # what frees cores, if there is anything that keeps them busy
_pools: dict[int, ThreadPoolExecutor] = {}  # by their number of threads; to start threads takes a millisecond


def thread_count() -> int:
    """Threads for large batches: ``POLHODE_NUM_THREADS``, or as many as this process may use."""
    chosen = os.environ.get("POLHODE_NUM_THREADS")
    return _whole_number(chosen) if chosen else _cores()


@cache
def _whole_number(chosen: str) -> int:
    if not chosen.strip().isdecimal():
        raise InputError(f"POLHODE_NUM_THREADS is {chosen!r} in the environment: set it to a whole number")
    return max(1, int(chosen))


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_ranges(work: Callable[[int, int], int], count: int, weight: int = 1) -> int:
    """Run ``work(start, stop)`` over ``count`` items, in threads if there are many; the smallest number it reports.

    ``weight`` is how many bodies or samples one item stands for. The calling thread works, too: a batch does not wait
    for others to wake up.
    """
    threads = thread_count() if count > 1 and count * weight >= PARALLEL_FROM else 1
    if threads == 1:
        return work(0, count)
    pieces: SimpleQueue[tuple[int, int]] = SimpleQueue()
    number = 4 * threads  # small enough that a thread which is held up does not hold up the rest
    for i in range(number):
        pieces.put((count * i // number, count * (i + 1) // number))

    def take_pieces() -> int:
        smallest = sys.maxsize
        while True:
            try:
                start, stop = pieces.get_nowait()
            except Empty:
                return smallest
            smallest = min(smallest, work(start, stop))

    for free_cores in before_batches:
        free_cores()
    others = started(threads - 1, threads - 1, take_pieces)
    own = take_pieces()
    return min([own, *(other.result() for other in others)])


def started(threads: int, number: int, work: Callable[..., T], *told: Any) -> list[Future[T]]:
    """work(*told), so many times, in a pool of threads; not at all when Python ends, which stops all pools before."""
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "polhode")
    try:
        return [_pools[threads].submit(work, *told) for _ in range(number)]
    except RuntimeError:
        return []


def _after_fork() -> None:
    """A child has none of its parent's threads."""
    _pools.clear()
    _cores.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
