"""The figures of the papers, made again: panels with curves, or with points whose colors are values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.show.labels import GRAY
from polhode.show.plot.style import few_log_ticks, new_figure, series_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from papers.experiment import Panel, Report

WIDTH, HEIGHT, ACROSS = 5.2, 4.4, 3  # of a panel, in inches; panels in a row
MAP_HEIGHT = 2.8  # of the inertia triangle, which is wide
MANY_CURVES = 6  # have their legend below the panel


def plot_report(report: Report, title: str = "") -> Figure:
    """All panels of an experiment; a Figure.

    >>> import papers
    >>> found = papers.get("gustafsson2010_table3").run(False)
    >>> len(plot_report(found).axes)
    3
    """
    columns = 2 if len(report.panels) == 4 else min(ACROSS, len(report.panels))
    rows = -(-len(report.panels) // columns)
    height = MAP_HEIGHT if all(panel.equal and not panel.z for panel in report.panels) else HEIGHT
    figure = new_figure(WIDTH * columns, height * rows + 0.3, title)
    for number, panel in enumerate(report.panels, start=1):
        axes = figure.add_subplot(rows, columns, number, projection="3d" if panel.z else None)
        axes.set(xlabel=panel.x, ylabel=panel.y)
        axes.set_title(panel.title, fontsize="medium")
        if panel.z:
            _draw_in_space(axes, panel)
            continue
        if panel.equal:
            axes.set_aspect("equal")
        if panel.points is not None:
            x, y, value, label, limits = panel.points
            low, high = limits or (None, None)
            shown = axes.scatter(x, y, c=value, cmap="viridis", s=12, vmin=low, vmax=high)
            figure.colorbar(shown, ax=axes, label=label)
        if panel.marks is not None:
            axes.plot(*panel.marks, linestyle="none", marker=".", markersize=2, color=GRAY)
        _draw_curves(axes, panel)
    return figure


def _draw_in_space(axes: Any, panel: Panel) -> None:
    if panel.sphere:
        u, v = np.mgrid[0 : 2 * np.pi : 49j, 0 : np.pi : 25j]
        sphere = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
        axes.plot_wireframe(*sphere, color="#CCCCCC", linewidth=0.3, rstride=4, cstride=4)
    for number, curve in enumerate(panel.curves):
        style = {"color": series_style(number)["color"], "label": curve.label}
        drawn = {"linewidth": 0.8} if panel.lines else {"linestyle": "none", "marker": ".", "markersize": 1}
        axes.plot(curve.x, curve.y, curve.z, **style, **drawn)
    axes.set_zlabel(panel.z)
    axes.locator_params(nbins=5)
    if panel.sphere:
        axes.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=(-1, 0, 1))
    else:
        axes.zaxis.labelpad = 14  # tick labels are long
    sides = [np.ptp(getattr(axes, f"get_{name}lim")()) for name in "xyz"] if panel.equal else (1, 1, 1)
    axes.set_box_aspect(sides, zoom=1.1 if panel.sphere else 0.8)
    if any(curve.label for curve in panel.curves):
        axes.legend(fontsize="small", markerscale=1 if panel.lines else 8)


def _draw_curves(axes: Any, panel: Panel) -> None:
    if not panel.curves:
        return
    leading = [curve.label for curve in panel.curves if not curve.like]
    for curve in panel.curves:
        style = series_style(leading.index(curve.like or curve.label))
        if curve.like:
            style |= {"linestyle": "-.", "markerfacecolor": "white"}
        if curve.beyond:
            style |= {"linestyle": "--"}
        if not panel.lines:
            style |= {"linestyle": "none", "marker": ".", "markersize": 2}
        elif np.size(curve.x) > 60:
            style |= {"marker": ""}
        axes.plot(curve.x, curve.y, label=curve.label, **style)
    for letter in panel.log:
        getattr(axes, f"set_{letter}scale")("log")
    if "x" in panel.log:
        values = np.concatenate([np.ravel(np.asarray(curve.x, dtype=float)) for curve in panel.curves])
        few_log_ticks(axes.xaxis, values[values > 0].tolist())
    axes.grid(True, which="major", color="#E0E0E0", linewidth=0.6)
    if not any(curve.label for curve in panel.curves):
        return
    if len(panel.curves) > MANY_CURVES:
        axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)
    else:
        axes.legend(fontsize="small")
