"""Optional packages, imported where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from polhode.core.errors import MissingExtraError


def installed(*packages: str) -> bool:
    """Return whether all of these packages are installed, without importing them."""
    return all(find_spec(package) is not None for package in packages)


def check_installed(package: str, extra: str) -> None:
    """Raise MissingExtraError, with an installation hint, unless ``package`` is installed."""
    if not installed(package):
        raise MissingExtraError(package, extra)


@contextmanager
def optional(package: str, extra: str) -> Iterator[None]:
    """Raise MissingExtraError, with an installation hint, if ``package`` cannot be imported in the block.

    ``extra`` is the name of the optional dependencies of polhode that contain the package.

    Examples
    --------
    >>> with optional("json", "store"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its dependencies is not
        raise MissingExtraError(package, extra) from None
