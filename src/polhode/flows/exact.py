"""The exact flow, by the closed form of ``kernels.exact.euler``."""

from __future__ import annotations

from polhode.core.references import CELLEDONI_2008, FRB_2010
from polhode.flows.flow import INVARIANTS, Flow, FlowRecord
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.euler import BodyConstants, body_constants, step
from polhode.kernels.stepping.loops import loops

CONSTANTS = len(BodyConstants._fields)


@inline
def write_body(I, c):
    """Write the constants of the body to c[:CONSTANTS]."""
    b = body_constants(I)
    c[0], c[1], c[2], c[3], c[4], c[5] = b.I1, b.I2, b.I3, b.w1, b.w2, b.w3
    c[6], c[7], c[8] = b.w23, b.w13, b.w12
    c[9], c[10], c[11], c[12], c[13] = b.gap1h, b.gap1l, b.gap3h, b.gap3l, b.gap_scale


@inline
def read_body(c):
    """Return the constants of a body from c[:CONSTANTS]."""
    return BodyConstants(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12], c[13])


@inline
def prepare(order, I, parameters, c):
    """Write the constants of the body to c."""
    write_body(I, c)


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and the number of iterations."""
    m, q = step(read_body(c), m, q, h)
    return m, q, 0.0


class Exact(Flow):
    """Exact free motion, for any inertia and any h, up to rounding.

    Examples
    --------
    >>> from polhode import State
    >>> Exact().step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.5, steps=100).m.round(6)
    array([0.035777, 0.628395, 0.737455])
    """

    kernels = loops(prepare, advance, size=CONSTANTS)
    record = FlowRecord(
        name="Exact()",
        summary="closed form by Jacobi functions and one integral of the third kind",
        order=None,
        symmetric=True,
        poisson=True,
        symplectic=True,
        preserves=frozenset(INVARIANTS),
        references=(CELLEDONI_2008, FRB_2010),
        test_step=0.4,
    )
