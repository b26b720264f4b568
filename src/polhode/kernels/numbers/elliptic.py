"""Elliptic integrals in full precision up to the separatrix.

All functions take the complementary parameter mc = k'^2 = 1 - k^2 (or kc = k') instead of k: near k = 1 the distance
from the separatrix is the information, and 1 - k^2 would lose it. Arguments are assumed to be in the domain stated in
each docstring. Every loop is bounded, and NaN is propagated.

References: R. Bulirsch, Numer. Math. 13 (1969) 305 (cel); B. C. Carlson, Numer. Algorithms 10 (1995) 13; NIST Digital
Library of Mathematical Functions (DLMF), chapter 19.
"""

from __future__ import annotations

from math import asinh, atan2, inf, pi, sqrt

from polhode.kernels.compiler.jit import inline

AGM_STEPS = 16  # kc = 5e-324, the smallest positive double, needs 13
SERIES_GAP = 0.3  # relative gap after which, one step later, three terms of the series of the mean are enough
CEL_GAP = 5e-4  # one step later the error of the integral of the third kind is about 100 gap^5
AGM_GAP = 1e-8  # the mean of a and b then differs from the limit by (gap/4)^2
DUPLICATIONS = 600  # p/x = 1e308 in R_J needs 516; R_F needs at most 14
CARLSON_SPREAD = 0.008  # series of degree 7: remainder below spread^8 = 0.15 eps


@inline
def cel_step(mean, geometric, p, a, b):
    """Return (mean, geometric, p, a, b) after one step of Bulirsch's cel.

    Means replace the sums of the original, so that no powers of two have to be tracked.
    """
    product = mean * geometric
    per_p = 1.0 / p
    g = product * per_p
    return 0.5 * (mean + geometric), sqrt(product), 0.5 * (p + g), 0.5 * (a + b * per_p), 0.5 * (b + a * g)


@inline
def mean_limit(mean, geometric):
    """Return the arithmetic-geometric mean of two close numbers and its reciprocal.

    Both are series: DLMF 19.5.1 and the series of its reciprocal.
    """
    total = mean + geometric
    per_total = 1.0 / total
    x = (mean - geometric) * per_total
    x *= x
    limit = 0.5 * total * (1.0 - x * (1.0 / 4.0 + x * (5.0 / 64.0 + x * (11.0 / 256.0))))
    return limit, 2.0 * per_total * (1.0 + x * (1.0 / 4.0 + x * (9.0 / 64.0 + x * (25.0 / 256.0))))


@inline
def cel(kc, p, a, b):
    """Return (M, 1/M, W) with K = pi/(2M) and K W = int_0^(pi/2) (a cos^2 + b sin^2)/((cos^2 + p sin^2) D).

    D = sqrt(cos^2 + kc^2 sin^2), kc > 0, p > 0; M is the arithmetic-geometric mean of 1 and kc (DLMF 19.8.5). The last
    steps of M are replaced by a series, so that code that uses only M does not wait for W. For a, b >= 0 all terms are
    positive.
    """
    p = sqrt(p)
    mean, geometric = 1.0, kc
    b = b / p
    for _ in range(AGM_STEPS):
        gap = abs(mean - geometric)
        mean, geometric, p, a, b = cel_step(mean, geometric, p, a, b)
        if gap <= SERIES_GAP * mean:
            break
    limit, per_limit = mean_limit(mean, geometric)
    for _ in range(AGM_STEPS):
        if gap <= CEL_GAP * mean:
            break
        gap = abs(mean - geometric)
        mean, geometric, p, a, b = cel_step(mean, geometric, p, a, b)
    return limit, per_limit, (b + a * limit) / (limit + p)


