"""Many samples of one trajectory: nanoseconds per sample of m and q, as a ratio to one published step in the same run.

    python benchmarks/dense.py [samples]

A program without dense output pays one step per sample; ``free_motion`` knows its trajectory and evaluates it at any
times in any order. In bulk the times come as one array, and results go to arrays that exist; "fresh" makes new ones.
All programs run interleaved and the best of the repeats counts; numbers are means over random bodies. The published
step is a 64th of the period in a chain, but its cost hardly depends on that. Errors are the largest ones of m/|m| and
q at some of the times against 25 digits (needs mpmath): they do not grow with time. The published ones are those at
the end of its chain.
"""

from __future__ import annotations

import sys

import numpy as np

import polhode as ph
import published
from batch import ALL, ONE, error, nanoseconds
from polhode.core.threads import thread_count
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.exact.dense import arc_and_turn, attitude, circle, clock, momentum, read, turned_phase

SAMPLES = 300_000
SPANS = (100.0, 1e6)
STEPS = 2000
BODIES = 6
REPEATS = 8
CHECKED = 4  # samples of each body


@entry_point("void(Array(f8, 2, 'C', readonly=True), f8[::1], f8[::1])")
def one_after_the_other(motions, t, total):
    """The same formulas in a loop over single times, not vectorized."""
    motion, series = read(motions, 0)
    for time in t:
        x, phi, low = clock(motion, time)
        sz, cz = circle(x)
        arc, turn = arc_and_turn(motion, series, sz, cz)
        (m1, m2, m3), X = momentum(motion, arc)
        q0, q1, q2, q3 = attitude(motion, turned_phase(phi, low, turn), X)
        total[0] += m1 + m2 + m3 + q0 + q1 + q2 + q3


def measure(rng, n, span):
    """ns of (published step, one core, all cores, fresh, one at a time), and errors of polhode and published."""
    inertia, m = np.sort(rng.uniform(1, 3, 3)), rng.normal(size=3)
    motion = ph.free_motion(inertia, m=m)
    q = motion.initial.q
    t = rng.uniform(0, span, n)
    h = motion.period / 64
    out = np.empty((n, 3)), np.empty((n, 4))
    chain_m, chain_q = m.copy(), q.copy()

    def steps():
        chain_m[:], chain_q[:] = m, q
        published.published_steps(inertia, chain_m, chain_q, h, STEPS, False)

    runs = [
        (steps, STEPS),
        (lambda: motion.sample(t, out=out), n, ONE),
        (lambda: motion.sample(t, out=out), n, ALL),
        (lambda: motion.sample(t), n, ONE),
    ]
    runs.append((lambda: one_after_the_other(motion._series, t, np.zeros(1)), n, ONE))
    for program, *_ in runs:
        program()  # compiles
    times = np.min([[nanoseconds(*run) for run in runs] for _ in range(REPEATS)], axis=0)
    some = t[:CHECKED]
    body = [np.broadcast_to(x, (CHECKED, len(x))) for x in (inertia, m, q)]
    chain = (x[None] for x in (inertia, m, q, np.array(STEPS * h), chain_m, chain_q))
    return times, error(*body, some, *motion.sample(some)), error(*chain)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    rng = np.random.default_rng(5)
    print(f"{thread_count()} cores; {n} samples of one trajectory at random times: ns per sample of m and q,")
    print("how many times faster than one published step; targets: 80 in bulk, 20 one at a time in a compiled loop")
    head = f"{'times up to':>11} {'published':>10} {'bulk, one core':>15} {'ratio':>6} {'all':>7} {'ratio':>6}"
    print(f"{head} {'fresh':>8} {'scalar':>7} {'ratio':>6} {'error':>9} {'published':>10}")
    for span in SPANS:
        rows = [measure(rng, n, span) for _ in range(BODIES)]
        step, one, many, fresh, scalar = np.mean([times for times, _, _ in rows], axis=0)
        ours, theirs = (max(row[i] for row in rows) for i in (1, 2))
        print(
            f"{span:11g} {step:10.0f} {one:15.1f} {step / one:6.1f} {many:7.1f} {step / many:6.1f}"
            f" {fresh:8.1f} {scalar:7.1f} {step / scalar:6.1f} {ours:9.1e} {theirs:10.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
