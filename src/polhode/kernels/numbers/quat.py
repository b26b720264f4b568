"""Quaternions as tuples of four numbers, scalar part first."""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline


@inline
def product(a, b):
    """Return the Hamilton product a b."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )


@inline
def turned_frame(o, c, s, p):
    """Return conj(o) (c, s e3) p, the rotation from the frame o to the frame p by way of one about e3."""
    return product((o[0], -o[1], -o[2], -o[3]), product((c, 0.0, 0.0, s), p))


@inline
def matrix(q):
    """Return the rotation matrix Q of a unit quaternion, as a tuple of three rows."""
    q0, q1, q2, q3 = q
    return (
        (q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2.0 * (q1 * q2 - q0 * q3), 2.0 * (q1 * q3 + q0 * q2)),
        (2.0 * (q1 * q2 + q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2.0 * (q2 * q3 - q0 * q1)),
        (2.0 * (q1 * q3 - q0 * q2), 2.0 * (q2 * q3 + q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3),
    )
