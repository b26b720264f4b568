"""Vectors as tuples of three numbers, and matrices as tuples of three rows."""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline

IDENTITY = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@inline
def matrix_in(row, k):
    """Return the matrix of the nine numbers of an array from index k on."""
    return (
        (float(row[k]), float(row[k + 1]), float(row[k + 2])),
        (float(row[k + 3]), float(row[k + 4]), float(row[k + 5])),
        (float(row[k + 6]), float(row[k + 7]), float(row[k + 8])),
    )


@inline
def dot(a, b):
    """Return the scalar product a.b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """Return the vector product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def plus(a, x, b):
    """Return the vector a + x b for a number x."""
    return a[0] + x * b[0], a[1] + x * b[1], a[2] + x * b[2]


@inline
def times(x, a):
    """Return the vector x a for a number x."""
    return x * a[0], x * a[1], x * a[2]


@inline
def by_components(a, b):
    """Return the componentwise product of a and b."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@inline
def largest(a):
    """Return the largest absolute value of the components of a."""
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@inline
def columns(A):
    """Return the transpose of the matrix A."""
    x, y, z = A
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


@inline
def image(A, v):
    """Return the vector A v."""
    return dot(A[0], v), dot(A[1], v), dot(A[2], v)


@inline
def matrix_product(A, B):
    """Return the matrix A B."""
    x, y, z = columns(B)
    a, b, c = A
    return (dot(a, x), dot(a, y), dot(a, z)), (dot(b, x), dot(b, y), dot(b, z)), (dot(c, x), dot(c, y), dot(c, z))


@inline
def rot(A):
    """Return (A32 - A23, A13 - A31, A21 - A12), which is 2 v for A = hat(v)."""
    return A[2][1] - A[1][2], A[0][2] - A[2][0], A[1][0] - A[0][1]


@inline
def hat(v):
    """Return the matrix hat(v) with hat(v) u = v x u."""
    return (0.0, -v[2], v[1]), (v[2], 0.0, -v[0]), (-v[1], v[0], 0.0)


@inline
def in_body(Q, s):
    """Return Q^T s: the vector s, given in space axes, in body axes."""
    return image(columns(Q), s)
