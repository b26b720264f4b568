"""Free rigid body by addition theorems: Jacobi functions of the elapsed time only, one R_J, no initial phase.

The momentum follows from sn, cn, dn of v = lambda t and the addition theorems (DLMF 22.8); the attitude is
Kosenko's factorization (Celledoni, Fasso, Safstrom & Zanna 2008, Cor. 2.7) about the body axis whose
third-kind parameter is at most 1. The elementary part of the addition theorem of Pi (DLMF 19.11.5) cancels
against the polar angle of m, so that every angle but one R_J is the argument of a complex number and no
branch is left to choose. The sign that decides the family of polhodes is computed without rounding.

Symbols: J1, J2, J3 moments relabeled so that axis 3 carries dn and axis 2 the middle moment; x = m0, y = m(t)
in these axes; N, c1, c2, r1 depend on the inertia only; kp is the complementary modulus k'.

The results are mpf numbers with more digits than the ambient mpmath precision may have: compare them inside
`mpmath.workdps`.
"""

from types import SimpleNamespace

from mpmath import mp, mpf


def addition_flow(inertia, m0, q0, t, digits=40):
    """State (m, q) after time t, with absolute errors of about 10^-digits relative to |m0| and |q0|.

    `inertia` holds three positive principal moments in any order; t may have either sign. Numbers may be
    anything mpmath converts; floats are taken as exact. q is not normalized and keeps the continuous sign.
    """
    with mp.workdps(_working_digits(inertia, m0, t, digits)):
        inertia, m0, q0, t = _exact(inertia), _exact(m0), _exact(q0), mp.convert(t)
        if t == 0 or not any(m0):
            return m0, q0
        body = _label(inertia, m0)
        if _is_steady(body):
            return m0, _product(q0, _steady_rotation(inertia, m0, t))
        y, dq = _relabeled_flow(_constants(body), t)
        return _unlabel(y, body), _product(q0, [dq[0], *_unlabel(dq[1:], body)])


def addition_period(inertia, m0, digits=40):
    """Period 4K/|lambda| of m: 0 if m is constant, inf on the separatrix."""
    with mp.workdps(digits + 15):
        body = _label(_exact(inertia), _exact(m0))
        if _is_steady(body):
            return mpf(0)
        c = _constants(body)
        return mp.inf if c.kp == 0 else 2 * mp.pi / (mp.agm(1, c.kp) * abs(c.lam))


def addition_precession(inertia, m0, digits=40):
    """Angle psi_T by which the body turns about m0 in one period: dq = exp(psi_T/2 (0, m0/G)).

    The sign of q makes it meaningful modulo 4 pi. The longitude about m_space of the body axis that m circles
    advances by psi_T + 2 pi sign(lambda), + for the axis of greatest inertia: the body also spins once about
    that axis. 0 if m is constant, inf on the separatrix.
    """
    T = addition_period(inertia, m0, digits)
    if T in (0, mp.inf):
        return T
    with mp.workdps(_working_digits(inertia, m0, T, digits)):
        c = _constants(_label(_exact(inertia), _exact(m0)))
        T = 2 * mp.pi / (mp.agm(1, c.kp) * abs(c.lam))
        third_kind = 4 * c.N * _rj(0, c.kp**2, 1, 1 + c.N) * c.G / (3 * c.r1 * c.d3)
        return c.G * T / c.J1 - mp.sign(c.lam) * (third_kind + 2 * mp.pi)


def _exact(values):
    return [mp.convert(x) for x in values]


def _working_digits(inertia, m0, t, digits):
    """Every angle below is at most about G |t| / min(I); its integer part costs digits, and 20 are spare."""
    with mp.workdps(digits):
        turns = mp.norm(_exact(m0)) * abs(mp.convert(t)) / min(_exact(inertia))
        return digits + 20 + int(mp.log10(1 + turns))


# Steps 1 to 4: axes and constants


