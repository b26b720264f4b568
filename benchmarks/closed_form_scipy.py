"""The free rigid body in closed form with NumPy and SciPy: the baseline that batches are measured against.

This is what a good user of NumPy writes without a compiler: no loop over bodies, all of ``scipy.special``'s
work in one ``ellipj`` and two ``elliprj`` per body. It is the strongest form of the formulas that we know: without
an initial phase there is no incomplete integral at both ends, Jacobi functions of half the time give momentum and
attitude together, and the amplitude that ``ellipj`` returns counts the half periods, so that no K is needed. The
published formulas call more than twice as many special functions. Bodies go through in blocks that stay in the cache.
With ``thrifty`` the complete integral is not ``elliprj``'s either but an arithmetic-geometric mean in NumPy.

It is a baseline, not a product: distinct moments, momenta away from the separatrix and not on an axis; nothing is
validated. Elsewhere it gives the true flow to rounding (golden generic cases: 6 eps (1 + cond) at most, eps = 2^-53),
the sign of q included; of random bodies up to t = 100 half are within 2e-15, and 99.9 % within 1e-13.

    J1, J2, J3         the moments in an order in which the component 2 is the middle one and the component 1 is dn
    al, be, ga         w2 - w3, w1 - w3, w1 - w2, w = 1/J: all of one sign
    lambda^2, k^2      ga C3, al C1/lambda^2 with C3 = be x1^2 + al x2^2, C1 = ga x2^2 + be x3^2, x = m(0)
    s, c, d            sn/lambda, cn, dn at lambda t/2
    b                  m(t/2), by the addition theorems
    q(t)               q (cos phi + sin phi (0, x)/G) X/|X|, G = |m|, phi = G (w3 t/2 + Theta)
    Theta              be nu int_0^{t/2} s^2/(1 + nu s^2), nu = al C3: an integral of the third kind

Conventions: m' = m x w, q' = q (0, w)/2, w = m/I; q scalar first, body to space.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, elliprj

BLOCK = 4096  # bodies at a time: some forty temporary arrays of this length fit into the cache
BEFORE, AFTER = np.array([2, 0, 1]), np.array([1, 2, 0])  # cyclic neighbors of an axis


def closed_form(inertia, m, q, t, thrifty=False):
    """m and q of free bodies after the times t: shapes (n, 3), (n, 3), (n, 4), (n,) -> (n, 3), (n, 4).

    The moments may stand in any order but must differ from each other.
    """
    m_out, q_out = np.empty_like(m), np.empty_like(q)
    for start in range(0, len(t), BLOCK):
        part = slice(start, start + BLOCK)
        _block(inertia[part], m[part], q[part], t[part], m_out[part], q_out[part], thrifty)
    return m_out, q_out


def _block(inertia, m, q, t, m_out, q_out, thrifty):
    at, sign = _labels(inertia, m)
    w1, w2, w3 = (1 / np.take(inertia, i) for i in at)
    x1, x2, x3 = (sign * np.take(m, i) for i in at)
    al, be, ga = w2 - w3, w1 - w3, w1 - w2

    # frequency, modulus, and the Jacobi functions at half the time
    c3 = be * x1**2 + al * x2**2
    lam2 = ga * c3
    lam = np.sqrt(lam2)
    k2 = al * (ga * x2**2 + be * x3**2) / lam2
    half = 0.5 * t
    sn, c, d, am = ellipj(lam * half, k2)
    s = sn / lam

    # midpoint and end; the denominators are 1 - al ga x2^2 s^2 and 1 - al ga b2^2 s^2 as sums of positive terms
    den = c3 / (be * x1**2 + al * (x2 * c) ** 2)
    b1 = (x1 * d - al * x2 * x3 * s * c) * den
    b2 = (x2 * c * d + be * x1 * x3 * s) * den
    b3 = (x3 * c - ga * x1 * x2 * s * d) * den
    step = 2 * s * c3 / (be * b1**2 + al * (b2 * c) ** 2)
    m_out.put(at[0], sign * (x1 - step * al * c * b2 * b3))
    m_out.put(at[1], sign * (x2 + step * be * b1 * b3))
    m_out.put(at[2], sign * (x3 - step * ga * d * b1 * b2))

    # the integral of the third kind: j complete ones, and the rest from the nearest zero of sn
    j = np.rint(am / np.pi)
    n = al / ga
    sn2 = sn**2
    third = np.copysign(sn * sn2, sn * c) * elliprj(c**2, d**2, 1, 1 + n * sn2)  # cn has the sign of (-1)^j
    third += 2 * j * (_complete_rj(1 - k2, 1 + n) if thrifty else elliprj(0, 1 - k2, 1, 1 + n))
    size = np.sqrt(x1**2 + x2**2 + x3**2)
    phi = size * (w3 * half + be * n / (3 * lam) * third)

    # the rotation r = (cos phi, sin phi x/G) X, back in the given axes; the last component of X is 0
    e0, e1, e2 = c, be * s * b1, al * s * c * b2
    norm = 1 / np.sqrt(e0**2 + e1**2 + e2**2)
    a0, a = np.cos(phi) * norm, np.sin(phi) * norm / size
    a1, a2, a3 = a * x1, a * x2, a * x3
    r = np.empty_like(m_out)
    r0 = a0 * e0 - a1 * e1 - a2 * e2
    r.put(at[0], sign * (a0 * e1 + a1 * e0 - a3 * e2))
    r.put(at[1], sign * (a0 * e2 + a2 * e0 + a3 * e1))
    r.put(at[2], sign * (a3 * e0 + a1 * e2 - a2 * e1))
    r1, r2, r3 = r.T
    q0, q1, q2, q3 = q.T
    q_out[:, 0] = q0 * r0 - q1 * r1 - q2 * r2 - q3 * r3
    q_out[:, 1] = q0 * r1 + q1 * r0 + q2 * r3 - q3 * r2
    q_out[:, 2] = q0 * r2 + q2 * r0 + q3 * r1 - q1 * r3
    q_out[:, 3] = q0 * r3 + q3 * r0 + q1 * r2 - q2 * r1


def _labels(inertia, m):
    """Flat places of the three labelled components of each body, and the sign that makes the relabelling a rotation.

    The middle axis between its cyclic neighbors needs no sign. Where the last of these, not the first, keeps the sign
    of its momentum, both are exchanged, and all components change sign: -P is a rotation where P is not.
    """
    i1, i2, i3 = inertia.T
    up = i1 < i2
    middle = np.where(up == (i2 < i3), 1, np.where(up == (i3 < i1), 0, 2))
    rows = np.arange(0, 3 * len(m), 3)
    first, last = rows + BEFORE[middle], rows + AFTER[middle]
    middle += rows
    i1, i2, i3 = np.take(inertia, first), np.take(inertia, middle), np.take(inertia, last)
    swap = np.take(m, first) ** 2 * np.abs(i2 - i1) * i3 < np.take(m, last) ** 2 * np.abs(i3 - i2) * i1
    return (np.where(swap, last, first), middle, np.where(swap, first, last)), np.where(swap, -1.0, 1.0)


def _complete_rj(y, p):
    """R_J(0, y, 1, p) by the arithmetic-geometric mean of DLMF 19.8.5 to 19.8.7."""
    a, g, r = np.ones_like(y), np.sqrt(y), np.sqrt(p)
    term = np.ones_like(y)
    total = np.ones_like(y)
    while (a - g).max() > 1e-8 or np.abs(term).max() > 1e-17:
        ag, r2 = a * g, r * r
        both = r2 + ag
        term *= 0.5 * (r2 - ag) / both
        total += term
        r = 0.5 * both / r
        a, g = 0.5 * (a + g), np.sqrt(ag)
    return 0.75 * np.pi * total / (0.5 * (a + g) * p)
