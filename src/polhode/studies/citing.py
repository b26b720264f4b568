"""References to cite for flows, schemes, methods, problems and trajectories."""

from __future__ import annotations

from typing import Any

from polhode.core.errors import InputError


def cite(*things: Any) -> tuple[str, ...]:
    """Return the publications behind flows, schemes, methods, problems and trajectories.

    Parameters
    ----------
    *things : Flow, Scheme, method, Problem, Trajectory or str
        The objects to cite, or names of schemes or methods.

    Returns
    -------
    tuple of str
        The references without duplicates, in the order of the arguments.

    Raises
    ------
    InputError
        If an argument is none of these objects.
    UnknownNameError
        If there is no scheme or method of a given name.

    Examples
    --------
    >>> from polhode import MoserVeselov
    >>> cite(MoserVeselov(6))[0].split(",")[0]
    'J. Moser'
    """
    references: dict[str, None] = {}
    for thing in things:
        for reference in _references(thing):
            references.setdefault(reference)
    return tuple(references)


def _references(thing: Any) -> tuple[str, ...]:
    """Return the references of one object: those of its record, or its own and those of its parts."""
    if isinstance(thing, str):
        thing = _named(thing)
    record = getattr(thing, "record", None)
    if record is not None:
        return tuple(record.references)
    parts = [getattr(thing, name) for name in ("problem", "method", "flow", "scheme") if hasattr(thing, name)]
    own = getattr(thing, "references", None)
    if own is None and not parts:
        raise InputError(f"expected a flow, a scheme or its name, a method, a problem or a trajectory; got {thing!r}")
    return (*(own or ()), *(reference for part in parts for reference in _references(part)))


def _named(name: str) -> Any:
    """Return the scheme or the method of that name."""
    from polhode.methods import METHODS, load, schemes

    known = name in METHODS and name not in schemes.SCHEMES
    return load(name)() if known else schemes.get(name)
