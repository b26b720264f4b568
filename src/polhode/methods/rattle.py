"""RATTLE: kick, discrete Moser-Veselov step, kick.

For rigid bodies RATTLE is exactly that (Vilmart 2013, (11) and (12)-(15)): the multipliers of the orthogonality of Q,
which its usual form solves for, are those that make the free step the one of Moser and Veselov.
"""

from __future__ import annotations

from polhode.methods.splitting import Splitting


class Rattle(Splitting):
    """Kick, discrete Moser-Veselov step, kick: symplectic, of order 2.

    >>> Rattle().order
    2
    """

    def __init__(self) -> None:
        from polhode.flows.moser_veselov import MoserVeselov

        super().__init__(MoserVeselov(), "V2_BAB")

    def __repr__(self) -> str:
        return "Rattle()"
