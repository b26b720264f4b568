"""A bar for long runs: how far in time, how fast, how long it will still take."""

from __future__ import annotations

import sys
import time
from types import TracebackType

WIDTH = 24
LINE = 79
PATIENCE = 0.5  # seconds before a bar appears: short runs need none


class Progress:
    """Shows on standard error how many of ``count`` steps of ``h`` are done; nothing if it is not wanted.

    ``start`` steps were done before, in a run that goes on.
    """

    def __init__(self, wanted: bool, t0: float, h: float, count: int, start: int = 0) -> None:
        self.wanted, self.t0, self.h, self.count, self.start = wanted, t0, h, count, start
        self.began, self.shown = time.perf_counter(), False

    def show(self, done: int) -> None:
        elapsed = time.perf_counter() - self.began
        if not self.wanted or (elapsed < PATIENCE and not self.shown):
            return
        full = WIDTH * done // self.count
        rate = (done - self.start) / elapsed
        left = f", {duration((self.count - done) / rate)} left" if rate > 0 else ""
        bar, t, end = "#" * full + "." * (WIDTH - full), self.t0 + done * self.h, self.t0 + self.count * self.h
        line = f"[{bar}] t = {t:.5g} of {end:.5g}, {rate:.3g} steps/s{left}"
        print(f"\r{line:<{LINE}}", end="", file=sys.stderr, flush=True)
        self.shown = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            print(file=sys.stderr)


def duration(seconds: float) -> str:
    """Two units are enough.

    >>> duration(4.2), duration(200), duration(1e5)
    ('4 s', '3 min 20 s', '27 h 46 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
