"""What ``integrate(problem, rtol=1e-8)`` costs, relative to the run that a user would choose with the same error.

    python benchmarks/rtol.py [fit]

The hand-picked run has the best method of docs/race.md and the longest step with an error of at most 1e-8 at the end.
Both are whole calls that save the last state only: torques of all runs, and CPU time, the best of many, in turn.

With ``fit``, the power laws of ``integration.strength`` are measured: the radians per step that lead to an error in 25
radians, for random bodies under gravity or a gravity gradient of all strengths.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import polhode as ph
from polhode import forces, problems
from polhode.integration.running import new_run
from polhode.integration.strength import LENGTH, POWER_LAWS, WEAK_TORQUE, measured
from promises import Torques

RTOL = 1e-8
BISECTIONS = 14
# Problem, method and longest step by hand, and the scheme and step of the truth, confirmed by other schemes.
CASES = {
    "satellite, T = 400": (problems.satellite, "PABA1264", 0.06, ("ABA1064", 0.014), 5),
    "perturbed, T = 5e4": (problems.perturbed, "PABA1264", 2.0, ("ABA1064", 0.5), 5),
    "weak top, T = 20": (lambda: problems.heavy_top(1e-3), "ABA1064", 5.0, ("ABA1064", 0.3), 50),
    "strong top, T = 20": (lambda: problems.heavy_top(1.0), "RKN6_14a", 0.8, ("RKN8_19", 0.1), 50),
}
BODIES = 120


def end_of(problem, method, h=None, length=None):
    """The states at the end, as (m, q)."""
    span = problem.t_span if length is None else (0.0, length)
    states = new_run(problem, span, method, h).end()
    return tuple(array[0] for array in problem.rows.to_user(states.m, states.q))


def by_hand(problem, method, h, truth):
    """The longest step, at most about `h`, with an error of at most RTOL."""
    low = h / 16
    for _ in range(BISECTIONS):
        middle = (low * h) ** 0.5
        if max(problem.rows.differences(end_of(problem, method, middle), truth)) <= RTOL:
            low = middle
        else:
            h = middle
    return low


def cpu(calls, repeats):
    """The least CPU time of each of several calls, made in turn."""
    best = np.full(len(calls), np.inf)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.process_time()
            call()
            best[k] = min(best[k], time.process_time() - start)
    return best


def torques_of(call):
    with Torques() as torques:
        call()
    return torques.count


def costs():
    print(f"{'':20} {'torques':>16} {'ratio':>6} {'CPU ms':>16} {'ratio':>6}   error")
    for name, (make, scheme, h, (fine, fine_h), repeats) in CASES.items():
        problem = make()
        method = ph.Splitting(None, scheme)
        truth = end_of(problem, ph.Splitting(None, fine), fine_h)
        h = by_hand(problem, method, h, truth)
        end = [problem.t_span[1]]
        calls = (
            lambda problem=problem, method=method, h=h, end=end: ph.integrate(problem, method=method, h=h, t_eval=end),
            lambda problem=problem, end=end: ph.integrate(problem, rtol=RTOL, t_eval=end),
        )
        run = calls[1]()
        error = max(problem.rows.differences((run.m[-1], run.q[-1]), truth))
        a, b = (torques_of(call) for call in calls)
        s, t = 1e3 * cpu(calls, repeats)
        print(f"{name:20} {a:8d}{b:8d} {b / a:6.2f} {s:8.2f}{t:8.2f} {t / s:6.2f}   {error:.1e}", flush=True)


def fit():
    """Fit log(radians per step) to log(error) and log(strength)."""
    rng = np.random.default_rng(5)
    rows = {name: [] for name in POWER_LAWS}
    for k in range(BODIES):
        moments = np.sort(rng.uniform(0.5, 1, 3)) * rng.choice([1, 3.0])
        state = ph.State(rng.normal(size=3), np.array(ph.State((1, 0, 0)).q))
        size, offset = 10.0 ** rng.uniform(-5, 0.7), rng.normal(size=3)
        force = forces.gravity(size, offset) if k % 2 else forces.gravity_gradient(ph.RigidBody(moments), size)
        problem = ph.Problem(moments, state, force, (0.0, 1.0))
        strength = measured(problem, (0.0, np.inf))
        length = LENGTH * strength.radian
        truth = end_of(problem, ph.Adaptive(2e-14), length=length)
        for name, known in rows.items():
            if strength.is_weak != ("ABA" in name) and not 0.5 * WEAK_TORQUE < strength.torque < 2 * WEAK_TORQUE:
                continue
            for radians in 4.0 / 2 ** (np.arange(13) / 2):
                end = end_of(problem, ph.Splitting(None, name), radians * strength.radian, length)
                error = max(problem.rows.differences(end, truth))
                least = 0.1 * strength.torque**2 if name == "ABA82" else 1e-12
                if max(least, 1e-12) < error < 1e-3:
                    known.append((np.log(radians), np.log(error), np.log(min(strength.torque, 1.0))))
    for name, known in rows.items():
        radians, error, torque = np.array(known).T
        table = np.c_[np.ones_like(error), error, torque]
        solution = np.linalg.lstsq(table, radians, rcond=None)[0]
        spread = np.exp(np.std(table @ solution - radians))
        c, a, b = np.exp(solution[0]), *solution[1:]
        print(f'    "{name}": ({c:.2f}, {a:.3f}, {b:.3f}),  # within a factor of {spread:.2f}')


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fit() if "fit" in sys.argv else costs()
