"""Error-free transformations: sums and products of doubles with their rounding errors.

A pair (hi, lo) stands for the unevaluated sum hi + lo. References: T. J. Dekker, Numer. Math. 18 (1971) 224;
D. E. Knuth, TAOCP vol. 2, 4.2.2; J. R. Shewchuk, Discrete Comput. Geom. 18 (1997) 305.
All functions are compiled strictly (``inline_strict``): an optimizer that fuses a product into a sum would destroy the
identities.
"""

from __future__ import annotations

from math import sqrt

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import fma
from polhode.kernels.compiler.jit import inline_strict, noinline_strict

SPLITTER = 134217729.0  # 2^27 + 1


@inline_strict
def two_sum(a, b):
    """Return (s, e) with s + e = a + b exactly, where s is the rounded sum (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


@inline_strict
def fast_two_sum(a, b):
    """Return (s, e) with s + e = a + b exactly, where s is the rounded sum, for |a| >= |b| (Dekker)."""
    s = a + b
    return s, b - (s - a)


if JIT:

    @inline_strict
    def two_prod(a, b):
        """Return (p, e) with p + e = a b exactly, where p is the rounded product (fused multiply-add)."""
        p = a * b
        return p, fma(a, b, -p)

    @inline_strict
    def remainder(a, b, q):
        """Return a - q b, which is exact if q is the rounded quotient a/b (fused multiply-add)."""
        return fma(-q, b, a)

else:

    def _split(a):
        """Return two halves of a, of at most 26 bits each, whose sum is a exactly (Dekker)."""
        c = SPLITTER * a
        high = c - (c - a)
        return high, a - high

    def two_prod(a, b):
        """Return (p, e) with p + e = a b exactly, where p is the rounded product (Dekker's splitting)."""
        p = a * b
        a1, a2 = _split(a)
        b1, b2 = _split(b)
        return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2

    def remainder(a, b, q):
        """Return a - q b, which is exact if q is the rounded quotient a/b."""
        p, e = two_prod(q, b)
        return (a - p) - e


@inline_strict
def two_quot(a, b):
    """Return (q, e) with q + e = a/b to a relative error below 2^-105, where q is the rounded quotient."""
    q = a / b
    return q, remainder(a, b, q) / b


@inline_strict
def dd_mul(a, b):
    """Return the pair a b, with a relative error below 2^-102."""
    p, e = two_prod(a[0], b[0])
    return fast_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


@inline_strict
def dd_add(a, b):
    """Return the pair a + b, with an error below 2^-104 (|a| + |b|) even under cancellation."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = fast_two_sum(s, e + t)
    return fast_two_sum(s, e + f)


@inline_strict
def dd_sub(a, b):
    """Return the pair a - b, with the accuracy of ``dd_add``."""
    return dd_add(a, (-b[0], -b[1]))


@inline_strict
def dd_div(a, b):
    """Return the pair a/b, by long division with three digits, with a relative error below 2^-101."""
    q1 = a[0] / b[0]
    rest = dd_sub(a, dd_mul(b, (q1, 0.0)))
    q2 = rest[0] / b[0]
    rest = dd_sub(rest, dd_mul(b, (q2, 0.0)))
    return dd_add(fast_two_sum(q1, q2), (rest[0] / b[0], 0.0))


@inline_strict
def dd_sqrt(a):
    """Return the square root of the pair a >= 0 as a pair, with an error below 2^-101.

    The method is a single Newton step (Karp, Markstein 1997).
    """
    if a[0] == 0.0:
        return 0.0, 0.0
    root = sqrt(a[0])
    rest, _ = dd_sub(a, two_prod(root, root))
    return fast_two_sum(root, rest / (2.0 * root))


@inline_strict
def half(a):
    """Return the pair a/2."""
    return 0.5 * a[0], 0.5 * a[1]


@noinline_strict
def exact_sum(terms, count):
    """Return the sum of terms[:count], exact up to one final rounding per component.

    The algorithm is Shewchuk's GROW-EXPANSION (fig. 6). ``terms`` is overwritten by the non-overlapping expansion of
    the sum.
    """
    for i in range(1, count):
        carry = terms[i]
        for j in range(i):
            carry, terms[j] = two_sum(carry, terms[j])
        terms[i] = carry
    total = 0.0
    for i in range(count):  # from the smallest component to the largest
        total += terms[i]
    return total