@inline
def complete_k(mc):
    """Return K, the quarter period, for mc in [0, 1]; it is infinite at mc = 0 (DLMF 19.8.5)."""
    if mc == 0.0:
        return inf
    a, b = 1.0, sqrt(mc)
    for _ in range(AGM_STEPS):
        if abs(a - b) <= AGM_GAP * a:
            break
        a, b = 0.5 * (a + b), sqrt(a * b)
    return pi / (a + b)


@inline
def complete_k_and_l(kc, n):
    """Return (K, L), L = int_0^(pi/2) sin^2 / ((1 + n sin^2) sqrt(cos^2 + kc^2 sin^2)), for kc > 0, n > -1.

    K - n L is the integral of the third kind. The first argument is the complementary modulus kc = sqrt(mc).
    """
    _, per_mean, weight = mean_and_weight(kc, n)
    K = 0.5 * pi * per_mean
    return K, K * weight


@inline
def mean_and_weight(kc, n):
    """Return (M, 1/M, W) with K = pi/(2M) and L = K W of ``complete_k_and_l``.

    The kernels of single steps call this function instead of ``complete_k_and_l``.
    """
    return cel(kc, 1.0 + n, 0.0, 1.0)


@inline
def carlson_rc(x, y):
    """Return R_C(x, y) for x >= 0 and y > 0 (DLMF 19.2.18-19), or its Cauchy principal value for y < 0 (19.2.20)."""
    factor = 1.0
    if y < 0.0:
        factor = sqrt(x / (x - y))
        x, y = x - y, -y
    if x < y:
        root = sqrt(y - x)
        return factor * atan2(root, sqrt(x)) / root
    if x > y:
        root = sqrt(x - y)
        return factor * asinh(root / sqrt(y)) / root
    return factor / sqrt(x)


@inline
def carlson_rf(x, y, z):
    """Return R_F(x, y, z) for x, y, z >= 0, at most one of them 0 (Carlson 1995, algorithm 1)."""
    for _ in range(DUPLICATIONS):
        mean = (x + y + z) / 3.0
        dx, dy, dz = 1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean
        if not max(abs(dx), abs(dy), abs(dz)) > CARLSON_SPREAD:  # also ends on NaN
            break
        sx, sy, sz = sqrt(x), sqrt(y), sqrt(z)
        shift = sx * sy + sy * sz + sz * sx
        x, y, z = 0.25 * (x + shift), 0.25 * (y + shift), 0.25 * (z + shift)
    return _rf_series(dx, dy, dz) / sqrt(mean)


@inline
def _rf_series(dx, dy, dz):
    """Return the Taylor series of R_F about equal arguments, to degree 7 (DLMF 19.36.1), for dx + dy + dz = 0."""
    e2 = dx * dy - dz * dz
    e3 = dx * dy * dz
    series = e2 * (-1.0 / 10.0 + e2 * (1.0 / 24.0 - e2 * 5.0 / 208.0 + e3 / 16.0) - e3 * 3.0 / 44.0)
    return 1.0 + (series + e3 * (1.0 / 14.0 + e3 * 3.0 / 104.0))


@inline
def carlson_rj(x, y, z, p):
    """Return R_J(x, y, z, p) for p > 0 and x, y, z >= 0, at most one of them 0 (Carlson 1995, algorithm 3).

    Carlson's 1 + e_n is computed as 2 sqrt(p) (p + shift)/d_n, which is the same number without cancellation: his
    e_n = (p - x)(p - y)(p - z)/d_n^2 tends to -1 for small p.
    """
    total = 0.0
    quarter = 1.0
    for _ in range(DUPLICATIONS):
        mean = (x + y + z + 2.0 * p) / 5.0
        dx, dy, dz, dp = 1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean, 1.0 - p / mean
        if not max(max(abs(dx), abs(dy)), max(abs(dz), abs(dp))) > CARLSON_SPREAD:  # also ends on NaN
            break
        sx, sy, sz, sp = sqrt(x), sqrt(y), sqrt(z), sqrt(p)
        shift = sx * sy + sy * sz + sz * sx
        one_plus_e = 2.0 * sp / (sp + sx) * ((p + shift) / (sp + sy) / (sp + sz))
        total += quarter / (sp + sx) / (sp + sy) / (sp + sz) * carlson_rc(1.0, one_plus_e)  # DLMF 19.36.2
        x, y, z, p = 0.25 * (x + shift), 0.25 * (y + shift), 0.25 * (z + shift), 0.25 * (p + shift)
        quarter *= 0.25
    return quarter * _rj_series(dx, dy, dz, dp) / (mean * sqrt(mean)) + 6.0 * total


