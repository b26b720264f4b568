"""What changes if a threshold of the choice of a method and a step size is halved: see ``integration/rules.py``.

    python benchmarks/thresholds.py [count] [name ...]

For each threshold, or those that are named: the torques of the long runs of ``rtol.py``, of a batch of satellites with
two given methods, and of `count` random problems of ``promises.py``, relative to those with the threshold as it is; and
how many errors exceed rtol, and how many runs warn. Exponents, and ratios that must stay above 1, are halved on the
scale of logarithms; whole numbers are rounded down.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np

import polhode as ph
from polhode import problems
from polhode.integration import rules, trials
from polhode.integration.rows import attitude_errors, momentum_errors
from promises import Torques, cases, error_of, truth
from truth import attitudes, batch, stored

COUNT, SEED, BODIES, T_END = 39, 11, 300, 4.0
LONG = {"satellite": (1e-4, 1e-6, 1e-8, 1e-10), "perturbed": (1e-4, 1e-6, 1e-8)}
RATIOS = ("FINER_STEP", "CLOSE", "COARSER", "DOUBT", "THREE", "COARSE", "FIRST_FINER", "GROWTH", "FINER", "AIM_OF_STEP")


def halved(name, value):
    """Half of a threshold."""
    if isinstance(value, tuple):
        return tuple(halved(name, part) for part in value)
    if name in RATIOS:
        return value**0.5
    return max(1, value // 2) if isinstance(value, int) else value / 2


def runs(count):
    """Kinds of runs, with a function that returns a trajectory, and one that returns its errors relative to rtol."""
    for name, rtol in ((name, rtol) for name, some in LONG.items() for rtol in some):
        problem = getattr(problems, name)()
        (body,) = stored()[name]["bodies"]
        end = np.array([body["states"][-1]["m"]], float), attitudes(name)
        call = partial(ph.integrate, problem, rtol=rtol, t_eval=[problem.t_span[1]])
        yield "long", call, lambda traj, end=end, rtol=rtol: error_of(traj, *end) / rtol
    m, q = batch("satellites", BODIES)
    many = problems.satellite().replaced(state=ph.State(m=m, q=q), t_span=(0.0, T_END), truth=None)
    true = ph.integrate(many, method=ph.Taylor(1e-15), t_eval=[T_END])
    for method, rtol in (("ABA1064", 1e-4), ("ABA1064", 1e-8), ("RKN6_14a", 1e-6)):
        call = partial(ph.integrate, many, method=method, rtol=rtol, t_eval=[T_END])
        yield "batch", call, lambda traj, rtol=rtol: np.maximum(
            momentum_errors(traj.m[-1], true.m[-1]), attitude_errors(traj.q[-1], true.q[-1])) / rtol  # fmt: skip
    for case in cases(count, SEED, 0.2):
        end = truth(case)
        call = partial(ph.integrate, case.problem, rtol=case.rtol, t_eval=[case.problem.t_span[1]])
        yield "random", call, lambda traj, end=end, rtol=case.rtol: error_of(traj, *end) / rtol


def measured(every):
    """Torques of each kind of runs, the number of errors above rtol, and the number of warnings."""
    torques, broken, warned = dict.fromkeys(("long", "batch", "random"), 0), 0, 0
    for kind, call, error in every:
        with warnings.catch_warnings(record=True) as caught, Torques() as counter:
            warnings.simplefilter("always")
            traj = call()
        torques[kind] += counter.count
        warned += bool(caught)
        broken += 0 if caught else int(np.count_nonzero(np.asarray(error(traj)) > 1.0))
    return np.array(list(torques.values()), float), broken, warned


def main() -> None:
    """Print a line for each threshold."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    names = sys.argv[2:] or [name for name in vars(rules) if name.isupper()]
    every = list(runs(count))
    before, broken, warned = measured(every)
    print(f"{'':18} {'':>24} torques: long  batch random  errors above rtol, warnings: {broken}, {warned}")
    counts = trials.COUNTS, trials.LIMITS
    for name in names:
        value = getattr(rules, name)
        setattr(rules, name, halved(name, value))
        if name == "PER_OCTAVE":
            trials.COUNTS, trials.LIMITS = trials.numbers_of_steps(rules.PER_OCTAVE)
        try:
            ratios, *numbers = measured(every)
            text = " ".join(f"{ratio:6.3f}" for ratio in ratios / before) + "  {}, {}".format(*numbers)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        setattr(rules, name, value)
        trials.COUNTS, trials.LIMITS = counts
        print(f"{name:18} {value!s:>24}        {text}", flush=True)


if __name__ == "__main__":
    main()
