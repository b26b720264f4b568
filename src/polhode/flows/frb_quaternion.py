"""The exact flow as published, in quaternions: quat_step of FRB.

Celledoni, Fasso, Safstrom, Zanna 2008, Corollary 2.7; Celledoni, Zanna 2010, (16), a rescaled version of Kosenko 1998;
misprints corrected (docs/errata.md). With p the shortest rotation of m onto e3, |m| = 1,

    q(t) = q p(0)^-1 y p(t),  y = (cos psi/2, e3 sin psi/2)                                                         (12)
    psi = t/I3 + I31/(I1 I3 lambda) [Pi(phi(t), n, k) - Pi(phi(0), n, k)] - [theta(t) - theta(0)]                   (16)
    n = -(B31/B13)^2 in case (i), -I3 I21/(I1 I32) in case (ii),  theta the polar angle of (m1, m2), continued

theta is f of (16), whose coefficient is 1. Symmetric bodies and steady spins are two plane rotations. Another p is that
of (2.22) in the paper of 2008, from orthonormal v1 = gamma1 e1 + gamma2 e2, v2 = -gamma2 e1 + gamma1 e2, v3 = e3:

    p = (v2 + v1 m)/|v2 + v1 m| = (-v1.m, v2 (1 - m3) + e3 (gamma1 m2 - gamma2 m1))/sqrt(2 (1 - m3))              (2.22)

Its angle is (16) with +[theta(t) - theta(0)]: the two frames turn by equal angles about m x e3, to opposite sides.
"""

from __future__ import annotations

from dataclasses import replace
from math import atan2, sqrt

import numpy as np

from polhode.core.errors import InputError
from polhode.core.references import CELLEDONI_2008, FRB_2010, KOSENKO_1998
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.flows.quadrature import gauss_legendre
from polhode.flows.three_rotations import turn_about, turn_about_momentum
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.published_motion import (
    AROUND_3,
    GAMMA,
    MOST_NODES,
    SEPARATRIX,
    SIZE,
    characteristic,
    half_turns,
    prepare,
    third_kind_integral,
    third_kind_separatrix,
    unit_motion,
)
from polhode.kernels.numbers.quat import product, turned_frame
from polhode.kernels.numbers.trig import floor, is_odd, sincos
from polhode.kernels.numbers.vectors import dot, times
from polhode.kernels.stepping.loops import loops

ON_AXIS = 1e-150  # components of m/|m| whose squares underflow: m is treated as lying on the axis
NO_AXIS = -1
TOLERANCE = 1e-12  # of gamma1^2 + gamma2^2

LOST = "digits are lost near the axes, near the separatrix and for nearly spherical bodies"


@inline
def axis_of_symmetry(c, x, D1, D3):
    """Return the axis, 0 or 2, about which m turns uniformly (FRB: lambda_1 = 0 or lambda_3 = 0), or NO_AXIS."""
    on_1, on_2, on_3 = abs(x[0]) <= ON_AXIS, abs(x[1]) <= ON_AXIS, abs(x[2]) <= ON_AXIS
    if c[3] == 0.0:
        return 2
    if c[5] == 0.0 or (on_2 and on_3):
        return 0
    if on_1 and (on_2 or on_3):
        return 2
    return 0 if D1 == 0.0 else (2 if D3 == 0.0 else NO_AXIS)


@inline
def turn_symmetric(c, axis, m, q, h):
    """Return m and q after two plane rotations, about m and about ``axis``; I2 is the moment across either axis."""
    I_a, m_a = (c[0], m[0]) if axis == 0 else (c[2], m[2])
    q = turn_about_momentum(h / c[1], m, q)
    return turn_about(axis, h * m_a * ((c[1] - I_a) / c[1] / I_a), m, q)


@inline
def advance_with(attitude, c, m, q, h):
    """Return m, q after one step h, and 0; ``attitude(c, motion)`` returns the rotation p(0)^-1 y p(t) of a flow."""
    G = sqrt(dot(m, m))
    if G == 0.0:
        return m, q, 0.0
    x1, x2, x3 = m[0] / G, m[1] / G, m[2] / G
    two_T = x1 * x1 / c[0] + x2 * x2 / c[1] + x3 * x3 / c[2]
    D1, D3 = abs(1.0 - two_T * c[0]), abs(1.0 - two_T * c[2])
    axis = axis_of_symmetry(c, (x1, x2, x3), D1, D3)
    if axis != NO_AXIS:
        m, q = turn_symmetric(c, axis, m, q, h)
        return m, q, 0.0
    motion = unit_motion(c, (x1, x2, x3), G * h, two_T, D1, D3)
    return times(G, motion.y), product(q, attitude(c, motion)), 0.0


@inline
def onto_axis_3(m):
    """Return p of case (1), section 1.4, whose last component is 0.

    p is not a unit quaternion where 1 + m3 suffers from cancellation; (m1^2 + m2^2)/2 replaces it where it is 0.
    """
    m1, m2, m3 = m
    v = 1.0 + m3
    if not v > 0.0:
        v = 0.5 * (m1 * m1 + m2 * m2)
    p0 = sqrt(0.5 * v)
    return p0, 0.5 * m2 / p0, -0.5 * m1 / p0, 0.0


@inline
def from_axes(c, m):
    """Return p of (2.22); as in ``onto_axis_3``, (m1^2 + m2^2)/2 replaces 1 - m3 where that is 0."""
    m1, m2, m3 = m
    g1, g2 = c[GAMMA], c[GAMMA + 1]
    v = 1.0 - m3
    if not v > 0.0:
        v = 0.5 * (m1 * m1 + m2 * m2)
    f = 1.0 / sqrt(2.0 * v * (g1 * g1 + g2 * g2))  # gamma is rounded
    return -f * (g1 * m1 + g2 * m2), -f * g2 * v, f * g1 * v, f * (g1 * m2 - g2 * m1)


