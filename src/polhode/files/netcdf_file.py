"""Trajectories as netCDF-4 files: numbers in blocks of states with checksums of HDF5."""

from __future__ import annotations

import io
from pathlib import Path

from polhode.files import checksums
from polhode.files.datasets import AS_STORED, dataset_of, encodings_for, record_of
from polhode.files.record import FileRecord

READABLE_BY = "v108"  # HDF5 1.8, the version of netCDF-4 and the first one whose metadata have checksums


def write(record: FileRecord, path: Path) -> None:
    """Write a netCDF file, which is built in memory, because HDF5 ends the process if it cannot write to a disk."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    dataset = dataset_of(record)
    encodings = encodings_for(dataset, lambda shape: {"fletcher32": True, "chunksizes": shape})
    memory = io.BytesIO()
    with h5netcdf.File(memory, "w", libver=READABLE_BY) as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=encodings)
    with memory.getbuffer() as written:  # released here, because a traceback could otherwise keep the buffer alive
        path.write_bytes(written)


def read(path: Path, damaged: str) -> FileRecord:
    """Return the record of a netCDF file."""
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf", **AS_STORED) as dataset:
        return checksums.verified(record_of(dataset), path, damaged)
