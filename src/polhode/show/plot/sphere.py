"""Momentum sphere: directions of m in body axes, and the separatrices between the two families of polhodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, flow_moments
from polhode.show.labels import GRAY

TITLE = "angular momentum in body axes"


def draw_sphere(axes: Any, body: RigidBody) -> None:
    """Draw the unit sphere, and the separatrices of a body with three different moments of inertia."""
    u, v = np.mgrid[0 : 2 * np.pi : 49j, 0 : np.pi : 25j]
    sphere = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
    axes.plot_surface(*sphere, color="#DDDDDD", alpha=0.25, linewidth=0)
    axes.plot_wireframe(*sphere, color="#BBBBBB", linewidth=0.3, rstride=4, cstride=4)
    for number, curve in enumerate(separatrices(body)):
        axes.plot(*curve.T, color=GRAY, linewidth=1, linestyle="--", label="separatrix" if number == 0 else None)
    axes.set(xlabel="m₁/|m|", ylabel="m₂/|m|", zlabel="m₃/|m|", title=TITLE)
    for axis in "xyz":
        getattr(axes, f"set_{axis}ticks")((-1, 0, 1))
    axes.set_box_aspect((1, 1, 1), zoom=0.95)


def separatrices(body: RigidBody) -> list[FloatArray]:
    """Return the four arcs m = (a sech x, tanh x, b sech x) between the ends of the middle axis, shape (201, 3) each.

    The list is empty if two moments of inertia are equal.
    """
    order = np.argsort(flow_moments(body))
    low, middle, high = flow_moments(body)[order]
    if not low < middle < high:
        return []
    a2, b2 = low * (high - middle), high * (middle - low)  # 2 T I2 = |m|^2, times the same factor
    a, b = np.sqrt(a2 / (a2 + b2)), np.sqrt(b2 / (a2 + b2))
    x = np.linspace(-8, 8, 201)
    arcs = []
    for sign_a, sign_b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        m = np.empty((len(x), 3))
        m[:, order] = np.stack([sign_a * a / np.cosh(x), np.tanh(x), sign_b * b / np.cosh(x)], axis=-1)
        arcs.append(m @ body.axes.T)
    return arcs


def look_at(axes: Any, target: FloatArray) -> FloatArray:
    """Turn the camera so that `target` faces it, slightly from the side, and return the direction to the eye."""
    x, y, z = target
    azimuth = np.degrees(np.arctan2(y, x)) + 25 if np.hypot(x, y) > 0.1 * abs(z) else 35.0
    elevation = np.clip(np.degrees(np.arctan2(z, np.hypot(x, y))) + 15, -35, 50)
    axes.view_init(elev=elevation, azim=azimuth)
    axes.set_proj_type("ortho")  # with the eye at infinity, its direction is the same for all points
    up, around = np.radians(elevation), np.radians(azimuth)
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
