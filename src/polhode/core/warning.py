"""Warnings that point at the line of the user that called polhode."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from pathlib import Path
from types import FrameType

# Folder of the package, and files of the standard library through which polhode calls itself.
SKIPPED = f"{Path(__file__).parents[1]}{os.sep}", contextlib.__file__, functools.__file__


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning whose place is the innermost line outside polhode.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn("the disk is almost full", UserWarning)
    >>> caught[0].filename.startswith("<doctest")
    True
    """
    frame: FrameType = sys._getframe(1)
    while frame.f_code.co_filename.startswith(SKIPPED) and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__", "<string>"),  # as warnings.warn does; a warning without one is not issued
        registry=names.setdefault("__warningregistry__", {}),
    )
