"""What ``integrate(problem, rtol=...)`` costs, relative to the run that a user would choose with the same error.

    python benchmarks/rtol.py [fit]

The hand-picked run has the scheme that needs the fewest torques, of those that ``integrate`` chooses from, and the
longest step with an error of at most rtol at the end, provided that somewhat shorter steps have it as well. Both are
whole calls that save the last state only: torques of all runs, and CPU time, the best of many, in turn. The last
columns are the CPU time of a call that makes a single step, and the error relative to rtol. Errors are those with
respect to ``benchmarks/truth.json``.

With ``fit``, the power laws of ``integration.strength`` are measured: the radians per step that lead to an error in 25
radians, for random bodies under gravity or a gravity gradient of all strengths.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial

import numpy as np

import polhode as ph
from polhode import forces, problems
from polhode.integration.rules import LENGTH, WEAK_TORQUE
from polhode.integration.running import new_run
from polhode.integration.strength import POWER_LAWS, SECOND_ORDER, measured
from promises import Torques, error_of
from truth import attitudes, stored

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
# Problem, its name in truth.json, and the number of repetitions.
CASES = {
    "satellite, T = 400": (problems.satellite, "satellite", 5),
    "perturbed, T = 5e4": (problems.perturbed, "perturbed", 5),
    "weak top, T = 20": (lambda: problems.heavy_top(1e-3), "weak_top", 50),
    "strong top, T = 20": (lambda: problems.heavy_top(1.0), "strong_top", 50),
}
STEPS = 1.06 ** np.arange(75)  # numbers of steps that are tried by hand, relative to one in LONGEST radians
LONGEST = 4.0
SHORTER = 3  # shorter steps that must be accurate as well
BODIES = 120


def end_of(problem, method, h=None, length=None):
    """The states at the end, as (m, q)."""
    span = problem.t_span if length is None else (0.0, length)
    states = new_run(problem, span, method, h).end()
    return tuple(array[0] for array in problem.rows.to_user(states.m, states.q))


def truth_of(name):
    """The momentum (1, 3) and the rotation matrix (1, 3, 3) at the end."""
    (body,) = stored()[name]["bodies"]
    return np.array([body["states"][-1]["m"]], float), attitudes(name)


def by_hand(problem, truth):
    """The torques, the scheme and the step of the cheapest run for each tolerance."""
    length = problem.t_span[1]
    strength = measured(problem, problem.t_span)
    counts = np.unique(np.ceil(max(1.0, length / strength.radian / LONGEST) * STEPS))
    best = dict.fromkeys(TOLERANCES, (np.inf, None, None))
    for name in (name for name in POWER_LAWS if strength.is_weak != name.startswith("RKN")):
        runs = [ph.integrate(problem, method=name, h=length / n, t_eval=[length]) for n in counts]
        errors = np.array([error_of(run, *truth) for run in runs])
        for rtol, (torques, *_) in best.items():
            accurate = np.convolve(errors <= rtol, np.ones(SHORTER + 1), "valid") > SHORTER
            run = runs[np.argmax(accurate)]
            if accurate.any() and run.stats.torques < torques:
                best[rtol] = run.stats.torques, name, run.h
    return best


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
    print(f"{'':20} {'rtol':>6} {'torques':>17} {'ratio':>6} {'CPU ms':>16} {'ratio':>6} {'1 step':>6}  error / rtol")
    for title, (make, name, repeats) in CASES.items():
        problem = make()
        truth = truth_of(name)
        end = [problem.t_span[1]]
        for rtol, (_, scheme, h) in by_hand(problem, truth).items():
            if scheme is None:
                print(f"{title:20} {rtol:6.0e}  round-off is larger")
                continue
            method = ph.Splitting(None, scheme)
            calls = [partial(ph.integrate, problem, method=method, h=x, t_eval=end) for x in (h, problem.t_span[1])]
            calls.append(partial(ph.integrate, problem, rtol=rtol, t_eval=end))
            error = error_of(calls[-1](), *truth) / rtol
            a, _, b = (torques_of(call) for call in calls)
            s, one, t = 1e3 * cpu(calls, repeats)
            work = f"{a:8d} {b:8d} {b / a:6.2f} {s:8.2f}{t:8.2f} {t / s:6.2f} {one:6.2f}"
            print(f"{title:20} {rtol:6.0e} {work}   {error:.2g} ({scheme})", flush=True)


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
            between = 0.5 * WEAK_TORQUE < strength.torque < 2 * WEAK_TORQUE
            if strength.is_weak == name.startswith("RKN") and not between:
                continue
            for radians in 4.0 / 2 ** (np.arange(13) / 2):
                end = end_of(problem, ph.Splitting(None, name), radians * strength.radian, length)
                error = max(problem.rows.differences(end, truth))
                least = 0.1 * strength.torque**2 if name in SECOND_ORDER else 1e-12
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
