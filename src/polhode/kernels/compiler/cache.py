"""Where compiled code is kept on disk, and which sources it belongs to. Imports nothing that compiles."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
COMPILED_FOLDERS = ("kernels", "flows", "forces", "methods")  # every folder that holds code Numba compiles
KEPT_STAMPS = 8  # caches of older sources that are kept for other checkouts and versions


def source_stamp() -> str:
    """Content hash of every compiled source. Numba itself only watches the file of the cached function."""
    digest = hashlib.sha256()
    for folder in COMPILED_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


LOADED = source_stamp()  # before any other kernel module is imported


def cache_root() -> Path | None:
    """Where compiled code is kept: ``POLHODE_CACHE_DIR``, or the platform's folder for caches; None without a home."""
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
    """The cache of exactly these sources; None where nothing can be written (then nothing is cached).

    None also if a source was edited since this process began to load them: its code is of neither stamp.
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
    _forget_old_stamps(folder.parent)
    return folder


def _forget_old_stamps(root: Path) -> None:
    try:
        stamps = [p for p in root.iterdir() if re.fullmatch("[0-9a-f]{16}", p.name)]  # nothing else is ours to delete
        folders = sorted(stamps, key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:  # another process is tidying up
        return
    for old in folders[KEPT_STAMPS:]:
        shutil.rmtree(old, ignore_errors=True)
