"""Schemes used in the papers on rigid bodies.

Celledoni et al. 2008, (4.4) to (4.8), take theirs from Blanes and Moan 2002 and print 15 digits; here the coefficients
are moved, by at most 4e-15, to the nearest point where the conditions on the order hold exactly. Two misprints are
corrected: b2 of (4.6) is negative, and a4 of (4.8) ends in 447.

Van Zon and Schofield 2007 use a scheme of Omelyan, Mryglod and Folk, "position extended Forest-Ruth like". Its first
coefficient xi is as printed; the next two, chi and 1/2 - lambda, follow from the two conditions of order 4 (they differ
from the printed digits by less than 1e-15).
"""

from __future__ import annotations

from polhode.core.references import (
    BLANES_MOAN_2002,
    CELLEDONI_2008,
    OMELYAN_2002,
    STRANG_1968,
    VAN_ZON_SCHOFIELD_2007_SYMPLECTIC,
)
from polhode.methods.scheme import Scheme

_STRANG = (STRANG_1968, CELLEDONI_2008)
_BLANES_MOAN = (BLANES_MOAN_2002, CELLEDONI_2008)

SCHEMES = (
    Scheme.from_half("V2", 2, "A B", references=_STRANG),
    Scheme.from_half("V2_BAB", 2, "B A", references=_STRANG),
    Scheme.from_half(
        "S4_6",
        4,
        """
        A 0.0792036964311956528497629685379
        B 0.209515106613361999166435592435
        A 0.353172906049773998963802399167
        B -0.143851773179818005912473350802
        A -0.0420650803577195383004574140096
        B
        A
        """,
        references=_BLANES_MOAN,
    ),
    Scheme.from_half(
        "S6_10",
        6,
        """
        A 0.0502627644003926860212216544021
        B 0.148816447901043231920901005536
        A 0.413514300428343815063063720134
        B -0.132385865767783647448845426599
        A 0.0450798897943980629688970521245
        B 0.0673076046921844581502578965926
        A -0.188054853819568914799128488919
        B 0.432666402578173597527667970884
        A 0.541960678450780134831414740933
        B
        A
        """,
        references=_BLANES_MOAN,
    ),
    Scheme.from_half(
        "RKN4_6b",
        4,
        """
        B 0.0829844064174050188383474789422
        A 0.245298957184271162603932426001
        B 0.396309801498368077094911528264
        A 0.604872665711079974960892697643
        B -0.0390563049223484351708652907654
        A
        B
        """,
        rkn_only=True,
        references=_BLANES_MOAN,
    ),
    Scheme.from_half(
        "RKN6_14a",
        6,
        """
        A 0.037859319840610941447021179038
        B 0.0917191526244620179811832282649
        A 0.10263563310243655284708225094
        B 0.183983170005004898491476564676
        A -0.0258678882665583331639469603594
        B -0.0565343658328891043952770448481
        A 0.314241403071446434147142535703
        B 0.00491468877471188564020561645502
        A -0.13014445951741511384961507854
        B 0.143761127168361682387374529987
        A 0.106417700369541368022280139285
        B 0.328567693746804140200481257627
        A -0.00879424312851020439406942842766
        B
        A
        """,
        rkn_only=True,
        references=_BLANES_MOAN,
    ),
    Scheme.from_half(
        "PEFRL",
        4,
        """
        A 0.1786178958448091
        B 0.712341831062606116221266916328054275
        A -0.0662645826698182342926665340609061832
        B
        A
        """,
        references=(OMELYAN_2002, VAN_ZON_SCHOFIELD_2007_SYMPLECTIC),
    ),
)
