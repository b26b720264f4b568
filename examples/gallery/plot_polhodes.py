"""
Polhodes and the separatrix
===========================

Seen from the body, the angular momentum of a free rigid body moves on a sphere, along closed curves: the polhodes. Some
circle the axis of least inertia, some that of greatest inertia, and the curve that parts them passes through the middle
axis, where it takes forever.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

MOMENTS = (1.0, 2.0, 3.0)

# %%
# Momenta of length 1 along the arc from the axis of least inertia to that of greatest, all as one batch. The separatrix
# crosses that arc at the angle whose tangent is the root of I3 (I2 - I1)/(I1 (I3 - I2)).

I1, I2, I3 = MOMENTS
crossing = np.arctan(np.sqrt(I3 * (I2 - I1) / (I1 * (I3 - I2))))
angles = np.concatenate(
    [np.linspace(0.05, 0.97, 7) * crossing, np.pi / 2 - np.linspace(0.1, 0.95, 5) * (np.pi / 2 - crossing)]
)
starts = np.stack([np.cos(angles), 0 * angles, np.sin(angles)], axis=-1)
motions = ph.free_motion(MOMENTS, m=np.concatenate([starts, -starts]))
curves = np.moveaxis(motions.polhode(400, of="m"), 1, 0)
print(f"the separatrix crosses at {np.degrees(crossing):.3f} degrees from the axis of least inertia")
print("regimes:", *motions.regime[: len(angles)])

# %%
# How many momenta, of all directions alike, belong to each family? The separatrix consists of two circles through the
# middle axis, so the part around the axis of greatest inertia is two lunes, 1 - 2/pi times the angle above.

rng = np.random.default_rng(1)
many = ph.free_motion(MOMENTS, m=rng.normal(size=(200_000, 3)))
counted, expected = np.mean(many.regime == "around_max"), 1 - 2 * crossing / np.pi
print(f"around the axis of greatest inertia: {counted:.4f} of all, by the lunes {expected:.4f}")

# %%
# Left, the sphere of momentum with the polhodes of both families, blue and orange, and the separatrix, black. Right,
# the period along the arc: it grows without bound, and only as a logarithm, toward the separatrix.

figure = plt.figure(figsize=(10, 4.8), layout="constrained")
sphere = figure.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
sphere.view_init(elev=25, azim=35)
sphere.set_proj_type("ortho")
up, around = np.radians((25, 35))
eye = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
u, v = np.mgrid[0 : 2 * np.pi : 61j, 0 : np.pi : 31j]
sphere.plot_surface(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color="#E8ECF2", shade=False, zorder=0)
turn = np.linspace(0, 2 * np.pi, 400)
circles = [
    np.stack([np.cos(s * crossing) * np.sin(turn), np.cos(turn), np.sin(s * crossing) * np.sin(turn)], -1)
    for s in (1, -1)
]
families = [("C0" if regime == "around_min" else "C1", 1.2) for regime in motions.regime]
for curve, (color, width) in zip([*curves, *circles], [*families, *[("black", 2.0)] * 2], strict=True):
    front = (curve @ eye > 0)[:, None]
    sphere.plot(*np.where(front, 1.005 * curve, np.nan).T, color=color, lw=width, zorder=2)
for axis, label in zip(np.eye(3), ("least", "middle", "greatest"), strict=True):
    sphere.text(*1.2 * axis, label, ha="center", zorder=3)
sphere.set_box_aspect((1, 1, 1), zoom=1.5)
sphere.set_axis_off()

right = figure.add_subplot(1, 2, 2)
near = crossing * (1 - np.logspace(0, -9, 400)), np.pi / 2 - (np.pi / 2 - crossing) * (1 - np.logspace(0, -9, 400))
for angle, color in zip(near, ("C0", "C1"), strict=True):
    angle = angle[1:]
    period = ph.free_motion(MOMENTS, m=np.stack([np.cos(angle), 0 * angle, np.sin(angle)], axis=-1)).period
    right.plot(np.degrees(angle), period, color=color)
right.axvline(np.degrees(crossing), color="black")
right.set(xlabel="angle from the axis of least inertia [degrees]", ylabel="period of the polhode", xlim=(0, 90))
plt.show()

# %%
# Three bodies as a film: one of each family, and one that is just beside the separatrix, which turns over.

shown = np.array([0.4 * crossing, 0.998 * crossing, 0.5 * (crossing + np.pi / 2)])
bodies = [ph.free_motion(MOMENTS, m=(np.cos(angle), 0.0, np.sin(angle))) for angle in shown]
labels = ["around the least", "beside the separatrix", "around the greatest"]
ph.plot.animate(bodies, labels=labels, title="Three polhodes", t_span=(0, 60), seconds=10)
