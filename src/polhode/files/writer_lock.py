"""One writer for a store: a lock that the operating system releases when its process ends, in whatever way.

The lock is held on a file ".name.lock" beside the store, because it must exist before the store does, and must stay if
the store is removed while a process still writes to it. The file tells which process holds the lock. Readers do not
look at it.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polhode.core.errors import StoreError, StoreWarning
from polhode.files.atomic import telling

BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what systems answer if another one has the lock


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of the store ``path``; StoreError if another process, or this one elsewhere, writes to it."""
    file = path.resolve()
    file = file.with_name(f".{file.name}.lock")
    with telling("written", path):
        handle = _locked(path, file)
    try:
        yield
    finally:
        _release(handle, file)


def _locked(path: Path, file: Path) -> int:
    """A descriptor of the lock file, which is ours."""
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _acquire(handle)
        except OSError as problem:
            if problem.errno in BUSY:
                holder = _holder(handle)
                os.close(handle)
                raise StoreError(
                    f"{path} is being written by {holder}; wait until it has ended, or choose another name"
                ) from None
            warnings.warn(
                f"{file} cannot be locked ({problem.strerror}); make sure that no other process writes to {path}",
                StoreWarning,
                stacklevel=5,
            )
        if _is_at(handle, file):
            with suppress(OSError):  # on a full disk the lock holds, too; only its owner stays unknown
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            return handle
        os.close(handle)  # the one before us removed it after we had opened it


def _is_at(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _holder(handle: int) -> str:
    return os.read(handle, 1000).decode(errors="replace").strip() or "another process"


if sys.platform == "win32":
    import msvcrt

    UNREAD = 2**30  # a locked byte cannot be read by others there, so it is one that nobody needs

    def _acquire(handle: int) -> None:
        os.lseek(handle, UNREAD, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

    def _release(handle: int, file: Path) -> None:
        os.close(handle)
        with suppress(OSError):  # another one has opened it
            file.unlink()

else:
    try:
        import fcntl
    except ImportError:  # neither Windows nor POSIX: the caller warns that there is no lock
        fcntl = None  # type: ignore[assignment]

    def _acquire(handle: int) -> None:
        if fcntl is None:
            raise OSError(errno.ENOTSUP, "this system has no file locks")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(handle: int, file: Path) -> None:
        with suppress(OSError):  # the folder was removed
            if _is_at(handle, file):
                file.unlink()
        os.close(handle)
