"""Trajectories in files: netCDF, Zarr, CSV and CCSDS attitude ephemerides, told apart by the end of the file name.

``Trajectory.save``, ``Trajectory.to_xarray`` and ``polhode.load`` come here. Every float64 comes back with all its
bits. A file is there as a whole or not at all; one that was there before stays until then.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.errors import InputError, StoreError
from polhode.core.extras import check_installed, optional
from polhode.files import aem, aem_reader, checksums, chunked, csv_file
from polhode.files.atomic import guarded, replacing, telling
from polhode.files.record import LABELS, Arrays, Record, pack
from polhode.files.stored_trajectory import StoredTrajectory, unpack

if TYPE_CHECKING:
    import os

    import xarray

    from polhode.integration.trajectory import Trajectory

NEEDED = {".nc": ("xarray", "h5netcdf", "h5py"), ".zarr": ("xarray", "zarr")}


def to_xarray(trajectory: Trajectory) -> xarray.Dataset:
    """A Dataset with dimensions time, body (of a batch), xyz and quaternion, labels of units, and frames.

    >>> from polhode import Problem, State, integrate
    >>> data = to_xarray(integrate(Problem((1, 2, 3), State(m=(1, 1, 1))), h=0.1))
    >>> dict(data.q.sizes), data.q.attrs["frame"]
    ({'time': 11, 'quaternion': 4}, 'body to space, scalar first')
    """
    return dataset_of(pack(trajectory))


def save(trajectory: Trajectory, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a trajectory to ``path``: name.nc (netCDF), name.zarr (Zarr), name.csv, or name.aem (CCSDS).

    The first three hold everything but functions, and checksums of it. A netCDF file is made in memory before it is
    written. An .aem holds attitudes and angular velocities of one body, and needs ``options``, those of
    ``polhode.files.aem.write``.

    >>> import tempfile
    >>> from polhode import Problem, State, integrate
    >>> trajectory = integrate(Problem((1, 2, 3), State(m=(1, 1, 1))), h=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(trajectory, f"{folder}/run.csv")
    ...     again = load(f"{folder}/run.csv")
    >>> bool((again.q == trajectory.q).all())
    True
    """
    path = Path(path)
    writer = _of_suffix(path, WRITERS)
    if options and path.suffix != ".aem":
        raise InputError(f"options {', '.join(options)} are for .aem files; {path.name} needs none")
    with _overwriting(path) as new:
        writer(trajectory, new, **options)


