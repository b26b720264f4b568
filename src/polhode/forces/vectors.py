"""Kernels that ready-made forces share: rows and columns of Q, and vectors, as tuples."""

from __future__ import annotations

from polhode.kernels.cayley import cross as six_cross
from polhode.kernels.jit import helper


@helper
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@helper
def cross(a, b):
    return six_cross(a[0], a[1], a[2], b[0], b[1], b[2])


@helper
def in_body(Q, s):
    """Q^T s: a vector of space in body axes."""
    x, y, z = Q
    return dot(s, (x[0], y[0], z[0])), dot(s, (x[1], y[1], z[1])), dot(s, (x[2], y[2], z[2]))
