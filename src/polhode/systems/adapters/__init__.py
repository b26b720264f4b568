"""Adapters to other programs, which compute an energy and the forces on sites from the positions of the sites.

>>> from polhode import adapters
>>> adapters.SiteForces.__name__
'SiteForces'
"""

from __future__ import annotations

from polhode.systems.adapters.sites import SiteEngine, SiteForces

__all__ = ["SiteEngine", "SiteForces"]


def __dir__() -> list[str]:
    """Return the public names of this module."""
    return __all__
