"""Schemes that compose Strang's step, half a drift first, by the compositions of ``polhode.flows.composition``."""

from __future__ import annotations

from polhode.flows.composition import COMPOSITIONS
from polhode.methods.scheme import Scheme

SCHEMES = tuple(Scheme.composed(composition) for composition in COMPOSITIONS.values())
