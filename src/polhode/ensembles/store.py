"""Storage of the results of an ensemble: arrays in memory, or a Zarr store that is written chunk by chunk.

The dimensions are ``member``, then ``time``, ``xyz`` and so on. The chunks of the store are those of the computation,
each in a file of its own, so that several processes can write at the same time. A chunk is finished once its mark
exists: a small file that is written last and also holds the errors of the members and the checksums of the arrays.

    name.zarr/m/0.0.0  q/0.0.0  status/0 ...    chunks of members, as in ``polhode.files.chunked``
    name.zarr/status/done/0.json                 the mark of chunk 0

``polhode.ensembles.reader`` reads the store.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.capacity import check_disk, memory_for
from polhode.core.errors import StoreError
from polhode.core.extras import optional
from polhode.core.messages import Hint
from polhode.ensembles.members import Chunk
from polhode.ensembles.reader import (
    MARKS,
    Contents,
    Errors,
    failures,
    finished,
    mark_of,
    opened,
    seal_of,
    unfinished,
    warn_of_loss,
)
from polhode.files import chunked
from polhode.files.atomic import guarded, replacing, sync
from polhode.files.checksums import SEAL, of_texts, of_values
from polhode.files.chunked import ZARR_FORMAT
from polhode.files.folder import folder
from polhode.files.record import LABELS, FileRecord, check_functions
from polhode.kernels.stepping.status import Status

FEWER = Hint(
    "keep fewer times (t_eval=...) or a summary (reduce=...), follow fewer members",
    "keep fewer times (--set ensemble.states=...) or a summary (--set ensemble.reduce=...), follow fewer members "
    "(--set ensemble.count=...)",
)
STARTS = ("m", "omega", "q")  # these samples are stored as start_m and so on, because results have the same names
COMPONENTS = {"xyz": ("m", "omega", "moments", "damping"), "quaternion": ("q",)}
MAY_DIFFER = ("environment", "polhode", "message", "functions")  # functions are compared part by part
NO_NUMBER = {"status": np.int64(Status.INTERRUPTED)}


@dataclass(frozen=True)
class Layout:
    """Names, shapes and attributes of the arrays in which an ensemble is stored.

    Attributes
    ----------
    count : int
        Number of members.
    chunk : int
        Number of members per chunk.
    samples, results : dict
        Shapes, for one member, of samples and results by name.
    times : ndarray, shape (k,), or None
        Times of the first axis of the results, if they are states at these times.
    attributes : dict
        Attributes of the Dataset.
    """

    count: int
    chunk: int
    samples: dict[str, tuple[int, ...]]
    results: dict[str, tuple[int, ...]]
    times: npt.NDArray[np.float64] | None
    attributes: dict[str, Any]

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.count // self.chunk)

    def size(self, members: int) -> int:
        """Return the number of bytes of the samples and results of ``members`` members."""
        return 8 * members * sum(prod(shape[1:]) for _, shape in self.arrays().values())

    def check_room(self, path: Path, members: int) -> None:
        """Raise StoreError if the arrays of ``members`` members do not fit on the disk."""
        check_disk(path, f"{members} members", self.size(members), FEWER)

    def arrays(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return the dimensions and the shape of every array with members along the first axis."""
        arrays = {stored_name(name): (dimensions(name, shape), shape) for name, shape in self.samples.items()}
        for name, shape in self.results.items():
            if name in arrays or name == "status":
                raise StoreError(f"{name} is the name of a sample and of a result; rename one of them")
            timed = ("time",) if self.times is not None else ()
            arrays[name] = (*timed, *dimensions(name, shape[len(timed) :])), shape
        arrays["status"] = (), ()
        return {name: (("member", *dims), (self.count, *shape)) for name, (dims, shape) in arrays.items()}

    def labels(self, name: str) -> dict[str, str]:
        """Return the attributes of an array: its unit and its frame, if they are known."""
        return FileRecord({}, self.attributes).labels(name)

    def coordinates(self) -> dict[str, npt.NDArray[Any]]:
        """Return the coordinates by dimension: the times, and the labels of components."""
        used = {dim for dims, _ in self.arrays().values() for dim in dims}
        times = {} if self.times is None else {"time": self.times}
        return times | {dim: np.array(names) for dim, names in LABELS.items() if dim in used}


def stored_name(sample: str) -> str:
    """Return the name of the array in which a sample is stored."""
    return f"start_{sample}" if sample in STARTS else sample


