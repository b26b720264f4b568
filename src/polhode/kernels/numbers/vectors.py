"""Vectors of three numbers and matrices of three rows, as tuples."""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline


@inline
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross_of_numbers(a1, a2, a3, b1, b2, b3):
    return a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1


@inline
def cross(a, b):
    return cross_of_numbers(a[0], a[1], a[2], b[0], b[1], b[2])


@inline
def plus(a, x, b):
    """a + x b"""
    return a[0] + x * b[0], a[1] + x * b[1], a[2] + x * b[2]


@inline
def times(x, a):
    return x * a[0], x * a[1], x * a[2]


@inline
def by_components(a, b):
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@inline
def largest(a):
    """Of the absolute values."""
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@inline
def columns(A):
    """The transpose."""
    x, y, z = A
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


@inline
def image(A, v):
    """A v"""
    return dot(A[0], v), dot(A[1], v), dot(A[2], v)


@inline
def matrix_product(A, B):
    x, y, z = columns(B)
    a, b, c = A
    return (dot(a, x), dot(a, y), dot(a, z)), (dot(b, x), dot(b, y), dot(b, z)), (dot(c, x), dot(c, y), dot(c, z))


@inline
def rot(A):
    """Of the matrix hat(v), 2 v: (A32 - A23, A13 - A31, A21 - A12)."""
    return A[2][1] - A[1][2], A[0][2] - A[2][0], A[1][0] - A[0][1]


@inline
def hat(v):
    """The matrix of v x."""
    return (0.0, -v[2], v[1]), (v[2], 0.0, -v[0]), (-v[1], v[0], 0.0)


@inline
def in_body(Q, s):
    """Q^T s: a vector of space in body axes."""
    return image(columns(Q), s)
