"""Jacobi's elliptic functions and the amplitude of any real argument and parameter, by theta functions.

The argument is reduced by multiples of the quarter period to |v| <= K/2, in double-double, so that zeros of the
functions keep all their digits. With the nome q, and without the common factor 2 q^(1/4) of th1 and th2 (DLMF 20.2),

    th1(z) = sin z - q^2 sin 3z + q^6 sin 5z - ...,   th2(z) = cos z + q^2 cos 3z + q^6 cos 5z + ...
    th3(z), th4(z) = 1 +- 2 q cos 2z + 2 q^4 cos 4z +- ...

and z = pi v/(2K) = v/th3(0)^2, the functions are (DLMF 22.2.4-6)

    sn = th3 th1(z)/(th2 th4(z)),  cn = th4 th2(z)/(th2 th4(z)),  dn = th4 th3(z)/(th3 th4(z))                  (1)

For small mc, Jacobi's imaginary transformation (DLMF 22.6.1) replaces q by the nome of mc, and z by i x:

    sn = th3 th1(ix)/(i th4 th2(ix)),  cn = th2 th4(ix)/(th4 th2(ix)),  dn = th2 th3(ix)/(th3 th2(ix))         (2)

One of the two nomes is below 0.0433, so that a few terms are enough, and no terms cancel for |v| <= K/2. Parameters
outside of [-1, 1] are transformed to this range (DLMF 22.17).
"""

from __future__ import annotations

from math import atan2, cos, exp, expm1, inf, isinf, isnan, log, nan, pi, sin, sqrt, tanh
from typing import NamedTuple

from polhode.kernels.compiler.jit import entry_point, inline, inline_strict, noinline_strict
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.numbers.eft import dd_add, dd_div, dd_mul, dd_sqrt, dd_sub, half, two_prod, two_sum
from polhode.kernels.numbers.trig import floor, is_odd, rint, sincos

BY_PARAMETER, BY_MODULUS, BY_COMPLEMENT = 0, 1, 2  # what is given: m, k or mc
ONE = (1.0, 0.0)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
SLIGHT = 1e-17  # (1 + |m|) u^2 up to which sn = am = u and cn = dn = 1
AGM_STEPS = 20
CONVERGED = 1e-9  # relative gap of the mean after which one term of its series remains
FAINT = 1e-280  # below, errors of products may underflow
MOST_QUARTERS = 1e14  # quarter periods up to which K in double-double is accurate enough
TURNING_POINT = 0.5  # mc up to which (2) is used instead of (1)


class Thetas(NamedTuple):
    """Constants of the functions for one parameter. Quotients of theta functions at 0 are stored without their 1."""

    m: float
    mc: float
    inner: float  # mc of the transformed parameter
    unit: float  # factor of the argument, a pair
    unit_low: float
    root: float  # of ``inner``
    q: float  # nome, of ``inner`` if it is small, else of its complement
    shrink: float  # z or x is (1 - shrink) v
    sn: float  # factors of sn, cn, dn
    cn: float
    dn: float
    cd: float  # factors of cd = cn/dn, sd = sn/dn, nd = 1/dn
    sd: float
    nd: float
    quarter: float  # about the quarter period


@inline_strict
def parameters(given, kind):
    """Return m and mc = 1 - m as pairs, from m, k or mc."""
    if kind == BY_COMPLEMENT:
        return two_sum(1.0, -given), (given, 0.0)
    m = (given, 0.0)
    if kind == BY_MODULUS:
        m = two_prod(given, given)
    return m, dd_sub(ONE, m)


@inline
def nome_ratio(other):
    """Return (q, q/m) of the nome for the parameter m = 1 - other, |q| < 0.0433 (DLMF 19.5.5)."""
    root = sqrt(other)
    fourth = 1.0 + sqrt(root)
    ratio = 0.5 / ((1.0 + root) * fourth * fourth)
    e = (1.0 - other) * ratio
    e4 = e * e * e * e
    correction = 1.0 + e4 * (2.0 + e4 * (15.0 + e4 * 150.0))
    return e * correction, ratio * correction


@inline
def excess(a, b, c):
    """Return (1 + a)(1 + b)/(1 + c) - 1, where a, b, c are small."""
    return (a + b + a * b - c) / (1.0 + c)


