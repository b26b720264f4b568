"""Saving and loading of trajectories of bodies and of systems, in the format of the suffix of the file name.

This module implements ``save`` and ``to_xarray`` of trajectories, and ``polhode.load``. What ``load`` reads is
reproduced to the bit. Files are written atomically: an existing file is not changed until the new one is complete.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.errors import InputError, StoreError
from polhode.core.extras import check_installed, optional
from polhode.files import aem, aem_reader, checksums, chunked, csv_file, gsd_file, xyz
from polhode.files.atomic import guarded, replacing, telling
from polhode.files.folder import folder
from polhode.files.record import LABELS, SYSTEM, Arrays, FileRecord, pack
from polhode.files.stored_system import StoredSystemTrajectory, unpack_system
from polhode.files.stored_trajectory import StoredTrajectory, unpack
from polhode.files.system_record import pack_system
from polhode.integration.trajectory import Trajectory
from polhode.systems.trajectory import SystemTrajectory

if TYPE_CHECKING:
    import os

    import xarray

AnyTrajectory = Trajectory | SystemTrajectory
Stored = StoredTrajectory | StoredSystemTrajectory
NEEDED = {".nc": ("xarray", "h5netcdf", "h5py"), ".zarr": ("xarray", "zarr")}


def to_xarray(trajectory: AnyTrajectory) -> xarray.Dataset:
    """Return a trajectory as an ``xarray.Dataset``, with units and frames as attributes of the arrays.

    Parameters
    ----------
    trajectory : Trajectory or SystemTrajectory
        Trajectory of one body, of a batch or of a system.

    Returns
    -------
    xarray.Dataset
        The dimensions are ``time``, ``body`` (of a batch or a system), ``xyz``, ``quaternion`` and so on.

    Examples
    --------
    >>> from polhode import Problem, State, integrate
    >>> data = to_xarray(integrate(Problem((1, 2, 3), State(m=(1, 1, 1))), h=0.1))
    >>> dict(data.q.sizes), data.q.attrs["frame"]
    ({'time': 11, 'quaternion': 4}, 'body to space, scalar first')
    """
    return dataset_of(_packed(trajectory))


def save(trajectory: AnyTrajectory, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a trajectory to a file: name.nc (netCDF), name.zarr (Zarr), or a format for bodies or for systems.

    Formats for bodies are name.csv and name.aem (CCSDS), those for systems name.xyz (extended XYZ) and name.gsd
    (HOOMD). Files .nc, .zarr and .csv hold everything except functions, with checksums. A netCDF file is built in
    memory before it is written. An .aem file holds the attitudes and angular velocities of one body.

    Parameters
    ----------
    trajectory : Trajectory or SystemTrajectory
        The trajectory.
    path : str or path-like
        File to write; its suffix determines the format. An existing file is replaced.
    **options
        Options of .aem, .xyz and .gsd files: see ``write`` of ``polhode.files.aem``, ``xyz`` and ``gsd_file``.

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
    writer = _writer_for(path, isinstance(trajectory, SystemTrajectory))
    _check_options(path, writer, options)
    with _overwriting(path) as new:
        writer.write(trajectory, new, **options)


def _packed(trajectory: AnyTrajectory) -> FileRecord:
    """Return everything of a trajectory that is stored in files."""
    return pack_system(trajectory) if isinstance(trajectory, SystemTrajectory) else pack(trajectory)


def _unpacked(record: FileRecord) -> Stored:
    """Return the trajectory of a record."""
    return unpack_system(record) if record.attributes["kind"] == SYSTEM else unpack(record)


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


def load(path: str | os.PathLike[str], *, damaged: str = checksums.RAISE) -> Stored | aem_reader.Attitudes:
    """Read a trajectory written by ``save``, or the states of a long run, finished or not.

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
    StoredTrajectory, StoredSystemTrajectory or Attitudes
        The trajectory of bodies or of a system. An .aem file contains no inertia: its attitudes and angular velocities
        are returned as ``polhode.files.aem_reader.Attitudes``.

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
    if path.suffix not in READERS:
        raise _unknown_suffix(path, READERS)
    _check_packages(path)
    with guarded("read", path):
        return READERS[path.suffix](path, damaged)


