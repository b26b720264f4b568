"""The published exact free rigid body, compiled: the baseline that speed ratios are measured against.

This is the structure of Celledoni, Fassò, Säfström, Zanna 2008 (SIAM J. Sci. Comput. 30) and of its program
FRB (Celledoni, Zanna 2010, ACM TOMS, Algorithm 903) in quaternions: constants of Proposition 2.1, phase by
the ascending and amplitude by the descending Landen transformation, and the angle of (16) by elliptic
integrals of the third kind through Carlson's R_F and R_J (Carlson, Notis 1981, ACM TOMS 7, Algorithm 577):
incomplete ones at both ends of the step, and the complete one. With ``thrifty`` the complete integral is left
out where no multiple of it lies between the ends.
Misprints are corrected. It is our own code, not the authors', compiled like polhode's kernels.

It is a baseline, not a product: sorted moments I1 < I2 < I3, momenta away from the principal axes, the
separatrix and m3 = -|m|, where these formulas lose digits or divide by zero; nothing is validated or
normalized. Elsewhere it gives the true flow to rounding (golden generic cases: 9 eps (1 + cond) at most,
eps = 2^-53), for steps of any length and either sign, the sign of q included.

It is frozen. A ratio means something from one year to the next only if its denominator stays what it was, so
neither newer ideas nor local tuning belong here: improve ``polhode``, leave this file alone.

Import it as ``published``: Numba's disk cache finds compiled code again only under the same module name.

Conventions: m' = m x w, q' = q (0, w)/2, w = m/I; q scalar first, body to space. Equation numbers without a
year are those of Algorithm 903.
"""

from __future__ import annotations

import math

import numpy as np

from polhode.kernels.compiler.jit import entry_point, inline

LEVELS = 12  # of the AGM; 5 or fewer occur unless the motion is close to the separatrix
TOL_AGM = 1e-8  # of c_n/a_n: c_{n+1} = c_n^2/(4 a_{n+1}) is then below rounding

# Relative truncation errors of Algorithm 577 as functions of ERRTOL, set equal to 2^-53.
TOL_RF = (4.0 * 2.0**-53) ** (1 / 6)
TOL_RC = (2.0**-53 / 16.0) ** (1 / 6)
TOL_RJ = (2.0**-53 / 3.0) ** (1 / 6)


@inline
def carlson_rf(x, y, z):
    """R_F by duplication with the fifth-order series (Carlson, Notis 1981)."""
    while True:
        mu = (x + y + z) / 3.0
        dx, dy, dz = (mu - x) / mu, (mu - y) / mu, (mu - z) / mu
        if not max(abs(dx), abs(dy), abs(dz)) > TOL_RF:  # also leaves the loop on NaN
            break
        sx, sy, sz = math.sqrt(x), math.sqrt(y), math.sqrt(z)
        lam = sx * (sy + sz) + sy * sz
        x, y, z = 0.25 * (x + lam), 0.25 * (y + lam), 0.25 * (z + lam)
    e2 = dx * dy - dz * dz
    e3 = dx * dy * dz
    return (1.0 + (e2 / 24.0 - 0.1 - 3.0 / 44.0 * e3) * e2 + e3 / 14.0) / math.sqrt(mu)


@inline
def carlson_rc(x, y):
    """R_C for y > 0 by duplication with the fifth-order series (Carlson, Notis 1981)."""
    while True:
        mu = (x + y + y) / 3.0
        s = (y - mu) / mu
        if not abs(s) > TOL_RC:
            break
        lam = 2.0 * math.sqrt(x) * math.sqrt(y) + y
        x, y = 0.25 * (x + lam), 0.25 * (y + lam)
    return (1.0 + s * s * (0.3 + s * (1.0 / 7.0 + s * (0.375 + s * (9.0 / 22.0))))) / math.sqrt(mu)


@inline
def carlson_rj(x, y, z, p):
    """R_J for p > 0 by duplication, one R_C per step, with the fifth-order series (Carlson, Notis 1981)."""
    sigma = 0.0
    power4 = 1.0
    while True:
        mu = 0.2 * (x + y + z + p + p)
        dx, dy, dz, dp = (mu - x) / mu, (mu - y) / mu, (mu - z) / mu, (mu - p) / mu
        if not max(abs(dx), abs(dy), abs(dz), abs(dp)) > TOL_RJ:
            break
        sx, sy, sz = math.sqrt(x), math.sqrt(y), math.sqrt(z)
        lam = sx * (sy + sz) + sy * sz
        alpha = p * (sx + sy + sz) + sx * sy * sz
        sigma += power4 * carlson_rc(alpha * alpha, p * (p + lam) * (p + lam))
        power4 *= 0.25
        x, y, z, p = 0.25 * (x + lam), 0.25 * (y + lam), 0.25 * (z + lam), 0.25 * (p + lam)
    ea = dx * (dy + dz) + dy * dz
    eb = dx * dy * dz
    ec = dp * dp
    e2 = ea - 3.0 * ec
    e3 = eb + 2.0 * dp * (ea - ec)
    s1 = 1.0 + e2 * (-3.0 / 14.0 + 9.0 / 88.0 * e2 - 9.0 / 52.0 * e3)
    s2 = eb * (1.0 / 6.0 + dp * (-3.0 / 11.0 + dp * (3.0 / 26.0)))
    s3 = dp * ea * (1.0 / 3.0 - dp * (3.0 / 22.0)) - dp * ec / 3.0
    return 3.0 * sigma + power4 * (s1 + s2 + s3) / (mu * math.sqrt(mu))


