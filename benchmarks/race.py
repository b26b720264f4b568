"""The race: error of the attitude at the end against time, for our methods, SciPy, a compiled DOP853 and heyoka.

    python benchmarks/race.py [case ...] [--curves]

Cases: perturbed satellite weak_top strong_top rotations batch. Each prints what everybody needs for the same error
(interpolated between runs, in logarithms) and the ratio to ours; with --curves also every run. Compiling and start-up
do not count. heyoka takes part if it is installed. Times of our methods are those of the compiled loop, as for the
others, and in brackets those of the whole call of ``integrate``, of which Python takes 0.2 ms.
"""

from __future__ import annotations

import copy
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph
from flat import solve as flat_solve
from polhode import problems
from polhode.core.rotation import matrix
from polhode.integration.own_steps_run import new_saved
from polhode.integration.rows import not_reached
from polhode.integration.running import new_run
from polhode.kernels.stepping.header import Wanted

REPEATS = 15
PATIENCE = 4.0  # seconds for the repeats of one run


@dataclass
class Point:
    error: float
    seconds: float
    whole: float  # of the call, with all that Python does
    told: str


@dataclass
class Case:
    name: str
    make: Callable[[], ph.Problem]
    error: float  # at which everybody is compared
    targets: str
    methods: dict[str, tuple[float, ...]]  # steps of our methods
    flat: tuple[float, ...] = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)
    taylor: tuple[float, ...] = (1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-15)
    scipy: tuple[float, ...] = (1e-8, 1e-10, 1e-12)
    scipy_part: float = 1.0  # of the time span, when all of it takes too long; the time is scaled


def geometric(longest, count, ratio=1.25):
    return tuple(longest / ratio**k for k in range(count))


CASES = {
    case.name: case
    for case in (
        Case("perturbed", problems.perturbed, 1e-9, "2x heyoka at 1e-9, 4x at 1e-7",
             {"ABA864": geometric(4, 11), "ABA1064": geometric(5, 12), "ABA82": geometric(4, 9),
              "PABA1264": geometric(2.5, 8)}, scipy_part=0.004),
        Case("satellite", problems.satellite, 3e-8, "5x heyoka",
             {"ABA864": geometric(0.1, 12), "ABA1064": geometric(0.15, 12), "ABA82": geometric(0.1, 9),
              "WH17G": geometric(0.06, 9)}, scipy_part=0.02),
        Case("weak_top", lambda: problems.heavy_top(1e-3), 1e-11, "1.5x heyoka",
             {"ABA864": geometric(2.5, 9), "ABA1064": geometric(3, 9), "ABA104": geometric(3, 9),
              "WH17G": geometric(1.5, 9)}),
        Case("strong_top", lambda: problems.heavy_top(1.0), 4e-11, "Adaptive within 1.5x of the compiled DOP853",
             {"RKN6_11b": geometric(0.4, 9), "RKN6_14a": geometric(0.4, 9), "RKN8_19": geometric(0.8, 9)}),
    )
}  # fmt: skip


def fastest(run, prepared=None):
    """The least time of several runs: (seconds, result). ``prepared`` is (prepare, run), where preparing is free."""
    best, began = None, time.perf_counter()
    for _ in range(REPEATS):
        given = () if prepared is None else (prepared[0](),)
        start = time.perf_counter()
        result = run() if prepared is None else prepared[1](*given)
        seconds = time.perf_counter() - start
        if best is None or seconds < best[0]:
            best = seconds, result
        if time.perf_counter() - began > PATIENCE:
            break
    return best


def error_of(q, truth):
    q = np.asarray(q) / np.linalg.norm(q)
    return min(np.linalg.norm(q - truth), np.linalg.norm(q + truth))


