"""What a step of every free flow costs, and what an accuracy costs with each, all in one run.

    python benchmarks/flows.py [bodies]

The setting is that of Figure 3.1 of Celledoni, Fasso, Safstrom, Zanna 2008 and Figure 6 of Celledoni, Zanna 2010:
random inertia I1 < I2 < I3 = 1 of a physical body, random m of length 1 in the first octant, time 10. Each flow runs in
its compiled loop; the best of interleaved repeats counts, because other work on the machine only ever adds time.

(a) Nanoseconds per step, and the ratio to the cheapest discrete Moser-Veselov step, the papers' unit, for steps as in
the papers and longer. Implicit flows have no solution for long steps: "k/n" says how many bodies had one, and times are
means over those. In the papers the exact flow costs 8 to 20 times the unit.
(b) Nanoseconds to reach time 10 with a median error of q below 1e-3, 1e-6, 1e-9 and 1e-12, by the longest step, halved
from 10, that does it. Exact flows take one.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import polhode as ph
from polhode.core.errors import StepError
from polhode.flows import variants

BODIES = 8
STEPS = 20_000  # in one timed run; a composition takes as many of its basic flow
REPEATS = 5
LENGTHS = (0.01, 0.04, 0.1, 0.2, 0.4, 1.0)
SPAN = 10.0
TARGETS = (1e-3, 1e-6, 1e-9, 1e-12)
MOST_HALVINGS = 15
OURS, THEIRS = ph.Exact(), ph.MoserVeselov(6)
NAMES = 40  # width of their column


def random_bodies(rng, n):
    """(inertia, state) of n bodies: 1 - y <= x < y < 1 for x = I1/I3, y = I2/I3."""
    found = []
    while len(found) < n:
        x, y = rng.uniform(0, 1, 2)
        if 1 - y <= x < y:
            m = np.abs(rng.normal(size=3))
            found.append((ph.RigidBody((x, y, 1.0)), ph.State(m / np.linalg.norm(m))))
    return found


def works(flow, body, state, h):
    try:
        flow.step(body, state, h, steps_of(flow))
    except StepError:
        return False
    return True


def steps_of(flow):
    return max(1, STEPS // len(flow.fractions))


def nanoseconds(flow, body, state, h, steps):
    start = time.perf_counter()
    flow.step(body, state, h, steps)
    return 1e9 * (time.perf_counter() - start)


def cost_of_steps(flows, bodies, h):
    """{flow: (mean of the best times per step, number of bodies)}: interleaved over all flows."""
    taken = {flow: [b for b in bodies if works(flow, *b, h)] for flow in flows}
    best = {flow: np.full(len(taken[flow]), np.inf) for flow in flows}
    for _ in range(REPEATS):
        for flow in flows:
            n = steps_of(flow)
            times = [nanoseconds(flow, *b, h, n) / n for b in taken[flow]]
            best[flow] = np.minimum(best[flow], times)
    return {flow: (best[flow].mean() if len(best[flow]) else np.nan, len(best[flow])) for flow in flows}


def print_cost_of_steps(flows, bodies):
    """Table (a), and whether the exact flow costs no more than the preprocessed one of order 6."""
    columns = {h: cost_of_steps(flows, bodies, h) for h in LENGTHS}
    family = [flow for flow in flows if isinstance(flow, ph.MoserVeselov)]
    unit = {h: np.nanmin([columns[h][flow][0] for flow in family]) for h in LENGTHS}
    print(f"(a) ns per step and ratio to the cheapest discrete Moser-Veselov step, {len(bodies)} bodies")
    print(f"{'h':>{NAMES}}" + "".join(f"{h:>16g}" for h in LENGTHS))
    for flow in flows:
        cells = [cell(*columns[h][flow], unit[h], len(bodies)) for h in LENGTHS]
        print(f"{flow!r:>{NAMES}}" + "".join(f"{text:>16}" for text in cells), flush=True)
    print()
    for h in LENGTHS:
        print(verdict(h, columns[h][OURS][0], columns[h][THEIRS][0]))


def cell(ns, worked, unit, bodies):
    if not worked:
        return "none"
    return f"{ns:.0f} {ns / unit:.2f}" + (f" {worked}/{bodies}" if worked < bodies else "")


def verdict(h, ours, theirs):
    if theirs != theirs:
        return f"h = {h:g}: {OURS!r} {ours:.0f} ns; {THEIRS!r} has no solution"
    said = "no more" if ours <= theirs else f"{100 * (ours / theirs - 1):.0f} % more"
    return f"h = {h:g}: {OURS!r} costs {said} than {THEIRS!r} ({ours:.0f} and {theirs:.0f} ns)"


def median_error(flow, bodies, exact, steps):
    """Of q after SPAN; infinite if most bodies have no solution."""
    errors = []
    for (body, state), q in zip(bodies, exact, strict=True):
        try:
            end = flow.step(body, state, SPAN / steps, steps).q
        except StepError:
            errors.append(np.inf)
            continue
        errors.append(min(np.linalg.norm(end - q), np.linalg.norm(end + q)))
    return np.median(errors)


def cost_of_accuracy(flow, bodies, exact):
    """For each target the fewest steps that meet it, as {target: steps}."""
    found = {}
    for k in range(MOST_HALVINGS + 1):
        error = median_error(flow, bodies, exact, 2**k)
        for target in TARGETS:
            if error <= target and target not in found:
                found[target] = 2**k
        if len(found) == len(TARGETS):
            break
    return found


def print_cost_of_accuracy(flows, bodies):
    exact = [ph.propagate(body, state.m, state.q, SPAN)[1] for body, state in bodies]
    print(f"\n(b) ns to reach time {SPAN:g} with an error of q below the target, and the steps it takes")
    print(f"{'target':>{NAMES}}" + "".join(f"{target:>18g}" for target in TARGETS))
    for flow in flows:
        found = cost_of_accuracy(flow, bodies, exact)
        cells = []
        for target in TARGETS:
            if target not in found:
                cells.append("not reached")
                continue
            n = found[target]
            ns = [time_of_span(flow, *b, n) for b in bodies if works(flow, *b, SPAN / n)]
            cells.append(f"{np.mean(ns):.3g} /{n}")
        print(f"{flow!r:>{NAMES}}" + "".join(f"{text:>18}" for text in cells), flush=True)


def time_of_span(flow, body, state, n):
    """Best time of n steps, taken from a run long enough to be timed."""
    long = max(n, steps_of(flow) // 4)
    return min(nanoseconds(flow, body, state, SPAN / n, long) for _ in range(REPEATS)) * n / long


def main():
    bodies = random_bodies(np.random.default_rng(7), int(sys.argv[1]) if len(sys.argv) > 1 else BODIES)
    flows = variants()
    print_cost_of_steps(flows, bodies)
    print_cost_of_accuracy(flows, bodies)


if __name__ == "__main__":
    main()
