"""A heavy top whose potential and kinetic energy are of similar size. Vilmart 2015, Example 1.

    U(Q) = Q_33,   f = (Q_32, -Q_31, 0)

The paper does not specify the moments and the initial state. Those used here are our own choice: an asymmetric top far
from the upright position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.references import VILMART_2013
from polhode.core.state import State
from polhode.forces import gravity
from polhode.integration.problem import Problem

MOMENTS = (0.6, 0.8, 1.0)
M0 = (0.5, -0.25, 1.0)
Q0 = (0.5, 0.5, -0.5, 0.5)
AT_10 = State(  # at t = 10, from Taylor series in high precision
    m=(-0.5726898046221167, 0.1000353418829716, 0.09634615316362662),
    q=(0.047025984864431665, 0.4261893552310267, -0.29456449749703656, -0.8540391952654224),
)


def vilmart_top(
    moments: npt.ArrayLike = MOMENTS,
    m: npt.ArrayLike = M0,
    q: Any = Q0,
    t_end: float = 10.0,
) -> Problem:
    """Return the problem of an asymmetric heavy top of weight 1 and lever 1.

    Parameters
    ----------
    moments : array_like, shape (..., 3), optional
        Principal moments.
    m : array_like, shape (..., 3), optional
        Initial angular momentum in body axes.
    q : array_like, shape (..., 4), or scipy.spatial.transform.Rotation, optional
        Initial attitude.
    t_end : float, optional
        End of the time span. The default is 10.

    Returns
    -------
    Problem
        The problem, without units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> bool(abs(integrate(vilmart_top(), method="RKN8_19").energy_error()).max() < 1e-12)
    True
    """
    state = State(m, q)
    known = all(map(np.array_equal, (moments, state.m, state.q), (MOMENTS, M0, Q0)))
    return Problem(
        name="vilmart_top",
        summary="Heavy top of weight 1 and lever 1, Example 1 of Vilmart",
        body=moments,
        state=state,
        force=gravity(1.0, offset=(0.0, 0.0, 1.0)),
        t_span=(0.0, t_end),
        h=0.05,
        references=(VILMART_2013,),
        truth={10.0: AT_10} if known else None,
    )
