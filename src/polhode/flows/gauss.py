"""Factorization: exact momentum, and one angle of the attitude by Gauss quadrature in time.

E. Gustafsson's thesis (2010), section 4.3.2, after Celledoni, Fasso, Safstrom, Zanna 2008, section 3. With p(m) a
rotation that takes m onto a body axis e_a, and y one about e_a by psi,

    q(h) = q p(m)^-1 y p(m(h))                                                                                 (31)
    p0 = c0 sqrt(1 + m_a), p_a = c3 sqrt(1 + m_a), c0^2 + c3^2 = 1/2                                            (36)
    p_b = (p_a m_b + p0 m_c)/(1 + m_a), p_c = (p_a m_c - p0 m_b)/(1 + m_a)                                      (34)
    psi' = 2T + (m_c m_b' - m_b m_c')/(1 + m_a) = 1/I_a + (2T - 1/I_a)/(1 + m_a)                                (33)

for |m| = 1 and (a, b, c) cyclic. Q m is preserved for any psi. In psi' only m_a depends on time: the numerator is
computed once, from squares.

The thesis uses e_a = e_3, where 1 + m_3 may be close to 0. Here e_a is the axis that m circles, with the sign of m_a,
which is constant: 1 + m_a >= 1, and the singularities of this axis are the farthest from real times.
"""

from __future__ import annotations

from math import sqrt

from polhode.core.errors import InputError
from polhode.core.references import CELLEDONI_2008, GUSTAFSSON_2010
from polhode.flows.exact import CONSTANTS, read_body, write_body
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.flows.quadrature import gauss_legendre
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.euler import CLOSE, separatrix_gap
from polhode.kernels.exact.momentum import momentum_after
from polhode.kernels.exact.standard_form import to_order
from polhode.kernels.numbers.quat import product, turned_frame
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import by_components, dot
from polhode.kernels.stepping.loops import loops

MOST_NODES = 10
COUNT = CONSTANTS + 3  # index of the number of nodes among the constants
NODES = COUNT + 1  # index of the first node among the constants; each is followed by its weight
CHOSEN = 0.0  # replaces the number of a fixed axis
TOLERANCE = 1e-12  # of c0^2 + c3^2
TEST_STEPS = (1.0, 1.0, 2.0, 3.0, 4.0)  # for 1, 2, ... nodes


@inline
def prepare(order, I, parameters, c):
    """Write the body, c0, c3, the fixed axis (+-1, +-2, +-3 in sorted axes, or CHOSEN), and the rule to c."""
    write_body(I, c)
    c[CONSTANTS], c[CONSTANTS + 1] = parameters[0], parameters[1]
    fixed = parameters[2]
    e1 = 1.0 if fixed == 1.0 else 0.0
    e2 = 1.0 if fixed == 2.0 else 0.0
    e3 = 1.0 if fixed == 3.0 else 0.0
    e1, e2, e3 = to_order(order, (e1, e2, e3))
    c[CONSTANTS + 2] = e1 + 2.0 * e2 + 3.0 * e3
    c[COUNT] = 0.5 * (len(parameters) - 3)
    for k in range(3, len(parameters)):
        c[NODES - 3 + k] = parameters[k]


@inline
def circled_axis(body, m):
    """Return the axis that m circles, +-1 or +-3, with the sign of m_a; by D of ``euler``, constant along a motion."""
    m1, _, m3 = m
    x, z = body.w12 * (m1 * m1), body.w23 * (m3 * m3)
    gap = x - z
    if abs(gap) <= CLOSE * (x + z):
        gap = separatrix_gap(body, m)
    if gap >= 0.0:
        return 1.0 if m1 >= 0.0 else -1.0
    return 3.0 if m3 >= 0.0 else -3.0


@inline
def to_frame(a, x):
    """Return (x_b, x_c, x_a), rotated by pi about e_c if a < 0, so that m_a >= 0 for the circled axis."""
    x1, x2, x3 = x
    s = 1.0 if a > 0.0 else -1.0
    if abs(a) == 1.0:
        return s * x2, x3, s * x1
    if abs(a) == 2.0:
        return s * x3, x1, s * x2
    return s * x1, x2, s * x3


@inline
def from_frame(a, x):
    """Return (x1, x2, x3) in body axes, the inverse of ``to_frame``."""
    x1, x2, x3 = x
    s = 1.0 if a > 0.0 else -1.0
    if abs(a) == 1.0:
        return s * x3, s * x1, x2
    if abs(a) == 2.0:
        return x2, s * x3, s * x1
    return s * x1, x2, s * x3


@inline
def rates(a, body, m):
    """Return 1/I_a and 2T - |m|^2/I_a of (33), the latter without cancellation for a = 1 and 3."""
    x, y, z = by_components(m, m)
    if abs(a) == 1.0:
        return body.w1, -(body.w12 * y + body.w13 * z)
    if abs(a) == 2.0:
        return body.w2, body.w12 * x - body.w23 * z
    return body.w3, body.w13 * x + body.w23 * y


