"""Torqued bodies: what a kick and the drift before it cost, and how round-off grows with the number of steps.

    python benchmarks/torqued.py [steps]

(a) Nanoseconds per stage (one torque and one exact drift) of the heavy top, one body on one core, for ready-made and
user-written torques; a 14-stage step of RKN6_14a is 14 of them.
(b) Energy and momentum along the vertical of weakly torqued bodies, after 1e4, 1e5, ... steps of ABA864 so short that
truncation is below round-off: rms over bodies, divided by eps and the root of the number of steps. Random walks stay
constant, drifts grow.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

import polhode as ph
from polhode import forces

EPS = 2.0**-53
STEPS = 10**7
BODIES = 8
STRENGTH, OFFSET = 1e-3, (0.0, 0.0, 1.0)
SCHEMES = ("V2", "RKN6_14a", "ABA1064")
REPEATS = 5


def by_hand(t, Q, w, p):
    return p[0] * Q[2][1], -p[0] * Q[2][0], 0.0


def height(t, Q, p):
    return p[0] * Q[2][2]


FORCES = {
    "forces.gravity": lambda: forces.gravity(STRENGTH, OFFSET),
    "Torque": lambda: ph.Torque(by_hand, (STRENGTH,), velocity=False),
    "Potential, without gradient": lambda: ph.Potential(height, params=(STRENGTH,)),
}


def cost_of_stages(make):
    """ns per stage by scheme, and the seconds that the first result of a new torque takes."""
    began = time.perf_counter()
    problem = ph.Problem((1.0, 1.5, 2.25), ph.State((0.5, 0.75, 1.76)), make(), (0.0, 2000.0))
    ph.integrate(problem, (0.0, 1.0), h=0.5)
    first = time.perf_counter() - began
    cost = {}
    for scheme in SCHEMES:
        runs = [ph.integrate(problem, h=0.1, method=scheme, save_every=10**9).stats for _ in range(REPEATS)]
        cost[scheme] = min(1e9 * run.seconds / run.torques for run in runs)
    return cost, first


def print_costs():
    os.environ["POLHODE_NUM_THREADS"] = "1"
    print(f"(a) {'force':28} {'scheme':10} ns per stage   seconds to the first result of a new torque")
    for name, make in FORCES.items():
        cost, first = cost_of_stages(make)
        for scheme, ns in cost.items():
            print(f"    {name:28} {scheme:10} {ns:12.0f} {first:12.2f}", flush=True)
    del os.environ["POLHODE_NUM_THREADS"]


def print_drift(most):
    rng = np.random.default_rng(1)
    body = ph.RigidBody.from_moments(rng.uniform(1, 2, (BODIES, 3)))
    problem = ph.Problem(body, ph.State(rng.normal(size=(BODIES, 3))), forces.gravity(STRENGTH, OFFSET), (0.0, 1.0))
    print("\n(b)      steps   energy   vertical momentum   (rms, in eps times the root of the steps)")
    steps = 10_000
    while steps <= most:
        run = ph.integrate(problem, (0.0, 0.01 * steps), h=0.01, method="ABA864", save_every=steps)
        along = run.m_space[..., 2]
        moved = (along[-1] - along[0]) / np.linalg.norm(run.m[0], axis=-1)
        drifts = [np.sqrt(np.mean(x**2)) / EPS / steps**0.5 for x in (run.energy_error()[-1], moved)]
        print(f"    {steps:10d} {drifts[0]:8.2f} {drifts[1]:19.2f}", flush=True)
        steps *= 10


def main():
    print_costs()
    print_drift(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)


if __name__ == "__main__":
    main()
