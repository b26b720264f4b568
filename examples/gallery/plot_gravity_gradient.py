"""
A satellite librates in the gravity gradient
============================================

A long satellite in a low orbit hangs upright, because its lower end is pulled more strongly. Let go at an angle, it
swings in pitch like a pendulum. Textbooks give the rate of small swings, the square root of 3 (I_roll - I_yaw)/I_pitch
times the orbital rate (P. C. Hughes, Spacecraft attitude dynamics, chapter 9). How good is that for large ones?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk

import polhode as ph
from polhode.problems.satellite_orbit import orbit_rate, satellite_orbit

# %%
# A satellite with a boom, 500 km above the Earth; SI units. The pitch angle is measured from the direction to the
# Earth, which goes round once in 94.6 minutes.

n = orbit_rate(altitude=500e3)
roll, pitch, yaw = moments = (100.0, 110.0, 20.0)  # kg m^2
textbook = np.sqrt(3) * n * np.sqrt((roll - yaw) / pitch)
print(f"an orbit takes {2 * np.pi / n / 60:.2f} min, a small libration {2 * np.pi / textbook / 60:.3f} min")


def pitch_angle(t, q):
    """How far the yaw axis is from the direction to the Earth, in the plane of the orbit."""
    down = -np.stack([np.cos(n * t), np.sin(n * t)], axis=-1)
    axis = ph.rotation.rotate(q, np.array([0.0, 0.0, 1.0]))[..., :2]
    return np.arctan2(down[..., 1] * axis[..., 0] - down[..., 0] * axis[..., 1], np.sum(down * axis, axis=-1))


def upright(t, m, q):
    """An event: the satellite swings through the vertical."""
    return pitch_angle(t, q)


# %%
# Six amplitudes for four orbits each, and the rate of each libration from the first and last passage upright.

amplitudes = np.radians([0.1, 15, 30, 45, 60, 75])
runs, rates = [], []
for amplitude in amplitudes:
    problem = satellite_orbit(altitude=500e3, moments=moments, pitch=amplitude, orbits=4)
    traj = ph.integrate(problem, method="RKN6_14a", h=30.0, events=upright)
    passages = traj.t_events[0]
    rates.append(np.pi * (len(passages) - 1) / (passages[-1] - passages[0]))
    runs.append(traj)
rates = np.array(rates)
for amplitude, rate in zip(amplitudes, rates, strict=True):
    print(f"{np.degrees(amplitude):5.1f} degrees: {rate / textbook:.6f} of the textbook rate")

# %%
# Left, the swings. Right, their rates: the formula is right for small ones, and the pendulum's elliptic integral, pi/(2
# K), for all of them.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(3, 2), layout="constrained")
for traj, amplitude, shade in zip(runs[1:], amplitudes[1:], plt.cm.viridis(np.linspace(0, 0.85, 5)), strict=True):
    angle = np.degrees(pitch_angle(traj.t, traj.q))
    left.plot(traj.t * n / (2 * np.pi), angle, color=shade, label=f"{np.degrees(amplitude):.0f}°")
left.set(xlabel="orbits", ylabel="pitch angle [degrees]", xlim=(0, 4))
left.legend(title="let go at", loc="lower right", ncols=5, fontsize=8)
fine = np.radians(np.linspace(0, 85, 200))
right.plot(np.degrees(fine), np.pi / (2 * ellipk(np.sin(fine) ** 2)), color="C7", label="pendulum, π/(2 K)")
right.axhline(1, color="C7", ls=":", label="textbook, small swings")
right.plot(np.degrees(amplitudes), rates / textbook, "o", color="C1", label="integrated")
right.set(xlabel="amplitude [degrees]", ylabel="libration rate / textbook rate", ylim=(0, 1.1))
right.legend(loc="lower left")
plt.show()

# %%
# The second smallest swing as a film, for two orbits.

runs[1].animate(t_span=(0, 4 * np.pi / n), seconds=10)
