"""Arrays of stored ensembles for xarray, which are read on demand, chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

if TYPE_CHECKING:
    from polhode.ensembles.reader import Contents


class MemberArray(BackendArray):
    """A lazily read array of a stored ensemble, with the members along its first axis."""

    def __init__(self, contents: Contents, name: str) -> None:
        array = contents.arrays[name][1]
        self.contents = contents
        self.name = name
        self.shape = array.shape
        self.dtype = np.dtype(array.dtype)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the part of the array selected by an indexer of xarray."""
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._basic)

    def _basic(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        """Return the part selected by ``key``: an integer, or a slice with a positive step, for each axis."""
        members = range(self.shape[0])[key[0]]
        rest = key[1:]
        if isinstance(members, int):
            number, row = divmod(members, self.contents.chunk)
            return self._chunk(number)[(row, *rest)]
        parts = [self._chunk(number)[(rows, *rest)] for number, rows in self._parts(members)]
        return np.concatenate(parts or [np.empty((0, *self.shape[1:]), self.dtype)[(slice(None), *rest)]])

    def _parts(self, members: range) -> list[tuple[int, slice]]:
        """Return the chunks that contain ``members``, each as its number and the slice of its rows."""
        size = self.contents.chunk
        parts = []
        for number in range(members.start // size, -(-members.stop // size)) if members else ():
            begin = number * size
            steps = max(0, -(-(begin - members.start) // members.step))
            first = members.start + steps * members.step
            last = min(members.stop, begin + size)
            if first < last:
                parts.append((number, slice(first - begin, last - begin, members.step)))
        return parts

    def _chunk(self, number: int) -> npt.NDArray[Any]:
        """Return the values of one chunk."""
        return self.contents.values(self.name, number)
