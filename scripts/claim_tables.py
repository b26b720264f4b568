"""What fills the marks of docs: functions that measure, by the code of ``benchmarks`` or ``tests``, in Markdown.

Speeds are ranges over some runs in this process; ratios compare programs that run interleaved, so that what else a
machine does disturbs them less than it does times.
"""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

REGIMES = {
    "generic, both families": ("generic", "unsorted"),
    "near the separatrix, down to 1e-14": ("near_separatrix",),
    "on the separatrix": ("separatrix",),
    "symmetric and nearly so, down to 1e-15": ("symmetric", "near_symmetric", "near_symmetric_equator"),
    "spherical and nearly so": ("spherical", "near_spherical"),
    "on and near each axis, down to 1e-170": ("axis", "near_axis"),
    "flat bodies, needles, no triangle inequality": ("lamina", "needle", "no_triangle"),
    "momenta and inertias from 1e-100 to 1e100": ("scale",),
    "t = 0, tiny t, at rest": ("zero_time", "tiny_time", "at_rest"),
    "t < 0": ("negative_time",),
    "1e2 to 1e6 periods, by `propagate`": ("long",),
}


class ClaimError(Exception):
    """A mark that nothing measures, or a sentence that is no longer true."""


def sentences(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = ("| " + " | ".join(line) + " |" for line in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def short(x: float) -> str:
    """Two digits, as far as anybody reads them."""
    if x < 0.01:
        return "< 0.01"
    if x < 1e4:
        return f"{x:.{2 if x < 0.1 else 1 if x < 9.95 else 0}f}"
    return f"{x:.0e}".replace("e+0", "e")


def span(values: Sequence[float]) -> str:
    """A range, or one number if there is no more to say."""
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} - {high}"


def between(values: Sequence[float]) -> str:
    """A range within a sentence."""
    return span(values).replace(" - ", " to ")


def accuracy(runs: int) -> str:
    """Largest errors on the golden solutions, by regime: tests/free/test_golden.py, tests/free/test_long_times.py."""
    import polhode as ph
    from conftest import EPS, distance
    from test_golden import CASES, errors

    def of(found, case):
        (dm, dq), cond_m, cond_q = found, case["cond_m"], case["cond_q"]
        return dm / (1 + cond_m), dq / (1 + cond_q), dm, dq

    def by_motion(case):
        motion = ph.free_motion(case["I"], m=case["m0"], q=case["q0"])
        size = np.linalg.norm(case["m0"])
        return (distance(motion.m(case["t"]), case["m"]) / size / EPS, distance(motion.q(case["t"]), case["q"]) / EPS)

    kinds = {case["label"].split("/")[0] for case in CASES}
    if kinds != {kind for group in REGIMES.values() for kind in group}:
        raise ClaimError(f"tests/golden has the regimes {sorted(kinds)}: tell claim_tables.REGIMES where they belong")
    worst = {
        name: np.max([of(errors(case), case) for case in CASES if case["label"].split("/")[0] in group], axis=0)
        for name, group in REGIMES.items()
    }
    long = [case for case in CASES if case["label"].startswith("long/")]
    worst["the same, by `free_motion` (period in double-double)"] = np.max([of(by_motion(c), c) for c in long], axis=0)
    head = ("regime", "m, eps (1 + cond)", "q, eps (1 + cond)", "m, eps", "q, eps")
    return table(head, [(name, *map(short, row)) for name, row in worst.items()])


def drift(runs: int) -> str:
    """Invariants over a million exact steps: benchmarks/drift.py."""
    from drift import BODIES, COUNTS, drifts

    rng = np.random.default_rng(2)
    rms = np.sqrt(np.mean([drifts(rng) ** 2 for _ in range(BODIES)], axis=0))
    energy, square, space = (rms / np.sqrt(COUNTS)[:, None])[-1, :3]
    early = (rms / np.sqrt(COUNTS)[:, None])[len(COUNTS) // 2, :3]
    if not (np.array([energy, square, space]) < 3 * early).all() or rms[-1, 3] > 10:
        raise ClaimError(f"the drift is no random walk: {early} and then {energy, square, space} times the root of n")
    return sentences(
        "A million chained steps of h = 0.01 (`benchmarks/drift.py`): energy and |m|² drift by "
        f"{between([energy, square])} √n eps, the momentum in space Q m by {short(space)} √n eps: random walks, not "
        f"slopes. |q|² stays within {short(rms[:, 3].max())} eps of 1, root mean square."
    )


def step(runs: int) -> str:
    """One body in a compiled loop against the published structure: benchmarks/step.py."""
    from step import measure

    names = {
        "lambda h from 0.02 to 1": (0.02, 1.0),
        "lambda h from 0.02 to 1000": (0.02, 1000.0),
        "of these, lambda h from 1 to 6": (1.0, 6.0),
        "of these, lambda h from 10 to 1000": (10.0, 1000.0),
    }
    rows = []
    for name, (low, high) in names.items():
        ours, full, thrifty = np.array([measure(low, high, np.random.default_rng(i)) for i in range(runs)]).T
        rows.append((name, span(ours), span(full / ours), span(thrifty / ours)))
    return table(("one body, compiled loop", "ns per step", "times faster than published", "than thrifty"), rows)


def batch(runs: int) -> str:
    """A million bodies against the published structure: benchmarks/batch.py."""
    from batch import BODIES, RANGES, against_published, random_bodies
    from polhode.core.threads import thread_count

    rng, cores = np.random.default_rng(4), thread_count()
    bodies = random_bodies(rng, BODIES)
    rows = []
    for low, high in RANGES:
        slow, one, many, *_ = np.array([against_published(rng, *bodies, low, high)[0] for _ in range(runs)]).T
        cells = (span(values) for values in (one, slow / one, many, slow / many))
        rows.append((f"lambda h from {low:g} to {high:g}", *cells))
    first, many = "a million bodies, each with its own inertia", f"{cores} cores, ns"
    return table((first, "one core, ns per body", "times faster than published", many, "times faster"), rows)


def scipy(runs: int) -> str:
    """Random bodies to random times against vectorized SciPy: benchmarks/batch.py, table (c)."""
    import polhode as ph
    from batch import ALL, CHECKED, LONGEST, ONE, best, closed_form, error, random_bodies
    from polhode.core.threads import thread_count

    rng, n, cores = np.random.default_rng(4), 100_000, thread_count()
    inertia, m, q = random_bodies(rng, n)
    t = rng.uniform(0, LONGEST, n)
    out = np.zeros((n, 3)), np.zeros((n, 4))

    def ours():
        ph.propagate(inertia, m, q, t, out=out)

    programs = ((lambda: closed_form(inertia, m, q, t), n), (ours, n, ONE), (ours, n, ALL))
    theirs, one, many = np.array([best(*programs) for _ in range(runs)]).T
    some = [x[:CHECKED] for x in (inertia, m, q, t)]
    errors = error(*some, *(x[:CHECKED] for x in out)), error(*some, *closed_form(*some))
    return sentences(
        "Against a closed form by vectorized SciPy (`ellipj`, `elliprj`; `benchmarks/closed_form_scipy.py`), 1e5 "
        f"random bodies to random times up to {LONGEST:g}: {between(theirs / one)} times faster on one core, "
        f"{between(theirs / many)} times on {cores}; the largest error of {CHECKED} bodies is {errors[0]:.1e}, and "
        f"{errors[1]:.1e} by SciPy."
    )


def dense(runs: int) -> str:
    """One trajectory at many times: benchmarks/dense.py."""
    from dense import BODIES, SAMPLES, SPANS, measure
    from polhode.core.threads import thread_count

    rng, cores = np.random.default_rng(5), thread_count()
    found = []
    for length in SPANS * runs:
        found.append(np.mean([measure(rng, SAMPLES, length)[0] for _ in range(BODIES)], axis=0))
    published, one, many, _, scalar = np.array(found).T
    ways = {
        "in bulk, one core": one,
        f"in bulk, {cores} cores": many,
        "one after the other in a compiled loop": scalar,
    }
    rows = [(name, span(ns), span(published / ns)) for name, ns in ways.items()]
    return table(("one trajectory at many times", "ns per sample", "times faster than a published step"), rows)


def flows(runs: int) -> str:
    """Steps of the exact flows in units of a discrete Moser-Veselov step: benchmarks/flows.py."""
    import polhode as ph
    from flows import BODIES, LENGTHS, OURS, THEIRS, cost_of_steps, random_bodies

    published = [ph.FrbMatrix(), ph.FrbQuaternion(), ph.VanZonSchofield()]
    family = [ph.MoserVeselov(2), THEIRS]
    bodies = random_bodies(np.random.default_rng(7), BODIES)
    cost = {flow: [] for flow in (OURS, *family, *published)}
    for h in LENGTHS * runs:
        for flow, (ns, _) in cost_of_steps(list(cost), bodies, h).items():
            cost[flow].append(ns)
    times = {flow: np.array(ns) for flow, ns in cost.items()}
    unit = np.nanmin([times[flow] for flow in family], axis=0)
    theirs = np.concatenate([times[flow] / unit for flow in published])
    solved = np.isfinite(times[THEIRS])
    ours, other = times[OURS][solved], times[THEIRS][solved]
    return sentences(
        f"Among the flows (`benchmarks/flows.py`, random bodies, steps of {LENGTHS[0]:g} to {LENGTHS[-1]:g} radian or "
        f"so), the published exact algorithms cost {between(theirs)} times a discrete Moser-Veselov step. `{OURS!r}` "
        f"costs {between(times[OURS] / unit)} times that, and {between(ours / other)} times as much as `{THEIRS!r}`: "
        f"{between(ours)} ns against {between(other)}."
    )


def startup(runs: int) -> str:
    """Import and first results of new processes: benchmarks/startup.py."""
    from startup import BEYOND_NUMPY, best, first_result

    cold, warm, load = [], [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(first_result(cache))
            warm.append(min(first_result(cache) for _ in range(5)))
            load.append(1e3 * best(BEYOND_NUMPY, cache))
    return sentences(
        f"`import polhode` takes {between(load)} ms beyond NumPy; a new process has its first result after "
        f"{between(warm)} s (compiled code cached), the very first one on a machine after {between(cold)} s."
    )


GENERATORS: dict[str, Callable[[int], str]] = {
    function.__name__: function for function in (accuracy, drift, step, batch, scipy, dense, flows, startup)
}
