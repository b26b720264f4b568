"""Methods for torqued bodies, one file each. A new one is a file with a class of its name, and one line here."""

from __future__ import annotations

import importlib
from typing import Any

METHODS = {
    "Splitting": "splitting",
    "Rattle": "rattle",
    "QuatEM": "quat_em",
    "QuatVI": "quat_vi",
    "DirEM": "dir_em",
    "AlgoC1": "algo_c1",
    "Adaptive": "adaptive",
}


def load(name: str) -> Any:
    """The class of that name."""
    return getattr(importlib.import_module(f"polhode.methods.{METHODS[name]}"), name)


def as_method(method: Any) -> Any:
    """A method: as it is, by its name, or made of a scheme or the name of one with exact drifts.

    >>> as_method("V2")
    Splitting(Exact(), 'V2')
    >>> as_method("Rattle")
    Rattle()
    """
    from polhode.core.checks import unknown_name
    from polhode.methods.adaptive import Adaptive
    from polhode.methods.method import Method
    from polhode.methods.schemes import SCHEMES
    from polhode.methods.splitting import Splitting

    if isinstance(method, Method | Adaptive):
        return method
    if not isinstance(method, str):
        return Splitting(None, method)
    if method in METHODS:
        return load(method)()
    if method in SCHEMES:
        return Splitting(None, method)
    raise unknown_name("scheme or method", method, (*SCHEMES, *METHODS))
