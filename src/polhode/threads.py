"""Large batches on all cores. Kernels release the GIL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

from polhode.errors import InputError

PARALLEL_FROM = 20_000  # bodies or samples; below, threads cost more than they save on a busy machine

_pools: dict[int, ThreadPoolExecutor] = {}  # by their number of threads; to start threads takes a millisecond
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # a child has none of its parent's threads


def thread_count() -> int:
    """Threads for large batches: ``POLHODE_NUM_THREADS``, or as many as this process may use."""
    if chosen := os.environ.get("POLHODE_NUM_THREADS"):
        if not chosen.strip().isdecimal():
            raise InputError(f"POLHODE_NUM_THREADS is {chosen!r} in the environment: set it to a whole number")
        return max(1, int(chosen))
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

    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, "polhode")
    others = [_pools[threads].submit(take_pieces) for _ in range(threads - 1)]
    own = take_pieces()
    return min(own, *(other.result() for other in others))
