"""A free body, with the data of figures in the papers. The exact solution is the closed form, ``free_motion()``.

Vilmart 2015, Fig. 1: a bound volume of a journal that is thrown. Gustafsson 2010, Fig. 1 and 2, with the moments of
Hairer and Vilmart; its initial values were random, so the momentum here is our own choice. Betsch and Siebert 2009,
section 5.1, with data of Betsch and Steinmann.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polhode.core.errors import UnknownNameError
from polhode.core.references import BETSCH_SIEBERT_2009, GUSTAFSSON_2010, VILMART_2013
from polhode.core.state import State
from polhode.integration.problem import Problem


class Data(NamedTuple):
    """Moments, initial momentum, end time and step size of one paper, and its reference."""

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
    """Return the problem of a free body with the data of a paper.

    Parameters
    ----------
    paper : {"vilmart", "gustafsson", "betsch_siebert"}, optional
        The paper. The default is "vilmart".

    Returns
    -------
    Problem
        The problem, without units.

    Raises
    ------
    UnknownNameError
        If ``paper`` is none of these names.

    Examples
    --------
    >>> free_body().free_motion().regime
    'around_max'
    >>> float(free_body("betsch_siebert").free_motion().energy)
    2500.0
    """
    if paper not in DATA:
        raise UnknownNameError(f"paper = {paper!r}; expected one of: {', '.join(DATA)}")
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
