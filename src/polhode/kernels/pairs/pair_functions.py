"""Pair functions (see ``pairs``) made of what users write: templates that run plain and compiled, as in ``forces``.

Derivatives of an energy come from one evaluation with a complex argument each: V(x + i s) has the imaginary part
s V'(x), to rounding, if s is so small that s^2 is nothing next to 1 (Squire and Trapp 1998). That needs an energy that
is analytic, and written so that it takes complex numbers: arithmetic, powers, NumPy's functions.
"""

from __future__ import annotations

STEP = 2.0**-200  # a power of two: to divide by it rounds nothing
PER_STEP = 2.0**200


def turned(A, x, y, z):
    """A + i (x, y, z) x A: turned about an axis of space, by an imaginary angle."""
    a, b, c = A
    return (
        (complex(a[0], y * c[0] - z * b[0]), complex(a[1], y * c[1] - z * b[1]), complex(a[2], y * c[2] - z * b[2])),
        (complex(b[0], z * a[0] - x * c[0]), complex(b[1], z * a[1] - x * c[1]), complex(b[2], z * a[2] - x * c[2])),
        (complex(c[0], x * b[0] - y * a[0]), complex(c[1], x * b[1] - y * a[1]), complex(c[2], x * b[2] - y * a[2])),
    )


def shifted(r, x, y, z):
    """r + i (x, y, z)"""
    return complex(r[0], x), complex(r[1], y), complex(r[2], z)


def crossed(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def pair_of_energy(energy, turned, shifted):
    """F = -dV/dr, torques -dV by turns, each by a complex step."""

    def pair(r, A, B, p):
        h, u = STEP, -PER_STEP
        R, C, D = shifted(r, 0.0, 0.0, 0.0), turned(A, 0.0, 0.0, 0.0), turned(B, 0.0, 0.0, 0.0)
        first = energy(shifted(r, h, 0.0, 0.0), C, D, p)
        f = (
            u * first.imag,
            u * energy(shifted(r, 0.0, h, 0.0), C, D, p).imag,
            u * energy(shifted(r, 0.0, 0.0, h), C, D, p).imag,
        )
        s = (
            u * energy(R, turned(A, h, 0.0, 0.0), D, p).imag,
            u * energy(R, turned(A, 0.0, h, 0.0), D, p).imag,
            u * energy(R, turned(A, 0.0, 0.0, h), D, p).imag,
        )
        t = (
            u * energy(R, C, turned(B, h, 0.0, 0.0), p).imag,
            u * energy(R, C, turned(B, 0.0, h, 0.0), p).imag,
            u * energy(R, C, turned(B, 0.0, 0.0, h), p).imag,
        )
        return first.real, f, s, t

    return pair


def pair_of_gradient(energy, gradient, torque_of):
    """From (dV/dr, dV/dA, dV/dB)."""

    def pair(r, A, B, p):
        g, G, H = gradient(r, A, B, p)
        f = -float(g[0]), -float(g[1]), -float(g[2])
        return float(energy(r, A, B, p)), f, torque_of(A, G), torque_of(B, H)

    return pair


def torque_of(A, G):
    """-sum over columns of A_k x G_k, the torque in space axes, with G = dV/dA."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(3):
        a, b, c, d, e, f = A[0][k], A[1][k], A[2][k], G[0][k], G[1][k], G[2][k]
        x, y, z = x - (b * f - c * e), y - (c * d - a * f), z - (a * e - b * d)
    return x, y, z


def radial_of_energy(energy):
    """(v, dv/dr) by a complex step."""

    def radial(r, a, b, p):
        v = energy(complex(r, STEP), a, b, p)
        return v.real, PER_STEP * v.imag

    return radial


def radial_of_slope(energy, slope):
    def radial(r, a, b, p):
        return float(energy(r, a, b, p)), float(slope(r, a, b, p))

    return radial


def pair_of_sites(radial, crossed, sites, own):
    """Every site of one body and every site of the other; sites (s, 3) in body axes, own (s, k) their parameters."""
    count = len(sites)

    def pair(r, A, B, p):
        energy, f1, f2, f3, s1, s2, s3, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(count):
            c1, c2, c3 = sites[i, 0], sites[i, 1], sites[i, 2]
            a = (
                A[0][0] * c1 + A[0][1] * c2 + A[0][2] * c3,
                A[1][0] * c1 + A[1][1] * c2 + A[1][2] * c3,
                A[2][0] * c1 + A[2][1] * c2 + A[2][2] * c3,
            )
            for j in range(count):
                c1, c2, c3 = sites[j, 0], sites[j, 1], sites[j, 2]
                b = (
                    B[0][0] * c1 + B[0][1] * c2 + B[0][2] * c3,
                    B[1][0] * c1 + B[1][1] * c2 + B[1][2] * c3,
                    B[2][0] * c1 + B[2][1] * c2 + B[2][2] * c3,
                )
                d1, d2, d3 = r[0] + a[0] - b[0], r[1] + a[1] - b[1], r[2] + a[2] - b[2]
                distance = (d1 * d1 + d2 * d2 + d3 * d3) ** 0.5
                v, slope = radial(distance, own[i], own[j], p)
                u = -slope / distance
                f = u * d1, u * d2, u * d3
                s, t = crossed(a, f), crossed(f, b)
                energy += v
                f1, f2, f3 = f1 + f[0], f2 + f[1], f3 + f[2]
                s1, s2, s3 = s1 + s[0], s2 + s[1], s3 + s[2]
                t1, t2, t3 = t1 + t[0], t2 + t[1], t3 + t[2]
        return energy, (f1, f2, f3), (s1, s2, s3), (t1, t2, t3)

    return pair
