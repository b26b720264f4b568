"""What to cite for what was used."""

from __future__ import annotations

from typing import Any

from polhode.core.errors import InputError


def cite(*things: Any) -> tuple[str, ...]:
    """The publications behind flows, schemes, methods, problems and trajectories, each once, in the order given.

    >>> from polhode import MoserVeselov
    >>> cite(MoserVeselov(6))[0].split(",")[0]
    'J. Moser'
    """
    found: dict[str, None] = {}
    for thing in things:
        for reference in _references(thing):
            found.setdefault(reference)
    return tuple(found)


def _references(thing: Any) -> tuple[str, ...]:
    """Of one thing: its own, those of its record, and those of its parts."""
    if isinstance(thing, str):
        thing = _named(thing)
    record = getattr(thing, "record", None)
    if record is not None:
        return tuple(record.references)
    parts = [getattr(thing, name) for name in ("problem", "method", "flow", "scheme") if hasattr(thing, name)]
    own = getattr(thing, "references", None)
    if own is None and not parts:
        raise InputError(f"{thing!r} came; expected a flow, a scheme or its name, a method, a problem or a trajectory")
    return (*(own or ()), *(reference for part in parts for reference in _references(part)))


def _named(name: str) -> Any:
    """The scheme of that name, or the class of the method."""
    from polhode.methods import METHODS, load, schemes

    known = name in METHODS and name not in schemes.SCHEMES
    return load(name)() if known else schemes.get(name)
