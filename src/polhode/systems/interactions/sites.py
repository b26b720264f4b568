"""Rigid molecules whose sites act on each other along the line between them: v(r), summed over sites and pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.checks import as_floats
from polhode.core.errors import ShapeError
from polhode.forces.functions import Function
from polhode.kernels.pairs import pair_functions as templates
from polhode.systems.interactions.base import as_sites, takes
from polhode.systems.interactions.pair import COMPLEX_HINT, PAIR_FORM, PairInteraction, Part


class SitePotential(PairInteraction):
    """The sum of v(r) over all sites of all pairs of molecules, which are alike; r is the distance of two sites.

    Parameters
    ----------
    sites : array_like
        Where they are in body axes, (s, 3).
    energy : callable
        energy(r, a, b, p) -> a number; a and b are the parameters of the two sites, p those of all.
    slope : callable, optional
        slope(r, a, b, p) -> dv/dr; without it, by a complex r, to rounding.
    site_params : array_like, optional
        (s, k) numbers, k for each site: charges, for instance.
    params : array_like, optional
        Numbers (k,).
    cutoff, switch, skin : float, optional
        See ``NearInteraction``; by distances of bodies, all sites of two of them together.

    Examples
    --------
    >>> coulomb = SitePotential([(0, 0, 1), (0, 0, -1)], lambda r, a, b, p: a[0] * b[0] / r, site_params=[[1], [-1]])
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> coulomb.evaluate(0.0, np.array([(0.0, 0, 0), (0, 0, 4)]), np.stack([np.eye(3)] * 2), force, torque).__round__(6)
    -0.166667
    """

    def __init__(
        self,
        sites: npt.ArrayLike,
        energy: Callable[..., Any],
        slope: Callable[..., Any] | None = None,
        *,
        site_params: npt.ArrayLike = (),
        params: npt.ArrayLike = (),
        cutoff: float | None = None,
        switch: float | None = None,
        skin: float | None = None,
        name: str | None = None,
    ) -> None:
        places = as_sites(sites)
        own = as_floats(site_params, "site_params")
        own = np.empty((len(places), 0)) if own.size == 0 else own
        if own.ndim != 2 or len(own) != len(places):
            raise ShapeError(
                f"site_params has shape {own.shape}; expected ({len(places)}, k), a row of numbers for each site"
            )
        takes(energy, "energy", "r, a, b, p")
        self.sites, self._complex = places.copy(), slope is None
        if slope is None:
            radial = Part(PAIR_FORM, templates.radial_of_energy, (energy,))
        else:
            takes(slope, "slope", "r, a, b, p")
            radial = Part(PAIR_FORM, templates.radial_of_slope, (energy, slope))
        function = Function(PAIR_FORM, templates.pair_of_sites, (radial, templates.crossed), (self.sites, own.copy()))
        name = name or f"SitePotential({getattr(energy, '__name__', repr(energy))})"
        super().__init__(function, params, name, cutoff, switch, skin)

    def _hint(self) -> str:
        return COMPLEX_HINT.replace("gradient", "slope") if self._complex else super()._hint()
