"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from polhode.core.errors import MissingExtraError


def needed(package: str, extra: str) -> Any:
    """The module, or an error that tells what to install: ``extra`` is the name of the set that brings it.

    >>> needed("json", "store").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as problem:
        whole = package.partition(".")[0]
        if problem.name not in (package, whole):
            raise  # it is there, and something that it needs is not
        raise MissingExtraError(whole, extra) from None
