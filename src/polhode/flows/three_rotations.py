"""Three rotations: the kinetic energy split into its three terms, each of which turns the body about one axis.

McLachlan 1993, Reich 1994; Vilmart's three-rotation splitting (its last factor corrected, see docs/errata.md), MR in
Celledoni et al. 2008, NO_SQUISH of Miller et al. 2002 in molecular dynamics: a palindrome R_a R_b R_c R_b R_a.

Of a body with three equal moments every axis is a principal axis. One is laid along m, so that a single rotation is
left, which is exact. A linear rotor moves as such a body, with m across its axis: rotations about fixed axes would
create momentum about the axis that has no inertia.
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
from polhode.kernels.stepping.loops import loops

AXES = (1, 2, 3)
BEST = 0.0  # in place of the axes: from least to greatest inertia, the best choice for most bodies


@inline
def position(order, axis):
    """Where a user's axis 1, 2 or 3 is among the sorted ones, counted from 0."""
    a, b, _ = to_order(order, 1.0, 2.0, 3.0)
    return 0.0 if abs(a) == axis else (1.0 if abs(b) == axis else 2.0)


@inline
def turn_about(axis, angle, m1, m2, m3, q0, q1, q2, q3):
    """The body turned by ``angle`` about one of its axes: m turns the other way, q gets a factor on its right."""
    s, c = sincos(0.5 * angle, 0.0)
    ss, cc = 2.0 * s * c, (c - s) * (c + s)
    if axis == 0:
        m2, m3 = cc * m2 + ss * m3, cc * m3 - ss * m2
        return m1, m2, m3, q0 * c - q1 * s, q1 * c + q0 * s, q2 * c + q3 * s, q3 * c - q2 * s
    if axis == 1:
        m3, m1 = cc * m3 + ss * m1, cc * m1 - ss * m3
        return m1, m2, m3, q0 * c - q2 * s, q1 * c - q3 * s, q2 * c + q0 * s, q3 * c + q1 * s
    m1, m2 = cc * m1 + ss * m2, cc * m2 - ss * m1
    return m1, m2, m3, q0 * c - q3 * s, q1 * c + q2 * s, q2 * c - q1 * s, q3 * c + q0 * s


@inline
def turn_about_momentum(angle_per_m, m1, m2, m3, q0, q1, q2, q3):
    """q times the rotation about m by angle_per_m |m|."""
    G = sqrt(m1 * m1 + m2 * m2 + m3 * m3)
    s, c = sincos(0.5 * angle_per_m * G, 0.0)
    f = s / G if G > 0.0 else 0.0
    return product(q0, q1, q2, q3, c, f * m1, f * m2, f * m3)


@inline
def component(axis, x1, x2, x3):
    return x1 if axis == 0 else (x2 if axis == 1 else x3)


@inline
def prepare(order, I1, I2, I3, parameters, c):
    c[0], c[1], c[2] = 1.0 / I1, 1.0 / I2, 1.0 / I3
    c[6] = 1.0 if I1 == I3 else 0.0
    if parameters[0] == BEST:
        c[3], c[4], c[5] = 0.0, 1.0, 2.0
    else:
        for k in range(3):
            c[3 + k] = position(order, parameters[k])


@inline
def advance(c, m1, m2, m3, q0, q1, q2, q3, h):
    if c[6] == 1.0:
        q0, q1, q2, q3 = turn_about_momentum(h * c[0], m1, m2, m3, q0, q1, q2, q3)
        return m1, m2, m3, q0, q1, q2, q3, 0.0
    for k in range(5):
        axis = int(c[3 + (k if k < 3 else 4 - k)])
        t = h if k == 2 else 0.5 * h
        angle = t * (c[axis] * component(axis, m1, m2, m3))
        m1, m2, m3, q0, q1, q2, q3 = turn_about(axis, angle, m1, m2, m3, q0, q1, q2, q3)
    return m1, m2, m3, q0, q1, q2, q3, 0.0


repeat, split = loops(prepare, advance)


def axis_parameters(axes: tuple[int, int, int] | None) -> tuple[float, float, float]:
    """Return the parameters of ``prepare`` for a permutation of the body axes; None chooses for each body."""
    if axes is None:
        return BEST, BEST, BEST
    if not isinstance(axes, (tuple, list)) or tuple(axes) not in set(permutations(AXES)):
        raise InputError(f"axes = {axes!r}: expected a permutation of (1, 2, 3), or None to choose for each body")
    a, b, c = axes
    return float(a), float(b), float(c)


class ThreeRotations(Flow):
    """Rotations about the body axes, R_a(h/2) R_b(h/2) R_c(h) R_b(h/2) R_a(h/2), by default of order 2.

    ``axes`` = (a, b, c), a permutation of (1, 2, 3) whose last is the middle axis of the palindrome; None sorts them by
    their moments, with the greatest in the middle: errors of other choices are 1.2 to 4 times larger on average. For
    bodies with three equal moments and for linear rotors, a step is one rotation about m and exact.
    ``order`` 4, 6, 8 or 10 composes steps of order 2 (see ``Composed``).

    >>> from polhode import State
    >>> ThreeRotations(axes=(3, 2, 1)).step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.01, steps=5000).m.round(4)
    array([0.0358, 0.6284, 0.7375])
    """

    prepare = staticmethod(prepare)
    advance = staticmethod(advance)
    repeat = staticmethod(repeat)
    split = staticmethod(split)
    size = 7

    def __init__(self, order: int = 2, axes: tuple[int, int, int] | None = None) -> None:
        if order not in BY_ORDER:
            raise InputError(f"ThreeRotations has order {', '.join(map(str, BY_ORDER))}; order = {order!r} came")
        self.exact_parameters = axis_parameters(axes)
        self.fractions = BY_ORDER[order].fractions
        arguments = ([str(order)] if order != 2 else []) + ([f"axes={tuple(axes)}"] if axes is not None else [])
        self.record = record(f"ThreeRotations({', '.join(arguments)})", order, *BY_ORDER[order].references)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        return cls(), cls(axes=(1, 2, 3)), cls(axes=(3, 1, 2)), cls(4), cls(6), cls(8), cls(10)


class NoSquish(ThreeRotations):
    """The five-factor splitting of molecular dynamics codes: ``ThreeRotations`` with axes 3, 2, 1, 2, 3.

    >>> from polhode import State
    >>> NoSquish().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.01, steps=5000).m.round(4)
    array([0.0358, 0.6284, 0.7375])
    """

    def __init__(self) -> None:
        super().__init__(axes=(3, 2, 1))
        self.record = record("NoSquish()", 2, MILLER_2002)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        return (cls(),)


def record(name: str, order: int, *more: Any) -> FlowRecord:
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
