"""Frozen cases of bodies under torques: all schemes and methods, alone and in batches, events, steps, long runs."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from functools import partial
from math import sin, sqrt
from pathlib import Path

import numpy as np

import polhode as ph
from inputs import MOMENTS, TENSOR, attitudes, nudged, scattered
from polhode import forces, sampling
from polhode.core.progress import Progress
from polhode.integration.running import FIRST_PIECE
from polhode.methods.schemes import SCHEMES

STEPS = 8
H = 0.125
SPAN = (0.0, H * STEPS)
WHOLE = (ph.Rattle(), ph.QuatEM(), ph.QuatVI(), ph.DirEM(), ph.AlgoC1(), ph.AlgoC1("trapezoidal"))
OWN_STEPS = (ph.Adaptive(1e-9), ph.Taylor(), ph.Taylor(1e-9))
COUNT = 37  # a block of lanes, and a part of one


def driven(t, Q, w, p):
    return p[0] * w[1] - 0.1 * w[0], Q[2][0] * p[1], -0.2 * w[2] + 0.05 * t


def waves(t, Q, w, p):
    """Operations of Taylor series: quotients, roots, powers, functions."""
    return p[0] * sin(t) * Q[2][1], -p[0] * Q[2][0] / (2.0 + Q[0][0]), sqrt(1.5 + Q[1][1]) * p[1] - 0.1 * w[2] ** 3


def branching(t, Q, w, p):
    """No graph stands for it: Numba compiles it. It always takes one branch: rounding would decide when another."""
    return (p[0] * Q[2][1] if Q[0][0] > -2.0 else p[1]), -p[0] * Q[2][0], 0.0


def top(nudge, t_span=SPAN):
    state = ph.State(nudged((0.3, -0.4, 1.1), nudge), (0.8, 0.6, 0.0, 0.0))
    return ph.Problem(MOMENTS, state, forces.gravity(1.2, (0.1, 0.0, 0.3)), t_span)


def satellite(nudge):
    """A weak force that turns with the orbit; the inertia is a tensor."""
    state = ph.State(nudged((0.2, 0.9, -0.3), nudge), (0.5, -0.5, 0.5, 0.5))
    return ph.Problem(TENSOR, state, forces.gravity_gradient(TENSOR, 0.3), SPAN)


def controlled(nudge):
    state = ph.State(nudged((0.3, -0.4, 1.1), nudge))
    return ph.Problem(MOMENTS, state, ph.Torque(driven, params=(0.3, 0.4)), SPAN)


def crowd(nudge, torque=waves):
    """Bodies of any moments, whose speeds differ, with parameters of their own."""
    moments = 1.5 + 0.49 * scattered(COUNT, 3)
    m = nudged(scattered(COUNT, 3, seed=2), nudge) * 2.0 ** (np.arange(COUNT) % 5 - 1)[:, None]
    force = ph.Torque(torque, params=0.5 + 0.4 * scattered(COUNT, 2, seed=3))
    return ph.Problem(ph.RigidBody.from_moments(moments), ph.State(m, attitudes(COUNT)), force, SPAN)


def damped_crowd(nudge):
    problem = crowd(nudge)
    return problem.replaced(force=problem.force + forces.damping((0.1, 0.0, 0.05)))


def branching_crowd(nudge):
    return crowd(nudge, branching)


def tops_of_all_kinds(nudge):
    problem = crowd(nudge)
    weight = 0.5 + 0.4 * scattered(COUNT, seed=3)
    return problem.replaced(force=forces.gravity(weight, (0.1, 0.2, 1.0)))


def states(traj):
    return traj.m[-1], traj.q[-1]


def integrated(problem, method, nudge):
    step = {} if isinstance(method, ph.Adaptive | ph.Taylor) else {"h": H}
    return states(ph.integrate(problem(nudge), method=method, **step))


def chosen(problem, nudge):
    """Method and step chosen for a tolerance: where the choice is a matter of timing, this would be seen."""
    return states(ph.integrate(problem(nudge), rtol=1e-8))


def between_steps(problem, method, nudge):
    """States at times within steps, asked for in advance and afterwards."""
    step = {} if isinstance(method, ph.Adaptive | ph.Taylor) else {"h": H}
    times = np.append(np.arange(1, 16) / 17.0, 1.0)
    traj = ph.integrate(problem(nudge), method=method, t_eval=times, dense_output=True, **step)
    every = 7 if problem is crowd else 1  # some states of many bodies
    return traj.m[::every], traj.q[::every], *traj.sol(0.3)


def upright(t, m, q):
    return m[..., 0] - 0.2 * q[..., 1] - 0.02 * t


def events(problem, method, nudge):
    step = {} if isinstance(method, ph.Adaptive | ph.Taylor) else {"h": H}
    traj = ph.integrate(problem(nudge, (0.0, 8.0)), method=method, events=upright, **step)
    return traj.t_events[0], traj.m[-1]


def stepped(problem, method, nudge):
    """A run in steps of the caller: to times between steps and back, with an impulse, and begun again elsewhere."""
    run = ph.start(problem(nudge), method=method, h=None if isinstance(method, ph.Adaptive | ph.Taylor) else H)
    found = []
    for act in (
        run.step,
        partial(run.to, 0.3),
        run.step,
        partial(run.apply, (0.0, 0.1, -0.2)),
        partial(run.to, 0.9),
        partial(run.to, 0.5),
        partial(run.reset, ph.State(nudged((0.1, 0.7, 0.2), nudge)), 0.25),
        partial(run.to, 1.0),
    ):
        act()
        found += [run.m, run.q]
    return found


def interrupted(nudge):
    """A long run, ended from outside while it computes, and gone on with."""
    problem = top(nudge, (0.0, 0.001 * 10 * FIRST_PIECE))
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


def one_body():
    found = {}
    for problem in (top, satellite):
        found |= {f"{name}, {problem.__name__}": partial(integrated, problem, name) for name in SCHEMES}
        found |= {f"{method!r}, {problem.__name__}": partial(integrated, problem, method) for method in WHOLE}
    for method in ("V2", "S4_6", ph.Splitting(ph.Midpoint(), "S6_10")):
        found[f"{method}, controlled"] = partial(integrated, controlled, method)
    return found


def own_steps():
    found = {}
    for method in OWN_STEPS:
        for problem in (top, satellite, controlled):
            found[f"{method!r}, {problem.__name__}"] = partial(integrated, problem, method)
    for problem in (top, satellite, controlled, tops_of_all_kinds):
        found[f"rtol, {problem.__name__}"] = partial(chosen, problem)
    return found


def batches():
    found = {}
    for problem, methods in (
        (crowd, ("S4_6", "ABA1064", *OWN_STEPS)),
        (damped_crowd, ("V2", ph.Taylor(1e-9))),
        (tops_of_all_kinds, ("V2", "RKN6_14a", "PABA1264", "Chin4A", "WH17G", *OWN_STEPS)),
        (branching_crowd, ("ABA82", ph.Splitting(ph.ThreeRotations(), "V2"), ph.Adaptive(1e-9))),
    ):
        found |= {f"{method!r}, {problem.__name__}": partial(integrated, problem, method) for method in methods}
    return found | {"ensemble": ensemble}


def between():
    found = {}
    for method in ("V2", "PABA1264", ph.Adaptive(1e-9), ph.Taylor()):
        found[f"between steps, {method!r}"] = partial(between_steps, top, method)
        found[f"events, {method!r}"] = partial(events, top, method)
        found[f"start, {method!r}"] = partial(stepped, controlled, method)
    for method in ("ABA1064", ph.Adaptive(1e-9), ph.Taylor()):
        found[f"between steps, {method!r}, batch"] = partial(between_steps, crowd, method)
    return found | {"interrupted": interrupted}
