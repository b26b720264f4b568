"""Adapters to other programs: forces that they compute from the positions of sites, and configurations of atoms.

>>> from polhode import adapters
>>> adapters.SiteForces.__name__
'SiteForces'
"""

from __future__ import annotations

from polhode.systems.adapters.atoms import Atoms, read_atoms, state_of_atoms
from polhode.systems.adapters.sites import SiteEngine, SiteForces

__all__ = ["Atoms", "SiteEngine", "SiteForces", "read_atoms", "state_of_atoms"]
__dir__ = __all__.copy  # public names only
