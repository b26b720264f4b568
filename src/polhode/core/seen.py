"""What a traversal of functions has read, and whether that is still what it was: much faster than another traversal.

Values are compared by identity, and the contents of containers, objects and arrays as well. An equal value that is
another object counts as a difference, so that a difference needs a second look.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any

MISSING = object()


class Seen:
    """Values that were read, with the places where they were found.

    Examples
    --------
    >>> seen, settings = Seen(), {"rate": 2.0}
    >>> seen.content(settings)
    >>> settings["rate"] = 3.0
    >>> seen.is_unchanged()
    False
    """

    def __init__(self) -> None:
        self._names: list[tuple[Mapping[str, Any], str, Any]] = []
        self._contents: list[tuple[Any, Any]] = []
        self._arrays: list[tuple[Any, bytes]] = []
        self._cells: list[tuple[CellType, Any]] = []
        self._functions: list[tuple[FunctionType, Any, Any, Any]] = []
        self._is_closed = True  # whether all values that were read are known here

    def name(self, names: Mapping[str, Any], name: str, value: Any) -> None:
        """Remember the value of a name."""
        self._names.append((names, name, value))

    def content(self, container: Any) -> None:
        """Remember the items of a list, dictionary or set."""
        self._contents.append((container, container.copy()))

    def array(self, array: Any) -> None:
        """Remember the numbers of an array."""
        self._arrays.append((array, array.tobytes()))

    def function(self, function: FunctionType) -> None:
        """Remember the code, the defaults and the closure variables of a function."""
        self._functions.append((function, function.__code__, function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            self._cells.append((cell, _value(cell)))

    def attributes(self, x: Any) -> None:
        """Remember the attributes of an object."""
        if hasattr(x, "__dict__"):
            self._contents.append((vars(x), dict(vars(x))))
        else:
            self._is_closed = False

    def is_unchanged(self) -> bool:
        """Return whether everything is what it was; False if that is not known."""
        if not self._is_closed:
            return False
        for function, code, defaults, named in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__ is not named:
                return False
        for names, name, value in self._names:
            if names.get(name, MISSING) is not value:
                return False
        for cell, value in self._cells:
            if _value(cell) is not value:
                return False
        for pair in self._contents:
            if not _is_equal(pair):
                return False
        return not self._arrays or all(x.tobytes() == known for x, known in self._arrays)


def _value(cell: CellType) -> Any:
    """Return the value of a closure variable, which may have none."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _is_equal(pair: tuple[Any, Any]) -> bool:
    """Return whether a container is equal to a former copy; False if its items cannot be compared."""
    now, before = pair
    try:
        return bool(now == before)
    except Exception:  # an array in place of another one, for instance
        return False
