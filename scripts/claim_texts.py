"""What the documentation says about the numbers of ``claim_tables.py``: one function for each mark of a page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from math import isfinite, isnan
from typing import Any

Numbers = Any
TITLES = {
    "weak_top": "weak top, t = 20",
    "strong_top": "strong top, t = 20",
    "satellite": "satellite, t = 400",
    "perturbed": "perturbed body, t = 5e4",
    "weak_tops": "weak tops, t = 20",
    "strong_tops": "strong tops, t = 20",
    "satellites": "satellites, t = 4",
}
SHORT, LONG = ("weak_top", "strong_top"), ("satellite", "perturbed")
OURS, CHOSEN, HEYOKA, FLAT, SCIPY = "method and h given", "rtol=", "heyoka", "compiled DOP853", "SciPy DOP853"
NEAR = 1.15  # a run with more torques than this times the budget is no rival of the others


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
    return power(x)


def span(values: Sequence[float]) -> str:
    """A range, or one number if there is no more to say."""
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} - {high}"


def between(values: Sequence[float]) -> str:
    """A range within a sentence."""
    return span(values).replace(" - ", " to ")


def ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [x / y for x, y in zip(a, b, strict=True)]


def duration(seconds: float) -> str:
    size, unit = (1.0, "s") if seconds >= 0.9995 else (1e-3, "ms") if seconds >= 0.9995e-3 else (1e-6, "us")
    return f"{seconds / size:.{1 if seconds / size < 9.95 else 0}f} {unit}"


def power(x: float) -> str:
    return f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e")


# docs/accuracy.md


def accuracy(worst: Numbers) -> str:
    head = ("regime", "m, eps (1 + cond)", "q, eps (1 + cond)", "m, eps", "q, eps")
    return table(head, [(name, *map(short, row)) for name, row in worst.items()])


def drift(found: Numbers) -> str:
    energy, square, space = found["energy, |m|^2, Q m"]
    return sentences(
        "A million chained steps of h = 0.01 (`benchmarks/drift.py`): energy and |m|² drift by "
        f"{between([energy, square])} √n eps, the momentum in space Q m by {short(space)} √n eps: random walks, not "
        f"slopes. |q|² stays within {short(found['|q|^2'])} eps of 1, root mean square."
    )


# docs/speed.md


def step(found: Numbers) -> str:
    rows = [
        (name, span(x["polhode"]), *(span(ratios(x[theirs], x["polhode"])) for theirs in ("thrifty", "published")))
        for name, x in found.items()
    ]
    return table(("one body, compiled loop", "ns per step", "times faster than thrifty", "than published"), rows)


def batch(found: Numbers) -> str:
    rows = []
    for name, x in found["ranges"].items():
        cells = [name]
        for cores in ("one core", "all cores"):
            cells += [span(x[cores]), *(span(ratios(x[theirs], x[cores])) for theirs in ("thrifty", "published"))]
        rows.append(cells)
    all_cores = f"{found['cores']} cores, ns"
    faster = ("times faster than thrifty", "than published")
    return table(
        ("a million bodies, each with its own inertia", "one core, ns per body", *faster, all_cores, *faster), rows
    )


def scipy(found: Numbers) -> str:
    one, many = (ratios(found["scipy"], found[cores]) for cores in ("one core", "all cores"))
    ours, theirs = found["errors"]
    return sentences(
        "Against a closed form by vectorized SciPy (`ellipj`, `elliprj`; `benchmarks/closed_form_scipy.py`, thrifty), "
        f"1e5 random bodies to random times up to {found['longest']:g}: {between(one)} times faster on one core, "
        f"{between(many)} times on {found['cores']}; the largest error of {found['checked']} bodies is {ours:.1e}, and "
        f"{theirs:.1e} by SciPy."
    )


def dense(found: Numbers) -> str:
    ways = {
        "in bulk, one core": found["one core"],
        f"in bulk, {found['cores']} cores": found["all cores"],
        "one after the other in a compiled loop": found["scalar"],
        "published formulas, constants of the trajectory computed once": found["published"],
    }
    rows = [(name, span(ns), span(ratios(found["published"], ns))) for name, ns in ways.items()]
    return table(("one trajectory at many times", "ns per sample", "times faster than the published formulas"), rows)


def flows(found: Numbers) -> str:
    ours, theirs = found["names"]
    low, high = found["lengths"]
    return sentences(
        f"Among the flows (`benchmarks/flows.py`, random bodies, steps of {low:g} to {high:g} radian or so), the "
        f"published exact algorithms cost {between(found['published'])} times a discrete Moser-Veselov step. `{ours}` "
        f"costs {between(found['in units'])} times that, and {between(ratios(found['ours'], found['theirs']))} times "
        f"as much as `{theirs}`: {between(found['ours'])} ns against {between(found['theirs'])}."
    )


def torqued(found: Numbers) -> str:
    return sentences(
        "A stage of a splitting, one torque and one exact drift, takes "
        f"{between([ns for costs in found for ns in costs])} ns (`benchmarks/torqued.py`)."
    )


def startup(found: Numbers) -> str:
    warm = {name: times for name, _, times in found["clone"]}
    clone = {name: times for name, times, _ in found["clone"]}
    columns = ("seconds of a new process", "first on a machine, wheel", "first, clone", "later ones")
    rows = [(name, short(cold[0]), short(clone[name][0]), short(warm[name][0])) for name, cold, _ in found["wheel"]]
    return table(columns, [*rows, *((name, short(times[0]), "", short(times[0])) for name, times in found["others"])])


def calls(found: Numbers) -> str:
    return table(("one call from Python, one body", "us"), [(name, short(us)) for name, us in found.items()])


# docs/race.md, docs/choose.md, docs/comparison.md


def at_errors(found: Numbers, names: Sequence[str], kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in names:
        for error, kinds in found["cases"][name].items():
            yield name, power(float(error)), kinds[kind]


def cell(best: dict[str, Any], program: str, per: float = 1.0) -> str:
    return duration(best[program][0] / per) if program in best else "-"


def method_of(setting: str) -> str:
    return setting.split(",")[0].split("(")[0]


def ours_with_method(best: dict[str, Any], per: float = 1.0) -> str:
    return f"{cell(best, OURS, per)} ({method_of(best[OURS][1])})" if OURS in best else "-"


def ratio(best: dict[str, Any], program: str, to: str) -> str:
    return short(best[program][0] / best[to][0]) if program in best and to in best else "-"


def race_whole(found: Numbers) -> str:
    rows = [
        (
            f"{TITLES[name]}, {error}",
            ours_with_method(best),
            *(cell(best, program) for program in (CHOSEN, HEYOKA, FLAT, SCIPY)),
            ratio(best, HEYOKA, OURS),
            ratio(best, HEYOKA, CHOSEN),
        )
        for name, error, best in at_errors(found, (*SHORT, *LONG), "whole")
    ]
    programs = ("`integrate`, method and step given", "`integrate(rtol=...)`", HEYOKA, FLAT, SCIPY)
    return table(("whole call; error", *programs, "heyoka / given", "heyoka / `rtol=`"), rows)


def race_loops(found: Numbers) -> str:
    rows = [
        (
            f"{TITLES[name]}, {error}",
            ours_with_method(best),
            *(cell(best, program) for program in (HEYOKA, FLAT)),
            *(ratio(best, program, OURS) for program in (HEYOKA, FLAT)),
        )
        for name, error, best in at_errors(found, (*SHORT, *LONG), "loop")
    ]
    return table(("compiled loop alone; error", "ours", HEYOKA, FLAT, "heyoka / ours", "DOP853 / ours"), rows)


def race_batches(found: Numbers) -> str:
    per = found["bodies"]
    rows = [
        (f"{TITLES[name]}, {error}", ours_with_method(best, per), cell(best, HEYOKA, per), ratio(best, HEYOKA, OURS))
        for name, error, best in at_errors(found, ("weak_tops", "strong_tops", "satellites"), "whole")
    ]
    return table(
        (f"{per} bodies, one core; error", "`integrate`, per body", "heyoka, four lanes", "heyoka / ours"), rows
    )


def race_rotations(found: Numbers) -> str:
    rows = [(name, duration(seconds), f"{energy:.0e}") for name, (seconds, energy) in found["rotations"].items()]
    return table((f"{power(found['turns'])} turns of the perturbed body", "whole call", "largest energy error"), rows)


def race_choose(found: Numbers) -> str:
    rows = [
        (f"{TITLES[name]}, {error}", method_of(best[OURS][1]), cell(best, OURS))
        for name, error, best in at_errors(found, (*SHORT, *LONG), "loop")
        if OURS in best
    ]
    return table(("problem; error", "fastest method", "its loop"), rows)


def race_comparison(found: Numbers) -> str:
    def range_of(names: Sequence[str], kind: str, ours: str) -> str:
        both = [best for _, _, best in at_errors(found, names, kind) if HEYOKA in best and ours in best]
        return between([best[HEYOKA][0] / best[ours][0] for best in both])

    return sentences(
        "For bodies under torques, [the race](race.md) compares with SciPy, heyoka and a compiled DOP853 at equal "
        "errors. On long motions under weak torques, a whole call of heyoka takes "
        f"{range_of(LONG, 'whole', OURS)} times as long as `integrate` with the best method and step, and "
        f"{range_of(LONG, 'whole', CHOSEN)} times as long as `integrate(rtol=...)`. For tops that turn a few times it "
        f"takes {range_of(SHORT, 'whole', OURS)} and {range_of(SHORT, 'whole', CHOSEN)} times as long (below 1, heyoka "
        "is faster), because Python takes most of our time there: of the compiled loops alone, heyoka's takes "
        f"{range_of(SHORT, 'loop', OURS)} times as long as ours."
    )


def choose(found: Numbers) -> str:
    parts = []
    for title, unit, budgets, rows in found:
        best = [
            min(error for error, count in column if isfinite(error) and (count is None or count <= NEAR * budget))
            for column, budget in zip(zip(*rows.values(), strict=True), budgets, strict=True)
        ]
        lines = [
            (name, *(chosen_cell(*cell, least) for cell, least in zip(cells, best, strict=True)))
            for name, cells in rows.items()
        ]
        head = ("error of q" if unit == "torques" else "energy", *(f"{budget} {unit}" for budget in budgets))
        parts.append(f"**{title}**\n\n{table(head, lines)}")
    return "\n\n".join(parts)


def chosen_cell(error: float, count: int | None, least: float) -> str:
    if isnan(error):
        return "fails"
    shown = f"{error:.0e}"
    mark = "**" if shown == f"{least:.0e}" else ""
    return f"{mark}{shown}{mark}" + (f" ({count})" if count else "")


TEXTS: dict[str, tuple[str, Callable[[Numbers], str]]] = {  # mark of a page: what is measured, and what is written
    **{
        function.__name__: (function.__name__, function)
        for function in (accuracy, drift, choose, step, batch, scipy, dense, flows, torqued, calls, startup)
    },
    "race-whole": ("race", race_whole),
    "race-loops": ("race", race_loops),
    "race-batches": ("race", race_batches),
    "race-rotations": ("race", race_rotations),
    "race-choose": ("race", race_choose),
    "race-comparison": ("race", race_comparison),
}
