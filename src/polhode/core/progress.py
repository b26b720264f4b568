"""Progress of long runs on standard error: a bar by tqdm, or lines of text if tqdm is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import inf
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from polhode.core.extras import installed

Report = Callable[[float], None]  # callback that is called with the completed fraction of the work, 0 to 1

PATIENCE = 0.5  # seconds before the first output, so that short runs have none
PAUSE = 1.0  # seconds between two lines of text
FIRST_LINE, NEXT_LINE = 2.0, 60.0  # seconds before lines that go to a file
_SEARCH: ContextVar[Callable[[], None] | None] = ContextVar("_SEARCH", default=None)


class Progress:
    """Display of the number of completed steps, as a context manager.

    Parameters
    ----------
    wanted : bool or callable
        Whether to show the progress, or a callback that is called with the completed fraction instead.
    count : int
        Number of steps.
    start : int, optional
        Number of steps that are completed at the start, for a run that is resumed.
    time_after : callable, optional
        Function that returns the time after a number of steps.
    unit : str, optional
        Name of the steps. The default is "steps".
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
        self.count = count
        self.done = float(start)
        self.time_after = time_after
        self.unit = unit
        self.report = wanted if callable(wanted) else None
        self.bar = _bar(count, start, unit) if wanted is True and installed("tqdm") else None
        self.next_line = perf_counter() + PATIENCE if wanted is True else inf

    def show(self, done: float) -> None:
        """Show that ``done`` steps are completed."""
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
        """Return a callback that shows the completed fraction of the next ``count`` steps."""
        before = self.done
        return lambda part: self.show(before + part * count)

    def _time(self) -> str:
        """Return the current and the final time as text, or an empty string if they are not known."""
        if self.time_after is None:
            return ""
        t, end = (float(self.time_after(steps)) for steps in (int(self.done), self.count))
        return f"t = {t:.5g} of {end:.5g}"

    def __enter__(self) -> Self:
        """Return the display itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the progress bar."""
        if self.bar is not None:
            self.bar.close()


class Lines:
    """Report of the completed fraction as lines on standard error, few enough for a file."""

    def __init__(self) -> None:
        self._next = perf_counter() + FIRST_LINE

    def __call__(self, part: float) -> None:
        """Print a line, unless the last one was printed less than a minute ago."""
        if part < 1.0 and perf_counter() >= self._next:
            tell(f"{part:.1%} done")
            self._next = perf_counter() + NEXT_LINE


class Search:
    """Lines on standard error while trial runs choose a method and its steps, which takes an unknown time."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._next = self._began + FIRST_LINE

    def __call__(self) -> None:
        """Print a line, unless the last one was printed less than a minute ago."""
        now = perf_counter()
        if now >= self._next:
            tell(f"trial runs, which choose the steps, have taken {now - self._began:.0f} s")
            self._next = now + NEXT_LINE


@contextmanager
def searching(wanted: bool | Report) -> Iterator[None]:
    """Return a context whose runs are trial runs: they call `go_on` about every tenth of a second.

    A callback of the user is called with 0, and may raise an exception.
    """
    line = Search() if wanted is True or isinstance(wanted, Lines) else partial(wanted, 0.0) if wanted else None
    token = _SEARCH.set(line)
    try:
        yield
    finally:
        _SEARCH.reset(token)


def go_on() -> None:
    """Show that a trial run goes on, if that is wanted."""
    if (show := _SEARCH.get()) is not None:
        show()


def tell(text: str) -> None:
    """Print a line about the progress, unless it is empty."""
    if text:
        print(text, file=sys.stderr, flush=True)


def _bar(count: int, start: int, unit: str) -> Any:
    """Return a progress bar of tqdm."""
    from tqdm.auto import tqdm

    return tqdm(total=count, initial=start, unit=f" {unit}", delay=PATIENCE, miniters=1)
