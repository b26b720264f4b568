"""Gustafsson 2010, Figure 2: errors of the factorization (F) and of Magnus (M), of orders 2 to 8, against the step.

Means of 50 random starts, |q - q_exact| at t = 10. The left panel is made by the thesis' own program
(``gustafsson2010``), with its rounding; the right one by our flows. The steps of the figure are not printed; the
reference of the thesis is MATLAB's ode45 at a tolerance of 2e-14, ours the exact motion. What the thesis says about
slopes is looked for in its own way, too: against ode45's formulas, with other starts for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.gustafsson2010 import (
    MOMENTS,
    ORDERS,
    RUNS,
    T_END,
    by_ode45,
    factorization_attitude,
    magnus_attitude,
    starts,
)
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.core.state import State
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.gauss import Gauss
from polhode.flows.magnus import Magnus
from polhode.flows.moser_veselov import MoserVeselov
from polhode.free.propagation import propagate

STEPS = (10, 20, 40, 100, 200, 400, 1000)  # numbers of them to t = 10
FULL_STEPS = (*STEPS, 2000, 4000)
OURS = (10, 20, 40, 100, 200, 400, 1000, 2000, 4000, 10000)
ROUND_OFF = 1e-14
NEAR = 0.15  # of an order
SMALL = 4000  # steps to t = 10, at which F4, F6 and F8 are compared: h = 0.0025
SAME = 1.1  # errors that differ by less are the same
GAP_STEP, GAP_TIMES = 0.02, (10.0, 100.0)
AT_REFERENCE = 8e-15  # twice the error of ode45's formulas
PROGRAMS = {"F": factorization_attitude, "M": magnus_attitude}

Errors = dict[str, FloatArray]


def run(full: bool) -> Report:
    """By default the thesis' program goes down to h = 0.01; full: to 0.0025."""
    return report(FULL_STEPS if full else STEPS, OURS)


