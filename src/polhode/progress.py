"""A bar for long runs: how far in time, how fast, how long it will still take."""

from __future__ import annotations

import sys
import time
from types import TracebackType

WIDTH = 30
PATIENCE = 0.5  # seconds before a bar appears: short runs need none


class Progress:
    """Shows on standard error how many of ``count`` steps of ``h`` are done; nothing if it is not wanted."""

    def __init__(self, wanted: bool, t0: float, h: float, count: int) -> None:
        self.wanted, self.t0, self.h, self.count = wanted, t0, h, count
        self.began, self.shown = time.perf_counter(), False

    def show(self, done: int) -> None:
        elapsed = time.perf_counter() - self.began
        if not self.wanted or (elapsed < PATIENCE and not self.shown):
            return
        full = WIDTH * done // self.count
        rate = done / elapsed
        left = (self.count - done) / rate if rate else 0.0
        bar, t = "#" * full + "." * (WIDTH - full), self.t0 + done * self.h
        line = f"[{bar}] t = {t:g}, {rate:.3g} steps/s, {left:.0f} s left"
        print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)
        self.shown = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            print(file=sys.stderr)
