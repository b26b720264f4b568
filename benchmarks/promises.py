"""Whether ``integrate(problem, rtol=...)`` keeps its promise on random problems, and how many torques that costs.

    python benchmarks/promises.py [count] [seed]

Each problem is a random body under a random torque of one of the kinds below, weak or strong, forwards or backwards in
time, alone or in a batch. The truth is SciPy's DOP853 with rtol 1e-13, for the angular momentum in space and the
rotation matrix, which no method of the library uses; its own error is estimated by ``Adaptive`` with the smallest
tolerance. A promise is broken if the error at the end exceeds rtol and no RunWarning was given. Costs are torque
evaluations of all runs, relative to those of the run that is returned.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from math import cos, sin
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import forces
from polhode.core.errors import RunWarning
from polhode.integration.running import Run

TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
COUNT, SEED = 240, 7


# Torques of users: functions (t, Q, w, p) -> f, which the truth evaluates as well.


def pointing(t, Q, w, p):
    return -p[0] * Q[2][1] - p[1] * w[0], p[0] * Q[2][0] - p[1] * w[1], -p[1] * w[2]


def drag(t, Q, w, p):
    return -p[0] * w[0] * abs(w[0]), p[1] * Q[0][1] - p[0] * w[1] * abs(w[1]), -p[0] * w[2] * abs(w[2])


def gyroscope(t, Q, w, p):
    return p[0] * w[1], -p[0] * w[0], p[1] * Q[2][0]


def waves(t, Q, w, p):
    return p[0] * sin(p[1] * t) * Q[2][1], p[0] * cos(p[1] * t) - p[0] * Q[2][0], 0.3 * p[0] * Q[1][0]


def magnet(t, Q, w, p):
    return p[0] * Q[2][1] * Q[0][0], -p[0] * Q[2][0] * Q[0][0], p[0] * Q[1][1] * Q[2][2]


def burns(t, Q, w, p):
    level = p[1] if p[2] < t < p[3] else p[0]
    return level, 0.5 * level * Q[2][0], -level * Q[2][1]


USERS = {
    name: ph.Torque(function, np.ones(count), velocity=velocity)
    for name, function, count, velocity in (
        ("pointing", pointing, 2, True),
        ("drag", drag, 2, True),
        ("gyroscope", gyroscope, 2, True),
        ("waves", waves, 2, False),
        ("magnet", magnet, 1, False),
        ("burns", burns, 4, False),
    )
}
FUNCTIONS = {function.__name__: function for function in (pointing, drag, gyroscope, waves, magnet, burns)}
KINDS = ("gravity", "gradient", "spring", "damped", "long", "batch", *USERS, "breaks")


class Case(NamedTuple):
    """Random problem with its torques (t, Q, w) -> f in plain Python, one for each body."""

    kind: str
    problem: ph.Problem
    torques: list
    rtol: float


def random_case(rng: np.random.Generator, kind: str, part: float = 1.0) -> Case:
    """Return a random problem of a kind, over a part of its time span."""
    moments = np.sort(rng.uniform(0.5, 1.0, 3)) * rng.choice([1.0, 3.0])
    bodies = 3 if kind == "batch" else 1
    m = rng.normal(size=(bodies, 3)) * 10.0 ** rng.uniform(-0.5, 0.5)
    q = rng.normal(size=(bodies, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    speed = float(np.linalg.norm(m / moments, axis=-1).max())
    size = float(np.linalg.norm(m, axis=-1).min()) * speed * 10.0 ** rng.uniform(-5.0, 0.3)
    radians = rng.uniform(200.0, 1500.0) if kind == "long" else 10.0 ** rng.uniform(0.3, 1.9)
    if kind == "long":
        size *= 1e-2
    t_end = part * radians / speed * rng.choice([1.0, 1.0, 1.0, -1.0])
    if kind == "drag":
        t_end = abs(t_end)  # backwards, quadratic drag leads to infinity in a finite time
    force, torque = random_force(rng, kind, size, moments, abs(t_end))
    start = ph.State(m, q) if bodies > 1 else ph.State(m[0], q[0])
    problem = ph.Problem(moments, start, force, (0.0, t_end))
    rtol = float(rng.choice(TOLERANCES[:6] if kind == "long" else TOLERANCES))
    return Case(kind, problem, [torque] * bodies, rtol)


def random_force(rng, kind, size, moments, length):
    """Return a force of the library, and the same torque in plain Python."""
    offset = rng.normal(size=3)
    if kind == "gradient" or (kind == "long" and rng.uniform() < 0.5):
        force = forces.gravity_gradient(ph.RigidBody(moments), size)
        return force, lambda t, Q, w: size * np.cross(Q[2], moments * Q[2])
    if kind in ("gravity", "batch", "long"):
        return forces.gravity(size, offset), lambda t, Q, w: size * np.cross(Q[2], offset)
    if kind == "spring":
        return forces.spring(
            size
        ), lambda t, Q, w: 0.5 * size * np.array([Q[1][2] - Q[2][1], Q[2][0] - Q[0][2], Q[0][1] - Q[1][0]])
    if kind == "damped":
        rates = rng.uniform(0.0, 3.0, 3) * moments / length
        force = forces.gravity(size, offset) + forces.damping(np.diag(rates))
        return force, lambda t, Q, w: size * np.cross(Q[2], offset) - rates * w
    name = "burns" if kind == "breaks" else kind
    params = {
        "pointing": (size, rng.uniform(0.0, 2.0) * moments[0] / length),
        "drag": (rng.uniform(0.0, 0.5) * moments[0], size),
        "gyroscope": (size, size),
        "waves": (size, 10.0 ** rng.uniform(-1.0, 1.0) * 10.0 / length),
        "magnet": (size,),
        "burns": (0.1 * size, size, *np.sort(rng.uniform(0.0, 1.0, 2)) * length),
    }[name]
    breaks = params[2:] if kind == "breaks" else ()
    force = USERS[name].replaced(params=np.array(params), breaks=breaks)
    return force, lambda t, Q, w: np.array(FUNCTIONS[name](t, Q, w, params))


def truth(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return m (n, 3) in the body and the rotation matrix (n, 3, 3) at the end, by SciPy."""
    problem = case.problem
    moments = problem.body.moments
    t0, t1 = problem.t_span
    cuts = [t for t in problem.force.breaks if t0 < t < t1]
    if case.kind == "burns":
        cuts = [t for t in problem.force.params[2:] if t0 < t < t1]
    ends = []
    attitudes = Rotation.from_quat(problem.state.q.reshape(-1, 4), scalar_first=True).as_matrix()
    starts = zip(problem.state.m.reshape(-1, 3), attitudes, case.torques, strict=True)
    for m, Q, torque in starts:

        def slope(t, y, torque=torque):
            Q = y[3:].reshape(3, 3)
            w = (y[:3] @ Q) / moments
            a, b, c = w
            turned = Q @ np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
            return np.concatenate([Q @ torque(t, Q, w), turned.ravel()])

        y, t = np.concatenate([Q @ m, Q.ravel()]), t0
        for end in [*cuts, t1]:
            inside = np.spacing(max(abs(t), abs(end))) * 16 * np.sign(end - t)
            shifted = (lambda s, y, a=t + inside, b=end - inside: slope(min(max(s, a), b), y)) if cuts else slope
            scale = max(float(np.linalg.norm(y[:3])), 1e-3)
            atol = 1e-14 * np.concatenate([np.full(3, scale), np.ones(9)])
            y = solve_ivp(shifted, (t, end), y, "DOP853", rtol=1e-13, atol=atol).y[:, -1]
            t = end
        Q = y[3:].reshape(3, 3)
        ends.append((y[:3] @ Q, Q))
    return tuple(np.array(part) for part in zip(*ends, strict=True))