def report(numbers: tuple[int, ...], our_numbers: tuple[int, ...]) -> Report:
    """With so many steps to t = 10 of the thesis' program and of our flows."""
    start = starts(RUNS)
    exact = propagate(MOMENTS, start.m, start.q, T_END)[1]
    printed = {
        f"{name}{order}": _errors(partial(program, order, start), exact, numbers)
        for name, program in PROGRAMS.items()
        for order in ORDERS
    }
    flows: dict[str, Flow] = {f"F{o}, axis chosen": Gauss(o // 2) for o in ORDERS}
    flows |= {f"M{o}": Magnus(o) for o in ORDERS} | {f"DMV{o}": MoserVeselov(o) for o in (4, 10)} | {"exact": Exact()}
    ours = {name: _errors(_by_steps(flow, start), exact, our_numbers) for name, flow in flows.items()}
    h, our_h = T_END / np.array(numbers), T_END / np.array(our_numbers)
    slopes = {name: _slope(errors, numbers) for name, errors in printed.items()}
    claims = [*_orders(slopes), _less_steep(numbers), _better(printed)]
    claims += [*_at_round_off(printed, ours, h[-1], our_h[-1]), _same_factorizations(start, exact), _gap(start)]
    left = [Curve(name, h, errors) for name, errors in printed.items()]
    right = [Curve(name, our_h, errors, not name.startswith("M")) for name, errors in ours.items()]
    y = "mean error of q at t = 10"
    return Report(tuple(claims), (
        Panel("the thesis' program", "step h", y, left),
        Panel("polhode", "step h", y, right),
    ))  # fmt: skip


def _by_steps(flow: Flow, start: State) -> Callable[[float, int], FloatArray]:
    return lambda h, n: flow.step(MOMENTS, start, h, n).q


def _errors(attitudes: Callable[[float, int], FloatArray], exact: FloatArray, numbers: tuple[int, ...]) -> FloatArray:
    return np.array([np.linalg.norm(attitudes(T_END / n, n) - exact, axis=-1).mean() for n in numbers])


def _slope(errors: FloatArray, numbers: tuple[int, ...]) -> float:
    """Between the two shortest steps whose errors are above round-off."""
    last = int(np.nonzero(errors > ROUND_OFF)[0][-1])
    return log2(errors[last - 1] / errors[last]) / log2(numbers[last] / numbers[last - 1])


def _orders(slopes: dict[str, float]) -> list[Claim]:
    low, high = ({name: x for name, x in slopes.items() if (int(name[1:]) <= 4) == lower} for lower in (True, False))
    return [
        trend("slopes, orders 2 and 4", "confirm the order", _shown(low),
              all(abs(x - int(name[1:])) < NEAR for name, x in low.items())),
        trend("slopes, orders 6 and 8", "steeper", _shown(high), min(high.values()) > max(low.values()) + 1),
    ]  # fmt: skip


def _less_steep(numbers: tuple[int, ...]) -> Claim:
    """Lines of orders 6 and 8 as the thesis drew them: from the longest step to the first one at ode45's error."""
    names = [f"{name}{order}" for name in PROGRAMS for order in ORDERS[2:]]
    errors: dict[str, list[float]] = {name: [] for name in names}
    for number in numbers:
        start = starts(RUNS, seed=number)
        reference = by_ode45(start)
        for name in names:
            q = PROGRAMS[name[0]](int(name[1:]), start, T_END / number, number)
            errors[name].append(float(np.linalg.norm(q - reference, axis=-1).mean()))
    slopes, last = {}, {}
    for name, values in errors.items():
        i = next(i for i, value in enumerate(values) if value < AT_REFERENCE)
        slopes[name] = log2(values[0] / values[i]) / log2(numbers[i] / numbers[0])
        last[name] = log2(values[i - 1] / values[i]) / log2(numbers[i] / numbers[i - 1])
    return trend("lines of orders 6 and 8 against ode45, h = 1 to the first step at its error",
                 "not quite as steep as orders 6 and 8", f"{_shown(slopes)}; last parts {_shown(last)}",
                 all(slope < int(name[1:]) for name, slope in slopes.items()),
                 note="the last part of a line ends at the error of ode45, 4e-15; against the exact motion the order "
                 "is seen in full before round-off. The steps of the figure are not printed")  # fmt: skip


def _shown(slopes: dict[str, float]) -> str:
    return ", ".join(f"{name} {x:.2f}" for name, x in slopes.items())


def _better(printed: Errors) -> Claim:
    """Of the same order, where neither is at round-off."""
    ratios = [
        m / f
        for order in ORDERS
        for f, m in zip(printed[f"F{order}"], printed[f"M{order}"], strict=True)
        if min(f, m) > ROUND_OFF
    ]
    return trend("M against F, before round-off", "F is more accurate for most steps",
                 f"error of M {min(ratios):.1f} to {max(ratios):.0f} times larger", min(ratios) > 1)  # fmt: skip


def _same_factorizations(start: State, exact: FloatArray) -> Claim:
    h = T_END / SMALL
    found = {f"F{order}": _errors(partial(factorization_attitude, order, start), exact, (SMALL,))[0]
             for order in ORDERS[1:]}  # fmt: skip
    told = ", ".join(f"{name} {error:.2e}" for name, error in found.items())
    return trend(f"F4, F6, F8 at h = {h:g}", "the same errors for small steps", told,
                 max(found.values()) < SAME * min(found.values()))  # fmt: skip


def _gap(start: State) -> Claim:
    """How much more round-off F gathers than M, both of order 8, in a short and in a long time."""
    gaps = []
    for t in GAP_TIMES:
        exact, steps = propagate(MOMENTS, start.m, start.q, t)[1], round(t / GAP_STEP)
        f, m = (np.linalg.norm(program(8, start, GAP_STEP, steps) - exact, axis=-1).mean()
                for program in PROGRAMS.values())  # fmt: skip
        gaps.append(float(f - m))
    return trend(f"error of F8 less that of M8, h = {GAP_STEP:g}, t = {GAP_TIMES[0]:g} and {GAP_TIMES[1]:g}",
                 "the difference grows with the time interval", f"{gaps[0]:.1e} and {gaps[1]:.1e}",
                 gaps[1] > 2 * abs(gaps[0]))  # fmt: skip


def _at_round_off(printed: Errors, ours: Errors, h: float, our_h: float) -> list[Claim]:
    """At the shortest steps."""
    f, m = printed["F8"][-1], printed["M8"][-1]
    same = [ours[f"M{order}"][-1] for order in ORDERS[1:]]
    best = {name: errors[-1] for name, errors in ours.items() if name in ("F8, axis chosen", "M8", "exact")}
    return [
        trend(f"round-off at h = {h:g}", "F gathers more of it, M is more accurate", f"F8 {f:.1e}, M8 {m:.1e}",
              f > 1.2 * m),
        trend(f"M4, M6, M8 at h = {our_h:g}", "the same errors for small steps",
              f"{min(same):.2e} to {max(same):.2e}", max(same) < 1.3 * min(same)),
        beyond(f"ours at h = {our_h:g}", ", ".join(f"{name} {e:.1e}" for name, e in best.items())),
        beyond("ours at h = 1", f"F8 with the axis chosen {ours['F8, axis chosen'][0]:.1e} (with e3 "
               f"{printed['F8'][0]:.1e}), exact {ours['exact'][0]:.1e}"),
    ]  # fmt: skip


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Figure 2", "Factorization and Magnus: errors against the step", run)
