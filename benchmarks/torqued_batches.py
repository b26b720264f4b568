"""Batches of bodies under torques: splittings in vector lanes, beside one body after the other, and beside heyoka.

    python benchmarks/torqued_batches.py [race] [stages] [sizes]

``race``    microseconds per body at equal error, 10,000 bodies on one core: the batches of ``race.py``, with heyoka
            (four lanes) if it is installed; and the best splitting beside ``Taylor`` for errors from 1e-4 to 1e-12
``stages``  nanoseconds per body and stage (a drift and a kick) on one core and on two, in blocks and one body after the
            other, with built-in torques and with those of the user: traced, and called for each body
``sizes``   time per step of short batches, in blocks, relative to one body after the other

All runs of a table take turns, and the least time of each counts. Times on one core are those of the processor.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np

import polhode as ph
import race
from polhode import forces
from polhode.core.threads import in_ranges
from polhode.integration.rows import ProblemRows
from polhode.kernels.stepping.header import Clock, Saved, Wanted
from polhode.methods.method import Advance

BODIES = 10_000
ERRORS = {"weak_tops": 2e-10, "satellites": 1.5e-9, "strong_tops": 1.5e-10}
SCHEMES = ("ABA82", "ABA1064", "PABA1264", "RKN6_14a", "RKN8_19")
WINNERS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
ROUNDS = 5
STEPS = 10
MOMENTS = (1.0, 1.5, 2.25)


def called(t, Q, w, p):
    """The torque of a weight, with a branch, so that it has no graph."""
    if Q[2][2] > 2.0:
        return 0.0, 0.0, 0.0
    return p[0] * Q[2][1], -p[0] * Q[2][0], 0.0


def traced(t, Q, w, p):
    """The torque of a weight."""
    return p[0] * Q[2][1], -p[0] * Q[2][0], 0.0


TORQUES = {
    "gravity": forces.gravity(1e-3, (0.0, 0.0, 1.0)),
    "gravity_gradient": forces.gravity_gradient(MOMENTS, 1e-2),
    "user's, traced": ph.Torque(traced, params=[1e-3]),
    "user's, called": ph.Torque(called, params=[1e-3]),
}


class Work(NamedTuple):
    """Steps of a batch by one of the loops."""

    problem: ph.Problem
    method: ph.Splitting
    h: float
    in_blocks: bool
    threads: int

    def timed(self) -> Callable[[], float]:
        """Return a function that makes STEPS steps, and returns the seconds."""
        rows = ProblemRows(self.problem)
        make = self.method.advance_batch if self.in_blocks else self.method.advance
        advance: Advance = make(self.problem.force)
        n = rows.count
        clock, wanted = Clock(np.zeros(1), np.array([self.h])), Wanted(STEPS, np.array([STEPS]))
        saved = Saved(np.empty((1, n, 3)), np.empty((1, n, 4)))
        clock_of = time.process_time if self.threads == 1 else time.perf_counter

        def seconds() -> float:
            os.environ["POLHODE_NUM_THREADS"] = str(self.threads)
            current = self.method.new_batch_state(rows.m, rows.q)

            def work(start: int, stop: int) -> int:
                advance(rows.bodies, clock, wanted, start, stop, current, saved)
                return 0

            began = clock_of()
            in_ranges(work, n, STEPS * self.method.stages)
            return clock_of() - began

        seconds()
        return seconds


def batch(n: int, force: ph.Force) -> ph.Problem:
    """Bodies of random momenta and attitudes."""
    rng = np.random.default_rng(1)
    q = rng.normal(size=(n, 4))
    state = ph.State(rng.normal(size=(n, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))
    return ph.Problem(MOMENTS, state, force, (0.0, 1.0))


def best_of(works: list[Work]) -> list[float]:
    """The least seconds of each, all taking turns."""
    calls = [work.timed() for work in works]
    best = [inf] * len(works)
    for _ in range(ROUNDS):
        best = [min(seconds, call()) for seconds, call in zip(best, calls, strict=True)]
    return best


def print_race() -> None:
    """Microseconds per body at equal error."""
    race.BODIES = BODIES
    print(f"us per body at equal error, {BODIES} bodies, one core")
    for name, error in ERRORS.items():
        race.BATCHES[name].errors = (error,)
        runs, found = race.race(name)
        best = found[error]["whole"]
        texts = [f"{program} {1e6 * s / BODIES:.3g} ({setting})" for program, (s, setting) in best.items()]
        ratio = best[race.HEYOKA][0] / best[race.OURS][0] if race.HEYOKA in best else inf
        print(f"  {name:12} error {error:.1e}: {'; '.join(texts)}; heyoka / ours {ratio:.2f}", flush=True)
        print_winners(runs)


def print_winners(runs: list[race.Run]) -> None:
    """Microseconds per body of the best splitting and of ``Taylor``, at several errors."""
    ours = [run for run in runs if run.program == race.OURS]
    kinds = {
        "splitting": [run for run in ours if ", h = " in run.setting],
        "Taylor": [run for run in ours if run.setting.startswith("Taylor")],
    }
    for error in WINNERS:
        best = {kind: race.compare(some, error, "whole").get(race.OURS) for kind, some in kinds.items()}
        texts = [f"{kind} {1e6 * found[0] / BODIES:.3g} ({found[1]})" for kind, found in best.items() if found]
        print(f"    error {error:.0e}: {'; '.join(texts)}", flush=True)


def print_stages() -> None:
    """Nanoseconds per body and stage."""
    print(f"ns per body and stage, {BODIES} bodies: in blocks on one core and on two; one by one on one core")
    for name, force in TORQUES.items():
        problem = batch(BODIES, force)
        for scheme in SCHEMES:
            method = ph.Splitting(scheme=scheme)
            works = [Work(problem, method, 0.5, *kind) for kind in ((True, 1), (True, 2), (False, 1))]
            one, two, before = (1e9 * s / (BODIES * STEPS * method.stages / 2) for s in best_of(works))
            print(f"  {name:18} {scheme:9} {one:6.1f} {two:6.1f} {before:7.1f}   gain {before / one:.2f}", flush=True)


def print_sizes() -> None:
    """Time of short batches in blocks, relative to that of one body after the other."""
    print("time of a step in blocks / one by one, ABA1064")
    method = ph.Splitting(scheme="ABA1064")
    for name, force in TORQUES.items():
        texts = []
        for n in (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128):
            works = [Work(batch(n, force), method, 0.5, in_blocks, 1) for in_blocks in (True, False)]
            blocks, singles = (min(best_of([work] * 40)) for work in works)
            texts.append(f"{n}: {blocks / singles:.2f}")
        print(f"  {name:18} {'  '.join(texts)}", flush=True)


PARTS = {"race": print_race, "stages": print_stages, "sizes": print_sizes}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
