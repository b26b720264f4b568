"""The folder of compiled code on disk, and the stamp of the sources it was compiled from.

This module imports nothing that compiles.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
COMPILED_FOLDERS = ("kernels", "flows", "forces", "methods")  # every folder that holds code Numba compiles
KEPT_STAMPS = 8  # number of caches that are kept, for other checkouts and versions


def source_stamp() -> str:
    """Return a hash of the contents of every compiled source file, as 16 hexadecimal digits.

    Numba itself only watches the file of the cached function.
    """
    digest = hashlib.sha256()
    for folder in COMPILED_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


LOADED = source_stamp()  # computed before any other kernel module is imported


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


def cache_folder() -> Path | None:
    """Return the cache folder of the sources that this process has loaded, and create it if necessary.

    Returns
    -------
    Path or None
        None if the folder is not writable, and then nothing is cached. Also None if a source file was edited after this
        process began to load the sources: its code then belongs to neither stamp.
    """
    root = cache_root()
    if root is None or source_stamp() != LOADED:
        return None
    folder = root / LOADED
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    _remove_old_caches(folder.parent)
    return folder


def _remove_old_caches(root: Path) -> None:
    """Remove all but the KEPT_STAMPS most recently used caches in the folder ``root``."""
    try:
        stamps = [p for p in root.iterdir() if re.fullmatch("[0-9a-f]{16}", p.name)]  # others are not ours
        folders = sorted(stamps, key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:  # another process removes old caches too
        return
    for old in folders[KEPT_STAMPS:]:
        shutil.rmtree(old, ignore_errors=True)