def _label(inertia, m0):
    """Axes with axis 3 on the dn component and x3 >= 0, by a permutation and a half turn, both proper."""
    order = sorted(range(3), key=lambda i: inertia[i])
    gap = _exact_gap([inertia[i] for i in order], [m0[i] for i in order])
    if gap < 0:
        order.reverse()
    # An odd permutation P is no rotation, but -P is.
    parity = 1 if order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]) else -1
    x = [parity * m0[i] for i in order]
    turned = -1 if x[2] < 0 else 1
    signs = [parity * turned, parity, parity * turned]
    x = [turned * x[0], x[1], turned * x[2]]
    return SimpleNamespace(order=order, signs=signs, J=[inertia[i] for i in order], x=x, gap=gap)


def _unlabel(v, body):
    out = [None] * 3
    for axis, sign, value in zip(body.order, body.signs, v, strict=True):
        out[axis] = sign * value
    return out


def _exact_gap(J, m):
    """m3^2 (I3 - I2) I1 - m1^2 (I2 - I1) I3 without any rounding: its sign is the family of polhodes."""

    def product(*factors):
        out = mpf(1)
        for f in factors:
            out = mp.fmul(out, f, exact=True)
        return out

    upper = product(m[2], m[2], mp.fsub(J[2], J[1], exact=True), J[0])
    lower = product(m[0], m[0], mp.fsub(J[1], J[0], exact=True), J[2])
    return mp.fsub(upper, lower, exact=True)


def _is_steady(body):
    """m is constant: spheres, rotations about a principal axis or, for a top, about any equatorial one."""
    (J1, J2, J3), (x1, x2, x3) = body.J, body.x
    return J3 == J2 or (x1 == 0 and x2 == 0) or (x3 == 0 and (x1 == 0 or J2 == J1))


def _steady_rotation(inertia, m0, t):
    w = [m / moment for m, moment in zip(m0, inertia, strict=True)]
    rate = mp.norm(w)
    half = rate * t / 2
    return [mp.cos(half), *(mp.sin(half) * c / rate for c in w)]


def _constants(body):
    """Constants of the motion; k itself is never formed, only k', which is small without cancellation."""
    (J1, J2, J3), (_, x2, x3) = body.J, body.x
    a32, a31, a21 = J3 - J2, J3 - J1, J2 - J1
    c1, c2 = J1 * a32 / (J2 * a31), J3 * a21 / (J2 * a31)
    d3 = mp.sqrt(x3**2 + c2 * x2**2)
    e3 = mp.sqrt(abs(body.gap) / (J1 * abs(a32)))
    lam = mp.sign(a31) * d3 / J3 * mp.sqrt(a32 * a31 / (J1 * J2))
    return SimpleNamespace(
        x=body.x, J1=J1, J3=J3, c1=c1, c2=c2, N=c2 / c1, r1=mp.sqrt(c1), d3=d3,
        kp=min(mpf(1), e3 / d3), lam=lam, G=mp.norm(body.x),
    )  # fmt: skip


# Steps 5 to 8: the flow


def _relabeled_flow(c, t):
    j, S, C, D = _jacobi(c.lam * t, c.kp)
    y = _momentum(c, S, C, D)
    frame = _attitude_about_3 if c.N <= 1 else _attitude_about_1
    psi, axis = frame(c, t, j, S, C, D, y)
    sign = (-1) ** j
    y = [sign * y[0], sign * y[1], y[2]]
    turn = [mp.cos(psi / 2), 0, 0, 0]
    turn[1 + axis] = mp.sin(psi / 2)
    start = _onto_axis(c.x, axis, c.G)
    start = [start[0], -start[1], -start[2], -start[3]]
    return y, _product(_product(start, turn), _onto_axis(y, axis, c.G))


