"""Values: objects that are equal if their content is (``Comparable``), and objects that never change (``Value``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from polhode.core.checks import unknown_name

HASHED = 1000  # numbers of an array, at most, that enter its hash


class Comparable:
    """Base class of objects that are equal if their types and their attributes are equal.

    Arrays are equal if their shapes, types and numbers are; NaN is equal to NaN. Equal objects have equal hashes.

    Examples
    --------
    >>> from polhode import Adaptive
    >>> Adaptive(1e-6) == Adaptive(rtol=1e-6), Adaptive(1e-6) == Adaptive(1e-9)
    (True, False)
    """

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: all attributes except results that are computed only once."""
        kind: Any = type(self)
        computed = _computed_once(kind)
        return {name: value for name, value in vars(self).items() if name not in computed}

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is of the same type and has the same content."""
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return _equal(self._content(), other._content())

    def __hash__(self) -> int:
        """Return a hash of the type and the content."""
        return hash((type(self), _hash(self._content())))


class Value(Comparable):
    """Base class of objects whose attributes cannot be assigned; ``replaced`` returns a changed copy.

    A subclass lists in `_replaceable` the arguments of its constructor that ``replaced`` accepts. Its method `_set`
    checks any of them and stores the result by `_store`; the constructor calls `_set` with all arguments.
    """

    _replaceable: ClassVar[tuple[str, ...]]

    def _set(self, **arguments: Any) -> None:
        """Check arguments of the constructor, all or some of them, and store them."""
        raise NotImplementedError

    def replaced(self, **changes: Any) -> Self:
        """Return a copy in which some arguments of the constructor have other values.

        Parameters
        ----------
        **changes
            New values by the names of the arguments, which are checked as in the constructor.

        Returns
        -------
        object of the same type
            The changed copy. Everything else is shared with the original.

        Raises
        ------
        UnknownNameError
            If there is no such argument.

        Examples
        --------
        >>> from polhode import RigidBody
        >>> RigidBody((1.0, 2.0, 3.0)).replaced(mass=5.0)
        RigidBody((1, 2, 3), mass=5)
        """
        for name in changes:
            if name not in self._replaceable:
                raise unknown_name(f"argument of {type(self).__name__}.replaced", name, self._replaceable)
        other = self._copy()
        other._set(**changes)
        return other

    def _store(self, **attributes: Any) -> None:
        """Set attributes, and make those that are arrays read-only."""
        for attribute in attributes.values():
            if type(attribute) is np.ndarray:
                attribute.setflags(write=False)
        self.__dict__.update(attributes)

    def _copy(self, **attributes: Any) -> Self:
        """Return a copy with other attributes, which are not checked."""
        other = object.__new__(type(self))
        other.__dict__.update(Comparable._content(self))
        other._store(**attributes)
        return other

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        """Restore the attributes of a copy or of a pickle, whose arrays are writable."""
        self._store(**attributes)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        """Raise AttributeError: values do not change."""
        self._refuse(name, "assigned")

    def __delattr__(self, name: str) -> NoReturn:
        """Raise AttributeError: values do not change."""
        self._refuse(name, "deleted")

    def _refuse(self, name: str, what: str) -> NoReturn:
        """Raise AttributeError, with the call that returns a changed copy."""
        known = name in self._replaceable
        call = f".replaced({name}=...), which returns a changed copy"
        other_call = f".replaced(...), which returns a copy with other values of {', '.join(self._replaceable)}"
        raise AttributeError(
            f"{type(self).__name__}.{name} cannot be {what}, because values never change; use "
            f"{call if known else other_call}"
        )


@cache
def _computed_once(kind: Any) -> frozenset[str]:
    """Return the names of the attributes that objects of a class compute only once, when they are read."""
    return frozenset(name for name in dir(kind) if isinstance(getattr(kind, name, None), cached_property))


def _equal(a: Any, b: Any) -> bool:
    """Return whether two attributes are equal, also if they are arrays or contain arrays."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


def _hash(x: Any) -> int:
    """Return a hash that is equal for attributes that are equal; of a long array, it depends on some numbers only."""
    if isinstance(x, np.ndarray):
        some = np.ravel(x)[:: 1 + x.size // HASHED]
        return hash((x.shape, (np.nan_to_num(some) + 0).tobytes()))  # + 0: zeros of both signs are equal
    if isinstance(x, Mapping):
        return hash(frozenset((key, _hash(value)) for key, value in x.items()))
    if isinstance(x, tuple | list):
        return hash(tuple(map(_hash, x)))
    return hash(x)
