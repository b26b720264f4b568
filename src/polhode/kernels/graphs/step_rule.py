"""Length of a step of Taylor series, for any type of numbers: A. Jorba, M. Zou, Exp. Math. 14 (2005) 99-117, section 3.

The step is

    h = rho (e^-0.7 rtol)^(1/(P - 1)),   rho = min over j = P - 1, P of (scale/|c_j|)^(1/j),

so that the terms of the last two orders are about rtol times the scale. Jorba and Zou choose the order such that the
factor of rho is about e^-2. q and m have scales of their own, so that units do not matter: 1 for q, and the largest of
|m_j| (rho_q/4)^j, j = 0..3, for m, where rho_q is the radius that follows from q alone, so that rho_q/4 is the time of
about two radians; this is also meaningful for a body at rest.

Logarithms are divided by the order, so that rough ones change the step by a percent at most.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

UNDERFLOW_RADIUS = 8.0  # in units of time, so that the unit is kept
SMALLEST_RATE = -8.0  # -log2 of the largest radius, in units of time
TURN = 2.0  # log2 of the ratio of rho_q to the time in which changes of m count as much as m
STRETCH = 1.01  # the last step may be longer by this factor, so that no tiny step remains


class Sizes(NamedTuple):
    """The largest components of coefficients: of q and m in the last two orders, of m in the first four."""

    q_before: Any
    q_last: Any
    m_before: Any
    m_last: Any
    m: tuple[Any, Any, Any, Any]


class Rule(NamedTuple):
    """What follows from the coefficients of a step."""

    radius: Any  # in units of time; infinity if all coefficients vanish
    size: Any  # scale of m, in units of inertia per unit of time


class Floats:
    """Operations on floats by the names that a ``Writer`` has for them."""

    @staticmethod
    def largest(x: float, y: float) -> float:
        """Return the larger number; y if x is not a number."""
        return x if x > y else y

    @staticmethod
    def smallest(x: float, y: float) -> float:
        """Return the smaller number; y if x is not a number."""
        return x if x < y else y

    @staticmethod
    def magnitude(x: float) -> float:
        """Return |x|."""
        return abs(x)

    @staticmethod
    def with_sign(x: float, sign: float) -> float:
        """Return x >= 0 with the sign of another number."""
        return math.copysign(x, sign)

    @staticmethod
    def equal(x: float, y: float) -> bool:
        """Return whether two numbers are equal."""
        return x == y

    @staticmethod
    def choose(condition: bool, x: float, y: float) -> float:
        """Return x if a condition is true, otherwise y."""
        return x if condition else y

    @staticmethod
    def floor(x: float) -> float:
        """Return the largest whole number that is not larger than x."""
        return float(math.floor(x))

    @staticmethod
    def two_to_the(k: float) -> float:
        """Return 2^k for a whole number."""
        return math.ldexp(1.0, int(k))

    @staticmethod
    def log2(x: float) -> float:
        """Return log2 |x| to 20 bits, linear between powers of two, for a normal number x; the error is at most 0.086.

        For 0 the result is -1023.
        """
        f, k = math.frexp(abs(x))
        return math.floor((k + 2.0 * f - 2.0) * 2.0**20) * 2.0**-20 if f and math.isfinite(x) else -1023.0


def exp2(numbers: Any, x: Any) -> Any:
    """Return an approximation of 2^x, to 2e-4."""
    x = numbers.smallest(numbers.largest(x, -1000.0), 1000.0)  # also if it is not a number
    k = numbers.floor(x)
    z = x - k
    return numbers.two_to_the(k) * (1.0 + z * (1.0 + (z - 1.0) * (0.07912522 * z + 0.30407153)))


def rule(numbers: Any, sizes: Sizes, per_before: Any, per_last: Any) -> Rule:
    """Return the radius rho, and the scale of m.

    Parameters
    ----------
    numbers : Floats or Writer
        Operations on numbers of the type of the sizes.
    sizes : Sizes
        Sizes of coefficients.
    per_before, per_last : number
        1/(P - 1) and 1/P.

    Returns
    -------
    Rule
        Both.

    Examples
    --------
    >>> halves = Sizes(0.5**9, 0.5**10, 0.0, 0.0, (1.0, 0.0, 0.0, 0.0))
    >>> rule(Floats, halves, 1 / 9, 1 / 10)
    Rule(radius=2.0, size=1.0)
    """
    a, b, c, d, m = sizes
    largest, log2 = numbers.largest, numbers.log2
    rate_q = largest(largest(per_before * log2(a), per_last * log2(b)), SMALLEST_RATE)  # log2(1/rho_q)
    per_turn = rate_q + TURN
    logarithms = [log2(m[0]), log2(m[1]) - per_turn, log2(m[2]) - 2.0 * per_turn, log2(m[3]) - 3.0 * per_turn]
    scale = largest(largest(logarithms[0], logarithms[1]), largest(logarithms[2], logarithms[3]))  # log2 of it
    rate_m = largest(per_before * (log2(c) - scale), per_last * (log2(d) - scale))
    found = exp2(numbers, 0.0 - largest(rate_q, rate_m))
    has_vanished = numbers.equal(largest(largest(a, b), largest(c, d)), 0.0)
    at_rest = numbers.choose(numbers.equal(m[1], 0.0), math.inf, UNDERFLOW_RADIUS)
    return Rule(numbers.choose(has_vanished, at_rest, found), exp2(numbers, scale))


def end_of(numbers: Any, t: Any, length: Any, t_end: Any) -> Any:
    """Return the end time of a step of this length from t, which does not pass t_end."""
    left = t_end - t
    # All that is left, if it is not longer than the step.
    whole = numbers.equal(numbers.largest(numbers.magnitude(left), STRETCH * length), STRETCH * length)
    return numbers.choose(whole, t_end, t + numbers.with_sign(length, left))
