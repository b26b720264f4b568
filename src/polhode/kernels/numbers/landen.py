"""The integral of the first kind and the amplitude, by the arithmetic-geometric mean and Landen's transformations.

As in FRB (Celledoni, Zanna 2010, section 3.2, misprints corrected), after Abramowitz and Stegun, chapters 16 and 17.
With a_0 = 1, b_0 = sqrt(1 - k^2), a_{n+1} = (a_n + b_n)/2, b_{n+1} = sqrt(a_n b_n), c_{n+1} = (a_n - b_n)/2:

    tan(phi_{n+1} - phi_n) = (b_n/a_n) tan(phi_n),   F(phi_0, k) = phi_N/(2^N a_N)                         (17), (19)
    sin(2 phi_{n-1} - phi_n) = (c_n/a_n) sin(phi_n),  n = N, ..., 1,  from phi_N = 2^N a_N u to am(u, k) = phi_0

Both need r_n = c_n/a_n only. The start from k loses digits near k = 1, as the program does; ``elliptic`` does not.
"""

from __future__ import annotations

from math import atan, sqrt

from polhode.kernels.compiler.jit import inline
from polhode.kernels.numbers.trig import sincos

LEVELS = 12  # doubles need 6 next to k = 1; numbers of 60 digits 8


@inline
def mean_ratios(k2, r, first):
    """(N, 2^N a_N) for k^2 < 1; r_1, ..., r_N go to r[first], ... .

    r_{N+1} = (r_N/2)^2 to first order: the end is reached when that is lost in 1, for numbers of any precision.
    """
    a, b, power = 1.0, sqrt(1.0 - k2), 1.0
    for n in range(LEVELS):
        a, b, ratio = 0.5 * (a + b), sqrt(a * b), (a - b) / (a + b)
        power = 2.0 * power
        r[first + n] = ratio
        if 1.0 + 0.25 * ratio * ratio == 1.0:
            return n + 1, power * a
    return LEVELS, power * a


@inline
def ascend(phi, r, first, levels):
    """phi_N from phi_0: 2^N a_N F(phi_0, k), for any phi_0.

    (17) as 2 phi_n - phi_{n+1} = atan(r sin(2 phi_n)/(1 + r cos(2 phi_n))), r = r_{n+1}: no branch is left to choose.
    """
    for n in range(levels):
        phi = 2.0 * phi
        s, c = sincos(phi, 0.0)
        phi -= atan(r[first + n] * s / (1.0 + r[first + n] * c))
    return phi


@inline
def descend(phi, r, first, levels):
    """phi_0 = am(u, k) from phi_N = 2^N a_N u, for any u."""
    for n in range(levels):
        y = r[first + levels - 1 - n] * sincos(phi, 0.0)[0]
        phi = 0.5 * (phi + atan(y / sqrt((1.0 - y) * (1.0 + y))))  # arcsin y
    return phi
