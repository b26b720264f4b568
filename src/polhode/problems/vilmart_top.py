"""A heavy top whose weight is as strong as its spin. Vilmart 2015, Example 1.

    U(Q) = Q_33,   f = (Q_32, -Q_31, 0)

The entry leaves moments and start open: those here are ours, an asymmetric top far from the upright position.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from polhode.forces import gravity
from polhode.problem import Problem
from polhode.references import VILMART_2013
from polhode.state import State


def vilmart_top(
    moments: npt.ArrayLike = (0.6, 0.8, 1.0),
    m: npt.ArrayLike = (0.5, -0.25, 1.0),
    q: Any = (0.5, 0.5, -0.5, 0.5),
    t_end: float = 10.0,
) -> Problem:
    """An asymmetric heavy top of weight 1 and lever 1. No units.

    >>> from polhode.integration import integrate
    >>> bool(abs(integrate(vilmart_top(), method="RKN8_19").energy_error()).max() < 1e-12)
    True
    """
    return Problem(
        name="vilmart_top",
        summary="Asymmetric heavy top, its weight as strong as its spin",
        body=moments,
        state=State(m, q),
        force=gravity(1.0, offset=(0.0, 0.0, 1.0)),
        t_span=(0.0, t_end),
        h=0.05,
        references=(VILMART_2013,),
    )
