"""Saving and loading of trajectories: netCDF, Zarr, CSV and CCSDS attitude ephemerides, by the suffix of the file name.

This module implements ``Trajectory.save``, ``Trajectory.to_xarray`` and ``polhode.load``. Every float64 is reproduced
to the bit. Files are written atomically: an existing file is not changed until the new one is complete.
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
from polhode.files.record import LABELS, Arrays, FileRecord, pack
from polhode.files.stored_trajectory import StoredTrajectory, unpack

if TYPE_CHECKING:
    import os

    import xarray

    from polhode.integration.trajectory import Trajectory

NEEDED = {".nc": ("xarray", "h5netcdf", "h5py"), ".zarr": ("xarray", "zarr")}


def to_xarray(trajectory: Trajectory) -> xarray.Dataset:
    """Return a trajectory as an ``xarray.Dataset``, with units and frames as attributes of the arrays.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory of one body or of a batch.

    Returns
    -------
    xarray.Dataset
        The dimensions are ``time``, ``body`` (only of a batch), ``xyz``, ``quaternion`` and so on.

    Examples
    --------
    >>> from polhode import Problem, State, integrate
    >>> data = to_xarray(integrate(Problem((1, 2, 3), State(m=(1, 1, 1))), h=0.1))
    >>> dict(data.q.sizes), data.q.attrs["frame"]
    ({'time': 11, 'quaternion': 4}, 'body to space, scalar first')
    """
    return dataset_of(pack(trajectory))


def save(trajectory: Trajectory, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a trajectory to a file: name.nc (netCDF), name.zarr (Zarr), name.csv, or name.aem (CCSDS).

    The first three formats hold everything except functions, with checksums. A netCDF file is built in memory before it
    is written. An .aem file holds the attitudes and angular velocities of one body.

    Parameters
    ----------
    trajectory : Trajectory
        The trajectory.
    path : str or path-like
        File to write; its suffix determines the format. An existing file is replaced.
    **options
        Options of .aem files: see ``polhode.files.aem.write``.

    Raises
    ------
    InputError
        If the suffix is not known or an option is not valid.
    StoreError
        If the file cannot be written, or if ``path`` is a folder that must not be replaced.

    Examples
    --------
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
        raise InputError(f"options {', '.join(options)} are for .aem files; omit them for {path.name}")
    with _overwriting(path) as new:
        writer(trajectory, new, **options)


def save_record(record: FileRecord, path: str | os.PathLike[str]) -> None:
    """Write a record to name.nc or name.zarr, which xarray reads."""
    path = Path(path)
    writer = _of_suffix(path, DATASET_WRITERS)
    with _overwriting(path) as new:
        writer(checksums.sealed(record), new)


@contextmanager
def _overwriting(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` in the end; raise StoreError if it must not be replaced."""
    with telling("written", path):
        if chunked.is_store(path):
            raise StoreError(f"{path} is the store of a long run, which is not overwritten; choose another name")
        if path.is_dir() and not (path / ".zgroup").exists():
            raise StoreError(f"{path} is a folder but not a Zarr store, and is not overwritten; choose another name")
    with replacing(path) as new:
        yield new


def load(path: str | os.PathLike[str], *, damaged: str = checksums.RAISE) -> StoredTrajectory | aem_reader.Attitudes:
    """Read a trajectory written by ``Trajectory.save``, or the states of a long run, finished or not.

    Everything that is read is compared with the checksums in the file.

    Parameters
    ----------
    path : str or path-like
        File to read; its suffix is .nc, .zarr, .csv or .aem.
    damaged : {"raise", "skip"}, optional
        With "raise" (the default), a damaged block of states raises StoreError. With "skip", damaged blocks of states
        are left out, and a StoreWarning and the message of the trajectory say which. Damaged attributes or constants
        raise StoreError in both cases.

    Returns
    -------
    StoredTrajectory or Attitudes
        The trajectory. An .aem file contains no inertia: its attitudes and angular velocities are returned as
        ``polhode.files.aem_reader.Attitudes``.

    Raises
    ------
    InputError
        If the suffix is not known.
    StoreError
        If the file does not exist, is damaged, or was not written by polhode.

    Examples
    --------
    >>> import tempfile
    >>> from polhode import integrate, problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     integrate(problems.heavy_top(), method="V2", h=0.5).save(f"{folder}/top.csv")
    ...     again = load(f"{folder}/top.csv")
    >>> again.q.shape, again.method
    ((41, 4), Splitting(Exact(), 'V2'))
    """
    path = Path(path)
    damaged = checksums.as_damaged(damaged)
    with telling("read", path):
        if not path.exists():
            raise StoreError(f"{path} does not exist; expected the name of a file written by polhode")
    reader = _of_suffix(path, READERS)
    with guarded("read", path):
        return reader(path, damaged)