@inline
def frame(c, m):
    """Return p, a rotation of m onto e3: that of (2.22), or of case (1) if gamma = 0."""
    return onto_axis_3(m) if c[GAMMA] == 0.0 and c[GAMMA + 1] == 0.0 else from_axes(c, m)


@inline
def angle_about_3(c, motion, integral):
    """Return psi of (16) without theta: the angle of the van Zon-Schofield frame."""
    return motion.t / c[2] + c[4] / (c[0] * c[2] * motion.lam) * integral


@inline
def polar_turn(motion):
    """Return theta(t) - theta(0) as an angle and a number of half turns.

    The sign of m1 is constant in case (i); in case (ii) that of cn is constant between half turns of phi.
    """
    turns = 0.0
    side0, side1 = 1.0, 1.0
    if motion.family == AROUND_3:
        j0, side0 = half_turns(motion.phi0)
        j1, side1 = half_turns(motion.phi1)
        turns = j1 - j0
    elif motion.x[0] < 0.0:
        side0 = side1 = -1.0
    end = atan2(side1 * motion.y[1], side1 * motion.y[0])
    return end - atan2(side0 * motion.x[1], side0 * motion.x[0]), turns


@inline
def attitude(c, motion):
    """Return the rotation p(0)^-1 y p(t) of (12) as a quaternion."""
    n = characteristic(c, motion)
    on = motion.family == SEPARATRIX
    integral = third_kind_separatrix(motion, n) if on else third_kind_integral(c, motion, n)
    theta, turns = polar_turn(motion)
    if c[GAMMA] != 0.0 or c[GAMMA + 1] != 0.0:
        theta, turns = -theta, -turns
    s, y = sincos(0.5 * (angle_about_3(c, motion, integral) - theta), 0.0)  # (16)
    if is_odd(turns):
        s, y = -y, s
    if is_odd(floor(0.5 * turns)):
        s, y = -s, -y
    return turned_frame(frame(c, motion.x), y, s, frame(c, motion.y))


# Each published flow repeats this function and the loops, because Numba specializes on the functions they call.
@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    return advance_with(attitude, c, m, q, h)


class Published(Flow):
    """Base class of FrbQuaternion and FrbMatrix: the exact integral of the third kind, or 1 to 10 nodes for it."""

    frame: str
    limits: str
    references: tuple[str, ...]

    def __init__(self, nodes: int = 0) -> None:
        name = type(self).__name__
        if nodes not in range(MOST_NODES + 1):
            raise InputError(
                f"nodes = {nodes!r}: {name} expected 1 to {MOST_NODES} nodes, or 0 nodes for the exact integral"
            )
        rule = [x for node in zip(*gauss_legendre(nodes), strict=True) for x in node]
        self.exact_parameters = (nodes, 0.0, 0.0, *rule)
        how = f"by quadrature with {nodes} nodes" if nodes else "by Carlson's integrals"
        self.record = FlowRecord(
            name=f"{name}({nodes or ''})",
            summary=f"as published, for study: {self.frame}, its angle {how}",
            order=2 * nodes or None,
            symmetric=True,
            poisson=True,
            symplectic=nodes == 0,
            preserves=frozenset(INVARIANTS),
            references=self.references,
            test_step=0.6 * (nodes or 1),  # more nodes show their errors in longer steps
            limits=self.limits,
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return cls(), cls(1), cls(3), cls(5)


class FrbQuaternion(Published):
    """Published exact flow in quaternions, for study: ``Exact`` is faster and has full accuracy everywhere.

    Parameters
    ----------
    nodes : int, optional
        Number of Gauss nodes, 1 to 10, for the integral of the third kind; 0, the default, is exact, for steps of any
        length.
    gamma : tuple of float, optional
        Two numbers with gamma1^2 + gamma2^2 = 1, which select the rotation (2.22) of m onto e3 instead of the shortest
        one: digits are then lost where m is close to e3, instead of -e3.

    Examples
    --------
    >>> from polhode import State
    >>> FrbQuaternion().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 50.0).q.round(6)
    array([-0.900588, -0.153051,  0.058371,  0.402629])
    """

    kernels = loops(prepare, advance, size=SIZE, has_scratch=True)
    frame = "the shortest rotation of m onto e3"
    limits = f"{LOST}, and where m is close to -e3 (the axis of the largest moment), also those of |q| = 1"
    references = (CELLEDONI_2008, FRB_2010, KOSENKO_1998)

    def __init__(self, nodes: int = 0, *, gamma: tuple[float, float] | None = None) -> None:
        super().__init__(nodes)
        if gamma is None:
            return
        if np.shape(gamma) != (2,) or not abs(gamma[0] ** 2 + gamma[1] ** 2 - 1.0) <= TOLERANCE:
            raise InputError(
                f"gamma = {gamma!r}: expected two numbers with gamma1^2 + gamma2^2 = 1; for example "
                "gamma=(0.6, 0.8), or omit gamma"
            )
        g1, g2 = map(float, gamma)
        self.exact_parameters = (nodes, g1, g2, *self.exact_parameters[3:])
        first = f"{nodes}, " if nodes else ""
        self.record = replace(
            self.record,
            name=f"FrbQuaternion({first}gamma=({g1!r}, {g2!r}))",
            summary=self.record.summary.replace(self.frame, "the rotation (2.22) of m onto e3"),
            limits=self.record.limits.replace("-e3", "e3"),
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return *super().variants(), cls(gamma=(0.6, 0.8))
