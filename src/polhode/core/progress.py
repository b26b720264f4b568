"""Progress of long runs, on standard error: a bar by tqdm, or lines of text where tqdm is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from polhode.core.extras import installed

Report = Callable[[float], None]  # called with the part of the work that is done, from 0 to 1

PATIENCE = 0.5  # seconds before anything is shown: short runs need nothing
PAUSE = 1.0  # seconds between two lines of text


class Progress:
    """Show how many of ``count`` steps are done; ``start`` of them before, in a run that goes on.

    ``wanted`` may be a function that is called instead. ``time_after`` is a function of the number of steps.
    """

    def __init__(
        self,
        wanted: bool | Report,
        count: int,
        start: int = 0,
        *,
        time_after: Callable[[int], Any] | None = None,
        unit: str = "steps",
    ) -> None:
        self.count, self.done, self.time_after, self.unit = count, float(start), time_after, unit
        self.report = wanted if callable(wanted) else None
        self.bar = _bar(count, start, unit) if wanted is True and installed("tqdm") else None
        self.next_line = perf_counter() + PATIENCE if wanted is True else inf

    def show(self, done: float) -> None:
        """Show that ``done`` of all steps are done."""
        self.done = done
        if self.report is not None:
            self.report(done / self.count)
        elif self.bar is not None:
            self.bar.set_postfix_str(self._time(), refresh=False)
            self.bar.update(int(done) - self.bar.n)
        elif perf_counter() >= self.next_line:
            text = f"{done / self.count:.0%} of {self.count} {self.unit}", self._time()
            print(*filter(None, text), sep=", ", file=sys.stderr, flush=True)
            self.next_line = perf_counter() + PAUSE

    def within(self, count: int) -> Report:
        """Return a function that shows which part of the next ``count`` steps is done."""
        before = self.done
        return lambda part: self.show(before + part * count)

    def _time(self) -> str:
        if self.time_after is None:
            return ""
        t, end = (float(self.time_after(steps)) for steps in (int(self.done), self.count))
        return f"t = {t:.5g} of {end:.5g}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()


def _bar(count: int, start: int, unit: str) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=count, initial=start, unit=f" {unit}", delay=PATIENCE, miniters=1)