def error_of(traj: ph.Trajectory, true_m: np.ndarray, true_Q: np.ndarray) -> float:
    """Return the larger of the errors of m/|m| and q at the end; a small rotation by an angle a changes q by a/2."""
    m = traj.m[-1].reshape(-1, 3)
    Q = traj.matrix[-1].reshape(-1, 3, 3)
    of_m = np.linalg.norm(m - true_m, axis=-1) / np.linalg.norm(true_m, axis=-1)
    of_q = np.linalg.norm(Q - true_Q, axis=(-2, -1)) / 8**0.5
    return float(max(of_m.max(), of_q.max()))


class Torques:
    """Counter of the torque evaluations of all runs."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Torques:
        self.call = Run.call

        def call(run, *arguments):
            before = run.current.torques.sum()
            try:
                return self.call(run, *arguments)
            finally:
                self.count += int(run.current.torques.sum() - before)

        Run.call = call  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        Run.call = self.call  # type: ignore[method-assign]


class Outcome(NamedTuple):
    """Result of one problem."""

    error: float
    doubt: float  # difference of SciPy and of ``Adaptive`` with its smallest tolerance
    warned: bool
    work: float  # torques of all runs, relative to those of the last
    traj: ph.Trajectory

    def is_broken(self, rtol: float) -> bool:
        """Return whether a promise was broken in silence."""
        return self.error > rtol + self.doubt and not self.warned


def outcome(case: Case, end: tuple[np.ndarray, np.ndarray]) -> Outcome:
    """Integrate a problem, and compare the end with the truth."""
    with warnings.catch_warnings(record=True) as caught, Torques() as torques:
        warnings.simplefilter("always")
        traj = ph.integrate(case.problem, rtol=case.rtol, t_eval=[case.problem.t_span[1]])
    other = ph.integrate(case.problem, method=ph.Adaptive(2e-14), t_eval=[case.problem.t_span[1]])
    warned = any(issubclass(w.category, RunWarning) for w in caught)
    work = torques.count / max(1, traj.stats.torques)
    return Outcome(error_of(traj, *end), error_of(other, *end), warned, work, traj)


def cases(count: int, seed: int, part: float = 1.0):
    """Yield random problems of all kinds in turn, each over a part of its time span."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        yield random_case(rng, KINDS[k % len(KINDS)], part)


def main() -> None:
    count, seed = (int(x) for x in [*sys.argv[1:], *(COUNT, SEED)[len(sys.argv) - 1 :]])
    broken = warned = 0
    by_kind = defaultdict(list)
    for k, case in enumerate(cases(count, seed)):
        result = outcome(case, truth(case))
        warned += result.warned
        by_kind[case.kind].append((result.work, result.error / case.rtol))
        if result.is_broken(case.rtol):
            broken += 1
            print(f"broken: problem {k}, {case.kind}, rtol {case.rtol:g}: {result.error:.1e}; {result.traj.message}")
    print(f"{count} problems, {broken} promises broken, {warned} warnings")
    print(f"{'kind':10} work of all runs / of the last: median, largest   error / rtol: median, largest")
    for kind, rows in by_kind.items():
        work, errors = np.array(rows).T
        print(f"{kind:10} {np.median(work):28.2f} {work.max():8.2f} {np.median(errors):24.2g} {errors.max():8.2g}")


if __name__ == "__main__":
    main()
