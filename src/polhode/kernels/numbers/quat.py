"""Quaternions as four numbers, scalar first."""

from __future__ import annotations

from polhode.kernels.compiler.jit import helper


@helper
def product(a0, a1, a2, a3, b0, b1, b2, b3):
    """The Hamilton product a b."""
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )
