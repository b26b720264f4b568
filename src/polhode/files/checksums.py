"""Checksums of what is stored: one of all that does not vary in time, and one of each block of states of each array.

The first, the seal, covers attributes, names, dimensions, constant arrays and the table of the others. Checksums are
taken of values, not of bytes in a file, so that they hold in every format. Where there are none, because an earlier
version wrote the file, nothing is compared.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.errors import InputError, StoreError, StoreWarning
from polhode.files.atomic import guarded
from polhode.files.record import Arrays, Record, check_format

SEAL, TABLE, BLOCK = "checksum", "checksums", "checksum_states"  # two attributes, and an array between them
BLOCK_BYTES = 2**20  # of states, all arrays together
RAISE: str = "raise"
SKIP: str = "skip"

Rows = dict[str, npt.NDArray[Any]]


def as_damaged(damaged: str) -> str:
    """What to do with what is damaged, if it is one of the known ways."""
    if damaged not in (RAISE, SKIP):
        raise InputError(f"damaged is {damaged!r}; expected {RAISE!r} or {SKIP!r}")
    return damaged


def of_values(values: npt.NDArray[Any]) -> str:
    """SHA-256 of numbers with their type and shape; all NaN are alike, as they are in texts."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("<")) if values.size else np.empty(0)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)
    return hashlib.sha256(f"{values.dtype.str} {values.shape} ".encode() + values.tobytes()).hexdigest()


def of_texts(texts: Any) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def seal_of(record: Record, table: Any = None) -> str:
    """The checksum of all but the states."""
    attributes = {name: value for name, value in record.attributes.items() if name != SEAL}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()}
    arrays = {
        name: [list(dims), "varies" if _varies(dims) else of_values(np.asarray(values))]
        for name, (dims, values) in record.arrays.items()
        if name != TABLE
    }
    return of_texts([plain, arrays, table])


def _varies(dims: tuple[str, ...]) -> bool:
    return dims[:1] == ("time",)


def varying(arrays: Arrays) -> list[str]:
    """Names of the arrays of states, sorted."""
    return sorted(name for name, (dims, _) in arrays.items() if _varies(dims))


def check_seal(path: Path, expected: str, found: str) -> None:
    if expected != found:
        raise StoreError(
            f"{path} is damaged: the checksum of its attributes and constants is not that of what it holds"
        )


def sealed(record: Record) -> Record:
    """The record with checksums: a table (arrays by name, blocks), and two attributes."""
    names = varying(record.arrays)
    size = states_per_block(record)
    table = [
        [of_values(values[rows]) for rows in slices(len(values), size)]
        for values in (record.arrays[name][1] for name in names)
    ]
    arrays: Arrays = record.arrays | {TABLE: (("checked", "block"), np.array(table, dtype=np.str_))}
    complete = Record(arrays, record.attributes | {BLOCK: size})
    return Record(arrays, complete.attributes | {SEAL: seal_of(complete, table)})


def states_per_block(record: Record) -> int:
    """As many as take a megabyte, but no more than there are."""
    shapes = [record.arrays[name][1].shape for name in varying(record.arrays)]
    return max(1, min(shapes[0][0], BLOCK_BYTES // (8 * sum(prod(shape[1:]) for shape in shapes))))


def slices(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


@dataclass(frozen=True)
class States:
    """Arrays of ``count`` states in blocks of ``size``: how to read them, where they are, and their checksums."""

    names: Sequence[str]
    count: int
    size: int
    read: Callable[[str, slice], npt.NDArray[Any]]
    place: Callable[[str, slice], Path]
    expected: Mapping[str, Sequence[str]]

    def blocks(self) -> Iterator[Rows]:
        """One after the other; StoreError, with the name of the place, at the first that is damaged."""
        for rows in slices(self.count, self.size):
            yield self._block(rows)

    def all(self, path: Path, damaged: str) -> tuple[Rows, str]:
        """All of them, or with ``damaged="skip"`` all that are not damaged, with a warning and its text."""
        blocks, left_out = [], []
        for rows in slices(self.count, self.size):
            try:
                blocks.append(self._block(rows))
            except StoreError as problem:
                if damaged != SKIP:
                    raise StoreError(f"{problem}; load(path, damaged='skip') returns the other states") from problem
                left_out.append(f"states {rows.start} to {rows.stop - 1} of {self.count} are left out: {problem}")
        if left_out and not blocks:
            raise StoreError(f"{path} has no states that are not damaged: {left_out[0]}")
        told = "; ".join(left_out)
        if told:
            warnings.warn(f"{path}: {told}", StoreWarning, stacklevel=5)
        return {name: np.concatenate([block.pop(name) for block in blocks]) for name in self.names if blocks}, told

    def _block(self, rows: slice) -> Rows:
        return {name: self._checked(name, rows) for name in self.names}

    def _checked(self, name: str, rows: slice) -> npt.NDArray[Any]:
        place = self.place(name, rows)
        with guarded("read", place):
            values = self.read(name, rows)
        if self.expected:
            known, number = self.expected[name], rows.start // self.size
            compare(place, values, known[number] if number < len(known) else "")
        return values


def compare(place: Path, values: npt.NDArray[Any], expected: str) -> None:
    if of_values(values) != expected:
        raise StoreError(f"{place} is damaged: its checksum is not that of what it holds")


def verified(record: Record, path: Path, damaged: str, place: Callable[[str, slice], Path] | None = None) -> Record:
    """The record that was sealed, compared with its checksums. Values of its arrays may be anything with slices."""
    with guarded("read", path):
        check_format(record.attributes)
        arrays, attributes, names = dict(record.arrays), dict(record.attributes), varying(record.arrays)
        count = len(arrays["time"][1])
        size, expected = count, {}
        if SEAL in attributes:
            table = np.asarray(arrays.pop(TABLE)[1]).astype(np.str_).tolist()
            check_seal(path, attributes[SEAL], seal_of(record, table))
            size, expected = int(attributes.pop(BLOCK)), dict(zip(names, table, strict=True))
            del attributes[SEAL]
        states = States(
            names, count, size, lambda name, rows: np.asarray(arrays[name][1][rows]), place or _in_file(path), expected
        )
    found, told = states.all(path, damaged)
    arrays |= {name: (arrays[name][0], values) for name, values in found.items()}
    return Record(arrays, with_note(attributes, told))


def with_note(attributes: dict[str, Any], told: str) -> dict[str, Any]:
    """The message of a trajectory says what is missing, too."""
    notes = [text for text in (attributes["message"], told) if text]
    return attributes | {"message": "; ".join(notes)}


def _in_file(path: Path) -> Callable[[str, slice], Path]:
    return lambda name, rows: Path(f"{path}, {name}, states {rows.start} to {rows.stop - 1},")
