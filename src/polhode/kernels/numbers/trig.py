"""Sine and cosine together, inlined: a library call for each costs more than the rest of a short step."""

from __future__ import annotations

import math

import numpy as np

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.series import COS, HALF_PI, SIN

MANY = 1e6  # |x| up to which pi/2 in three parts reduces x without loss
SLIGHT = 0.0625  # |y| up to which the first terms of the series are enough
TWO_OVER_PI = 0.6366197723675814


@inline
def rint(x):
    """Return the integer nearest to x, as a float."""
    return float(np.rint(x))


@inline
def floor(x):
    """Return the largest integer that is not larger than x, as a float."""
    return float(np.floor(x))


@inline
def sincos(x, low):
    """Return (sin, cos) of x + low for any finite x, with an absolute error of about 2^-53.

    |low| is at most one unit in the last place of x.
    """
    if abs(x) > MANY:
        s, c = math.sin(x), math.cos(x)
        s_low, c_low = math.sin(low), math.cos(low)
        return s * c_low + c * s_low, c * c_low - s * s_low
    return sincos_near(x, low)


@inline
def sincos_near(x, low):
    """Return (sin, cos) of x + low for |x| <= MANY, with the accuracy of ``sincos``.

    There are no branches and no calls, so that a loop over this function is vectorized.
    """
    turns = rint(x * TWO_OVER_PI)
    r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - (turns * HALF_PI[2] - low)
    s, c = sincos_small(r)
    half = floor(0.5 * turns)
    sign = 1.0 - 2.0 * (half - 2.0 * floor(0.5 * half))
    b = (turns - 2.0 * half) * sign  # sine of the quarter turns: 0, 1, 0, -1
    a = sign - b  # cosine of the quarter turns; without branches, which are unpredictable at random angles
    return s * a + c * b, c * a - s * b


@inline
def sincos_small(r):
    """Return (sin, cos) of r, where |r| is at most pi/4 or slightly more."""
    rr = r * r
    r4 = rr * rr
    s = ((SIN[7] * rr + SIN[6]) * r4 + (SIN[5] * rr + SIN[4])) * r4 + (SIN[3] * rr + SIN[2])
    s = r + r * rr * (s * r4 + (SIN[1] * rr + SIN[0]))
    c = (COS[6] * r4 + (COS[5] * rr + COS[4])) * r4 + (COS[3] * rr + COS[2])
    return s, 1.0 - (0.5 * rr - r4 * (c * r4 + (COS[1] * rr + COS[0])))


@inline
def is_odd(n):
    """Return whether the integer n, a float, is odd."""
    return floor(0.5 * n) < 0.5 * n


@inline
def sincos_of_sum(x, y):
    """Return (sin, cos) of x + y.

    If |y| <= SLIGHT, which is the usual case, the computation for x does not wait for y.
    """
    if abs(y) > SLIGHT:
        return sincos(x + y, 0.0)
    s, c = sincos(x, 0.0)
    yy = y * y
    sy = y + y * yy * (SIN[0] + yy * (SIN[1] + yy * (SIN[2] + yy * SIN[3])))
    cy = 1.0 - yy * (0.5 - yy * (COS[0] + yy * (COS[1] + yy * COS[2])))
    return s * cy + c * sy, c * cy - s * sy
