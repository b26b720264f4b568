"""Records as datasets of xarray, from which netCDF files and Zarr stores are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.extras import optional
from polhode.files import checksums
from polhode.files.record import LABELS, Arrays, FileRecord

if TYPE_CHECKING:
    import xarray

AS_STORED: dict[str, Any] = {"decode_times": False, "decode_timedelta": False}


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


def record_of(dataset: xarray.Dataset) -> FileRecord:
    """Return a Dataset as a record; constants are read immediately, states when they are accessed."""
    names = [str(name) for name in (*dataset.data_vars, "time")]
    variables: dict[str, Any] = {name: dataset[name] for name in names}
    arrays: Arrays = {name: (tuple(map(str, values.dims)), values) for name, values in variables.items()}
    varies = checksums.varying(arrays)
    arrays |= {name: (dims, np.array(values)) for name, (dims, values) in arrays.items() if name not in varies}
    return FileRecord(arrays, {str(name): value for name, value in dataset.attrs.items()})


def encodings_for(dataset: xarray.Dataset, protection: Callable[[tuple[int, ...]], dict[str, Any]]) -> dict[str, Any]:
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