@inline
def principal_rj(x, y, z, p):
    """Return R_J(x, y, z, p) for p < 0, a Cauchy principal value, with x, y, z as in ``carlson_rj`` (DLMF 19.20.14)."""
    low, high = min(x, min(y, z)), max(x, max(y, z))
    middle = max(min(x, y), min(max(x, y), z))
    step = (high - middle) * (middle - low) / (middle - p)
    q = middle + step
    positive = step * carlson_rj(x, y, z, q) + 3.0 * carlson_rc(low * (high / middle), q * (p / middle))
    return (positive - 3.0 * carlson_rf(x, y, z)) / (middle - p)


@inline
def carlson_rd(x, y, z):
    """Return R_D(x, y, z) = R_J(x, y, z, z) for z > 0 and x, y >= 0, at most one of them 0.

    This is algorithm 4 of Carlson 1995.
    """
    total = 0.0
    quarter = 1.0
    for _ in range(DUPLICATIONS):
        mean = (x + y + 3.0 * z) / 5.0
        dx, dy, dz = 1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean
        if not max(abs(dx), abs(dy), abs(dz)) > CARLSON_SPREAD:  # also ends on NaN
            break
        sx, sy, sz = sqrt(x), sqrt(y), sqrt(z)
        shift = sx * sy + sy * sz + sz * sx
        total += quarter / sz / (z + shift)
        x, y, z = 0.25 * (x + shift), 0.25 * (y + shift), 0.25 * (z + shift)
        quarter *= 0.25
    return quarter * _rj_series(dx, dy, dz, dz) / (mean * sqrt(mean)) + 3.0 * total


@inline
def carlson_rg(x, y, z):
    """Return R_G(x, y, z) for x, y, z >= 0 (DLMF 19.21.10, with the middle argument for z: all terms are positive)."""
    low, high = min(x, min(y, z)), max(x, max(y, z))
    middle = max(min(x, y), min(max(x, y), z))
    if middle == 0.0:
        return 0.5 * sqrt(high)
    rest = (high - middle) * (middle - low) / 3.0 * carlson_rd(low, high, middle)
    return 0.5 * (middle * carlson_rf(low, high, middle) + rest + sqrt(high * (low / middle)))


@inline
def _rj_series(dx, dy, dz, dp):
    """Return the Taylor series of R_J about equal arguments, to degree 7 (DLMF 19.36.2).

    The arguments satisfy dx + dy + dz + 2 dp = 0.
    """
    xyz = dx * dy * dz
    p2 = dp * dp
    e2 = dx * dy + dy * dz + dz * dx - 3.0 * p2
    e3 = xyz + 2.0 * dp * (e2 + 2.0 * p2)
    e4 = dp * (2.0 * xyz + dp * (e2 + 3.0 * p2))
    e5 = xyz * p2
    series = e2 * (-3.0 / 14.0 + e2 * (9.0 / 88.0 - e2 / 16.0 + e3 * 45.0 / 272.0) - e3 * 9.0 / 52.0)
    series += e3 * (1.0 / 6.0 + e3 * 3.0 / 40.0) + e4 * (-3.0 / 22.0 + e2 * 3.0 / 20.0 - e3 * 9.0 / 68.0)
    return 1.0 + (series + e5 * (3.0 / 26.0 - e2 * 9.0 / 68.0))
