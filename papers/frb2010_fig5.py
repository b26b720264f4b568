"""Celledoni and Zanna 2010, Fig. 5: the accuracy of the exact routines over the inertia triangle, in one step h = 1.

Bodies are x = I1/I3, y = I2/I3 with 1 - y <= x < y < 1 (Fig. 4), 100 by 50 points in the paper's size, and 20 momenta
of length 1 in the first octant, the same for both routines. The error is the larger of those of m and q; a point of the
map is the mean of its log10. The paper's reference was ode45 at machine accuracy, which it calls unreliable in the top
left corner; ours is a Taylor series in extended precision (``taylor``), and the paper's reference, as the same formula
of order 5 by SciPy, is measured against it, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from papers.celledoni2008 import EXACT, LEAST, drawn_triangle, ends, first_octant, triangle
from papers.experiment import Claim, Experiment, Panel, Points, Report, beyond, trend
from papers.taylor import by_taylor
from polhode.core.arrays import FloatArray
from polhode.core.references import FRB_2010
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow

H = 1.0
SMALL, PAPER = (40, 20, 6), (100, 50, 20)  # points along x and y, momenta at each
SEED = 903
MACHINE_ACCURACY = 1e-14  # what we take "order of machine accuracy" for: 45 units of a double
LARGE_PORTIONS = 0.75
CORNER = (0.15, 0.9)  # x below, y above: top left
FINEST = 100 * np.finfo(float).eps  # the smallest rtol that ode45 and SciPy take
CHECKED = 4  # bodies for which the paper's reference is computed


def run(full: bool, size: tuple[int, int, int] | None = None) -> Report:
    """Seconds in the small size, a minute or two in the paper's."""
    across, up, momenta = size or (PAPER if full else SMALL)
    x, y = triangle(across, up)
    m = first_octant(momenta, SEED)
    moments, starts = np.repeat(_moments(x, y), len(m), axis=0), np.tile(m, (len(x), 1))
    truth = by_taylor(moments, starts, H)
    flows: dict[str, Flow] = {**EXACT, "Exact()": Exact()}
    errors = {name: _errors(flow, moments, starts, truth) for name, flow in flows.items()}
    maps = {name: np.log10(error).reshape(len(x), -1).mean(axis=1) for name, error in errors.items()}
    claims = [_accuracy(name, maps[name], errors[name]) for name in EXACT]
    corner = (x < CORNER[0]) & (y > CORNER[1])
    claims.append(_reference(np.repeat(corner, len(m)), moments, starts, truth))
    claims.append(_corner("both routines in that corner", [maps[name] for name in EXACT], corner))
    ours = maps["Exact()"]
    claims.append(beyond("Exact(): median over the triangle, worst body", _told(ours, errors["Exact()"])))
    return Report(tuple(claims), (drawn_triangle(x, y), *(_panel(name, x, y, maps) for name in maps)))


def _moments(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.stack([x, y, np.ones_like(x)], axis=-1)


def _errors(flow: Flow, moments: FloatArray, m: FloatArray, truth: Any) -> FloatArray:
    return _apart(*ends(flow, moments, m, H, steps=1), truth)


def _apart(m: FloatArray, q: FloatArray, truth: Any) -> FloatArray:
    """The larger error of m, |m| = 1, and of q, whose sign does not count."""
    true_m, true_q = truth
    lengths = [np.linalg.norm((a - b).astype(float), axis=-1) for a, b in ((m, true_m), (q, true_q), (q, -true_q))]
    return np.maximum(LEAST, np.maximum(lengths[0], np.minimum(lengths[1], lengths[2])))


def _told(values: FloatArray, errors: FloatArray) -> str:
    return f"10^{np.median(values):.1f}, {errors.max():.0e}"


def _accuracy(name: str, values: FloatArray, errors: FloatArray) -> Claim:
    share = float(np.mean(values < np.log10(MACHINE_ACCURACY)))
    return trend(
        f"{name}: accuracy over the triangle",
        "order of machine accuracy for large portions",
        f"below {MACHINE_ACCURACY:g} for {100 * share:.0f} % of the points; median, worst: {_told(values, errors)}",
        share > LARGE_PORTIONS,
    )


def _reference(corner: Any, moments: FloatArray, m: FloatArray, truth: Any) -> Claim:
    """What a Runge-Kutta pair of order 5 at its tightest tolerance does, in the corner and elsewhere."""
    found = []
    for part in (np.flatnonzero(corner), np.flatnonzero(~corner)):
        some = part[np.linspace(0, len(part) - 1, CHECKED).astype(int)]
        end = _by_runge_kutta(moments[some], m[some])
        errors = _apart(*end, (truth[0][some], truth[1][some]))
        found.append(float(np.exp(np.mean(np.log(errors)))))
    return trend(
        "the paper's reference (order 5, machine accuracy), top left corner",
        "not fully reliable",
        f"error {found[0]:.0e} there, {found[1]:.0e} elsewhere",
        found[0] > MACHINE_ACCURACY and found[0] > 2 * found[1],
    )


def _by_runge_kutta(moments: FloatArray, m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """m and q after H, of each body alone."""
    ends = []
    for (I1, I2, I3), start in zip(moments.tolist(), m.tolist(), strict=True):

        def slope(t: float, y: FloatArray, I1: float = I1, I2: float = I2, I3: float = I3) -> tuple[float, ...]:
            m1, m2, m3, q0, q1, q2, q3 = y.tolist()
            w1, w2, w3 = m1 / I1, m2 / I2, m3 / I3
            return (
                m2 * w3 - m3 * w2, m3 * w1 - m1 * w3, m1 * w2 - m2 * w1,
                -0.5 * (q1 * w1 + q2 * w2 + q3 * w3), 0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
                0.5 * (q0 * w2 + q3 * w1 - q1 * w3), 0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
            )  # fmt: skip

        found = solve_ivp(slope, (0.0, H), (*start, 1.0, 0.0, 0.0, 0.0), "RK45", rtol=FINEST, atol=FINEST, t_eval=(H,))
        ends.append(found.y[:, -1])
    return np.array(ends)[:, :3], np.array(ends)[:, 3:]


def _corner(what: str, maps: list[FloatArray], corner: Any) -> Claim:
    there, elsewhere = (10 ** np.mean([np.mean(values[part]) for values in maps]) for part in (corner, ~corner))
    return beyond(what, f"mean error {there:.0e} there, {elsewhere:.0e} elsewhere: bodies turn faster, 1/x of a radian")


def _panel(name: str, x: FloatArray, y: FloatArray, maps: dict[str, FloatArray]) -> Panel:
    everywhere = np.concatenate(list(maps.values()))
    limits = (float(everywhere.min()), float(everywhere.max()))
    points = Points(x, y, maps[name], "mean of log10 of the error", limits)
    return Panel(f"{name}, h = 1", "I1/I3", "I2/I3", points=points, log="", equal=True)


EXPERIMENT = Experiment(FRB_2010, "Figs. 4, 5", "Accuracy of the exact routines over the inertia triangle", run)
