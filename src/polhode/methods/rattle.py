"""RATTLE: a kick, a discrete Moser-Veselov step, and a kick.

For rigid bodies RATTLE is exactly this splitting (Vilmart 2013, (11) and (12)-(15)): the multipliers of the
orthogonality of Q, for which its usual form solves, turn the free step into that of Moser and Veselov.
"""

from __future__ import annotations

from polhode.methods.splitting import Splitting


class Rattle(Splitting):
    """RATTLE for rigid bodies, symplectic and of order 2: a kick, a discrete Moser-Veselov step, and a kick.

    Examples
    --------
    >>> Rattle().order
    2
    """

    def __init__(self) -> None:
        from polhode.flows.moser_veselov import MoserVeselov

        super().__init__(MoserVeselov(), "V2_BAB")

    def __repr__(self) -> str:
        """Return the call that creates this method."""
        return "Rattle()"
