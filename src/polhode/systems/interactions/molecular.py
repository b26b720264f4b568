"""Rigid molecules, of one species or of several, with Lennard-Jones and Coulomb interactions between their sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.body import RigidBody
from polhode.core.checks import as_floats, check_finite, known_name, whole_number
from polhode.core.errors import InputError, ShapeError
from polhode.core.units import NO_UNITS, together
from polhode.kernels.pairs.molecules import place_arms, sum_molecules
from polhode.systems.interactions.base import as_sites, place_sites
from polhode.systems.interactions.body_check import check_same_body
from polhode.systems.interactions.near import NearInteraction

COULOMB = 138.93545764438198  # e^2 N_A/(4 pi eps_0) in kJ/mol nm, CODATA 2018
BOLTZMANN = 0.00831446261815324  # k_B N_A in kJ/(mol K), which converts a temperature to kT
UNITS = {"t": "ps", "x": "nm", "mass": "u", "energy": "kJ/mol"}
SITE_PAIR = 4.6e-9  # seconds for a pair of sites
Electrostatics = Literal["reaction field", "shifted force", "plain"]


class Molecular(NearInteraction):
    """Lennard-Jones and Coulomb interaction between the sites of equal molecules, or of a ``mixture``.

    The units are nm, ps, u (daltons) and kJ/mol, which are consistent and usual in molecular dynamics; other units need
    another value of `coulomb`. Parameters of unlike sites are combined by the Lorentz-Berthelot rules: sigma (a + b)/2,
    epsilon sqrt(a b).

    Parameters
    ----------
    sites : array_like, shape (s, 3)
        Positions of the sites in body axes, relative to the mass center.
    charges, sigma, epsilon : array_like, shape (s,) or (), optional
        Charges and Lennard-Jones parameters, for each site or for all sites. The defaults are 0, 1 and 0.
    cutoff, switch, skin : float, optional
        See ``NearInteraction``. Distances are those of mass centers, and apply to all sites of two molecules. By
        default all pairs interact.
    electrostatics : {"reaction field", "shifted force", "plain"}, optional
        "reaction field" is C (1/r + k r^2 - c), with a medium of relative permittivity `permittivity` beyond the
        cut-off; "shifted force" is C (1/r + r/rc^2 - 2/rc), rc being the cut-off; "plain" is C/r, the only one that is
        possible without a cut-off. The default is "reaction field" with a cut-off and "plain" without.
    permittivity : float, optional
        Relative permittivity of the medium, 1 or more. The default is inf, a conductor.
    coulomb : float, optional
        Energy of two unit charges at unit distance. The default is ``COULOMB``.
    name : str, optional
        Name of the molecules. The default is "Molecular".

    Attributes
    ----------
    body : RigidBody or None
        One molecule, if masses are known: see ``from_atoms``. ``System`` then accepts no other body.
    number_density : float or None
        Number of molecules per unit of volume, for ``System.liquid``.
    species : ndarray, shape (n,), or None
        Index of the species of each molecule of a ``mixture``; None if there is only one species.

    Raises
    ------
    InputError
        If a number is out of range.
    ShapeError
        If `sites` or a parameter of the sites has another shape.
    UnknownNameError
        If `electrostatics` is unknown.

    Examples
    --------
    >>> pair = Molecular([(0.0, 0, 0)], charges=0.0, sigma=1.0, epsilon=1.0)
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> x = np.array([(0.0, 0, 0), (0, 0, 2.0 ** (1 / 6))])
    >>> pair.evaluate(0.0, x, np.stack([np.eye(3)] * 2), force, torque).__round__(12)
    -1.0
    """

    is_ready_made = True
    body: RigidBody | None = None
    number_density: float | None = None
    species: IntArray | None = None
    _components: tuple[Molecular, ...] = ()

    def __init__(
        self,
        sites: npt.ArrayLike,
        *,
        charges: npt.ArrayLike = 0.0,
        sigma: npt.ArrayLike = 1.0,
        epsilon: npt.ArrayLike = 0.0,
        cutoff: float | None = None,
        switch: float | None = None,
        skin: float | None = None,
        electrostatics: Electrostatics | None = None,
        permittivity: float = inf,
        coulomb: float = COULOMB,
        name: str = "Molecular",
    ) -> None:
        """Check the arguments; see the class for their description."""
        self.name = name
        self.sites = as_sites(sites)
        self.charges, self.sigma, self.epsilon = (
            self._of_sites(value, name)
            for value, name in ((charges, "charges"), (sigma, "sigma"), (epsilon, "epsilon"))
        )
        if (self.sigma < 0).any() or (self.epsilon < 0).any():
            raise InputError(f"sigma = {sigma!r}, epsilon = {epsilon!r}: expected numbers, 0 or more")
        self._set_cutoff(cutoff, switch, skin)
        self.electrostatics, far = _far_charges(electrostatics, permittivity, self.cutoff)
        distance = 0.5 * (self.sigma[:, None] + self.sigma)
        depth = np.sqrt(self.epsilon[:, None] * self.epsilon)
        self.coulomb = coulomb
        C = coulomb * self.charges[:, None] * self.charges
        self._tables = 4 * depth * distance**12, 4 * depth * distance**6, C, far
        self._divide_sites([len(self.sites)])

    @classmethod
    def from_atoms(cls, masses: npt.ArrayLike, positions: npt.ArrayLike, **more: Any) -> Molecular:
        """Return the interaction of molecules that consist of point masses; its ``body`` is one molecule.

        A single atom, which no torque can turn, has the body of a solid sphere of diameter `sigma` (1 if `sigma` is
        0). ``System.liquid`` gives it no angular momentum, and it is not counted in temperatures of rotation.

        Parameters
        ----------
        masses : array_like, shape (s,)
            Masses of the atoms, positive.
        positions : array_like, shape (s, 3)
            Positions of the atoms, in any axes and relative to any point.
        **more
            Further arguments of ``Molecular``, except for the sites.

        Returns
        -------
        Molecular
            The interaction, with sites in the principal axes of the molecule. No torque acts on a single atom; the
            moments of its body are its mass times the square of the unit of length.

        Raises
        ------
        ShapeError
            If the shapes do not fit, or a mass is not positive.

        Examples
        --------
        >>> Molecular.from_atoms([14.0067] * 2, [(0, 0, 0), (0, 0, 0.11)], sigma=0.33, epsilon=0.3).body
        RigidBody.linear(0.0847405, mass=28.0134)
        """
        masses, positions = together(UNITS, masses=masses, positions=positions).values()
        weights = as_floats(masses, "masses")
        r = as_floats(positions, "positions", 3)
        if weights.ndim != 1 or not len(weights) or r.shape != (len(weights), 3) or not (weights > 0).all():
            raise ShapeError(f"masses {weights.shape} and positions {r.shape}: expected (s,), positive, and (s, 3)")
        mass = float(weights.sum())
        if len(weights) == 1:
            atoms = cls(np.zeros((1, 3)), **more)
            radius = 0.5 * (float(atoms.sigma[0]) or 1.0)
            atoms.body = RigidBody.ellipsoid(mass, radius, radius, radius)
            return atoms
        r = r - weights @ r / weights.sum()
        _, spread, axes = np.linalg.svd(r * np.sqrt(weights)[:, None])
        axes[2] *= np.linalg.det(axes)
        second = np.pad(spread, (0, 3 - len(spread))) ** 2
        moments = second.sum() - second
        linear = second[1] <= 1e-24 * second[0]
        body = RigidBody.linear(moments[1], mass=mass) if linear else RigidBody.from_moments(moments, mass=mass)
        molecules = cls(r @ axes.T, **more)
        molecules.body = body
        return molecules

    @classmethod
    def mixture(
        cls,
        components: Sequence[Molecular],
        counts: Sequence[int],
        *,
        cutoff: float | None = None,
        switch: float | None = None,
        skin: float | None = None,
        electrostatics: Electrostatics | None = None,
        permittivity: float = inf,
        name: str = "mixture",
    ) -> Molecular:
        """Return the interaction of molecules of several species, which are sorted by species.

        Parameters
        ----------
        components : sequence of Molecular
            The species. Their cut-offs and electrostatics are not used.
        counts : sequence of int
            Number of molecules of each species.
        cutoff, switch, skin, electrostatics, permittivity : optional
            Those of the mixture; see ``Molecular``.
        name : str, optional
            Name of the mixture. The default is "mixture".

        Returns
        -------
        Molecular
            The interaction. Its ``bodies`` are all molecules, for ``System``, and its sites, charges, sigma and epsilon
            are those of the species, one after the other.

        Raises
        ------
        InputError
            If an argument is out of range, or the species have different values of `coulomb`.

        Examples
        --------
        >>> from polhode.systems.interactions import water
        >>> argon = Molecular.from_atoms([39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, name="Ar")
        >>> solution = Molecular.mixture([water(), argon], [3, 1], cutoff=0.9)
        >>> solution
        mixture(3 SPC/E, 1 Ar, cutoff=0.9, reaction field)
        >>> solution.species, solution.bodies[3] == argon.body
        (array([0, 0, 0, 1]), True)
        """
        species = tuple(components)
        numbers = [whole_number(count, "counts") for count in counts]
        if not all(isinstance(part, Molecular) and part.species is None for part in species):
            raise InputError(f"components = {components!r}: expected models of one species each, such as water()")
        if len(species) != len(numbers) or not sum(numbers):
            raise InputError(
                f"{len(species)} components and counts = {counts!r}: expected a number of molecules for each "
                "component, and at least one molecule"
            )
        units = {part.coulomb for part in species}
        if len(units) > 1:
            raise InputError(f"components have different values of coulomb, {sorted(units)}: expected the same units")
        sites, *params = (
            np.concatenate([getattr(part, key) for part in species]) for key in ("sites", "charges", "sigma", "epsilon")
        )
        charges, sigma, epsilon = params
        mixed = cls(
            sites, charges=charges, sigma=sigma, epsilon=epsilon, cutoff=cutoff, switch=switch, skin=skin,
            electrostatics=electrostatics, permittivity=permittivity, coulomb=units.pop(), name=name,
        )  # fmt: skip
        mixed._components = species
        mixed._divide_sites([len(part.sites) for part in species])
        mixed.species = np.repeat(np.arange(len(species)), numbers)
        return mixed

    @property
    def units(self) -> Mapping[str, str]:
        """Units of molecular dynamics, unless `coulomb` says that they are others."""
        return UNITS if self.coulomb == COULOMB else NO_UNITS

    @property
    def components(self) -> tuple[Molecular, ...]:
        """The species, each of them as an interaction; this one if it is not a mixture."""
        return self._components or (self,)

    @property
    def bodies(self) -> RigidBody | list[RigidBody] | None:
        """Bodies for ``System``: one for all molecules, or a list of those of a mixture; None if a mass is unknown."""
        if self.species is None:
            return self.body
        bodies = [part.body for part in self.components]
        return None if None in bodies else [bodies[k] for k in self.species]

    def _of_sites(self, value: npt.ArrayLike, name: str) -> FloatArray:
        """Return a parameter of the sites as an array of shape (s,)."""
        numbers = as_floats(value, name)
        if numbers.shape not in ((), (len(self.sites),)):
            raise ShapeError(f"{name} has shape {numbers.shape}; expected a number, or ({len(self.sites)},)")
        check_finite(np.atleast_1d(numbers), name, InputError)
        return np.array(np.broadcast_to(numbers, (len(self.sites),)))

    def _divide_sites(self, sizes: list[int]) -> None:
        """Store the numbers of sites of the species."""
        self._starts = np.cumsum([0, *sizes])
        self._most_sites = max(sizes)

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return the energy."""
        kinds = self._kinds(len(x))
        arms = np.empty((len(x), 3 * self._most_sites))  # sites relative to the mass centers, in space axes
        place_arms(Q, self.sites, kinds, self._starts, arms)
        seconds = SITE_PAIR * self._most_sites**2
        return self._sum(sum_molecules, (arms, kinds, self._starts, *self._tables), x, force, torque, seconds)

    def _kinds(self, count: int) -> IntArray:
        """Return the species of each of `count` bodies; raise a ShapeError if the mixture has another number."""
        if self.species is None:
            return super()._kinds(count)
        if len(self.species) != count:
            raise ShapeError(
                f"{self!r} has {len(self.species)} molecules, and there are {count} bodies; expected one body for each "
                "molecule, as in its attribute bodies"
            )
        return self.species

    def check_bodies(self, mass: FloatArray, moments: FloatArray, axes: FloatArray | None, linear: BoolArray) -> None:
        """Raise an error unless these are the bodies of the molecules, as far as their masses are known."""
        kinds = self._kinds(len(mass))
        for k, part in enumerate(self.components):
            if part.body is not None:
                check_same_body(part.body, part.name, np.flatnonzero(kinds == k), mass, moments, axes, linear)

    def atoms(self, count: int) -> BoolArray:
        """Return whether each of `count` bodies is a single atom made by ``from_atoms``."""
        atoms = [part.body is not None and not part.sites.any() for part in self.components]
        return np.array(atoms)[self._kinds(count)]

    def sites_in_space(self, x: FloatArray, Q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the positions (..., N, 3) of all sites in space, body by body, and the index (N,) of their bodies."""
        kinds = self._kinds(x.shape[-2])
        rows = [np.arange(*pair) for pair in pairwise(self._starts)]
        body = np.repeat(np.arange(len(kinds)), np.diff(self._starts)[kinds])
        return place_sites(x, Q, self.sites[np.concatenate([rows[k] for k in kinds])], body)

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Return the dipole moments, shape (..., n, 3), in space axes, of bodies with attitudes Q (..., n, 3, 3).

        They are relative to the mass centers.
        """
        moments = np.add.reduceat(self.charges[:, None] * self.sites, self._starts[:-1])
        return np.einsum("...ij,...j->...i", Q, moments[0 if self.species is None else self.species])

    def __repr__(self) -> str:
        """Return the name with the number of sites or the species, the cut-off and the electrostatics."""
        content = f"{len(self.sites)} sites"
        if self.species is not None:
            counts = np.bincount(self.species, minlength=len(self.components))
            content = ", ".join(f"{n} {part.name}" for n, part in zip(counts, self.components, strict=True))
        return f"{self.name}({content}{self._shown_cutoff()}, {self.electrostatics})"


def _far_charges(kind: Electrostatics | None, permittivity: float, cutoff: float) -> tuple[str, FloatArray]:
    """Return the kind of electrostatics, and its coefficients (c0, c1, c2) of ``kernels.pairs.molecules``."""
    chosen = kind or ("reaction field" if cutoff < inf else "plain")
    known_name("electrostatics", chosen, ("reaction field", "shifted force", "plain"))
    if chosen == "plain":
        return chosen, np.zeros(3)
    if cutoff == inf:
        raise InputError(f"electrostatics = {chosen!r} needs a cut-off: type cutoff=...")
    if chosen == "shifted force":
        return chosen, np.array([-2.0 / cutoff, cutoff**-2.0, 0.0])
    if not permittivity >= 1:
        raise InputError(f"permittivity = {permittivity!r}: expected a number, 1 or more; inf is a conductor")
    part = 1.0 / permittivity  # Tironi et al. 1995, eq. 10, divided by the permittivity
    k = (1 - part) / (2 + part) / cutoff**3
    return chosen, np.array([-(1.0 / cutoff + k * cutoff**2), 0.0, k])
