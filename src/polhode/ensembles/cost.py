"""Cost of an ensemble before it runs: seconds for each member, members for each chunk, and the estimate that is shown.

The first members are integrated over parts of the time span, from a small one on, until the time can be measured.
Chunks take a few seconds each, so that Ctrl-C loses little. Their size is stored, so that an ensemble is resumed with
the same chunks whatever is measured then; results do not depend on it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polhode.core.capacity import in_units
from polhode.core.threads import thread_count
from polhode.ensembles.members import Job
from polhode.ensembles.variation import batch_of
from polhode.integration.problem import Problem

CHUNK_SECONDS = 3.0
MEASURED = 0.02  # seconds of a trial run after which its time is a measure
FIRST_PART, LONGER = 1 / 1024, 8.0  # first part of the time span, and the ratio of successive ones
OF_TRIALS = 3.0  # cost of finding a step size for each member and of the run, relative to a run with the first step
LARGE = 20.0  # seconds of an ensemble whose estimate is shown
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class Cost(NamedTuple):
    """Estimated cost of an ensemble."""

    seconds: float  # of one member on one core; 0 if it is not known

    def members(self, threads: int) -> float:
        """Return the number of members that so many threads integrate in CHUNK_SECONDS."""
        return CHUNK_SECONDS * threads / self.seconds if self.seconds > 0 else np.inf

    def total(self, members: int, threads: int) -> float:
        """Return the seconds of so many members, by so many threads."""
        return members * self.seconds / threads


def measured_cost(job: Job, pilot: Problem) -> Cost:
    """Return the cost of a member, measured with the first members; unknown if they fail or have times of their own."""
    if job.times is None:
        return Cost(0.0)
    count = prod(batch_of(pilot))
    t0, t1 = job.span
    part = FIRST_PART
    while True:
        end = t0 + min(1.0, part) * (t1 - t0)
        short = replace(job, span=(t0, end), times=np.array([end]), reduce=None, rtol=None)
        began = time.perf_counter()
        try:
            short.integrated(pilot)
        except Exception:  # of one of the first members; the run reports it
            return Cost(0.0)
        seconds = time.perf_counter() - began
        if part > FIRST_PART and (seconds >= MEASURED or part >= 1.0):  # the first run may load compiled code
            return Cost(seconds / min(1.0, part) / count * (1.0 if job.rtol is None else OF_TRIALS))
        part *= LONGER


def threads_of(on_cluster: bool) -> int:
    """Return the number of threads that work on a chunk: all of this machine, or one of a worker of a cluster."""
    return 1 if on_cluster else thread_count()


def estimate(cost: Cost, members: int, chunks: int, size: int, out: Path | None, threads: int) -> str:
    """Return a sentence about the time and the size of a large ensemble; empty if it is not large."""
    seconds = cost.total(members, threads)
    if seconds < LARGE:
        return ""
    where = "of memory" if out is None else f"in {out}"
    return f"{members} members in {chunks} chunks: about {in_time(seconds)}, and {in_units(size)} {where}"


def in_time(seconds: float) -> str:
    """Return a time as text with two digits and a unit.

    Examples
    --------
    >>> in_time(42.3), in_time(150.0), in_time(2e4), in_time(3e5)
    ('42 s', '2.5 min', '5.6 h', '3.5 days')
    """
    for unit, size, most in (("s", 1.0, MINUTE), ("min", MINUTE, HOUR), ("h", HOUR, DAY)):
        if seconds < most:
            return f"{seconds / size:.2g} {unit}"
    return f"{float(f'{seconds / DAY:.2g}'):g} days"
