"""Large batches on all cores. Kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import ceil, inf
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue

from polhode.core.errors import InputError

MOST_THREADS = 4096  # more than any machine has cores; a larger number is a mistake
CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")  # limits, and the groups of this process
PARALLEL_FROM = 20_000  # bodies or samples; below, threads cost more than they save on a busy machine

_pools: dict[int, ThreadPoolExecutor] = {}  # by their number of threads; to start threads takes a millisecond


def thread_count() -> int:
    """Return the number of threads for large batches: ``POLHODE_NUM_THREADS``, or the cores this process may use."""
    chosen = os.environ.get("POLHODE_NUM_THREADS")
    return _whole_number(chosen) if chosen else _cores()


@cache
def _whole_number(chosen: str) -> int:
    digits = chosen.strip()
    number = int(digits) if digits.isdecimal() and len(digits) < 10 else 0
    if not 1 <= number <= MOST_THREADS:
        raise InputError(
            f"POLHODE_NUM_THREADS is {chosen!r} in the environment: set it to a whole number from 1 to {MOST_THREADS}, "
            "or unset it to use every core that this process may use"
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
    """Return the processor time per time that the control groups of a process allow, as for a container; or inf.

    A group is limited by those above it, too. Where a container sees its group as the root, the path in ``membership``
    may not exist below ``limits``: what can be read counts.
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
    """The limit that one group sets: version 2 in one file, version 1 in two."""
    words = _text(group / "cpu.max").split() or _text(group / "cpu.cfs_quota_us").split()
    if len(words) == 1:
        words += _text(group / "cpu.cfs_period_us").split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return inf  # "max", -1, or no such file
    return int(words[0]) / int(words[1])


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def threads_for(count: int, weight: float) -> int:
    """Return the number of threads that work over ``count`` items of so much weight gets from ``in_ranges``."""
    return thread_count() if count > 1 and count * weight >= PARALLEL_FROM else 1


def in_ranges(work: Callable[[int, int], int], count: int, weight: float = 1.0) -> int:
    """Run ``work(start, stop)`` over ``count`` items, in threads if there are many; the smallest number it reports.

    ``weight`` is how many bodies or samples one item stands for. The calling thread works, too: a batch does not wait
    for others to wake up.
    """
    threads = threads_for(count, weight)
    if threads == 1:
        return work(0, count)
    pieces: SimpleQueue[tuple[int, int]] = SimpleQueue()
    number = min(count, 4 * threads)  # small enough that a thread which is held up does not hold up the rest
    for i in range(number):
        pieces.put((count * i // number, count * (i + 1) // number))

    reports: list[int] = []

    def take_pieces() -> None:
        while True:
            try:
                start, stop = pieces.get_nowait()
            except Empty:
                return
            reports.append(work(start, stop))

    helpers = threads - 1
    if helpers not in _pools:
        _pools[helpers] = ThreadPoolExecutor(helpers, "polhode")
    try:
        others = [_pools[helpers].submit(take_pieces) for _ in range(helpers)]
    except RuntimeError:  # Python ends, and has stopped all pools before
        others = []
    take_pieces()
    for other in others:
        other.result()
    return min(reports)


def _after_fork() -> None:
    """A child has none of its parent's threads."""
    _pools.clear()
    _cores.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
