"""The exact flow with the frame of van Zon and Schofield, along m x e3.

R. van Zon, J. Schofield 2007, in the form of Celledoni, Fasso, Safstrom, Zanna 2008, section 2.6, and of Celledoni,
Zanna 2010, case (3); misprints corrected (docs/errata.md). With p a rotation of m onto e3, |m| = 1,

    q(t) = q p(0)^-1 y p(t),  y = (cos psi/2, e3 sin psi/2)                                                         (12)
    psi = t/I3 + I31/(I1 I3 lambda) [Pi(phi(t), n, k) - Pi(phi(0), n, k)],  n as in ``frb_quaternion``
    p3^2 = (1 + m3)/4 - m2 (1 + m3)/(4 |m x e3|),  p0^2 = (1 + m3)/2 - p3^2,  sign(p0 p3) = sign(m1)
    p1 = (p3 m1 + p0 m2)/(1 + m3),  p2 = (p3 m2 - p0 m1)/(1 + m3)                                                   (15)

The paper computes Pi by theta functions; here it is computed by Carlson's integrals, or (``hermite``) by a two-point
Hermite quadrature of order 4 of the integrand 1/(1 - n sn^2 u), whose derivative at the ends is known.
"""

from __future__ import annotations

from math import sqrt

from polhode.core.references import CELLEDONI_2008, FRB_2010, VAN_ZON_SCHOFIELD_2007
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.flows.frb_quaternion import LOST, advance_with, angle_about_3, onto_axis_3
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.published_motion import (
    AROUND_3,
    COUNT,
    SEPARATRIX,
    SIZE,
    characteristic,
    half_turns,
    prepare,
    third_kind_difference,
    third_kind_separatrix,
)
from polhode.kernels.numbers.quat import product, turned_frame
from polhode.kernels.numbers.trig import floor, is_odd, sincos
from polhode.kernels.stepping.loops import loops

EXACT, HERMITE = 0.0, -1.0  # replace the number of nodes


@inline
def value_and_slope(s, c, n, k2):
    """Return g = 1/(1 - n sn^2 u) and dg/du, from s = sn u and c = cn u."""
    g = 1.0 / (1.0 - n * s * s)
    return g, 2.0 * n * s * c * sqrt(1.0 - k2 * s * s) * g * g


@inline
def hermite_quadrature(motion, n):
    """Return the integral of the cubic Hermite interpolant: du (g0 + g1)/2 + du^2 (g0' - g1')/12."""
    du = motion.lam * motion.t
    g0, slope0 = value_and_slope(motion.s0, motion.c0, n, motion.k2)
    g1, slope1 = value_and_slope(motion.s1, motion.c1, n, motion.k2)
    return du * (0.5 * (g0 + g1) + du / 12.0 * (slope0 - slope1))


@inline
def half_angle(motion, phi, m):
    """Return p0 and p3 over sqrt((1 + m3)/2): cosine and sine of half the continued angle of (m2, m1).

    The sign of m1 is constant in (i) and (iii); in (ii) it is that of cn, and p is periodic with four half turns of
    phi. The smaller of the two is computed from their product, because p3^2 cancels where m2 = |m x e3|.
    """
    m1, m2, _ = m
    side = -1.0 if motion.x[0] < 0.0 else 1.0
    sign = 1.0
    if motion.family == AROUND_3:
        j, side = half_turns(phi)
        sign = -1.0 if is_odd(floor(0.5 * j)) else 1.0
    size = sqrt(m1 * m1 + m2 * m2)
    cos_b, sin_b = m2 / size, abs(m1) / size
    if cos_b >= 0.0:
        p0 = sqrt(0.5 * (1.0 + cos_b))
        p3 = 0.5 * sin_b / p0
    else:
        p3 = sqrt(0.5 * (1.0 - cos_b))
        p0 = 0.5 * sin_b / p3
    return sign * p0, sign * side * p3


@inline
def along_node(motion, phi, m):
    """Return p of case (3), (15): the shortest rotation of m onto e3, and one about e3 that takes m x e3 to e1."""
    y, s = half_angle(motion, phi, m)
    return product((y, 0.0, 0.0, s), onto_axis_3(m))


@inline
def attitude(c, motion):
    """Return the rotation p(0)^-1 y p(t) of (12) as a quaternion."""
    n = characteristic(c, motion)
    if motion.family == SEPARATRIX:
        integral = third_kind_separatrix(motion, n)
    elif c[COUNT] == HERMITE:
        integral = hermite_quadrature(motion, n)
    else:
        integral = third_kind_difference(motion, n)
    s, y = sincos(0.5 * angle_about_3(c, motion, integral), 0.0)
    return turned_frame(along_node(motion, motion.phi0, motion.x), y, s, along_node(motion, motion.phi1, motion.y))


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    return advance_with(attitude, c, m, q, h)


class VanZonSchofield(Flow):
    """Exact flow in the frame along m x e3, for study: ``Exact`` is faster and has full accuracy everywhere.

    Parameters
    ----------
    hermite : bool, optional
        Whether to replace the integral of the third kind by a quadrature of order 4. Default is False.

    Examples
    --------
    >>> from polhode import State
    >>> VanZonSchofield().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 50.0).q.round(6)
    array([-0.900588, -0.153051,  0.058371,  0.402629])
    """

    kernels = loops(prepare, advance, size=SIZE, has_scratch=True)

    def __init__(self, hermite: bool = False) -> None:
        self.exact_parameters = (HERMITE if hermite else EXACT,)
        how = "by Hermite quadrature" if hermite else "by Carlson's integrals"
        self.record = FlowRecord(
            name=f"VanZonSchofield({'hermite=True' if hermite else ''})",
            summary=f"as published, for study: the frame along m x e3, its angle {how}",
            order=4 if hermite else None,
            symmetric=True,
            poisson=True,
            symplectic=not hermite,
            preserves=frozenset(INVARIANTS),
            references=(VAN_ZON_SCHOFIELD_2007, CELLEDONI_2008, FRB_2010),
            test_step=0.4,
            limits=f"{LOST}, and where m is close to e3 or -e3 (the axis of the largest moment), also those of |q| = 1",
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return cls(), cls(hermite=True)
