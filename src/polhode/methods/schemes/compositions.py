"""Every composition in ``polhode.flows.composition``, of Strang's step with half a drift first."""

from __future__ import annotations

from polhode.flows.composition import COMPOSITIONS
from polhode.methods.scheme import Scheme

SCHEMES = tuple(Scheme.composed(composition) for composition in COMPOSITIONS.values())
