"""What acts between the bodies of a ``System``, one file each; interactions add up.

>>> from polhode import interactions
>>> interactions.DipolarSoftSpheres((0, 0, 1)) + interactions.Field(lambda t, x, Q, F, T, p: None, name="nothing")
DipolarSoftSpheres + nothing
"""

from __future__ import annotations

from polhode.interactions.base import Interaction
from polhode.interactions.dipoles import DipolarSoftSpheres
from polhode.interactions.field import Field
from polhode.interactions.molecular import BOLTZMANN, COULOMB, Molecular, water
from polhode.interactions.pair import PairPotential
from polhode.interactions.sites import SitePotential

__all__ = [
    "BOLTZMANN",
    "COULOMB",
    "DipolarSoftSpheres",
    "Field",
    "Interaction",
    "Molecular",
    "PairPotential",
    "SitePotential",
    "water",
]


def __dir__() -> list[str]:
    return __all__
