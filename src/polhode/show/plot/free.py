"""Overview of a free body: its polhode, its momentum and its attitude, from the exact solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.vectors import unit
from polhode.free.motion import FreeMotion
from polhode.show.labels import BLUE, COMPONENT_COLORS, QUATERNION_COLORS, VERMILION, with_unit
from polhode.show.plot.sphere import draw_sphere
from polhode.show.plot.style import legend_above, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKS = 40  # flips; more marks would hide the curves


def plot_free_motion(
    motion: FreeMotion, t0: float, t1: float, *, title: str = "", time_unit: str = "", samples: int = 2000
) -> Figure:
    """Plot the polhode on the momentum sphere, and momentum and attitude over time with the flips marked.

    A body with two equal moments of inertia has no flips.

    Parameters
    ----------
    motion : FreeMotion
        Motion of one body, without a batch, that is not at rest.
    t0, t1 : float
        First and last time.
    title : str, optional
        Title of the figure.
    time_unit : str, optional
        Unit of the times, for labels.
    samples : int, optional
        Number of points of each curve.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        If the motion has a batch, or if the body is at rest.

    Examples
    --------
    >>> from polhode import free_motion
    >>> len(plot_free_motion(free_motion((1, 2, 3), m=(0.1, 1, 0.05)), 0, 60).axes)
    3
    """
    figure = figure_for(motion, 12, 5.4, title)
    times = np.linspace(t0, t1, samples)
    flips = motion.flips(t0, t1) if len(np.unique(motion.body.moments)) == 3 else np.empty(0)
    m, q = motion.sample(times)
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.3))
    _momentum_sphere(figure.add_subplot(grid[:, 0], projection="3d"), motion, unit(m), flips)
    top = figure.add_subplot(grid[0, 1])
    bottom = figure.add_subplot(grid[1, 1], sharex=top)
    _components(top, times, unit(m), COMPONENT_COLORS, [f"m{i}/|m|" for i in "₁₂₃"], "angular momentum\n(body axes)")
    top.tick_params(labelbottom=False)
    names = [f"q{i}" for i in "₀₁₂₃"]
    _components(bottom, times, q, QUATERNION_COLORS, names, "attitude\n(quaternion, body to space)")
    bottom.set_xlabel(with_unit("t", time_unit))
    _mark_flips((top, bottom), flips)
    return figure


def figure_for(motion: FreeMotion, width: float, height: float, title: str) -> Figure:
    """Return an empty figure for the motion of one body; raise InputError for a batch or a body at rest."""
    if motion.batch:
        raise InputError(f"expected a motion of one body; got one with batch {motion.batch}: plot motion[i]")
    figure = new_figure(width, height, title)
    if motion.regime == "rest":
        raise InputError("this body is at rest; expected a body with angular momentum, which has a polhode")
    return figure


def _momentum_sphere(axes: Any, motion: FreeMotion, direction: FloatArray, flips: FloatArray) -> None:
    draw_sphere(axes, motion.body)
    axes.plot(*direction.T, color=BLUE, linewidth=2, label="polhode")
    if len(flips):
        axes.scatter(*unit(motion.m(flips)).T, color=VERMILION, s=30, label="flip", depthshade=False)
    axes.legend(loc="upper left", fontsize="small")


def _components(
    axes: Axes, times: FloatArray, values: FloatArray, colors: tuple[str, ...], names: list[str], label: str
) -> None:
    for color, name, component in zip(colors, names, values.T, strict=True):
        axes.plot(times, component, color=color, linewidth=1.5 if len(names) == 3 else 1, label=name)
    axes.set(ylabel=label, ylim=(-1.08, 1.08))
    legend_above(axes)


def _mark_flips(panels: tuple[Axes, ...], flips: FloatArray) -> None:
    for axes in panels if len(flips) <= MOST_MARKS else ():
        for flip in flips:
            axes.axvline(flip, color="black", linewidth=0.8, linestyle=":")
