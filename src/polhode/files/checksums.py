"""Checksums of stored data: one of everything that does not vary in time, and one for each block of states.

The first, the seal, covers attributes, names, dimensions, constant arrays and the table of the other checksums. The
checksums are those of values, not of bytes in a file, so that they are the same in every format. If a file has no
checksums because an earlier version wrote it, nothing is compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.errors import InputError, StoreError, StoreWarning
from polhode.core.messages import Hint, joined
from polhode.core.warning import warn
from polhode.files.atomic import guarded
from polhode.files.record import Arrays, FileRecord, check_format

SEAL = "checksum"  # attribute: the seal
TABLE = "checksums"  # array: checksums of blocks of states
BLOCK = "checksum_states"  # attribute: states per block
BLOCK_BYTES = 2**20  # of one block of states, all arrays together
RAISE: str = "raise"
SKIP: str = "skip"

Rows = dict[str, npt.NDArray[Any]]


def as_damaged(damaged: str) -> str:
    """Return ``damaged`` if it is "raise" or "skip"; raise InputError otherwise."""
    if damaged not in (RAISE, SKIP):
        raise InputError(f"damaged is {damaged!r}; expected {RAISE!r} or {SKIP!r}")
    return damaged


def of_values(values: npt.NDArray[Any]) -> str:
    """Return the SHA-256 digest of an array with its type and shape; all NaN are equal, as in text files."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("<")) if values.size else np.empty(0)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)
    return hashlib.sha256(f"{values.dtype.str} {values.shape} ".encode() + values.tobytes()).hexdigest()


def of_texts(texts: Any) -> str:
    """Return the SHA-256 digest of a value that JSON can represent."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def seal_of(record: FileRecord, table: Any = None) -> str:
    """Return the checksum of attributes, names, dimensions, constant arrays and the table of other checksums."""
    attributes = {name: value for name, value in record.attributes.items() if name != SEAL}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()}
    arrays = {
        name: [list(dims), "varies" if _varies(dims) else of_values(np.asarray(values))]
        for name, (dims, values) in record.arrays.items()
        if name != TABLE
    }
    return of_texts([plain, arrays, table])


def _varies(dims: tuple[str, ...]) -> bool:
    """Return whether an array with these dimensions varies in time."""
    return dims[:1] == ("time",)


def varying(arrays: Arrays) -> list[str]:
    """Return the sorted names of the arrays that vary in time."""
    return sorted(name for name, (dims, _) in arrays.items() if _varies(dims))


def check_seal(path: Path, expected: str, actual: str) -> None:
    """Raise StoreError if the stored seal differs from the one computed from the contents."""
    if expected != actual:
        raise StoreError(f"{path} is damaged: the checksum of its attributes and constants does not match its contents")


def sealed(record: FileRecord) -> FileRecord:
    """Return the record with checksums: an array of shape (arrays, blocks) and two attributes are added."""
    names = varying(record.arrays)
    size = states_per_block(record)
    table = [
        [of_values(values[rows]) for rows in slices(len(values), size)]
        for values in (record.arrays[name][1] for name in names)
    ]
    arrays: Arrays = record.arrays | {TABLE: (("checked", "block"), np.array(table, dtype=np.str_))}
    complete = FileRecord(arrays, record.attributes | {BLOCK: size})
    return FileRecord(arrays, complete.attributes | {SEAL: seal_of(complete, table)})


def states_per_block(record: FileRecord) -> int:
    """Return the number of states per block: as many as take a megabyte, and at most the number of states."""
    shapes = [record.arrays[name][1].shape for name in varying(record.arrays)]
    return max(1, min(shapes[0][0], BLOCK_BYTES // (8 * sum(prod(shape[1:]) for shape in shapes))))


def slices(count: int, size: int) -> Iterator[slice]:
    """Return slices of ``size`` that cover ``count`` rows; the last one may be shorter."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


