"""Time that compilation takes: how much it was, and a message for those who wait."""

from __future__ import annotations

import sys
from time import perf_counter


class CompileTime:
    """Seconds that this process has spent compiling or loading machine code; a context that adds to them."""

    seconds = 0.0
    _depth = 0  # a compilation may begin another one
    _began = 0.0

    def __enter__(self):
        """Begin to count, unless another compilation is counted already."""
        if self._depth == 0:
            self._began = perf_counter()
        self._depth += 1

    def __exit__(self, *error):
        """Add the time since the beginning."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began


COMPILE_TIME = CompileTime()


class Progress:
    """Message on the terminal as long as a kernel is compiled; a context."""

    def __init__(self, name, lasting=True):
        """Store the name of the kernel, and whether its code is kept on disk."""
        self._message = f"compiling {name}{', once on this machine' if lasting else ''} ..."
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self):
        """Show the message."""
        if self._shown:
            print(self._message, end="", file=sys.stderr, flush=True)

    def __exit__(self, *error):
        """Remove the message."""
        if self._shown:
            print("\r" + " " * len(self._message) + "\r", end="", file=sys.stderr, flush=True)
