"""OpenMM as an engine. Units are its own: nm, ps, u, kJ/mol."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.extras import optional


class OpenMM:
    """An ``openmm.System`` whose particles are the sites of bodies, body by body; to be used in ``SiteForces``.

    ``box`` (3,) are the lengths of its periodic box, None if no force is periodic.

    Parameters
    ----------
    system : openmm.System
        Its forces act between particles; bonds, angles and constraints inside a body have no place in it.
    platform : str, optional
        "Reference" and "CPU" need no other hardware; the first works in double precision, the second in single.

    Examples
    --------
    >>> particles = openmm.System()  # doctest: +SKIP
    >>> particles.addParticle(1.0)  # doctest: +SKIP
    >>> OpenMM(particles).evaluate(np.zeros((1, 1, 3)))  # doctest: +SKIP
    (0.0, array([[[0., 0., 0.]]]))
    """

    def __init__(self, system: Any, platform: str = "Reference") -> None:
        with optional("openmm", "openmm"):
            import openmm
        names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]
        if platform not in names:
            raise InputError(f"platform = {platform!r}: OpenMM has {', '.join(names)} here")
        if system.getNumConstraints():
            raise InputError(
                f"the OpenMM system has {system.getNumConstraints()} constraints: bodies are rigid without them; type "
                "ForceField.createSystem(..., constraints=None, rigidWater=False), and take forces inside bodies out"
            )
        self.particles = system.getNumParticles()
        lengths = np.array([_plain(v) for v in system.getDefaultPeriodicBoxVectors()])
        self.box = np.diag(lengths) if system.usesPeriodicBoundaryConditions() else None
        if self.box is not None and np.abs(lengths - np.diag(self.box)).max() > 0:
            raise InputError(f"the box of the OpenMM system is {lengths.tolist()}; expected right angles")
        integrator = openmm.VerletIntegrator(0.001)  # a context has to have one; it makes no step
        self._context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform))

    def evaluate(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """Energy in kJ/mol, and forces in kJ/(mol nm), for places (n, s, 3) in nm."""
        rows = positions.reshape(-1, 3)
        if len(rows) != self.particles:
            raise InputError(f"{len(rows)} sites came, and the OpenMM system has {self.particles} particles")
        self._context.setPositions(rows)
        state = self._context.getState(getEnergy=True, getForces=True)
        forces = _plain(state.getForces(asNumpy=True))
        return float(_plain(state.getPotentialEnergy())), np.asarray(forces).reshape(positions.shape)


def _plain(quantity: Any) -> Any:
    """Numbers in nm, ps, u, kJ/mol."""
    from openmm import unit

    return quantity.value_in_unit_system(unit.md_unit_system)
