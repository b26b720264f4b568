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

OBLIQUE = 21  # length of a row of k, P and P^-1; a diagonal D has 3


class Damping(NamedTuple):
    """Damping rates k per unit of the user's time, of the components of m or, if oblique, of P^-1 m."""

    acts: bool
    oblique: bool
    order: int
    k1: float
    k2: float
    k3: float
    p11: float
    p12: float
    p13: float
    p21: float
    p22: float
    p23: float
    p31: float
    p32: float
    p33: float
    r11: float
    r12: float
    r13: float
    r21: float
    r22: float
    r23: float
    r31: float
    r32: float
    r33: float


@inline
def damping_of(row, order, per_I, w1, w2, w3):
    """Return the Damping of a row of the array, with w = 1/I in the standard form, whose unit of I is 1/per_I."""
    D1, D2, D3 = float(row[0]), float(row[1]), float(row[2])
    acts = D1 != 0.0 or D2 != 0.0 or D3 != 0.0
    if len(row) == OBLIQUE:
        return Damping(
            acts, True, order, D1, D2, D3,
            float(row[3]), float(row[4]), float(row[5]), float(row[6]), float(row[7]), float(row[8]),
            float(row[9]), float(row[10]), float(row[11]), float(row[12]), float(row[13]), float(row[14]),
            float(row[15]), float(row[16]), float(row[17]), float(row[18]), float(row[19]), float(row[20]),
        )  # fmt: skip
    D1, D2, D3 = to_order(order, D1, D2, D3)
    return Damping(
        acts, False, order, abs(D1) * w1 * per_I, abs(D2) * w2 * per_I, abs(D3) * w3 * per_I,
        1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0,
        1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0,
    )  # fmt: skip


@inline
def to_modes(d, x1, x2, x3):
    """Return P^-1 x for a vector x in the axes of the standard form."""
    x1, x2, x3 = from_order(d.order, x1, x2, x3)
    return (
        d.r11 * x1 + d.r12 * x2 + d.r13 * x3,
        d.r21 * x1 + d.r22 * x2 + d.r23 * x3,
        d.r31 * x1 + d.r32 * x2 + d.r33 * x3,
    )


@inline
def from_modes(d, y1, y2, y3):
    """Return P y, the inverse of ``to_modes``."""
    x1 = d.p11 * y1 + d.p12 * y2 + d.p13 * y3
    x2 = d.p21 * y1 + d.p22 * y2 + d.p23 * y3
    x3 = d.p31 * y1 + d.p32 * y2 + d.p33 * y3
    return to_order(d.order, x1, x2, x3)


@inline
def resistance(d, m1, m2, m3):
    """Return D w for the momentum m."""
    if d.oblique:
        y1, y2, y3 = to_modes(d, m1, m2, m3)
        return from_modes(d, d.k1 * y1, d.k2 * y2, d.k3 * y3)
    return d.k1 * m1, d.k2 * m2, d.k3 * m3


@inline
def damped(m, f, z, time):
    """Return the exact change of m in ``time`` by m' = f + (z/time) m, where z = -time k may be 0."""
    growth = expm1(z)
    return growth * m + time * (growth / z if z != 0.0 else 1.0) * f


@inline
def damped_parts(d, f1, f2, f3, m1, m2, m3, time):
    """Return the changes of three decoupled components m in ``time`` (see ``damped``)."""
    z1, z2, z3 = -time * d.k1, -time * d.k2, -time * d.k3
    return damped(m1, f1, z1, time), damped(m2, f2, z2, time), damped(m3, f3, z3, time)


@inline
def damped_kick(d, f1, f2, f3, m1, m2, m3, time):
    """Return m after ``time`` of m' = f - D w."""
    if d.oblique:
        g1, g2, g3 = to_modes(d, f1, f2, f3)
        d1, d2, d3 = from_modes(d, *damped_parts(d, g1, g2, g3, *to_modes(d, m1, m2, m3), time))
    else:
        d1, d2, d3 = damped_parts(d, f1, f2, f3, m1, m2, m3, time)
    return m1 + d1, m2 + d2, m3 + d3
