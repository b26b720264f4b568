"""Pickling of objects that hold functions of the user.

Plain pickle sends a function as the name of its module and its own name, so it cannot send lambdas and functions that
are defined inside other functions. Picklers such as cloudpickle send the code of these. An object cannot find out which
of the two it is pickled by; therefore a mark is pickled before its functions: a class that is in no module, which only
picklers of code accept.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, SupportsIndex


class HoldsFunctions:
    """Base class of objects with functions of the user: if plain pickle cannot send these, it says what to do."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Return the data for pickle and copy, with marks of the functions that plain pickle cannot send."""
        reduced: Any = super().__reduce_ex__(protocol)
        make, arguments, *rest = reduced
        marks = tuple(_Mark(function.__qualname__, (), {}) for function in _nameless((arguments, *rest)))
        return (_made, (marks, make, arguments), *rest) if marks else reduced


class _Mark(type):
    """Type of classes that stand for functions which plain pickle cannot send; their names are those of functions."""


def _refuse(mark: _Mark) -> Any:
    """Raise PicklingError: plain pickle, unlike picklers of code, looks up types in ``copyreg``."""
    raise pickle.PicklingError(
        f"{mark.__name__} cannot be pickled by its name; expected a function at the top level of a module that can be "
        "imported; move it there, or type cloudpickle.dumps instead of pickle.dumps, which joblib and dask do by "
        "themselves"
    )


copyreg.pickle(_Mark, _refuse)


def _made(marks: tuple[_Mark, ...], make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the object that ``make`` returns; the marks have done their work."""
    return make(*arguments)


def _nameless(x: Any) -> Iterator[FunctionType]:
    """Yield the functions among the items of nested tuples and dictionaries that are not found by their names."""
    if isinstance(x, tuple | dict):
        for item in x.values() if isinstance(x, dict) else x:
            yield from _nameless(item)
    elif isinstance(x, FunctionType):
        found: Any = sys.modules.get(x.__module__)
        for name in x.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not x:
            yield x
