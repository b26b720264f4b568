"""Schemes with a processor: steps are as cheap as possible, and states are corrected for output only.

For a torque of size eps the step e^(A/2) e^B e^(A/2), A the drift and B the kick, is e^(A + g(x) B) up to eps^2;
x is the commutator with A and g(x) = (x/2)/sinh(x/2). To first order in eps the change of variables e^P,

    P = (g(x) - 1)/x B = (-x/24 + 7 x^3/5760 - ...) B = sum_k b_k (e^(k x) - e^(-k x)) B,   k = 1..n,

turns it into e^(A + B): kicks b_k after drifts of k whole steps, and back. These are the correctors of Wisdom, Holman
and Touma 1996 and Wisdom 2006 for planets. The b_k follow from n equations, up to x^(2n-1). The remaining errors are of
order eps^2: one of the output states, which does not grow, and eps^2 h^2 in the steps, which does; a gradient kick
reduces the latter to eps^2 h^4 (Rowlands 1991). The series of g converges up to x = 2 pi i: steps must be well below a
third of a turn, whereas ABA schemes, with several kicks, allow longer steps. Processed schemes are worthwhile only for
very weak torques and moderate accuracy.

PABA1264 extends this to eps^2, after Blanes, Casas and Ros 2000: P = P1 + P2 with P2 a sum of commutators
[x^p B, x^q B]. No P removes the terms that grow, one for each odd power of x. Five kicks suffice to make the first two
of them zero and the third, eps^2 h^6, 15 times smaller than that of ABA1064 with its eight kicks; the processor removes
the other terms, up to x^9 in eps and p + q = 6 in eps^2. ``scripts/derive_processed.py`` has the equations and computes
the digits. Each output state costs 18 torques, which is worthwhile for long runs with few output states.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from polhode.core.references import BLANES_CASAS_ROS_2000, ROWLANDS_1991, WISDOM_1996, WISDOM_2006
from polhode.methods.scheme import Scheme, Stage

CORRECTIONS = 8  # n: orders up to 17 in the step


def _series(count: int) -> list[Fraction]:
    """Return the coefficients of x, x^3, ... in the series of (g(x) - 1)/x, `count` of them."""
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


def _doubled(table: str) -> tuple[Stage, ...]:
    """Kicks at the times of a table of times and weights, in this order, and once more with opposite signs."""
    numbers = [Fraction(digits) for digits in table.split()]
    stages: list[Stage] = []
    now = Fraction(0)
    for sign in (1, -1):
        for time, weight in zip(numbers[::2], numbers[1::2], strict=True):
            stages += [("A", sign * time - now), ("B", sign * weight)]
            now = sign * time
    return *stages, ("A", -now)


_SECOND_ORDER = _doubled(
    """
    -0.032901973892107620768719916225309048712159617 0.0418811909546709385928068158459846140822346146
    -0.755094497071621198537767970574155911314066281 0.126073023188207764938916276729550158233485607
    -0.3326 0.123870969715663453058217121407485094043325248
    -0.775858817185927142261100562044887732675804331 -0.093373369916714663216075723418413790981748272
    -0.1596 -0.0796901339446583696657820751132728338303368535
    -0.832082093285261437226067480311030364036248689 0.154655862580665006816430251020037890145146872
    -0.85696780160311554942204990492441311454066512 -0.0560846865122562777663713544943740064517321775
    -0.385386662726830332853878427499330427982075007 -0.0915518754671463898649980093150634694834988223
    -0.795947153819362594544813938460505523809565323 -0.125780980598431462893143302661933655756876217
    """
)

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
    Scheme.from_half(
        "PABA1264",
        4,
        """
        A 0.1608
        B 0.320474424160993676283555802886341525540497885
        A 0.365976993754456763516050113146242291158310138
        B 0.653
        A
        B
        """,
        generalized_order=(12, 6, 4),
        references=(BLANES_CASAS_ROS_2000,),
        processor=_SECOND_ORDER,
    ),
)
