"""Rigid molecules with Lennard-Jones and Coulomb interactions between their sites, and models of water."""

from __future__ import annotations

from math import acos, cos, inf, radians, sin
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.checks import as_floats, check_finite, unknown_name
from polhode.core.errors import InputError, ShapeError
from polhode.kernels.pairs.molecules import place_sites, sum_molecules
from polhode.systems.interactions.base import as_sites
from polhode.systems.interactions.near import NearInteraction

COULOMB = 138.93545764438198  # e^2 N_A/(4 pi eps_0) in kJ/mol nm, CODATA 2018
BOLTZMANN = 0.00831446261815324  # k_B N_A in kJ/(mol K), which converts a temperature to kT
DALTON_PER_NM3 = 1.66053906660  # in kg/m^3, CODATA 2018, for densities
SITE_PAIR = 4.6e-9  # seconds for a pair of sites
Electrostatics = Literal["reaction field", "shifted force", "plain"]


class Molecular(NearInteraction):
    """Lennard-Jones and Coulomb interaction between the sites of equal molecules.

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

    name = "Molecular"
    body: RigidBody | None = None
    number_density: float | None = None

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
    ) -> None:
        """Check the arguments; see the class for their description."""
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
        C = coulomb * self.charges[:, None] * self.charges
        self._tables = 4 * depth * distance**12, 4 * depth * distance**6, C, far

    @classmethod
    def from_atoms(cls, masses: npt.ArrayLike, positions: npt.ArrayLike, **more: Any) -> Molecular:
        """Return the interaction of molecules that consist of point masses; its ``body`` is one molecule.

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
        weights = as_floats(masses, "masses")
        r = as_floats(positions, "positions", 3)
        if weights.ndim != 1 or not len(weights) or r.shape != (len(weights), 3) or not (weights > 0).all():
            raise ShapeError(f"masses {weights.shape} and positions {r.shape}: expected (s,), positive, and (s, 3)")
        r = r - r[0]  # so that the mass center of a single atom is exact
        r = r - weights @ r / weights.sum()
        _, spread, axes = np.linalg.svd(r * np.sqrt(weights)[:, None])
        axes[2] *= np.linalg.det(axes)
        second = np.pad(spread, (0, 3 - len(spread))) ** 2
        moments = second.sum() - second
        mass = float(weights.sum())
        if not second[0]:
            body = RigidBody((mass, mass, mass), mass=mass)
        elif second[1] <= 1e-24 * second[0]:
            body = RigidBody.linear(moments[1], mass=mass)
        else:
            body = RigidBody.from_moments(moments, mass=mass)
        molecules = cls(r @ axes.T, **more)
        molecules.body = body
        return molecules

    def _of_sites(self, value: npt.ArrayLike, name: str) -> FloatArray:
        """Return a parameter of the sites as an array of shape (s,)."""
        numbers = as_floats(value, name)
        if numbers.shape not in ((), (len(self.sites),)):
            raise ShapeError(f"{name} has shape {numbers.shape}; expected a number, or ({len(self.sites)},)")
        check_finite(np.atleast_1d(numbers), name, InputError)
        return np.array(np.broadcast_to(numbers, (len(self.sites),)))

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return the energy."""
        arms = np.empty((len(x), self.sites.size))  # sites relative to the mass centers, in space axes
        place_sites(Q, self.sites, arms)
        return self._sum(sum_molecules, (arms, *self._tables), x, force, torque, SITE_PAIR * len(self.sites) ** 2)

    def dipoles(self, Q: FloatArray) -> FloatArray:
        """Return the dipole moments, shape (..., n, 3), in space axes, of bodies with attitudes Q (..., n, 3, 3)."""
        return np.einsum("...ij,j->...i", Q, self.charges @ self.sites)

    def __repr__(self) -> str:
        """Return the name with the number of sites, the cut-off and the electrostatics."""
        return f"{self.name}({len(self.sites)} sites{self._shown_cutoff()}, {self.electrostatics})"


def _far_charges(kind: Electrostatics | None, permittivity: float, cutoff: float) -> tuple[str, FloatArray]:
    """Return the kind of electrostatics, and its coefficients (c0, c1, c2) of ``kernels.pairs.molecules``."""
    chosen = kind or ("reaction field" if cutoff < inf else "plain")
    known = "reaction field", "shifted force", "plain"
    if chosen not in known:
        raise unknown_name("electrostatics", chosen, known)
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


class WaterModel(NamedTuple):
    """Parameters of a model of water with three sites."""

    bond: float  # nm
    angle: float  # degrees
    charge: float  # of the oxygen, in elementary charges
    sigma: float  # of the oxygen, nm
    epsilon: float  # of the oxygen, kJ/mol


TETRAHEDRAL = np.degrees(acos(-1 / 3))
SPC_SIGMA, SPC_EPSILON = 0.3428**2 / 0.37122, (0.37122 / 0.3428) ** 12 / 4  # -(0.37122 nm/r)^6 + (0.3428 nm/r)^12
WATERS = {
    "SPC": WaterModel(0.1, TETRAHEDRAL, -0.82, SPC_SIGMA, SPC_EPSILON),  # Berendsen et al. 1981
    "SPC/E": WaterModel(0.1, TETRAHEDRAL, -0.8476, SPC_SIGMA, SPC_EPSILON),  # Berendsen et al. 1987
    "TIP3P": WaterModel(0.09572, 104.52, -0.834, 0.315061, 0.1521 * 4.184),  # Jorgensen et al. 1983
}
OXYGEN, HYDROGEN = 15.9994, 1.008  # u
WATER_DENSITY = 997.0  # kg/m^3 at 25 C


def water(model: str = "SPC/E", *, cutoff: float | None = 0.9, **more: Any) -> Molecular:
    """Return a model of rigid water with the sites O, H, H, in units of nm, ps, u and kJ/mol.

    Its ``body`` is one molecule, and its ``number_density`` that of the liquid at 25 C in molecules per nm^3, which
    ``System.liquid`` uses by default. kT is ``BOLTZMANN`` times the temperature in K.

    Parameters
    ----------
    model : {"SPC", "SPC/E", "TIP3P"}, optional
        Name of the model. The default is "SPC/E".
    cutoff : float or None, optional
        Cut-off in nm; None for none. The default is 0.9.
    **more
        Further arguments of ``Molecular``.

    Returns
    -------
    Molecular
        The interaction.

    Raises
    ------
    UnknownNameError
        If `model` is unknown.

    Examples
    --------
    >>> model = water("SPC/E")
    >>> model.body
    RigidBody((0.005968, 0.01344, 0.019408), mass=18.0154)
    >>> float(np.linalg.norm(model.charges @ model.sites) * 48.0320471).__round__(2)  # dipole in debye
    2.35
    """
    if model not in WATERS:
        raise unknown_name("water", model, WATERS)
    bond, angle, charge, sigma, epsilon = WATERS[model]
    half = radians(angle) / 2
    masses = np.array([OXYGEN, HYDROGEN, HYDROGEN])
    r = bond * np.array([(0, 0, 0), (sin(half), 0, cos(half)), (-sin(half), 0, cos(half))])
    molecules = Molecular.from_atoms(
        masses, r, charges=[charge, -charge / 2, -charge / 2], sigma=[sigma, 0, 0], epsilon=[epsilon, 0, 0],
        cutoff=cutoff, **more,
    )  # fmt: skip
    molecules.name = model
    molecules.number_density = WATER_DENSITY / (DALTON_PER_NM3 * float(masses.sum()))
    return molecules
