"""Dual numbers: a value and its derivative along one direction.

Every rule of differentiation is exact; no finite differences are used.
"""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import inline


class Dual(NamedTuple):
    """Value `v` and its derivative `d` along one direction."""

    v: float
    d: float


@inline
def add(x, y):
    """Return the dual number x + y."""
    return Dual(x.v + y.v, x.d + y.d)


@inline
def sub(x, y):
    """Return the dual number x - y."""
    return Dual(x.v - y.v, x.d - y.d)


@inline
def scale(x, factor):
    """Return the dual number x times the float ``factor``."""
    return Dual(x.v * factor, x.d * factor)


@inline
def mul(x, y):
    """Return the dual number x y."""
    return Dual(x.v * y.v, x.d * y.v + x.v * y.d)


@inline
def div(x, y):
    """Return the dual number x/y for y != 0.

    There is a single division, of values only: in a loop over directions the compiler does it once.
    """
    per_y = 1.0 / y.v
    quotient = x.v * per_y
    return Dual(quotient, (x.d - quotient * y.d) * per_y)
