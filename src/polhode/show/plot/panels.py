"""Panels of figures of a trajectory; each is a function that draws on one matplotlib Axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.rotation import rotate
from polhode.core.vectors import length, unit
from polhode.integration.invariants import drifts
from polhode.show.labels import BLUE, COMPONENT_COLORS, GRAY, GREEN, QUATERNION_COLORS, VERMILION, with_unit
from polhode.show.plot.curves import Curves
from polhode.show.plot.sphere import draw_sphere, look_at
from polhode.show.plot.style import legend_above, point_marker, series_style

if TYPE_CHECKING:
    from polhode.integration.trajectory import Trajectory

STRETCHES = 1000  # intervals of a long run, for each of which the largest error is drawn
ROUND_OFF = 2.0**-53
LEAST_ERROR = 0.5 * ROUND_OFF  # drawn in place of smaller errors, including 0, on the logarithmic scale
LEAST_SIZE = 1e-3  # of omega: a smaller curve is drawn as a point, so that round-off is not magnified
STYLES = ("-", "--", ":")  # line styles of the bodies of a batch

Panel = Callable[[Any, "Trajectory", Curves], None]


def _errors(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw the errors of the invariants over time, on a logarithmic axis."""
    draw_errors(axes, traj.t, drifts(traj), _time_label(traj))


def draw_errors(axes: Any, times: FloatArray, drifts: Mapping[str, FloatArray], time_label: str) -> None:
    """Draw drifts by name, of shapes (k,) + batch, at the times (k,), on a logarithmic axis."""
    many = ""
    for number, (name, drift) in enumerate(drifts.items()):
        t, typical, largest = _stretches(times, np.abs(drift.reshape(len(times), -1)))
        style = series_style(number) | {"marker": point_marker(t)}
        axes.plot(t, np.maximum(largest, LEAST_ERROR), label=name, **style)
        if drift.ndim > 1:
            many = "\n(median to largest)"
            axes.fill_between(t, np.maximum(typical, LEAST_ERROR), largest, color=style["color"], alpha=0.2)
    axes.axhline(ROUND_OFF, color=GRAY, linewidth=0.8, linestyle=":")
    axes.set_yscale("log")
    axes.set(xlabel=time_label, ylabel=f"off by{many}")
    axes.set_ylim(0.8 * LEAST_ERROR, max(axes.get_ylim()[1], 20 * ROUND_OFF))
    legend_above(axes)


