"""Trajectories as Zarr stores, those of long runs among them."""

from __future__ import annotations

from pathlib import Path

from polhode.files import checksums, chunked
from polhode.files.datasets import AS_STORED, dataset_of, encodings_for, record_of
from polhode.files.folder import folder
from polhode.files.record import FileRecord


def write(record: FileRecord, path: Path) -> None:
    """Write a Zarr store."""
    import numcodecs

    checksum = numcodecs.CRC32()
    dataset = dataset_of(record)
    encodings = encodings_for(dataset, lambda shape: {"filters": [checksum], "chunks": shape})
    dataset.to_zarr(folder(path), zarr_format=chunked.ZARR_FORMAT, consolidated=True, encoding=encodings)


def read(path: Path, damaged: str) -> FileRecord:
    """Return the record of a Zarr store or of a long run."""
    if chunked.is_store(path):
        return chunked.committed(path, damaged)
    import xarray

    with xarray.open_zarr(path, consolidated=True, **AS_STORED) as dataset:
        record = record_of(dataset)
        size = record.attributes.get(checksums.BLOCK, 1)

        def place(name: str, rows: slice) -> Path:
            return chunked.chunk_file(path, name, dataset[name].ndim, rows.start // size)

        return checksums.verified(record, path, damaged, place)
