"""Gauss-Legendre quadrature on [0, 1] in high precision."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import cos, pi

BITS = 256  # precision of the nodes: sufficient for studies with 70 digits


@cache
def gauss_legendre(count: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the nodes and weights of the rule with ``count`` nodes on [0, 1], rounded to multiples of 2^-BITS.

    Parameters
    ----------
    count : int
        Number of nodes.

    Returns
    -------
    nodes : tuple of Fraction
        The nodes, in ascending order.
    weights : tuple of Fraction
        The weights, of sum 1.

    Examples
    --------
    >>> nodes, weights = gauss_legendre(2)
    >>> [float(x) for x in nodes], [float(w) for w in weights]
    ([0.2113248654051871, 0.7886751345948129], [0.5, 0.5])
    """
    nodes, weights = [], []
    for k in range(count, 0, -1):
        x = Fraction(cos(pi * (k - 0.25) / (count + 0.5)))
        for _ in range(6):  # each iteration of Newton's method doubles the number of digits
            value, slope = _legendre(count, x)
            x = _rounded(x - value / slope)
        slope = _legendre(count, x)[1]
        nodes.append(_rounded((1 + x) / 2))
        weights.append(_rounded(1 / ((1 - x * x) * slope * slope)))
    return tuple(nodes), tuple(weights)


def _legendre(n: int, x: Fraction) -> tuple[Fraction, Fraction]:
    """Return the Legendre polynomial P_n and its derivative at x."""
    before, now = Fraction(1), x
    for k in range(1, n):
        before, now = now, _rounded(((2 * k + 1) * x * now - k * before) / (k + 1))
    return now, _rounded(n * (x * now - before) / (x * x - 1))


def _rounded(x: Fraction) -> Fraction:
    """Return x, rounded to a multiple of 2^-BITS."""
    return Fraction(round(x * 2**BITS), 2**BITS)
