"""Celledoni et al. 2008, Figure 3.5: heavy tops with weak weights, by splittings with exact and with MR free flow.

Twenty random tops with I1 = 1 and T = 1 on [0, 20]. A scheme with s torques per step takes steps of (s/10) h for the
basic steps h, so that all of them need the same number of torques (about: 20 is cut in equal steps, and the largest
step of S6_10, printed as 8, is 6.67). MR, of order 2, is boosted to that of the scheme by
Yoshida's compositions. An error is the mean over the tops of the largest relative error of the energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.others import Found, by_dop853, by_heyoka
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008
from polhode.ensembles import sampling
from polhode.flows.composed import Composed
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.three_rotations import ThreeRotations
from polhode.integration.problem import Problem
from polhode.methods.splitting import Splitting
from polhode.problems.heavy_top import heavy_top
from polhode.solve import integrate

EPS = (1e-3, 1e-6)
STEPS = (8.0, 5.0, 4.0, 2.0, 1.75, 1.5, 1.25, 1.0, 0.5)
LARGEST, MIDDLE, SMALLEST = 0, STEPS.index(2.0), len(STEPS) - 1
SCHEMES = {"V2": 2, "S4_6": 4, "RKN4_6b": 4, "S6_10": 6, "RKN6_14a": 6}
NEWER = ("ABA1064", "RKN8_19")
BOOSTED: dict[int, Flow] = {
    2: ThreeRotations(),
    4: Composed(ThreeRotations(), "Yoshida4"),
    6: Composed(ThreeRotations(), "Yoshida6A"),
}
TOPS, SEED = 20, 35
TOLERANCES = (1e-6, 1e-9, 1e-12)  # of SciPy and heyoka


class Measured(NamedTuple):
    """For every basic step: mean error of the energy, and seconds per top."""

    error: FloatArray
    seconds: FloatArray


def run(full: bool, repeats: int | None = None) -> Report:
    """The paper's size; with fewer repeats of the times, and one top for other programs instead of 20, if not full."""
    turns, others = (30, TOPS) if full else (10, 1)
    found = {eps: _measured(tops(eps), repeats or turns) for eps in EPS}
    claims = [claim for eps in EPS for claim in _below_eps(eps, found[eps])]
    claims += [_dominates(eps, found[eps]) for eps in EPS]
    claims += [_proportional(found), _cost(found[EPS[0]])]
    claims += [_newer(eps, found[eps]) for eps in EPS]
    panels = [_panel(eps, found[eps], _outside(tops(eps, others))) for eps in EPS]
    return Report(tuple(claims), tuple(panels))


def tops(eps: float, count: int = TOPS) -> Problem:
    """A batch: bodies of the inertia triangle, scaled to I1 = 1; m1 and m2 random, m3 makes T = 1."""
    laws = {"moments": sampling.inertia_triangle(), "m12": sampling.uniform((0.0, 0.0), 1.0)}
    rows = sampling.draw(count, **laws).seeded(SEED).rows()
    moments = np.sort(rows["moments"], axis=-1)
    return heavy_top(eps, moments / moments[:, :1], rows["m12"])


def _measured(problem: Problem, repeats: int) -> dict[str, Measured]:
    methods = {f"{name}, RB": Splitting(Exact(), name) for name in SCHEMES}
    methods |= {f"{name}, MR": Splitting(BOOSTED[order], name) for name, order in SCHEMES.items()}
    methods |= {name: Splitting(Exact(), name) for name in NEWER}
    methods |= {f"{name}, published RB": Splitting(FrbMatrix(), name) for name in SCHEMES}
    errors = {name: [_run(problem, method, h)[0] for h in STEPS] for name, method in methods.items()}
    turns = [
        {name: [_run(problem, method, h)[1] for h in STEPS] for name, method in methods.items()} for _ in range(repeats)
    ]
    return {
        name: Measured(np.array(error), np.min([turn[name] for turn in turns], axis=0))
        for name, error in errors.items()
    }


def _run(problem: Problem, method: Splitting, h: float) -> tuple[float, float]:
    """Mean of the largest errors of the energy, seconds per top."""
    result = integrate(problem, method=method, h=h * method.scheme.torques_per_step / 10)
    largest = np.abs(result.energy_error()).max(axis=0)
    return float(largest.mean()), result.stats.seconds / len(largest)


def longest_step(scheme: str, count: int = 1) -> float:
    """The step that a scheme takes for the basic step 8: 20 is cut in equal parts, so that S6_10 takes 6.67, not 8.

    >>> round(longest_step("S6_10"), 2)
    6.67
    """
    method = Splitting(Exact(), scheme)
    basic = STEPS[LARGEST] * method.scheme.torques_per_step / 10
    return float(integrate(tops(EPS[0], count), method=method, h=basic).h)


