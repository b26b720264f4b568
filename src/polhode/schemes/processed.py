"""Schemes with a processor: steps are the cheapest there are, and states are corrected when somebody looks.

For a torque of size eps the step e^(A/2) e^B e^(A/2), A the drift and B the kick, is e^(A + g(x) B) but for eps^2;
x is the commutator with A and g(x) = (x/2)/sinh(x/2). To first order in eps the change of variables e^P,

    P = (g(x) - 1)/x B = (-x/24 + 7 x^3/5760 - ...) B = sum_k b_k (e^(k x) - e^(-k x)) B,   k = 1..n,

makes it e^(A + B): kicks b_k after drifts of k whole steps, and back (Wisdom, Holman and Touma 1996; Wisdom 2006, whose
correctors for planets these are). The b_k follow from n equations, up to x^(2n-1). What remains, of order eps^2, is an
error of the states that are looked at, which does not grow, and eps^2 h^2 in the steps, which does; a gradient kick
makes that eps^2 h^4 (Rowlands 1991). The series of g ends at x = 2 pi i: steps must be well below a third of a turn,
where ABA schemes, with several kicks, take longer ones. They pay only for very weak torques and moderate accuracy.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from polhode.references import ROWLANDS_1991, WISDOM_1996, WISDOM_2006
from polhode.scheme import Scheme, Stage

CORRECTIONS = 8  # n: orders up to 17 in the step


def _series(count: int) -> list[Fraction]:
    """Coefficients of x, x^3, ... of (g(x) - 1)/x."""
    sinh = [Fraction(1, 4**k * factorial(2 * k + 1)) for k in range(count + 1)]  # of sinh(x/2)/(x/2), in x^2
    g = [Fraction(1)]
    for k in range(1, count + 1):
        g.append(-sum((sinh[j] * g[k - j] for j in range(1, k + 1)), Fraction(0)))
    return g[1:]


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Of a few linear equations, exactly."""
    n = len(right)
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for i in range(n):
        table[i] = [x / table[i][i] for x in table[i]]
        for j in range(n):
            if j != i:
                table[j] = [x - table[j][i] * y for x, y in zip(table[j], table[i], strict=True)]
    return [row[n] for row in table]


def _processor(count: int) -> tuple[Stage, ...]:
    """Kicks -b_k k steps ahead and b_k k steps behind: stages are flows, which compose the other way round."""
    rows = [[2 * Fraction(k ** (2 * j + 1), factorial(2 * j + 1)) for k in range(1, count + 1)] for j in range(count)]
    stages: list[Stage] = []
    for k, b in enumerate(_solved(rows, _series(count)), 1):
        stages += [("A", Fraction(k)), ("B", -b), ("A", Fraction(-2 * k)), ("B", b), ("A", Fraction(k))]
    return tuple(stages)


_PROCESSOR = _processor(CORRECTIONS)

SCHEMES = (
    Scheme.from_half(
        "WH17",
        2,
        "A B",
        generalized_order=(16, 2),
        references=(WISDOM_1996, WISDOM_2006),
        processor=_PROCESSOR,
    ),
    Scheme.from_half(
        "WH17G",
        3,
        "A B C 1/24",
        rkn_only=True,
        generalized_order=(16, 3),
        references=(WISDOM_1996, WISDOM_2006, ROWLANDS_1991),
        processor=_PROCESSOR,
    ),
)
