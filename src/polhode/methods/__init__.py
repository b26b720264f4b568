"""Integration methods for bodies under torques, one module each.

To add a method, write a module with a class of that name and add one line to `METHODS`.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from polhode.methods.method import Method
    from polhode.methods.scheme import Scheme

    MethodLike: TypeAlias = Method | Scheme | str

METHODS = {
    "Splitting": "splitting",
    "Rattle": "rattle",
    "QuatEM": "quat_em",
    "QuatVI": "quat_vi",
    "DirEM": "dir_em",
    "AlgoC1": "algo_c1",
    "Adaptive": "adaptive",
    "Taylor": "taylor",
    "ClosedForm": "closed_form",
}


def load(name: str) -> Any:
    """Return the method class called `name`, one of the keys of `METHODS`."""
    return getattr(importlib.import_module(f"polhode.methods.{METHODS[name]}"), name)


def as_method(method: MethodLike) -> Method:
    """Return the method that `method` stands for.

    Parameters
    ----------
    method : Method, Scheme or str
        A method, which is returned unchanged; the name of a method; or a scheme or the name of one, which becomes a
        `Splitting` with exact drifts.

    Returns
    -------
    Method
        The method.

    Raises
    ------
    InputError
        If `method` is none of these; for an unknown name, the message suggests similar ones.

    Examples
    --------
    >>> as_method("V2")
    Splitting(Exact(), 'V2')
    >>> as_method("Rattle")
    Rattle()
    """
    if isinstance(method, str):
        return _named(method)
    base, splitting = _types()
    return method if isinstance(method, base) else splitting(None, method)


@cache
def _types() -> Any:
    """Return the base class of methods, and the class of splitting methods, which are imported when they are needed."""
    from polhode.methods.method import Method
    from polhode.methods.splitting import Splitting

    return Method, Splitting


@cache
def _named(name: str) -> Method:
    """Return the method with this name, or the splitting method of the scheme with this name."""
    from polhode.core.checks import unknown_name
    from polhode.methods.schemes import SCHEMES
    from polhode.methods.splitting import Splitting

    if name in METHODS:
        named: Method = load(name)()
        return named
    if name in SCHEMES:
        return Splitting(None, name)
    raise unknown_name("scheme or method", name, (*SCHEMES, *METHODS))
