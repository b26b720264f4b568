"""Interactions between the bodies of a ``System``; they can be added.

>>> from polhode import interactions
>>> interactions.DipolarSoftSpheres((0, 0, 1)) + interactions.Field(lambda t, x, Q, F, T, p: None, name="nothing")
DipolarSoftSpheres + nothing
"""

from __future__ import annotations

from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.dipoles import DipolarSoftSpheres
from polhode.systems.interactions.field import Field
from polhode.systems.interactions.molecular import BOLTZMANN, COULOMB, Molecular
from polhode.systems.interactions.pair import PairPotential
from polhode.systems.interactions.sites import SitePotential
from polhode.systems.interactions.water_models import water

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
__dir__ = __all__.copy  # public names only
