"""Celledoni et al. 2008, Figure 3.4: semiexact and DMV methods over the inertia triangle, h = 0.4 and 0.04, T = 10."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, ellipkinc

from papers.celledoni2008 import DMV, LEAST, ORDERS, PAPER, SEMIEXACT, SMALL, T_END, Triangle, average
from papers.experiment import Claim, Experiment, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008
from polhode.flows.flow import Flow
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.moser_veselov import MoserVeselov
from polhode.flows.quadrature import gauss_legendre

LONG, SHORT = 0.4, 0.04
LIMITS = {LONG: (-12.0, 0.0), SHORT: (-14.0, -6.0)}
FAMILIES: dict[str, dict[int, Flow]] = {"semiexact": SEMIEXACT, "dmv": DMV}
NODES, MOST_NODES = 3, 10  # of order 6, and of what the error of its angle is seen against
WELL = -12.0  # log10 of the error that we take "very well" for

Logs = dict[tuple[str, int, float], FloatArray]


def run(full: bool, size: tuple[int, int, int] | None = None) -> Report:
    """The paper's grid of 100 by 50 points and 20 momenta if ``full``, else 40 by 20 and 6."""
    triangle = Triangle(*(size or (PAPER if full else SMALL)))
    logs: Logs = {
        (family, order, h): triangle.logs(flow, h)
        for h in (LONG, SHORT)
        for family, flows in FAMILIES.items()
        for order, flow in flows.items()
    }
    claims = (
        _corner(triangle, logs),
        *(_less_accurate(logs, order) for order in ORDERS),
        _failures(triangle, logs),
        _indistinguishable(triangle, logs),
        _by_integrands(triangle),
        _very_well(triangle, logs),
        _highest_order(triangle, logs),
    )
    panels = tuple(
        triangle.panel(f"{family} {order}, h = {h:g}", values, LIMITS[h]) for (family, order, h), values in logs.items()
    )
    return Report(claims, panels)


def _corner(triangle: Triangle, logs: Logs) -> Claim:
    """How many decades errors are larger in the top left corner than in the mean of the rest."""
    excess = [_excess(triangle, values) for (_, _, h), values in logs.items() if h == LONG]
    return trend(
        "top left corner against the rest, semiexact and DMV, h = 0.4",
        "worse",
        f"{min(excess):.1f} to {max(excess):.1f} decades worse",
        min(excess) > 0.5,
    )


def _excess(triangle: Triangle, values: FloatArray) -> float:
    found = average(values)
    return float(np.nanmean(found[triangle.corner]) - np.nanmean(found[~triangle.corner]))


def _less_accurate(logs: Logs, order: int) -> Claim:
    semiexact, dmv = (float(np.nanmean(logs[family, order, LONG])) for family in FAMILIES)
    return trend(
        f"mean log10 of the error, dmv{order} against semiexact {order}, h = 0.4",
        "DMV less accurate on average",
        f"{dmv:.1f} against {semiexact:.1f}",
        dmv > semiexact,
    )


def _failures(triangle: Triangle, logs: Logs) -> Claim:
    failed = {key: ~np.isfinite(values) for key, values in logs.items()}
    dmv = failed["dmv", 10, LONG]
    others = sum(int(values.sum()) for (family, _, _), values in failed.items() if family != "dmv")
    return trend(
        "runs without convergence, h = 0.4",
        "DMV: several; semiexact: none",
        f"dmv10: {100 * dmv.mean():.1f} % of {dmv.size}, {100 * dmv[triangle.corner].mean():.0f} % in the corner; "
        f"semiexact: {others}",
        bool(dmv.any()) and others == 0,
    )


def _indistinguishable(triangle: Triangle, logs: Logs) -> Claim:
    maps = average(logs["semiexact", 6, LONG]), average(triangle.logs(FrbMatrix(NODES), LONG))
    apart = float(np.median(np.abs(maps[1] - maps[0])))
    return trend(
        "maps of semiexact 6 with matrices and with quaternions, h = 0.4",
        "virtually indistinguishable",
        f"correlation {np.corrcoef(*maps)[0, 1]:.2f}; log10 of the errors differ by {apart:.1f} in the median, "
        f"matrices are better by {np.mean(maps[0] - maps[1]):.1f} on average",
        apart < 0.3,
        note="the same pattern, and not the same values: the angles of the two frames have different integrands, and "
        "the errors of their quadrature alone differ by as much",
    )


