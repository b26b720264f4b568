"""A bar for long runs: how far in time, how fast, how long it will still take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

Report = Callable[[float], None]  # told which part of the work is done, from 0 to 1

WIDTH = 24
LINE = 79
PATIENCE = 0.5  # seconds before a bar appears: short runs need none


class Line:
    """A line on standard error that is written again and again, from some patience on; nothing if it is not wanted."""

    def __init__(self, wanted: bool) -> None:
        self.wanted, self.began, self.shown = wanted, time.perf_counter(), False

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def due(self) -> bool:
        return self.wanted and (self.shown or self.elapsed >= PATIENCE)

    def write(self, text: str) -> None:
        print(f"\r{text:<{LINE}}", end="", file=sys.stderr, flush=True)
        self.shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            print(file=sys.stderr)


class Progress(Line):
    """Shows how many of ``count`` steps are done; ``start`` of them before, in a run that goes on.

    ``time_after`` is a function of the number of steps. ``wanted`` may be a function that is told instead.
    """

    def __init__(self, wanted: bool | Report, time_after: Callable[[int], Any], count: int, start: int = 0) -> None:
        super().__init__(wanted is True)
        self.report = wanted if callable(wanted) else None
        self.time_after, self.count, self.start = time_after, count, start

    def show(self, done: int) -> None:
        if self.report is not None:
            self.report(done / self.count)
        if not self.due:
            return
        rate = (done - self.start) / self.elapsed
        left = f", {duration((self.count - done) / rate)} left" if rate > 0 else ""
        t, end = (float(self.time_after(steps)) for steps in (done, self.count))
        self.write(f"{bar(done / self.count)} t = {t:.5g} of {end:.5g}, {rate:.3g} steps/s{left}")


class MemberProgress(Line):
    """Shows how many of ``count`` members are done, ``before`` of them in a run that goes on."""

    def __init__(self, wanted: bool, count: int, before: int = 0) -> None:
        super().__init__(wanted)
        self.count, self.before, self.done = count, before, before

    def add(self, some: int) -> None:
        """Count members that are done."""
        self.done += some
        self._show(self.done)

    def within(self, some: int) -> Report:
        """Return a function that shows which part of so many members more is done."""
        return lambda part: self._show(self.done + part * some)

    def _show(self, done: float) -> None:
        rate = (done - self.before) / self.elapsed
        if self.due and rate > 0:
            left = duration((self.count - done) / rate)
            self.write(f"{bar(done / self.count)} {int(done)} of {self.count} members, {rate:.3g}/s, {left} left")


def bar(part: float) -> str:
    """Return a bar that is full from the left, as far as ``part`` of it says.

    >>> bar(0.5)
    '[############............]'
    """
    full = int(WIDTH * part)
    return f"[{'#' * full}{'.' * (WIDTH - full)}]"


def duration(seconds: float) -> str:
    """Two units are enough.

    >>> duration(4.2), duration(200), duration(1e5)
    ('4 s', '3 min 20 s', '27 h 46 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
