"""Torques that saturate, peak, bend or jump: who is wrong without a word, and what a right answer costs.

    python benchmarks/verified.py [draws of each kind]      # 8 by default, some minutes

The kinds are those of the tests (``tests/support/hard_torques.py``): tanh(k x), pulses, quadratic drag, headings, and
so on, with k from 3 to 500 and spans of 6 to 14. Each program has the tolerance 1e-9 and no other help: no bound on its
steps, and no samples in advance. Its answer is wrong if the error is larger than 20 rtol times the growth of a small
change of the initial state. Truth: steps of a 5000th of the span by Runge-Kutta of order 8.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("POLHODE_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import heyoka as hy
import numpy as np

import polhode as ph
from hard_torques import KINDS, NUDGE, Drawn, draw, truth
from taylor import Case, equations, least, start

RTOL = 1e-9
SECONDS = 0.05  # for the calls of one problem
SEED = 20261119
FUNCTIONS = ("sin", "cos", "sqrt", "exp", "tanh", "log", "atan", "atan2", "asin")


def heyoka_case(drawn: Drawn) -> Case:
    """The problem with functions of heyoka in the torque, and in those that it calls."""
    kind = KINDS[[kind.__name__ for kind in KINDS].index(drawn.kind)]
    names = {**kind.__globals__, **{name: getattr(hy, name) for name in FUNCTIONS}}
    inner = {name: type(kind)(names[name].__code__, names) for name in ("along", "times")}
    names |= inner
    body, problem = drawn.problem.body.moments.tolist(), drawn.problem
    torque = type(kind)(kind.__code__, names)
    state = problem.state
    return Case(body, state.m, state.q, torque, problem.force.params.tolist(), problem.t_span[1], torque)


def answers(drawn: Drawn) -> dict[str, tuple[Any, Any]]:
    """A call of each program, and a function that returns its end state (m, q)."""
    problem, end = drawn.problem, drawn.problem.t_span[1]
    case = heyoka_case(drawn)
    first = start(case)
    integrator = hy.taylor_adaptive(equations(case), first, tol=RTOL)

    def theirs() -> None:
        integrator.time = 0.0
        integrator.state[:] = first
        integrator.propagate_until(end)

    def of_theirs() -> np.ndarray:
        return np.concatenate((2.0 * np.array(case.I) * integrator.state[:3], integrator.state[3:]))

    calls = {"heyoka": (theirs, of_theirs)}
    for name, method in (("Taylor", ph.Taylor(RTOL, np.inf)), ("Adaptive", ph.Adaptive(RTOL, max_step=np.inf))):
        run = ph.start(problem, method)

        def ours(run: Any = run) -> None:
            run.reset()
            run.to(end)

        calls[name] = ours, lambda run=run: np.concatenate((run.m, run.q))
    return calls


def main(draws: str = "8") -> None:
    wrong: Counter[str] = Counter()
    raised: Counter[str] = Counter()
    wrong_by_kind: dict[str, Counter[str]] = {}
    times: dict[str, list[float]] = {}
    count = 0
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([SEED, number])
        for _ in range(int(draws)):
            drawn = draw(kind, rng)
            true = truth(drawn)
            allowed = 20.0 * RTOL * true.growth + 3.0 * true.difference + 2e-11
            count += 1
            calls = answers(drawn)
            right = {}
            for name, (call, end) in calls.items():
                try:
                    call()
                except (RuntimeError, ph.errors.PolhodeError):
                    raised[name] += 1
                    continue
                if not np.isfinite(end()).all():  # heyoka returns an outcome
                    raised[name] += 1
                elif np.abs(end() - true.end).max() > allowed:
                    wrong[name] += 1
                    wrong_by_kind.setdefault(kind.__name__, Counter())[name] += 1
                else:
                    right[name] = call
            if len(right) == len(calls):
                for name, passed in zip(right, least(list(right.values()), SECONDS), strict=True):
                    times.setdefault(name, []).append(passed)
    print(f"{count} problems, {RTOL:g}; small changes of the initial state: {NUDGE:g}")
    for name in ("Taylor", "Adaptive", "heyoka"):
        ratio = np.median(np.array(times[name]) / np.array(times["Taylor"]))
        print(f"{name:9s} wrong without a word {wrong[name]:4d}, raised {raised[name]:3d}", end="; ")
        print(f"time where all are right, median of ratios to Taylor {ratio:.2f} ({len(times[name])} problems)")
    for kind, by_name in sorted(wrong_by_kind.items()):
        print(f"  {kind:24s} {dict(by_name)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