def _jacobi(v, kp):
    """j, sn, cn, dn with v = 2 K j + r and the functions of r, |r| <= K (Bulirsch's descent from k')."""
    if kp == 0:
        return 0, mp.tanh(v), mp.sech(v), mp.sech(v)
    a, b = mpf(1), kp
    levels = [(a, b)]
    while abs(a - b) > mp.ldexp(a, -mp.prec // 2 - 4):  # then the modulus one level below is 0 to all digits
        a, b = (a + b) / 2, mp.sqrt(a * b)
        levels.append((a, b))
    c = (a + b) / 2
    j = int(mp.nint(c * v / mp.pi))
    theta = c * v - j * mp.pi
    if theta == 0:
        return j, mpf(0), mpf(1), mpf(1)
    dn, cot = mpf(1), mp.cot(theta)
    w = c * cot
    for a, b in reversed(levels):
        cot *= w
        w *= dn
        dn = (b + cot) / (a + cot)
        cot = w / a
    sn = mp.sign(theta) / mp.sqrt(1 + w**2)
    return j, sn, w * sn, dn


def _momentum(c, S, C, D):
    """m at the reduced time; den is 1 - k^2 sn^2 sn^2 of the addition theorems as a sum of squares."""
    x1, x2, x3 = c.x
    n0 = x3 / c.d3
    den = C**2 + (S * n0) ** 2
    return [
        (x1 * C - c.r1 * x2 * n0 * S * D) / den,
        (x2 * C * D + x1 / c.r1 * n0 * S) / den,
        (x3 * D - c.c2 * x1 * x2 / (c.r1 * c.d3) * S * C) / den,
    ]


def _attitude_about_3(c, t, j, S, C, D, y):
    (x1, x2, _), (y1, y2, y3) = c.x, y
    g = c.c2 * x2 * S / (c.r1 * c.d3)
    psi = c.G * t / c.J1 - c.G / (c.r1 * c.d3) * _third_kind(c.lam * t, c.kp, c.N, j, S, C, D) - j * mp.pi
    psi -= mp.atan2(g * c.G * y2, y1**2 + y2**2 - g * y1 * y3)
    return psi - mp.atan2(y2 * x1 - y1 * x2, y1 * x1 + y2 * x2), 2


def _attitude_about_1(c, t, j, S, C, D, y):
    (x1, x2, x3), (y1, y2, y3) = c.x, y
    M = (x1**2 + c.c1 * x2**2) / c.d3**2
    g = c.r1 * x2 * S / c.d3
    f2 = (-1) ** j * y2
    psi = c.G * t / c.J3 + c.G / (c.r1 * c.d3) * _third_kind(c.lam * t, c.kp, M, j, S, C, D)
    psi += mp.atan2(g * c.G * y2, y2**2 + y3**2 - g * y1 * y3)
    return psi - mp.atan2(y3 * x2 - f2 * x3, f2 * x2 + y3 * x3), 0


def _third_kind(v, kp, M, j, S, C, D):
    """v - Pi(am v; n = -M, k): one incomplete and, beyond the first half period, one complete R_J."""
    if kp == 0:
        root = mp.sqrt(M)
        return (M * v - root * mp.atan(root * S)) / (1 + M)
    W = S**3 * _rj(C**2, D**2, 1, 1 + M * S**2) if S else mpf(0)
    if j:
        W += 2 * j * _rj(0, kp**2, 1, 1 + M)
    return M * W / 3


def _rj(x, y, z, p):
    return mp.elliprj(mpf(x), mpf(y), mpf(z), mpf(p))


def _onto_axis(m, axis, G):
    """Shortest rotation of m onto +e_axis; 1 + m_axis/G is never small in the frames chosen here."""
    a, b, c = axis, (axis + 1) % 3, (axis + 2) % 3
    p0 = mp.sqrt((1 + m[a] / G) / 2)
    p = [p0, 0, 0, 0]
    p[1 + b], p[1 + c] = m[c] / G / (2 * p0), -m[b] / G / (2 * p0)
    return p


def _product(a, b):
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
    ]
