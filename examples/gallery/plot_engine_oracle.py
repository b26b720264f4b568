"""
An oracle for a physics engine
==============================

Engines for robots and games integrate free rigid bodies at every step. How wrong are they? The closed form is an
oracle: right to the last digits at any time, for any inertia. Here it examines MuJoCo (``pip install mujoco``), with
its semi-implicit Euler method, its implicit method, and Runge-Kutta of order 4.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

try:
    import mujoco
except ImportError:
    sys.exit("this example examines the physics engine MuJoCo, which is not installed: type pip install mujoco")

# %%
# A tumbling body in empty space, as a model of MuJoCo. Its conventions are those of polhode: quaternions with the
# scalar first, body to space, and the angular velocity of a free body in body axes.

MOMENTS, OMEGA, T_END = (1.0, 2.0, 2.5), (0.1, 2.0, 0.1), 20.0
MODEL = """
<mujoco>
  <option gravity="0 0 0" timestep="{step}" integrator="{integrator}"/>
  <worldbody><body><freejoint/>
    <inertial pos="0 0 0" mass="1" diaginertia="{moments}"/>
  </body></worldbody>
</mujoco>
"""


def engine(integrator, step):
    """Times (k,) and q (k, 4) by MuJoCo."""
    moments = " ".join(map(str, MOMENTS))
    model = mujoco.MjModel.from_xml_string(MODEL.format(step=step, integrator=integrator, moments=moments))
    data = mujoco.MjData(model)
    data.qvel[3:] = OMEGA
    rows = np.empty((round(T_END / step), 5))
    for row in rows:
        mujoco.mj_step(model, data)
        row[0], row[1:] = data.time, data.qpos[3:]
    return rows[:, 0], rows[:, 1:]


# %%
# The oracle: no steps. Errors are the angle between the two attitudes.

truth = ph.free_motion(MOMENTS, omega=OMEGA)


def examine(integrator, step):
    """Times, and errors of the attitude in degrees."""
    t, q = engine(integrator, step)
    exact = truth.q(t)
    gap = np.minimum(np.linalg.norm(q - exact, axis=1), np.linalg.norm(q + exact, axis=1))  # q and -q are the same
    return t, np.degrees(4 * np.arcsin(0.5 * gap))


INTEGRATORS = ("Euler", "implicit", "RK4")
STEPS = (0.02, 0.01, 0.005, 0.0025)
found = {name: [examine(name, step) for step in STEPS] for name in INTEGRATORS}
last = {name: np.array([errors[-1] for _, errors in runs]) for name, runs in found.items()}
orders = {name: np.log2(errors[0] / errors[1]) for name, errors in last.items()}
print(f"attitude after {T_END:g} s, off by degrees; the body flips every {truth.period / 2:.2f} s")
print(f"{'step':>10}" + "".join(f"{step:>10g}" for step in STEPS) + "     order")
for name, errors in last.items():
    print(f"{name:>10}" + "".join(f"{error:10.3g}" for error in errors) + f"{orders[name]:10.2f}")

# %%
# Left, the error grows most while the body spins near its middle axis, between two flips. Right, the order of each
# method as it is, and not as it is said to be.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for (name, runs), color in zip(found.items(), ("C0", "C1", "C2"), strict=True):
    t, errors = runs[1]
    left.semilogy(t, np.maximum(errors, 1e-10), color=color, lw=1, label=name)
    right.loglog(STEPS, last[name], "o-", color=color, label=f"{name}: order {orders[name]:.1f}")
for flip in truth.flips(0, T_END):
    left.axvline(flip, color="black", lw=0.6, ls=":")
left.set(xlabel="t [s]", ylabel="error [degrees]", xlim=(0, T_END), title="steps of 0.01 s; dotted: the flips")
right.set(xlabel="step [s]", ylabel=f"error after {T_END:g} s [degrees]")
right.set_xticks(STEPS, labels=STEPS)
right.minorticks_off()
left.legend()
right.legend()
plt.show()
