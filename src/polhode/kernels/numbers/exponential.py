"""The exponential map of SO(3) and the inverse of its derivative, as used by Munthe-Kaas methods.

For Q = Q0 exp(hat(s)) and Q' = Q hat(w), in body axes,

    q  = q0 (cos(a/2), sin(a/2)/a s),   a = |s|                                                               (1)
    s' = w + s x w/2 + c s x (s x w),   c = (1 - (a/2) cot(a/2))/a^2                                          (2)

(H. Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999; the sign of s x w/2 is that of body axes, where
exp is the right factor.) With x = a^2 and the entire functions

    T = sin(a/2)/(a/2) = sum (-x/4)^k/(2k + 1)!,   P = (T - cos(a/2))/x = 1/2 sum (k + 1) (-x/4)^k/(2k + 3)!  (3)

these are cos(a/2) = T - x P, sin(a/2)/a = T/2 and c = P/T. No square root and no special case for small a is needed,
and no terms cancel.
"""

from __future__ import annotations

from math import factorial, pi

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.vectors import cross, dot, plus, times

FARTHEST = pi * pi  # largest x for which the series below are accurate
TERMS = 11
T = tuple((-0.25) ** k / factorial(2 * k + 1) for k in range(TERMS))
P = tuple(0.5 * (k + 1) * (-0.25) ** k / factorial(2 * k + 3) for k in range(TERMS))


@inline
def series(c, x):
    """Return sum c[k] x^k, with terms in pairs so that the processor can compute several of them at the same time."""
    x2 = x * x
    x4 = x2 * x2
    low = (c[0] + c[1] * x) + (c[2] + c[3] * x) * x2
    mid = (c[4] + c[5] * x) + (c[6] + c[7] * x) * x2
    return low + x4 * (mid + x4 * ((c[8] + c[9] * x) + c[10] * x2))


@inline
def rotation(s):
    """Return (cos(a/2), sin(a/2)/a, c) of (1) and (2), for |s|^2 <= FARTHEST."""
    x = dot(s, s)
    t, p = series(T, x), series(P, x)
    return t - x * p, 0.5 * t, p / t


@inline
def turned(q, r0, r, s):
    """Return q (r0, r s), the attitude (1)."""
    return product(q, (r0, r * s[0], r * s[1], r * s[2]))


@inline
def unit(q):
    """Return q after one Newton step towards |q| = 1, which is enough if |q| is already close to 1."""
    f = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return f * q[0], f * q[1], f * q[2], f * q[3]


@inline
def rate(c, s, w):
    """Return s' of (2)."""
    u = cross(s, w)
    return plus(w, 1.0, plus(times(0.5, u), c, cross(s, u)))
