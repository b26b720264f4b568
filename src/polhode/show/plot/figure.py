"""The figures that ``polhode.plot`` returns: pyplot knows them, and a notebook shows each once."""

from __future__ import annotations

from matplotlib import pyplot
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that a notebook does not show twice if it is the value of a cell.

    The inline backend shows every figure that pyplot knows at the end of a cell, whether it was shown as its value or
    not. So pyplot forgets this figure when it is shown for the first time.
    """

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self._ipython_display_ = None  # type: ignore[method-assign, assignment]  # from here on like any figure
        if "inline" in pyplot.get_backend():
            pyplot.close(self)
        display(self)  # type: ignore[no-untyped-call]
