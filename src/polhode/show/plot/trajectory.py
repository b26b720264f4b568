"""Trajectories: what should stay, momentum, attitude, and the curves of m on its sphere and of omega in space.

Of a batch the first few bodies are drawn, and of errors the median and the largest. Of a run of very many turns the
curves show the first of them, and errors all: the largest in each of many stretches of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polhode.core.checks import near
from polhode.core.errors import InputError
from polhode.integration.invariants import drifts
from polhode.show.plot.curves import curves_of
from polhode.show.plot.panels import ACROSS, PANELS
from polhode.show.plot.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.integration.trajectory import Trajectory


def plot_trajectory(traj: Trajectory, kinds: Sequence[str] | None = None) -> Figure:
    """Several panels in one Figure; ``kinds`` is a choice of "polhode", "herpolhode" (on the left), "momentum",
    "attitude", "energy", "errors" (on the right, over time). By default those that suit the trajectory.

    >>> from polhode import Problem, State, forces, integrate
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> len(plot_trajectory(integrate(top, h=0.05), ["momentum", "attitude"]).axes)
    2
    """
    chosen = _default_kinds(traj) if kinds is None else list(kinds)
    for kind in chosen:
        if kind not in PANELS:
            raise InputError(f"no picture is called {kind!r}; {near(kind, PANELS)}")
    if not chosen:
        raise InputError(f"kinds is empty; expected some of {', '.join(PANELS)}")
    curves = curves_of(traj)
    left, right = ([kind for kind in chosen if (kind in ACROSS) is across] for across in (True, False))
    rows = max(len(left), len(right), 1)
    figure = new_figure(6.2 * bool(left) + 7.0 * bool(right), max(2.7 * rows, 4.2), traj.problem.summary)
    columns = [column for column in (left, right) if column]
    parts = figure.subfigures(1, len(columns), width_ratios=(1, 1.3)[: len(columns)], squeeze=False)[0]
    for part, column in zip(parts, columns, strict=True):
        grid = part.add_gridspec(len(column), 1, height_ratios=[1.3 if kind == "polhode" else 1.0 for kind in column])
        for row, kind in enumerate(column):
            axes = part.add_subplot(grid[row], projection="3d" if kind == "polhode" else None)
            PANELS[kind](axes, traj, curves)
    return figure


def plot_errors(traj: Trajectory) -> Figure:
    """Plot by how much energy, momenta and ``|q|`` are off, whatever of them should stay, on a logarithmic axis.

    >>> from polhode import integrate, problems
    >>> len(plot_errors(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["errors"])


def plot_energy(traj: Trajectory) -> Figure:
    """Plot kinetic and potential energy and their sum, for forces that have an energy.

    >>> from polhode import integrate, problems
    >>> len(plot_energy(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["energy"])


def plot_momentum(traj: Trajectory) -> Figure:
    """Plot the components of the angular momentum in body axes.

    >>> from polhode import integrate, problems
    >>> len(plot_momentum(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["momentum"])


def plot_attitude(traj: Trajectory) -> Figure:
    """Plot the components of the attitude quaternion, body to space: unlike angles, they have no poles.

    >>> from polhode import integrate, problems
    >>> len(plot_attitude(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["attitude"])


def plot_polhode(traj: Trajectory) -> Figure:
    """Plot the direction of the momentum in body axes, on the sphere, with the separatrices of the free body.

    >>> from polhode import integrate, problems
    >>> len(plot_polhode(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["polhode"])


def plot_herpolhode(traj: Trajectory) -> Figure:
    """Plot the tip of the angular velocity in space, seen along the force's symmetry axis, or along the momentum.

    >>> from polhode import integrate, problems
    >>> len(plot_herpolhode(integrate(problems.heavy_top(), method="V2", h=0.5)).axes)
    1
    """
    return plot_trajectory(traj, ["herpolhode"])


def _default_kinds(traj: Trajectory) -> list[str]:
    force = traj.problem.force
    conserved = "energy" in drifts(traj)
    energy = [] if conserved or (force is not None and not force.has_energy) else ["energy"]
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