@inline
def constants(m, mc):
    """Return the constants for the parameter m = 1 - mc, numbers."""
    inner, square = mc, 1.0
    if mc < 0.0:
        inner, square = -mc / m, m
    elif mc > 1.0 / TURNING_POINT:
        inner, square = 1.0 / mc, mc
    unit = sqrt(square)
    product, error = two_prod(unit, unit)
    unit_low = ((square - product) - error) / (2.0 * unit)
    hyperbolic = inner < TURNING_POINT
    e, ratio = nome_ratio(1.0 - inner if hyperbolic else inner)
    q = inner * ratio if hyperbolic else e
    q2 = q * q
    q4 = q2 * q2
    even, odd = 2.0 * q4, 2.0 * q * (1.0 + q4 * q4)
    t2, t3, t4 = q2 * (1.0 + q4), even + odd, even - odd  # without their 1
    quarter = 0.5 * (1.0 + t3) * (1.0 + t3) / unit
    if not hyperbolic:
        quarter *= pi
    else:
        quarter *= -(log(inner) + log(ratio)) if inner > 0.0 else inf
    shrink = t3 * (2.0 + t3) / ((1.0 + t3) * (1.0 + t3))
    if hyperbolic:
        factors = excess(t3, 0.0, t4), excess(t2, 0.0, t4), excess(t2, 0.0, t3)
    else:
        factors = excess(t3, 0.0, t2), excess(t4, 0.0, t2), excess(t4, 0.0, t3)
    sn, cn, dn = factors
    cd, sd, nd = excess(cn, 0.0, dn), excess(sn, 0.0, dn), excess(0.0, 0.0, dn)
    return Thetas(m, mc, inner, unit, unit_low, sqrt(inner), q, shrink, sn, cn, dn, cd, sd, nd, quarter)


@inline_strict
def pair_root(a):
    """Return the square root of the pair a >= 0; if a is so small that errors of products underflow, of a 2^200."""
    if a[0] > FAINT:
        return dd_sqrt(a)
    root = dd_sqrt((2.0**200 * a[0], 2.0**200 * a[1]))
    return 2.0**-100 * root[0], 2.0**-100 * root[1]


@noinline_strict
def quarter_period(m, mc):
    """Return the quarter period as a pair, from the pairs m and mc: K, or K(1/m)/sqrt(m) for m > 1 (DLMF 19.8.5)."""
    outside = mc[0] < 0.0
    a, b = (dd_sqrt(m) if outside else ONE), pair_root((-mc[0], -mc[1]) if outside else mc)
    for _ in range(AGM_STEPS):
        if not abs(a[0] - b[0]) > CONVERGED * a[0]:
            break
        a, b = half(dd_add(a, b)), dd_sqrt(dd_mul(a, b))
    total = dd_add(a, b)
    x = dd_sub(a, b)[0] / total[0]
    return dd_div((2.0 * HALF_PI[0], 2.0 * HALF_PI[1]), dd_mul(total, two_sum(1.0, -0.25 * x * x)))


@inline
def theta_values(q, twice):
    """Return th1/sin z, th2/cos z, th3, th4 without their 1.

    ``twice`` is 2 cos 2z, or 2 cosh 2x for z = ix.
    """
    q2 = q * q
    q4 = q2 * q2
    q6 = q2 * q4
    sine3, cosine3, even2 = twice + 1.0, twice - 1.0, twice * twice - 2.0
    sine5, cosine5, even3 = twice * sine3 - 1.0, twice * cosine3 - 1.0, twice * even2 - twice
    sine7, cosine7 = twice * sine5 - sine3, twice * cosine5 - cosine3
    first = q2 * (q4 * (sine5 - q6 * sine7) - sine3)
    second = q2 * (cosine3 + q4 * (cosine5 + q6 * cosine7))
    odd, even = q * (twice + q4 * q4 * even3), q4 * even2
    return first, second, even + odd, even - odd


@inline
def larger(x, part):
    """Return x (1 + part)."""
    return x + x * part


@inline
def by_sines(c, v, low, co):
    """Return sn, cn, dn by (1) at v + low, or cd, sd, nd if ``co`` is true, for 0 <= v <= K/2 or slightly more."""
    z, rest = two_sum(v, -c.shrink * v)
    s, cosine = sincos(z, rest + low)
    first, second, third, fourth = theta_values(c.q, 2.0 - 4.0 * s * s)
    if co:
        cd, sd = larger(cosine, excess(c.cd, second, third)), larger(s, excess(c.sd, first, third))
        return cd, sd, 1.0 + excess(c.nd, fourth, third)
    sn, cn = larger(s, excess(c.sn, first, fourth)), larger(cosine, excess(c.cn, second, fourth))
    return sn, cn, 1.0 + excess(c.dn, third, fourth)


@inline
def sinh_and_cosh(x, low):
    """Return sinh and cosh of x + low for 0 <= x < 700."""
    if x < 1.0:
        less = expm1(x)
        e = 1.0 + less
        less += e * low
        return 0.5 * (less + less / e), 1.0 + 0.5 * less * less / e
    e = exp(x)
    e += e * low
    return 0.5 * (e - 1.0 / e), 0.5 * (e + 1.0 / e)


@inline
def by_exponentials(c, v, low, co):
    """Return sn, cn, dn by (2) at v + low, or cd, sd, nd if ``co`` is true, for 0 <= v <= K/2 or slightly more."""
    x, rest = two_sum(v, -c.shrink * v)
    s, cosh = sinh_and_cosh(x, rest + low)
    first, second, third, fourth = theta_values(c.q, 2.0 + 4.0 * s * s)
    if co:
        sd, nd = larger(s, excess(c.sd, first, third)), larger(cosh, excess(c.nd, second, third))
        return 1.0 + excess(c.cd, fourth, third), sd, nd
    cn, dn = excess(c.cn, fourth, second), excess(c.dn, third, second)
    return larger(s / cosh, excess(c.sn, first, second)), larger(1.0 / cosh, cn), larger(1.0 / cosh, dn)


