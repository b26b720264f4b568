"""The exact momentum alone, m(h) of ``euler``, for flows that compute the attitude by other formulas."""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.euler import SMALL, any_arc, distance, invariants, momentum_end, small_arc


@inline
def momentum_after(body, m, h):
    """Return m after a time h, for a body and momentum as in ``euler.step``, to the same accuracy.

    The functions of ``euler`` also compute the integral of the third kind and X; the compiler removes unused results.
    """
    t = 0.5 * h
    inv = invariants(body, m, t)
    if max(inv.p, inv.r) <= SMALL:
        arc, _ = small_arc(inv.p, inv.r, inv.n)
        return momentum_end(inv, 0.0, False, arc, m).m
    D = distance(body, inv, m, t)
    arc, _, _, _ = any_arc(inv, D)
    return momentum_end(inv, D, True, arc, m).m
