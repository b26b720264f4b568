"""Pictures, by matplotlib: the only module that imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.checks import FloatArray
from polhode.errors import InputError, MissingExtraError
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
    if motion.batch:
        raise InputError(f"a picture shows one body; this motion has a batch {motion.batch}: plot motion[i]")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    if motion.regime == "rest":
        raise InputError("this body is at rest: without angular momentum there is no polhode to show")
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