@inline
def in_quarter(c, quarters, v, low):
    """Return sn, cn, dn at v + low beyond an even or an odd number of quarter periods, without their signs for n > 1.

    |v| is at most half a quarter period. See DLMF 22.4(iii) for an odd number, 22.17 for m < -1 and m > 1.
    """
    sign = -1.0 if v < 0.0 else 1.0
    size, rest = two_prod(c.unit, abs(v))
    rest += c.unit * (sign * low) + c.unit_low * abs(v)
    odd, negative = is_odd(quarters), c.unit > 1.0 and c.mc > 0.0
    co = odd != negative
    if c.inner < TURNING_POINT:
        x, y, z = by_exponentials(c, size, rest, co)
    else:
        x, y, z = by_sines(c, size, rest, co)
    if negative:
        return (y, -sign * x, c.unit * z) if odd else (sign * y / c.unit, x, z)
    if odd:
        x, y, z = x, -sign * c.root * y, c.root * z
    else:
        x *= sign
    return (x / c.unit, z, y) if c.mc < 0.0 else (x, y, z)


@inline
def amplitude(sn, cn, quarters):
    """Return am from sn and cn without their signs, beyond so many quarter periods."""
    if quarters <= 1.0:
        return atan2(sn, cn)
    rest = atan2(-cn, sn) if is_odd(quarters) else atan2(sn, cn)
    turned, low = two_prod(quarters, HALF_PI[0])
    return turned + (rest + (low + quarters * HALF_PI[1]))


@inline
def reduced(u, quarter):
    """Return (n, v, low) with u = n K + v + low and |v| <= K/2, from the pair K."""
    n = rint(u / quarter[0])
    product, error = two_prod(n, quarter[0])
    difference, low = two_sum(u, -product)
    v, low = two_sum(difference, low - error - n * quarter[1])
    return n, v, low


@inline
def periodic(c, n, v, low):
    """Return sn, cn, dn, am at the argument n K + v + low."""
    sn, cn, dn = in_quarter(c, n, v, low)
    sign = -1.0 if is_odd(floor(0.5 * n)) else 1.0
    if c.mc < 0.0:
        return sign * sn, cn, sign * dn, atan2(sign * sn, cn)
    return sign * sn, sign * cn, dn, amplitude(sn, cn, n)


@inline
def functions(c, u, quarter):
    """Return sn, cn, dn, am at u >= 0; ``quarter`` is the quarter period, a pair, where u is beyond half of it."""
    if isnan(u) or isnan(c.m):
        return nan, nan, nan, nan
    if (1.0 + abs(c.m)) * u * u <= SLIGHT:
        return u, 1.0, 1.0, u
    if isinf(u) and c.mc != 0.0:
        return nan, nan, nan, (inf if c.mc > 0.0 else nan)
    if c.mc == 0.0:  # DLMF 22.5(ii)
        e = exp(-u)
        sn, cn = tanh(u), 2.0 * e / (1.0 + e * e)
        return sn, cn, cn, atan2(sn, cn)
    if c.m == 0.0:
        return sin(u), cos(u), 1.0, u
    if u <= 0.5 * c.quarter:
        return periodic(c, 0.0, u, 0.0)
    n, v, low = reduced(u, quarter)
    return periodic(c, n, v, low)


@entry_point("i8(f8[::1], f8[::1], i8, i8, i8, f8[::1], f8[::1], f8[::1], f8[::1])")
def jacobi_range(u, given, kind, start, stop, sn, cn, dn, am):
    """Compute the functions at the arguments ``start`` to ``stop``.

    Parameters
    ----------
    u, given : array, shape (n,) or (1,)
        Arguments, and parameters of the given kind; a single one serves all.
    kind : int
        BY_PARAMETER, BY_MODULUS or BY_COMPLEMENT.
    start, stop : int
        The range.
    sn, cn, dn, am : array, shape (n,)
        Output.

    Returns
    -------
    int
        The index of the first argument whose functions cannot be computed, or NOBODY.
    """
    m, mc = parameters(nan, BY_PARAMETER)
    c, quarter, last = constants(nan, nan), (0.0, 0.0), nan
    for i in range(start, stop):
        argument, x = float(u[i if u.shape[0] > 1 else 0]), float(given[i if given.shape[0] > 1 else 0])
        if x != last:  # often all parameters are the same
            m, mc = parameters(x, kind)
            if isinf(m[0]) or isinf(mc[0]):
                return i
            c, quarter, last = constants(m[0], mc[0]), (0.0, 0.0), x
        size = abs(argument)
        if size > 0.5 * c.quarter and c.m != 0.0 and not isinf(size):
            if size > MOST_QUARTERS * c.quarter:
                return i
            if quarter[0] == 0.0:
                quarter = quarter_period(m, mc)
        s, cn[i], dn[i], a = functions(c, size, quarter)
        sn[i], am[i] = (-s, -a) if argument < 0.0 else (s, a)
    return NOBODY
