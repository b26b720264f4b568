"""Models of rigid water with three sites."""

from __future__ import annotations

from math import acos, cos, radians, sin
from typing import Any, NamedTuple

import numpy as np

from polhode.core.checks import known_name
from polhode.systems.interactions.molecular import Molecular

DALTON_PER_NM3 = 1.66053906660  # in kg/m^3, CODATA 2018, for densities


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
    bond, angle, charge, sigma, epsilon = WATERS[known_name("water", model, WATERS)]
    half = radians(angle) / 2
    masses = np.array([OXYGEN, HYDROGEN, HYDROGEN])
    r = bond * np.array([(0, 0, 0), (sin(half), 0, cos(half)), (-sin(half), 0, cos(half))])
    molecules = Molecular.from_atoms(
        masses, r, charges=[charge, -charge / 2, -charge / 2], sigma=[sigma, 0, 0], epsilon=[epsilon, 0, 0],
        cutoff=cutoff, name=model, **more,
    )  # fmt: skip
    molecules.number_density = WATER_DENSITY / (DALTON_PER_NM3 * float(masses.sum()))
    return molecules
