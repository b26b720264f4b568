"""The free motion with |m| = 1 as published: constants of the motion, phase, amplitude, integral of the third kind.

The formulas are those of Celledoni, Fasso, Safstrom, Zanna 2008, Proposition 2.1, and of Celledoni, Zanna 2010 (FRB),
whose equation numbers are used here; misprints are corrected (docs/errata.md). For sorted moments, with
I_jh = |I_j - I_h|, D_j = |1 - 2T I_j| and B_jh^2 = I_j D_h/I_jh:

    k^2 = D1 I32/(D3 I21),  lambda_3^2 = D3 I21/(I1 I2 I3),  lambda_1^2 = D1 I32/(I1 I2 I3)                          (3)
    i    k < 1:  m = (s B13 dn, B21 sn, B31 cn)(u, k),    lambda = s lambda_3, s = sign m1                           (4)
    ii   k > 1:  m = (B13 cn, B23 sn, s B31 dn)(u, 1/k),  lambda = s lambda_1, s = sign m3                           (5)
    iii  k = 1:  m = (s1 B13 sech u, tanh u, s3 B31 sech u),  lambda = s1 s3 lambda_3,    u = lambda t - nu

These formulas are for study: D_j cancels near axes and for nearly spherical bodies, 1 - k^2 and the phase cancel near
the separatrix, and digits are lost. Use ``euler`` for accurate results.
"""

from __future__ import annotations

from math import asinh, atan, atan2, exp, hypot, pi, sqrt, tanh
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.elliptic import carlson_rf, carlson_rj
from polhode.kernels.numbers.landen import LEVELS, ascend, descend, mean_ratios
from polhode.kernels.numbers.trig import floor, is_odd, sincos

AROUND_1, SEPARATRIX, AROUND_3 = 1, 2, 3  # (i), (iii), (ii)

MOST_NODES = 10
# Order of the constants: I1, I2, I3, I21, I31, I32, the number of nodes, gamma of (2.22), nodes and weights, r of
# landen.
COUNT = 6
GAMMA = 7
NODES = 9
RATIOS = NODES + 2 * MOST_NODES
SIZE = RATIOS + LEVELS

ESCAPED = 300.0  # largest |u| on the separatrix: m is e2 to all digits, and the direction of m' is still defined
LEAST = 2.0**-53  # lower bound of 1 - n sin^2, which may not be positive after rounding


class PublishedMotion(NamedTuple):
    """Motion from the momentum x to the momentum y in a time t."""

    family: int
    t: float
    two_T: float
    D1: float
    D3: float
    k2: float
    lam: float
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    phi0: float  # amplitudes, unless on the separatrix, and sn, cn at both ends
    s0: float
    c0: float
    phi1: float
    s1: float
    c1: float


@inline
def prepare(order, I, parameters, c):
    """Write the sorted moments, their differences and the parameters of the flow to the constants c."""
    I1, I2, I3 = I
    c[0], c[1], c[2], c[3], c[4], c[5] = I1, I2, I3, I2 - I1, I3 - I1, I3 - I2
    for k in range(len(parameters)):
        c[COUNT + k] = parameters[k]


@inline
def unit_motion(c, x, t, two_T, D1, D3):
    """Return the motion from x of a body with three different moments, for D1 > 0 and D3 > 0."""
    x1, x2, x3 = x
    I1, I2, I3, I21, I31, I32 = c[0], c[1], c[2], c[3], c[4], c[5]
    B13, B31 = sqrt(I1 * D3 / I31), sqrt(I3 * D1 / I31)
    around_1 = D1 * I32 < D3 * I21
    larger, smaller = (D3 * I21, D1 * I32) if around_1 else (D1 * I32, D3 * I21)
    lam = sqrt(larger / (I1 * I2 * I3))  # (3)
    k2 = smaller / larger
    if not k2 < 1.0:
        return separatrix_motion(x, t, two_T, D1, D3, B13, B31, lam)
    if around_1:
        lam = lam if x1 >= 0.0 else -lam
        B_sn, B_cn, x_cn = sqrt(I2 * D1 / I21), B31, x3
    else:
        lam = lam if x3 >= 0.0 else -lam
        B_sn, B_cn, x_cn = sqrt(I2 * D3 / I32), B13, x1
    phi0 = atan2(x2 * B_cn, x_cn * B_sn)
    s0, c0 = sincos(phi0, 0.0)
    levels, scale = mean_ratios(k2, c, RATIOS)
    phi1 = descend(ascend(phi0, c, RATIOS, levels) + scale * (lam * t), c, RATIOS, levels)
    s1, c1 = sincos(phi1, 0.0)
    dn = sqrt(1.0 - k2 * s1 * s1)
    dn = dn if lam >= 0.0 else -dn
    y1, y3 = (B13 * dn, B31 * c1) if around_1 else (B13 * c1, B31 * dn)  # (4), (5)
    y = y1, B_sn * s1, y3
    family = AROUND_1 if around_1 else AROUND_3
    return PublishedMotion(family, t, two_T, D1, D3, k2, lam, x, y, phi0, s0, c0, phi1, s1, c1)


