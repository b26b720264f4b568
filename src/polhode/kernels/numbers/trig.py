"""Sine and cosine together, inlined: a library call for each costs more than the rest of a short step."""

from __future__ import annotations

import math

import numpy as np

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.series import COS, HALF_PI, SIN

MANY = 1e6  # |x| up to which multiples of pi/2 in three parts leave nothing behind
SLIGHT = 0.0625  # |x| up to which the first terms of the series are enough
TWO_OVER_PI = 0.6366197723675814


@inline
def rint(x):
    """The nearest whole number, as a float."""
    return float(np.rint(x))


@inline
def floor(x):
    """The next whole number below, as a float."""
    return float(np.floor(x))


@inline
def sincos(x, low):
    """(sin, cos) of x + low, |low| at most an ulp of x; absolute error about 2^-53, any finite x."""
    if abs(x) > MANY:
        s, c, s_low, c_low = math.sin(x), math.cos(x), math.sin(low), math.cos(low)
        return s * c_low + c * s_low, c * c_low - s * s_low
    return sincos_near(x, low)


@inline
def sincos_near(x, low):
    """The same for |x| <= MANY, without branches or calls: a loop over it is vectorized."""
    turns = rint(x * TWO_OVER_PI)
    r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - (turns * HALF_PI[2] - low)
    s, c = sincos_small(r)
    half = floor(0.5 * turns)
    sign = 1.0 - 2.0 * (half - 2.0 * floor(0.5 * half))
    b = (turns - 2.0 * half) * sign  # sine of the quarter turns: 0, 1, 0, -1
    a = sign - b  # and their cosine. Not by branches: at random angles the processor would take half of them wrongly
    return s * a + c * b, c * a - s * b


@inline
def sincos_small(r):
    """(sin, cos) of r, |r| <= pi/4, a little more at most."""
    rr = r * r
    r4 = rr * rr
    s = ((SIN[7] * rr + SIN[6]) * r4 + (SIN[5] * rr + SIN[4])) * r4 + (SIN[3] * rr + SIN[2])
    s = r + r * rr * (s * r4 + (SIN[1] * rr + SIN[0]))
    c = (COS[6] * r4 + (COS[5] * rr + COS[4])) * r4 + (COS[3] * rr + COS[2])
    return s, 1.0 - (0.5 * rr - r4 * (c * r4 + (COS[1] * rr + COS[0])))


@inline
def is_odd(n):
    """Whether the whole number n, a float, is odd."""
    return floor(0.5 * n) < 0.5 * n


@inline
def sincos_of_sum(x, y):
    """(sin, cos) of x + y. If y is slight, as it often is, the work for x does not wait for y."""
    if abs(y) > SLIGHT:
        return sincos(x + y, 0.0)
    s, c = sincos(x, 0.0)
    yy = y * y
    sy = y + y * yy * (SIN[0] + yy * (SIN[1] + yy * (SIN[2] + yy * SIN[3])))
    cy = 1.0 - yy * (0.5 - yy * (COS[0] + yy * (COS[1] + yy * COS[2])))
    return s * cy + c * sy, c * cy - s * sy
