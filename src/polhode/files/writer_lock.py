"""Lock that allows one writer per store; the operating system releases it when its process ends for any reason.

The lock is held on a file ".name.lock" next to the store, because it must exist before the store does, and must remain
if the store is removed while a process is still writing to it. The file contains the name of the process that holds the
lock. Readers ignore it.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polhode.core.errors import StoreError, StoreWarning
from polhode.core.warning import warn
from polhode.files.atomic import telling

BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # error numbers if another process holds the lock


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of the store ``path`` during the block.

    StoreError is raised if another process, or another call in this process, is writing to the store.
    """
    file = path.resolve()
    file = file.with_name(f".{file.name}.lock")
    with telling("written", path):
        handle = _locked(path, file)
    try:
        yield
    finally:
        _release(handle, file)


def _locked(path: Path, file: Path) -> int:
    """Return a descriptor of the lock file, locked by this process; raise StoreError if it is locked already."""
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _acquire(handle)
        except OSError as problem:
            if problem.errno in BUSY:
                holder = os.read(handle, 1000).decode(errors="replace").strip() or "another process"
                os.close(handle)
                raise StoreError(
                    f"{path} is being written by {holder}; wait until it has ended, or choose another name"
                ) from None
            warn(
                f"{file} cannot be locked ({problem.strerror}); make sure that no other process writes to {path}",
                StoreWarning,
            )
        if _is_at(handle, file):
            with suppress(OSError):  # on a full disk, the lock is valid although its owner is not recorded
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            return handle
        os.close(handle)  # the previous holder removed the file after it was opened here


def _is_at(handle: int, file: Path) -> bool:
    """Return whether ``file`` still is the file that was opened as ``handle``."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    UNREAD = 2**30  # position of the locked byte, beyond the text: others cannot read a locked byte on Windows

    def _acquire(handle: int) -> None:
        """Lock the file, or raise OSError."""
        os.lseek(handle, UNREAD, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

    def _release(handle: int, file: Path) -> None:
        """Unlock and remove the file."""
        os.close(handle)
        with suppress(OSError):  # another process has opened it
            file.unlink()

else:
    try:
        import fcntl
    except ImportError:  # neither Windows nor POSIX: the caller warns that there is no lock
        fcntl = None  # type: ignore[assignment]

    def _acquire(handle: int) -> None:
        """Lock the file, or raise OSError."""
        if fcntl is None:
            raise OSError(errno.ENOTSUP, "this system has no file locks")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(handle: int, file: Path) -> None:
        """Remove and unlock the file."""
        with suppress(OSError):  # the folder was removed
            if _is_at(handle, file):
                file.unlink()
        os.close(handle)
