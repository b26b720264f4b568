"""What is measured for the claims of the documentation: functions that return numbers, by code of benchmarks and tests.

Speeds are measured several times in this process, interleaved with those of the programs that they are compared with,
so that what else a machine does disturbs ratios less than it does times. ``claim_texts.py`` makes text of the numbers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

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
    """A claim that nothing measures or nothing shows, or a sentence that is no longer true."""


Numbers = Any  # what JSON can hold


def accuracy(runs: int) -> Numbers:
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
    return worst


def drift(runs: int) -> Numbers:
    """Invariants over a million exact steps: benchmarks/drift.py."""
    from drift import BODIES, COUNTS, drifts

    rng = np.random.default_rng(2)
    rms = np.sqrt(np.mean([drifts(rng) ** 2 for _ in range(BODIES)], axis=0))
    late, early = ((rms / np.sqrt(COUNTS)[:, None])[row, :3] for row in (-1, len(COUNTS) // 2))
    if not (late < 3 * early).all() or rms[-1, 3] > 10:
        raise ClaimError(f"the drift is no random walk: {early} and then {late} times the root of n")
    return {"energy, |m|^2, Q m": late, "|q|^2": rms[:, 3].max()}


def step(runs: int) -> Numbers:
    """One body in a compiled loop against the published structure: benchmarks/step.py."""
    from step import measure

    ranges = {"": ((0.02, 1.0), (0.02, 1000.0)), "of these, ": ((1.0, 6.0), (10.0, 1000.0))}
    found = {}
    for words, parts in ranges.items():
        for low, high in parts:
            times = np.array([measure(low, high, np.random.default_rng(i)) for i in range(runs)]).T
            name = f"{words}lambda h from {low:g} to {high:g}"
            found[name] = dict(zip(("polhode", "thrifty", "published"), times, strict=True))
    return found


def batch(runs: int) -> Numbers:
    """A million bodies against the published structure: benchmarks/batch.py."""
    from batch import BODIES, RANGES, against_published, random_bodies
    from polhode.core.threads import thread_count

    rng, cores = np.random.default_rng(4), thread_count()  # before benchmarks change the number of threads
    bodies = random_bodies(rng, BODIES)
    found = {}
    for low, high in RANGES:
        times = np.array([against_published(rng, *bodies, low, high)[0][:4] for _ in range(runs)]).T
        names = ("thrifty", "published", "one core", "all cores")
        found[f"lambda h from {low:g} to {high:g}"] = dict(zip(names, times, strict=True))
    return {"cores": cores, "ranges": found}


def scipy(runs: int) -> Numbers:
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

    programs = ((lambda: closed_form(inertia, m, q, t, thrifty=True), n), (ours, n, ONE), (ours, n, ALL))
    times = np.array([best(*programs) for _ in range(runs)]).T
    some = [x[:CHECKED] for x in (inertia, m, q, t)]
    errors = error(*some, *(x[:CHECKED] for x in out)), error(*some, *closed_form(*some, thrifty=True))
    times_by_name = dict(zip(("scipy", "one core", "all cores"), times, strict=True))
    return {"cores": cores, "longest": LONGEST, "checked": CHECKED, "errors": errors, **times_by_name}


def dense(runs: int) -> Numbers:
    """One trajectory at many times: benchmarks/dense.py."""
    from dense import BODIES, SAMPLES, SPANS, measure
    from polhode.core.threads import thread_count

    rng, cores = np.random.default_rng(5), thread_count()
    found = [np.mean([measure(rng, SAMPLES, length)[0] for _ in range(BODIES)], axis=0) for length in SPANS * runs]
    names = ("published", "one core", "all cores", "fresh", "scalar")
    return {"cores": cores, **dict(zip(names, np.array(found).T, strict=True))}


def flows(runs: int) -> Numbers:
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
    solved = np.isfinite(times[THEIRS])
    return {
        "lengths": (LENGTHS[0], LENGTHS[-1]),
        "names": (repr(OURS), repr(THEIRS)),
        "published": np.concatenate([times[flow] / unit for flow in published]),
        "in units": times[OURS] / unit,
        "ours": times[OURS][solved],
        "theirs": times[THEIRS][solved],
    }


def torqued(runs: int) -> Numbers:
    """One torque and one exact drift of a splitting: benchmarks/torqued.py."""
    from torqued import FORCES, cost_of_stages

    return [list(cost_of_stages(FORCES["forces.gravity"])[0].values()) for _ in range(runs)]


def startup(runs: int) -> Numbers:
    """First results of new processes, from a wheel and from a clone: benchmarks/startup.py."""
    from startup import ROOT, measure, measure_others, unpacked_wheel

    with tempfile.TemporaryDirectory() as folder:
        found = {"wheel": list(measure(unpacked_wheel(folder)))}
    return {**found, "clone": list(measure(ROOT / "src")), "others": list(measure_others())}


def calls(runs: int) -> Numbers:
    """Single calls from Python with one body: benchmarks/calls.py."""
    from calls import calls_of_heyoka, calls_of_scipy, free_calls, measure, torqued_calls

    return measure((free_calls, torqued_calls, calls_of_scipy, calls_of_heyoka))


def race(runs: int) -> Numbers:
    """Times at equal errors, of whole calls and of loops: benchmarks/race.py, benchmarks/truth.py."""
    import race

    race.SECONDS *= runs / 3
    found = {name: race.race(name)[1] for name in (*race.CASES, *race.BATCHES)}
    return {"bodies": race.BODIES, "turns": race.TURNS, "rotations": race.rotations(), "cases": found}


def choose(runs: int) -> Numbers:
    """Errors of methods at about equal numbers of torques: benchmarks/choose.py."""
    from choose import tables

    return list(tables())


MEASURES: dict[str, Callable[[int], Numbers]] = {
    function.__name__: function
    for function in (accuracy, drift, choose, step, batch, scipy, dense, flows, torqued, calls, startup, race)
}
