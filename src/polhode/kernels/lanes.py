"""Blocks of lanes: numbers laid out so that the compiler vectorizes over bodies, or over times.

A block ``w`` is one flat array; ``w[field + l]`` is the quantity of lane l that begins at ``field``, and vectors take
neighboring fields. Loops over lanes have no branches and no calls, and always run over all LANES, so that every
lane goes through the same instructions. Short loops are faster than long ones: the processor then works on several
turns of a loop at a time.

Pitfall: ``a[i] if choice else b[i]`` is compiled to a load from a chosen address, and the loop is not vectorized any
more. Choose between computed numbers only.
"""

from __future__ import annotations

import numpy as np

from polhode.kernels.jit import JIT, helper

LANES = 64 if JIT else 1  # uncompiled, one at a time

if JIT:

    @helper
    def new_block(size):
        return np.empty(size)

else:

    def new_block(size):
        """A list: its numbers are Python's, which overflow and underflow in silence, unlike NumPy's."""
        return [0.0] * size


@helper
def pair(w, field, l):
    return w[field + l], w[field + LANES + l]


@helper
def triple(w, field, l):
    return w[field + l], w[field + LANES + l], w[field + 2 * LANES + l]


@helper
def put_pair(w, field, l, a, b):
    w[field + l], w[field + LANES + l] = a, b


@helper
def put_triple(w, field, l, a, b, c):
    w[field + l], w[field + LANES + l], w[field + 2 * LANES + l] = a, b, c