def _stretches(t: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, and the worst median and the worst maximum over bodies of errors (k, bodies) in each interval."""
    typical, largest = np.median(errors, axis=1), errors.max(axis=1)
    size = -(-len(t) // STRETCHES)
    starts = np.arange(0, len(t), size)
    return t[starts], np.fmax.reduceat(typical, starts), np.fmax.reduceat(largest, starts)


def _energy(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw kinetic, potential and total energy over time."""
    count = curves.m.shape[1]
    kinetic, total = traj.kinetic, traj.energy
    parts = {"kinetic": kinetic, "potential": total - kinetic, "total": total}
    for color, (name, values) in zip((BLUE, VERMILION, GREEN), parts.items(), strict=True):
        for i, row in enumerate(values.reshape(len(traj.t), -1)[:, :count].T):
            axes.plot(traj.t, row, color=color, linestyle=STYLES[i], linewidth=1.2, label=name if i == 0 else None)
    axes.set(xlabel=_time_label(traj), ylabel=with_unit("energy", traj.problem.units.get("energy", "")))
    legend_above(axes)


def _momentum(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw the components of the angular momentum in body axes over time."""
    unit_m = traj.problem.units.get("m", "")
    _components(axes, curves, curves.m, COMPONENT_COLORS, [f"m{i}" for i in "₁₂₃"])
    axes.set(xlabel=_time_label(traj), ylabel=with_unit("angular momentum,\nbody axes", unit_m))


def _attitude(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw the components of the attitude quaternion over time."""
    _components(axes, curves, curves.q, QUATERNION_COLORS, [f"q{i}" for i in "₀₁₂₃"])
    axes.set(xlabel=_time_label(traj), ylabel="attitude quaternion,\nbody to space", ylim=(-1.08, 1.08))


def _components(axes: Any, curves: Curves, values: FloatArray, colors: tuple[str, ...], names: list[str]) -> None:
    for color, name, component in zip(colors, names, np.moveaxis(values, -1, 0), strict=True):
        for i, row in enumerate(component.T):
            axes.plot(curves.t, row, label=name if i == 0 else None, **_line(curves, i, color))
    if curves.note:
        axes.set_title(curves.note, loc="left", fontsize="small")
    legend_above(axes)


def _polhode(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw the direction of the angular momentum in body axes on the unit sphere."""
    draw_sphere(axes, curves.first_body)
    directions = unit(curves.m)
    if np.isfinite(directions[:, 0]).all():
        look_at(axes, directions[:, 0].mean(axis=0))
    for i, direction in enumerate(np.moveaxis(directions, 1, 0)):
        axes.plot(*direction.T, label=_named("m/|m|", curves, i), **_line(curves, i, BLUE))
        axes.plot(*direction[:1].T, "o", color=VERMILION, markersize=5, label="start" if i == 0 else None)
    axes.legend(loc="upper left", fontsize="small")


def _herpolhode(axes: Any, traj: Trajectory, curves: Curves) -> None:
    """Draw the angular velocity in space, projected along the symmetry axis or the initial momentum."""
    axis = traj.problem.force.axis
    name = "the angular momentum at the start" if axis is None else "the symmetry axis"
    starts = rotate(curves.q[0], curves.m[0])
    for i, omega in enumerate(np.moveaxis(rotate(curves.q, curves.omega), 1, 0)):
        points = omega @ _plane(starts[i] if axis is None else axis)
        axes.plot(*points.T, label=_named("tip of ω", curves, i), **_line(curves, i, BLUE))
        axes.plot(*points[:1].T, "o", color=VERMILION, markersize=5, label="start" if i == 0 else None)
    unit_w = traj.problem.units.get("omega", "")
    axes.set(xlabel=with_unit("ω along e₁", unit_w), ylabel=with_unit("ω along e₂", unit_w))
    axes.set_title(f"angular velocity in space,\nseen along {name}", fontsize="medium")
    size = LEAST_SIZE * np.nanmax(length(curves.omega))
    axes.update_datalim([(-size, -size), (size, size)])
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="upper right", fontsize="small")


def _plane(normal: FloatArray) -> FloatArray:
    """Return e1 (horizontal) and e2 (uphill) in the plane across `normal`, shape (3, 2).

    They are the same as in ``geometry.invariable_frame``.
    """
    x, y, z = unit(normal) if np.any(normal) else (0.0, 0.0, 1.0)
    flat = np.hypot(x, y)
    cos, sin = (-y / flat, x / flat) if flat > 0 else (1.0, 0.0)
    return np.array([(cos, -z * sin), (sin, z * cos), (0.0, flat)])


def _line(curves: Curves, i: int, color: str) -> dict[str, Any]:
    """Return the style of the curve of body `i`: a line, or dots if the points are too far apart to be connected."""
    if curves.coarse:
        return {"color": color, "linestyle": "none", "marker": ".", "markersize": 3}
    return {"color": color, "linestyle": STYLES[i], "linewidth": 1.2}


def _named(name: str, curves: Curves, i: int) -> str | None:
    """Return the label of body `i` for the legend: with the note for the first body, None for the others."""
    return None if i else ", ".join(text for text in (name, curves.note) if text)


def _time_label(traj: Trajectory) -> str:
    return with_unit("t", traj.problem.units.get("t", ""))


PANELS: dict[str, Panel] = {
    "polhode": _polhode,
    "herpolhode": _herpolhode,
    "momentum": _momentum,
    "attitude": _attitude,
    "energy": _energy,
    "errors": _errors,
}
ACROSS = ("polhode", "herpolhode")  # panels without a time axis
