"""Pair functions (see ``pairs``) made of functions of the user: templates that run with and without compilation.

Each derivative of an energy takes one evaluation with a complex argument: V(x + i s) has the imaginary part s V'(x), up
to rounding, if s^2 is negligible compared to 1 (Squire and Trapp 1998). The energy has to be analytic, and to accept
complex numbers: arithmetic, powers, functions of NumPy.
"""

from __future__ import annotations

STEP = 2.0**-200  # a power of two, by which division is exact
PER_STEP = 2.0**200


def turned(A, x, y, z):
    """Return A + i (x, y, z) x A: the matrix A rotated about an axis in space by an imaginary angle."""
    a, b, c = A
    return (
        (complex(a[0], y * c[0] - z * b[0]), complex(a[1], y * c[1] - z * b[1]), complex(a[2], y * c[2] - z * b[2])),
        (complex(b[0], z * a[0] - x * c[0]), complex(b[1], z * a[1] - x * c[1]), complex(b[2], z * a[2] - x * c[2])),
        (complex(c[0], x * b[0] - y * a[0]), complex(c[1], x * b[1] - y * a[1]), complex(c[2], x * b[2] - y * a[2])),
    )


def shifted(r, x, y, z):
    """Return r + i (x, y, z)."""
    return complex(r[0], x), complex(r[1], y), complex(r[2], z)


def crossed(a, b):
    """Return the cross product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def pair_of_energy(energy, turned, shifted):
    """Return the pair function of an energy: its force -dV/dr and torques, the derivatives by complex steps."""

    def pair(r, A, B, p):
        h = STEP
        u = -PER_STEP
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
    """Return the pair function of an energy and its gradient (dV/dr, dV/dA, dV/dB)."""

    def pair(r, A, B, p):
        g, G, H = gradient(r, A, B, p)
        f = -float(g[0]), -float(g[1]), -float(g[2])
        return float(energy(r, A, B, p)), f, torque_of(A, G), torque_of(B, H)

    return pair


def torque_of(A, G):
    """Return the torque in space axes, minus the sum of A_k x G_k over columns k, where G = dV/dA."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(3):
        a, b, c, d, e, f = A[0][k], A[1][k], A[2][k], G[0][k], G[1][k], G[2][k]
        x, y, z = x - (b * f - c * e), y - (c * d - a * f), z - (a * e - b * d)
    return x, y, z


def radial_of_energy(energy):
    """Return the radial function (v, dv/dr) of an energy v(r), the derivative by a complex step."""

    def radial(r, a, b, p):
        v = energy(complex(r, STEP), a, b, p)
        return v.real, PER_STEP * v.imag

    return radial


def radial_of_slope(energy, slope):
    """Return the radial function (v, dv/dr) of an energy v(r) and its derivative ``slope``."""

    def radial(r, a, b, p):
        return float(energy(r, a, b, p)), float(slope(r, a, b, p))

    return radial


def pair_of_sites(radial, crossed, sites, own):
    """Return the pair function that sums ``radial`` over all pairs of sites of two bodies.

    The sites (s, 3) are in body axes; own (s, k) contains their parameters.
    """
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
