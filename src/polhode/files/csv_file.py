"""Trajectories as comma-separated values: lines "# name = JSON" with all that is not a function of time, then a table.

One line per time and body, numbers with as many digits as float64 needs. ``pandas.read_csv(path, comment="#")`` reads
the table alone.
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
from polhode.files.record import LABELS, Arrays, Record

TIMES_PER_PIECE = 1000


def write(record: Record, path: Path) -> None:
    """The lines of a record."""
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
    labels = LABELS.get(table[name][0][-1], ())
    return [f"{name}_{label}" for label in labels] or [name]


def _rows(table: Arrays, batch: tuple[int, ...]) -> Iterator[list[str]]:
    times, n = table["time"][1], prod(batch)
    places = ["".join(f"{i}," for i in index) for index in product(*map(range, batch))]
    arrays = [values.reshape(len(times), n, -1) for name, (_, values) in table.items() if name != "time"]
    for first in range(0, len(times), TIMES_PER_PIECE):
        piece = slice(first, first + TIMES_PER_PIECE)
        numbers = np.concatenate([values[piece] for values in arrays], axis=-1).tolist()
        yield [
            f"{t!r},{place}{','.join(map(repr, row))}\n"
            for t, rows in zip(times[piece].tolist(), numbers, strict=True)
            for place, row in zip(places, rows, strict=True)
        ]


def read(path: Path) -> Record:
    """The record of a file that ``write`` wrote."""
    head: dict[str, Any] = {}
    with path.open(encoding="utf-8") as file:
        line = file.readline()
        while line.startswith("# "):
            name, _, value = line[2:].partition(" = ")
            head[name] = json.loads(value)
            line = file.readline()
        if "table" not in head:
            raise StoreError(
                "the lines '# name = value' at its beginning are missing, without which it is only numbers"
            )
        numbers = np.loadtxt(file, delimiter=",", ndmin=2)
    count, batch, table = head.pop("times"), tuple(head.pop("batch")), head.pop("table")
    if len(numbers) != count * prod(batch):
        raise StoreError(f"it has {len(numbers)} lines of numbers; {count * prod(batch)} were written")
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
    return Record(arrays, head)
