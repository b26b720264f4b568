"""Result of an integration: states at the saved times, and quantities computed from them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polhode.core.arrays import FloatArray, frozen
from polhode.core.body import RigidBody, velocity_of
from polhode.core.checks import IDENTITY
from polhode.core.html import html_fields
from polhode.core.rotation import as_rotation, quaternion_momentum
from polhode.core.state import State
from polhode.integration.base_trajectory import BaseTrajectory, Stats, step_text
from polhode.integration.invariants import drifts
from polhode.integration.problem import Problem
from polhode.methods.method import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure
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


class Trajectory(BaseTrajectory):
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

    _replaceable: ClassVar = (
        "problem", "t", "m", "q", "method", "h", "stats", "status", "message", "failure", "sol", "events",
        "error_estimate",
    )  # fmt: skip
    _event_names: ClassVar = ("t_events", "m_events", "q_events")
    _in_time: ClassVar[tuple[str, ...]] = ("t", "m", "q")
    _compared: ClassVar = ("problem", "method", "h", "status")
    problem: Problem
    m_events: Any
    q_events: Any

    def __init__(
        self,
        problem: Problem,
        t: FloatArray,
        m: FloatArray,
        q: FloatArray,
        *,
        method: Method,
        h: Any,
        stats: Stats,
        status: Any = 0,
        message: str = "",
        failure: str = "",
        sol: Any = None,
        events: tuple[list[Any], ...] | None = None,
        error_estimate: tuple[float, ...] | None = None,
    ) -> None:
        """Store the states and the data of the run; see the class for their description."""
        self._set(
            problem=problem, t=t, m=m, q=q, method=method, h=h, stats=stats, status=status, message=message,
            failure=failure, sol=sol, events=events, error_estimate=error_estimate,
        )  # fmt: skip

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

    def invariants(self) -> dict[str, float]:
        """Return the largest drift of each conserved quantity, relative to its value at the start.

        The drift of ``|q|`` is absolute. The energy is included if the force has one and no damping; ``|m|`` and the
        momentum in space if the body is free; the momentum along the symmetry axis of the force if it has one.

        Returns
        -------
        dict of str to float
            The largest absolute drift of each quantity, of all states and bodies.
        """
        return {name: float(np.nanmax(np.abs(drift))) if drift.size else 0.0 for name, drift in drifts(self).items()}

    def state(self, index: int = -1) -> State:
        """Return the state at one of the saved times.

        Parameters
        ----------
        index : int, optional
            Index of the time. The default is -1, the last time.

        Returns
        -------
        State
            The state of the body or of the batch.

        Raises
        ------
        IndexError
            If there is no such time.
        """
        row = self._row(index)
        return self.problem.state._exactly(m=self.m[row].copy(), q=self.q[row].copy())

    def columns(self) -> dict[str, FloatArray]:
        """Return the quantities of a table by name, of shapes (k,) + batch and (k,) + batch + (3 or 4,)."""
        columns = {"m": self.m, "q": self.q, "omega": self.omega}
        return columns | ({"energy": self.energy} if self.problem.force.has_energy else {})

    def to_xarray(self) -> Any:
        """Return the trajectory as an ``xarray.Dataset``, with units and frames in its attributes."""
        from polhode.files.saving import to_xarray

        return to_xarray(self)

    def save(self, path: Any, **options: Any) -> None:
        """Save the trajectory to a file.

        Parameters
        ----------
        path : str or path-like
            Path whose name ends in .nc (netCDF), .zarr, .csv or .aem (CCSDS, see ``polhode.files.aem.write``).
        **options
            Further arguments of the writer of this format.
        """
        from polhode.files.saving import save

        save(self, path, **options)

    def plot(self, *kinds: str) -> Figure:
        """Plot the trajectory; see ``polhode.plot.plot_trajectory``.

        Parameters
        ----------
        *kinds : str
            Names of the panels. By default the panels are chosen to suit the trajectory.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. In a script, show it by ``matplotlib.pyplot.show()``.
        """
        from polhode.show.plot import plot_trajectory

        return plot_trajectory(self, kinds or None)

    def __repr__(self) -> str:
        """Return a one-line summary: the states, the method, the cost and the status of the run."""
        batch = "x".join(map(str, self.m.shape[1:-1]))
        head = f"Trajectory of {self.problem.name or 'a body'}" + (f" ({batch} bodies)" if batch else "")
        return self._description(head, "torques")

    def _repr_html_(self) -> str:
        """Return a summary as an HTML table, for notebooks."""
        return html_fields(
            f"Trajectory of {self.problem.name or 'a body'}",
            {
                "states": len(self.t),
                "bodies": " x ".join(map(str, self.m.shape[1:-1])),
                "time": f"{self.t[0]:g} to {self.t[-1]:g}" if len(self) else "",
                "method": self.method,
                "step": step_text(self.h).removeprefix("h = "),
                "steps": self.stats.steps,
                "torques": self.stats.torques,
                "seconds": f"{self.stats.seconds:.3g}",
                "end": "reached" if self.success else "not reached",
                "message": self.message,
            },
        )
