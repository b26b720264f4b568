"""Saving and loading of trajectories of bodies and of systems, in the format of the suffix of the file name.

This module implements ``save`` and ``to_xarray`` of trajectories, and ``polhode.load``. What ``load`` reads is
reproduced to the bit. Files are written atomically: an existing file is not changed until the new one is complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.core.errors import InputError, StoreError
from polhode.files import aem_reader, checksums, chunked
from polhode.files.atomic import guarded, replacing, telling
from polhode.files.datasets import dataset_of
from polhode.files.formats import FORMATS, Format
from polhode.files.record import SYSTEM, FileRecord, pack
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
    kind = _format_for(path, isinstance(trajectory, SystemTrajectory))
    _check_options(path, kind, options)
    content = checksums.sealed(_packed(trajectory)) if kind.is_complete else trajectory
    with _overwriting(path) as new:
        kind.code.write(content, new, **options)


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
    kind = FORMATS.get(path.suffix)
    if kind is None or not kind.is_read:
        raise _unknown_suffix(path, [suffix for suffix, other in FORMATS.items() if other.is_read])
    kind.check_packages()
    with guarded("read", path):
        content = kind.code.read(path, damaged)
        return _unpacked(content) if kind.is_complete else content


def _format_for(path: Path, of_system: bool) -> Format:
    """Return the format for the suffix of ``path`` and this kind of trajectory; check that packages are installed."""
    suffixes = [suffix for suffix, kind in FORMATS.items() if (kind.systems if of_system else kind.bodies)]
    if path.suffix not in FORMATS:
        raise _unknown_suffix(path, suffixes)
    if path.suffix not in suffixes:
        others, this = ("bodies without positions", "a system") if of_system else ("systems of bodies", "no system")
        raise InputError(
            f"{path.name!r}: {path.suffix} files are for {others}, and this is {this}; expected "
            f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        )
    FORMATS[path.suffix].check_packages()
    return FORMATS[path.suffix]


def _unknown_suffix(path: Path, known: Collection[str]) -> InputError:
    """Return the error that a suffix is not known."""
    return InputError(f"{path.name!r} ends in {path.suffix!r}; known are {', '.join(known)}")


def _check_options(path: Path, kind: Format, options: dict[str, Any]) -> None:
    """Raise InputError if the format of ``path`` does not have one of these options."""
    unknown = [name for name in options if name not in kind.options]
    if not unknown:
        return
    others = [suffix for suffix, other in FORMATS.items() if set(unknown) <= set(other.options)]
    names = ", ".join(unknown)
    if others:
        raise InputError(f"options {names} are for {' and '.join(others)} files; omit them for {path.name}")
    have = f"have the options {', '.join(kind.options)}" if kind.options else "have no options"
    raise InputError(f"options {names} are not known; {path.suffix} files {have}")
