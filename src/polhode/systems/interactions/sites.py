"""Rigid molecules with a user-defined energy v(r) between their sites, summed over sites and pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats
from polhode.core.errors import ShapeError
from polhode.forces.functions import Function
from polhode.kernels.pairs import pair_functions as templates
from polhode.systems.interactions.base import as_sites, place_sites, takes
from polhode.systems.interactions.pair import COMPLEX_HINT, PAIR_FORM, PairInteraction, Part


class SitePotential(PairInteraction):
    """Interaction of equal molecules by an energy v(r) of the distance r of two sites, summed over sites and pairs.

    Parameters
    ----------
    sites : array_like, shape (s, 3)
        Positions of the sites in body axes.
    energy : callable
        ``energy(r, a, b, p)`` returns v as a number; a and b are the parameters of the two sites, and p the parameters
        of the interaction.
    slope : callable, optional
        ``slope(r, a, b, p)`` returns dv/dr. By default it is computed to round-off by `energy` with a complex r.
    site_params : array_like, shape (s, k), optional
        Parameters of each site, such as charges.
    params : array_like, shape (k,), optional
        Parameters of the interaction.
    cutoff, switch, skin : float, optional
        See ``NearInteraction``. Distances are those of bodies, and apply to all sites of two bodies. By default all
        pairs interact.
    name : str, optional
        Name of the interaction. By default it contains that of `energy`.

    Raises
    ------
    InputError
        If a function cannot be called with these arguments, or a number is out of range.
    ShapeError
        If an array has another shape.

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
        """Check the arguments; see the class for their description."""
        positions = as_sites(sites)
        numbers = as_floats(site_params, "site_params")
        numbers = np.empty((len(positions), 0)) if numbers.size == 0 else numbers
        if numbers.ndim != 2 or len(numbers) != len(positions):
            raise ShapeError(
                f"site_params has shape {numbers.shape}; expected ({len(positions)}, k), a row of numbers for each site"
            )
        takes(energy, "energy", "r, a, b, p")
        self.sites = positions.copy()
        self._complex = slope is None
        if slope is None:
            radial = Part(PAIR_FORM, templates.radial_of_energy, (energy,))
        else:
            takes(slope, "slope", "r, a, b, p")
            radial = Part(PAIR_FORM, templates.radial_of_slope, (energy, slope))
        constants = (self.sites, numbers.copy())
        function = Function(PAIR_FORM, templates.pair_of_sites, (radial, templates.crossed), constants)
        name = name or f"SitePotential({getattr(energy, '__name__', repr(energy))})"
        super().__init__(function, params, name, cutoff, switch, skin)

    def sites_in_space(self, x: FloatArray, Q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the positions (..., N, 3) of all sites in space, body by body, and the index (N,) of their bodies."""
        return place_sites(x, Q, self.sites)

    def _hint(self) -> str:
        """Return what to do if the functions cannot be compiled, or fail."""
        return COMPLEX_HINT.replace("gradient", "slope") if self._complex else super()._hint()
