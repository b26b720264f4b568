"""
A ship rolls and pitches
========================

A supply ship of 6400 tons, righted by buoyancy and damped by the water (F. Gustafsson 2010, sections 5.2 and 5.3). Such
damping is strong for roll, about which the ship is slender, and weak for pitch: naval architects read both off the
linearized equations. The splitting method treats damping exactly within its kicks.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph
from polhode.problems import vessel as ship

# %%
# The ship of the paper starts with 1 rad/s about every axis, to show the effects. A gentler start, 0.02 rad/s in roll
# and in pitch, can be compared with linear theory: I angle'' + D angle' + m g GM angle = 0 for each of the two.

wild, calm = ship(), ship(damped=False)
start = np.array([0.02, 0.02, 0.0])
gentle = ph.Problem(wild.body, omega=start, force=wild.force, t_span=(0, 40), units=wild.units)


def roll_and_pitch(traj):
    """Angles in degrees by which the ship leans to the side and forward."""
    up = traj.matrix[:, 2, :]  # the vertical in body axes
    return np.degrees(np.arctan2(up[:, 1], up[:, 2])), np.degrees(-np.arcsin(up[:, 0]))


def level(t, m, q):
    """An event: bow and stern are at the same height."""
    return ph.rotation.matrix(q)[..., 2, 0]


runs = {
    "wild": ph.integrate(wild, method="V2_BAB", h=0.02),
    "calm": ph.integrate(calm, method="RKN6_14a", h=0.05),
    "gentle": ph.integrate(gentle, method="V2_BAB", h=0.02, events=level),
}

# %%
# Linear theory: roll is overdamped, pitch rings.

I = wild.body.moments[:2]
D = 1e9  # N m s, about each axis
k = np.array([6.3622e6 * 9.81 * 2.14440, 6.3622e6 * 9.81 * 103.628])  # N m: weight times metacentric height
root = np.sqrt((D / (2 * I)) ** 2 - k / I + 0j)
t = runs["gentle"].t
decay = np.exp(-D / (2 * I[:, None]) * t)
linear = np.degrees((start[:2, None] * decay * np.sinh(root[:, None] * t) / root[:, None]).real)
slowest = 1 / (D / (2 * I[0]) - root[0].real)
print(f"roll falls by e in {slowest:.2f} s in the end; pitch has a period of {2 * np.pi / root[1].imag:.3f} s")
integrated = np.array(roll_and_pitch(runs["gentle"]))
gap = np.abs(integrated - linear).max()
print(f"largest angle {np.abs(integrated).max():.3f} degrees, off linear theory by {gap:.4f}")
passages = runs["gentle"].t_events[0]
measured_period = 2 * (passages[12] - passages[2]) / 10
print(f"the ship pitches with a period of {measured_period:.3f} s")

# %%
# Left, the wild start, with the damping of the water and without it, where energy must stay. Right, the gentle one on
# top of linear theory.

lost = np.abs(runs["calm"].energy_error()).max()
print(f"without damping, energy is kept to {lost:.1e}")
figure, panels = plt.subplots(2, 2, figsize=(10, 5), sharex="col", layout="constrained")
for row, name in enumerate(("roll", "pitch")):
    left, right = panels[row]
    left.plot(runs["calm"].t, roll_and_pitch(runs["calm"])[row], color="C7", lw=1, label="without damping")
    left.plot(runs["wild"].t, roll_and_pitch(runs["wild"])[row], color="C0", label="with damping")
    left.set(ylabel=f"{name} [degrees]", xlim=(0, 15))
    right.plot(t, integrated[row], color="C0", label="integrated")
    right.plot(t, linear[row], "--", color="C1", label="linear theory")
    right.set(xlim=(0, 40))
panels[0, 0].set_title("from 1 rad/s about every axis")
panels[0, 1].set_title("from 0.02 rad/s in roll and pitch")
panels[1, 0].set_xlabel("t [s]")
panels[1, 1].set_xlabel("t [s]")
panels[0, 0].legend(loc="upper right")
panels[0, 1].legend(loc="upper right")
plt.show()

# %%
# The wild start as a film.

runs["wild"].animate(seconds=10)
