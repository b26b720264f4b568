"""Momenta as close to the separatrix as doubles can be, by continued fractions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt


def fraction_root(x, bits=300):
    return Fraction(isqrt(x.numerator * x.denominator << (2 * bits)), x.denominator << bits)


def convergents(x):
    """Best rational approximations p/q of x with p, q below 2^53: at distances of about 1/q^2."""
    p0, q0, p1, q1 = 0, 1, 1, 0
    while True:
        whole = x.numerator // x.denominator
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        if max(p1, q1) >= 2**53:
            return
        yield p1, q1
        if x == whole:
            return
        x = 1 / (x - whole)


def separatrix_slope(I1, I2, I3):
    """m3/m1 on the separatrix of sorted moments, to 300 bits."""
    i1, i2, i3 = map(Fraction, (I1, I2, I3))
    return fraction_root((i2 - i1) * i3 / ((i3 - i2) * i1))
