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
    """Message on the terminal, as long as kernels are compiled; a context."""

    def __init__(self, total):
        """Begin with none of ``total`` kernels."""
        self._total, self._count = total, 0
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self):
        """Show the message."""
        self._show()
        return self

    def step(self):
        """Count one more kernel."""
        self._count += 1
        self._show()

    def __exit__(self, *error):
        """Remove the message."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _show(self):
        """Write the message over the previous one."""
        if self._shown:
            count = f": {self._count + 1} of {self._total}" if self._total > 1 else ""
            print(f"\rcompiling kernels, once on this machine{count} ...", end="", file=sys.stderr, flush=True)