def _of_suffix(path: Path, table: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the reader or writer in ``table`` for the suffix of ``path``; check that its packages are installed."""
    if path.suffix not in table:
        raise InputError(f"{path.name!r} ends in {path.suffix!r}; known are {', '.join(table)}")
    for package in NEEDED.get(path.suffix, ()):
        check_installed(package, "store")
    return table[path.suffix]


def dataset_of(record: FileRecord) -> xarray.Dataset:
    """Return a record as an xarray.Dataset."""
    with optional("xarray", "store"):
        import xarray

    variables = {}
    for name, (dims, values) in record.arrays.items():
        variables[name] = xarray.Variable(dims, values, record.labels(name))
    used = {dim for dims, _ in record.arrays.values() for dim in dims}
    coordinates = {dim: list(labels) for dim, labels in LABELS.items() if dim in used}
    return xarray.Dataset(variables, {"time": variables.pop("time"), **coordinates}, record.attributes)


def _record(dataset: xarray.Dataset) -> FileRecord:
    """Return a Dataset as a record; constants are read immediately, states when they are accessed."""
    names = [str(name) for name in (*dataset.data_vars, "time")]
    variables: dict[str, Any] = {name: dataset[name] for name in names}
    arrays: Arrays = {name: (tuple(map(str, values.dims)), values) for name, values in variables.items()}
    varies = checksums.varying(arrays)
    arrays |= {name: (dims, np.array(values)) for name, (dims, values) in arrays.items() if name not in varies}
    return FileRecord(arrays, {str(name): value for name, value in dataset.attrs.items()})


def _encodings(dataset: xarray.Dataset, protection: Callable[[tuple[int, ...]], dict[str, Any]]) -> dict[str, Any]:
    """Return encodings for xarray that do not change any number and store arrays in blocks of states.

    ``protection`` takes the shape of a block and returns the options of the format for chunks with checksums.
    """
    size = dataset.attrs[checksums.BLOCK]
    encodings: dict[str, Any] = {}
    for name, variable in dataset.variables.items():
        encodings[str(name)] = {"_FillValue": None}
        if variable.size and variable.ndim and variable.dtype.kind in "fi":
            first = size if variable.dims[0] == "time" else variable.shape[0]
            encodings[str(name)] |= protection((first, *variable.shape[1:]))
    return encodings


AS_STORED: dict[str, Any] = {"decode_times": False, "decode_timedelta": False}
READABLE_BY = "v108"  # HDF5 1.8, the version of netCDF-4 and the first one whose metadata have checksums


def _write_netcdf(record: FileRecord, path: Path) -> None:
    """Write a netCDF file, which is built in memory, because HDF5 ends the process if it cannot write to a disk."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    dataset = dataset_of(record)
    encodings = _encodings(dataset, lambda shape: {"fletcher32": True, "chunksizes": shape})
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w", libver=READABLE_BY) as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=encodings)
    with memory.getbuffer() as written:  # released here, because a traceback could otherwise keep the buffer alive
        path.write_bytes(written)


def _read_netcdf(path: Path, damaged: str) -> StoredTrajectory:
    """Return the trajectory of a netCDF file."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf", **AS_STORED) as dataset:
        return unpack(checksums.verified(_record(dataset), path, damaged))


def _write_zarr(record: FileRecord, path: Path) -> None:
    """Write a Zarr store."""
    import numcodecs

    checksum = numcodecs.CRC32()
    dataset = dataset_of(record)
    encodings = _encodings(dataset, lambda shape: {"filters": [checksum], "chunks": shape})
    dataset.to_zarr(path, zarr_format=chunked.ZARR_FORMAT, consolidated=True, encoding=encodings)


def _read_zarr(path: Path, damaged: str) -> StoredTrajectory:
    """Return the trajectory of a Zarr store or of a long run."""
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
    """Return the trajectory of a CSV file."""
    return unpack(checksums.verified(csv_file.read(path), path, damaged))


def _read_aem(path: Path, damaged: str) -> aem_reader.Attitudes:
    """Return the attitudes of an .aem file; ``damaged`` has no effect, because there is one checksum for all lines."""
    return aem_reader.read_one(path)


def _as_record(write: Callable[[FileRecord, Path], None]) -> Callable[[Trajectory, Path], None]:
    """Return a writer of trajectories, given a writer of records with checksums."""
    return lambda trajectory, path: write(checksums.sealed(pack(trajectory)), path)


DATASET_WRITERS = {".nc": _write_netcdf, ".zarr": _write_zarr}
RECORD_WRITERS = DATASET_WRITERS | {".csv": csv_file.write}
WRITERS: dict[str, Callable[..., None]] = {suffix: _as_record(write) for suffix, write in RECORD_WRITERS.items()}
WRITERS |= {".aem": aem.write}
READERS = {".nc": _read_netcdf, ".zarr": _read_zarr, ".csv": _read_csv, ".aem": _read_aem}
