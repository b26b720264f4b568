"""How closely samples of a function of time have to be looked at.

The residuals r_s, fourth differences of f over spacings of s = 1, 2, 4, ... samples, fall like s^4 where f is smooth,
like s at a kink, and not at all at a jump. A feature is overlooked by steps of s samples if these can begin such that
r_s is much smaller at all of them near it than the residuals of a shorter spacing make one expect. Where r_1 is not
small against r_2, f is not smooth.
"""

from __future__ import annotations

from math import inf

from polhode.kernels.compiler.jit import entry_point, inline

LARGEST_SPACING = 128  # samples
SEEN = 0.1  # of the r_s that is expected
ROUGH = 0.35  # r_1/r_2: 1/16 where f is smooth, 1/2 at a kink, 1 at a jump
NOISE = 1e-9  # of the largest |f|, which is 1: smaller residuals say nothing


@inline
def put_residuals(f, s, r):
    """r_s; at the ends, where there is none, the nearest."""
    first, last = 2 * s, len(f) - 1 - 2 * s
    for n in range(first, last + 1):
        r[n] = abs(f[n - 2 * s] - 4.0 * (f[n - s] + f[n + s]) + 6.0 * f[n] + f[n + 2 * s]) / 16.0
    for n in range(first):
        r[n], r[last + 1 + n] = r[first], r[last]


@inline
def merge(r, s, piece, expected):
    """What r_2s should be: twice the largest so far. A residual across a break says nothing about f between breaks."""
    last = len(r) - 1
    for n in range(len(r)):
        if piece[max(n - 2 * s, 0)] == piece[min(n + 2 * s, last)]:
            expected[n] = max(expected[n], r[n])
        expected[n] *= 2.0


@inline
def is_rough(expected, r):
    """Whether r_1, half of what is expected of r_2, is not small against r_2."""
    rough = False
    for n in range(1, len(r) - 1):
        rough = rough or 0.5 * expected[n] > ROUGH * max(r[n - 1], r[n], r[n + 1]) + NOISE
    return rough


@inline
def overlooks(s, expected, r):
    """Whether steps of s samples can begin such that they pass over a feature that shorter spacings show."""
    for first in range(0, len(r), s):
        largest, seen = 0.0, inf
        for n in range(first, min(first + s, len(r))):
            largest = max(largest, expected[n])
            seen = min(seen, max(r[n - s if n >= s else n], r[n], r[n + s if n + s < len(r) else n]))
        if SEEN * largest > seen + NOISE:
            return True
    return False


# (f (rows, T), piece (T,), work (2, T), spacing (rows,), rough (rows,))
@entry_point("void(Tuple((f8[:,::1], i8[::1], f8[:,::1], i8[::1], i8[::1])))")
def analyze(arguments):
    """The largest spacing that overlooks nothing, and whether f is rough, of each row; |f| is at most 1.

    ``piece`` numbers the pieces between known breaks.
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