@inline
def third_kind(s, c, n, k2):
    """Pi(phi, n, k) of (22) for |phi| <= pi/2, from s = sin phi and c = cos phi."""
    s2 = s * s
    x, y = c * c, 1.0 - k2 * s2
    return s * carlson_rf(x, y, 1.0) + n / 3.0 * s * s2 * carlson_rj(x, y, 1.0, 1.0 - n * s2)


@inline
def ascend(phi, s, c, k2, ratio):
    """u = F(phi, k) from (17), (19), with s, c proportional to sin phi, cos phi; the AGM's limit and length.

    Equation (17) reads phi_{n+1} = 2 phi_n - atan((a-b) s c / (a c^2 + b s^2)), which needs no choice of a
    branch, and its addition theorem carries s and c along, so that one atan per level is all.
    The c_n/a_n, n = 1..N, are left in ``ratio`` for the way down.
    """
    a, b = 1.0, math.sqrt(1.0 - k2)
    n = 0
    while True:
        n += 1
        sc, cc, ss = s * c, a * c * c, b * s * s
        phi = 2.0 * phi - math.atan((a - b) * sc / (cc + ss))
        s, c = (a + b) * sc, cc - ss
        c_n = 0.5 * (a - b)
        ab = a * b
        a = 0.5 * (a + b)
        ratio[n] = c_n / a
        if not ratio[n] > TOL_AGM or n == LEVELS:
            break
        b = math.sqrt(ab)
    scale = a * (1 << n)
    return phi / scale, scale, n


@inline
def descend(phi, n, ratio):
    """am(u, k) from phi_N = 2^N a_N u: sin(2 phi_{n-1} - phi_n) = (c_n/a_n) sin phi_n, n = N, ..., 1."""
    for level in range(n, 0, -1):
        phi = 0.5 * (phi + math.asin(ratio[level] * math.sin(phi)))
    return phi


@inline
def constants(i1, i2, i3, m1, m2, m3):
    """Proposition 2.1 (2008) for |m| = 1: is it case (i), B13, B31, B of sn, k^2, lambda, and n of (16)."""
    two_t = m1 * m1 / i1 + m2 * m2 / i2 + m3 * m3 / i3
    i21, i31, i32 = i2 - i1, i3 - i1, i3 - i2
    d1, d3 = 1.0 - two_t * i1, two_t * i3 - 1.0
    b13, b31 = math.sqrt(i1 * d3 / i31), math.sqrt(i3 * d1 / i31)
    around_1 = two_t * i2 > 1.0
    if around_1:
        b_sn = math.sqrt(i2 * d1 / i21)
        k2 = d1 * i32 / (d3 * i21)
        lam = math.copysign(math.sqrt(d3 * i21 / (i1 * i2 * i3)), m1)
        n = -(i3 * d1) / (i1 * d3)  # -(B31/B13)^2
    else:
        b_sn = math.sqrt(i2 * d3 / i32)
        k2 = d3 * i21 / (d1 * i32)
        lam = math.copysign(math.sqrt(d1 * i32 / (i1 * i2 * i3)), m3)
        n = -(i3 * i21) / (i1 * i32)
    return around_1, b13, b31, b_sn, k2, lam, n


@inline
def half_turns(phi):
    """j and (-1)^j with |phi - j pi| <= pi/2."""
    j = math.floor(phi / math.pi + 0.5)
    return j, 1.0 - 2.0 * (j & 1)


@inline
def frame(m1, m2, m3):
    """p of case (1): the shortest rotation of m onto e3; its last component is zero."""
    p0 = math.sqrt(0.5 * (1.0 + m3))
    return p0, 0.5 * m2 / p0, -0.5 * m1 / p0


@inline
def product(a0, a1, a2, a3, b0, b1, b2, b3):
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + b0 * a1 + a2 * b3 - a3 * b2,
        a0 * b2 + b0 * a2 + a3 * b1 - a1 * b3,
        a0 * b3 + b0 * a3 + a1 * b2 - a2 * b1,
    )


