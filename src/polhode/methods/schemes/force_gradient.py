"""Schemes whose kicks also use the gradient of the torque: order 4 without a step backward.

Chin4A is also the Nystrom splitting of Vilmart 2015, whose printed kick has other coefficients and is of order 2 only.
OMF6 is by Omelyan, Mryglod and Folk 2002; it is of order 6 and has large substeps.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from polhode.core.references import CHIN_1997, OMELYAN_2002_GRADIENT, VILMART_2013
from polhode.methods.scheme import Scheme

_SCALE = 10**50
_ROOT3 = Fraction(isqrt(3 * _SCALE**2), _SCALE)

SCHEMES = (
    Scheme.from_half("Chin4A", 4, "B 1/6 A B C 1/72", rkn_only=True, references=(CHIN_1997, VILMART_2013)),
    Scheme.from_half(
        "Chin4B", 4, f"A {(3 - _ROOT3) / 6} B C {(2 - _ROOT3) / 48} A", rkn_only=True, references=(CHIN_1997,)
    ),
    Scheme.from_half("Chin4C", 4, "A 1/6 B 3/8 A B C 1/192", rkn_only=True, references=(CHIN_1997,)),
    Scheme.from_half(
        "OMF6",
        6,
        """
        B 0.35995080879414362748566375838451
        A 1.0798524263824308824569912751535
        B -0.14371472730265404347711307162339
        C -0.013965254224238840367280072847387
        A
        B
        C -0.039247029382345626020239467617147
        """,
        rkn_only=True,
        references=(OMELYAN_2002_GRADIENT,),
    ),
)
