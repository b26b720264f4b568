"""Optional packages, imported where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from polhode.core.errors import MissingExtraError


def installed(*packages: str) -> bool:
    """Return whether all of these packages can be imported, without doing so."""
    return all(find_spec(package) is not None for package in packages)


def check_installed(package: str, extra: str) -> None:
    """Raise an error that says what to type unless ``package`` can be imported."""
    if not installed(package):
        raise MissingExtraError(package, extra)


@contextmanager
def optional(package: str, extra: str) -> Iterator[None]:
    """Import ``package`` inside: if it is not installed, raise an error that says what to type.

    ``extra`` is the name of the set of packages that brings it.

    >>> with optional("json", "store"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] != package:
            raise  # it is there, and something that it needs is not
        raise MissingExtraError(package, extra) from None
