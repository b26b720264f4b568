"""The store of a long run: a Zarr group whose arrays have room for all states, and a checkpoint.

States are written in chunks, each of which is a file of its own, once, with its checksum. Then the checkpoint, a small
file, is replaced in one go: it tells how many states count, and holds those after the last whole chunk (the tail) and
where the run is. What is in other files beyond that does not count, and will be written again.

    name.zarr/.zgroup .zattrs .zmetadata     the group; attributes as in ``polhode.record``
    name.zarr/time/0 1 2 ...                 chunks of states; m, q and energy alike
    name.zarr/time/checkpoint                in a folder where Zarr does not look for further members of the group
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from dataclasses import dataclass
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.atomic import guarded, replacing, sync, telling
from polhode.errors import StoreError
from polhode.extras import needed
from polhode.record import LABELS, Arrays, Record

ZARR_FORMAT = 2  # version 3 of Zarr has no texts yet, such as the labels of axes
CHECKPOINT = Path("time", "checkpoint")
FIRST_LINE = b"polhode checkpoint 1 "
CHECKSUM_BYTES = 4

Rows = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """What counts of a store: ``rows`` states in whole chunks, the tail after them, and where the run is.

    ``state`` has whether the run is ``finished``, its ``message`` and ``stats``.
    """

    rows: int
    tail: Rows
    snapshot: Rows
    status: npt.NDArray[np.int64]
    state: dict[str, Any]

    @property
    def count(self) -> int:
        return self.rows + len(self.tail["time"])


def is_store(path: Path) -> bool:
    """Whether a long run was written there."""
    return (path / CHECKPOINT).exists()


def create(path: Path, record: Record, rows: int, chunk: int, checkpoint: Checkpoint) -> None:
    """A store for that many states, with the arrays of the record and those of the (empty) tail."""
    zarr = needed("zarr", "store")
    checksum = needed("numcodecs", "store").CRC32()
    with guarded("written", path), replacing(path) as new:
        if path.exists():
            hint = "type polhode.streaming.resume(path, problem) to go on" if is_store(path) else "choose another name"
            raise StoreError(f"{path} exists already; {hint}")
        group = zarr.create_group(new, zarr_format=ZARR_FORMAT, attributes=record.attributes)
        constants = {name: array for name, array in record.arrays.items() if name not in checkpoint.tail}
        labels: Arrays = {dim: ((dim,), np.array(names)) for dim, names in LABELS.items()}
        for name, (dims, values) in (constants | labels).items():
            group.create_array(
                name,
                data=np.array(values),
                fill_value=None,
                attributes={"_ARRAY_DIMENSIONS": dims} | record.labels(name),
            )
        for name, values in checkpoint.tail.items():
            group.create_array(
                name, shape=(rows, *values.shape[1:]), chunks=(chunk, *values.shape[1:]), dtype=np.float64,
                fill_value=np.nan, compressors=None, filters=[checksum],
                attributes={"_ARRAY_DIMENSIONS": record.arrays[name][0]} | record.labels(name),
            )  # fmt: skip
        zarr.consolidate_metadata(new, zarr_format=ZARR_FORMAT)
        commit(new, checkpoint)


def write_chunk(path: Path, first: int, rows: Rows) -> None:
    """States from number ``first`` on, which begins a chunk, brought to the disk."""
    with guarded("written", path):
        group = needed("zarr", "store").open_group(path, mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False)
        for name, values in rows.items():
            array = group[name]
            array[first : first + len(values)] = values
            sync(_file(path, name, array, first // array.chunks[0]))
        for name in rows:
            sync(path / name)


def commit(path: Path, checkpoint: Checkpoint) -> None:
    """From now on this counts, and nothing else."""
    parts = {"tail": checkpoint.tail, "snapshot": checkpoint.snapshot}
    arrays = {f"{part}/{name}": values for part, table in parts.items() for name, values in table.items()}
    text = json.dumps(checkpoint.state | {"rows": checkpoint.rows})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, text=np.array(text), status=checkpoint.status, **arrays)
    data = buffer.getvalue()
    with replacing(path / CHECKPOINT) as new:
        new.write_bytes(FIRST_LINE + hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def checkpoint_of(path: Path) -> Checkpoint:
    """What was committed last."""
    with telling("read", path):
        if not is_store(path):
            raise StoreError(f"{path} is not the store of a long run: it has no {CHECKPOINT}")
        head, _, data = (path / CHECKPOINT).read_bytes().partition(b"\n")
    if not head.startswith(FIRST_LINE[:-2]):
        raise StoreError(f"{path / CHECKPOINT} is damaged: it does not begin as a checkpoint does")
    if not head.startswith(FIRST_LINE):
        version = head.removeprefix(FIRST_LINE[:-2]).split()[0].decode(errors="replace")
        raise StoreError(f"{path / CHECKPOINT} is of version {version}; type: pip install --upgrade polhode")
    if head[len(FIRST_LINE) :].decode(errors="replace") != hashlib.sha256(data).hexdigest():
        raise StoreError(f"{path / CHECKPOINT} is damaged: its checksum is not that of what it holds")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        state = json.loads(str(arrays["text"]))
        tables: dict[str, Rows] = {"tail": {}, "snapshot": {}}
        for key in arrays.files:
            part, _, name = key.partition("/")
            if name:
                tables[part][name] = arrays[key]
        return Checkpoint(state.pop("rows"), tables["tail"], tables["snapshot"], arrays["status"], state)


def committed(path: Path) -> Record:
    """All states that count, as a record; its message tells if the run is not finished."""
    checkpoint = checkpoint_of(path)
    with guarded("read", path):
        group = needed("zarr", "store").open_group(path, mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False)
        attributes = dict(group.attrs)
        arrays: Arrays = {}
        for name, array in group.arrays():
            dims = tuple(array.attrs["_ARRAY_DIMENSIONS"])
            if name in checkpoint.tail:
                _check_files(path, name, array, checkpoint.rows)
                arrays[name] = dims, np.concatenate([array[: checkpoint.rows], checkpoint.tail[name]])
            elif name not in LABELS:
                arrays[name] = dims, np.asarray(array[...])
    arrays["status"] = arrays["status"][0], checkpoint.status
    return Record(arrays, attributes | {key: checkpoint.state[key] for key in ("message", "stats")})


def constants(path: Path) -> Rows:
    """Arrays that belong to the problem."""
    with guarded("read", path):
        group = needed("zarr", "store").open_group(path, mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False)
        varying = {"status", *LABELS}
        found = {name: array for name, array in group.arrays() if name not in varying}
        return {name: array[...] for name, array in found.items() if array.attrs["_ARRAY_DIMENSIONS"][:1] != ["time"]}


def check(path: Path, checkpoint: Checkpoint) -> dict[str, Any]:
    """The attributes of a store whose committed chunks are all there, in full length."""
    with guarded("read", path):
        group = needed("zarr", "store").open_group(path, mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False)
        for name in checkpoint.tail:
            _check_files(path, name, group[name], checkpoint.rows)
        return dict(group.attrs)


def tidy(path: Path) -> None:
    """Remove what processes left behind that were ended while they wrote: in the store, or while they made one."""
    with telling("written", path):
        for leftover in (*path.rglob("*.partial"), *path.glob(f"time/.*-{CHECKPOINT.name}")):
            leftover.unlink()
        for unfinished in path.parent.glob(f".????????-{path.name}"):
            shutil.rmtree(unfinished, ignore_errors=True)


def close(path: Path, checkpoint: Checkpoint) -> None:
    """Tell other readers of the store how the run went, and cut off the room that it did not need."""
    zarr = needed("zarr", "store")
    with guarded("written", path):
        group = zarr.open_group(path, mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False)
        for name in checkpoint.tail:
            group[name].resize((checkpoint.rows, *group[name].shape[1:]))
        group["status"][...] = checkpoint.status
        group.attrs.update({key: checkpoint.state[key] for key in ("message", "stats")})
        zarr.consolidate_metadata(path, zarr_format=ZARR_FORMAT)


def _file(path: Path, name: str, array: Any, number: int) -> Path:
    """Of a chunk; chunks are parts of the first axis only."""
    return path / name / ".".join([str(number), *["0"] * (array.ndim - 1)])


def _check_files(path: Path, name: str, array: Any, rows: int) -> None:
    """That every chunk up to so many states is a file of full length: what is missing would read as NaN."""
    size = prod(array.chunks) * 8 + CHECKSUM_BYTES
    for number in range(ceil(rows / array.chunks[0])):
        file = _file(path, name, array, number)
        found = file.stat().st_size if file.exists() else 0
        if found != size:
            raise StoreError(f"{file} is damaged: it has {found} of {size} bytes")