def ours(problem, method, told, truth, h=None):
    """The compiled loop alone, as for the others, and the whole call."""

    def run():
        return ph.integrate(problem, method=method, h=h, save_every=2**40, t_eval=None if h else [problem.t_span[1]])

    run()
    whole, result = fastest(run)
    seconds, _ = fastest(None, loop_alone(problem, result.method, h))
    return Point(error_of(result.q[-1], truth), seconds, whole, told)


def loop_alone(problem, method, h):
    """Return functions that prepare a state, and advance it to the end by the compiled loop alone."""
    run = new_run(problem, problem.t_span, method, h)
    if method.chooses_steps:
        clock, end = run.stretches.window(0), np.empty(0)
    else:
        clock, end = run.grid.clock(0), np.array([run.count])
    saved = new_saved(not_reached(end.astype(float), 1), 0)
    return lambda: copy.deepcopy(run.current), lambda current: run.advance(
        run.bodies, clock, Wanted(2**62, times=end), 0, 1, current, saved
    )


def flat_runs(problem, tolerances, truth):
    points = []
    for rtol in tolerances:
        flat_solve(problem, rtol, rtol)
        seconds, (_, q, _) = fastest(lambda rtol=rtol: flat_solve(problem, rtol, rtol))
        points.append(Point(error_of(q, truth), seconds, seconds, f"rtol {rtol:g}"))
    return points


def right_hand_side(problem):
    """y' for SciPy, y = (m, q), in plain NumPy-free Python."""
    I1, I2, I3 = problem.body.moments.tolist()
    torque, params = problem.force.torque_function(), np.array(problem.force.params)

    def f(t, y):
        m1, m2, m3, q0, q1, q2, q3 = y.tolist()
        w1, w2, w3 = m1 / I1, m2 / I2, m3 / I3
        Q = (
            (q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)),
            (2 * (q1 * q2 + q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2 * (q2 * q3 - q0 * q1)),
            (2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3),
        )
        f1, f2, f3 = torque(t, Q, (w1, w2, w3), params)
        return (
            m2 * w3 - m3 * w2 + f1, m3 * w1 - m1 * w3 + f2, m1 * w2 - m2 * w1 + f3,
            -0.5 * (q1 * w1 + q2 * w2 + q3 * w3), 0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
            0.5 * (q0 * w2 + q3 * w1 - q1 * w3), 0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
        )  # fmt: skip

    return f


def scipy_runs(problem, case, truth):
    """On a part of the span if need be: time grows with the span, and the error of a phase like it, at least."""
    points, (t0, t1) = [], problem.t_span
    end = t0 + case.scipy_part * (t1 - t0)
    if end != t1:
        truth = truth_of(problem, (t0, end), case)
    y0 = np.concatenate([problem.state.m, problem.state.q])
    for rtol in case.scipy:
        start = time.perf_counter()
        found = solve_ivp(right_hand_side(problem), (t0, end), y0, "DOP853", rtol=rtol, atol=rtol)
        seconds = time.perf_counter() - start
        part = case.scipy_part
        error = error_of(found.y[3:, -1], truth) / part
        points.append(Point(error, seconds / part, seconds / part, f"rtol {rtol:g}"))
    return points


def taylor_runs(problem, case, truth):
    """heyoka's Taylor integrator, with the torque as expressions."""
    import heyoka as hy

    m = hy.make_vars("m1", "m2", "m3")
    q = hy.make_vars("q0", "q1", "q2", "q3")
    I = problem.body.moments
    w = [m[k] / I[k] for k in range(3)]
    f = taylor_torque(problem, q, I)
    equations = [
        (m[0], m[1] * w[2] - m[2] * w[1] + f[0]),
        (m[1], m[2] * w[0] - m[0] * w[2] + f[1]),
        (m[2], m[0] * w[1] - m[1] * w[0] + f[2]),
        (q[0], -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2])),
        (q[1], 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1])),
        (q[2], 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2])),
        (q[3], 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0])),
    ]
    y0, points = np.concatenate([problem.state.m, problem.state.q]), []
    for tolerance in case.taylor:
        integrator = hy.taylor_adaptive(equations, y0, tol=tolerance)

        def run(integrator=integrator):
            integrator.time = problem.t_span[0]
            integrator.state[:] = y0
            integrator.propagate_until(problem.t_span[1])
            return integrator.state[3:].copy()

        run()
        seconds, found = fastest(run)
        points.append(Point(error_of(found, truth), seconds, seconds, f"tol {tolerance:g}"))
    return points


