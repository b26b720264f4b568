"""Checks of memory and disk space, which raise an error before a computation whose result would not fit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path

from polhode.core.errors import MemoryLimitError, StoreError
from polhode.core.messages import Hint

CHECKED_FROM = 2**28  # bytes
COPIED = 0.4  # part of the memory that arrays may have of which there are two copies for a moment
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


@contextmanager
def memory_for(what: str, size: float, advice: str) -> Iterator[None]:
    """Raise MemoryLimitError if ``size`` bytes exceed the memory of the machine, or if the block runs out of memory.

    The message starts with ``what`` and ends with ``advice``.
    """
    available = physical_memory()
    if size > available:
        fact = f"and this machine has {in_units(available)}"
        raise MemoryLimitError(f"{what} would take {in_units(size)} of memory, {fact}; ", advice)
    try:
        yield
    except MemoryLimitError:
        raise
    except MemoryError as error:
        fact = "which could not be allocated"
        raise MemoryLimitError(f"{what} would take {in_units(size)} of memory, {fact}; ", advice) from error


def check_disk(path: Path, what: str, size: float, advice: str) -> None:
    """Raise StoreError if the disk of ``path``, which need not exist yet, has less than ``size`` free bytes."""
    absolute = path.absolute()
    existing = next(folder for folder in (absolute, *absolute.parents) if folder.exists())
    disk = shutil.disk_usage(existing)
    if size > disk.free and disk.total:  # some network file systems report a size of 0
        raise StoreError(
            f"{path}: {what} would take {in_units(size)}, and its disk has {in_units(disk.free)} free; ",
            advice,
            ", make room, or choose ",
            Hint("a path on another disk", "a folder on another disk with --out"),
        )


def check_growth(what: str, size: float, part: float, advice: str) -> None:
    """Raise MemoryLimitError if what has grown to ``size`` bytes will exceed the memory of the machine.

    ``part`` (0 to 1) of the work is done. Smaller sizes than CHECKED_FROM are no sign of what will follow.
    """
    expected = size / part if part > 0.0 else inf
    if size > CHECKED_FROM and expected > COPIED * physical_memory():
        raise MemoryLimitError(
            f"{what} take {in_units(size)} of memory after {part:.1%} of the time span, and would not fit; ", advice
        )


@cache
def physical_memory() -> float:
    """Return the size of the memory of this machine in bytes, or what this process may use; infinity if not known."""
    try:
        size = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return inf
    try:
        import resource  # on Windows there is none
    except ImportError:
        return size
    limits = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    return min([size, *map(float, limits)])


def in_units(size: float) -> str:
    """Return a number of bytes as text with three digits and a unit.

    Examples
    --------
    >>> in_units(12), in_units(5.5e11)
    ('12 bytes', '550 GB')
    """
    power = 0
    while size >= 999.5 and power < len(UNITS) - 1:
        size = size / 1000
        power += 1
    return f"{size:.3g} {UNITS[power]}"
