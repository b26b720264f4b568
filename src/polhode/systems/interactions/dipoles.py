"""Dipolar soft spheres: V = 4 eps (sig/r)^12 plus the energy of two dipoles (Celledoni et al. 2008, section 3.4)."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.checks import as_floats, check_finite, show
from polhode.core.errors import InputError, ShapeError
from polhode.core.threads import in_ranges, threads_for
from polhode.kernels.compiler.jit import address
from polhode.kernels.pairs.dipoles import (
    INPUTS,
    SUMS,
    TILE,
    few_dipoles,
    fill_tiles,
    gather_tiles,
    sum_parts,
)
from polhode.kernels.pairs.near_dipoles import sum_dipoles
from polhode.systems.interactions.near import ADDING, ITEM, NearInteraction, in_order

PAIR, NEAR_PAIR = 4e-9, 2.6e-8  # seconds for one of all pairs of bodies, and for a pair of the list of neighbors
MOST_PARTS = 16


class DipolarSoftSpheres(NearInteraction):
    """Interaction of soft spheres with dipoles: repulsion 4 epsilon (sigma/r)^12, and dipole-dipole energy.

    Parameters
    ----------
    dipole : array_like, shape (3,) or (n, 3)
        Dipole moment in body axes, for all bodies or for each body. The energy of two dipoles is
        d_i.d_j/r^3 - 3 (d_i.r)(d_j.r)/r^5.
    epsilon, sigma : float, optional
        Strength (0 or more) and radius (more than 0) of the repulsion. The default is 1 for both.
    cutoff, switch, skin : float, optional
        See ``NearInteraction``. By default all pairs interact.

    Raises
    ------
    InputError
        If a number is out of range.
    ShapeError
        If `dipole` has another shape.

    Examples
    --------
    >>> pair = DipolarSoftSpheres((0, 0, 1.0), epsilon=0.0)
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> pair.evaluate(0.0, np.array([(0.0, 0, 0), (0, 0, 2)]), np.stack([np.eye(3)] * 2), force, torque)
    -0.25
    >>> force
    array([[ 0.   ,  0.   ,  0.375],
           [ 0.   ,  0.   , -0.375]])
    """

    name = "DipolarSoftSpheres"
    is_ready_made = True

    def __init__(
        self,
        dipole: npt.ArrayLike,
        epsilon: float = 1.0,
        sigma: float = 1.0,
        *,
        cutoff: float | None = None,
        switch: float | None = None,
        skin: float | None = None,
    ) -> None:
        """Check the arguments; see the class for their description."""
        mu = as_floats(dipole, "dipole", 3)
        check_finite(mu, "dipole", InputError)
        if mu.ndim > 2:
            raise ShapeError(f"dipole has shape {mu.shape}; expected (3,), or (n, 3) with one for each body")
        self.dipole = mu.copy()
        self.epsilon, self.sigma = (float(as_floats(v, name)) for v, name in ((epsilon, "epsilon"), (sigma, "sigma")))
        if not (0 <= self.epsilon < np.inf and 0 < self.sigma < np.inf):
            raise InputError(
                f"epsilon = {epsilon!r}, sigma = {sigma!r}: expected finite numbers, epsilon 0 or more, sigma above 0"
            )
        self._set_cutoff(cutoff, switch, skin)

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return the energy."""
        if self.cutoff < np.inf:
            dipoles = np.ascontiguousarray(self.dipoles(Q))
            return self._sum(sum_dipoles, (dipoles, self._eps4), x, force, torque, NEAR_PAIR)
        n = len(x)
        parts = parts_of(n)
        weight = _weight(n, parts)
        if threads_for(parts, weight) == 1:
            _, energy = few_dipoles(t, x, Q, force, torque, self._numbers, np.array([parts]))
            return energy
        mu, eps4 = self.dipole.reshape(-1, 3), self._eps4
        tiles = -(-n // TILE)
        w, sums, energies = np.empty((tiles, INPUTS)), np.empty((parts, tiles, SUMS)), np.empty(parts)
        fill_tiles(x, Q, mu, w)
        in_ranges(lambda start, stop: sum_parts(w, n, eps4, sums, energies, start, stop), parts, weight)
        in_ranges(lambda start, stop: gather_tiles(w, sums, force, torque, start, stop), n, ADDING * parts / ITEM)
        return in_order(energies)

    def compiled(self, count: int) -> tuple[Any, FloatArray, IntArray] | None:
        """Return the compiled forces on a few bodies without a cut-off; see ``Interaction.compiled``."""
        parts = parts_of(count)
        if self.cutoff < np.inf or threads_for(parts, _weight(count, parts)) > 1:
            return None
        few: Any = address(few_dipoles)  # type: ignore[no-untyped-call]
        return few, self._numbers, np.array([parts])

    @property
    def _eps4(self) -> float:
        """Strength of the repulsion: 4 epsilon sigma^12."""
        return 4.0 * self.epsilon * self.sigma**12

    @cached_property
    def _numbers(self) -> FloatArray:
        """Strength of the repulsion and dipoles, as ``few_dipoles`` takes them."""
        return np.append(self._eps4, self.dipole)

    def check_bodies(self, mass: FloatArray, moments: FloatArray, axes: FloatArray | None, linear: BoolArray) -> None:
        """Raise an error unless there is one dipole for all bodies, or one for each."""
        if self.dipole.ndim == 2 and len(self.dipole) != len(mass):
            raise ShapeError(
                f"dipole has {len(self.dipole)} rows, and there are {len(mass)} bodies; expected (3,) or (n, 3)"
            )

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Return the dipole moments, shape (..., n, 3), in space axes, of bodies with attitudes Q (..., n, 3, 3)."""
        return np.einsum("...ij,...j->...i", Q, self.dipole)

    def __repr__(self) -> str:
        """Return the name with the dipole, epsilon, sigma and the cut-off."""
        dipole = show(self.dipole) if self.dipole.ndim == 1 else f"<{len(self.dipole)} dipoles>"
        return f"{self.name}({dipole}, epsilon={self.epsilon:g}, sigma={self.sigma:g}{self._shown_cutoff()})"


def _weight(n: int, parts: int) -> float:
    """Return the work of one part of the sum over all pairs of n bodies; see ``core.threads``."""
    return PAIR * n * n / (2 * parts * ITEM)


@cache
def parts_of(n: int) -> int:
    """Return the number of parts of the sum over all pairs of n bodies.

    It depends on the number of bodies only, so that results do not depend on the number of threads.

    Examples
    --------
    >>> parts_of(125), parts_of(1000), parts_of(8000)
    (2, 16, 16)
    """
    return min(MOST_PARTS, 1 << (n // 64).bit_length())
