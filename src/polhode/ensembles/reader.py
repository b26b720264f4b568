"""Reading of stored ensembles: everything is compared with its checksum, arrays at the time they are accessed.

``polhode.ensembles.store`` writes the stores and describes their layout.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.errors import StoreError, StoreWarning
from polhode.core.extras import optional
from polhode.core.messages import Hint, joined
from polhode.core.warning import warn
from polhode.files.atomic import guarded
from polhode.files.checksums import RAISE, SEAL, SKIP, check_seal, compare, of_texts
from polhode.files.chunked import ZARR_FORMAT, chunk_file
from polhode.files.record import FileRecord
from polhode.kernels.stepping.status import Status

KIND = "polhode ensemble"
FORMAT = 1
MARKS = Path("status", "done")  # a folder inside an array, where Zarr does not look for members of the group
STATUS = "status"
GO_ON = joined("the same ", Hint("call with resume=True", "command with --resume"), " goes on")

Errors = dict[int, str]


class Contents:
    """Contents of the store of an ensemble; attributes and coordinates are compared with their checksum.

    Attributes
    ----------
    path : Path
        Folder of the store.
    attributes : dict
        Attributes of the ensemble.
    arrays : dict
        Dimensions and Zarr array, by name, of arrays with members along the first axis.
    coordinates : dict
        Values of the coordinates by name.
    chunk, count : int
        Members per chunk, and members in total.
    marks : dict
        Marks of intact finished chunks by number; filled by ``check``.
    lost : dict
        Reasons why finished chunks are not usable, by number; filled by ``check``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.marks: dict[int, dict[str, Any]] = {}
        self.lost: dict[int, str] = {}
        with optional("zarr", "store"):
            import zarr
        with guarded("read", path):
            if not path.exists():
                raise StoreError(f"{path} does not exist; omit ", Hint("resume=True", "--resume"), " to begin")
            group = zarr.open_group(path, mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False)
            self.attributes = dict(group.attrs)
            kind = self.attributes.get("kind")
            if kind != KIND or self.attributes.get("format") != FORMAT:
                raise StoreError(f"{path} is not an ensemble that this version reads: its kind is {kind!r}")
            stored = {name: (tuple(array.attrs["_ARRAY_DIMENSIONS"]), array) for name, array in group.arrays()}
            self.arrays = {name: (dims, array) for name, (dims, array) in stored.items() if dims[:1] == ("member",)}
            self.coordinates = {name: array[...] for name, (dims, array) in stored.items() if dims == (name,)}
            if SEAL in self.attributes:
                shapes = {name: (dims, array.shape) for name, (dims, array) in self.arrays.items()}
                expected = self.attributes.pop(SEAL)
                check_seal(path, expected, seal_of(self.attributes, shapes, self.coordinates))
            self.chunk = int(self.attributes["chunk"])
            self.count = int(self.attributes["count"])

    @property
    def chunks(self) -> int:
        """Number of chunks, finished or not."""
        return -(-self.count // self.chunk)

    @property
    def message(self) -> str:
        """How to continue the ensemble; empty if all chunks are finished and intact, which ``check`` finds out."""
        return unfinished(self.chunks - len(self.marks), self.chunks, GO_ON)

    def check(self, read: bool) -> None:
        """Sort finished chunks into intact ones (``marks``) and unusable ones (``lost``).

        If ``read`` is False, only marks and the existence of files are checked. If it is True, all arrays are read and
        compared with their checksums.
        """
        files = {name: set(os.listdir(self.path / name)) for name in self.arrays}
        for number in finished(self.path):
            try:
                self.marks[number] = mark_of(self.path, number)
                for name in self.arrays:
                    if self.file(name, number).name not in files[name]:
                        raise StoreError(f"{self.file(name, number)} is missing")
                    if read:
                        self.values(name, number)
            except StoreError as problem:
                self.marks.pop(number, None)
                self.lost[number] = str(problem)

    def file(self, name: str, number: int) -> Path:
        """Return the file of chunk ``number`` of an array."""
        return chunk_file(self.path, name, len(self.arrays[name][0]), number)

    def values(self, name: str, number: int) -> npt.NDArray[Any]:
        """Return chunk ``number`` of an array; raise StoreError with the name of the file if it is damaged.

        Chunks that were not computed or are lost consist of NaN; their status is INTERRUPTED or DAMAGED.
        """
        array = self.arrays[name][1]
        rows = slice(number * self.chunk, min(self.count, (number + 1) * self.chunk))
        if number not in self.marks:
            status = Status.DAMAGED if number in self.lost else Status.INTERRUPTED
            shape = (rows.stop - rows.start, *array.shape[1:])
            return np.full(shape, status if name == STATUS else np.nan, array.dtype)
        file = self.file(name, number)
        with guarded("read", file):
            values = np.asarray(array[rows])
        if "checksums" in self.marks[number]:
            compare(file, values, self.marks[number]["checksums"].get(name, ""))
        return values

    def failures(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the numbers of members that failed, and their error messages, both of shape (failures,)."""
        errors: Errors = {}
        for mark in self.marks.values():
            errors |= {int(member): text for member, text in mark["errors"].items()}
        return failures(errors)


def opened(path: Path, damaged: str = RAISE) -> Any:
    """Return the store ``path`` as an xarray.Dataset that loads arrays on demand.

    ``damaged`` is "raise" or "skip", as in ``open_ensemble``.
    """
    with optional("xarray", "store"):
        import xarray
    from polhode.ensembles.member_array import MemberArray

    contents = Contents(path)
    contents.check(read=damaged == SKIP)
    if contents.lost:
        warn_of_loss(contents, joined(f"their members have status {Status.DAMAGED}, and ", GO_ON))
    labels = FileRecord({}, contents.attributes).labels
    variables: dict[str, Any] = {
        name: (dims, xarray.core.indexing.LazilyIndexedArray(MemberArray(contents, name)), labels(name))
        for name, (dims, _) in contents.arrays.items()
    }
    members, texts = contents.failures()
    variables |= {"failed": (("failure",), members), "error": (("failure",), texts)}
    coordinates = {name: ((name,), values) for name, values in contents.coordinates.items()}
    message = str(contents.message)  # without the words of a shell, which h5py could not write
    return xarray.Dataset(variables, coordinates, contents.attributes | {"message": message})


def warn_of_loss(contents: Contents, consequence: str) -> None:
    """Issue a StoreWarning that lists the damaged chunks and says what is done about them."""
    reasons = "; ".join(contents.lost.values())
    warn(
        joined(f"{contents.path}: {len(contents.lost)} finished chunks are damaged; ", consequence, f": {reasons}"),
        StoreWarning,
    )


def unfinished(missing: int, chunks: int, advice: str) -> str:
    """Return the message of an ensemble of which ``missing`` chunks are not finished; empty if none is missing."""
    return joined(f"not finished: {missing} of {chunks} chunks are missing; ", advice) if missing else ""


def failures(errors: Errors) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return the sorted numbers of members that failed, and their messages, both of shape (failures,)."""
    members = sorted(errors)
    return np.array(members, np.int64), np.array([errors[member] for member in members], dtype=np.str_)


def finished(path: Path) -> list[int]:
    """Return the sorted numbers of the chunks that have a mark."""
    return sorted(int(mark.stem) for mark in (path / MARKS).glob("[0-9]*.json"))


def mark_of(path: Path, number: int) -> dict[str, Any]:
    """Return the mark of a finished chunk; raise StoreError if it is damaged."""
    file = path / MARKS / f"{number}.json"
    with guarded("read", file):
        mark: dict[str, Any] = json.loads(file.read_text("utf-8"))
        if SEAL in mark and mark.pop(SEAL) != of_texts(mark):
            raise StoreError(f"{file} is damaged: its checksum is not that of what it holds")
    return mark


def seal_of(attributes: dict[str, Any], arrays: Any, coordinates: dict[str, npt.NDArray[Any]]) -> str:
    """Return the checksum of everything that does not change while chunks are computed."""
    fixed = {name: value for name, value in attributes.items() if name != "message"}
    shapes = {name: [list(dims), list(shape)] for name, (dims, shape) in arrays.items()}
    return of_texts([fixed, shapes, {name: values.tolist() for name, values in coordinates.items()}])
