"""Store of a long run: a Zarr group, whose arrays have space for all states, and a checkpoint.

States are written in chunks; each chunk is a file of its own, with a checksum, and is written once. Then the
checkpoint, a small file, is replaced atomically. It holds the number of committed states, the states after the last
whole chunk (the tail), the current state of the run, and the checksums (see ``polhode.files.checksums``) of
attributes, constants and chunks, in their order. Data in other files beyond that are ignored and will be overwritten.

    name.zarr/.zgroup .zattrs .zmetadata     the group; attributes as in ``polhode.files.record``
    name.zarr/time/0 1 2 ...                 chunks of states; the same for m, q and energy
    name.zarr/time/checkpoint                in a folder where Zarr does not look for members of the group
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from dataclasses import dataclass, replace
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.capacity import memory_for
from polhode.core.errors import StoreError
from polhode.core.extras import optional
from polhode.core.messages import Hint, joined
from polhode.files import checksums
from polhode.files.atomic import guarded, replacing, sync, telling
from polhode.files.folder import folder
from polhode.files.record import LABELS, Arrays, FileRecord, check_format

ZARR_FORMAT = 2  # version 3 has no strings yet, which the labels of axes need
CHECKPOINT = Path("time", "checkpoint")
FIRST_LINE = b"polhode checkpoint 1 "
CHECKSUM_BYTES = 4
GO_ON = Hint("type polhode.resume(path, problem) to go on", "type polhode resume FOLDER to go on")
CHANGES = ("message", "stats")  # attributes that change while the run proceeds

Rows = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """Committed contents of a store.

    Attributes
    ----------
    rows : int
        Number of states in whole chunks.
    tail : dict of ndarray
        States after the last whole chunk.
    snapshot : dict of ndarray
        State of the run, from which it can continue.
    status : ndarray of int
        Status of each body.
    state : dict
        Whether the run is ``finished``, its ``message`` and ``stats``.
    checksums : dict of list of str
        Checksums of the chunks of each array. Empty if an earlier version wrote the store.
    seal : str
        Checksum of attributes and constants. Empty if an earlier version wrote the store.
    """

    rows: int
    tail: Rows
    snapshot: Rows
    status: npt.NDArray[np.int64]
    state: dict[str, Any]
    checksums: dict[str, list[str]]
    seal: str

    @property
    def count(self) -> int:
        """Number of committed states, including the tail."""
        return self.rows + len(self.tail["time"])

    def message(self, total: int) -> str:
        """Return how the run of ``total`` states ended, or how to continue it; files have the words of Python only."""
        return str(self.state["message"]) if self.state["finished"] else not_finished(self.count, total)


def not_finished(count: int, total: int) -> str:
    """Return the message of a run of which ``count`` states of ``total`` are computed."""
    return joined(f"not finished: {count} of {total} states; ", GO_ON)


def is_store(path: Path) -> bool:
    """Return whether ``path`` is the store of a long run."""
    return (path / CHECKPOINT).exists()


def check_new(path: Path) -> None:
    """Raise StoreError if there is anything at ``path``: stores are never overwritten."""
    if path.exists():
        raise StoreError(f"{path} exists already; ", GO_ON if is_store(path) else "choose another name")


def create(path: Path, record: FileRecord, rows: int, chunk: int, checkpoint: Checkpoint) -> None:
    """Create a store without states.

    Parameters
    ----------
    path : Path
        Folder to create.
    record : FileRecord
        Constant arrays, dimensions and attributes.
    rows : int
        Number of states for which the arrays have space.
    chunk : int
        Number of states per chunk.
    checkpoint : Checkpoint
        First checkpoint; its tail is empty and has the names and shapes of the arrays of states.
    """
    with optional("zarr", "store"):
        import numcodecs
        import zarr
    checksum = numcodecs.CRC32()
    with guarded("written", path), replacing(path) as new:
        check_new(path)
        group = zarr.create_group(folder(new), zarr_format=ZARR_FORMAT, attributes=record.attributes)
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
    """Write states to the store and sync them to the disk; ``first`` is the number of the first state of a chunk."""
    import zarr

    with guarded("written", path), zarr.config.set({"array.write_empty_chunks": True}):  # chunks of NaN are data
        group = zarr.open_group(path, mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False)
        for name, values in rows.items():
            array = group[name]
            array[first : first + len(values)] = values
            sync(chunk_file(path, name, array.ndim, first // array.chunks[0]))
        for name in rows:
            sync(path / name)


def commit(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a store; from then on, it determines the committed contents."""
    known = {name: np.array(texts, dtype="S64") for name, texts in checkpoint.checksums.items()}
    parts = {"tail": checkpoint.tail, "snapshot": checkpoint.snapshot, "checksums": known}
    arrays = {f"{part}/{name}": values for part, table in parts.items() for name, values in table.items()}
    text = json.dumps(checkpoint.state | {"rows": checkpoint.rows, "seal": checkpoint.seal})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, text=np.array(text), status=checkpoint.status, **arrays)
    data = buffer.getvalue()
    with replacing(path / CHECKPOINT) as new:
        new.write_bytes(FIRST_LINE + hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def checkpoint_of(path: Path) -> Checkpoint:
    """Return the last checkpoint of a store; raise StoreError if it is missing or damaged."""
    with telling("read", path):
        if not is_store(path):
            raise StoreError(f"{path} is not the store of a long run: it has no {CHECKPOINT}")
        head, _, data = (path / CHECKPOINT).read_bytes().partition(b"\n")
    if not head.startswith(FIRST_LINE[:-2]):
        raise StoreError(f"{path / CHECKPOINT} is damaged: it does not begin like a checkpoint of polhode")
    if not head.startswith(FIRST_LINE):
        version = head.removeprefix(FIRST_LINE[:-2]).split()[0].decode(errors="replace")
        raise StoreError(f"{path / CHECKPOINT} is of version {version}; type: pip install --upgrade polhode")
    if head[len(FIRST_LINE) :].decode(errors="replace") != hashlib.sha256(data).hexdigest():
        raise StoreError(f"{path / CHECKPOINT} is damaged: its checksum does not match its contents")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        state = json.loads(str(arrays["text"]))
        tables: dict[str, Rows] = {"tail": {}, "snapshot": {}, "checksums": {}}
        for key in arrays.files:
            part, _, name = key.partition("/")
            if name:
                tables[part][name] = arrays[key]
        known = {name: values.astype(np.str_).tolist() for name, values in tables["checksums"].items()}
        rows = state.pop("rows")
        seal = state.pop("seal", "")
        return Checkpoint(rows, tables["tail"], tables["snapshot"], arrays["status"], state, known, seal)


def seal_of(record: FileRecord) -> str:
    """Return the checksum of everything that does not change while the run proceeds."""
    attributes = {name: value for name, value in record.attributes.items() if name not in CHANGES}
    arrays = {name: array for name, array in record.arrays.items() if name not in ("status", *LABELS)}
    return checksums.seal_of(FileRecord(arrays, attributes))


def committed(path: Path, damaged: str = checksums.RAISE) -> FileRecord:
    """Return all committed states as a record; its message says whether the run is not finished.

    ``damaged`` is "raise" or "skip", as in ``load``.
    """
    checkpoint = checkpoint_of(path)
    record = _opened(path, checkpoint)
    size = 8 * checkpoint.count * sum(prod(tail.shape[1:]) for tail in checkpoint.tail.values())
    arrays = dict(record.arrays)
    with memory_for(f"{path}: {checkpoint.count} states", size, "read a part of it: xarray.open_zarr(path)"):
        states, note = _chunks(path, record, checkpoint).all(path, damaged)
        for name, tail in checkpoint.tail.items():
            arrays[name] = arrays[name][0], np.concatenate([states[name], tail]) if states else tail
    arrays["status"] = arrays["status"][0], checkpoint.status
    message = checkpoint.message(json.loads(record.attributes["plan"])["total"])
    attributes = record.attributes | {"message": message, "stats": checkpoint.state["stats"]}
    return FileRecord(arrays, checksums.with_note(attributes, note))


def verify(path: Path, checkpoint: Checkpoint) -> Checkpoint:
    """Read and compare all committed data, and return the checkpoint with the checksums of all chunks.

    Stores of earlier versions have no checksums; they are added. StoreError is raised if a chunk is damaged.
    """
    record = _opened(path, checkpoint)
    known: dict[str, list[str]] = {name: [] for name in checkpoint.tail}
    for block in _chunks(path, record, checkpoint).blocks():
        for name, values in block.items():
            known[name].append(checksums.of_values(values))
    return replace(checkpoint, checksums=known, seal=seal_of(record))


def constants(path: Path) -> Rows:
    """Return the constant arrays of a store, which describe the problem, by name."""
    arrays = _opened(path, checkpoint_of(path)).arrays
    varies = ("status", *LABELS, *checksums.varying(arrays))
    return {name: values for name, (_, values) in arrays.items() if name not in varies}


def check(path: Path, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the attributes of a store; raise StoreError unless all committed chunks are files of full length."""
    record = _opened(path, checkpoint)
    with guarded("read", path):
        for name in checkpoint.tail:
            array: Any = record.arrays[name][1]
            for number in range(ceil(checkpoint.rows / array.chunks[0])):
                _check_length(chunk_file(path, name, array.ndim, number), array)
    return record.attributes


def _opened(path: Path, checkpoint: Checkpoint) -> FileRecord:
    """Return the record of a store, compared with its seal; arrays of states are Zarr arrays that are not read yet."""
    with optional("zarr", "store"):
        import zarr
    with guarded("read", path):
        group = zarr.open_group(path, mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False)
        arrays: Arrays = {}
        for name, array in group.arrays():
            dims = tuple(array.attrs["_ARRAY_DIMENSIONS"])
            arrays[name] = dims, array if name in checkpoint.tail else np.asarray(array[...])
        record = FileRecord(arrays, dict(group.attrs))
        check_format(record.attributes)
        if checkpoint.seal:
            checksums.check_seal(path, checkpoint.seal, seal_of(record))
    return record


def _chunks(path: Path, record: FileRecord, checkpoint: Checkpoint) -> checksums.States:
    """Return access to the committed chunks and their checksums."""
    size = json.loads(record.attributes["plan"])["chunk"]

    def place(name: str, rows: slice) -> Path:
        return chunk_file(path, name, len(record.arrays[name][0]), rows.start // size)

    def read(name: str, rows: slice) -> npt.NDArray[Any]:
        array: Any = record.arrays[name][1]
        _check_length(place(name, rows), array)
        return np.asarray(array[rows])

    return checksums.States(list(checkpoint.tail), checkpoint.rows, size, read, place, checkpoint.checksums)


def tidy(path: Path) -> None:
    """Remove temporary files of processes that ended while they created the store or wrote to it."""
    with telling("written", path):
        for leftover in (*path.rglob("*.partial"), *path.glob(f"time/.*-{CHECKPOINT.name}")):
            leftover.unlink()
        for unfinished in path.parent.glob(f".????????-{path.name}"):
            shutil.rmtree(unfinished, ignore_errors=True)


def close(path: Path, checkpoint: Checkpoint) -> None:
    """Finish a store: add status and message for other readers, and remove the space that is not used."""
    import zarr

    with guarded("written", path):
        group = zarr.open_group(path, mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False)
        for name in checkpoint.tail:
            group[name].resize((checkpoint.rows, *group[name].shape[1:]))
        group["status"][...] = checkpoint.status
        group.attrs.update({key: checkpoint.state[key] for key in CHANGES})
        zarr.consolidate_metadata(path, zarr_format=ZARR_FORMAT)


def chunk_file(path: Path, name: str, dimensions: int, number: int) -> Path:
    """Return the file of chunk ``number`` of an array; only the first axis is divided into chunks."""
    return path / name / ".".join([str(number), *["0"] * (dimensions - 1)])


def _check_length(file: Path, array: Any) -> None:
    """Raise StoreError unless a chunk is a file of full length; Zarr would read a missing one as NaN."""
    expected = prod(array.chunks) * 8 + CHECKSUM_BYTES
    actual = file.stat().st_size if file.exists() else 0
    if actual != expected:
        raise StoreError(f"{file} is damaged: it has {actual} of {expected} bytes")
