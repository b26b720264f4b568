"""Figures of systems: bodies in space, and energies, temperatures and errors of invariants over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.show.edges import box_edges
from polhode.show.labels import BLUE, GRAY, GREEN, VERMILION, count_label
from polhode.show.plot.layout import Place, arranged, checked_kinds
from polhode.show.plot.panels import draw_errors
from polhode.show.plot.style import SERIES, legend_above, point_marker
from polhode.systems.invariants import energy_of, system_drifts
from polhode.systems.trajectory import SystemTrajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PATHS = 12  # bodies; the paths of more bodies would hide each other
MOST_POINTS = 4000  # of a path
MARGIN = 1.08  # size of the picture of open space, in units of the part with bodies
DOTS = 12_000.0  # area of all dots together, within limits, in squared points

Panel = Callable[[Any, SystemTrajectory], None]


def plot_system(traj: SystemTrajectory, kinds: Sequence[str] | None) -> Figure:
    """Return a figure with the panels `kinds` of a trajectory of a system; see ``plot_trajectory``."""
    if not len(traj):
        raise InputError("this trajectory has no states; expected at least one")
    chosen = _default_kinds(traj) if kinds is None else checked_kinds(kinds, PANELS)
    return arranged(_title(traj), chosen, _place, lambda kind, axes: PANELS[kind](axes, traj))


def _default_kinds(traj: SystemTrajectory) -> list[str]:
    """Return all panels, without "energy" if the interaction has none."""
    return [kind for kind in PANELS if kind != "energy" or energy_of(traj) is not None]


def _place(kind: str) -> Place:
    return Place(left=kind == "space", solid=kind == "space")


def _title(traj: SystemTrajectory) -> str:
    system = traj.system
    name = f"{system.name}: " if system.name else ""
    early = "" if traj.success else ", ended early"
    return f"{name}{count_label(system.count)}, {system.interaction!r}{early}"


def _energy(axes: Any, traj: SystemTrajectory) -> None:
    """Draw kinetic and, if there is one, potential and total energy over time."""
    parts = {"kinetic": traj.kinetic}
    total = energy_of(traj)
    if total is not None:
        parts |= {"potential": traj.potential, "total": total}
    _over_time(axes, traj, parts, "energy")


def _temperature(axes: Any, traj: SystemTrajectory) -> None:
    """Draw the temperatures of translation and rotation over time."""
    parts = {"of translation": traj.temperature_translation, "of rotation": traj.temperature_rotation}
    _over_time(axes, traj, parts, "temperature\n(as an energy)")


def _over_time(axes: Any, traj: SystemTrajectory, curves: dict[str, FloatArray], label: str) -> None:
    for (name, values), color in zip(curves.items(), (BLUE, VERMILION, GREEN), strict=False):
        axes.plot(traj.t, values, color=color, linewidth=1.2, marker=point_marker(traj.t), label=name)
    axes.set(xlabel="t", ylabel=label)
    legend_above(axes)


def _errors(axes: Any, traj: SystemTrajectory) -> None:
    """Draw the errors of energy and total momenta over time, on a logarithmic axis."""
    draw_errors(axes, traj.t, system_drifts(traj), "t")


def _space(axes: Any, traj: SystemTrajectory) -> None:
    """Draw the paths of a few bodies, or the positions of many at the end; in a box, with its edges."""
    box = traj.system.box
    paths = traj.system.count <= MOST_PATHS and len(traj) > 1
    shown = traj.wrapped if paths else traj.wrapped[-1:]
    if box.repeats:
        axes.plot(*box_edges(box.lengths).T, color=GRAY, linewidth=0.8)
    if paths:
        _draw_paths(axes, traj)
    else:
        size = np.clip(DOTS / traj.system.count, 6.0, 40.0)
        axes.scatter(*shown[0].T, s=size, color=BLUE, linewidth=0)
    axes.set_title(f"{'paths, to' if paths else 'bodies at'} t = {traj.t[-1]:g}", fontsize="medium")
    _frame(axes, shown, box.lengths)


def _draw_paths(axes: Any, traj: SystemTrajectory) -> None:
    """Draw a line for each body, interrupted where it leaves the box, and a dot at its end."""
    every = -(-len(traj) // MOST_POINTS)
    x, wrapped = (np.concatenate([values[:-1:every], values[-1:]]) for values in (traj.x, traj.wrapped))
    images = np.rint((x - wrapped) * traj.system.box.per_length)
    for body in range(traj.system.count):
        color = SERIES[body % len(SERIES)][0]
        leaves = 1 + np.flatnonzero(np.diff(images[:, body], axis=0).any(axis=-1))
        path = np.insert(wrapped[:, body], leaves, np.nan, axis=0)
        axes.plot(*path.T, color=color, linewidth=1.0)
        axes.plot(*wrapped[-1:, body].T, "o", color=color, markersize=6)


def _frame(axes: Any, shown: FloatArray, lengths: FloatArray) -> None:
    """Set limits, the same scale for all axes: those of the box, or a cube with all positions (..., 3)."""
    low, high = shown.min(axis=(0, 1)), shown.max(axis=(0, 1))
    side = np.full(3, MARGIN * float(np.max(high - low)) or 1.0)
    middle, sides = (np.zeros(3), lengths) if lengths.any() else (0.5 * (low + high), side)
    for name, center, length in zip("xyz", middle, sides, strict=True):
        getattr(axes, f"set_{name}lim")(center - 0.5 * length, center + 0.5 * length)
        getattr(axes, f"set_{name}label")(name)
        axes.locator_params(axis=name, nbins=5)
    axes.set_box_aspect(sides / sides.max(), zoom=0.95)


PANELS: dict[str, Panel] = {"space": _space, "energy": _energy, "temperature": _temperature, "errors": _errors}
