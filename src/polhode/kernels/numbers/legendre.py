"""Legendre's elliptic integrals and Carlson's symmetric ones for any real arguments for which they are real.

Every formula below is a sum of positive terms, except principal values, which have zeros. With s = |sin phi|,
c = |cos phi|, d = 1 - m s^2 = c^2 + mc s^2 and p = 1 - n s^2 = c^2 + (1 - n) s^2, for |phi| <= pi/2 (DLMF 19.25(i)):

    F = s R_F(c^2, d, 1)
    E = s (R_F(c^2, d, 1) - m s^2/3 R_D(c^2, d, 1))                            m < 0
      = s (mc R_F(c^2, d, 1) + m mc s^2/3 R_D(c^2, 1, d) + m c/sqrt(d))        0 <= m <= 1
      = s (sqrt(d)/c - mc s^2/3 R_D(d, 1, c^2))                                m > 1
    Pi = s (R_F(c^2, d, 1) + n s^2/3 R_J(c^2, d, 1, p))                        n >= 0, p > 0

The last formula loses digits for n < 0, and R_J is a principal value for p < 0. The relation between R_J at p and q
(DLMF 19.21.12), where (p - x)(q - x) = (y - x)(z - x) and x is c^2 or 1, gives

    Pi = s/(1 - n) (R_F - n (c R_C(d, p q) + mc s^2/(3 (1 - n)) R_J(c^2, d, 1, q))),  q = c^2 + mc s^2/(1 - n)   n < 0
    Pi = s (R_C(c^2 d, p q) - m s^2/(3 n) R_J(c^2, d, 1, q)),  q = c^2 + (n - m)/n s^2                          p < 0

Integrals of the third kind for m > 1 are those for 1/m, with c^2 and d exchanged (DLMF 19.7.4).
"""

from __future__ import annotations

from math import cos, inf, isfinite, isinf, isnan, nan, pi, sin, sqrt

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import entry_point, inline, noinline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.numbers import elliptic
from polhode.kernels.numbers.jacobi import parameters
from polhode.kernels.numbers.trig import is_odd, rint

FIRST, SECOND, THIRD = 1, 2, 3  # kinds of Legendre's integrals
RC, RD, RF, RG, RJ = 1, 2, 3, 4, 5
MODERATE = (1e-3, 1e3)  # range of mc in which Bulirsch's cel, which is faster, is as accurate
FAINT = 1e-20  # mc that does not change integrals of the second kind
SMALLEST = 1e-300  # smallest positive argument of Carlson's integrals, relative to the largest one


# Large functions with several callers are called, not inlined.


@noinline
def carlson_rc(x, y):
    """Return R_C; see ``elliptic``."""
    return elliptic.carlson_rc(x, y)


@noinline
def carlson_rf(x, y, z):
    """Return R_F; see ``elliptic``."""
    return elliptic.carlson_rf(x, y, z)


@noinline
def carlson_rd(x, y, z):
    """Return R_D; see ``elliptic``."""
    return elliptic.carlson_rd(x, y, z)


@noinline
def carlson_rj(x, y, z, p):
    """Return R_J for p > 0; see ``elliptic``."""
    return elliptic.carlson_rj(x, y, z, p)


@inline
def second(s, c, d, m, mc):
    """Return E for 0 <= phi <= pi/2."""
    ss, cc = s * s, c * c
    if m < 0.0:
        return s * (carlson_rf(cc, d, 1.0) - m * ss / 3.0 * carlson_rd(cc, d, 1.0))
    if mc < 0.0:
        return s * (sqrt(d) / c - mc * ss / 3.0 * carlson_rd(d, 1.0, cc))
    if mc < FAINT:  # E = s (1 + mc/2 (log(4/kc) - ...))
        return s
    return s * (mc * (carlson_rf(cc, d, 1.0) + m * ss / 3.0 * carlson_rd(cc, 1.0, d)) + m * c / sqrt(d))


