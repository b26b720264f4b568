"""Results that rewriting the library must not change: every case is a function of a nudge of its initial state.

``python tests/frozen_cases.py`` writes golden/frozen.json: each result in hexadecimal digits, what it depends on
besides the code (the processor, and the versions of Numba and llvmlite), and the condition of each case, from a nudge
of 1e-7. A commit that writes it again does nothing else, and lists what moved.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

import polhode as ph
from conftest import EPS, TESTS, golden_cases
from polhode import forces, sampling
from polhode.core.progress import Progress
from polhode.files.environment import processor
from polhode.flows import variants
from polhode.integration.running import FIRST_PIECE
from polhode.kernels.compiler import JIT
from polhode.methods.schemes import SCHEMES
from polhode.systems.interactions import DipolarSoftSpheres

FILE = TESTS / "golden" / "frozen.json"
NUDGE = 1e-7
STEPS = 8
METHODS = (ph.Rattle(), ph.QuatEM(), ph.QuatVI(), ph.DirEM(), ph.AlgoC1(), ph.AlgoC1("trapezoidal"), ph.Adaptive(1e-9))
DIRECTION = np.array([0.48, -0.6, 0.64])


def nudged(m, nudge):
    """m, moved by ``nudge`` |m|."""
    m = np.asarray(m, float)
    return m + nudge * np.linalg.norm(m, axis=-1, keepdims=True) * DIRECTION


def states(traj):
    return traj.m[-1], traj.q[-1]


# The free body


def single(case, nudge):
    return ph.propagate(case["I"], nudged(case["m0"], nudge), case["q0"], case["t"])


def batch(nudge):
    """All golden cases in one call: the bits of each alone."""
    cases = golden_cases()
    inertia, m, q, t = (np.array([case[name] for case in cases]) for name in ("I", "m0", "q0", "t"))
    m, q = ph.propagate(inertia, nudged(m, nudge), q, t)
    return *m, *q


def motion(case, nudge):
    """A free motion at five times, with what it says of itself."""
    free = ph.free_motion(case["I"], m=nudged(case["m0"], nudge), q=case["q0"])
    t = float(case["t"]) * np.array([-0.5, 0.0, 0.25, 0.5, 1.0])
    return free.m(t), free.q(t), free.omega(t), free.energy


def flow_steps(flow, nudge):
    state = ph.State(nudged((0.45, 0.6, 0.66), nudge), (0.5, 0.1, -0.7, 0.5))
    end = flow.step((1.0, 1.65, 1.97), state, 0.5 * flow.record.test_step, STEPS)
    return end.m, end.q


# Bodies with a torque


def top(nudge, span=0.125 * STEPS):
    force = forces.gravity(1.2, (0.1, 0.0, 0.3))
    state = ph.State(nudged((0.3, -0.4, 1.1), nudge), (0.8, 0.6, 0.0, 0.0))
    return ph.Problem((1.0, 1.65, 1.97), state, force, (0.0, span))


def satellite(nudge):
    """A weak force that turns with the orbit; the inertia is a tensor."""
    tensor = np.array([[2.0, 0.1, -0.2], [0.1, 1.6, 0.05], [-0.2, 0.05, 1.1]])
    state = ph.State(nudged((0.2, 0.9, -0.3), nudge), (0.5, -0.5, 0.5, 0.5))
    return ph.Problem(tensor, state, forces.gravity_gradient(tensor, 0.3), (0.0, 0.125 * STEPS))


def driven(t, Q, w, p):
    return p[0] * w[1] - 0.1 * w[0], Q[2][0] * p[1], -0.2 * w[2] + 0.05 * t


def controlled(nudge):
    state = ph.State(nudged((0.3, -0.4, 1.1), nudge))
    return ph.Problem((1.0, 1.65, 1.97), state, ph.Torque(driven, params=(0.3, 0.4)), (0.0, 0.125 * STEPS))


def integrated(problem, method, nudge):
    step = {} if isinstance(method, ph.Adaptive) else {"h": 0.125}
    return states(ph.integrate(problem(nudge), method=method, **step))


def chosen(problem, nudge):
    """Method and step chosen for a tolerance: where the choice is a matter of timing, this would be seen."""
    return states(ph.integrate(problem(nudge), rtol=1e-8))


def system(method, nudge):
    dipoles = DipolarSoftSpheres((0, 0.3, 0.3))
    crowd = ph.System.lattice(ph.RigidBody((1.0, 1.0, 0.1), mass=1.0), 3, 1.4, dipoles, kT=0.5, seed=2)
    crowd = crowd.replaced(state=crowd.state.replaced(m=nudged(crowd.state.m, nudge)))
    traj = ph.integrate(crowd, (0.0, 0.05), method=method, h=0.01)
    return traj.m[-1], traj.q[-1], traj.x[-1], traj.p[-1]


def interrupted(nudge):
    """A long run, ended from outside while it computes, and gone on with."""
    problem = top(nudge, span=0.001 * 10 * FIRST_PIECE)
    folder = Path(tempfile.mkdtemp())
    calls, show = [], Progress.show

    def ends(self, done):
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt
        show(self, done)

    try:
        Progress.show = ends
        with suppress(KeyboardInterrupt):
            ph.stream(problem, folder / "run.zarr", method="S6_10", h=0.001, save_every=FIRST_PIECE)
        Progress.show = show
        ph.resume(folder / "run.zarr", problem)
        traj = ph.load(folder / "run.zarr")
    finally:
        Progress.show = show
        shutil.rmtree(folder)
    return traj.m[-3:], traj.q[-3:]


def tops(rows):
    force = forces.gravity(rows["weight"], (0.0, 0.0, 0.2))
    return ph.Problem(ph.RigidBody.from_moments(rows["moments"]), ph.State(rows["m"]), force, (0.0, 2.0))


def ensemble(nudge):
    count = 24
    k = np.arange(count)
    m = np.stack([0.3 + 0.01 * k, 0.2 - 0.02 * k, 0.9 + 0 * k], axis=-1)
    moments = np.stack([1.0 + 0.01 * k, 1.5 + 0 * k, 2.0 + 0.02 * k], axis=-1)
    samples = sampling.draw(count, moments=moments, m=nudged(m, nudge), weight=0.5 + 0.04 * k)
    traj = ph.ensemble(tops, samples, method="S6_10", h=0.05, t_eval=np.array([0.0, 2.0]), chunk=7)
    return np.asarray(traj.m)[:, -1], np.asarray(traj.q)[:, -1]


def cases():
    """{name: function of the nudge}."""
    found = {f"propagate {case['label']}": partial(single, case) for case in golden_cases()}
    found["propagate all at once"] = batch
    kinds = {case["label"].split("/")[0]: case for case in golden_cases()}
    found |= {f"free_motion {kind}": partial(motion, case) for kind, case in kinds.items()}
    found |= {repr(flow): partial(flow_steps, flow) for flow in variants()}
    for problem in (top, satellite):
        found |= {f"{name}, {problem.__name__}": partial(integrated, problem, name) for name in SCHEMES}
        found |= {f"{method!r}, {problem.__name__}": partial(integrated, problem, method) for method in METHODS}
    for method in ("V2", "S4_6", ph.Splitting(ph.Midpoint(), "S6_10"), ph.Adaptive(1e-9)):
        found[f"{method}, controlled"] = partial(integrated, controlled, method)
    found["rtol, top"] = partial(chosen, top)
    found |= {f"system, {method}": partial(system, method) for method in ("V2", "RKN4_6b")}
    found["interrupted"] = interrupted
    found["ensemble"] = ensemble
    return found


def machine():
    versions = {name: importlib.metadata.version(name) for name in ("numba", "llvmlite")}
    return {"processor": processor(), **versions}


def frozen():
    return json.loads(FILE.read_text())


def to_the_bit():
    """Whether results here have to be those of the file to the bit."""
    return JIT and frozen()["machine"] == machine()


def rounded_steps(name):
    """Return how many steps a result has at most: each may round it by 5 eps (1 + cond)."""
    if name.startswith(("propagate", "free_motion")):
        return 1
    return 10 * FIRST_PIECE if name == "interrupted" else 5 * STEPS


def in_digits(part):
    return [float(x).hex() for x in np.ravel(part)]


def distance(part, expected):
    """Of an array from frozen values, in eps (size + condition)."""
    values = np.array([float.fromhex(x) for x in expected["values"]])
    size = float(np.abs(values).max()) + expected["condition"]
    return float(np.abs(np.ravel(part) - values).max() / (EPS * size)) if size else float(np.any(part))


def freeze():
    before = frozen()["results"] if FILE.exists() else {}
    results = {}
    for name, case in cases().items():
        results[name] = []
        for number, (part, moved) in enumerate(zip(case(0.0), case(NUDGE), strict=True)):
            condition = float(np.max(np.abs(moved - part)) / NUDGE)
            results[name].append({"condition": float(f"{condition:.2e}"), "values": in_digits(part)})
            if name in before and before[name][number]["values"] != in_digits(part):
                print(f"{name}, part {number}: moved by {distance(part, before[name][number]):.2f} eps (1 + cond)")
    FILE.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    freeze()
