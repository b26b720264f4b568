"""Other programs as interactions: they get the places of sites and return an energy and forces on the sites.

>>> from polhode import adapters
>>> adapters.SiteForces.__name__
'SiteForces'
"""

from __future__ import annotations

from polhode.systems.adapters.sites import SiteEngine, SiteForces

__all__ = ["SiteEngine", "SiteForces"]


def __dir__() -> list[str]:
    return __all__
