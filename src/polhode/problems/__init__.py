"""Ready-made problems, one file each. A new one is a file with a function of its name, and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from polhode.errors import UnknownNameError
from polhode.problem import Problem
from polhode.problems.dzhanibekov import dzhanibekov

REGISTRY: dict[str, Callable[[], Problem]] = {
    "dzhanibekov": dzhanibekov,
}

__all__ = ["REGISTRY", "dzhanibekov", "get"]


def get(name: str) -> Problem:
    """The problem of that name, as it is by default.

    >>> get("dzhanibekov").t_span
    (0.0, 15.0)
    """
    if name not in REGISTRY:
        near = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(REGISTRY)}"
        raise UnknownNameError(f"no problem is called {name!r}; {hint}")
    return REGISTRY[name]()
