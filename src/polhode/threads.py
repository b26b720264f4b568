"""Large batches on all cores. Kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from polhode.errors import InputError

PARALLEL_FROM = 20_000  # bodies or samples; below, threads cost more than they save on a busy machine


def thread_count() -> int:
    """Threads for large batches: ``POLHODE_NUM_THREADS``, or as many as this process may use."""
    if chosen := os.environ.get("POLHODE_NUM_THREADS"):
        if not chosen.strip().isdecimal():
            raise InputError(f"POLHODE_NUM_THREADS is {chosen!r} in the environment: set it to a whole number")
        return max(1, int(chosen))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_ranges(work: Callable[[int, int], int], count: int, weight: int = 1) -> int:
    """Run ``work(start, stop)`` over ``count`` items, in threads if there are many; the smallest number it reports.

    ``weight`` is how many bodies or samples one item stands for.
    """
    threads = thread_count() if count > 1 and count * weight >= PARALLEL_FROM else 1
    if threads == 1:
        return work(0, count)
    pieces = 4 * threads  # small enough that a thread which is held up does not hold up the rest
    cuts = [count * i // pieces for i in range(pieces + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return min(pool.map(work, cuts[:-1], cuts[1:]))
