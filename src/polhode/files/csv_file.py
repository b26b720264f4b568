"""Trajectories as comma-separated values: lines "# name = JSON" with everything that is constant, and then a table.

The table has one line per time and body; numbers have as many digits as are necessary to reproduce every float64.
``pandas.read_csv(path, comment="#")`` reads the table alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.errors import StoreError
from polhode.files import checksums
from polhode.files.record import LABELS, Arrays, FileRecord

TIMES_PER_PIECE = 1000  # converted to text at once


def write(record: FileRecord, path: Path) -> None:
    """Write a record to a CSV file."""
    table = {name: (dims, values) for name, (dims, values) in record.arrays.items() if dims[:1] == ("time",)}
    rest = {name: (dims, values) for name, (dims, values) in record.arrays.items() if name not in table}
    dims, m = table["m"]
    batch = m.shape[1:-1]
    columns = ["time", *dims[1:-1]] + [column for name in table if name != "time" for column in _columns(name, table)]
    header = {name: {"dims": dims, "values": values.tolist()} for name, (dims, values) in rest.items()}
    shape = {"times": len(m), "batch": batch, "table": {name: dims for name, (dims, _) in table.items()}}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for name, value in (record.attributes | shape | header).items():
            file.write(f"# {name} = {json.dumps(value, ensure_ascii=False)}\n")
        file.write(",".join(columns) + "\n")
        for lines in _rows(table, batch):
            file.writelines(lines)


def _columns(name: str, table: Arrays) -> list[str]:
    """Return the names of the columns of an array: one for each component."""
    labels = LABELS.get(table[name][0][-1], ())
    return [f"{name}_{label}" for label in labels] or [name]


def _rows(table: Arrays, batch: tuple[int, ...]) -> Iterator[list[str]]:
    """Yield lists of lines of the table: the time, the index of the body in a batch, and the numbers."""
    times = table["time"][1]
    n = prod(batch)
    indices = ["".join(f"{i}," for i in index) for index in product(*map(range, batch))]
    arrays = [values.reshape(len(times), n, -1) for name, (_, values) in table.items() if name != "time"]
    for first in range(0, len(times), TIMES_PER_PIECE):
        piece = slice(first, first + TIMES_PER_PIECE)
        numbers = np.concatenate([values[piece] for values in arrays], axis=-1).tolist()
        yield [
            f"{t!r},{index}{','.join(map(repr, row))}\n"
            for t, rows in zip(times[piece].tolist(), numbers, strict=True)
            for index, row in zip(indices, rows, strict=True)
        ]


def read(path: Path, damaged: str) -> FileRecord:
    """Return the record of a file written by ``write``; raise StoreError if it is not complete."""
    return checksums.verified(_record(path), path, damaged)


def _record(path: Path) -> FileRecord:
    """Return the record of a file, which is not compared with its checksums."""
    head: dict[str, Any] = {}
    with path.open(encoding="utf-8") as file:
        line = file.readline()
        while line.startswith("# "):
            name, _, value = line[2:].partition(" = ")
            head[name] = json.loads(value)
            line = file.readline()
        if "table" not in head:
            raise StoreError(
                "the lines '# name = value' at its beginning are missing; expected a .csv file written by polhode"
            )
        numbers = np.loadtxt(file, delimiter=",", ndmin=2)
    count = head.pop("times")
    batch = tuple(head.pop("batch"))
    table = head.pop("table")
    if len(numbers) != count * prod(batch):
        raise StoreError(f"it has {len(numbers)} lines of numbers; expected {count * prod(batch)}")
    arrays: Arrays = {}
    for name in [name for name, value in head.items() if isinstance(value, dict)]:
        stored = head.pop(name)
        arrays[name] = tuple(stored["dims"]), np.array(stored["values"])
    arrays["time"] = ("time",), np.ascontiguousarray(numbers[:: prod(batch), 0])
    del table["time"]
    column = 1 + len(batch)
    for name, dims in table.items():
        components = tuple(len(LABELS[dim]) for dim in dims[-1:] if dim in LABELS)
        width = prod(components)
        values = numbers[:, column : column + width].reshape(count, *batch, *components)
        arrays[name] = tuple(dims), np.ascontiguousarray(values)
        column += width
    return FileRecord(arrays, head)
