"""Result of an integration: states at the saved times, and quantities computed from them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polhode.core.arrays import FloatArray, frozen
from polhode.core.body import RigidBody, velocity_of
from polhode.core.checks import IDENTITY
from polhode.core.rotation import as_rotation, quaternion_momentum
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.invariants import drifts
from polhode.integration.problem import Problem

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


def velocities(problem: Problem, m: FloatArray) -> FloatArray:
    """Return the angular velocities of momenta m, (k,) + batch + (3,); NaN where m is."""
    return velocity_of(problem.body, m)


def potentials(problem: Problem, t: FloatArray, q: FloatArray) -> FloatArray:
    """Return the potential energies at times (k,) and attitudes (k,) + batch + (4,); NaN where q is."""
    times = t.reshape(-1, *(1,) * (q.ndim - 2))
    reached = np.asarray(np.isfinite(q).all(axis=-1))
    return np.where(reached, problem.force.potential(times, np.where(reached[..., None], q, IDENTITY)), np.nan)


def energies(problem: Problem, t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
    """Return the energies at times (k,) of momenta (k,) + batch + (3,) and attitudes (k,) + batch + (4,)."""
    return 0.5 * np.sum(m * velocities(problem, m), axis=-1) + potentials(problem, t, q)


class Trajectory(BaseTrajectory, source="problem", states=("m", "q")):
    """Result of an integration: states at the saved times, and quantities computed from them.

    Trajectories are returned by ``integrate``, ``load`` and ``resume``. They never change:
    ``traj.replaced(message=...)`` returns a changed copy. Trajectories are equal if their problems, methods, times,
    states, steps and statuses are, whatever the run time. ``traj[i]`` is a State, ``traj[10:20]`` a trajectory.

    Attributes
    ----------
    t : ndarray of shape (k,)
        Times.
    m : ndarray of shape (k,) + batch + (3,)
        Angular momentum in body axes.
    q : ndarray of shape (k,) + batch + (4,)
        Attitude, scalar first, body to space.
    status : Status, or ndarray of int of shape batch
        Status of each body: 0 if it reached the end of the time span, 1 if an event ended its run, and negative if it
        failed, with the reason ``Status(number)``. Rows after a failure are NaN.
    message : str
        The chosen method, or the reason why the run ended early.
    failure : str
        What stopped the first body that failed, without its name; empty if none failed.
    problem : Problem
        The problem that was integrated.
    method : method
        The method of integration.
    h : float, or ndarray of the shape of the batch
        Step size of all bodies, or of each; NaN if the method has chosen the steps.
    stats : Stats
        Cost.
    t_events : list, or None
        For each event an array of times; for a batch, a list with one array for each body.
    m_events : list, or None
        Angular momenta at these times.
    q_events : list, or None
        Attitudes at these times.
    error_estimate : tuple of two floats, or None
        Error of m relative to ``|m|`` and error of q at the end, if they were estimated.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.heavy_top(), method="ABA1064", h=0.5)
    >>> traj.m.shape, traj.q.shape, traj.success
    ((41, 3), (41, 4), True)
    >>> bool(abs(traj.energy_error()).max() < 1e-12)
    True
    >>> traj[0] == traj.problem.state, len(traj[10:20]), [state.m.shape for state in traj[:2]]
    (True, 10, [(3,), (3,)])
    """

    _kind: ClassVar = "a body"
    _evaluations: ClassVar = "torques"
    problem: Problem
    m_events: Any
    q_events: Any

    @property
    def body(self) -> RigidBody:
        """Body or batch of bodies."""
        return self.problem.body

    @property
    def omega(self) -> FloatArray:
        """Angular velocity in body axes, of shape (k,) + batch + (3,)."""
        return velocities(self.problem, self.m)

    @property
    def rotation(self) -> Rotation:
        """Attitudes of a single body as a SciPy Rotation."""
        return as_rotation(self.q)

    @property
    def quaternion_momentum(self) -> FloatArray:
        """Momentum conjugate to the quaternion, p = 2 q (0, m), (k,) + batch + (4,) (Betsch and Siebert 2009)."""
        return quaternion_momentum(self.m, self.q)

    @property
    def multipliers(self) -> FloatArray:
        """Lagrange multipliers of ``|q| = 1`` for the steps of ``QuatEM`` and ``QuatVI``, of shape (k - 1,).

        An AttributeError is raised for other methods, for batches, and unless every step was saved.

        With p = ``quaternion_momentum``, the constraint adds -multiplier q to dp/dt (Betsch and Siebert 2009, Remarks
        4.2 and 4.3, and (E1)). Those of ``QuatVI`` contain the curvature of the unit sphere, also without a force.
        """
        if not hasattr(self.method, "multipliers"):
            raise AttributeError(f"steps of {self.method!r} have no multipliers; those of QuatEM() and QuatVI() do")
        if self.m.ndim > 2 or self.stats.steps != len(self.t) - 1:
            raise AttributeError("multipliers belong to steps of one body; type integrate(..., save_every=1)")
        return self.method.multipliers(self.problem.force, self.problem.body.tensor, self.t, self.q)

    @property
    def kinetic(self) -> FloatArray:
        """Kinetic energy, of shape (k,) + batch."""
        return 0.5 * np.sum(self.m * self.omega, axis=-1)

    @cached_property
    def potential(self) -> FloatArray:
        """Potential energy, of shape (k,) + batch, computed once; read-only.

        An AttributeError is raised if the force has no energy.
        """
        return frozen(potentials(self.problem, self.t, self.q))

    def _drifts(self) -> dict[str, FloatArray]:
        """Return the drifts of the conserved quantities."""
        return drifts(self)

    def columns(self) -> dict[str, FloatArray]:
        """Return the quantities of a table by name, of shapes (k,) + batch and (k,) + batch + (3 or 4,)."""
        columns = {"m": self.m, "q": self.q, "omega": self.omega}
        return columns | ({"energy": self.energy} if self.problem.force.has_energy else {})
