"""Gustafsson 2010, Table 3: the damped vessel by Störmer-Verlet, with free flows of orders 2 and 8.

Errors at T = 15 of m, relative to |m|, and of q, against the solution in high precision. The splitting is of order 2,
and its error dominates: a better free flow does not help. Magnus 4 and 6 agree with Magnus 8 within three digits. What
does help is a scheme of higher order, as the thesis itself suggests; next to it, the DOP853 of ``Adaptive``.
"""

from __future__ import annotations

import warnings

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.core.references import GUSTAFSSON_2010
from polhode.flows.exact import Exact
from polhode.flows.magnus import Magnus
from polhode.methods.adaptive import Adaptive
from polhode.methods.splitting import Splitting
from polhode.problems.vessel import vessel
from polhode.studies.comparison import MethodRun, work_precision

STEPS = (0.1, 0.05, 0.025, 0.0125)
PRINTED = {  # (quantity, order of Magnus): errors for the steps
    ("m", 2): ("1.382e-2", "3.459e-3", "8.650e-4", "2.162e-4"),
    ("q", 2): ("4.494e-4", "1.130e-4", "2.828e-5", "7.072e-6"),
    ("m", 8): ("1.283e-2", "3.207e-3", "8.017e-4", "2.004e-4"),
    ("q", 8): ("5.056e-4", "1.263e-4", "3.158e-5", "7.893e-6"),
}
RATIOS = {  # of an error to that with half the step
    ("m", 2): ("3.998", "3.999", "4.000"),
    ("q", 2): ("3.978", "3.994", "3.999"),
    ("m", 8): ("4.002", "4.000", "4.000"),
    ("q", 8): ("4.002", "4.001", "4.000"),
}
THREE_DIGITS = 5e-3
BEYOND = ("S4_6", "S6_10")  # kicks that damp are no gradients: schemes of Nystrom type would lose their order
ADAPTIVE = "Adaptive (DOP853)"
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


def run(full: bool) -> Report:
    """The paper's size always: it takes less than a second."""
    flows = {f"Magnus {order}": Magnus(order) for order in (2, 4, 6, 8)} | {"exact": Exact()}
    methods = {name: Splitting(flow, "V2_BAB") for name, flow in flows.items()}
    found = work_precision(vessel(), list(methods.values()), STEPS)
    runs = {name: found.of(method) for name, method in methods.items()}
    claims = [
        number(f"error of {quantity}, Magnus {order}, h = {h:g}", published, _error(at_h, quantity))
        for (quantity, order), row in PRINTED.items()
        for h, published, at_h in zip(STEPS, row, runs[f"Magnus {order}"], strict=True)
    ]
    claims += [_ratio(key, i, runs[f"Magnus {key[1]}"]) for key in RATIOS for i in range(len(STEPS) - 1)]
    claims += [_same(runs[f"Magnus {order}"], runs["Magnus 8"], order) for order in (4, 6)]
    claims += [_change(runs["Magnus 2"], runs["Magnus 8"])]
    claims.append(beyond("error of m, exact free flow, h = 0.1", f"{runs['exact'][0].error_m:.4g}"))
    higher = _higher_orders()
    claims += [beyond(f"error of m, {name}, h = {higher[name][0].h:g}", _cost(higher[name][0])) for name in BEYOND]
    claims.append(beyond(f"error of m, Adaptive({TOLERANCES[2]:g})", _cost(higher[ADAPTIVE][2])))
    work = {"Magnus 2": runs["Magnus 2"], "Magnus 8": runs["Magnus 8"], **higher}
    curves = [
        Curve(name, [r.torques for r in rs], [r.error_m for r in rs], name in higher) for name, rs in work.items()
    ]
    costs = Panel("what an error of m costs", "evaluations of the torque", "relative error of m", curves)
    return Report(tuple(claims), (*(_panel(quantity, runs) for quantity in "mq"), costs))


def _cost(run: MethodRun) -> str:
    return f"{run.error_m:.1e}, {run.torques} torques"


def _higher_orders() -> dict[str, tuple[MethodRun, ...]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # negative kicks, in which damping grows: harmless in short steps
        found = work_precision(vessel(), [*BEYOND, *(Adaptive(rtol) for rtol in TOLERANCES)], STEPS)
    adaptive = tuple(run for rtol in TOLERANCES for run in found.of(Adaptive(rtol)))
    return {name: found.of(name) for name in BEYOND} | {ADAPTIVE: adaptive}


def _ratio(key: tuple[str, int], i: int, runs: tuple[MethodRun, ...]) -> Claim:
    quantity, order = key
    measured = _error(runs[i], quantity) / _error(runs[i + 1], quantity)
    what = f"ratio of errors of {quantity}, Magnus {order}, h = {STEPS[i]:g} and {STEPS[i + 1]:g}"
    return number(what, RATIOS[key][i], measured)


def _change(low: tuple[MethodRun, ...], high: tuple[MethodRun, ...]) -> Claim:
    m, q = (_error(high[-1], k) / _error(low[-1], k) - 1 for k in "mq")
    return trend("errors of Magnus 8 against Magnus 2", "of m a little smaller, of q slightly larger",
                 f"m {m:+.0%}, q {q:+.0%}", m < 0 < q)  # fmt: skip


def _error(run: MethodRun, quantity: str) -> float:
    return run.error_m if quantity == "m" else run.error_q


def _same(runs: tuple[MethodRun, ...], best: tuple[MethodRun, ...], order: int) -> Claim:
    """Whether errors agree with those of Magnus 8 in three digits."""
    off = max(abs(_error(a, k) / _error(b, k) - 1) for a, b in zip(runs, best, strict=True) for k in "mq")
    return trend(
        f"errors of Magnus {order} and Magnus 8",
        "equal within three digits",
        f"differ by {off:.1e}",
        off < THREE_DIGITS,
    )


def _panel(quantity: str, runs: dict[str, tuple[MethodRun, ...]]) -> Panel:
    curves = [Curve(name, STEPS, [_error(r, quantity) for r in rows], name == "exact") for name, rows in runs.items()]
    return Panel(f"error of {quantity} at t = 15", "step h", f"relative error of {quantity}", curves)


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Table 3", "Damped vessel: the order of the free flow does not matter", run)
