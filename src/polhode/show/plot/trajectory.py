"""Figures of trajectories: errors of invariants, momentum, attitude, polhode and herpolhode.

Of a batch, the first bodies are drawn, and the median and the largest error over all bodies. Of a run of very many
turns, the curves show the first ones, and errors are drawn for the whole run: the largest in each of many intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polhode.integration.invariants import drifts
from polhode.show.plot.curves import curves_of
from polhode.show.plot.layout import Place, arranged, checked_kinds
from polhode.show.plot.panels import ACROSS, PANELS
from polhode.show.plot.system import plot_system
from polhode.systems.trajectory import SystemTrajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.integration.trajectory import Trajectory


def plot_trajectory(traj: Trajectory | SystemTrajectory, kinds: Sequence[str] | None = None) -> Figure:
    """Plot several panels of a trajectory in one figure.

    Parameters
    ----------
    traj : Trajectory or SystemTrajectory
        Result of ``integrate``.
    kinds : sequence of str, optional
        Panels: "polhode" and "herpolhode" (on the left), "momentum", "attitude", "energy" and "errors" (on the right,
        over time). Panels of a system: "space" (on the left), with the paths of up to 12 bodies, or the positions of
        more bodies at the end, and "energy", "temperature" and "errors". By default, those that suit the trajectory.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        If `kinds` is empty or contains an unknown name, or if the trajectory of a system has no states.

    Examples
    --------
    >>> from polhode import Problem, State, forces, integrate
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> len(plot_trajectory(integrate(top, h=0.05), ["momentum", "attitude"]).axes)
    2
    """
    if isinstance(traj, SystemTrajectory):
        return plot_system(traj, kinds)
    chosen = _default_kinds(traj) if kinds is None else checked_kinds(kinds, PANELS)
    curves = curves_of(traj)
    return arranged(traj.problem.summary, chosen, _place, lambda kind, axes: PANELS[kind](axes, traj, curves))


def _place(kind: str) -> Place:
    """Return the place of a panel; polhode and herpolhode are on the left, the polhode on a sphere."""
    solid = kind == "polhode"
    return Place(left=kind in ACROSS, solid=solid, height=1.3 if solid else 1.0)


def plot_errors(traj: Trajectory | SystemTrajectory) -> Figure:
    """Plot the errors of the invariants, such as energy, momenta and ``|q|``, over time on a logarithmic axis.

    Parameters
    ----------
    traj : Trajectory or SystemTrajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_errors(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["errors"])


def plot_energy(traj: Trajectory | SystemTrajectory) -> Figure:
    """Plot kinetic, potential and total energy over time; the force must have an energy.

    Parameters
    ----------
    traj : Trajectory or SystemTrajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_energy(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["energy"])


def plot_momentum(traj: Trajectory) -> Figure:
    """Plot the components of the angular momentum in body axes over time.

    Parameters
    ----------
    traj : Trajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_momentum(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["momentum"])


def plot_attitude(traj: Trajectory) -> Figure:
    """Plot the components of the attitude quaternion (body to space) over time.

    Parameters
    ----------
    traj : Trajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_attitude(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["attitude"])


def plot_polhode(traj: Trajectory) -> Figure:
    """Plot the direction of the angular momentum in body axes on a sphere, with the separatrices of the free body.

    Parameters
    ----------
    traj : Trajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_polhode(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["polhode"])


def plot_herpolhode(traj: Trajectory) -> Figure:
    """Plot the angular velocity in space, seen along the symmetry axis of the force or the initial momentum.

    Parameters
    ----------
    traj : Trajectory
        Result of ``integrate``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> len(plot_herpolhode(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["herpolhode"])


def _default_kinds(traj: Trajectory) -> list[str]:
    """Return all panels, without "energy" if the energy is conserved or the force has none."""
    conserved = "energy" in drifts(traj)
    energy = [] if conserved or not traj.problem.force.has_energy else ["energy"]
    return ["polhode", "herpolhode", "momentum", "attitude", *energy, "errors"]


KINDS: dict[str, Callable[[Trajectory], Figure]] = {
    "overview": plot_trajectory,
    "errors": plot_errors,
    "momentum": plot_momentum,
    "attitude": plot_attitude,
    "energy": plot_energy,
    "polhode": plot_polhode,
    "herpolhode": plot_herpolhode,
}
