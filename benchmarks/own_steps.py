"""A step size for each body of a batch, against one for all; and the chunks of ensembles.

    python benchmarks/own_steps.py [part of the sizes, such as 0.1]

First: satellites of random spin, with as many torques in all, with one step size and with those that the power laws of
``integration.strength`` give for equal errors. Errors are those of m and q at the end, by ``Taylor(1e-15)``: the
largest, and the one that 99 % of the bodies have at most. Then what ``rtol`` makes of them, with the torques of all
trial runs.

Then ensembles, written to a store: tops of a thousand steps, and debris, which tumbles in a gravity gradient for a day,
with ``h`` and with ``rtol``: chunks, CPU time, and the time until the first chunk is finished, after which Ctrl-C
loses no more than one chunk.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import polhode as ph
from polhode import forces, problems, sampling
from polhode.integration.rows import attitude_errors, momentum_errors
from polhode.integration.rules import LENGTH
from polhode.integration.strength import measured_each
from promises import Torques
from truth import batch

BODIES, TOPS, DEBRIS = 2000, 10_000, 1000
T_END = 4.0
STEPS = (40, 60, 90, 140, 200)
TOLERANCES = (1e-4, 1e-6, 1e-8)


def errors_of(result, reference):
    """The largest error of all bodies, and that of 99 % of them."""
    m, q = momentum_errors(result.m[-1], reference.m[-1]), attitude_errors(result.q[-1], reference.q[-1])
    return np.quantile(np.maximum(m, q), (1.0, 0.99))


def sizes(strength, method, steps):
    """The step sizes for equal errors at the end with which bodies have so many steps on average."""
    length = np.minimum(1.0, LENGTH * strength.radian / T_END)
    low, high = 1e-16, 1.0
    while high > 1.01 * low:
        error = (low * high) ** 0.5
        own = strength.steps(method, error * length)
        low, high = (error, high) if np.mean(T_END / own) > steps else (low, error)
    return own * np.mean(T_END / own) / steps


def satellites(count):
    m, q = batch("satellites", count)
    problem = problems.satellite().replaced(state=ph.State(m=m, q=q), t_span=(0.0, T_END), truth=None)
    end = {"t_eval": [T_END]}
    reference = ph.integrate(problem, method=ph.Taylor(1e-15), **end)
    strength = measured_each(problem, problem.t_span)
    print(f"{count} satellites of random spin, T = {T_END:g}: torques per body, error of all and of 99 %")
    for method in ("ABA1064", "PABA1264"):
        for steps in STEPS:
            own = sizes(strength, method, steps)
            for name, h in (("one h", T_END / steps), ("h of each", own)):
                result = ph.integrate(problem, method=method, h=h, **end)
                worst, most = errors_of(result, reference)
                print(
                    f"  {method:9} {name:10} {result.stats.torques / count:8.0f} {worst:9.1e} {most:9.1e}", flush=True
                )
    for method in ("ABA1064", None):
        for rtol in TOLERANCES:
            with Torques() as torques:
                result = ph.integrate(problem, method=method, rtol=rtol, **end)
            worst, most = errors_of(result, reference)
            print(f"  {method or 'chosen':9} rtol {rtol:5.0e} {torques.count / count:8.0f} {worst:9.1e} {most:9.1e}"
                  f"   the run itself {result.stats.torques / count:.0f}", flush=True)  # fmt: skip


def tops(count):
    problem = ph.Problem((1.0, 1.2, 0.5), ph.State(m=(0.1, 0, 2)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    samples = sampling.draw(count, m=sampling.normal((0.1, 0, 2), 0.1), q=sampling.attitude())
    return problem, samples, {"method": "V2", "h": 0.01}


def debris(count):
    """Pieces of about one shape that tumble in a low orbit for a day, as in examples/debris.toml but with a torque."""
    body = ph.RigidBody.from_moments((61e3, 63e3, 4.2e3))
    force = forces.gravity_gradient(body, 3 * 1.1e-3**2, orbit_rate=1.1e-3)
    problem = ph.Problem(body, force=force, omega=(0.02, 0.002, 0.004), t_span=(0, 86400))
    samples = sampling.draw(count, omega=sampling.normal((0.02, 0.002, 0.004), 4e-3), q=sampling.attitude())
    return problem, samples, {}


def ensembles(part):
    print("ensembles, to a store: members, chunks, CPU s, s until the first chunk is finished")
    cases = {
        "tops, 1000 steps": (tops, TOPS, ({},)),
        "debris, a day": (debris, DEBRIS, ({"method": "ABA1064", "h": 20.0}, {"rtol": 1e-6})),
    }
    for title, (make, count, ways) in cases.items():
        problem, samples, options = make(max(16, int(part * count)))
        for how in ways:
            with tempfile.TemporaryDirectory() as folder:
                began, cpu = time.time(), time.process_time()
                data = ph.ensemble(problem, samples, seed=1, out=f"{folder}/e.zarr", **options, **how)
                cpu = time.process_time() - cpu
                marks = list(Path(folder, "e.zarr", "status", "done").glob("*.json"))
                first = min(mark.stat().st_mtime for mark in marks) - began
                text = ", ".join(f"{key}={value}" for key, value in how.items())
                print(f"  {title:16} {len(data.member):7} {len(marks):5} {cpu:7.1f} {first:7.1f}  {text}", flush=True)


if __name__ == "__main__":
    PART = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    satellites(max(100, int(PART * BODIES)))
    ensembles(PART)
