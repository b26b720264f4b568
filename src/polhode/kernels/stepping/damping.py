"""Linear damping, m' = f - D w, solved exactly for constant f.

In principal axes D may be a full matrix: D = A^T diag(D) A for a body given by a tensor, A its principal axes. With
I^(-1/2) D I^(-1/2) = U diag(k) U^T and P = I^(1/2) U the equation decouples, (P^-1 m)' = P^-1 f - k P^-1 m. A row of
the array ``damping`` is D (3 numbers) if that is diagonal, or k, P and P^-1 (21 numbers).
"""

from __future__ import annotations

from math import expm1
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import from_order, to_order
from polhode.kernels.numbers.vectors import IDENTITY, by_components, image, matrix_in, plus, times
from polhode.kernels.stepping.header import row_of

OBLIQUE = 21  # length of a row of k, P and P^-1; a diagonal D has 3


class Damping(NamedTuple):
    """Damping rates k per unit of the user's time, of the components of m or, if oblique, of P^-1 m."""

    acts: bool
    oblique: bool
    order: int
    k: tuple[float, float, float]
    P: tuple[tuple[float, float, float], ...]
    inverse: tuple[tuple[float, float, float], ...]  # P^-1


@inline
def damping_of(damping, order, scale, per_I, i):
    """Return the Damping of body i from the array, with 1/I in the standard form, whose unit of I is 1/scale."""
    row = damping[row_of(damping, i)]
    D = float(row[0]), float(row[1]), float(row[2])
    acts = D[0] != 0.0 or D[1] != 0.0 or D[2] != 0.0
    if len(row) == OBLIQUE:
        return Damping(acts, True, order, D, matrix_in(row, 3), matrix_in(row, 12))
    D1, D2, D3 = to_order(order, D)
    k = by_components((abs(D1), abs(D2), abs(D3)), per_I)
    return Damping(acts, False, order, times(scale, k), IDENTITY, IDENTITY)


@inline
def to_modes(d, x):
    """Return P^-1 x for a vector x in the axes of the standard form."""
    return image(d.inverse, from_order(d.order, x))


@inline
def from_modes(d, y):
    """Return P y, the inverse of ``to_modes``."""
    return to_order(d.order, image(d.P, y))


@inline
def resistance(d, m):
    """Return D w for the momentum m."""
    if d.oblique:
        return from_modes(d, by_components(d.k, to_modes(d, m)))
    return by_components(d.k, m)


@inline
def damped(m, f, k, time):
    """Return the exact change of m in ``time`` by m' = f - k m, where k may be 0."""
    z = -time * k
    growth = expm1(z)
    return growth * m + time * (growth / z if z != 0.0 else 1.0) * f


@inline
def damped_parts(d, f, m, time):
    """Return the changes of three decoupled components m in ``time`` (see ``damped``)."""
    return damped(m[0], f[0], d.k[0], time), damped(m[1], f[1], d.k[1], time), damped(m[2], f[2], d.k[2], time)


@inline
def damped_kick(d, f, m, time):
    """Return m after ``time`` of m' = f - D w."""
    if d.oblique:
        return plus(m, 1.0, from_modes(d, damped_parts(d, to_modes(d, f), to_modes(d, m), time)))
    return plus(m, 1.0, damped_parts(d, f, m, time))
