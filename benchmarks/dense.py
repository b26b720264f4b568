"""Many samples of one trajectory: nanoseconds per sample of m and q, as a ratio to the published formulas.

    python benchmarks/dense.py [samples]

The baseline evaluates the published formulas (``published.py``) at each time, with all that is constant along one
trajectory computed once: constants, arithmetic-geometric mean, initial phase and integral, complete integral, frame.
``free_motion`` evaluates series. In bulk the times come as one array, and results go to arrays that exist; "fresh"
makes new ones. All programs run interleaved, and the best of the repeats counts; numbers are means over random bodies.
Errors are the largest ones of m/|m| and q at some of the times against 25 digits (needs mpmath).
"""

from __future__ import annotations

import math
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
FEW = 20_000  # samples of the baseline
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
        phase = turned_phase(phi, low, turn)
        (m1, m2, m3), X = momentum(motion, arc)
        q0, q1, q2, q3 = attitude(motion, phase, X)
        total[0] += m1 + m2 + m3 + q0 + q1 + q2 + q3


@entry_point("void(f8[::1], f8[::1], f8[::1], f8[::1], f8[:, ::1], f8[:, ::1])")
def published_samples(inertia, m, q, t, m_out, q_out):
    """The published formulas at the times t, for sorted moments; see ``published.unit_step`` and ``published.step``."""
    ratio = np.empty(published.LEVELS + 1)
    i1, i2, i3 = inertia[0], inertia[1], inertia[2]
    norm = math.sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2])
    m1, m2, m3 = m[0] / norm, m[1] / norm, m[2] / norm
    around_1, b13, b31, b_sn, k2, lam, n = published.constants(i1, i2, i3, m1, m2, m3)
    sn0 = m2 / b_sn
    cn0 = m3 / b31 if around_1 else m1 / b13
    phi0 = math.atan2(sn0, cn0)
    u0, scale, levels = published.ascend(phi0, sn0, cn0, k2, ratio)
    j0, odd0 = published.half_turns(phi0)
    start, complete = published.third_kind(odd0 * sn0, cn0, n, k2), published.third_kind(1.0, 0.0, n, k2)
    f0 = math.atan(m2 / m1) if around_1 else math.atan2(odd0 * m2, odd0 * m1)
    a0, a1, a2 = published.frame(m1, m2, m3)
    p0, p1, p2, p3 = published.product(q[0], q[1], q[2], q[3], a0, -a1, -a2, 0.0)
    factor = (i3 - i1) / (i1 * i3 * lam)
    for k in range(len(t)):
        h = norm * t[k]
        phi1 = published.descend(scale * (u0 + lam * h), levels, ratio)
        sn1, cn1 = math.sin(phi1), math.cos(phi1)
        dn1 = math.copysign(math.sqrt(1.0 - k2 * sn1 * sn1), lam)
        y2 = b_sn * sn1
        y1, y3 = (b13 * dn1, b31 * cn1) if around_1 else (b13 * cn1, b31 * dn1)
        j1, odd1 = published.half_turns(phi1)
        turns = j1 - j0
        integral = published.third_kind(odd1 * sn1, cn1, n, k2) - start + 2.0 * turns * complete
        f1 = math.atan(y2 / y1) if around_1 else math.atan2(odd1 * y2, odd1 * y1) + turns * math.pi
        psi = h / i3 + factor * integral + f0 - f1
        c, s = math.cos(0.5 * psi), math.sin(0.5 * psi)
        b0, b1, b2 = published.frame(y1, y2, y3)
        q_out[k, 0], q_out[k, 1], q_out[k, 2], q_out[k, 3] = published.product(
            p0 * c - p3 * s, p1 * c + p2 * s, p2 * c - p1 * s, p3 * c + p0 * s, b0, b1, b2, 0.0
        )
        m_out[k, 0], m_out[k, 1], m_out[k, 2] = norm * y1, norm * y2, norm * y3


def measure(rng, n, span):
    """ns of (published, one core, all cores, fresh, one at a time), and errors of polhode and published."""
    inertia, m = np.sort(rng.uniform(1, 3, 3)), rng.normal(size=3)
    motion = ph.free_motion(inertia, m=m)
    q = motion.initial.q.copy()
    t = rng.uniform(0, span, n)
    few = t[:FEW]
    out = np.empty((n, 3)), np.empty((n, 4))
    slow_out = np.empty((len(few), 3)), np.empty((len(few), 4))
    runs = [
        (lambda: published_samples(inertia, m, q, few, *slow_out), len(few)),
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
    theirs = error(*body, some, *(x[:CHECKED] for x in slow_out))
    return times, error(*body, some, *motion.sample(some)), theirs


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    rng = np.random.default_rng(5)
    print(f"{thread_count()} cores; {n} samples of one trajectory at random times: ns per sample of m and q,")
    print("and how many times faster than the published formulas with the constants of the trajectory computed once")
    head = f"{'times up to':>11} {'published':>10} {'bulk, one core':>15} {'ratio':>6} {'all':>7} {'ratio':>6}"
    print(f"{head} {'fresh':>8} {'scalar':>7} {'ratio':>6} {'error':>9} {'published':>10}")
    for span in SPANS:
        rows = [measure(rng, n, span) for _ in range(BODIES)]
        slow, one, many, fresh, scalar = np.mean([times for times, _, _ in rows], axis=0)
        ours, theirs = (max(row[i] for row in rows) for i in (1, 2))
        print(
            f"{span:11g} {slow:10.0f} {one:15.1f} {slow / one:6.1f} {many:7.1f} {slow / many:6.1f}"
            f" {fresh:8.1f} {scalar:7.1f} {slow / scalar:6.1f} {ours:9.1e} {theirs:10.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