@inline
def separatrix_motion(x, t, two_T, D1, D3, B13, B31, lam):
    """Return the motion (iii) on the separatrix, with u from sinh u = m2/|(m1, m3)|."""
    x1, x2, x3 = x
    if x1 < 0.0:
        B13, lam = -B13, -lam
    if x3 < 0.0:
        B31, lam = -B31, -lam
    u = asinh(x2 / hypot(x1, x3))
    s0, c0 = tanh_sech(u)
    s1, c1 = tanh_sech(u + lam * t)
    y = B13 * c1, s1, B31 * c1
    return PublishedMotion(SEPARATRIX, t, two_T, D1, D3, 1.0, lam, x, y, 0.0, s0, c0, 0.0, s1, c1)


@inline
def tanh_sech(u):
    """Return (tanh u, sech u), with |u| limited to ESCAPED."""
    u = min(max(u, -ESCAPED), ESCAPED)
    decay = exp(-abs(u))
    return tanh(u), 2.0 * decay / (1.0 + decay * decay)


@inline
def half_turns(phi):
    """Return the integer j (as a float) with |phi - j pi| <= pi/2, and (-1)^j."""
    j = floor(float(phi / pi + 0.5))
    return j, (-1.0 if is_odd(j) else 1.0)


@inline
def third_kind(s, c, n, k2):
    """Return Pi(phi, n, k) of (22), n < 1, for |phi| <= pi/2, by Carlson's integrals.

    s = sin phi, and c is cos phi or -cos phi.
    """
    ss = s * s
    x, y, p = c * c, 1.0 - k2 * ss, max(1.0 - n * ss, LEAST)
    return s * (carlson_rf(x, y, 1.0) + n * ss / 3.0 * carlson_rj(x, y, 1.0, p))


@inline
def third_kind_difference(motion, n):
    """Return Pi(phi1, n, k) - Pi(phi0, n, k).

    It consists of two incomplete integrals and a multiple of the complete one.
    """
    j0, odd0 = half_turns(motion.phi0)
    j1, odd1 = half_turns(motion.phi1)
    difference = third_kind(odd1 * motion.s1, motion.c1, n, motion.k2)
    difference -= third_kind(odd0 * motion.s0, motion.c0, n, motion.k2)
    if j1 != j0:
        difference += 2.0 * (j1 - j0) * third_kind(1.0, 0.0, n, motion.k2)
    return difference


@inline
def third_kind_quadrature(c, motion, n):
    """Return Pi(phi1, n, k) - Pi(phi0, n, k) by Gauss quadrature in the amplitude, (20)."""
    step = motion.phi1 - motion.phi0
    total = 0.0
    for i in range(int(c[COUNT])):
        s = sincos(motion.phi0 + c[NODES + 2 * i] * step, 0.0)[0]
        ss = s * s
        total += c[NODES + 1 + 2 * i] / (max(1.0 - n * ss, LEAST) * sqrt(1.0 - motion.k2 * ss))
    return total * step


@inline
def third_kind_integral(c, motion, n):
    """Return Pi(phi1, n, k) - Pi(phi0, n, k).

    It is computed by quadrature with the number of nodes in c, or exactly if that number is 0.
    """
    return third_kind_difference(motion, n) if c[COUNT] == 0.0 else third_kind_quadrature(c, motion, n)


@inline
def third_kind_separatrix(motion, n):
    """Return the difference of the integrals of the third kind at k = 1, for n < 0, where it is elementary."""
    r = sqrt(-n)
    return (motion.lam * motion.t + r * (atan(r * motion.s1) - atan(r * motion.s0))) / (1.0 - n)


@inline
def characteristic(c, motion):
    """Return n of the angles about e3: that of (16), and of the van Zon-Schofield frame."""
    if motion.family == AROUND_3:
        return -(c[2] * c[3]) / (c[0] * c[5])
    return -(c[2] * motion.D1) / (c[0] * motion.D3)  # -(B31/B13)^2
