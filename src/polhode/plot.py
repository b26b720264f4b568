"""Pictures, by matplotlib: the only module that imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.body import RigidBody, flow_moments
from polhode.checks import FloatArray
from polhode.errors import InputError, MissingExtraError
from polhode.geometry import herpolhode, herpolhode_radii, polhode
from polhode.motion import FreeMotion, free_motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by the color-blind too
BLUE, VERMILION, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#7F7F7F"
COMPONENT_COLORS = (BLUE, VERMILION, GREEN)
QUATERNION_COLORS = (GRAY, *COMPONENT_COLORS)


def plot_free_motion(
    motion: FreeMotion, t0: float, t1: float, *, title: str = "", time_unit: str = "", samples: int = 2000
) -> Figure:
    """Polhode on the momentum sphere, momentum and attitude over time, with the flips marked; a Figure.

    For one body with three different moments; times ``t0`` to ``t1``.
    """
    Figure = _figure_for(motion)
    times = np.linspace(t0, t1, samples)
    flips = motion.flips(t0, t1)
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.3))
    figure.suptitle(title)
    _momentum_sphere(figure.add_subplot(grid[:, 0], projection="3d"), motion, times, flips)
    top = figure.add_subplot(grid[0, 1])
    bottom = figure.add_subplot(grid[1, 1], sharex=top)
    _momentum_components(top, motion, times)
    _attitude(bottom, motion, times)
    bottom.set_xlabel("t" + (f" [{time_unit}]" if time_unit else ""))
    _mark_flips((top, bottom), flips)
    return figure


def plot_poinsot(
    motion: FreeMotion, t0: float, t1: float, *, title: str = "", omega_unit: str = "", samples: int = 4000
) -> Figure:
    """Poinsot's picture: the polhode on the ellipsoid of energy, and the herpolhode on the invariable plane; a Figure.

    For one body of any kind; the herpolhode is drawn for times ``t0`` to ``t1``, with the ring that it fills.
    """
    Figure = _figure_for(motion)
    points = herpolhode(motion, np.linspace(t0, t1, samples))
    figure = Figure(figsize=(12, 5.8), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1.1, 1))
    figure.suptitle(title)
    unit = f" [{omega_unit}]" if omega_unit else ""
    _energy_ellipsoid(figure.add_subplot(grid[0], projection="3d", computed_zorder=False), motion, unit)
    _invariable_plane(figure.add_subplot(grid[1]), points, herpolhode_radii(motion), unit)
    return figure


def _figure_for(motion: FreeMotion) -> type[Figure]:
    """matplotlib's Figure, if it is installed and there is one body that moves."""
    if motion.batch:
        raise InputError(f"a picture shows one body; this motion has a batch {motion.batch}: plot motion[i]")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    if motion.regime == "rest":
        raise InputError("this body is at rest: without angular momentum there is no polhode to show")
    return Figure


def _energy_ellipsoid(axes: Any, motion: FreeMotion, unit: str) -> None:
    """The angular velocities of this energy, and those the body runs through; what lies behind is drawn thinner."""
    body = motion.body
    curve = polhode(motion, 721)
    half = np.sqrt(2 * motion.energy / flow_moments(body))
    u, v = np.mgrid[0 : 2 * np.pi : 73j, 0 : np.pi : 37j]
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    surface = np.moveaxis((half * sphere) @ body.axes.T, -1, 0)
    axes.plot_surface(*surface, color="#E8E8E8", alpha=0.3, linewidth=0, zorder=1)
    axes.plot_wireframe(*surface, color="#BBBBBB", linewidth=0.3, rstride=6, cstride=6, zorder=1)
    eye = _look_at(axes, curve.mean(axis=0))
    if len(np.unique(flow_moments(body))) == 3:
        scale = np.sqrt(2 * motion.energy * np.median(body.moments))  # |m| on the separatrix of this energy
        for number, arc in enumerate(_separatrices(motion)):
            label = "separatrix" if number == 0 else None
            _draw_around(
                axes, body, body.omega(scale * arc), eye, color="black", linewidth=1, linestyle="--", label=label
            )
    if motion.period == 0:
        axes.scatter(*curve[:1].T, color=BLUE, s=40, label="ω, constant", depthshade=False, zorder=3)
    else:
        _draw_around(axes, body, curve, eye, color=BLUE, linewidth=2.2, label="polhode")
        axes.scatter(*motion.omega(0.0)[:, None], color=VERMILION, s=30, label="t = 0", depthshade=False, zorder=3)
    axes.set(xlabel=f"ω₁{unit}", ylabel=f"ω₂{unit}", zlabel=f"ω₃{unit}", title="angular velocity in body axes")
    axes.locator_params(nbins=5)
    axes.set_box_aspect([np.ptp(getattr(axes, f"get_{name}lim")()) for name in "xyz"], zoom=1.05)
    axes.legend(loc="upper left", fontsize="small")


