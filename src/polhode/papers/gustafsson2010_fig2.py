"""Gustafsson 2010, Figure 2: errors of the factorization (F) and of Magnus (M), of orders 2 to 8, against the step.

Means of 50 random starts, |q - q_exact| at t = 10. The left panel is made by the thesis' own program
(``gustafsson2010``), with its rounding; the right one by our flows. The steps of the figure are not printed; the
reference of the thesis is MATLAB's ode45 at a tolerance of 2e-14, ours the exact motion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2

import numpy as np

from polhode.checks import FloatArray
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.gauss import Gauss
from polhode.flows.magnus import Magnus
from polhode.flows.moser_veselov import MoserVeselov
from polhode.papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from polhode.papers.gustafsson2010 import (
    MOMENTS,
    ORDERS,
    RUNS,
    T_END,
    factorization_attitude,
    magnus_attitude,
    starts,
)
from polhode.propagation import propagate
from polhode.references import GUSTAFSSON_2010
from polhode.state import State

STEPS = (10, 20, 40, 100, 200, 400, 1000)  # numbers of them to t = 10
FULL_STEPS = (*STEPS, 2000, 4000)
OURS = (10, 20, 40, 100, 200, 400, 1000, 2000, 4000, 10000)
ROUND_OFF = 1e-14
NEAR = 0.15  # of an order
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
    claims = [*_orders(slopes), _better(printed), *_at_round_off(printed, ours, h[-1], our_h[-1])]
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
    less = {name: int(name[1:]) - x for name, x in high.items()}
    return [
        trend("slopes, orders 2 and 4", "confirm the order", _shown(low),
              all(abs(x - int(name[1:])) < NEAR for name, x in low.items())),
        trend("slopes, orders 6 and 8", "steeper", _shown(high), min(high.values()) > max(low.values()) + 1),
        trend("the same", "not quite as steep as orders 6 and 8", _shown(high), min(less.values()) > NEAR,
              note="against the exact motion the order is seen in full before round-off; the thesis compared with "
              "ode45, whose own error is 4e-15 (see gustafsson2010_table2), and drew other starts for every step"),
    ]  # fmt: skip


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
