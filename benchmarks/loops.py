"""The seconds, of the processor, that a call of ``integrate`` spends in compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar
from unittest.mock import patch

from polhode.integration.running import Run

Result = TypeVar("Result")


def in_loops(call: Callable[[], Result]) -> tuple[Result, float]:
    """Result of a call, and the seconds of all calls of compiled loops in it."""
    inner, total = Run.call, 0.0

    def call_of_run(*arguments: object) -> float:
        nonlocal total
        began = process_time()
        seconds = inner(*arguments)  # type: ignore[arg-type]
        total += process_time() - began
        return seconds

    with patch.object(Run, "call", call_of_run):
        result = call()
    return result, total