def taylor_torque(problem, q, I):
    """Of gravity on an offset mass center, or of a gravity gradient of fixed direction, as expressions in q."""
    p = problem.force.params
    rows = (
        (
            q[0] ** 2 + q[1] ** 2 - q[2] ** 2 - q[3] ** 2,
            2 * (q[1] * q[2] - q[0] * q[3]),
            2 * (q[1] * q[3] + q[0] * q[2]),
        ),
        (
            2 * (q[1] * q[2] + q[0] * q[3]),
            q[0] ** 2 - q[1] ** 2 + q[2] ** 2 - q[3] ** 2,
            2 * (q[2] * q[3] - q[0] * q[1]),
        ),
        (
            2 * (q[1] * q[3] - q[0] * q[2]),
            2 * (q[2] * q[3] + q[0] * q[1]),
            q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2,
        ),
    )
    if problem.name == "satellite":
        k = p[0] / I[0]
        u = rows[2]
        return [k * (I[2] - I[1]) * u[1] * u[2], k * (I[0] - I[2]) * u[2] * u[0], k * (I[1] - I[0]) * u[0] * u[1]]
    up = weight(problem)
    u = [sum(float(up[i]) * rows[i][j] for i in range(3)) for j in range(3)]
    return [u[1], -1.0 * u[0], 0.0]


def weight(problem):
    """The vector s with f = (u2, -u1, 0), u = Q^T s, read off the torque at two attitudes."""
    force, s = problem.force, np.zeros(3)
    s[1], s[0] = force.torque(0.0, (1, 0, 0, 0))[0], -force.torque(0.0, (1, 0, 0, 0))[1]
    s[2] = force.torque(0.0, (np.sqrt(0.5), np.sqrt(0.5), 0, 0))[0]  # body y is space z
    assert np.allclose(force.torque(0.0, (0.1, 0.7, 0.5, 0.5)), np.cross(matrix((0.1, 0.7, 0.5, 0.5)).T @ s, (0, 0, 1)))
    return s


def truth_of(problem, span, case):
    """By a scheme of order 8 or the near-integrable one of high order, with steps far below those that race."""
    scheme = "RKN8_19" if case.name == "strong_top" else "ABA1064"
    h = {"perturbed": 0.25, "satellite": 0.01, "weak_top": 0.2, "strong_top": 0.05}[case.name]
    return ph.integrate(problem, span, method=scheme, h=h, save_every=2**40).q[-1]


def at_error(points, error):
    """Seconds for that error, interpolated; None outside."""
    points = sorted((p for p in points if p.error > 0), key=lambda p: p.seconds)
    for a, b in pairwise(points):
        if b.error <= error <= a.error:
            part = np.log(a.error / error) / np.log(a.error / b.error) if a.error > b.error else 0.0
            return a.seconds * (b.seconds / a.seconds) ** part, a.whole * (b.whole / a.whole) ** part
    good = [p for p in points if p.error <= error]
    return (good[0].seconds, good[0].whole) if good and good[0] is points[0] else None


