"""Drift of conserved quantities of a system along a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.vectors import length

if TYPE_CHECKING:
    from polhode.systems.trajectory import SystemTrajectory


def system_drifts(traj: SystemTrajectory) -> dict[str, FloatArray]:
    """Return the drifts of the conserved quantities of a system.

    The energy is included if the interaction has one; its drift is relative to the energy at the start, or absolute if
    that is zero. The drifts of the total momenta are relative to the largest sum of the lengths of the momenta of all
    bodies. In a periodic box the angular momentum is not conserved and not included.

    Parameters
    ----------
    traj : SystemTrajectory
        The trajectory.

    Returns
    -------
    dict of str to ndarray
        For each quantity an array of shape (k,).

    Examples
    --------
    >>> from polhode import RigidBody, System, integrate
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)
    >>> {name: drift.shape for name, drift in system_drifts(integrate(gas, (0, 1), h=0.1)).items()}
    {'energy': (11,), 'momentum': (11,), 'angular momentum': (11,)}
    """
    drift = {}
    energy = energy_of(traj)
    if energy is not None:
        drift["energy"] = energy / energy[0] - 1.0 if energy[0] else energy
    drift["momentum"] = _relative(traj.momentum, traj.p)
    if not traj.system.box.repeats:
        drift["angular momentum"] = _relative(traj.angular_momentum, np.cross(traj.x, traj.p) + traj.m_space)
    return drift


def energy_of(traj: SystemTrajectory) -> FloatArray | None:
    """Return the total energy, shape (k,), computed or as it was stored; None if the interaction has no energy."""
    return getattr(traj, "energy", None)


def _relative(total: FloatArray, parts: FloatArray) -> FloatArray:
    """Return the change of `total` (k, 3) in units of the largest sum of the lengths of its parts (k, n, 3)."""
    size = float(length(parts).sum(axis=-1).max())
    return length(total - total[0]) / (size or 1.0)
