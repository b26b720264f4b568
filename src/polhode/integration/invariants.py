"""What should stay as it is in a run, and by how much it did not, state by state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.vectors import length

if TYPE_CHECKING:
    from polhode.integration.trajectory import Trajectory


def drifts(traj: Trajectory) -> dict[str, FloatArray]:
    """By how much invariants are off, (k,) + batch each: relative to what they were at the start, but for |q|.

    Energy where the force has one that does not depend on time, and takes none away; of a free body |m| and the
    momentum in space; with a force that knows a symmetry axis, the momentum along it.

    >>> from polhode import Problem, State, forces, integrate
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> {name: drift.shape for name, drift in drifts(integrate(top, h=0.05)).items()}
    {'|q|': (201,), 'energy': (201,), 'm along axis': (201,)}
    """
    force, size = traj.problem.force, length(traj.m[0])
    size = np.where(size > 0, size, 1.0)
    found = {"|q|": length(traj.q) - 1.0}
    if force is None or (force.has_energy and not force.time_dependent and not np.any(force.damping)):
        energy = traj.energy
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where there is no energy at the start
            found["energy"] = energy / energy[0] - 1.0
    if force is None:
        found["|m|"] = length(traj.m) / size - 1.0
        found["Q m"] = length(traj.m_space - traj.m_space[0]) / size
    elif force.axis is not None:
        along = traj.m_space @ force.axis
        found["m along axis"] = (along - along[0]) / size
    return found
