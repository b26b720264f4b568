"""A satellite whose wheels stop its tumbling and turn it to an attitude: a controller in a loop, ten times a second.

python examples/detumble.py
"""

import numpy as np

import polhode as ph

INERTIA = (90.0, 110.0, 60.0)  # kg m^2
LARGEST = 0.5  # N m, of each wheel
PERIOD = 0.1  # s, between two samples of the controller
STIFFNESS, FRICTION = 2.0, 25.0  # gains: N m per radian, N m per radian per second
TARGET = ph.rotation.from_euler("ZYX", (0.4, -0.2, 1.0))


def wheels(t, Q, w, p):
    """The torque that the controller holds until its next sample."""
    return p[0], p[1], p[2]


def wanted_torque(q, omega):
    """Spring and damper towards the target, within the limits of the wheels."""
    error = ph.rotation.multiply(ph.rotation.conjugate(TARGET), q)
    turn = 2.0 * np.copysign(1.0, error[0]) * error[1:]  # the shorter way round
    return np.clip(-STIFFNESS * turn - FRICTION * omega, -LARGEST, LARGEST)


def controlled(seconds=200.0):
    """Return the run after so many seconds."""
    satellite = ph.Problem(
        INERTIA, omega=(0.02, -0.03, 0.05), force=ph.Torque(wheels, params=(0.0, 0.0, 0.0)), units={"t": "s"}
    )
    run = ph.start(satellite, method="V2", h=PERIOD / 2, keep=True)
    for k in range(round(seconds / PERIOD)):
        run.params[:] = wanted_torque(run.q, run.omega)
        run.to(PERIOD * (k + 1))
    return run


def main():
    run = controlled()
    print(f"t = {run.t:g} s: |omega| = {np.linalg.norm(run.omega):.1e} rad/s, q = {run.q.round(4)}")
    print(run.trajectory())


if __name__ == "__main__":
    main()