def _writer_for(path: Path, of_system: bool) -> Writer:
    """Return the writer for the suffix of ``path`` and this kind of trajectory; check that packages are installed."""
    suffixes = [suffix for suffix, writer in WRITERS.items() if (writer.systems if of_system else writer.bodies)]
    if path.suffix not in WRITERS:
        raise _unknown_suffix(path, suffixes)
    if path.suffix not in suffixes:
        others, this = ("bodies without positions", "a system") if of_system else ("systems of bodies", "no system")
        raise InputError(
            f"{path.name!r}: {path.suffix} files are for {others}, and this is {this}; expected "
            f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        )
    _check_packages(path)
    return WRITERS[path.suffix]


def _unknown_suffix(path: Path, known: Collection[str]) -> InputError:
    """Return the error that a suffix is not known."""
    return InputError(f"{path.name!r} ends in {path.suffix!r}; known are {', '.join(known)}")


def _check_packages(path: Path) -> None:
    """Raise MissingExtraError unless the packages for the suffix of ``path`` are installed."""
    for package in NEEDED.get(path.suffix, ()):
        check_installed(package, "store")


def _check_options(path: Path, writer: Writer, options: dict[str, Any]) -> None:
    """Raise InputError if the writer of ``path`` does not have one of these options."""
    unknown = [name for name in options if name not in writer.options]
    if not unknown:
        return
    others = [suffix for suffix, other in WRITERS.items() if set(unknown) <= set(other.options)]
    names = ", ".join(unknown)
    if others:
        raise InputError(f"options {names} are for {' and '.join(others)} files; omit them for {path.name}")
    have = f"have the options {', '.join(writer.options)}" if writer.options else "have no options"
    raise InputError(f"options {names} are not known; {path.suffix} files {have}")


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


def _read_netcdf(path: Path, damaged: str) -> Stored:
    """Return the trajectory of a netCDF file."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf", **AS_STORED) as dataset:
        return _unpacked(checksums.verified(_record(dataset), path, damaged))


def _write_zarr(record: FileRecord, path: Path) -> None:
    """Write a Zarr store."""
    import numcodecs

    checksum = numcodecs.CRC32()
    dataset = dataset_of(record)
    encodings = _encodings(dataset, lambda shape: {"filters": [checksum], "chunks": shape})
    dataset.to_zarr(folder(path), zarr_format=chunked.ZARR_FORMAT, consolidated=True, encoding=encodings)


def _read_zarr(path: Path, damaged: str) -> Stored:
    """Return the trajectory of a Zarr store or of a long run."""
    if chunked.is_store(path):
        return _unpacked(chunked.committed(path, damaged))
    import xarray

    with xarray.open_zarr(path, consolidated=True, **AS_STORED) as dataset:
        record = _record(dataset)
        size = record.attributes.get(checksums.BLOCK, 1)

        def place(name: str, rows: slice) -> Path:
            return chunked.chunk_file(path, name, dataset[name].ndim, rows.start // size)

        return _unpacked(checksums.verified(record, path, damaged, place))


def _read_csv(path: Path, damaged: str) -> Stored:
    """Return the trajectory of a CSV file."""
    return _unpacked(checksums.verified(csv_file.read(path), path, damaged))


def _read_aem(path: Path, damaged: str) -> aem_reader.Attitudes:
    """Return the attitudes of an .aem file; ``damaged`` has no effect, because there is one checksum for all lines."""
    return aem_reader.read_one(path)


class Writer(NamedTuple):
    """Writer of a format, ``write(trajectory, path, **options)``, and whether it is for bodies and for systems."""

    write: Callable[..., None]
    bodies: bool
    systems: bool

    @property
    def options(self) -> list[str]:
        """Names of the options."""
        parameters = inspect.signature(self.write).parameters.values()
        return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _as_record(write: Callable[[FileRecord, Path], None]) -> Callable[[AnyTrajectory, Path], None]:
    """Return a writer of trajectories, given a writer of records with checksums."""
    return lambda trajectory, path: write(checksums.sealed(_packed(trajectory)), path)


WRITERS = {
    ".nc": Writer(_as_record(_write_netcdf), bodies=True, systems=True),
    ".zarr": Writer(_as_record(_write_zarr), bodies=True, systems=True),
    ".csv": Writer(_as_record(csv_file.write), bodies=True, systems=False),
    ".aem": Writer(aem.write, bodies=True, systems=False),
    ".xyz": Writer(xyz.write, bodies=False, systems=True),
    ".gsd": Writer(gsd_file.write, bodies=False, systems=True),
}
READERS: dict[str, Callable[[Path, str], Any]] = {
    ".nc": _read_netcdf, ".zarr": _read_zarr, ".csv": _read_csv, ".aem": _read_aem,
}  # fmt: skip
