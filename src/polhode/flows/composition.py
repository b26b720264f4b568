"""Compositions: steps of a symmetric flow, of lengths g_1 h, g_2 h, ..., which together have a higher order.

This module is data. Each composition is a palindrome of sum 1, so that its first half determines the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from polhode.core.errors import InputError
from polhode.core.references import KAHAN_LI_1997, SOFRONIOU_SPALETTA_2005, SUZUKI_1990, YOSHIDA_1990

TOLERANCE = Fraction(1, 10**20)  # of the power sums: coefficients have at least 24 digits


@dataclass(frozen=True)
class Composition:
    """Step lengths of a composition of a symmetric flow of order 2 or more.

    Parameters
    ----------
    name : str
        Name of the composition.
    order : int
        Order of the composed flow.
    fractions : tuple of Fraction
        Lengths of the steps, as fractions of the whole step: a palindrome of sum 1.
    references : tuple of str, optional
        Publications.

    Raises
    ------
    InputError
        If the fractions are not a palindrome, or their power sums contradict the order.

    Examples
    --------
    >>> Composition("Yoshida4", 4, COMPOSITIONS["Yoshida4"].fractions).order
    4
    """

    name: str
    order: int
    fractions: tuple[Fraction, ...]
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the fractions."""
        if self.fractions != self.fractions[::-1]:
            raise InputError(
                f"composition {self.name}: expected a palindrome, got {len(self.fractions)} fractions that are not one"
            )
        for power in range(1, self.order, 2):  # necessary for the order, and detects every misprinted digit
            error = sum((g**power for g in self.fractions), Fraction(0)) - (1 if power == 1 else 0)
            if abs(error) > TOLERANCE:
                raise InputError(
                    f"composition {self.name}: the sum of the powers {power} of its fractions has the error "
                    f"{float(error):.1e}, so its order is not {self.order}"
                )


COMPOSITIONS: dict[str, Composition] = {}


def _add(name: str, order: int, reference: str, first_half: str) -> None:
    """Add a composition to ``COMPOSITIONS``, given the digits of its first half."""
    half = tuple(Fraction(digits) for digits in first_half.split())
    middle = 1 - 2 * sum(half, Fraction(0))
    COMPOSITIONS[name] = Composition(name, order, (*half, middle, *half[::-1]), (reference,))


_add(
    "Yoshida4",
    4,
    YOSHIDA_1990,
    """
    1.35120719195965763404768780897
""",
)
_add(
    "Suzuki4",
    4,
    SUZUKI_1990,
    """
    0.414490771794375737142354062861 0.414490771794375737142354062861
""",
)
_add(
    "Yoshida6A",
    6,
    YOSHIDA_1990,
    """
    0.784513610477557263819497633866 0.235573213359358133684793182979 -1.17767998417887100694641568096
""",
)
_add(
    "KahanLi6",
    6,
    KAHAN_LI_1997,
    """
    0.39216144400731413927925056 0.33259913678935943859974864 -0.70624617255763935980996482
    0.08221359629355080023149045
""",
)
_add(
    "SS6_13",
    6,
    SOFRONIOU_SPALETTA_2005,
    """
    0.138619308540516952458080130426 0.133465628510747604070468588322 0.13070531011449225190542755785
    0.129618937569070347725053665371 -0.350003248939208965161708309113 0.11805530653002387170273438954
""",
)
_add(
    "KahanLi8",
    8,
    KAHAN_LI_1997,
    """
    0.13020248308889008087881763 0.56116298177510838456196441 -0.3894749626448472864080786
    0.15884190655515560089621075 -0.39590389413323757733623154 0.18453964097831570709183254
    0.25837438768632204729397911 0.29501172360931029887096624
""",
)
_add(
    "SS8_21",
    8,
    SOFRONIOU_SPALETTA_2005,
    """
    0.106477289845500318239319678549 0.108374086458357263974334105915 0.353378210526543424195345413241
    -0.233414140231650821987802811283 -0.244452667915288412694621714132 0.113178484357556333147009525156
    0.11892905625000350062692972284 0.126039123218259881403056702684 0.125817187361760418043923916416
    0.116991350192176421807228814335
""",
)
_add(
    "SS10_35",
    10,
    SOFRONIOU_SPALETTA_2005,
    """
    0.07879572252168641926390768 0.31309610341510852776481247 0.02791838323507806610952027
    -0.2295928415939070941512134 0.13096206107716486317465686 -0.26973340565451071434460973
    0.07497334315589143566613711 0.11199342399981020488957508 0.36613344954622675119314812
    -0.39910563013603589787862981 0.10308739852747107731580277 0.41143087395589023782070412
    -0.00486636058313526176219566 -0.39203335370863990644808194 0.0519425029624496470371829
    0.05066509075992449633587434 0.0496743706397298790545688
""",
)

BY_ORDER = {
    2: Composition("", 2, (Fraction(1),)),
    4: COMPOSITIONS["Suzuki4"],
    6: COMPOSITIONS["KahanLi6"],
    8: COMPOSITIONS["SS8_21"],
    10: COMPOSITIONS["SS10_35"],
}
