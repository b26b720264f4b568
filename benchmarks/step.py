"""Nanoseconds per exact step of one body in a compiled loop, as a ratio to the published structure in the same run.

    python benchmarks/step.py

Both programs are compiled by the same decorators and run interleaved; the best of many short runs counts, because
other work on the machine only ever adds time. The baseline is ``thrifty``: the published structure without the complete
Carlson integral where it is not needed. ``published`` evaluates all three in every step. lambda is the larger frequency
of m: its period is 4K/lambda.
"""

from __future__ import annotations

import time

import numpy as np

import polhode as ph
import published
from polhode.kernels.stepping.header import FreeSteps
from polhode.kernels.stepping.repeat import repeat

RANGES = ((0.02, 0.25), (0.25, 1.0), (1.0, 6.0), (10.0, 1000.0), (0.02, 1.0), (0.02, 1000.0))
BODIES = 24
REPEATS = 20
EXACT = ph.Exact()
COUNTERS = np.empty(1, np.int64), np.empty(1)


def frequency(inertia, m):
    """lambda = sqrt(max(P, R)) of the kernel."""
    w1, w2, w3 = 1 / inertia
    x, y, z = m * m
    P = (w1 - w2) * ((w1 - w3) * x + (w2 - w3) * y)
    R = (w2 - w3) * ((w1 - w2) * y + (w1 - w3) * z)
    return np.sqrt(max(P, R))


def exact_steps(inertia, m, q, h, n):
    """Take n exact steps of one body in the compiled loop of the flow, without what a call from Python adds."""
    once = FreeSteps(inertia[None], np.array([h]), n, 0, 1, m[None], q[None], *COUNTERS)
    repeat(EXACT.data(), once)


def nanoseconds(steps, inertia, m, h, n, *flags):
    m, q = m.copy(), np.array([1.0, 0.0, 0.0, 0.0])
    start = time.perf_counter()
    steps(inertia, m, q, h, n, *flags)
    return 1e9 * (time.perf_counter() - start) / n


def measure(low, high, rng):
    """Mean over random bodies of the best time of (polhode, thrifty, published)."""
    times = []
    for _ in range(BODIES):
        inertia, m = np.sort(rng.uniform(1, 3, 3)), rng.normal(size=3)
        h = np.exp(rng.uniform(np.log(low), np.log(high))) / frequency(inertia, m)  # every scale as often
        runs = [
            (
                nanoseconds(exact_steps, inertia, m, h, 4000),
                nanoseconds(published.published_steps, inertia, m, h, 500, True),
                nanoseconds(published.published_steps, inertia, m, h, 500, False),
            )
            for _ in range(REPEATS)
        ]
        times.append(np.min(runs, axis=0))
    return np.mean(times, axis=0)


def main():
    rng = np.random.default_rng(1)
    print("one body, compiled loop; ns per step, and how many times faster polhode is")
    print(f"{'lambda h':>12} {'polhode':>9} {'thrifty':>9} {'ratio':>7} {'published':>10} {'ratio':>7}")
    for low, high in RANGES:
        ours, thrifty, full = measure(low, high, rng)
        print(
            f"{low:5g} - {high:<5g} {ours:9.1f} {thrifty:9.0f} {thrifty / ours:7.1f} {full:10.0f} {full / ours:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
