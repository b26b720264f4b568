"""Error-free transformations against exact rational arithmetic, and the number they exist for: the gap D.

Each function is called from an entry point that may fuse products with sums ('contract'), with a product before and a
sum after it: were its own operations fused with them, its identity would break.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ldexp, ulp

import numpy as np
import pytest

from conftest import EPS
from oracles.separatrix import convergents, separatrix_slope
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.exact import euler
from polhode.kernels.numbers import eft


@entry_point("UniTuple(f8,5)(f8,f8,f8,f8)", cache=False)
def two_sum(a, b, c, d):
    x, y = a * c, b * d
    s, e = eft.two_sum(x, y)
    return x, y, s, e, s * c + e


@entry_point("UniTuple(f8,5)(f8,f8,f8,f8)", cache=False)
def fast_two_sum(a, b, c, d):
    x, y = a * c, b * d
    if abs(x) < abs(y):
        x, y = y, x
    s, e = eft.fast_two_sum(x, y)
    return x, y, s, e, s * c + e


@entry_point("UniTuple(f8,5)(f8,f8,f8,f8)", cache=False)
def two_prod(a, b, c, d):
    x, y = a + c, b + d
    p, e = eft.two_prod(x, y)
    return x, y, p, e, p + e * c


@entry_point("UniTuple(f8,5)(f8,f8,f8,f8)", cache=False)
def two_quot(a, b, c, d):
    x, y = a + c, b + d
    q, e = eft.two_quot(x, y)
    return x, y, q, e, q * c + e


@entry_point("UniTuple(f8,7)(f8,f8,f8,f8,f8)", cache=False)
def dd_mul(ah, al, bh, bl, c):
    ah, al, bh, bl = ah * c, al * c, bh * c, bl * c
    h, low = eft.dd_mul((ah, al), (bh, bl))
    return ah, al, bh, bl, h, low, h * c + low


@entry_point("UniTuple(f8,7)(f8,f8,f8,f8,f8)", cache=False)
def dd_sub(ah, al, bh, bl, c):
    ah, al, bh, bl = ah * c, al * c, bh * c, bl * c
    h, low = eft.dd_sub((ah, al), (bh, bl))
    return ah, al, bh, bl, h, low, h * c + low


@entry_point("f8(f8[::1],i8)", cache=False)
def exact_sum(terms, count):
    return eft.exact_sum(terms, count)


@entry_point("f8(f8,f8,f8,f8,f8)", cache=False)
def separatrix_gap(I1, I2, I3, m1, m3):
    return euler.separatrix_gap(euler.body_constants((I1, I2, I3)), (m1, 0.0, m3))


@entry_point("f8(f8,f8,f8,f8,f8)", cache=False)
def exact_gap(I1, I2, I3, m1, m3):
    return euler.exact_gap((I1, I2, I3), (m1, 0.0, m3))


@entry_point("f8(f8,f8,f8,f8,f8)", cache=False)
def double_double_gap(I1, I2, I3, m1, m3):
    """What separatrix_gap would return, up to a positive factor, without its exact fallback."""
    body = euler.body_constants((I1, I2, I3))
    first = eft.dd_mul(eft.two_prod(m1, m1), (body.gap1h, body.gap1l))
    third = eft.dd_mul(eft.two_prod(m3, m3), (body.gap3h, body.gap3l))
    gap, rest = eft.dd_sub(first, third)
    return gap + rest


def full_bits(rng, count):
    """Signed numbers in [1, 2) with all 53 bits in use."""
    return rng.choice((-1.0, 1.0), count) * (1.0 + rng.integers(1, 2**52, count, endpoint=True) * 2.0**-52)


def wide_pairs(rng, count, spread):
    """Operands of all relative sizes and signs; every fourth pair nearly cancels."""
    a, b = full_bits(rng, count), full_bits(rng, count)
    b = np.ldexp(b, rng.integers(-spread, spread, count))
    b[::4] = -a[::4] * (1 + 2.0**-52 * rng.integers(-9, 9, len(b[::4])))
    unit = rng.integers(-400, 400, count)
    return np.ldexp(a, unit).tolist(), np.ldexp(b, unit).tolist()


HARD_PAIRS = [
    (1.0, 2.0**-53),
    (1.0, -(2.0**-54)),
    (1.0 + 2.0**-52, 2.0**-53),
    (2.0**53, 1.0),
    (2.0**53 + 2.0, 1.0),
    (1.0, -1.0),
    (0.1, 0.2),
    (2.0**-1074, 1.0),
    (2.0**-1074, -(2.0**-1022)),
    (0.0, -3.0),
    (1e300, -1e-300),
    (2.0**1000, 2.0**947 * (1 + 2.0**-52)),
]


def sums(rng):
    a, b = wide_pairs(rng, 400, 120)
    factors = full_bits(rng, 800).tolist()
    yield from zip(a, b, factors[:400], factors[400:], strict=True)
    for a, b in HARD_PAIRS:
        yield from ((a, b, 1.0, 1.0), (b, a, 1.0, 1.0), (-a, b, 1.0, -1.0))


@pytest.mark.parametrize("transformation", [two_sum, fast_two_sum])
def test_sum_and_its_error_are_exact(transformation, rng):
    for a, b, c, d in sums(rng):
        x, y, s, e, _ = transformation(a, b, c, d)
        assert {x, y} == {a * c, b * d}
        assert s == x + y
        assert Fraction(s) + Fraction(e) == Fraction(x) + Fraction(y), (x, y)


def test_fast_two_sum_needs_the_larger_first():
    """What separates it from two_sum, so that neither is the other by mistake."""

    def swapped(a, b):
        s = a + b
        return s, b - (s - a)

    s, e = swapped(1.0, 2.0**53 + 2.0)
    assert Fraction(s) + Fraction(e) != 2**53 + 3


def test_product_and_its_error_are_exact(rng):
    a, b = wide_pairs(rng, 400, 120)
    hard = [x for pair in HARD_PAIRS for x in pair if 1e-100 < abs(x) < 1e100]
    pairs = list(zip(a, b, strict=True)) + [(x, y) for x in hard for y in hard]
    for a, b in pairs:
        for c, d in ((0.0, 0.0), (0.3 * a, -0.7 * b)):
            x, y, p, e, _ = two_prod(a, b, c, d)
            assert (x, y) == (a + c, b + d)
            assert p == x * y
            assert Fraction(p) + Fraction(e) == Fraction(x) * Fraction(y), (x, y)


def test_quotient_and_its_error_are_exact_to_twice_the_digits(rng):
    for a, b in zip(*wide_pairs(rng, 400, 120), strict=True):
        for c, d in ((0.0, 0.0), (0.3 * a, -0.7 * b)):
            x, y, q, e, _ = two_quot(a, b, c, d)
            assert q == x / y
            exact = Fraction(x) / Fraction(y)
            assert abs(Fraction(q) + Fraction(e) - exact) <= abs(exact) / 2**105, (x, y)


def double_doubles(rng, count):
    """Normalized pairs: the low part is at most half an ulp of the high one, sometimes exactly that, sometimes 0."""
    high = np.ldexp(full_bits(rng, count), rng.integers(-150, 150, count))
    half_ulp = np.array([ulp(x) / 2 for x in high])
    low = half_ulp * rng.uniform(-1, 1, count)
    low[::5] = half_ulp[::5] * rng.choice((-1, 1), len(low[::5])) * (1 - 2.0**-53)
    low[1::5] = 0.0
    return high.tolist(), low.tolist()


def test_dd_mul_within_its_stated_error(rng):
    worst = 0.0
    (ah, al), (bh, bl) = double_doubles(rng, 2000), double_doubles(rng, 2000)
    for a in zip(ah, al, bh, bl, rng.choice((1.0, -1.0, 4.0), 2000).tolist(), strict=True):
        ah, al, bh, bl, h, low, _ = dd_mul(*a)
        truth = (Fraction(ah) + Fraction(al)) * (Fraction(bh) + Fraction(bl))
        assert h == h + low
        worst = max(worst, float(abs((Fraction(h) + Fraction(low)) / truth - 1)))
    assert worst <= 2.0**-102  # as stated; reached: 2^-104 or so
    assert worst >= 2.0**-107  # the inputs are hard enough to tell


def test_dd_sub_within_its_stated_error_where_it_cancels(rng):
    """The error is even small relative to the difference (Joldes, Muller, Popescu, ACM TOMS 44 (2017), theorem 3.1)."""
    (ah, al), (bh, bl) = double_doubles(rng, 2000), double_doubles(rng, 2000)
    worst = 0.0
    for k, (a0, a1, b0, b1) in enumerate(zip(ah, al, bh, bl, strict=True)):
        if k % 2:  # nearly equal: down to the last bit of the low part
            b0 = a0 if k % 4 == 1 else a0 + ulp(a0)
            b1 = a1 * (1 + 2.0**-52 * (k % 16)) if a1 else ulp(b0) / 4
            if k % 8 == 1:  # the high parts cancel, and the low parts do not fit into one double
                b1 = -b1 * 2.0**-20 * (1 / 3)
        else:
            a0, a1, b0, b1 = a0 / b0, a1 / b0, 1.0 + 2.0**-52, 2.0**-54  # same size
            a0, a1 = a0 + a1, a1 - ((a0 + a1) - a0)
        a0, a1, b0, b1, h, low, _ = dd_sub(a0, a1, b0, b1, -1.0 if k % 3 else 1.0)
        truth = Fraction(a0) + Fraction(a1) - Fraction(b0) - Fraction(b1)
        error = abs(Fraction(h) + Fraction(low) - truth)
        assert h == h + low
        assert error == 0 if truth == 0 else error <= 2.0**-104 * abs(truth)
        worst = max(worst, float(error / (abs(truth) or 1)))
    assert worst >= 2.0**-108


def expansions(rng):
    """Lists of doubles whose sums cancel at every scale."""
    for k in range(300):
        count = int(rng.integers(1, 33))
        terms = np.ldexp(
            full_bits(rng, count), rng.integers(-200, 200, count) if k % 3 else rng.integers(-60, 60, count)
        )
        if k % 2 and count > 2:  # cancel all but the smallest digits
            half = count // 2
            terms[half : 2 * half] = -terms[:half]
            if k % 4 == 1:
                terms[0] *= 1 + 2.0**-52
        yield rng.permutation(terms)


def lowest_bit(x):
    numerator, denominator = x.as_integer_ratio()
    return Fraction(numerator & -numerator, denominator)


def test_exact_sum(rng):
    zeros = 0
    for terms in expansions(rng):
        truth = sum(map(Fraction, terms.tolist()))
        total = exact_sum(terms, len(terms))
        assert sum(map(Fraction, terms.tolist())) == truth  # the expansion is the sum
        parts = [x for x in terms.tolist() if x]
        assert all(abs(small) < lowest_bit(large) for small, large in pairwise(parts))  # and does not overlap
        assert abs(Fraction(total) - truth) <= 1.01 * EPS * abs(truth)
        zeros += truth == 0
    assert zeros > 20


def test_exact_sum_takes_the_first_terms_only():
    terms = np.array([1.0, 2.0**-70, -1.0, 5.0, 7.0])
    assert exact_sum(terms, 3) == 2.0**-70
    assert terms[3:].tolist() == [5.0, 7.0]


# The gap D = be (ga m1^2 - al m3^2)


def rational_gap(I1, I2, I3, m1, m3):
    """(D, be ga m1^2 + be al m3^2): the second is what D is small against."""
    I1, I2, I3, m1, m3 = map(Fraction, (I1, I2, I3, m1, m3))
    be = (I3 - I1) / (I1 * I3)
    first, second = be * (I2 - I1) / (I1 * I2) * m1**2, be * (I3 - I2) / (I2 * I3) * m3**2
    return first - second, first + second


def scaled_gap(I1, I2, I3, m1, m3):
    """What exact_gap returns: ((I2 - I1) I3 m1^2 - (I3 - I2) I1 m3^2)/2^k, 2^k <= I3 < 2^(k+1)."""
    unit = Fraction(2) ** (int(np.frexp(I3)[1]) - 1)
    I1, I2, I3, m1, m3 = map(Fraction, (I1, I2, I3, m1, m3))
    return ((I2 - I1) * I3 * m1**2 - (I3 - I2) * I1 * m3**2) / unit


def moments(rng):
    """1 <= I1 < 2 and I1 < I2 < I3, generic, nearly equal or very long."""
    I1 = rng.uniform(1, 2)
    kind = rng.integers(4)
    if kind == 0:
        d, e = rng.uniform(0.1, 2, 2)
    elif kind == 1:
        d, e = 10.0 ** rng.uniform(-14, 0), rng.uniform(0.1, 2)
    elif kind == 2:
        d, e = rng.uniform(0.1, 2), 10.0 ** rng.uniform(-14, 0)
    else:
        d, e = 10.0 ** rng.uniform(0, 15, 2)
    I2 = I1 + d
    return float(I1), float(I2), float(I2 + e)


def approaching_the_separatrix(rng, bodies):
    """(I, m1, m3) at every distance from D = 0 that doubles can have: m3/m1 -> sqrt((I2 - I1) I3/((I3 - I2) I1))."""
    for _ in range(bodies):
        I1, I2, I3 = moments(rng)
        if not I1 < I2 < I3:
            continue
        for p, q in convergents(separatrix_slope(I1, I2, I3)):
            fill = (2**53 - 1) // max(p, q)  # the largest factor that keeps both exact
            fill = int(rng.integers(max(1, fill // 2), fill, endpoint=True))
            scale = 53 + int(rng.integers(-20, 20))
            m1, m3 = ldexp(q * fill, -scale), ldexp(p * fill, -scale)
            assert Fraction(m3) * q == Fraction(m1) * p
            yield (I1, I2, I3, float(rng.choice((-m1, m1))), float(rng.choice((-m3, m3))))


def one_ulp_apart(rng, bodies):
    """Momenta rounded to the separatrix, then moved by k ulps."""
    for _ in range(bodies):
        I1, I2, I3 = moments(rng)
        if not I1 < I2 < I3:
            continue
        m1 = float(full_bits(rng, 1)[0])
        m3 = abs(m1) * float(separatrix_slope(I1, I2, I3))
        for k in (-1000, -30, -2, -1, 0, 1, 2, 30, 1000):
            yield I1, I2, I3, m1, m3 + k * ulp(m3)


def gap_bound(closeness):
    """Relative error of D: its constant factor, and double-double where the exact fallback is not yet used."""
    return 6 * EPS + (2.0**-104 / closeness if closeness > euler.CANCELED else 0)


@pytest.mark.parametrize("family", [approaching_the_separatrix, one_ulp_apart])
def test_gap_at_every_distance_from_the_separatrix(family, rng):
    closest = 1.0
    for case in family(rng, 60):
        D, size = rational_gap(*case)
        if D == 0:
            assert separatrix_gap(*case) == exact_gap(*case) == 0.0
            continue
        closeness = float(abs(D) / size)
        closest = min(closest, closeness)
        assert abs(Fraction(separatrix_gap(*case)) / D - 1) <= gap_bound(closeness), case
        assert abs(Fraction(exact_gap(*case)) / scaled_gap(*case) - 1) <= 1.01 * EPS, case
    assert closest < (2.0**-100 if family is approaching_the_separatrix else 2.0**-53)


def test_gap_one_ulp_from_the_separatrix_to_a_few_eps(rng):
    """Where two neighboring momenta lie on either side, D is still right to its last digits."""
    for case in one_ulp_apart(rng, 60):
        D, size = rational_gap(*case)
        if abs(D) > 2.0**-52 * size:
            assert abs(Fraction(separatrix_gap(*case)) / D - 1) <= 8 * EPS, case


def exactly_on_the_separatrix(rng):
    """Full 53-bit momenta and, in the last family, moments of about 50 bits, for which D = 0 as a rational number."""
    for _ in range(40):
        m = float(full_bits(rng, 1)[0])
        third = ldexp(int(rng.integers(2**50, 2**51)) | 1, -51)  # three times this is a double
        scale = 2.0 ** int(rng.integers(-60, 60))
        for body, m1, m3 in (
            ((1.5, 2.0, 3.0), m, m),
            ((1.25, 1.5, 1.875), m, -m),
            ((1.0, 2.0, 2.25), third, 3 * third),
        ):
            yield *body, m1 * scale, m3 * scale
    for _ in range(200):
        p, q, a, c = (int(x) for x in rng.integers(1, 12, 4))
        if a >= c:
            continue
        # I1 = a g, I3 = c g and m1 : m3 = p : q leave I2 = g a c (p^2 + q^2)/(c p^2 + a q^2)
        inverse = c * p * p + a * q * q
        top = 2**53 // max(c * inverse, a * c * (p * p + q * q))
        g = int(rng.integers(top // 2, top)) | 1
        I1, I2, I3 = a * g * inverse, a * c * g * (p * p + q * q), c * g * inverse
        x = int(rng.integers(2**48, 2**49)) | 1
        unit = -I1.bit_length() + 1
        yield ldexp(I1, unit), ldexp(I2, unit), ldexp(I3, unit), ldexp(p * x, -50), ldexp(q * x, -50)


def test_gap_is_zero_exactly_when_it_is(rng):
    cases = list(exactly_on_the_separatrix(rng))
    assert len(cases) > 200
    for I1, I2, I3, m1, m3 in cases:
        assert rational_gap(I1, I2, I3, m1, m3)[0] == 0
        assert separatrix_gap(I1, I2, I3, m1, m3) == exact_gap(I1, I2, I3, m1, m3) == 0.0
        for up in (m3 + ulp(m3), m3 - ulp(m3)):
            D = rational_gap(I1, I2, I3, m1, up)[0]
            assert abs(Fraction(separatrix_gap(I1, I2, I3, m1, up)) / D - 1) <= 8 * EPS


def pell_bodies():
    """y^2 - 2 x^2 = +-1: for I = (y - x, 2x - y, x), m1 = m3, the terms of D differ by one unit in 2^105."""
    x, y = 1, 1
    while y < 2**53:
        if y > 2**50:
            unit = 1 - (y - x).bit_length()
            yield tuple(ldexp(i, unit) for i in (y - x, 2 * x - y, x)), y * y - 2 * x * x
        x, y = x + y, 2 * x + y


# I1, I2, I3, m1, m3 in units of 2^-53: last convergents of random bodies, whose terms of D agree to 108 to 112 bits.
# Double-double, whichever way it forms products, gets the sign of D wrong or loses it.
MISJUDGED = [
    (9056177771610748, 10679180586774498, 24753667461514732, 10250613889058254, 5754936463581222),
    (9260598812232552, 13488884825392552, 28760549875520484, 11721140088523986, 10868957666690188),
    (9568747332093698, 19737698910280872, 28206106601592444, 5581301861487024, 10500663716230318),
    (9653728701213566, 10695686738281068, 17514322695754014, 15334497434423506, 8074116997085130),
]


@pytest.mark.parametrize("digits", MISJUDGED)
def test_only_the_exact_fallback_knows_the_sign(digits):
    case = tuple(ldexp(x, -53) for x in digits)
    D, size = rational_gap(*case)
    assert 0 < abs(D) < 2.0**-107 * size
    assert double_double_gap(*case) * float(D) <= 0.0
    assert abs(Fraction(separatrix_gap(*case)) / D - 1) <= 6 * EPS


def test_gap_of_one_unit(rng):
    for body, sign in pell_bodies():
        for m in full_bits(rng, 50).tolist():
            case = (*body, m, -m)
            D, size = rational_gap(*case)
            assert D * sign < 0
            assert abs(D) < 2.0**-98 * size
            assert abs(Fraction(separatrix_gap(*case)) / D - 1) <= 6 * EPS


def test_gap_of_momenta_that_vanish():
    assert separatrix_gap(1.0, 1.5, 2.5, 0.0, 0.0) == 0.0
    assert separatrix_gap(1.0, 1.5, 2.5, 0.0, 1e-8) < 0.0 < separatrix_gap(1.0, 1.5, 2.5, 1e-8, 0.0)
    assert separatrix_gap(1.0, 1.0, 2.0, 1.0, 0.0) == 0.0 == separatrix_gap(1.0, 2.0, 2.0, 0.0, 1.0)
    assert separatrix_gap(1.0, 1.0, 2.0, 1.0, 1.0) < 0.0 < separatrix_gap(1.0, 2.0, 2.0, 1.0, 1.0)
    assert separatrix_gap(1.0, 1.0, 1.0, 1.0, 1.0) == 0.0
