"""What an integration returns: states at the times that were asked for, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.checks import IDENTITY
from polhode.core.html import html_fields
from polhode.core.rotation import as_rotation, multiply
from polhode.core.state import State
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.invariants import drifts
from polhode.integration.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from scipy.spatial.transform import Rotation

REACHED_END, ENDED_BY_EVENT, FAILED, INTERRUPTED = 0, 1, -1, -2  # statuses, as in SciPy


@dataclass(frozen=True)
class Stats:
    """What a run cost: of all bodies together, and seconds.

    ``steps``, ``torques`` (evaluations), ``iterations`` (of methods that solve equations) and ``rejected`` (steps, of
    methods that choose them).
    """

    steps: int
    torques: int
    seconds: float
    iterations: int = 0
    rejected: int = 0


class Trajectory(BaseTrajectory):
    """What an integration returns: states at the saved times, and what follows from them.

    Made by ``integrate``, ``load`` and ``resume``.

    Attributes
    ----------
    t : ndarray of shape (k,)
        Times.
    m : ndarray of shape (k,) + batch + (3,)
        Angular momentum in body axes.
    q : ndarray of shape (k,) + batch + (4,)
        Attitude, scalar first, body to space.
    status : int, or ndarray of shape batch
        How each body ended: 0 at the end of the time span, 1 by an event, -1 because it could not go on, -2 because the
        run was interrupted. Rows after that are NaN.
    message : str
        What was chosen, or why the run ended early.
    problem : Problem
        What was integrated.
    method : method
        How it was integrated.
    h : float
        Step size.
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
    """

    def __init__(
        self,
        problem: Problem,
        t: FloatArray,
        m: FloatArray,
        q: FloatArray,
        *,
        method: Any,
        h: float,
        stats: Stats,
        status: Any = 0,
        message: str = "",
        sol: Any = None,
        events: tuple[list[Any], list[Any], list[Any]] | None = None,
    ) -> None:
        self.problem, self.t, self.m, self.q = problem, t, m, q
        self.method, self.h, self.stats = method, h, stats
        self.status, self.message, self._sol = status, message, sol
        self.t_events: Any
        self.m_events: Any
        self.q_events: Any
        self.t_events, self.m_events, self.q_events = events or (None, None, None)
        self.error_estimate: tuple[float, float] | None = None

    @property
    def sol(self) -> Any:
        """A function of times (...): (m, q), (...) + batch + (3,) and (4,); steps are repeated from stored states."""
        if self._sol is None:
            raise AttributeError(f"steps of {self.method!r} were not kept; type integrate(..., dense_output=True)")
        return self._sol

    @property
    def body(self) -> RigidBody:
        """The body, or bodies."""
        return self.problem.body

    @property
    def omega(self) -> FloatArray:
        """Angular velocity in body axes, (k,) + batch + (3,)."""
        return self.body.omega(np.nan_to_num(self.m)) + 0.0 * self.m

    @property
    def rotation(self) -> Rotation:
        """Attitudes as a SciPy Rotation, of one body."""
        return as_rotation(self.q)

    @property
    def quaternion_momentum(self) -> FloatArray:
        """Momentum conjugate to the quaternion, p = 2 q (0, m), (k,) + batch + (4,) (Betsch and Siebert 2009)."""
        return 2.0 * multiply(self.q, np.concatenate([np.zeros_like(self.m[..., :1]), self.m], axis=-1))

    @property
    def multipliers(self) -> FloatArray:
        """Lagrange multipliers of ``|q| = 1`` for steps of ``QuatEM`` and ``QuatVI``, (k - 1,), every step being saved.

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
        """Kinetic energy, (k,) + batch."""
        return 0.5 * np.sum(self.m * self.omega, axis=-1)

    @property
    def potential(self) -> FloatArray:
        """Potential energy, (k,) + batch; AttributeError, naming the force, if it has none."""
        force = self.problem.force
        if force is None:
            return np.zeros(self.m.shape[:-1])
        times = self.t.reshape(-1, *(1,) * (self.m.ndim - 2))
        reached = np.asarray(np.isfinite(self.q).all(axis=-1))
        return np.where(reached, force.potential(times, np.where(reached[..., None], self.q, IDENTITY)), np.nan)

    def invariants(self) -> dict[str, float]:
        """What should stay, and the largest amount by which it did not: relative, but for ``|q|``.

        Energy where the force has one and takes none away; of a free body ``|m|`` and the momentum in space; with a
        force that knows a symmetry axis, the momentum along it.
        """
        return {name: float(np.nanmax(np.abs(drift))) if drift.size else 0.0 for name, drift in drifts(self).items()}

    def state(self, index: int = -1) -> State:
        """The state at one of the times: the last, unless told otherwise."""
        return self.problem.state.replaced(self.m[index], self.q[index])

    def to_xarray(self) -> Any:
        """As an ``xarray.Dataset``, with units and frames in its attributes."""
        from polhode.files.saving import to_xarray

        return to_xarray(self)

    def save(self, path: Any, **options: Any) -> None:
        """To a file whose name ends in .nc (netCDF), .zarr, .csv or .aem (CCSDS, see ``polhode.files.aem.write``)."""
        from polhode.files.saving import save

        save(self, path, **options)

    def plot(self, *kinds: str) -> Figure:
        """Plot the panels that are named, or those that suit the trajectory: see ``polhode.plot.plot_trajectory``.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; in a script, ``matplotlib.pyplot.show()`` does.
        """
        from polhode.show.plot import plot_trajectory

        return plot_trajectory(self, kinds or None)

    def __repr__(self) -> str:
        batch = "x".join(map(str, self.m.shape[1:-1]))
        head = f"Trajectory of {self.problem.name or 'a body'}" + (f" ({batch} bodies)" if batch else "")
        return self._description(head, "torques")

    def _repr_html_(self) -> str:
        return html_fields(
            f"Trajectory of {self.problem.name or 'a body'}",
            {
                "states": len(self.t),
                "bodies": " x ".join(map(str, self.m.shape[1:-1])),
                "time": f"{self.t[0]:g} to {self.t[-1]:g}",
                "method": self.method,
                "step": f"{self.h:g}",
                "steps": self.stats.steps,
                "torques": self.stats.torques,
                "seconds": f"{self.stats.seconds:.3g}",
                "end": "reached" if self.success else "not reached",
                "message": self.message,
            },
        )
