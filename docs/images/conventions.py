"""Draws docs/images/conventions.png: frames, attitude, momentum and angular velocity of a body.

python docs/images/conventions.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

SPACE, BODY, MOMENTUM, VELOCITY = "#555555", "#1f5fa8", "#b3261e", "#2e7d32"
MOMENTS = (0.5, 1.5, 1.8)
ATTITUDE = ph.rotation.normalize((0.90, 0.22, -0.30, 0.22))
HALF_SIDES = np.array([0.62, 0.40, 0.16])  # longest along the axis of least inertia
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


def arrow(axes, tip, color, label, dashed=False):
    x, y, z = tip
    style = "--" if dashed else "-"
    axes.quiver(0, 0, 0, x, y, z, color=color, arrow_length_ratio=0.07, linewidth=1.8, linestyle=style)
    axes.text(1.07 * x, 1.07 * y, 1.07 * z, label, color=color, fontsize=12, ha="center", va="center")


def main():
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    figure = plt.figure(figsize=(9.0, 4.6), dpi=130)
    axes = figure.add_axes((0.0, 0.0, 0.55, 1.0), projection="3d", computed_zorder=False)
    Q = ph.rotation.matrix(ATTITUDE)
    corners = (CORNERS * HALF_SIDES) @ Q.T
    box = Poly3DCollection([corners[list(face)] for face in FACES], alpha=0.18, facecolor=BODY, edgecolor=BODY, lw=0.7)
    axes.add_collection3d(box)
    for k, name in enumerate("xyz"):
        arrow(axes, 1.15 * np.eye(3)[k], SPACE, f"space {name}", dashed=True)
        arrow(axes, 0.95 * Q[:, k], BODY, f"body $e_{k + 1}$")
    m = np.array([0.35, 0.55, 0.75])
    w = m / MOMENTS
    arrow(axes, Q @ m, MOMENTUM, "$Q\\,m$")
    arrow(axes, Q @ w, VELOCITY, "$Q\\,\\omega$")
    axes.set(xlim=(-0.75, 1.0), ylim=(-0.75, 1.0), zlim=(-0.62, 1.13))
    axes.set_box_aspect((1, 1, 1), zoom=1.25)
    axes.view_init(22, 35)
    axes.set_axis_off()
    lines = (
        ("space axes do not move; body axes are fixed in the body", SPACE),
        ("$q = (q_0, q_1, q_2, q_3)$, scalar first, body to space:", BODY),
        ("    $v_{space} = Q\\,v_{body}$;  columns of $Q$ are $e_1, e_2, e_3$", BODY),
        ("$m$: angular momentum, components along $e_1, e_2, e_3$", MOMENTUM),
        ("    a free body keeps $m_{space} = Q\\,m$", MOMENTUM),
        ("$\\omega = I^{-1} m$: angular velocity, along $e_1, e_2, e_3$", VELOCITY),
        ("    right hand rule: $\\dot Q = Q\\,\\hat\\omega$,  $\\dot m = m \\times \\omega + f$", VELOCITY),
        ("$I$: moments $(I_1, I_2, I_3)$ about $e_1, e_2, e_3$,", BODY),
        ("    in any order, or a tensor in your own body axes", BODY),
    )
    for k, (text, color) in enumerate(lines):
        figure.text(0.57, 0.84 - 0.08 * k, text, color=color, fontsize=9.5)
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
