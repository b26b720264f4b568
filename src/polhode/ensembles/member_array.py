"""Arrays of stored ensembles for xarray, which are read chunk by chunk when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

if TYPE_CHECKING:
    from polhode.ensembles.reader import Contents


class MemberArray(BackendArray):
    """An array with the members along its first axis."""

    def __init__(self, contents: Contents, name: str) -> None:
        array = contents.arrays[name][1]
        self.contents, self.name = contents, name
        self.shape, self.dtype = array.shape, np.dtype(array.dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._basic)

    def _basic(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """``key`` has a number, or a slice with a positive step, for each axis."""
        members, rest = range(self.shape[0])[key[0]], key[1:]
        if isinstance(members, int):
            number, place = divmod(members, self.contents.chunk)
            return self._chunk(number)[(place, *rest)]
        parts = [self._chunk(number)[(rows, *rest)] for number, rows in self._parts(members)]
        return np.concatenate(parts or [np.empty((0, *self.shape[1:]), self.dtype)[(slice(None), *rest)]])

    def _parts(self, members: range) -> list[tuple[int, slice]]:
        """Numbers of chunks, and which of their members are wanted."""
        size, parts = self.contents.chunk, []
        for number in range(members.start // size, -(-members.stop // size)) if members else ():
            begin = number * size
            steps = max(0, -(-(begin - members.start) // members.step))
            first, last = members.start + steps * members.step, min(members.stop, begin + size)
            if first < last:
                parts.append((number, slice(first - begin, last - begin, members.step)))
        return parts

    def _chunk(self, number: int) -> npt.NDArray[Any]:
        return self.contents.values(self.name, number)
