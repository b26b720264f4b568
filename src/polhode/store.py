"""Trajectories in files: netCDF, Zarr, CSV and CCSDS attitude ephemerides, told apart by the end of the file name.

``Trajectory.save``, ``Trajectory.to_xarray`` and ``polhode.load`` come here. Every float64 comes back with all its
bits. A file is there as a whole or not at all; one that was there before stays until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode import aem, aem_reader, chunked, csv_file
from polhode.atomic import guarded, replacing, telling
from polhode.errors import InputError, StoreError
from polhode.extras import needed
from polhode.record import LABELS, Record, pack
from polhode.stored import StoredTrajectory, unpack

if TYPE_CHECKING:
    import os

    import xarray

    from polhode.trajectory import Trajectory

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

    The first three hold everything but functions. An .aem holds attitudes and angular velocities of one body, and needs
    ``options``, those of ``polhode.aem.write``.

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
        writer(dataset_of(record), new)


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


def load(path: str | os.PathLike[str]) -> StoredTrajectory | aem_reader.Attitudes:
    """What ``save`` wrote, and long runs written by ``polhode.streaming``, finished or not.

    Of an .aem, which knows no inertia, there are times, attitudes and angular velocities: ``aem_reader.Attitudes``.

    >>> import tempfile
    >>> from polhode import integrate, problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     integrate(problems.heavy_top(), method="V2", h=0.5).save(f"{folder}/top.csv")
    ...     again = load(f"{folder}/top.csv")
    >>> again.q.shape, again.method
    ((41, 4), Splitting(Exact(), 'V2'))
    """
    path = Path(path)
    reader = _of_suffix(path, READERS)
    with guarded("read", path):
        if not path.exists():
            raise StoreError(f"{path} does not exist; type the name of a file that save wrote")
        return reader(path)


def _of_suffix(path: Path, table: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix not in table:
        raise InputError(f"{path.name!r} ends in {path.suffix!r}; known are {', '.join(table)}")
    for package in NEEDED.get(path.suffix, ()):
        needed(package, "store")
    return table[path.suffix]


def dataset_of(record: Record) -> xarray.Dataset:
    """A Dataset of arrays and texts."""
    needed("xarray", "store")
    import xarray

    variables = {}
    for name, (dims, values) in record.arrays.items():
        variables[name] = xarray.Variable(dims, values, record.labels(name))
    used = {dim for dims, _ in record.arrays.values() for dim in dims}
    coordinates = {dim: list(labels) for dim, labels in LABELS.items() if dim in used}
    return xarray.Dataset(variables, {"time": variables.pop("time"), **coordinates}, record.attributes)


def _record(dataset: xarray.Dataset) -> Record:
    names = [str(name) for name in (*dataset.data_vars, "time")]
    arrays = {name: (tuple(map(str, dataset[name].dims)), np.array(dataset[name].values)) for name in names}
    return Record(arrays, {str(name): value for name, value in dataset.attrs.items()})


def _plain(dataset: xarray.Dataset) -> dict[str, Any]:
    """Encodings that leave every number as it is."""
    return {str(name): {"_FillValue": None} for name in dataset.variables}


AS_STORED: dict[str, Any] = {"decode_times": False, "decode_timedelta": False}


def _write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    dataset.to_netcdf(path, engine="h5netcdf", encoding=_plain(dataset))


def _read_netcdf(path: Path) -> StoredTrajectory:
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf", **AS_STORED) as dataset:
        return unpack(_record(dataset))


def _write_zarr(dataset: xarray.Dataset, path: Path) -> None:
    dataset.to_zarr(path, zarr_format=chunked.ZARR_FORMAT, consolidated=True, encoding=_plain(dataset))


def _read_zarr(path: Path) -> StoredTrajectory:
    if chunked.is_store(path):
        return unpack(chunked.committed(path))
    import xarray

    with xarray.open_zarr(path, consolidated=True, **AS_STORED) as dataset:
        return unpack(_record(dataset))


def _write_csv(trajectory: Trajectory, path: Path) -> None:
    csv_file.write(pack(trajectory), path)


def _read_csv(path: Path) -> StoredTrajectory:
    return unpack(csv_file.read(path))


def _as_dataset(write: Callable[[xarray.Dataset, Path], None]) -> Callable[[Trajectory, Path], None]:
    return lambda trajectory, path: write(to_xarray(trajectory), path)


DATASET_WRITERS = {".nc": _write_netcdf, ".zarr": _write_zarr}
WRITERS: dict[str, Callable[..., None]] = {suffix: _as_dataset(write) for suffix, write in DATASET_WRITERS.items()}
WRITERS |= {".csv": _write_csv, ".aem": aem.write}
READERS = {".nc": _read_netcdf, ".zarr": _read_zarr, ".csv": _read_csv, ".aem": aem_reader.read_one}
