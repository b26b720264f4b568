"""
A tennis racket turns over
==========================

A T-handle in weightlessness, spun about its stem, turns over again and again. The stem is the axis of middle inertia,
and no spin about that axis lasts. How long does the handle wait between two flips, and on what does that depend?
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

# %%
# The handle is two steel rods; it spins at 10 rad/s about its stem, the first body axis, and hardly about the bar, the
# second. A free body is a function of time: there is no step size, and the flips are known in advance.

motion = ph.problems.dzhanibekov(omega=(10.0, 0.02, 0.0)).free_motion()
period, flips = motion.period, motion.flips(0, 15)
print(f"it turns over every {period / 2:.4f} s: at {np.round(flips, 3)} s")

# %%
# Above, the stem and the bar as seen from the side, through one flip. Below, the angular velocity in body axes: the
# spin about the stem changes its sign, which means that the stem now points the other way in space, where the angular
# momentum has stayed as it was.

figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5), height_ratios=(1, 1.6), layout="constrained")
along = motion.m_space / np.linalg.norm(motion.m_space)
for place, t in enumerate(np.linspace(flips[0] - 0.42, flips[0] + 0.42, 9)):
    stem, bar = (motion.rotation(t).apply(axis) for axis in np.eye(3)[:2])
    center = np.array([place, 0.0])
    side = np.array([along, [0.0, 0.0, 1.0]])  # the picture plane: along the angular momentum, and across
    tip, end = 0.4 * side @ stem, 0.4 * side @ bar
    above.plot(*np.transpose([center - end, center + end]), color="C0", lw=4, solid_capstyle="round")
    above.plot(*np.transpose([center, center + tip]), color="C1", lw=4, solid_capstyle="round")
above.set(
    aspect="equal", title=f"the handle from {flips[0] - 0.42:.2f} s to {flips[0] + 0.42:.2f} s, seen from the side"
)
above.axis("off")

times = np.linspace(0, 15, 3000)
for omega, name, color in zip(motion.omega(times).T, ("stem", "bar", "across"), ("C1", "C0", "C7"), strict=True):
    below.plot(times, omega, color=color, label=name)
for flip in flips:
    below.axvline(flip, color="black", lw=0.8, ls=":")
below.set(xlabel="t [s]", ylabel="angular velocity [rad/s]", xlim=(0, 15), title="dotted: the flips")
below.legend(loc="lower right")

# %%
# The nearer to the stem it spins, the longer it waits, but only as the logarithm of the error: ten times nearer takes
# the same time longer, twice the logarithm of ten over the rate at which a small error grows.

body = motion.body
I1, I2, I3 = body.moments
growth = 10.0 * np.sqrt((I3 - I1) * (I1 - I2) / (I2 * I3))  # per second, of small errors, by Euler's equations
offsets = 10.0 ** -np.arange(0.0, 13.0)
waits = 0.5 * ph.free_motion(body, omega=np.stack([10 + 0 * offsets, offsets, 0 * offsets], axis=-1)).period
longer = np.diff(waits)[-1]
print(f"ten times nearer: {longer:.6f} s longer; 2 ln(10)/growth = {2 * np.log(10) / growth:.6f} s")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.semilogx(offsets, waits, "o-")
axes.set(xlabel="spin about the bar at the start [rad/s]", ylabel="time between flips [s]")
plt.show()

# %%
# The handle as a film.

motion.animate(shape="t-handle", t_span=(0, 10), title="A T-handle turns over", seconds=10)
