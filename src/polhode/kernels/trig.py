"""Sine and cosine together, inlined: a library call for each costs more than the rest of a short step."""

from __future__ import annotations

import math

import numpy as np

from polhode.kernels.jit import helper
from polhode.kernels.series import COS, HALF_PI, SIN

MANY = 1e6  # |x| up to which multiples of pi/2 in three parts leave nothing behind
TWO_OVER_PI = 0.6366197723675814


@helper
def rint(x):
    """The nearest whole number, as a float."""
    return float(np.rint(x))


@helper
def sincos(x, low):
    """(sin, cos) of x + low, |low| at most an ulp of x; absolute error about 2^-53, any finite x."""
    if abs(x) > MANY:
        s, c, s_low, c_low = math.sin(x), math.cos(x), math.sin(low), math.cos(low)
        return s * c_low + c * s_low, c * c_low - s * s_low
    turns = rint(x * TWO_OVER_PI)
    r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - (turns * HALF_PI[2] - low)
    rr = r * r
    r4 = rr * rr
    s = ((SIN[7] * rr + SIN[6]) * r4 + (SIN[5] * rr + SIN[4])) * r4 + (SIN[3] * rr + SIN[2])
    s = r + r * rr * (s * r4 + (SIN[1] * rr + SIN[0]))
    c = (COS[6] * r4 + (COS[5] * rr + COS[4])) * r4 + (COS[3] * rr + COS[2])
    c = 1.0 - (0.5 * rr - r4 * (c * r4 + (COS[1] * rr + COS[0])))
    quarter = int(turns) & 3
    s, c = (c, s) if quarter & 1 else (s, c)
    return (-s if quarter & 2 else s), (-c if (quarter + 1) & 2 else c)
