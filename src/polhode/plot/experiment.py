"""The figures of the papers, made again: panels with curves, or with points whose colors are values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.plot.style import few_log_ticks, new_figure, series_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.papers.experiment import Panel, Report

WIDTH, HEIGHT, ACROSS = 5.2, 4.4, 3  # of a panel, in inches; panels in a row


def plot_report(report: Report, title: str = "") -> Figure:
    """All panels of an experiment; a Figure.

    >>> from polhode import papers
    >>> found = papers.get("gustafsson2010_table3").run(False)
    >>> len(plot_report(found).axes)
    2
    """
    columns = min(ACROSS, len(report.panels))
    rows = -(-len(report.panels) // columns)
    figure = new_figure(WIDTH * columns, HEIGHT * rows + 0.3, title)
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
            shown = axes.scatter(panel.points.x, panel.points.y, c=panel.points.value, cmap="viridis", s=12)
            figure.colorbar(shown, ax=axes, label=panel.points.label)
        _draw_curves(axes, panel)
    return figure


def _draw_in_space(axes: Any, panel: Panel) -> None:
    for number, curve in enumerate(panel.curves):
        style = {"color": series_style(number)["color"], "label": curve.label}
        drawn = {"linewidth": 0.8} if panel.lines else {"linestyle": "none", "marker": ".", "markersize": 1}
        axes.plot(curve.x, curve.y, curve.z, **style, **drawn)
    axes.set_zlabel(panel.z)
    axes.locator_params(nbins=5)
    sides = [np.ptp(getattr(axes, f"get_{name}lim")()) for name in "xyz"] if panel.equal else (1, 1, 1)
    axes.set_box_aspect(sides, zoom=0.9)
    axes.legend(fontsize="small")


def _draw_curves(axes: Any, panel: Panel) -> None:
    if not panel.curves:
        return
    for number, curve in enumerate(panel.curves):
        style = series_style(number)
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
    axes.legend(fontsize="small")
