"""OpenMM as an engine of ``SiteForces``, in its units of nm, ps, u and kJ/mol."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.extras import optional


class OpenMM:
    """Engine of ``SiteForces`` that evaluates an ``openmm.System``, whose particles are the sites, body by body.

    The attribute ``box`` has the lengths of its periodic box, of shape (3,), or is None if no force is periodic.

    Parameters
    ----------
    system : openmm.System
        System of particles. It must not contain bonds, angles or constraints inside a body.
    platform : str, optional
        Platform of OpenMM. "Reference", the default, computes in double precision, "CPU" in single precision; both need
        no special hardware.

    Raises
    ------
    InputError
        If the platform is unknown, the system has constraints, or its box is not rectangular.

    Examples
    --------
    >>> particles = openmm.System()  # doctest: +SKIP
    >>> particles.addParticle(1.0)  # doctest: +SKIP
    >>> OpenMM(particles).evaluate(np.zeros((1, 1, 3)))  # doctest: +SKIP
    (0.0, array([[[0., 0., 0.]]]))
    """

    def __init__(self, system: Any, platform: str = "Reference") -> None:
        """Create the context of OpenMM; see the class for the arguments."""
        with optional("openmm", "openmm"):
            import openmm
        names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]
        if platform not in names:
            raise InputError(f"platform = {platform!r}: expected one of {', '.join(names)}, which OpenMM has here")
        if system.getNumConstraints():
            raise InputError(
                f"the OpenMM system has {system.getNumConstraints()} constraints; expected none, for rigid bodies; "
                "type ForceField.createSystem(..., constraints=None, rigidWater=False), and remove forces inside bodies"
            )
        self.particles = system.getNumParticles()
        lengths = np.array([_plain(v) for v in system.getDefaultPeriodicBoxVectors()])
        self.box = np.diag(lengths) if system.usesPeriodicBoundaryConditions() else None
        if self.box is not None and np.abs(lengths - np.diag(self.box)).max() > 0:
            raise InputError(f"the box of the OpenMM system is {lengths.tolist()}; expected right angles")
        integrator = openmm.VerletIntegrator(0.001)  # a context requires an integrator, which makes no step
        self._context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform))

    def __reduce__(self) -> Any:
        """Return the arguments for pickle and copy; a context belongs to its process."""
        return OpenMM, (self._context.getSystem(), self._context.getPlatform().getName())

    def evaluate(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """Return the energy in kJ/mol, and forces (n, s, 3) in kJ/(mol nm), for positions (n, s, 3) in nm."""
        rows = positions.reshape(-1, 3)
        if len(rows) != self.particles:
            raise InputError(
                f"got {len(rows)} sites; expected {self.particles}, the number of particles of the OpenMM system"
            )
        self._context.setPositions(rows)
        state = self._context.getState(getEnergy=True, getForces=True)
        forces = _plain(state.getForces(asNumpy=True))
        return float(_plain(state.getPotentialEnergy())), np.asarray(forces).reshape(positions.shape)


def _plain(quantity: Any) -> Any:
    """Return a quantity of OpenMM as numbers in units of nm, ps, u and kJ/mol."""
    from openmm import unit

    return quantity.value_in_unit_system(unit.md_unit_system)
