"""Batches: nanoseconds per body, as ratios to the published structure and to NumPy with SciPy in the same run.

    python benchmarks/batch.py [bodies]

Three tables. A million bodies take one step (a) each with its own inertia, (b) all with one inertia, against
``published_batch`` on one core, without the complete integral where it is not needed (thrifty), and with it always
(full); the baseline is slow and sees a part of the bodies. (c) A tenth as many bodies go to random times up to 100,
against the closed form with ``scipy.special`` (``closed_form_scipy.py``) on one core. All programs run interleaved, and
the best of the repeats counts, because other work on the machine only ever adds time.
The results go to arrays that exist; "fresh" lets ``propagate`` make new ones, whose pages the system has to supply.

Each row ends with the largest errors of some of its bodies, of m/|m| and q against 25 digits (needs mpmath):
speeds are compared at known accuracy. lambda is the larger frequency of m: its period is 4K/lambda.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

import polhode as ph
import published
from closed_form_scipy import closed_form
from polhode.core.threads import thread_count

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from oracles.addition import addition_flow

BODIES = 1_000_000
SLOW = 20_000  # of them for the published structure
RANGES = ((0.02, 0.25), (0.02, 1.0), (0.02, 1000.0))
LONGEST = 100.0
REPEATS, SECONDS = 7, 6.0  # at least so many repeats, and go on for so long, per row
CHECKED = 30
ONE_INERTIA = (1.97, 1.0, 1.65)
ONE, ALL = "1", os.environ.get("POLHODE_NUM_THREADS", "")


def random_bodies(rng, n):
    """Moments in random axis order, momenta and attitudes."""
    q = rng.normal(size=(n, 4))
    return rng.uniform(1, 3, (n, 3)), rng.normal(size=(n, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)


def ascending(inertia, m):
    """Both in the order of the moments; exchanging axes mirrors the body, hence the sign."""
    order = np.argsort(inertia, axis=-1)
    odd = (order[:, 1] - order[:, 0]) % 3 != 1
    m = np.take_along_axis(m, order, axis=-1)
    return np.take_along_axis(inertia, order, axis=-1), np.where(odd[:, None], -m, m)


def steps(rng, inertia, m, low, high):
    """h with lambda h between low and high, every scale as often."""
    inertia, m = ascending(inertia, m)
    w1, w2, w3 = 1 / inertia.T
    x, y, z = m.T**2
    P = (w1 - w2) * ((w1 - w3) * x + (w2 - w3) * y)
    R = (w2 - w3) * ((w1 - w2) * y + (w1 - w3) * z)
    return np.exp(rng.uniform(np.log(low), np.log(high), len(m))) / np.sqrt(np.maximum(P, R))


def nanoseconds(program, n, threads=ONE):
    os.environ["POLHODE_NUM_THREADS"] = threads
    start = time.perf_counter()
    program()
    return 1e9 * (time.perf_counter() - start) / n


def best(*runs):
    """Smallest time of each (program, bodies, threads), interleaved."""
    for program, *_ in runs:
        program()  # compiles, and touches the pages
    times, start = [], time.perf_counter()
    while len(times) < REPEATS or time.perf_counter() < start + SECONDS:
        times.append([nanoseconds(*run) for run in runs])
    return np.min(times, axis=0)


def error(inertia, m, q, t, m_end, q_end):
    """Largest error of m/|m| and of q, its sign included, of the bodies given."""
    worst = 0.0
    for j in range(len(t)):
        exact_m, exact_q = addition_flow(inertia[j].tolist(), m[j].tolist(), q[j].tolist(), float(t[j]), 25)
        dm = np.array([float(x - y) for x, y in zip(exact_m, m_end[j].tolist(), strict=True)])
        dq = np.array([float(x - y) for x, y in zip(exact_q, q_end[j].tolist(), strict=True)])
        worst = max(worst, np.linalg.norm(dm) / np.linalg.norm(m[j]), np.linalg.norm(dq))
    return worst


def against_published(rng, inertia, m, q, low, high):
    """ns of (thrifty, full, one core, all cores, one core fresh, all cores fresh) and errors of polhode and thrifty."""
    n = len(m)
    rows = np.broadcast_to(inertia, (n, 3))
    t = steps(rng, rows, m, low, high)
    out = np.zeros((n, 3)), np.zeros((n, 4))
    few = min(SLOW, n)
    slow = *ascending(rows[:few], m[:few]), q[:few], t[:few]
    slow_out, full_out = ((np.zeros((few, 3)), np.zeros((few, 4))) for _ in range(2))

    def into():
        ph.propagate(inertia, m, q, t, out=out)

    def fresh():
        ph.propagate(inertia, m, q, t)

    times = best(
        (lambda: published.published_batch(*slow, *slow_out, True), few),
        (lambda: published.published_batch(*slow, *full_out, False), few),
        (into, n, ONE),
        (into, n, ALL),
        (fresh, n, ONE),
        (fresh, n, ALL),
    )
    some = slice(0, CHECKED)
    return (
        times,
        error(rows[some], m[some], q[some], t[some], out[0][some], out[1][some]),
        error(*(x[some] for x in slow), *(x[some] for x in slow_out)),
    )


def print_published(rng, inertia, m, q):
    head = f"{'lambda h':>12} {'thrifty':>8} {'full':>6} {'one core':>9} {'ratio':>6} {'all':>7} {'ratio':>6}"
    print(f"{head} {'fresh, one':>11} {'all':>6} {'error':>9} {'thrifty':>8}")
    for low, high in RANGES:
        (slow, full, one, many, one_fresh, many_fresh), ours, theirs = against_published(rng, inertia, m, q, low, high)
        print(
            f"{low:5g} - {high:<5g} {slow:7.0f} {full:6.0f} {one:9.1f} {slow / one:6.1f} {many:7.1f} {slow / many:6.1f}"
            f" {one_fresh:11.1f} {many_fresh:6.1f} {ours:9.1e} {theirs:8.1e}",
            flush=True,
        )


def print_scipy(rng, n):
    inertia, m, q = random_bodies(rng, n)
    t = rng.uniform(0, LONGEST, n)
    out = np.zeros((n, 3)), np.zeros((n, 4))

    def into():
        ph.propagate(inertia, m, q, t, out=out)

    thrifty, full, one, many = best(
        (lambda: closed_form(inertia, m, q, t, thrifty=True), n),
        (lambda: closed_form(inertia, m, q, t), n),
        (into, n, ONE),
        (into, n, ALL),
    )
    some = [x[:CHECKED] for x in (inertia, m, q, t)]
    print(f"{'':>18} {'ns':>8} {'one core':>9} {'all cores':>10} {'error':>9}")
    for name, ns, end in (
        ("SciPy, thrifty", thrifty, closed_form(*some, thrifty=True)),
        ("SciPy", full, closed_form(*some)),
    ):
        print(f"{name:>18} {ns:8.0f} {ns / one:8.1f}x {ns / many:9.1f}x {error(*some, *end):9.1e}")
    ours = error(*some, *(x[:CHECKED] for x in out))
    print(f"{'polhode, one core':>18} {one:8.1f} {'':>20} {ours:9.1e}")
    print(f"{'all cores':>18} {many:8.1f}", flush=True)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else BODIES
    rng = np.random.default_rng(4)
    inertia, m, q = random_bodies(rng, n)
    print(f"{thread_count()} cores; ns per body, how many times faster than the baseline, errors of {CHECKED} bodies")
    print(f"\n(a) {n} bodies, each with its own inertia")
    print_published(rng, inertia, m, q)
    print(f"\n(b) {n} bodies of one inertia")
    print_published(rng, np.array(ONE_INERTIA), m, q)
    print(f"\n(c) {n // 10} bodies to random times up to {LONGEST:g}")
    print_scipy(rng, n // 10)


if __name__ == "__main__":
    main()
