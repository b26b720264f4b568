"""Symmetric + rotation: the kinetic energy as that of a symmetric body plus one rotation about another axis.

Vilmart's Algorithm 2, corrected (docs/errata.md). With x_j = 1/I_j and labels 1, 2, 3 such that 2 is the middle moment,

    R = (x1 - x2) m1^2/2          a rotation about axis 1
    S = x2 |m|^2/2 + (x3 - x2) m3^2/2    a rotation about m, then one about axis 3

and a step is R(h/2) S(h) R(h/2). It is exact for I1 = I2, where R vanishes, and for I2 = I3, where S is a sphere and
the two commute: for every symmetric body, once the moments are sorted.
"""

from __future__ import annotations

from math import sqrt

from polhode.flows.flow import MOMENTUM_SPACE, NORM, Flow, Record
from polhode.flows.three_rotations import turn_about
from polhode.kernels.jit import entry, helper
from polhode.kernels.quat import product
from polhode.kernels.repeat import REPEAT, repeat_steps
from polhode.kernels.splitting import SPLIT, split_steps
from polhode.kernels.trig import sincos
from polhode.references import VILMART_2013


@helper
def prepare(order, I1, I2, I3, parameters, c):
    """x2, and for R and S each the difference to x2 and the axis. Errors are of size r^2 s/24 + r s^2/12, so the larger
    difference goes to R."""
    w12, w32 = (I2 - I1) / I1 / I2, (I2 - I3) / I2 / I3
    c[0] = 1.0 / I2
    if w12 >= -w32:
        c[1], c[2], c[3], c[4] = w12, 0.0, w32, 2.0
    else:
        c[1], c[2], c[3], c[4] = w32, 2.0, w12, 0.0


@helper
def turn_about_momentum(angle_per_m, m1, m2, m3, q0, q1, q2, q3):
    """q times the rotation about m by angle_per_m |m|."""
    G = sqrt(m1 * m1 + m2 * m2 + m3 * m3)
    s, c = sincos(0.5 * angle_per_m * G, 0.0)
    f = s / G if G > 0.0 else 0.0
    return product(q0, q1, q2, q3, c, f * m1, f * m2, f * m3)


@helper
def turn_half(axis, angle_per_m, m1, m2, m3, q0, q1, q2, q3):
    angle = angle_per_m * (m1 if axis == 0 else m3)
    return turn_about(axis, angle, m1, m2, m3, q0, q1, q2, q3)


@helper
def advance(c, m1, m2, m3, q0, q1, q2, q3, h):
    outer, inner = int(c[2]), int(c[4])
    m1, m2, m3, q0, q1, q2, q3 = turn_half(outer, 0.5 * h * c[1], m1, m2, m3, q0, q1, q2, q3)
    q0, q1, q2, q3 = turn_about_momentum(h * c[0], m1, m2, m3, q0, q1, q2, q3)
    m1, m2, m3, q0, q1, q2, q3 = turn_half(inner, h * c[3], m1, m2, m3, q0, q1, q2, q3)
    m1, m2, m3, q0, q1, q2, q3 = turn_half(outer, 0.5 * h * c[1], m1, m2, m3, q0, q1, q2, q3)
    return m1, m2, m3, q0, q1, q2, q3, 0.0


@entry(REPEAT)
def repeat(arguments):
    return repeat_steps(prepare, advance, arguments)


@entry(SPLIT)
def split(torque, arguments):
    split_steps(prepare, advance, torque, arguments)


class SymmetricRotation(Flow):
    """A symmetric body and one rotation, of order 2; exact for symmetric bodies, whichever moments are equal.

    >>> from polhode import State
    >>> SymmetricRotation().step((1.0, 2.0, 1.0), State(m=(0.3, 0.2, 0.9)), 100.0).m.round(9)
    array([-0.74134046,  0.2       , -0.59195804])
    """

    prepare = staticmethod(prepare)
    advance = staticmethod(advance)
    repeat = staticmethod(repeat)
    split = staticmethod(split)
    size = 5
    record = Record(
        name="SymmetricRotation()",
        summary="a symmetric body and one rotation; exact for symmetric bodies",
        order=2,
        symmetric=True,
        poisson=True,
        symplectic=True,
        preserves=frozenset({NORM, MOMENTUM_SPACE}),
        references=(VILMART_2013,),
        test_step=0.4,
    )
