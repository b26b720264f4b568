"""The table of file formats, which everybody asks: a new format is a module and one line.

The module has ``write(trajectory, path, *, option=...)``, or ``write(record, path)`` if the format is complete, and
``read(path, damaged)`` if it can be loaded.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

from polhode.core.extras import check_installed


class Format(NamedTuple):
    """A file format."""

    module: str  # in this folder
    bodies: bool = True  # whether it is for bodies, and for systems
    systems: bool = True
    is_complete: bool = True  # whether everything but functions is stored, to the bit
    is_read: bool = True
    packages: tuple[str, ...] = ()  # that it needs
    state_bytes: int = 64  # size of a state of a body

    def check_packages(self) -> None:
        """Raise MissingExtraError unless the packages are installed."""
        for package in self.packages:
            check_installed(package, "store")

    @property
    def code(self) -> Any:
        """Return the module."""
        return importlib.import_module(f"polhode.files.{self.module}")

    @property
    def options(self) -> list[str]:
        """Names of the options."""
        parameters = inspect.signature(self.code.write).parameters.values()
        return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


FORMATS = {  # by suffix
    ".nc": Format("netcdf_file", packages=("xarray", "h5netcdf", "h5py")),
    ".zarr": Format("zarr_file", packages=("xarray", "zarr")),
    ".csv": Format("csv_file", systems=False, state_bytes=200),
    ".aem": Format("aem", systems=False, is_complete=False),
    ".xyz": Format("xyz", bodies=False, is_complete=False, is_read=False),
    ".gsd": Format("gsd_file", bodies=False, is_complete=False, is_read=False),
}
COMPLETE = {suffix: kind for suffix, kind in FORMATS.items() if kind.is_complete and kind.bodies}  # for scenarios
