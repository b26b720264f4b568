"""Compiled code on disk: its folder and its files.

``<cache>/code/bitcode-<version>/`` holds code of LLVM for every machine, in a form that an older LLVM cannot read,
``<cache>/code/<processor>/`` machine code, and ``<cache>/code/stamps/`` what entry points are made of. The name of a
file contains a digest of what it was made from. Every file begins with a checksum and is replaced as a whole, so that
several processes may read and write at the same time.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

PACKAGE = Path(__file__).resolve().parents[2]
FOLDER = "code"
KEPT = 2000  # number of files that are kept in a folder; if there are more, half of them
CHECKSUM = 16  # number of bytes at the beginning of every file
WARNED: list[str] = []


class CacheWarning(UserWarning):
    """Warning that compiled code on disk is damaged or not safe to use; it is compiled again."""


def source_digest() -> str:
    """Return a digest of all source files of this package, the same one on every system, as 16 hexadecimal digits."""
    digest = hashlib.sha256()
    start = len(str(PACKAGE)) + 1
    paths = (f"{folder}/{name}" for folder, _, names in os.walk(PACKAGE) for name in names)
    names = (path[start:].replace(os.sep, "/") for path in paths if path.endswith((".py", ".ll")))
    for name in sorted(names):
        digest.update(name.encode() + b"\0")
        with open(f"{PACKAGE}/{name}", "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


SOURCES = source_digest()  # of the sources that this process loads, computed before any kernel module is imported


def cache_root() -> Path | None:
    """Return the folder of all caches: ``POLHODE_CACHE_DIR``, or the cache folder of the platform.

    Returns
    -------
    Path or None
        None if there is no home directory.
    """
    if chosen := os.environ.get("POLHODE_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return base.expanduser() / "polhode"
    except RuntimeError:  # HOME is not set, and the user is unknown
        return None


@functools.cache
def folder() -> Path | None:
    """Return the cache folder, and create it if necessary.

    Returns
    -------
    Path or None
        None if there is no such folder, or if other users could have changed its files.
    """
    root = cache_root()
    if root is None:
        return None
    own = root / FOLDER
    with suppress(OSError):  # a cache that cannot be written is read
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.mkdir(mode=0o700, exist_ok=True)
    return own if own.is_dir() and _is_safe(root) and _is_safe(own) else None


def _is_safe(path: Path) -> bool:
    """Return whether no other user but the administrator can write into a folder, and warn if one can."""
    if sys.platform == "win32":  # folders of a user are protected by inherited permissions
        return True
    status = path.stat()
    safe = status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022
    if not safe:
        warn(f"the cache folder {path} belongs to, or can be written by, another user: compiled code is not cached")
    return safe


def folders(root: Path) -> list[Path]:
    """Return all folders in ``root`` that hold compiled code: that of this version, and those of former ones."""
    names = [path.name for path in root.iterdir()] if root.is_dir() else []
    return [root / name for name in names if re.fullmatch(f"{FOLDER}|[0-9a-f]{{16}}", name)]


def read(part: str, name: str) -> bytes | None:
    """Return the content of a file of the cache, or None; a damaged file is removed."""
    if (own := folder()) is None:
        return None
    path = own / part / name
    try:
        content = path.read_bytes()
        if not _is_safe_part(path.parent):
            return None
    except OSError:  # the file does not exist, or cannot be read
        return None
    if _checksum(part, name, content[CHECKSUM:]) == content[:CHECKSUM]:
        with suppress(OSError):
            os.utime(path)  # so that it is not among those that were not used for long
        return content[CHECKSUM:]
    with suppress(OSError):
        path.unlink()
    warn(f"compiled code in {path} is damaged; damaged files are removed and compiled again")
    return None


def write(part: str, name: str, content: bytes) -> None:
    """Write a file of the cache; failures of the disk are ignored."""
    if (own := folder()) is None:
        return
    path = own / part / name
    partial = path.with_name(f"{name}.{uuid4().hex}.partial")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not _is_safe_part(path.parent):
            return
        partial.write_bytes(_checksum(part, name, content) + content)
        partial.replace(path)
        _remove_old(path.parent)
    except OSError:  # a full disk, or a folder that is only read
        with suppress(OSError):
            partial.unlink()


@functools.cache
def _is_safe_part(path: Path) -> bool:
    """Return whether a folder of the cache, which exists, is safe; that does not change while a process runs."""
    return _is_safe(path)


def _remove_old(path: Path) -> None:
    """Remove the files of a folder that were not used for longest, if there are more than KEPT."""
    files = list(path.iterdir())
    if len(files) > KEPT:
        files.sort(key=lambda file: file.stat().st_mtime)
        for file in files[: -KEPT // 2]:
            file.unlink(missing_ok=True)


def _checksum(part: str, name: str, content: bytes) -> bytes:
    """Return the checksum of a file as CHECKSUM bytes; that of a file in the place of another one is wrong."""
    found = hashlib.blake2b(f"{part}/{name}/".encode(), digest_size=CHECKSUM)
    found.update(content)
    return found.digest()


def warn(message: str) -> None:
    """Warn of damaged or unsafe code, once in each process."""
    if not WARNED:
        WARNED.append(message)
        warnings.warn(message, CacheWarning, stacklevel=2)
