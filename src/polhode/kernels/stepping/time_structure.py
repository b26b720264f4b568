"""Largest spacing at which samples of a function of time still show all of its features.

The residuals r_s, fourth differences of f over spacings of s = 1, 2, 4, ... samples, scale like s^4 where f is
smooth, like s at a kink, and do not depend on s at a jump. Steps of s samples overlook a feature if they can begin such
that r_s, at all steps near the feature, is much smaller than expected from the residuals of a shorter spacing. Where
r_1 is not small compared to r_2, f is not smooth.
"""

from __future__ import annotations

from math import inf

from polhode.kernels.compiler.jit import entry_point, inline

LARGEST_SPACING = 128  # samples
DETECTED = 0.1  # a feature is detected if r_s is at least this fraction of the expected residual
ROUGH = 0.35  # r_1/r_2: 1/16 where f is smooth, 1/2 at a kink, 1 at a jump
NOISE = 1e-9  # relative to the largest |f|, which is 1: smaller residuals are ignored


@inline
def put_residuals(f, s, r):
    """Write r_s to r; at the ends, where r_s is not defined, write its nearest value."""
    first, last = 2 * s, len(f) - 1 - 2 * s
    for n in range(first, last + 1):
        r[n] = abs(f[n - 2 * s] - 4.0 * (f[n - s] + f[n + s]) + 6.0 * f[n] + f[n + 2 * s]) / 16.0
    for n in range(first):
        r[n], r[last + 1 + n] = r[first], r[last]


@inline
def merge(r, s, piece, expected):
    """Set ``expected`` to that of r_2s: twice the largest residual so far, ignoring residuals across a break."""
    last = len(r) - 1
    for n in range(len(r)):
        if piece[max(n - 2 * s, 0)] == piece[min(n + 2 * s, last)]:
            expected[n] = max(expected[n], r[n])
        expected[n] *= 2.0


@inline
def is_rough(expected, r):
    """Return whether r_1, half of the expected r_2, is not small compared to r_2."""
    rough = False
    for n in range(1, len(r) - 1):
        rough = rough or 0.5 * expected[n] > ROUGH * max(r[n - 1], r[n], r[n + 1]) + NOISE
    return rough


@inline
def overlooks(s, expected, r):
    """Return whether steps of s samples can begin such that they miss a feature that shorter spacings show."""
    for first in range(0, len(r), s):
        largest = 0.0
        least = inf
        for n in range(first, min(first + s, len(r))):
            largest = max(largest, expected[n])
            least = min(least, max(r[n - s if n >= s else n], r[n], r[n + s if n + s < len(r) else n]))
        if DETECTED * largest > least + NOISE:
            return True
    return False


# (f (rows, T), piece (T,), work (2, T), spacing (rows,), rough (rows,))
@entry_point("void(Tuple((f8[:,::1], i8[::1], f8[:,::1], i8[::1], i8[::1])))")
def analyze(arguments):
    """Find, for each row of f, the largest spacing that overlooks nothing, and whether f is rough.

    |f| is at most 1. ``piece`` numbers the intervals between known breaks.
    """
    f, piece, work, spacing, rough = arguments
    expected, r = work[0], work[1]
    for i in range(f.shape[0]):
        for n in range(len(expected)):
            expected[n] = 0.0
        put_residuals(f[i], 1, r)
        merge(r, 1, piece, expected)
        s = 2
        put_residuals(f[i], s, r)
        rough[i] = is_rough(expected, r)
        while s <= LARGEST_SPACING and not overlooks(s, expected, r):
            merge(r, s, piece, expected)
            s *= 2
            put_residuals(f[i], s, r)
        spacing[i] = s // 2
