"""
An asteroid tumbles for twenty years
====================================

4179 Toutatis, 4.6 km long, is the asteroid whose tumbling is known best: radar saw it at every close approach from 1992
to 2012, and Chang'e 2 flew past it in December 2012. Hudson and Ostro found two periods, 5.41 days for the rotation
about the long axis and 7.35 days for its precession. Two such periods follow from the moments of inertia and the
angular velocity at one time.

* R. S. Hudson, S. J. Ostro, Shape and non-principal axis spin state of asteroid 4179 Toutatis, Science 270 (1995) 84
* Y. Takahashi, M. W. Busch, D. J. Scheeres, Spin state and moment of inertia characterization of 4179 Toutatis, Astron.
  J. 146 (2013) 95: moments, and the spin states of 1992
* Y. Zhao et al., Orientation and rotational parameters of asteroid 4179 Toutatis, MNRAS 450 (2015) 3620: 5.38 +- 0.03
  and 7.40 +- 0.03 days
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import polhode as ph

MOMENTS = (3.0836, 3.235, 1.0)  # relative to that of the long axis, the third
OMEGA = np.radians([14.5, 33.7, -98.5])  # per day, body axes, at the epoch
EPOCH, LATER = np.datetime64("1992-11-09T17:49:47"), np.datetime64("1992-12-02T21:40:00")
ATTITUDE, ATTITUDE_LATER = (147.5, 63.9, 241.5), (122.2, 86.5, 107.0)  # degrees, Euler angles z, x, z

# %%
# The two periods: that of the momentum in body axes, and that in which the long axis goes round the momentum, on
# average.


def periods(omega):
    motion = ph.free_motion(MOMENTS, omega=omega)
    return motion.period, motion.period / motion.rotation_number


rotation, precession = periods(OMEGA)
print(f"rotation {rotation:.3f} d, precession {precession:.3f} d")

# %%
# Hudson and Ostro's own two periods belong to a spin that differs from this one by a percent or so:


def misfit(scale):
    return np.subtract(periods(OMEGA * [scale[0], scale[0], scale[1]]), (5.41, 7.35))


across, along = fsolve(misfit, (1.0, 1.0))
first, second = hudson_ostro = periods(OMEGA * [across, across, along])
print(f"{first:.3f} d and {second:.3f} d: {across - 1:+.1%} across the axis, {along - 1:+.1%} along it")

# %%
# From the radar images of November 9, 1992, where is it on December 2? One evaluation, 23 days and seven turns later:

motion = ph.free_motion(MOMENTS, omega=OMEGA, q=Rotation.from_euler("ZXZ", ATTITUDE, degrees=True))
days = (LATER - EPOCH) / np.timedelta64(1, "D")
seen = Rotation.from_euler("ZXZ", ATTITUDE_LATER, degrees=True)
off = np.degrees((motion.rotation(days).inv() * seen).magnitude())
turned = np.degrees(np.linalg.norm(OMEGA)) * days
print(f"after {days:.2f} d and {turned:.0f} degrees the attitude is {off:.1f} degrees from what radar saw")

# %%
# Left, what a telescope in a fixed direction would see on 24 evenings. Right, the spectrum of the light curve, the area
# of an ellipsoid of 1.92 by 2.40 by 4.60 km as seen from there, over twenty years. All lines are sums of multiples of
# two frequencies, so the asteroid never comes back to the same attitude. In the light curve of 1992 B. E. A. Mueller et
# al. (Bull. Am. Astron. Soc. 32 (2000) 8.08) found 0.135, 0.271 and 0.643 per day, each within 0.008.

lengths = np.array([2.40, 1.92, 4.60])  # km, along the body axes
years = np.arange(0, 7305, 0.25)
toward_us = motion.rotation(years).as_matrix()[:, 0, :]  # the x-axis of space in body axes
area = np.pi / 4 * np.prod(lengths) * np.linalg.norm(toward_us / lengths, axis=1)
spectrum = np.abs(np.fft.rfft((area - area.mean()) * np.hanning(len(area)))) * 4 / len(area)
frequency = np.fft.rfftfreq(len(area), 0.25)
peaks = frequency[1:-1][(spectrum[1:-1] > spectrum[2:]) & (spectrum[1:-1] > spectrum[:-2]) & (spectrum[1:-1] > 0.05)]
print("strongest lines, per day:", peaks.round(4))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(turn), np.sin(turn)])
for day in range(24):
    sky = motion.rotation(day).as_matrix()[1:]  # rows: the y- and z-axis of space in body axes
    outline = np.linalg.cholesky(sky * (lengths / 2) ** 2 @ sky.T) @ circle  # of the ellipsoid's shadow
    tip = sky @ (0, 0, lengths[2] / 2)
    place = np.array([5 * (day % 6), -5 * (day // 6)])[:, None]
    left.fill(*(outline + place), color="C7", lw=0)
    left.plot(*(place[:, 0] + tip), "o", ms=3, color="C1")
    left.text(*(place[:, 0] - (2.2, 2.4)), f"{day} d", fontsize=7)
left.set(aspect="equal", title="24 evenings; the dot marks one end")
left.axis("off")
right.semilogy(frequency, spectrum, lw=0.8, color="C7")
for k, l, label in ((1, 0, r"$1/P_\phi$"), (2, 0, r"$2/P_\phi$"), (2, 2, r"$2/P_\phi + 2/P_\psi$")):
    right.axvline(k / precession + l / rotation, color="C1", lw=0.8, ls=":")
    right.text(k / precession + l / rotation, 5, label, color="C1", ha="center")
right.set(xlim=(0, 0.8), ylim=(1e-5, 20), xlabel="per day", ylabel="amplitude [km²]", title="twenty years of light")
plt.show()

# %%
# Thirty days in ten seconds; the shape is only an illustration.

motion.animate(shape="asteroid", t_span=(0, 30), title="4179 Toutatis", seconds=10)
