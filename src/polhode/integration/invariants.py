"""Drift of conserved quantities along a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.vectors import length

if TYPE_CHECKING:
    from polhode.integration.trajectory import Trajectory


def drifts(traj: Trajectory) -> dict[str, FloatArray]:
    """Return the drifts of the conserved quantities, relative to their values at the start.

    The drift of ``|q|`` is absolute. The energy is included if the force has one that does not depend on time, and no
    damping; ``|m|`` and the momentum in space if the body is free; the momentum along the symmetry axis of the force if
    it has one.

    Parameters
    ----------
    traj : Trajectory
        The trajectory.

    Returns
    -------
    dict of str to ndarray
        For each quantity an array of shape (k,) + batch.

    Examples
    --------
    >>> from polhode import Problem, State, forces, integrate
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> {name: drift.shape for name, drift in drifts(integrate(top, h=0.05)).items()}
    {'|q|': (201,), 'energy': (201,), 'm along axis': (201,)}
    """
    force = traj.problem.force
    size = length(traj.m[0])
    size = np.where(size > 0, size, 1.0)
    drift = {"|q|": length(traj.q) - 1.0}
    if force.has_energy and not force.time_dependent and not force.is_damped:
        energy = traj.energy
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where there is no energy at the start
            drift["energy"] = energy / energy[0] - 1.0
    if force.is_zero:
        drift["|m|"] = length(traj.m) / size - 1.0
        drift["Q m"] = length(traj.m_space - traj.m_space[0]) / size
    elif force.axis is not None:
        along = traj.m_space @ force.axis
        drift["m along axis"] = (along - along[0]) / size
    return drift