@inline
def complete(kind, n, m, mc):
    """Return K, E or Pi(n) for m <= 1."""
    if kind == FIRST:
        return elliptic.complete_k(mc)
    if kind == SECOND:
        if not MODERATE[0] < mc < MODERATE[1]:
            return second(1.0, 0.0, mc, m, mc)
        _, per_mean, weight = elliptic.cel(sqrt(mc), 1.0, 1.0, mc)
        return 0.5 * pi * per_mean * weight
    return complete_third(n, m, mc)


@inline
def complete_third(n, m, mc):
    """Return Pi(n), for n > 1 its principal value -m/n L(m/n) (DLMF 19.6.5), L = int sin^2/((1 - m/n sin^2) D)."""
    if n == 1.0:
        return inf
    if mc == 0.0:
        return inf if n < 1.0 else -inf
    p, sine_only = (1.0 - n, 1.0) if n < 1.0 else ((n - 1.0 + mc) / n, 0.0)
    _, per_mean, weight = elliptic.cel(sqrt(mc), p, sine_only, 1.0)
    value = 0.5 * pi * per_mean * weight
    return value if n < 1.0 else -m / n * value


@inline
def third(n, s, cc, d, m, mc):
    """Return Pi for 0 <= phi <= pi/2 and m <= 1, from cc = c^2."""
    ss = s * s
    p = cc + (1.0 - n) * ss
    if p == 0.0:
        return inf
    if n < 0.0:
        share = mc / (1.0 - n)
        q = cc + share * ss
        rest = sqrt(cc) * carlson_rc(d, p * q) + share * ss / 3.0 * carlson_rj(cc, d, 1.0, q)
        return s * (carlson_rf(cc, d, 1.0) - n * rest) / (1.0 - n)
    if p > 0.0:
        return s * (carlson_rf(cc, d, 1.0) + n * ss / 3.0 * carlson_rj(cc, d, 1.0, p))
    q = cc + (n - 1.0 + mc) / n * ss
    return s * (carlson_rc(cc * d, p * q) - m / n * ss / 3.0 * carlson_rj(cc, d, 1.0, q))


@inline
def incomplete(kind, n, s, c, d, m, mc):
    """Return F, E or Pi(n) for 0 <= phi <= pi/2."""
    if kind == FIRST:
        return s * carlson_rf(c * c, d, 1.0)
    if kind == SECOND:
        return second(s, c, d, m, mc)
    if mc < 0.0:
        k = sqrt(m)
        return third(n / m, k * s, d, c * c, 1.0 / m, -mc / m) / k
    return third(n, s, c * c, d, m, mc)


@inline
def half_turns(phi):
    """Return (j, s, c) with phi = j pi + psi, |psi| <= pi/2, s = sin psi, c = cos psi >= 0."""
    j = rint(phi / pi)
    s, c = sin(phi), cos(phi)
    if is_odd(j):
        s, c = -s, -c
    if c < 0.0:  # j is rounded: phi is next to an odd multiple of pi/2, or larger than 2^53
        j += 1.0 if s > 0.0 else -1.0
        s, c = -s, -c
    return j, s, c


@inline
def integral(kind, n, phi, m, mc):
    """Return F, E or Pi(n) for any phi, and whether it is real."""
    if isinf(phi):
        unbounded = mc >= 0.0 and not isnan(n)
        return (complete(kind, n, m, mc) * phi if unbounded else nan), unbounded
    j, s, c = half_turns(phi)
    sine = abs(s)
    d = c * c + mc * sine * sine
    if mc < 0.0 and (j != 0.0 or d < 0.0):
        return nan, False
    value = incomplete(kind, n, sine, c, d, m, mc)
    value = -value if s < 0.0 else value
    return (value + 2.0 * j * complete(kind, n, m, mc) if j != 0.0 else value), True