def dimensions(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the axes of an array; "xyz" or "quaternion" where the components are known."""
    for dim, names in COMPONENTS.items():
        if name in names and shape == (len(LABELS[dim]),):
            return (dim,)
    return tuple(f"{stored_name(name)}_{axis}" for axis in range(len(shape)))


def empty(name: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array filled with the value of members that are not computed yet: NaN, or the status INTERRUPTED."""
    return np.full(shape, NO_NUMBER.get(name, np.nan))


def rows_of_chunk(chunk: Chunk) -> chunked.Rows:
    """Return all arrays of a chunk by the names under which they are stored."""
    samples = {stored_name(name): values for name, values in chunk.samples.items()}
    return samples | chunk.arrays | {"status": chunk.status}


class InMemory:
    """Sink that keeps all results as arrays in memory."""

    path = None

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        with memory_for(f"{layout.count} members", layout.size(layout.count), f"{FEWER}, or type out='name.zarr'"):
            self.arrays = {name: empty(name, shape) for name, (_, shape) in layout.arrays().items()}
        self.finished: set[int] = set()
        self.errors: Errors = {}
        self.environments: list[dict[str, str]] = []

    def put(self, number: int, chunk: Chunk) -> None:
        """Add the results of chunk ``number``."""
        for name, values in rows_of_chunk(chunk).items():
            self.arrays[name][chunk.first : chunk.first + len(values)] = values
        self.errors |= chunk.errors
        self.environments.append(chunk.environment)
        self.finished.add(number)

    def close(self) -> Any:
        """Return all samples and results as an xarray.Dataset."""
        with optional("xarray", "store"):
            import xarray
        layout = self.layout
        variables = {
            name: (dims, self.arrays[name], layout.labels(name)) for name, (dims, _) in layout.arrays().items()
        }
        members, texts = failures(self.errors)
        variables |= {"failed": (("failure",), members, {}), "error": (("failure",), texts, {})}
        coordinates = {name: ((name,), values) for name, values in layout.coordinates().items()}
        message = unfinished(layout.chunks - len(self.finished), layout.chunks, "with out='name.zarr' it could go on")
        return xarray.Dataset(variables, coordinates, layout.attributes | {"message": message})


class OnDisk:
    """Sink that writes to a Zarr store; ``put`` may be called from any process that can write to the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, layout: Layout) -> OnDisk:
        """Create an empty store; raise StoreError if ``path`` exists or the results do not fit on the disk."""
        with optional("zarr", "store"):
            import numcodecs
            import zarr
        checksum = numcodecs.CRC32()
        with guarded("written", path), replacing(path) as new:
            if path.exists():
                again = Hint("type resume=True", "add --resume")
                raise StoreError(f"{path} exists already; ", again, " to go on, or choose another name")
            layout.check_room(path, layout.count)
            seal = seal_of(layout.attributes, layout.arrays(), layout.coordinates())
            group = zarr.create_group(folder(new), zarr_format=ZARR_FORMAT, attributes=layout.attributes | {SEAL: seal})
            for name, values in layout.coordinates().items():
                group.create_array(name, data=values, fill_value=None, attributes={"_ARRAY_DIMENSIONS": (name,)})
            for name, (dims, shape) in layout.arrays().items():
                fill = empty(name, ())
                group.create_array(
                    name, shape=shape, chunks=(layout.chunk, *shape[1:]), dtype=fill.dtype, fill_value=fill[()],
                    compressors=None, filters=[checksum],
                    attributes={"_ARRAY_DIMENSIONS": dims} | layout.labels(name),
                )  # fmt: skip
            (new / MARKS).mkdir(parents=True)
            zarr.consolidate_metadata(new, zarr_format=ZARR_FORMAT)
        return cls(path)

    @classmethod
    def reopen(cls, path: Path, layout: Layout, *, force: bool = False) -> OnDisk:
        """Open the store of an unfinished ensemble to continue it; damaged chunks will be computed again.

        Parameters
        ----------
        path : Path
            Folder of the store.
        layout : Layout
            Layout of the ensemble, which must be that of the store.
        force : bool, optional
            Whether to continue even if user functions have changed.

        Returns
        -------
        OnDisk

        Raises
        ------
        StoreError
            If the store belongs to another ensemble.
        InputError
            If user functions have changed and ``force`` is False.
        """
        contents = Contents(path)
        stored = contents.attributes
        expected = layout.attributes
        changed = [key for key in expected if key not in MAY_DIFFER and stored.get(key) != expected[key]]
        if changed:
            changes = "; ".join(f"{key} was {stored.get(key)!r} and is {expected[key]!r}" for key in changed)
            raise StoreError(
                f"{path} is another ensemble: {changes}; repeat the ",
                Hint("call", "command"),
                " as it was, or choose another name",
            )
        if not force:
            check_functions(path, json.loads(stored.get("functions", "null")), json.loads(expected["functions"]))
        for leftover in (*path.glob("*/*.partial"), *path.glob(f"{MARKS}/.*.json")):
            leftover.unlink(missing_ok=True)
        contents.check(read=True)
        for number in contents.lost:
            (path / MARKS / f"{number}.json").unlink()
        if contents.lost:
            warn_of_loss(contents, "they are computed again")
        store = cls(path)
        layout.check_room(path, max(0, layout.count - layout.chunk * len(store.finished)))
        return store

    @property
    def finished(self) -> set[int]:
        """Numbers of the finished chunks."""
        return set(finished(self.path))

    @property
    def environments(self) -> list[dict[str, str]]:
        """Environments in which the finished chunks were computed."""
        return [mark_of(self.path, number)["environment"] for number in finished(self.path)]

    def put(self, number: int, chunk: Chunk) -> None:
        """Write the results of chunk ``number``, and then its mark."""
        rows = rows_of_chunk(chunk)
        chunked.write_chunk(self.path, chunk.first, rows)
        mark = {
            "environment": chunk.environment, "seconds": chunk.seconds,
            "errors": {str(member): text for member, text in chunk.errors.items()},
            "checksums": {name: of_values(values) for name, values in rows.items()},
        }  # fmt: skip
        with replacing(self.path / MARKS / f"{number}.json") as new:
            new.write_text(json.dumps(mark | {SEAL: of_texts(mark)}), encoding="utf-8")

    def close(self) -> Any:
        """Add failures and the message to the store, for other readers, and return a Dataset that reads the store."""
        data = opened(self.path)
        with optional("zarr", "store"):
            import zarr
        with guarded("written", self.path):
            group = zarr.open_group(self.path, mode="r+", zarr_format=ZARR_FORMAT, use_consolidated=False)
            for name in ("failed", "error"):
                group.create_array(
                    name, data=data[name].values, fill_value=None, overwrite=True,
                    attributes={"_ARRAY_DIMENSIONS": ("failure",)},
                )  # fmt: skip
            group.attrs["message"] = data.attrs["message"]
            zarr.consolidate_metadata(self.path, zarr_format=ZARR_FORMAT)
            sync(self.path)
        return data
