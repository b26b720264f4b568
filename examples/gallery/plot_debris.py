"""
Where does a piece of debris point?
===================================

A spent rocket stage tumbles end over end. Its moments of inertia are known to a part in a thousand, its spin to a part
in two thousand, its attitude to half a degree. Where does its long axis point after an hour, and after a day? Ten
thousand members of an ensemble answer, and for short times one Jacobian does.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph
from polhode import sampling

MOMENTS, OMEGA = (61_000.0, 63_000.0, 4_200.0), (0.02, 0.002, 0.004)  # kg m^2; rad/s: once in five minutes
SPREADS = {"moments": 1e-3, "omega": 1e-5, "attitude": 0.01}  # relative; rad/s; rad
MINUTES = np.array([0.0, 5, 10, 20, 30, 60, 120, 240, 480, 720, 1440])

# %%
# The ensemble: free bodies are exact at any time, so a day costs no more than a minute. Numbers of each member follow
# from the seed alone.

stage = ph.Problem(MOMENTS, omega=OMEGA, t_span=(0, 86_400))
samples = sampling.draw(
    10_000,
    moments=sampling.moments_near(MOMENTS, SPREADS["moments"]),
    omega=sampling.normal(OMEGA, SPREADS["omega"]),
    q=sampling.attitude_near((1, 0, 0, 0), SPREADS["attitude"]),
)
data = ph.ensemble(stage, samples, t_eval=60 * MINUTES, seed=1)
axes = ph.rotation.rotate(data.q.values, np.array([0.0, 0.0, 1.0]))  # (members, times, 3)

# %%
# One Jacobian at each time carries the covariance of the samples forward: the linear answer. The angle between the long
# axis and that of the nominal body, as a root of the mean square.

motion = ph.free_motion(MOMENTS, omega=OMEGA)
nominal = ph.rotation.rotate(motion.q(60 * MINUTES), np.array([0.0, 0.0, 1.0]))
angles = np.arccos(np.clip(np.sum(axes * nominal, axis=-1), -1, 1))
spread = np.sqrt(np.mean(angles**2, axis=0))

start = np.concatenate([data.moments, data.start_omega * data.moments, data.start_q], axis=1)
covariance = np.cov(start.T)
J = motion.jacobian(60 * MINUTES)
by_start = np.concatenate([J.dq_dI, J.dq_dm, J.dq_dq], axis=-1)  # (times, 4, 10)
q_covariance = by_start @ covariance @ np.swapaxes(by_start, -1, -2)


def axis_by_q(q):
    """Derivative (3, 4) of the direction of the long axis by the quaternion."""
    a, b, c, d = q
    return 2 * np.array([[c, d, a, b], [-b, -a, d, c], [a, -b, -c, d]])


linear = np.sqrt(
    [np.trace(D @ C @ D.T) for D, C in zip(map(axis_by_q, motion.q(60 * MINUTES)), q_covariance, strict=True)]
)
print("   after   ensemble   Jacobian, degrees")
for minutes, a, b in zip(MINUTES, np.degrees(spread), np.degrees(linear), strict=True):
    print(f"{minutes / 60:6.2f} h  {a:7.3f}  {b:9.3f}")

# %%
# Left, the spread grows in proportion to time, and the linear answer holds until it is as large as the circle. Right,
# the long axes of 2000 members on the sky, seen along the angular momentum.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.loglog(MINUTES[1:] / 60, np.degrees(linear[1:]), color="C7", label="one Jacobian")
left.loglog(MINUTES[1:] / 60, np.degrees(spread[1:]), "o", color="C0", label="10 000 members")
left.set(xlabel="hours", ylabel="spread of the long axis [degrees]")
left.legend()
plane = motion.invariable_frame[:, :2]
for index, color, label in ((10, "C3", "1 day"), (7, "C1", "4 hours"), (5, "C2", "1 hour"), (1, "C0", "5 minutes")):
    right.plot(*(axes[:2000, index] @ plane).T, ".", ms=1.5, color=color, label=label)
right.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=(), yticks=(), title="long axes on the sky after")
right.legend(markerscale=6, loc="center")
plt.show()

# %%
# The first 24 members as a film of four hours.

members = ph.free_motion(data.moments.values[:24], omega=data.start_omega.values[:24], q=data.start_q.values[:24])
members.animate(shape="rocket", title="24 members of the ensemble", t_span=(0, 14_400), seconds=10)
