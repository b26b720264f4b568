"""
Seven integrators, one top
==========================

An asymmetric heavy top, by each of the seven families of methods: which keep the energy over many turns, and what does
an accuracy cost? The state of the top at t = 10 is known to all digits from a Taylor series in high precision.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

TOP = ph.problems.vilmart_top()
SPLITTING, ADAPTIVE = "splitting, order 6", "Adaptive"
METHODS = {
    SPLITTING: "RKN6_14a",
    "Rattle": ph.Rattle(),
    "QuatEM": ph.QuatEM(),
    "DirEM": ph.DirEM(),
    "QuatVI": ph.QuatVI(),
    "AlgoC1": ph.AlgoC1(),
    ADAPTIVE: ph.Adaptive(1e-6),
}

# %%
# Work and precision: steps from 0.2 down to 0.003, for the splitting of order 6 from 1.6 on, and tolerances for the one
# that chooses its steps. Errors are those of the quaternion at t = 10.

H = 0.2 / 2.0 ** np.arange(7)
study = {name: ph.work_precision(TOP, [method], h=H).runs for name, method in METHODS.items()}
study[SPLITTING] = ph.work_precision(TOP, ["RKN6_14a"], h=8 * H).runs
study[ADAPTIVE] = ph.work_precision(TOP, [ph.Adaptive(10.0**-k) for k in range(3, 13)], h=H).runs
orders, cost = {}, {}
print(f"{'':>18}  order  torques for an error below 1e-4")
for name, runs in study.items():
    errors, torques = np.array([(run.error_q, run.torques) for run in runs]).T
    last = np.nonzero(errors > 5e-12)[0][-1]  # beyond that, rounding hides the order
    orders[name] = np.log2(errors[last - 1] / errors[last])
    cost[name] = int(torques[errors < 1e-4].min())
    print(f"{name:>18} {'' if name == ADAPTIVE else f'{orders[name]:.2f}':>6} {cost[name]:8d}")

# %%
# Energy over 500 units of time, some 100 turns, at a step of 0.05. QuatEM keeps it to round-off, DirEM an energy of its
# own, which is near. The splitting, Rattle and QuatVI are symplectic: their errors swing without a drift. AlgoC1 keeps
# the momentum about the vertical instead, and the adaptive method drifts as its tolerance, here 1e-6, allows.

LONG = (0.0, 500.0)
drift, times = {}, {}
for name, method in METHODS.items():
    step = {} if name == ADAPTIVE else {"h": 0.05}
    traj = ph.integrate(TOP, LONG, method=method, save_every=5, **step)
    times[name], drift[name] = traj.t, np.abs(traj.energy - traj.energy[0])
    print(f"{name:>18}: energy off by at most {drift[name].max():.1e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for name, marker in zip(METHODS, "osD^vPX", strict=True):
    runs = study[name]
    left.loglog([r.torques for r in runs], [r.error_q for r in runs], marker=marker, ms=4, lw=1, label=name)
    block = max(1, len(times[name]) // 60)
    most = [drift[name][i : i + block].max() for i in range(0, len(drift[name]) - block + 1, block)]
    right.semilogy(times[name][block - 1 :: block][: len(most)], np.maximum(most, 1e-17), marker=marker, ms=2, lw=0.8)
left.set(xlabel="evaluations of the torque", ylabel="error of q at t = 10", title="work and precision")
left.legend(fontsize=8)
right.set(xlabel="t", ylabel="|energy - energy at the start|", title="energy, largest in each stretch of time")
plt.show()
