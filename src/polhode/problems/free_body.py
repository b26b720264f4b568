"""A body with no force on it: the data of the papers' own figures. Its truth is the closed form, ``free_motion()``.

Vilmart 2015, Fig. 1: a bound volume of a journal, thrown. Gustafsson 2010, Fig. 1 and 2, with moments that Hairer and
Vilmart had used; its initial values were random, so the momentum here is ours. Betsch and Siebert 2009, section 5.1,
with data of Betsch and Steinmann.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polhode.core.errors import UnknownNameError
from polhode.core.references import BETSCH_SIEBERT_2009, GUSTAFSSON_2010, VILMART_2013
from polhode.core.state import State
from polhode.integration.problem import Problem


class Data(NamedTuple):
    """What a paper took."""

    moments: tuple[float, float, float]
    m: tuple[float, float, float]
    t_end: float
    h: float
    reference: str


DATA = {
    "vilmart": Data((0.376, 0.627, 1.0), (0.0, 0.6, -0.8), 40.0, 0.01, VILMART_2013),
    "gustafsson": Data((1.0, 1.648785782711929, 1.972012709664193), (0.36, 0.48, 0.8), 10.0, 0.1, GUSTAFSSON_2010),
    "betsch_siebert": Data((6.0, 8.0, 3.0), (60.0, 160.0, 60.0), 1.0, 0.01, BETSCH_SIEBERT_2009),
}


def free_body(paper: str = "vilmart") -> Problem:
    """The free body of a paper: "vilmart", "gustafsson" or "betsch_siebert". No units.

    >>> free_body().free_motion().regime
    'around_max'
    >>> float(free_body("betsch_siebert").free_motion().energy)
    2500.0
    """
    if paper not in DATA:
        raise UnknownNameError(f"no paper with a free body is called {paper!r}; known are: {', '.join(DATA)}")
    data = DATA[paper]
    return Problem(
        name="free_body",
        summary="Free body of the papers, for which every method is compared with the closed form",
        body=np.array(data.moments),
        state=State(data.m),
        t_span=(0.0, data.t_end),
        h=data.h,
        references=(data.reference,),
    )
