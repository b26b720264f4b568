"""Arrangement of panels in a figure: those without a time axis on the left, those over time on the right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from polhode.core.checks import near
from polhode.core.errors import InputError
from polhode.show.plot.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Place(NamedTuple):
    """Place of a panel: on the left or on the right, in two or three dimensions, and its height."""

    left: bool = False
    solid: bool = False
    height: float = 1.0


def checked_kinds(kinds: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names of panels as a list; raise InputError if there are none, or one is not among `known`."""
    chosen = list(kinds)
    for kind in chosen:
        if kind not in known:
            raise InputError(f"no picture is called {kind!r}; {near(kind, known)}")
    if not chosen:
        raise InputError(f"kinds is empty; expected one or more of {', '.join(known)}")
    return chosen


def arranged(
    title: str, kinds: Sequence[str], place_of: Callable[[str], Place], draw: Callable[[str, Any], None]
) -> Figure:
    """Return a figure with the panels `kinds`, each drawn by ``draw(kind, axes)``."""
    left, right = ([kind for kind in kinds if place_of(kind).left is side] for side in (True, False))
    rows = max(len(left), len(right), 1)
    figure = new_figure(6.2 * bool(left) + 7.0 * bool(right), max(2.7 * rows, 4.2), title)
    columns = [column for column in (left, right) if column]
    parts = figure.subfigures(1, len(columns), width_ratios=(1, 1.3)[: len(columns)], squeeze=False)[0]
    for part, column in zip(parts, columns, strict=True):
        grid = part.add_gridspec(len(column), 1, height_ratios=[place_of(kind).height for kind in column])
        for row, kind in enumerate(column):
            draw(kind, part.add_subplot(grid[row], projection="3d" if place_of(kind).solid else None))
    return figure
