"""Compositions: steps of a symmetric flow, of lengths g_1 h, g_2 h, ..., that together are of a higher order.

Pure data. Each is a palindrome whose lengths add up to 1, so the first half is given and the middle follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from polhode.core.errors import InputError
from polhode.core.references import KAHAN_LI_1997, SOFRONIOU_SPALETTA_2005, SUZUKI_1990, YOSHIDA_1990

TOLERANCE = Fraction(1, 10**20)  # of the sums below: coefficients have 24 digits and more


@dataclass(frozen=True)
class Composition:
    """Lengths of the steps, as fractions of the whole; the basic flow must be symmetric, of order 2 or more.

    >>> Composition("Yoshida4", 4, COMPOSITIONS["Yoshida4"].fractions).order
    4
    """

    name: str
    order: int
    fractions: tuple[Fraction, ...]
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.fractions != self.fractions[::-1]:
            raise InputError(f"composition {self.name}: {len(self.fractions)} fractions that are not a palindrome")
        for power in range(1, self.order, 2):  # necessary for the order, and sensitive to every misprinted digit
            error = sum((g**power for g in self.fractions), Fraction(0)) - (1 if power == 1 else 0)
            if abs(error) > TOLERANCE:
                raise InputError(
                    f"composition {self.name}: the powers {power} of its fractions miss their sum by "
                    f"{float(error):.1e}, so its order is not {self.order}"
                )


COMPOSITIONS: dict[str, Composition] = {}


def _enrol(name: str, order: int, reference: str, first_half: str) -> None:
    half = tuple(Fraction(digits) for digits in first_half.split())
    middle = 1 - 2 * sum(half, Fraction(0))
    COMPOSITIONS[name] = Composition(name, order, (*half, middle, *half[::-1]), (reference,))


_enrol(
    "Yoshida4",
    4,
    YOSHIDA_1990,
    """
    1.35120719195965763404768780897
""",
)
_enrol(
    "Suzuki4",
    4,
    SUZUKI_1990,
    """
    0.414490771794375737142354062861 0.414490771794375737142354062861
""",
)
_enrol(
    "Yoshida6A",
    6,
    YOSHIDA_1990,
    """
    0.784513610477557263819497633866 0.235573213359358133684793182979 -1.17767998417887100694641568096
""",
)
_enrol(
    "KahanLi6",
    6,
    KAHAN_LI_1997,
    """
    0.39216144400731413927925056 0.33259913678935943859974864 -0.70624617255763935980996482
    0.08221359629355080023149045
""",
)
_enrol(
    "SS6_13",
    6,
    SOFRONIOU_SPALETTA_2005,
    """
    0.138619308540516952458080130426 0.133465628510747604070468588322 0.13070531011449225190542755785
    0.129618937569070347725053665371 -0.350003248939208965161708309113 0.11805530653002387170273438954
""",
)
_enrol(
    "KahanLi8",
    8,
    KAHAN_LI_1997,
    """
    0.13020248308889008087881763 0.56116298177510838456196441 -0.3894749626448472864080786
    0.15884190655515560089621075 -0.39590389413323757733623154 0.18453964097831570709183254
    0.25837438768632204729397911 0.29501172360931029887096624
""",
)
_enrol(
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
_enrol(
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