@inline
def unit_step(i1, i2, i3, m1, m2, m3, h, ratio, thrifty):
    """m(h) and the angle psi(h) of (16) for |m| = 1."""
    around_1, b13, b31, b_sn, k2, lam, n = constants(i1, i2, i3, m1, m2, m3)
    sn0 = m2 / b_sn
    cn0 = m3 / b31 if around_1 else m1 / b13  # (4), (5)
    phi0 = math.atan2(sn0, cn0)
    u0, scale, levels = ascend(phi0, sn0, cn0, k2, ratio)

    phi1 = descend(scale * (u0 + lam * h), levels, ratio)
    sn1, cn1 = math.sin(phi1), math.cos(phi1)
    dn1 = math.copysign(math.sqrt(1.0 - k2 * sn1 * sn1), lam)
    y2 = b_sn * sn1
    y1, y3 = (b13 * dn1, b31 * cn1) if around_1 else (b13 * cn1, b31 * dn1)  # (4), (5)

    j0, odd0 = half_turns(phi0)
    j1, odd1 = half_turns(phi1)
    d_pi = third_kind(odd1 * sn1, cn1, n, k2) - third_kind(odd0 * sn0, cn0, n, k2)
    if j1 != j0 or not thrifty:
        d_pi += 2.0 * (j1 - j0) * third_kind(1.0, 0.0, n, k2)

    # The coefficient of f in (16) is +-1, and f itself an angle of (m1, m2): in case (i) m1 keeps its sign,
    # in case (ii) the angle advances by pi with every half turn of phi.
    if around_1:
        d_f = math.atan(m2 / m1) - math.atan(y2 / y1)
    else:
        d_f = math.atan2(odd0 * m2, odd0 * m1) - math.atan2(odd1 * y2, odd1 * y1) - (j1 - j0) * math.pi
    psi = h / i3 + (i3 - i1) / (i1 * i3 * lam) * d_pi + d_f
    return y1, y2, y3, psi


@inline
def step(i1, i2, i3, m1, m2, m3, q0, q1, q2, q3, h, ratio, thrifty):
    """One step of any body: q(h) = q p(0)^-1 y p(h), equation (12)."""
    norm = math.sqrt(m1 * m1 + m2 * m2 + m3 * m3)
    m1, m2, m3 = m1 / norm, m2 / norm, m3 / norm
    y1, y2, y3, psi = unit_step(i1, i2, i3, m1, m2, m3, norm * h, ratio, thrifty)
    a0, a1, a2 = frame(m1, m2, m3)
    b0, b1, b2 = frame(y1, y2, y3)
    c, s = math.cos(0.5 * psi), math.sin(0.5 * psi)
    r0, r1, r2, r3 = product(q0, q1, q2, q3, a0, -a1, -a2, 0.0)
    r0, r1, r2, r3 = r0 * c - r3 * s, r1 * c + r2 * s, r2 * c - r1 * s, r3 * c + r0 * s
    r0, r1, r2, r3 = product(r0, r1, r2, r3, b0, b1, b2, 0.0)
    return norm * y1, norm * y2, norm * y3, r0, r1, r2, r3


@entry_point("void(f8[::1], f8[::1], f8[::1], f8, i8, b1)")
def published_steps(inertia, m, q, h, n, thrifty):
    """``n`` steps of size ``h`` of one body, in place; as published, each step computes everything anew."""
    ratio = np.empty(LEVELS + 1)
    i1, i2, i3 = inertia[0], inertia[1], inertia[2]
    m1, m2, m3 = m[0], m[1], m[2]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    for _ in range(n):
        m1, m2, m3, q0, q1, q2, q3 = step(i1, i2, i3, m1, m2, m3, q0, q1, q2, q3, h, ratio, thrifty)
    m[0], m[1], m[2] = m1, m2, m3
    q[0], q[1], q[2], q[3] = q0, q1, q2, q3


@entry_point("void(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1], f8[:, ::1], f8[:, ::1], b1)")
def published_batch(inertia, m, q, h, m_out, q_out, thrifty):
    """One step of each body: shapes (n, 3), (n, 3), (n, 4), (n,) -> (n, 3), (n, 4); one thread."""
    ratio = np.empty(LEVELS + 1)
    for j in range(len(h)):
        i1, i2, i3 = inertia[j, 0], inertia[j, 1], inertia[j, 2]
        m1, m2, m3 = m[j, 0], m[j, 1], m[j, 2]
        q0, q1, q2, q3 = q[j, 0], q[j, 1], q[j, 2], q[j, 3]
        m1, m2, m3, q0, q1, q2, q3 = step(i1, i2, i3, m1, m2, m3, q0, q1, q2, q3, h[j], ratio, thrifty)
        m_out[j, 0], m_out[j, 1], m_out[j, 2] = m1, m2, m3
        q_out[j, 0], q_out[j, 1], q_out[j, 2], q_out[j, 3] = q0, q1, q2, q3
