"""Files that are there as a whole or not at all: written under another name, brought to the disk, and then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from polhode.core.errors import MissingExtraError, StoreError


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    windows = os.name == "nt"
    if windows and path.is_dir():  # Windows has no such call for folders
        return
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)  # and refuses it for what is open for reading only
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def telling(what: str, path: Path) -> Iterator[None]:
    """What the system says about a file (a full disk, no permission) as a StoreError."""
    try:
        yield
    except StoreError:
        raise
    except OSError as problem:
        raise StoreError(f"{path} cannot be {what}: {problem.strerror or problem}") from problem


@contextmanager
def guarded(what: str, path: Path) -> Iterator[None]:
    """Whatever other packages raise about a file, as a StoreError that names it."""
    try:
        with telling(what, path):
            yield
    except StoreError as problem:
        if str(path) in str(problem):
            raise
        raise StoreError(f"{path}: {problem}") from problem.__cause__
    except (MissingExtraError, MemoryError):
        raise
    except Exception as problem:
        raise StoreError(f"{path} is damaged, or was not written by polhode: {problem}") from problem


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to, which then becomes ``path``. If anything goes wrong, what was there before stays."""
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
    """A folder cannot be renamed onto another that is not empty: that one steps aside first."""
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
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # it is not there, or cannot be
            path.unlink()
