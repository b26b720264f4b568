"""Class of the figures that ``polhode.plot`` returns; pyplot manages them, and a notebook displays each once."""

from __future__ import annotations

from matplotlib import pyplot
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Figure that a notebook does not display twice if it is the value of a cell.

    The inline backend displays all figures of pyplot at the end of a cell, even those already displayed as the value of
    the cell. Therefore this figure is removed from pyplot when it is displayed for the first time.
    """

    def _ipython_display_(self) -> None:
        """Display the figure as the value of a cell, and remove it from pyplot."""
        from IPython.display import display

        self._ipython_display_ = None  # type: ignore[method-assign, assignment]  # later, display it like any figure
        if "inline" in pyplot.get_backend():
            pyplot.close(self)
        display(self)  # type: ignore[no-untyped-call]