def _below_eps(eps: float, found: dict[str, Measured]) -> list[Claim]:
    claims = []
    for name in SCHEMES:
        exact, boosted = (float(found[f"{name}, {flow}"].error[LARGEST]) for flow in ("RB", "MR"))
        largest = longest_step(name)
        claims.append(
            trend(
                f"{name}, eps = {eps:g}, h = {largest:.3g}, its largest step: error with RB and with MR",
                "below eps only with RB",
                f"{exact:.0e} and {boosted:.0e}",
                exact < eps < boosted,
            )
        )
    return claims


def _dominates(eps: float, found: dict[str, Measured]) -> Claim:
    ratios = [found[f"{name}, MR"].error[MIDDLE] / found[f"{name}, RB"].error[MIDDLE] for name in SCHEMES]
    return trend(
        f"errors with MR, eps = {eps:g}, h = 2",
        "dominate that of the scheme",
        f"{min(ratios):.0e} to {max(ratios):.0e} times those with RB",
        min(ratios) > 10,
    )


def _proportional(found: dict[float, dict[str, Measured]]) -> Claim:
    ratios = {
        flow: [
            float(found[EPS[0]][f"{name}, {flow}"].error[MIDDLE] / found[EPS[1]][f"{name}, {flow}"].error[MIDDLE])
            for name in SCHEMES
        ]
        for flow in ("RB", "MR")
    }
    return trend(
        "errors with eps = 1e-3 divided by those with 1e-6, h = 2",
        "O(eps h^p) with RB; with MR also O(h^r), which does not fall",
        "; ".join(f"{flow}: {min(values):.3g} to {max(values):.3g}" for flow, values in ratios.items()),
        min(ratios["RB"]) > 300 and max(ratios["MR"]) < 3,
    )


def _cost(found: dict[str, Measured]) -> Claim:
    """At the smallest steps, where loops take longest."""
    ratios = {
        order: float(
            np.mean(
                [
                    found[f"{name}, MR"].seconds[SMALLEST] / found[f"{name}, published RB"].seconds[SMALLEST]
                    for name, of_scheme in SCHEMES.items()
                    if of_scheme == order
                ]
            )
        )
        for order in BOOSTED
    }
    return trend(
        "time with MR relative to the published RB, orders 2, 4, 6",
        "becomes similar as the order is boosted",
        ", ".join(f"{ratio:.2f}" for ratio in ratios.values()),
        ratios[2] < ratios[4] < ratios[6] and ratios[6] > 0.5,
    )


def _newer(eps: float, found: dict[str, Measured]) -> Claim:
    told = [f"{name} {found[name].error[MIDDLE]:.0e}" for name in NEWER]
    best = min(SCHEMES, key=lambda name: float(found[f"{name}, RB"].error[MIDDLE]))
    return beyond(
        f"errors at equal torques, eps = {eps:g}, h = 2",
        f"{', '.join(told)}; best of the paper's {best} {found[f'{best}, RB'].error[MIDDLE]:.0e}",
    )


def _outside(problem: Problem) -> dict[str, Measured]:
    """Other programs, one top after the other."""
    alone = [Problem(I, problem.state.select(problem.body.batch, (i,)), problem.force, problem.t_span)
             for i, I in enumerate(problem.body.moments)]  # fmt: skip
    results: dict[str, Measured] = {}
    for name, solve in (("heyoka", by_heyoka), ("SciPy DOP853", by_dop853)):
        runs = [[solve(top, tolerance) for top in alone] for tolerance in TOLERANCES]
        if all(end is not None for ends in runs for end in ends):
            errors = [np.mean([_error(t, end) for t, end in zip(alone, ends, strict=True) if end]) for ends in runs]
            seconds = [np.mean([end.seconds for end in ends if end]) for ends in runs]
            results[name] = Measured(np.array(errors), np.array(seconds))
    return results


def _error(problem: Problem, end: Found) -> float:
    """Of the energy at the end."""
    states = ((problem.state.m, problem.state.q), (end.m, end.q))
    first, last = (
        0.5 * float(m @ problem.body.omega(m)) + float(problem.force.potential(0.0, q / np.linalg.norm(q)))
        for m, q in states
    )
    return abs(last / first - 1)


def _panel(eps: float, found: dict[str, Measured], outside: dict[str, Measured]) -> Panel:
    curves = [Curve(f"{name}, RB", found[f"{name}, RB"].seconds, found[f"{name}, RB"].error) for name in SCHEMES]
    curves += [
        Curve(f"{name}, MR", found[f"{name}, MR"].seconds, found[f"{name}, MR"].error, like=f"{name}, RB")
        for name in SCHEMES
    ]
    newest = NEWER[0]
    curves.append(Curve(newest, found[newest].seconds, found[newest].error, True))
    curves += [Curve(name, values.seconds, values.error, True) for name, values in outside.items()]
    return Panel(
        f"eps = {eps:g}, largest step of S6_10: {longest_step('S6_10'):.2f}",
        "seconds per top",
        "mean relative error of the energy",
        curves,
    )


EXPERIMENT = Experiment(CELLEDONI_2008, "Figure 3.5", "Heavy tops: exact free flow against boosted MR", run)
