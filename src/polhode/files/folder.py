"""Folders that Zarr writes to one file after the other, and no file after an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from polhode.core.extras import optional


def folder(path: Path) -> Any:
    """Return a folder as a store of Zarr in which nothing is written after an error, such as that of a full disk.

    Zarr writes files in several threads. Without this, the others would go on after the error, and create the folder
    again that is removed because of it.
    """
    with optional("zarr", "store"):
        from zarr.storage import LocalStore

    class Folder(LocalStore):  # type: ignore[misc]  # types of Zarr are not read
        def __init__(self, root: Path, *, read_only: bool = False) -> None:
            super().__init__(root, read_only=read_only)
            self._one_at_a_time = asyncio.Lock()
            self._problem: OSError | None = None

        async def set(self, key: str, value: Any) -> None:
            await self._unless_failed(super().set, key, value)

        async def set_if_not_exists(self, key: str, value: Any) -> None:
            await self._unless_failed(super().set_if_not_exists, key, value)

        async def _unless_failed(self, write: Callable[..., Awaitable[None]], key: str, value: Any) -> None:
            async with self._one_at_a_time:
                if self._problem is not None:
                    raise self._problem
                try:
                    await write(key, value)
                except OSError as problem:
                    self._problem = problem
                    raise

    return Folder(path)