def race(case, curves):
    problem = case.make()
    truth = truth_of(problem, problem.t_span, case)
    runs = {}
    for name, steps in case.methods.items():
        if name in ph.schemes.SCHEMES:
            runs[name] = [ours(problem, name, f"h {h:.4g}", truth, h) for h in steps]
    runs["Adaptive"] = [ours(problem, ph.Adaptive(rtol), f"rtol {rtol:g}", truth) for rtol in case.flat]
    runs["compiled DOP853, R^7"] = flat_runs(problem, case.flat, truth)
    try:
        runs["heyoka"] = taylor_runs(problem, case, truth)
    except ImportError:
        print("(heyoka is not installed)")
    runs["SciPy DOP853"] = scipy_runs(problem, case, truth)
    print(f"\n{case.name}: t = {problem.t_span[0]:g} to {problem.t_span[1]:g}; target: {case.targets}")
    if curves:
        for name, points in runs.items():
            for p in points:
                cost = f"{1e3 * p.seconds:10.4g} ms   ({1e3 * p.whole:.4g})"
                print(f"    {name:22} {p.told:12} error {p.error:8.1e}   {cost}")
    for error in sorted({case.error, 100 * case.error, case.error / 10}, reverse=True):
        found = {name: at_error(points, error) for name, points in runs.items()}
        mine = {n: f[0] for n, f in found.items() if f and (n in ph.schemes.SCHEMES or n == "Adaptive")}
        best = min(mine, key=mine.get) if mine else None
        print(f"  at an error of {error:.0e}" + (f": {best}" if best else ": none of ours"))
        for name, f in sorted(found.items(), key=lambda item: item[1][0] if item[1] else np.inf):
            if f:
                ratio = f"{f[0] / mine[best]:8.2f}" if best else ""
                print(f"    {name:22} {1e3 * f[0]:10.4g} ms ({1e3 * f[1]:10.4g})   {ratio}")


def rotations():
    """A million rotations of the perturbed body, with the energy at round-off; and heyoka."""
    turns = 1e6
    problem = problems.perturbed()
    speed = np.linalg.norm(problem.body.omega(problem.state.m))
    t_end = turns * 2 * np.pi / speed
    problem = problems.perturbed(t_end)
    print(f"\nrotations: {turns:g} turns, t = {t_end:.4g}; target: 2x heyoka at its error")
    for scheme, h in (("ABA1064", 1.0), ("ABA1064", 0.5), ("ABA864", 0.5), ("WH17G", 0.5)):
        if scheme in ph.schemes.SCHEMES:
            run = ph.integrate(problem, method=scheme, h=h, save_every=2**40)
            print(f"    {scheme} h = {h}: {run.stats.seconds:.3g} s, energy {abs(run.energy_error()[-1]):.1e}")
    try:
        case = CASES["perturbed"]
        case.taylor = (1e-15,)
        start = time.perf_counter()
        global REPEATS
        REPEATS = 1
        points = taylor_runs(problem, case, np.array([1.0, 0, 0, 0]))
        print(f"    heyoka: {points[0].seconds:.3g} s ({time.perf_counter() - start:.3g} with compilation)")
    except ImportError:
        print("    (heyoka is not installed)")


def batch(count=10_000, steps=100):
    """Many satellites at once: nanoseconds per body and step."""
    rng = np.random.default_rng(1)
    base = problems.satellite()
    omega = rng.normal(size=(count, 3)) * 15
    problem = ph.Problem(base.body, omega=omega, force=base.force, t_span=(0.0, 0.1 * steps))
    print(f"\nbatch: {count} satellites, {steps} steps of RKN6_14a")
    for threads in ("1", "2"):
        os.environ["POLHODE_NUM_THREADS"] = threads
        runs = [ph.integrate(problem, method="RKN6_14a", h=0.1, save_every=2**40) for _ in range(3)]
        seconds = min(run.stats.seconds for run in runs)
        step = 1e9 * seconds / (count * steps)
        print(f"    {threads} core(s): {step:.0f} ns per body and step, {step / 14:.0f} per stage")
    del os.environ["POLHODE_NUM_THREADS"]


def main():
    warnings.simplefilter("ignore", UserWarning)
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    for name in names or [*CASES, "rotations", "batch"]:
        if name in CASES:
            race(CASES[name], "--curves" in sys.argv)
        else:
            {"rotations": rotations, "batch": batch}[name]()


if __name__ == "__main__":
    main()