def _look_at(axes: Any, target: FloatArray) -> FloatArray:
    """Turn the camera so that ``target`` faces it, somewhat from the side; the direction to the eye."""
    x, y, z = target
    azimuth = np.degrees(np.arctan2(y, x)) + 25 if np.hypot(x, y) > 0.1 * abs(z) else 35.0
    elevation = np.clip(np.degrees(np.arctan2(z, np.hypot(x, y))) + 15, -35, 50)
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_proj_type("ortho")  # the eye is equally far from all points: one direction for all
    up, around = np.radians(elevation), np.radians(azimuth)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _draw_around(axes: Any, body: RigidBody, curve: FloatArray, eye: FloatArray, **style: Any) -> None:
    """A curve on the ellipsoid, whose normal at omega is m: full where that faces the eye, thin where it does not."""
    front = body.momentum(curve) @ eye >= 0
    behind = {**style, "linewidth": 0.6 * style["linewidth"], "zorder": 0, "label": None}
    for chosen, drawn in ((front, {**style, "zorder": 2}), (~front, behind)):
        if chosen.any():
            axes.plot(*np.where(chosen[:, None], curve, np.nan).T, **drawn)


def _invariable_plane(axes: Axes, points: FloatArray, radii: tuple[float, float], unit: str) -> None:
    from matplotlib.patches import Circle

    inner, outer = radii
    if outer > 0:
        axes.add_patch(Circle((0, 0), outer, facecolor="#EEEEEE", edgecolor=GRAY, linestyle="--", label="bounds"))
        axes.add_patch(Circle((0, 0), inner, facecolor="white", edgecolor=GRAY, linestyle="--"))
    axes.plot(*points.T, color=BLUE, linewidth=1, label="herpolhode")
    axes.plot(*points[:1].T, "o", color=VERMILION, markersize=6, label="start")
    axes.plot(0, 0, "+", color="black", markersize=9, label="m")
    axes.set(xlabel=f"ω along e₁{unit}", ylabel=f"ω along e₂{unit}", title="angular velocity on the invariable plane")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="upper right", fontsize="small")


def _direction(motion: FreeMotion, times: FloatArray) -> FloatArray:
    m = motion.m(times)
    return m / np.linalg.norm(m, axis=-1, keepdims=True)


def _momentum_sphere(axes: Any, motion: FreeMotion, times: FloatArray, flips: FloatArray) -> None:
    u, v = np.mgrid[0 : 2 * np.pi : 49j, 0 : np.pi : 25j]
    sphere = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
    axes.plot_surface(*sphere, color="#DDDDDD", alpha=0.25, linewidth=0)
    axes.plot_wireframe(*sphere, color="#BBBBBB", linewidth=0.3, rstride=4, cstride=4)
    for number, curve in enumerate(_separatrices(motion)):
        axes.plot(*curve.T, color=GRAY, linewidth=1, linestyle="--", label="separatrix" if number == 0 else None)
    axes.plot(*_direction(motion, times).T, color=BLUE, linewidth=2, label="polhode")
    if len(flips):
        axes.scatter(*_direction(motion, flips).T, color=VERMILION, s=30, label="flip", depthshade=False)
    axes.set(xlabel="m₁/|m|", ylabel="m₂/|m|", zlabel="m₃/|m|", title="angular momentum in body axes")
    for axis in "xyz":
        getattr(axes, f"set_{axis}ticks")((-1, 0, 1))
    axes.set_box_aspect((1, 1, 1), zoom=0.92)
    axes.legend(loc="upper left", fontsize="small")


def _separatrices(motion: FreeMotion) -> list[FloatArray]:
    """The four arcs through the middle axis, as the exact motions they are: t from -8 to 8 e-foldings."""
    body = motion.body
    order = np.argsort(body.moments)
    low, middle, high = body.moments[order]
    on_high = low * (high - middle)  # m_low^2 : m_high^2 = low (high - middle) : high (middle - low)
    on_low = high * (middle - low)
    rate = np.sqrt(on_high * on_low / (low * high)) / (middle * np.sqrt(low * high))
    times = np.linspace(-8, 8, 201) / rate
    arcs = []
    for sign in (1.0, -1.0):
        m = np.zeros(3)
        m[order[0]], m[order[2]] = np.sqrt([on_high, on_low])
        m[order[2]] *= sign
        m = body.axes @ m / np.linalg.norm(m)
        arcs += [_direction(free_motion(body, m=start), times) for start in (m, -m)]
    return arcs


def _momentum_components(axes: Axes, motion: FreeMotion, times: FloatArray) -> None:
    for i, component in enumerate(_direction(motion, times).T):
        axes.plot(times, component, color=COMPONENT_COLORS[i], label=f"m{'₁₂₃'[i]}/|m|")
    axes.set(ylabel="angular momentum\n(body axes)", ylim=(-1.08, 1.08))
    _legend_above(axes)
    axes.tick_params(labelbottom=False)


def _attitude(axes: Axes, motion: FreeMotion, times: FloatArray) -> None:
    for i, component in enumerate(motion.q(times).T):
        axes.plot(times, component, color=QUATERNION_COLORS[i], linewidth=1, label=f"q{'₀₁₂₃'[i]}")
    axes.set(ylabel="attitude\n(quaternion, body to space)", ylim=(-1.08, 1.08))
    _legend_above(axes)


def _legend_above(axes: Axes) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, fontsize="small", frameon=False, borderpad=0)


def _mark_flips(panels: tuple[Axes, ...], flips: FloatArray) -> None:
    for axes in panels:
        for flip in flips:
            axes.axvline(flip, color="black", linewidth=0.8, linestyle=":")