def _by_integrands(triangle: Triangle) -> Claim:
    maps = [average(np.log10(np.maximum(errors, LEAST)).reshape(-1, triangle.momenta))
            for errors in angle_errors(triangle.moments, triangle.m, LONG, NODES)]  # fmt: skip
    apart = float(np.median(np.abs(maps[1] - maps[0])))
    return beyond(
        "the same maps, of the error of the quadrature of the angle alone",
        f"differ by {apart:.1f} in the median, matrices are better by {np.mean(maps[1] - maps[0]):.1f} on average",
    )


def angle_errors(moments: FloatArray, m: FloatArray, h: float, nodes: int) -> tuple[FloatArray, FloatArray]:
    """What quadrature with so many nodes does to psi of matrices and of quaternions in steps up to T_END, (n,) each.

    Both angles have a coefficient times Pi(phi, n, k), with the same phi and k: FRB (9) and (16). |m| = 1.
    """
    I1, I2, I3 = moments.T
    two_T = np.sum(m * m / moments, axis=-1)
    D1, D2, D3 = (np.abs(1.0 - two_T * I) for I in (I1, I2, I3))
    I21, I31, I32 = I2 - I1, I3 - I1, I3 - I2
    k2 = D1 * I32 / (D3 * I21)
    first = k2 < 1.0  # case (i)
    k2 = np.where(first, k2, 1.0 / k2)
    lam = np.sqrt(np.where(first, D3 * I21, D1 * I32) / (I1 * I2 * I3))
    on_sn = np.sqrt(I2 * np.where(first, D1 / I21, D3 / I32))
    cn = np.where(first, m[:, 2], m[:, 0]) / np.sqrt(np.where(first, I3 * D1, I1 * D3) / I31)
    phase = ellipkinc(np.arctan2(m[:, 1] / on_sn, cn), k2)
    lam = np.where(m[:, 2] * m[:, 0] * cn < 0.0, -lam, lam)  # m2' = (1/I1 - 1/I3) m3 m1 has the sign of lam cn
    times = h * np.arange(round(T_END / h) + 1)[:, None]
    phi = ellipj(lam * times + phase, k2)[3]

    def integral(n: FloatArray, count: int) -> FloatArray:
        total = np.zeros_like(k2)
        for at, weight in zip(*gauss_legendre(count), strict=True):
            ss = np.sin(phi[:-1] + float(at) * np.diff(phi, axis=0)) ** 2
            total += np.sum(float(weight) * np.diff(phi, axis=0) / ((1.0 - n * ss) * np.sqrt(1.0 - k2 * ss)), axis=0)
        return total

    n_matrix = np.where(first, I32 / (I2 * D3), I21 / (I2 * D1))
    n_quaternion = np.where(first, -I3 * D1 / (I1 * D3), -I3 * I21 / (I1 * I32))
    matrix, quaternion = (
        np.abs(coefficient / lam * (integral(n, nodes) - integral(n, MOST_NODES)))
        for coefficient, n in ((D2 / I2, n_matrix), (I31 / (I1 * I3), n_quaternion))
    )
    return matrix, quaternion


def _very_well(triangle: Triangle, logs: Logs) -> Claim:
    found = average(logs["dmv", 10, SHORT])
    rest = float(np.nanquantile(found[~triangle.corner], 0.95))
    worst = float(np.nanmax(found[triangle.corner]))
    return trend(
        "log10 of the error of dmv10, h = 0.04",
        "very good in the whole triangle but for the top left corner",
        f"95 % of the points outside below {rest:.1f}; worst in the corner {worst:.1f}",
        rest < WELL < worst,
    )


def _highest_order(triangle: Triangle, logs: Logs) -> Claim:
    highest = triangle.logs(MoserVeselov(20), LONG)
    return beyond(
        "mean log10 of the error, DMV of order 20 and of order 10, h = 0.4",
        f"{np.nanmean(highest):.1f} and {np.nanmean(logs['dmv', 10, LONG]):.1f}; "
        f"without convergence: {100 * np.isnan(highest).mean():.1f} %",
    )


EXPERIMENT = Experiment(CELLEDONI_2008, "Figure 3.4", "Semiexact and DMV methods over the inertia triangle", run)
