"""Dual numbers: a value and its derivative along one direction. Every rule is exact: no differences, no step."""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.jit import inline


class Dual(NamedTuple):
    """A value and its derivative."""

    v: float
    d: float


@inline
def add(x, y):
    return Dual(x.v + y.v, x.d + y.d)


@inline
def sub(x, y):
    return Dual(x.v - y.v, x.d - y.d)


@inline
def scale(x, factor):
    return Dual(x.v * factor, x.d * factor)


@inline
def mul(x, y):
    return Dual(x.v * y.v, x.d * y.v + x.v * y.d)


@inline
def div(x, y):
    """x/y for y != 0. One division of values: in a loop over directions it is done once."""
    per_y = 1.0 / y.v
    quotient = x.v * per_y
    return Dual(quotient, (x.d - quotient * y.d) * per_y)
