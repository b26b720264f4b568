"""Atomic writing of files and folders: they are written under another name, synced to the disk, and then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from polhode.core.errors import MissingExtraError, StoreError


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    windows = os.name == "nt"
    if windows and path.is_dir():  # Windows cannot sync folders
        return
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)  # Windows cannot sync files opened for reading only
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def telling(what: str, path: Path) -> Iterator[None]:
    """Raise a StoreError that names ``path`` for any OSError in the block (a full disk, no permission).

    The same holds for names that are no valid text.

    ``what`` completes the message "path cannot be ...", for example "read" or "written".
    """
    try:
        yield
    except StoreError:
        raise
    except OSError as problem:
        raise StoreError(f"{path} cannot be {what}: {problem.strerror or problem}") from problem
    except UnicodeEncodeError as problem:
        raise StoreError(f"{path} cannot be {what}: {problem}") from problem


@contextmanager
def guarded(what: str, path: Path) -> Iterator[None]:
    """Raise a StoreError that names ``path`` for any exception in the block, including those of other packages.

    MissingExtraError and MemoryError are not changed. ``what`` is as in ``telling``.
    """
    try:
        with telling(what, path):
            yield
    except StoreError as problem:
        if str(path) in str(problem):
            raise
        raise StoreError(f"{path}: ", problem) from problem.__cause__
    except (MissingExtraError, MemoryError):
        raise
    except Exception as problem:
        raise StoreError(f"{path} is damaged, or was not written by polhode: ", problem) from problem


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which is renamed to ``path`` at the end of the block.

    If the block raises an exception, the temporary file or folder is removed and ``path`` is not changed.
    """
    new = path.with_name(f".{uuid4().hex[:8]}-{path.name}")
    try:
        with telling("written", path):
            yield new
            for folder, _, files in os.walk(new):
                for name in files:
                    sync(Path(folder, name))
                sync(Path(folder))
            if new.is_dir():
                _exchange(new, path)
            else:
                sync(new)
                os.replace(new, path)
            sync(path.parent)
    finally:
        _remove(new)


def _exchange(new: Path, path: Path) -> None:
    """Replace the folder ``path`` by ``new``; the old one is moved away first, because it may not be empty."""
    old = new.with_name(f"{new.name}-old")
    if path.exists():
        os.replace(path, old)
    try:
        os.replace(new, path)
    except OSError:
        if old.exists():
            os.replace(old, path)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    """Remove a file or folder if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # it does not exist, or cannot exist
            path.unlink()
