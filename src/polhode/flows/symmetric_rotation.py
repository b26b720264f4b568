"""Symmetric + rotation: a splitting into a symmetric body and one rotation about another axis.

Vilmart's Algorithm 2, corrected (docs/errata.md). With x_j = 1/I_j and labels 1, 2, 3 such that 2 is the middle moment,

    R = (x1 - x2) m1^2/2          a rotation about axis 1
    S = x2 |m|^2/2 + (x3 - x2) m3^2/2    a rotation about m, then one about axis 3

and a step is R(h/2) S(h) R(h/2). It is exact for I1 = I2, where R vanishes, and for I2 = I3, where S is a sphere and
the two commute: for every symmetric body, if the moments are sorted. Axes 1 and 3 may be exchanged. Errors are of size
r^2 s/24 + r s^2/12, where r and s are the differences of x in R and S, so the larger difference is assigned to R: that
is axis 1 for some bodies and axis 3 for the others. The article uses the axes as they are labeled.
"""

from __future__ import annotations

from polhode.core.references import VILMART_2013
from polhode.flows.flow import MOMENTUM_SPACE, NORM, Flow, FlowRecord
from polhode.flows.three_rotations import (
    BEST,
    axis_parameters,
    component,
    position,
    turn_about,
    turn_about_momentum,
)
from polhode.kernels.compiler.jit import inline
from polhode.kernels.stepping.loops import loops


@inline
def prepare(order, I, parameters, c):
    """Write x of the middle axis to c, and the difference to it and the axis of both R and S."""
    a, b, d = 0.0, 1.0, 2.0
    if parameters[0] != BEST:
        a, b, d = position(order, parameters[0]), position(order, parameters[1]), position(order, parameters[2])
    Ia, Ib, Id = component(a, I), component(b, I), component(d, I)
    outer = (Ib - Ia) / Ia / Ib
    inner = (Ib - Id) / Ib / Id
    c[0] = 1.0 / Ib
    if parameters[0] == BEST and outer < -inner:
        c[1], c[2], c[3], c[4] = inner, d, outer, a
    else:
        c[1], c[2], c[3], c[4] = outer, a, inner, d


@inline
def turn_half(axis, angle_per_m, m, q):
    """Return m and q of the body, rotated about ``axis`` by ``angle_per_m`` times that component of m."""
    return turn_about(axis, angle_per_m * component(axis, m), m, q)


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    outer, inner = int(c[2]), int(c[4])
    m, q = turn_half(outer, 0.5 * h * c[1], m, q)
    q = turn_about_momentum(h * c[0], m, q)
    m, q = turn_half(inner, h * c[3], m, q)
    m, q = turn_half(outer, 0.5 * h * c[1], m, q)
    return m, q, 0.0


class SymmetricRotation(Flow):
    """Splitting into a symmetric body and one rotation, R(h/2) S(h) R(h/2), of order 2.

    Parameters
    ----------
    axes : tuple, optional
        (a, b, c), a permutation of (1, 2, 3): R is a rotation about axis a, and S is the motion of a symmetric body
        about axis c, with the moment of axis b across it. Steps are exact for bodies with I_a = I_b or I_b = I_c. The
        article (Vilmart 2013, Algorithm 2) has (1, 2, 3). By default, the axes are chosen for each body: b is the axis
        of middle inertia, and a is the one of the other two whose 1/I differs more from that of b, which gives the
        smaller errors. Steps are then exact for all symmetric bodies, and differ from those of the article for bodies
        whose axes are sorted in another way.

    Examples
    --------
    >>> from polhode import State
    >>> SymmetricRotation().step((1.0, 2.0, 1.0), State(m=(0.3, 0.2, 0.9)), 100.0).m.round(9)
    array([-0.74134046,  0.2       , -0.59195804])
    """

    kernels = loops(prepare, advance, size=5)

    def __init__(self, axes: tuple[int, int, int] | None = None) -> None:
        self.exact_parameters = axis_parameters(axes)
        chosen = "; exact for symmetric bodies" if axes is None else " about fixed axes"
        self.record = FlowRecord(
            name=f"SymmetricRotation({'' if axes is None else f'axes={tuple(axes)}'})",
            summary=f"a symmetric body and one rotation{chosen}",
            order=2,
            symmetric=True,
            poisson=True,
            symplectic=True,
            preserves=frozenset({NORM, MOMENTUM_SPACE}),
            references=(VILMART_2013,),
            test_step=0.4,
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return cls(), cls(axes=(1, 2, 3))
