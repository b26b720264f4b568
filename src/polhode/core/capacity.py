"""Room in memory and on disks: what cannot fit is refused before it is computed, with its size and a way out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path

from polhode.core.errors import MemoryLimitError, StoreError

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


@contextmanager
def memory_for(what: str, size: float, hint: str) -> Iterator[None]:
    """Raise a MemoryLimitError if ``size`` bytes are more than the machine has, or if the block runs out of memory."""
    message = f"{what} would take {in_units(size)} of memory"
    there = physical_memory()
    if size > there:
        raise MemoryLimitError(f"{message}, and this machine has {in_units(there)}; {hint}")
    try:
        yield
    except MemoryError as problem:
        raise MemoryLimitError(f"{message}, which could not be allocated; {hint}") from problem


def check_disk(path: Path, what: str, size: float, hint: str) -> None:
    """Raise StoreError if the disk on which ``path`` is, or will be, has no room for ``size`` more bytes."""
    whole = path.absolute()
    there = next(each for each in (whole, *whole.parents) if each.exists())
    disk = shutil.disk_usage(there)
    if size > disk.free and disk.total:  # some file systems of networks do not know their size
        raise StoreError(
            f"{path}: {what} would take {in_units(size)}, and its disk has {in_units(disk.free)} free; {hint}, make "
            "room, or choose a path on another disk"
        )


@cache
def physical_memory() -> float:
    """Return the bytes of memory of this machine; infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return inf


def in_units(size: float) -> str:
    """Return a number of bytes with three digits and a unit.

    >>> in_units(12), in_units(5.5e11)
    ('12 bytes', '550 GB')
    """
    power = 0
    while size >= 999.5 and power < len(UNITS) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.3g} {UNITS[power]}"