@entry_point("i8(i8, f8[::1], f8[::1], f8[::1], i8, i8, i8, i8, f8[::1])")
def legendre_range(kind, n, phi, given, given_as, is_complete, start, stop, out):
    """Compute integrals of one kind for the arguments ``start`` to ``stop``.

    Parameters
    ----------
    kind : int
        FIRST, SECOND or THIRD.
    n, phi, given : array, shape (size,) or (1,)
        Characteristics, amplitudes, and parameters; a single one serves all.
    given_as : int
        Kind of the parameters; see ``jacobi``.
    is_complete : int
        1 for complete integrals, which do not depend on phi, else 0.
    start, stop : int
        The range.
    out : array, shape (size,)
        Output.

    Returns
    -------
    int
        The index of the first integral that is not real, or NOBODY.
    """
    for i in range(start, stop):
        characteristic, angle = float(n[i if n.shape[0] > 1 else 0]), float(phi[i if phi.shape[0] > 1 else 0])
        pair, complement = parameters(float(given[i if given.shape[0] > 1 else 0]), given_as)
        m, mc = pair[0], complement[0]
        if isinf(m) or isinf(mc) or isinf(characteristic) or (is_complete and mc < 0.0):
            return i
        if isnan(mc) or isnan(characteristic) or isnan(angle):
            out[i] = nan
        elif is_complete:
            out[i] = complete(kind, characteristic, m, mc)
        else:
            out[i], real = integral(kind, characteristic, angle, m, mc)
            if not real:
                return i
    return NOBODY


@inline
def symmetric(kind, x, y, z, p):
    """Return R_C(x, y), R_D(x, y, z), R_F, R_G or R_J(x, y, z, p), for finite arguments of moderate size."""
    zeros = (x == 0.0) + (y == 0.0) + (z == 0.0)
    if kind == RG:
        return elliptic.carlson_rg(x, y, z)
    if kind == RC:
        return inf if y == 0.0 else carlson_rc(x, y)
    if kind == RD:
        return inf if z == 0.0 or zeros > 1 else carlson_rd(x, y, z)
    if kind == RF:
        return inf if zeros > 1 else carlson_rf(x, y, z)
    if p == 0.0 or zeros > 1:
        return -inf if p < 0.0 else inf
    return elliptic.principal_rj(x, y, z, p) if p < 0.0 else carlson_rj(x, y, z, p)


@inline
def scaled(kind, x, y, z, p):
    """Return ``symmetric`` for arguments of any size: all are divided by a power of 4, of which it is homogeneous."""
    size = max(max(x, abs(y)), max(z, abs(p)))
    power, f = power_of_two(sqrt(size))
    value = symmetric(kind, f * x * f, f * y * f, f * z * f, f * p * f)
    if kind == RG:
        return power * value
    return f * value * f * f if kind in (RD, RJ) else f * value


@inline
def is_valid(x, size, may_be_negative):
    """Return whether an argument is finite, of the required sign, and not too small beside the largest one."""
    return isfinite(x) and (x >= 0.0 or may_be_negative) and (x == 0.0 or abs(x) >= SMALLEST * size)


@entry_point("i8(i8, f8[::1], f8[::1], f8[::1], f8[::1], i8, i8, f8[::1])")
def carlson_range(kind, x, y, z, p, start, stop, out):
    """Compute symmetric integrals of one kind for the arguments ``start`` to ``stop``.

    Parameters
    ----------
    kind : int
        RC, RD, RF, RG or RJ.
    x, y, z, p : array, shape (size,) or (1,)
        Arguments; a single one serves all. Those that a kind does not have are equal to y.
    start, stop : int
        The range.
    out : array, shape (size,)
        Output.

    Returns
    -------
    int
        The index of the first invalid integral, or NOBODY.
    """
    for i in range(start, stop):
        a, b = float(x[i if x.shape[0] > 1 else 0]), float(y[i if y.shape[0] > 1 else 0])
        c, d = float(z[i if z.shape[0] > 1 else 0]), float(p[i if p.shape[0] > 1 else 0])
        if isnan(a) or isnan(b) or isnan(c) or isnan(d):
            out[i] = nan
            continue
        size = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
        signed = kind == RC
        valid = is_valid(a, size, False) and is_valid(b, size, signed) and is_valid(c, size, signed)
        if not (valid and is_valid(d, size, kind == RJ or signed)):
            return i
        out[i] = scaled(kind, a, b, c, d)
    return NOBODY
