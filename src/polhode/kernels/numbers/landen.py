"""The integral of the first kind and the amplitude, by the arithmetic-geometric mean and Landen's transformations.

The formulas are those of FRB (Celledoni, Zanna 2010, section 3.2, misprints corrected), after Abramowitz and Stegun,
chapters 16 and 17. With a_0 = 1, b_0 = sqrt(1 - k^2), a_{n+1} = (a_n + b_n)/2, b_{n+1} = sqrt(a_n b_n),
c_{n+1} = (a_n - b_n)/2:

    tan(phi_{n+1} - phi_n) = (b_n/a_n) tan(phi_n),   F(phi_0, k) = phi_N/(2^N a_N)                         (17), (19)
    sin(2 phi_{n-1} - phi_n) = (c_n/a_n) sin(phi_n),  n = N, ..., 1,  from phi_N = 2^N a_N u to am(u, k) = phi_0

Both need r_n = c_n/a_n only. Like the published program, this module starts from k and therefore loses digits near
k = 1; the module ``elliptic`` does not.
"""

from __future__ import annotations

from math import atan, sqrt

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.trig import sincos

LEVELS = 12  # next to k = 1, doubles need 6 and numbers of 60 digits need 8


@inline
def mean_ratios(k2, r, first):
    """Return (N, 2^N a_N) for k^2 < 1 and write r_1, ..., r_N to r[first], ..., r[first + N - 1].

    The iteration ends when r_{N+1}, which is (r_N/2)^2 to first order, does not change 1 by addition. This criterion
    holds for numbers of any precision.
    """
    a, b = 1.0, sqrt(1.0 - k2)
    power = 1.0
    for n in range(LEVELS):
        a, b, ratio = 0.5 * (a + b), sqrt(a * b), (a - b) / (a + b)
        power = 2.0 * power
        r[first + n] = ratio
        if 1.0 + 0.25 * ratio * ratio == 1.0:
            return n + 1, power * a
    return LEVELS, power * a


@inline
def ascend(phi, r, first, levels):
    """Return phi_N = 2^N a_N F(phi_0, k), for any phi_0.

    (17) is used as 2 phi_n - phi_{n+1} = atan(r sin(2 phi_n)/(1 + r cos(2 phi_n))), r = r_{n+1}, which needs no choice
    of a branch.
    """
    for n in range(levels):
        phi = 2.0 * phi
        s, c = sincos(phi, 0.0)
        phi -= atan(r[first + n] * s / (1.0 + r[first + n] * c))
    return phi


@inline
def descend(phi, r, first, levels):
    """Return phi_0 = am(u, k) from phi_N = 2^N a_N u, for any u."""
    for n in range(levels):
        y = r[first + levels - 1 - n] * sincos(phi, 0.0)[0]
        phi = 0.5 * (phi + atan(y / sqrt((1.0 - y) * (1.0 + y))))  # arcsin y
    return phi
