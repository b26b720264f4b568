"""Vilmart 2013, Fig. 1: a bound volume of a journal, thrown; its principal axes in space, by DMV of order 10.

I = (0.376, 0.627, 1), y(0) = (0, 0.6, -0.8), Q(0) = 1, h = 0.01, 0 <= t <= 40 (Algorithm 4, powers of h corrected). The
paper says that y is periodic and Q is not, and that the body is nearly flat. What order 10 brings is measured here,
beside the other orders, the exact flow, SciPy and heyoka.
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.others import by_dop853, by_heyoka
from papers.taylor import by_taylor
from polhode.core.arrays import FloatArray
from polhode.core.references import VILMART_2013
from polhode.core.rotation import matrix
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.moser_veselov import MoserVeselov
from polhode.integration.problem import Problem
from polhode.methods.splitting import Splitting
from polhode.problems.free_body import free_body
from polhode.solve import integrate
from polhode.studies.study import order_study

H, ORDERS, NEWER = 0.01, (2, 4, 6, 8, 10), (20,)
STEPS = 40.0 / np.array([60, 80, 120, 160, 240, 400, 800, 1600, 4000])
ROUND_OFF = 1e-12  # what we take for the accuracy of a picture's ten digits and more: of 4000 steps
REPEATS = 5
AXIS_LENGTH = 2.0  # of the axes in the drawing of the book
FINEST = 1e-15  # tolerance of heyoka
TOLERANCES = (1e-6, 1e-9, 1e-12)  # of DOP853


def run(full: bool) -> Report:
    """The paper's size always: some seconds."""
    problem = free_body("vilmart")
    motion = problem.free_motion()
    run = integrate(problem, method=Splitting(MoserVeselov(10), "V2"), h=H)
    errors = {order: _errors(problem, MoserVeselov(order)) for order in (*ORDERS, *NEWER)}
    period = float(motion.period)
    claims = [
        trend("nearly flat body", "d3 much smaller than d1 and d2", *_flat(problem)),
        _returns(motion.m(period) - motion.m(0.0), matrix(motion.q(period)) - np.eye(3), period),
        trend(
            f"the figure: order 10, h = {run.h:g}, {run.stats.steps} steps",
            "drawn",
            f"error of Q at most {_off(run.matrix - matrix(motion.q(run.t))):.0e}",
            _off(run.matrix - matrix(motion.q(run.t))) < ROUND_OFF,
        ),
        *_beyond(problem, errors),
    ]
    return Report(tuple(claims), (_book(problem), _axes_in_space(run.matrix), _orders(errors)))


def _flat(problem: Problem) -> tuple[str, bool]:
    """d of (2): I1 = d2 + d3 and cyclic."""
    d = _second_moments(problem)
    return f"d = ({d[0]:.4f}, {d[1]:.4f}, {d[2]:.4f})", bool(d[2] < 0.01 * min(d[0], d[1]))


def _second_moments(problem: Problem) -> FloatArray:
    return np.asarray(0.5 * problem.body.moments.sum() - problem.body.moments)


def _book(problem: Problem) -> Panel:
    """A block of mass 1 with these moments, d_k = a_k^2/12, and its principal axes: the left picture of the figure."""
    a = np.sqrt(12.0 * _second_moments(problem)) / 2.0
    corners = a * np.array(list(product((-1.0, 1.0), repeat=3)))
    edges = [(i, j) for i in range(8) for j in range(i) if np.sum(corners[i] != corners[j]) == 1]
    x, y, z = np.concatenate([[corners[i], corners[j], np.full(3, np.nan)] for i, j in edges]).T
    ends = AXIS_LENGTH * np.eye(3)
    curves = [Curve(f"axis {k + 1}", (0.0, u[0]), (0.0, u[1]), z=(0.0, u[2])) for k, u in enumerate(ends)]
    sides = " x ".join(f"{2 * side:.2f}" for side in a)
    return Panel(f"the book, a block of {sides}", "x", "y", [*curves, Curve("edges", x, y, z=z)], log="", equal=True,
                 z="z")  # fmt: skip


def _returns(change_y: FloatArray, change_Q: FloatArray, period: float) -> Claim:
    return trend(
        "after one period of y",
        "y is periodic, Q is not trivial",
        f"T = {period:.6f}: y changes by {_off(change_y):.0e}, Q by {_off(change_Q):.2f}",
        _off(change_y) < ROUND_OFF < 0.1 < _off(change_Q),
    )


def _off(difference: FloatArray) -> float:
    return float(np.abs(difference).max())


def _errors(problem: Problem, flow: Flow) -> FloatArray:
    """Of q at the end, for STEPS."""
    return order_study(flow, problem.body, problem.state, problem.t_span[1], STEPS).error_q


def _beyond(problem: Problem, errors: dict[int, FloatArray]) -> list[Claim]:
    """What reaches the end of the figure at what cost."""
    end = problem.t_span[1]
    longest = {order: _longest(found) for order, found in errors.items()}
    claims = [
        beyond(f"dmv of order {order}: longest step with an error of q below 1e-9", longest[order])
        for order in (*ORDERS[1:], *NEWER)
    ]
    truth = by_taylor(problem.body.moments[None], problem.state.m[None], end)[1][0].astype(float)
    steps = round(end / H)
    for name, flow, count in (("order 10", MoserVeselov(10), steps), ("Exact(), one step", Exact(), 1)):
        seconds, q = _fastest(problem, flow, end / count, count)
        claims.append(beyond(f"{name} to t = {end:g}", _told(q, truth, seconds)))
    for rtol in TOLERANCES:
        found = by_dop853(problem, rtol)
        claims.append(beyond(f"SciPy DOP853, rtol {rtol:g}", _told(found.q, truth, found.seconds)))
    taylor = by_heyoka(problem, FINEST)
    if taylor is not None:
        claims.append(beyond(f"heyoka, tolerance {FINEST:g}", _told(taylor.q, truth, taylor.seconds)))
    return claims


def _told(q: FloatArray, truth: FloatArray, seconds: float) -> str:
    error = min(float(np.linalg.norm(q - sign * truth)) for sign in (1, -1))
    return f"error of q {error:.0e}, {1e6 * seconds:.0f} us"


def _longest(errors: FloatArray) -> str:
    good = np.flatnonzero(errors < 1e-9)
    return f"h = {STEPS[good[0]]:.2g}" if len(good) else f"shorter than {STEPS[-1]:g}"


def _fastest(problem: Problem, flow: Flow, h: float, steps: int) -> tuple[float, FloatArray]:
    """The least seconds of several runs, and q at the end."""
    best = np.inf
    for _ in range(REPEATS):
        began = time.perf_counter()
        end = flow.step(problem.body, problem.state, h, steps)
        best = min(best, time.perf_counter() - began)
    return best, end.q


def _axes_in_space(Q: FloatArray) -> Panel:
    curves = [Curve(f"axis {k + 1}", Q[:, 0, k], Q[:, 1, k], z=Q[:, 2, k]) for k in range(3)]
    return Panel("principal axes in space, columns of Q", "x", "y", curves, log="", equal=True, z="z")


def _orders(errors: dict[int, FloatArray]) -> Panel:
    curves = [Curve(f"order {order}", STEPS, found, order in NEWER) for order, found in errors.items()]
    return Panel("preprocessed DMV", "step h", "error of q at t = 40", curves)


EXPERIMENT = Experiment(VILMART_2013, "Fig. 1", "A book in free flight, by preprocessed DMV of order 10", run)
