"""Celledoni and Zanna 2010, Fig. 6: what the exact and semi-exact routines cost, relative to the cheapest dmv step.

Random bodies as in Fig. 3.1 of Celledoni et al. 2008, T = 10 in steps of h. The line y = 1 is the cheapest of the
discrete Moser-Veselov methods of orders 6, 8 and 10 at that step, solved by Newton's method; next to the longest step
that has a solution, h = 0.4 here, fixed-point iterations cost several times as much. Times are the least of several
turns that all flows take one after the other in one run; what is compared is the median over the steps.
"""

from __future__ import annotations

import numpy as np

from papers.celledoni2008 import DMV, EXACT, log_errors
from papers.celledoni2008_fig3_1 import bodies, seconds_per_run
from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import FRB_2010
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.frb_quaternion import FrbQuaternion
from polhode.flows.moser_veselov import MoserVeselov
from polhode.flows.three_rotations import NoSquish

STEPS = (0.4, 0.2, 0.1, 0.05, 0.02, 0.01)
BODIES, MORE_BODIES = 24, 100
REPEATS, MORE_REPEATS = 4, 9
NODES = 5  # order 10
SEMI_EXACT: dict[str, Flow] = {
    "semi-exact, matrix": FrbMatrix(NODES),
    "semi-exact, quaternion": FrbQuaternion(NODES),
}
FAMILY: dict[str, Flow] = {f"dmv{order}": MoserVeselov(order) for order in DMV}
OURS, NO_SQUISH, DMV20 = "Exact()", "NoSquish()", "MoserVeselov(20)"
NEWER: dict[str, Flow] = {OURS: Exact(), NO_SQUISH: NoSquish(), DMV20: MoserVeselov(20)}
RANGE = (8.0, 20.0)  # of the paper: exact routines over the cheapest dmv
ABOUT_A_THIRD = (0.28, 0.39)  # what we take it for: semi-exact over exact
CLOSE = 2.0  # what we take "close together" for: a factor of two, as exact routines are far above it


def run(full: bool, bodies_and_repeats: tuple[int, int] | None = None) -> Report:
    """A few seconds; more bodies and repeats if ``full``."""
    count, repeats = bodies_and_repeats or ((MORE_BODIES, MORE_REPEATS) if full else (BODIES, REPEATS))
    seconds = times(EXACT | SEMI_EXACT | FAMILY | NEWER, count, repeats)
    cheapest = np.min([seconds[name] for name in FAMILY], axis=0)
    relative = {name: taken / cheapest for name, taken in seconds.items()}
    claims = [_exact(name, relative[name]) for name in EXACT]
    for half, whole in zip(SEMI_EXACT, EXACT, strict=True):
        claims += _semi_exact(half, relative[half] / relative[whole])
    claims.append(_family([relative[name] for name in FAMILY]))
    claims += [beyond(f"{name} over the cheapest dmv", _span(relative[name])) for name in NEWER]
    claims.append(beyond("exact, quaternion over Exact()", _span(relative["exact, quaternion"] / relative[OURS])))
    curves = [Curve(name, STEPS, values, name in NEWER) for name, values in relative.items()]
    return Report(tuple(claims), (Panel("relative cost", "step h", "time / time of the cheapest dmv", curves),))


def times(flows: dict[str, Flow], count: int, repeats: int) -> dict[str, FloatArray]:
    """Seconds for a body, (steps,): of bodies for which every dmv step has a solution."""
    moments, m = bodies(count)
    solved = np.all([np.isfinite(log_errors(flow, moments, m, STEPS[0])) for flow in DMV.values()], axis=0)
    moments, m = moments[solved], m[solved]
    best = {name: np.full(len(STEPS), np.inf) for name in flows}
    for _ in range(repeats):
        for k, h in enumerate(STEPS):
            for name, flow in flows.items():
                best[name][k] = min(best[name][k], seconds_per_run(flow, moments, m, h))
    return best


def _span(ratios: FloatArray) -> str:
    """The middle one first: on a busy machine single steps are off."""
    return f"{np.median(ratios):.2g} ({ratios.min():.2g} to {ratios.max():.2g})"


def _exact(name: str, ratios: FloatArray) -> Claim:
    holds = RANGE[0] <= np.median(ratios) <= RANGE[1]
    return trend(f"{name} over the cheapest dmv", f"{RANGE[0]:g} to {RANGE[1]:g}", _span(ratios), bool(holds))


def _semi_exact(name: str, ratios: FloatArray) -> list[Claim]:
    median, told = float(np.median(ratios)), _span(ratios)
    return [
        trend(f"{name} over exact: cheaper", "cheaper", told, median < 1),
        trend(f"{name} over exact: by how much", "about a third", told, ABOUT_A_THIRD[0] < median < ABOUT_A_THIRD[1],
              note="a ratio of two programs, and ours are not theirs"),
    ]  # fmt: skip


def _family(ratios: list[FloatArray]) -> Claim:
    largest = float(np.median(np.max(ratios, axis=0)))
    return trend(
        "dmv of orders 6, 8, 10, within a factor of two",
        "close together, near y = 1",
        f"within {largest:.2g}",
        largest < CLOSE,
    )


EXPERIMENT = Experiment(FRB_2010, "Fig. 6", "Relative cost of the exact routines", run)
