"""What type checkers know about polhode, for users: read by mypy, as ``make lint`` does, and never run."""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import polhode as ph

Array = npt.NDArray[np.float64]

m, q = ph.propagate((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9), t=np.linspace(0.0, 1.0, 5))
assert_type(m, Array)
assert_type(q, Array)
assert_type(ph.propagate((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), jacobian=True)[2], ph.Jacobian)
assert_type(ph.propagate((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), return_error=True)[2], ph.ErrorBound)
assert_type(ph.propagate((1, 2, 3), (1, 1, 1), jacobian=True, return_error=True)[3], ph.ErrorBound)

motion = ph.free_motion((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9))
assert_type(motion, ph.FreeMotion)
assert_type(motion.period, float | Array)
assert_type(motion.q(1.0), Array)
assert_type(motion.flips(0, 10), Array)

assert_type(ph.Exact(), ph.Exact)
assert_type(ph.MoserVeselov(6), ph.MoserVeselov)
assert_type(ph.Adaptive(1e-8), ph.Adaptive)
end = ph.Exact().step((1.0, 2.0, 3.0), ph.State(m=(0.3, 0.2, 0.9)), 0.1)
assert_type(end, ph.State)

problem = ph.problems.get("satellite")
assert_type(problem, ph.Problem)
traj = ph.integrate(problem, rtol=1e-6)
assert_type(traj, ph.Trajectory)
assert_type(traj.m, Array)
run = ph.start(problem, method="V2", h=0.1)
assert_type(run, ph.Stepper)
assert_type(run.m, Array)
assert_type(ph.work_precision(problem, ["V2"], h=(0.1, 0.05)), ph.WorkPrecision)
