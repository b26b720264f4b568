"""Short jobs that come one after the other, on all cores, by threads that wait for them awake."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polhode.core.threads import T, before_batches, started, thread_count
from polhode.kernels.stepping.team import AWAKE, CAME, LEAVE, LOOKS, SIZE, help_out, wait_for_helpers

TEAM_FROM = 200  # steps of a body that take as long as a job; below, to hand it out costs more than it saves
PATIENCE = 2e-4  # seconds for which a team stays awake: some times what it takes to wake up
TRIES = 20  # to find out how many looks at the desk there are in that time: the quickest counts
NO_DESK = np.zeros(0, np.int64)


class Team:
    """Threads that help with one short job after the other; see ``kernels.stepping.team``."""

    def __init__(self) -> None:
        self.desk = np.zeros(SIZE, np.int64)
        self.taken = threading.Lock()
        self.called = self.awaited = 0  # helpers, so far
        self.patience = 0  # in looks at the desk

    def gather(self, number: int) -> None:
        """So many helpers are awake, or will be soon.

        They need Python to come, for a moment. Where one job follows the other at once nobody would ever come if Python
        were not left to them: the second job waits for those who were called before the first one. Once only: the
        pool may have other work.
        """
        self.desk[LEAVE] = 0
        awake = int(self.desk[AWAKE])
        if awake >= number:
            return
        if not self.patience:
            self._find_patience()
        coming = self.called - int(self.desk[CAME])
        if awake + coming < number:
            self.called += len(started(number, number - awake - coming, help_out, self.desk, self.patience))
        elif self.awaited < self.called:
            self.awaited = self.called
            wait_for_helpers(self.desk, self.called, self.patience)

    def _find_patience(self) -> None:
        empty, looks, least = np.zeros(SIZE, np.int64), LOOKS - 1, PATIENCE
        wait_for_helpers(empty, 0, 0)
        help_out(empty, 0)  # both are compiled now
        for _ in range(TRIES):
            start = time.perf_counter()
            help_out(empty, looks)
            least = min(least, max(1e-9, time.perf_counter() - start))
        self.patience = int(looks * PATIENCE / least)

    def dismiss(self) -> None:
        """Cores are needed for other work."""
        self.desk[LEAVE] = 1


_team = Team()


def in_team(job: Callable[[npt.NDArray[np.int64]], T], pieces: int, weight: float) -> T:
    """job(desk), at the desk of a team (``kernels.stepping.team``) if the job is long enough, or alone.

    ``weight`` is how many steps of a body each of its pieces stands for. A job that comes while the team has another
    one is done alone.
    """
    many = min(pieces, thread_count()) if pieces * weight >= TEAM_FROM else 1
    team = _team
    if many == 1 or not team.taken.acquire(blocking=False):
        return job(NO_DESK)
    try:
        team.gather(many - 1)
        return job(team.desk)
    finally:
        team.taken.release()


def _after_fork() -> None:
    """A child has none of its parent's threads."""
    global _team
    _team = Team()


before_batches.append(lambda: _team.dismiss())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