@inline
def height(G, m):
    """Return |m| + m_a without cancellation, for m = (m_b, m_c, m_a)."""
    mb, mc, ma = m
    return G + ma if ma >= 0.0 else (mb * mb + mc * mc) / (G - ma)


@inline
def onto_axis(c0, c3, G, m):
    """Return p of (34), (36), up to a factor, for m = (m_b, m_c, m_a)."""
    mb, mc, _ = m
    v = height(G, m)
    return c0 * v, c3 * mb + c0 * mc, c3 * mc - c0 * mb, c3 * v


@inline
def norm2(x):
    """Return the squared norm of a quaternion."""
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    body = read_body(c)
    c0, c3 = c[CONSTANTS], c[CONSTANTS + 1]
    a = c[CONSTANTS + 2]
    G = sqrt(dot(m, m))
    if G == 0.0:
        return m, q, 0.0
    if a == CHOSEN or G + to_frame(a, m)[2] == 0.0:  # or where p does not exist for the fixed axis
        a = circled_axis(body, m)
    end = momentum_after(body, m, h)
    mean = 0.0  # mean of 1/(|m| + m_a) over the step
    for k in range(NODES, NODES + 2 * int(c[COUNT]), 2):
        mean += c[k + 1] / height(G, to_frame(a, momentum_after(body, m, c[k] * h)))
    w, excess = rates(a, body, m)
    s, y = sincos(0.5 * h * (G * w + excess * mean), 0.0)  # (33)
    o = onto_axis(c0, c3, G, to_frame(a, m))
    p = onto_axis(c0, c3, G, to_frame(a, end))
    # |p| is not taken from c0^2 + c3^2 = 1/2, whose rounding would be the same in every step
    f = 1.0 / sqrt(norm2(o) * norm2(p))
    x0, x1, x2, x3 = turned_frame(o, y * f, s * f, p)
    x1, x2, x3 = from_frame(a, (x1, x2, x3))
    return end, product(q, (x0, x1, x2, x3)), 0.0  # (31)


class Gauss(Flow):
    """Exact momentum, and attitude by Gauss quadrature of one angle, of order 2 ``nodes``.

    Parameters
    ----------
    nodes : int, optional
        Number of nodes, 1 to 10. Default is 4.
    c0, c3 : float, optional
        Numbers with c0^2 + c3^2 = 1/2, which select one of the rotations of m onto an axis; the default is the
        shortest rotation, c3 = 0.
    axis : int, optional
        Number of a fixed body axis, 1, 2 or 3 (3 in the thesis): errors are large where m is close to its negative
        end. By default the axis is chosen for each motion, such that this does not occur.

    Examples
    --------
    >>> from polhode import State
    >>> Gauss(4).step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.5, steps=100).m.round(6)
    array([0.035777, 0.628395, 0.737455])
    """

    kernels = loops(prepare, advance, size=NODES + 2 * MOST_NODES)

    def __init__(
        self, nodes: int = 4, c0: float | None = None, c3: float | None = None, *, axis: int | None = None
    ) -> None:
        if nodes not in range(1, MOST_NODES + 1):
            raise InputError(f"nodes = {nodes!r}: Gauss expected 1 to {MOST_NODES} nodes")
        if axis not in (None, 1, 2, 3):
            raise InputError(f"axis = {axis!r}: expected 1, 2 or 3, or None to choose for each motion")
        arguments = [
            f"{name}={value!r}" for name, value in (("c0", c0), ("c3", c3), ("axis", axis)) if value is not None
        ]
        if c0 is None and c3 is None:
            c0 = sqrt(0.5)
        c0, c3 = c0 or 0.0, c3 or 0.0
        if not abs(c0 * c0 + c3 * c3 - 0.5) <= TOLERANCE:
            raise InputError(
                f"c0 = {c0!r}, c3 = {c3!r}: expected c0^2 + c3^2 = 1/2, not {c0 * c0 + c3 * c3:.6g}; "
                "for example c0=0.5, c3=0.5; or omit both"
            )
        rule = [x for node in zip(*gauss_legendre(nodes), strict=True) for x in node]
        self.exact_parameters = (c0, c3, float(axis or CHOSEN), *rule)
        limits = ["its deviation from a symplectic map is below round-off"] if nodes > len(TEST_STEPS) else []
        limits += [f"errors are large where m is close to the negative end of axis {axis}"] if axis else []
        self.record = FlowRecord(
            name=f"Gauss({', '.join([str(nodes), *arguments])})",
            summary="exact momentum; one angle of the attitude by quadrature",
            order=2 * nodes,
            symmetric=True,
            poisson=True,
            symplectic=False,
            preserves=frozenset(INVARIANTS),
            references=(GUSTAFSSON_2010, CELLEDONI_2008),
            test_step=TEST_STEPS[min(nodes, len(TEST_STEPS)) - 1],
            limits="; ".join(limits),
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return *(cls(nodes) for nodes in (1, 2, 3, 4, 5, 10)), cls(4, c0=0.5, c3=0.5)
