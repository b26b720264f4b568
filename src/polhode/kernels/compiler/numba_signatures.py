"""Signatures of entry points as types of Numba."""

from __future__ import annotations

import typing

from numba.core import sigutils, types


def signature_of(declared):
    """Return the signature of an entry point: a string, or the type of the result and those of the arguments.

    Types are strings, or subclasses of NamedTuple whose fields are int, float, bool, other such classes, or
    ``Annotated[..., type]``.
    """
    if isinstance(declared, str):
        return sigutils.normalize_signature(declared)
    result, *arguments = map(_type_of, declared)
    return tuple(arguments), result


def _type_of(kind):
    """Return the type of a field or an argument; see ``signature_of``."""
    if isinstance(kind, str):
        return sigutils.normalize_signature(f"{kind}()")[1]
    if kind in (int, float, bool):
        return {int: types.int64, float: types.float64, bool: types.boolean}[kind]
    if hasattr(kind, "__metadata__"):
        return _type_of(kind.__metadata__[0])
    fields = typing.get_type_hints(kind, include_extras=True).values()
    return types.BaseTuple.from_types(tuple(map(_type_of, fields)), kind)
