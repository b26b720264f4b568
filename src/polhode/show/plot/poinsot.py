"""Poinsot's construction for a free body: an ellipsoid that rolls on a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, flow_moments
from polhode.free.geometry import herpolhode, herpolhode_radii, polhode
from polhode.free.motion import FreeMotion
from polhode.show.labels import BLUE, GRAY, VERMILION, with_unit
from polhode.show.plot.free import figure_for
from polhode.show.plot.sphere import look_at, separatrices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_poinsot(
    motion: FreeMotion, t0: float, t1: float, *, title: str = "", omega_unit: str = "", samples: int = 4000
) -> Figure:
    """Plot Poinsot's construction: the polhode on the energy ellipsoid, and the herpolhode on the invariable plane.

    The ring that bounds the herpolhode is drawn, too.

    Parameters
    ----------
    motion : FreeMotion
        Motion of one body, without a batch, that is not at rest.
    t0, t1 : float
        First and last time of the herpolhode.
    title : str, optional
        Title of the figure.
    omega_unit : str, optional
        Unit of angular velocity, for labels.
    samples : int, optional
        Number of points of the herpolhode.

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
    >>> len(plot_poinsot(free_motion((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9)), 0, 50).axes)
    2
    """
    figure = figure_for(motion, 12, 5.8, title)
    points = herpolhode(motion, np.linspace(t0, t1, samples))
    grid = figure.add_gridspec(1, 2, width_ratios=(1.1, 1))
    _energy_ellipsoid(figure.add_subplot(grid[0], projection="3d", computed_zorder=False), motion, omega_unit)
    _invariable_plane(figure.add_subplot(grid[1]), points, motion, omega_unit)
    return figure


def _energy_ellipsoid(axes: Any, motion: FreeMotion, unit: str) -> None:
    """Draw the ellipsoid of constant energy, the separatrices and the polhode; lines behind it are thinner."""
    body = motion.body
    curve = polhode(motion, 721)
    half = np.sqrt(2 * motion.energy / flow_moments(body))
    u, v = np.mgrid[0 : 2 * np.pi : 73j, 0 : np.pi : 37j]
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    surface = np.moveaxis((half * sphere) @ body.axes.T, -1, 0)
    axes.plot_surface(*surface, color="#E8E8E8", alpha=0.3, linewidth=0, zorder=1)
    axes.plot_wireframe(*surface, color="#BBBBBB", linewidth=0.3, rstride=6, cstride=6, zorder=1)
    eye = look_at(axes, curve.mean(axis=0))
    scale = np.sqrt(2 * motion.energy * np.median(body.moments))  # |m| on the separatrix of this energy
    for number, arc in enumerate(separatrices(body)):
        label = "separatrix" if number == 0 else None
        _draw_around(axes, body, body.omega(scale * arc), eye, color="black", linewidth=1, linestyle="--", label=label)
    if motion.period == 0:
        axes.scatter(*curve[:1].T, color=BLUE, s=40, label="ω, constant", depthshade=False, zorder=3)
    else:
        _draw_around(axes, body, curve, eye, color=BLUE, linewidth=2.2, label="polhode")
        axes.scatter(*motion.omega(0.0)[:, None], color=VERMILION, s=30, label="t = 0", depthshade=False, zorder=3)
    labels = {f"{axis}label": with_unit(f"ω{i}", unit) for axis, i in zip("xyz", "₁₂₃", strict=True)}
    axes.set(**labels, title="angular velocity in body axes")
    axes.locator_params(nbins=5)
    axes.set_box_aspect([np.ptp(getattr(axes, f"get_{name}lim")()) for name in "xyz"], zoom=1.05)
    axes.legend(loc="upper left", fontsize="small")


def _draw_around(axes: Any, body: RigidBody, curve: FloatArray, eye: FloatArray, **style: Any) -> None:
    """Draw a curve on the ellipsoid, thin where its normal, the momentum at omega, points away from the eye."""
    front = body.momentum(curve) @ eye >= 0
    behind = {**style, "linewidth": 0.6 * style["linewidth"], "zorder": 0, "label": None}
    for chosen, drawn in ((front, {**style, "zorder": 2}), (~front, behind)):
        if chosen.any():
            axes.plot(*np.where(chosen[:, None], curve, np.nan).T, **drawn)


def _invariable_plane(axes: Axes, points: FloatArray, motion: FreeMotion, unit: str) -> None:
    """Draw the herpolhode, shape (k, 2), on the invariable plane, with its bounds."""
    from matplotlib.patches import Circle

    inner, outer = map(float, herpolhode_radii(motion))
    if outer > 0:
        axes.add_patch(Circle((0, 0), outer, facecolor="#EEEEEE", edgecolor=GRAY, linestyle="--", label="bounds"))
        axes.add_patch(Circle((0, 0), inner, facecolor="white", edgecolor=GRAY, linestyle="--"))
    axes.plot(*points.T, color=BLUE, linewidth=1, label="herpolhode")
    axes.plot(*points[:1].T, "o", color=VERMILION, markersize=6, label="start")
    axes.plot(0, 0, "+", color="black", markersize=9, label="m")
    axes.set(xlabel=with_unit("ω along e₁", unit), ylabel=with_unit("ω along e₂", unit))
    axes.set_title("angular velocity on the invariable plane")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="upper right", fontsize="small")
