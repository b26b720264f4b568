"""Common style of all figures: sizes, markers, ticks and legends."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from os import PathLike
from typing import TYPE_CHECKING, Any

from polhode.core.errors import MissingExtraError
from polhode.show.labels import BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"), (ORANGE, "v"), (SKY, "P"), (GRAY, "X"))


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure of a size in inches, managed by pyplot so that notebooks and ``pyplot.show()`` show it."""
    try:
        from matplotlib import pyplot

        from polhode.show.plot.figure import NotebookFigure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    figure = pyplot.figure(FigureClass=NotebookFigure, figsize=(width, height), layout="constrained")
    figure.suptitle(title, wrap=True)
    return figure


def save_figure(figure: Figure, path: str | PathLike[str], dpi: float) -> None:
    """Write a figure to a file and close it, so that unused figures do not accumulate in pyplot."""
    from matplotlib import pyplot

    figure.savefig(path, dpi=dpi)
    pyplot.close(figure)


def legend_above(axes: Axes, columns: int = 4) -> None:
    """Draw the legend above the right end of the axes, where it hides no curves."""
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, fontsize="small", frameon=False, borderpad=0)


def series_style(number: int) -> dict[str, Any]:
    """Return the color and marker of the curve with index `number`; from the eighth on, the markers are hollow."""
    color, marker = SERIES[number % len(SERIES)]
    hollow = {} if number < len(SERIES) else {"markerfacecolor": "white", "linestyle": "--"}
    return {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.2, **hollow}


def point_marker(t: Sized) -> str:
    """Return the marker of a curve over the times `t`: a dot if there is only one time, of which no line is visible."""
    return "o" if len(t) == 1 else ""


def few_log_ticks(axis: Any, values: Sequence[float]) -> None:
    """Set ticks of a logarithmic axis that do not overlap: 1, 2, 5 in each of a few decades, or one per decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if values and max(values) < 300 * min(values):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