def save_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write arrays and texts to name.nc or name.zarr, for xarray."""
    path = Path(path)
    writer = _of_suffix(path, DATASET_WRITERS)
    with _overwriting(path) as new:
        writer(checksums.sealed(record), new)


@contextmanager
def _overwriting(path: Path) -> Iterator[Path]:
    """Where to write what shall be at ``path`` in the end; what is there must be something of the kind."""
    with telling("written", path):
        if chunked.is_store(path):
            raise StoreError(f"{path} is the store of a long run, which is not overwritten; choose another name")
        if path.is_dir() and not (path / ".zgroup").exists():
            raise StoreError(f"{path} is a folder, and no Zarr store: it is not overwritten; choose another name")
    with replacing(path) as new:
        yield new


def load(path: str | os.PathLike[str], *, damaged: str = checksums.RAISE) -> StoredTrajectory | aem_reader.Attitudes:
    """Read what ``save`` wrote, and long runs written by ``polhode.files.long_runs``, finished or not.

    Everything that is read is compared with the checksums in the file; StoreError names the file that is damaged. With
    ``damaged="skip"``, blocks of states that are damaged are left out, and a StoreWarning and the trajectory's message
    tell which. Attributes and constants are needed in any case.

    Of an .aem, which knows no inertia, there are times, attitudes and angular velocities: ``aem_reader.Attitudes``.

    >>> import tempfile
    >>> from polhode import integrate, problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     integrate(problems.heavy_top(), method="V2", h=0.5).save(f"{folder}/top.csv")
    ...     again = load(f"{folder}/top.csv")
    >>> again.q.shape, again.method
    ((41, 4), Splitting(Exact(), 'V2'))
    """
    path, damaged = Path(path), checksums.as_damaged(damaged)
    with telling("read", path):
        if not path.exists():
            raise StoreError(f"{path} does not exist; give the name of a file that polhode wrote")
    reader = _of_suffix(path, READERS)
    with guarded("read", path):
        return reader(path, damaged)


def _of_suffix(path: Path, table: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix not in table:
        raise InputError(f"{path.name!r} ends in {path.suffix!r}; known are {', '.join(table)}")
    for package in NEEDED.get(path.suffix, ()):
        check_installed(package, "store")
    return table[path.suffix]


def dataset_of(record: Record) -> xarray.Dataset:
    """A Dataset of arrays and texts."""
    with optional("xarray", "store"):
        import xarray

    variables = {}
    for name, (dims, values) in record.arrays.items():
        variables[name] = xarray.Variable(dims, values, record.labels(name))
    used = {dim for dims, _ in record.arrays.values() for dim in dims}
    coordinates = {dim: list(labels) for dim, labels in LABELS.items() if dim in used}
    return xarray.Dataset(variables, {"time": variables.pop("time"), **coordinates}, record.attributes)


def _record(dataset: xarray.Dataset) -> Record:
    """Constants are read now, states when they are asked for."""
    names = [str(name) for name in (*dataset.data_vars, "time")]
    found: dict[str, Any] = {name: dataset[name] for name in names}
    arrays: Arrays = {name: (tuple(map(str, values.dims)), values) for name, values in found.items()}
    varies = checksums.varying(arrays)
    arrays |= {name: (dims, np.array(values)) for name, (dims, values) in arrays.items() if name not in varies}
    return Record(arrays, {str(name): value for name, value in dataset.attrs.items()})


def _encodings(dataset: xarray.Dataset, protection: Callable[[tuple[int, ...]], dict[str, Any]]) -> dict[str, Any]:
    """Encodings that leave every number as it is, and protect arrays of numbers, in blocks of states."""
    size = dataset.attrs[checksums.BLOCK]
    encodings: dict[str, Any] = {}
    for name, variable in dataset.variables.items():
        encodings[str(name)] = {"_FillValue": None}
        if variable.size and variable.ndim and variable.dtype.kind in "fi":
            first = size if variable.dims[0] == "time" else variable.shape[0]
            encodings[str(name)] |= protection((first, *variable.shape[1:]))
    return encodings


AS_STORED: dict[str, Any] = {"decode_times": False, "decode_timedelta": False}
READABLE_BY = "v108"  # HDF5 1.8, that of netCDF-4; the first version whose metadata have checksums


def _write_netcdf(record: Record, path: Path) -> None:
    """By way of the memory: HDF5 ends the process if it cannot write to a disk."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    dataset = dataset_of(record)
    encodings = _encodings(dataset, lambda shape: {"fletcher32": True, "chunksizes": shape})
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w", libver=READABLE_BY) as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=encodings)
    with memory.getbuffer() as written:  # else a traceback that keeps it would outlive the memory
        path.write_bytes(written)


def _read_netcdf(path: Path, damaged: str) -> StoredTrajectory:
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf", **AS_STORED) as dataset:
        return unpack(checksums.verified(_record(dataset), path, damaged))


def _write_zarr(record: Record, path: Path) -> None:
    import numcodecs

    checksum = numcodecs.CRC32()
    dataset = dataset_of(record)
    encodings = _encodings(dataset, lambda shape: {"filters": [checksum], "chunks": shape})
    dataset.to_zarr(path, zarr_format=chunked.ZARR_FORMAT, consolidated=True, encoding=encodings)


def _read_zarr(path: Path, damaged: str) -> StoredTrajectory:
    if chunked.is_store(path):
        return unpack(chunked.committed(path, damaged))
    import xarray

    with xarray.open_zarr(path, consolidated=True, **AS_STORED) as dataset:
        record = _record(dataset)
        size = record.attributes.get(checksums.BLOCK, 1)

        def place(name: str, rows: slice) -> Path:
            return chunked.chunk_file(path, name, dataset[name].ndim, rows.start // size)

        return unpack(checksums.verified(record, path, damaged, place))


def _read_csv(path: Path, damaged: str) -> StoredTrajectory:
    return unpack(checksums.verified(csv_file.read(path), path, damaged))


def _read_aem(path: Path, damaged: str) -> aem_reader.Attitudes:
    return aem_reader.read_one(path)


def _as_record(write: Callable[[Record, Path], None]) -> Callable[[Trajectory, Path], None]:
    return lambda trajectory, path: write(checksums.sealed(pack(trajectory)), path)


DATASET_WRITERS = {".nc": _write_netcdf, ".zarr": _write_zarr}
RECORD_WRITERS = DATASET_WRITERS | {".csv": csv_file.write}
WRITERS: dict[str, Callable[..., None]] = {suffix: _as_record(write) for suffix, write in RECORD_WRITERS.items()}
WRITERS |= {".aem": aem.write}
READERS = {".nc": _read_netcdf, ".zarr": _read_zarr, ".csv": _read_csv, ".aem": _read_aem}
