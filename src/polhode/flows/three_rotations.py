"""Three rotations: a splitting of the kinetic energy into three terms, each of which rotates the body about an axis.

McLachlan 1993, Reich 1994; Vilmart's three-rotation splitting (its last factor corrected, see docs/errata.md), MR in
Celledoni et al. 2008, NO_SQUISH of Miller et al. 2002 in molecular dynamics: a palindrome R_a R_b R_c R_b R_a.

For a body with three equal moments every axis is a principal axis. One of them is chosen along m, so that the step is a
single rotation, which is exact. A linear rotor moves like such a body, with m perpendicular to its axis: rotations
about fixed axes would create momentum about the axis that has no inertia.
"""

from __future__ import annotations

from itertools import permutations
from math import sqrt
from typing import Any

from polhode.core.errors import InputError
from polhode.core.references import CELLEDONI_2008, MCLACHLAN_1993, MILLER_2002, REICH_1994, VILMART_2013
from polhode.flows.composition import BY_ORDER
from polhode.flows.flow import MOMENTUM_SPACE, NORM, Flow, FlowRecord
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import to_order
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import dot
from polhode.kernels.stepping.loops import loops

AXES = (1, 2, 3)
BEST = 0.0  # replaces the axes: from least to greatest inertia, the best choice for most bodies


@inline
def position(order, axis):
    """Return the index, from 0, of the user's axis 1, 2 or 3 among the sorted axes."""
    a, b, _ = to_order(order, (1.0, 2.0, 3.0))
    return 0.0 if abs(a) == axis else (1.0 if abs(b) == axis else 2.0)


@inline
def turn_about(axis, angle, m, q):
    """Return m and q of the body rotated by ``angle`` about a body axis: m rotates by -angle, q gets a right factor."""
    m1, m2, m3 = m
    q0, q1, q2, q3 = q
    s, c = sincos(0.5 * angle, 0.0)
    ss = 2.0 * s * c
    cc = (c - s) * (c + s)
    if axis == 0:
        m = m1, cc * m2 + ss * m3, cc * m3 - ss * m2
        return m, (q0 * c - q1 * s, q1 * c + q0 * s, q2 * c + q3 * s, q3 * c - q2 * s)
    if axis == 1:
        m = cc * m1 - ss * m3, m2, cc * m3 + ss * m1
        return m, (q0 * c - q2 * s, q1 * c - q3 * s, q2 * c + q0 * s, q3 * c + q1 * s)
    m = cc * m1 + ss * m2, cc * m2 - ss * m1, m3
    return m, (q0 * c - q3 * s, q1 * c + q2 * s, q2 * c - q1 * s, q3 * c + q0 * s)


@inline
def turn_about_momentum(angle_per_m, m, q):
    """Return q times the rotation about m by angle_per_m |m|."""
    G = sqrt(dot(m, m))
    s, c = sincos(0.5 * angle_per_m * G, 0.0)
    f = s / G if G > 0.0 else 0.0
    return product(q, (c, f * m[0], f * m[1], f * m[2]))


@inline
def component(axis, x):
    """Return the component of x along axis 0, 1 or 2."""
    return x[0] if axis == 0 else (x[1] if axis == 1 else x[2])


@inline
def prepare(order, I, parameters, c):
    """Write 1/I, the indices of the axes, and whether the moments are equal to c."""
    c[0], c[1], c[2] = 1.0 / I[0], 1.0 / I[1], 1.0 / I[2]
    c[6] = 1.0 if I[0] == I[2] else 0.0
    if parameters[0] == BEST:
        c[3], c[4], c[5] = 0.0, 1.0, 2.0
    else:
        for k in range(3):
            c[3 + k] = position(order, parameters[k])


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    if c[6] == 1.0:
        return m, turn_about_momentum(h * c[0], m, q), 0.0
    for k in range(5):
        axis = int(c[3 + (k if k < 3 else 4 - k)])
        t = h if k == 2 else 0.5 * h
        m, q = turn_about(axis, t * (c[axis] * component(axis, m)), m, q)
    return m, q, 0.0


def axis_parameters(axes: tuple[int, int, int] | None) -> tuple[float, float, float]:
    """Return the parameters of ``prepare`` for a permutation of the body axes, or None to choose for each body."""
    if axes is None:
        return BEST, BEST, BEST
    if not isinstance(axes, (tuple, list)) or tuple(axes) not in set(permutations(AXES)):
        raise InputError(f"axes = {axes!r}: expected a permutation of (1, 2, 3), or None to choose for each body")
    a, b, c = axes
    return float(a), float(b), float(c)


class ThreeRotations(Flow):
    """Splitting into rotations about the body axes, R_a(h/2) R_b(h/2) R_c(h) R_b(h/2) R_a(h/2).

    For bodies with three equal moments and for linear rotors, a step is one rotation about m and exact.

    Parameters
    ----------
    order : int, optional
        Order of the flow. Default is 2; orders 4, 6, 8 and 10 are compositions of steps of order 2 (see ``Composed``).
    axes : tuple, optional
        (a, b, c), a permutation of (1, 2, 3), where c is the middle axis of the palindrome. By default, the axes are
        sorted by their moments, with the greatest in the middle: errors of other choices are 1.2 to 4 times larger on
        average.

    Examples
    --------
    >>> from polhode import State
    >>> ThreeRotations(axes=(3, 2, 1)).step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.01, steps=5000).m.round(4)
    array([0.0358, 0.6284, 0.7375])
    """

    kernels = loops(prepare, advance, size=7)

    def __init__(self, order: int = 2, axes: tuple[int, int, int] | None = None) -> None:
        if order not in BY_ORDER:
            raise InputError(f"order = {order!r}: ThreeRotations expected one of {', '.join(map(str, BY_ORDER))}")
        self.exact_parameters = axis_parameters(axes)
        self.fractions = BY_ORDER[order].fractions
        arguments = ([str(order)] if order != 2 else []) + ([f"axes={tuple(axes)}"] if axes is not None else [])
        self.record = record(f"ThreeRotations({', '.join(arguments)})", order, *BY_ORDER[order].references)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return cls(), cls(axes=(1, 2, 3)), cls(axes=(3, 1, 2)), cls(4), cls(6), cls(8), cls(10)


class NoSquish(ThreeRotations):
    """Five-factor splitting of molecular dynamics codes: ``ThreeRotations`` with axes 3, 2, 1, 2, 3.

    Examples
    --------
    >>> from polhode import State
    >>> NoSquish().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.01, steps=5000).m.round(4)
    array([0.0358, 0.6284, 0.7375])
    """

    def __init__(self) -> None:
        super().__init__(axes=(3, 2, 1))
        self.record = record("NoSquish()", 2, MILLER_2002)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return (cls(),)


def record(name: str, order: int, *more: Any) -> FlowRecord:
    """Return the record of a splitting into rotations, with additional references ``more``."""
    return FlowRecord(
        name=name,
        summary="rotations about the body axes" + (", composed" if order > 2 else ""),
        order=order,
        symmetric=True,
        poisson=True,
        symplectic=True,
        preserves=frozenset({NORM, MOMENTUM_SPACE}),
        references=(MCLACHLAN_1993, REICH_1994, VILMART_2013, CELLEDONI_2008, *more),
        test_step=0.4 if order < 8 else 1.2,
    )