@dataclass(frozen=True)
class States:
    """Blocks of stored states, with access to their values and checksums.

    Attributes
    ----------
    names : sequence of str
        Names of the arrays.
    count : int
        Number of states.
    size : int
        Number of states per block.
    read : callable
        ``read(name, rows)`` returns the rows of an array.
    place : callable
        ``place(name, rows)`` returns the file that holds these rows, for messages.
    expected : dict
        Checksums of the blocks by the name of the array. Empty if there are none.
    """

    names: Sequence[str]
    count: int
    size: int
    read: Callable[[str, slice], npt.NDArray[Any]]
    place: Callable[[str, slice], Path]
    expected: Mapping[str, Sequence[str]]

    def blocks(self) -> Iterator[Rows]:
        """Yield one block after the other; raise StoreError with the name of the file if a block is damaged."""
        for rows in slices(self.count, self.size):
            yield self._block(rows)

    def all(self, path: Path, damaged: str) -> tuple[Rows, str]:
        """Return the arrays of all states, and a note about states that were left out.

        With ``damaged="skip"``, damaged blocks are left out, and a StoreWarning is issued. Otherwise StoreError is
        raised.
        """
        blocks: list[Rows] = []
        left_out: list[str] = []
        for rows in slices(self.count, self.size):
            try:
                blocks.append(self._block(rows))
            except StoreError as problem:
                if damaged != SKIP:
                    skipping = Hint("load(path, damaged='skip')", "in Python, polhode.load(path, damaged='skip')")
                    raise StoreError(problem, "; ", skipping, " returns the other states") from problem
                left_out.append(f"states {rows.start} to {rows.stop - 1} of {self.count} are left out: {problem}")
        if left_out and not blocks:
            raise StoreError(f"{path} has only damaged states: {left_out[0]}")
        note = "; ".join(left_out)
        if note:
            warn(f"{path}: {note}", StoreWarning)
        return {name: np.concatenate([block.pop(name) for block in blocks]) for name in self.names if blocks}, note

    def _block(self, rows: slice) -> Rows:
        """Return one block of all arrays, compared with its checksums."""
        return {name: self._checked(name, rows) for name in self.names}

    def _checked(self, name: str, rows: slice) -> npt.NDArray[Any]:
        """Return one block of one array, compared with its checksum."""
        place = self.place(name, rows)
        with guarded("read", place):
            values = self.read(name, rows)
        if self.expected:
            checksums = self.expected[name]
            number = rows.start // self.size
            compare(place, values, checksums[number] if number < len(checksums) else "")
        return values


def compare(place: Path, values: npt.NDArray[Any], expected: str) -> None:
    """Raise StoreError, with the name of the file ``place``, if the checksum of ``values`` is not ``expected``."""
    if of_values(values) != expected:
        raise StoreError(f"{place} is damaged: its checksum does not match its contents")


def verified(
    record: FileRecord, path: Path, damaged: str, place: Callable[[str, slice], Path] | None = None
) -> FileRecord:
    """Read a record, compare it with its checksums, and return it without them.

    Parameters
    ----------
    record : FileRecord
        FileRecord with checksums, from ``sealed``. The values of its arrays may be any objects that can be sliced.
    path : Path
        File of the record, for messages.
    damaged : {"raise", "skip"}
        Whether damaged blocks of states raise StoreError or are left out.
    place : callable, optional
        ``place(name, rows)`` returns the file that holds rows of an array, for messages.

    Returns
    -------
    FileRecord
    """
    with guarded("read", path):
        check_format(record.attributes)
        arrays = dict(record.arrays)
        attributes = dict(record.attributes)
        names = varying(record.arrays)
        count = len(arrays["time"][1])
        size = count
        expected: dict[str, list[str]] = {}
        if SEAL in attributes:
            table = np.asarray(arrays.pop(TABLE)[1]).astype(np.str_).tolist()
            check_seal(path, attributes[SEAL], seal_of(record, table))
            size = int(attributes.pop(BLOCK))
            expected = dict(zip(names, table, strict=True))
            del attributes[SEAL]
        states = States(
            names, count, size, lambda name, rows: np.asarray(arrays[name][1][rows]), place or _in_file(path), expected
        )
    rows_read, note = states.all(path, damaged)
    arrays |= {name: (arrays[name][0], values) for name, values in rows_read.items()}
    return FileRecord(arrays, with_note(attributes, note))


def with_note(attributes: dict[str, Any], note: str) -> dict[str, Any]:
    """Return the attributes of a trajectory with ``note``, which may be empty, added to the message."""
    message = attributes["message"]
    return attributes | {"message": joined(message, "; " if message and note else "", note)}


def _in_file(path: Path) -> Callable[[str, slice], Path]:
    """Return a function that names rows of an array in a single file, for messages."""
    return lambda name, rows: Path(f"{path}, {name}, states {rows.start} to {rows.stop - 1},")
