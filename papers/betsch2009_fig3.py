"""Betsch, Siebert 2009, Figure 3: the gyro top, what QUAT_EM conserves, and errors of the mass center at t = 1.

The values of the figure are not printed. Beside the four methods: splittings with exact drifts, SciPy's
DOP853, and heyoka's Taylor series.
"""

from __future__ import annotations

import numpy as np

from papers.betsch2009 import METHODS, TURN, conservation, equivariance, error_at_1s, order_claim, top_run
from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.others import Found, by_dop853, by_heyoka
from polhode.core.arrays import FloatArray
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.core.rotation import matrix, rotate
from polhode.forces import gravity
from polhode.problems.gyro_top import LEVER, WEIGHT, gyro_top, mass_center

LONG = 0.01
STEPS = (0.01, 1.0 / 143.0, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
EQUIVARIANT = 0.005
SPLITTINGS = ("V2", "RKN6_14a", "ABA1064", "RKN8_19")
DOP853_TOLERANCE, HEYOKA_TOLERANCE = 1e-10, 1e-15


def run(full: bool) -> Report:
    """The paper's size always."""
    errors = {name: np.array([error_at_1s(method, h) for h in STEPS]) for name, method in METHODS.items()}
    others = {name: np.array([error_at_1s(name, h) for h in STEPS]) for name in SPLITTINGS}
    long = top_run(METHODS["QUAT_EM"], LONG)
    kept, panel = conservation(long, long.m_space[:, 2], "L3", "conserved, whatever the step")
    claims = [kept, _best(errors)]
    claims += [order_claim(name, STEPS, values) for name, values in errors.items()]
    turned = gravity(WEIGHT, offset=(0.0, 0.0, LEVER), up=rotate(TURN, (0.0, 0.0, 1.0)))
    claims.append(equivariance(gyro_top(), turned, EQUIVARIANT))
    claims += [beyond(f"{name}, h = {LONG}", f"off by {values[0]:.0e}") for name, values in others.items()]
    outside = {
        f"SciPy's DOP853, rtol {DOP853_TOLERANCE:g}": by_dop853(gyro_top(), DOP853_TOLERANCE),
        f"heyoka, tolerance {HEYOKA_TOLERANCE:g}": by_heyoka(gyro_top(), HEYOKA_TOLERANCE),
    }
    claims += [beyond(name, f"off by {_error(found):.0e}") for name, found in outside.items() if found is not None]
    curves = [Curve(name, STEPS, values) for name, values in errors.items()]
    curves += [Curve(name, STEPS, values, True) for name, values in others.items()]
    return Report(
        tuple(claims), (panel, Panel("error of the mass center at t = 1", "step h [s]", "relative error", curves))
    )


def _best(errors: dict[str, FloatArray]) -> Claim:
    """At every step, among the methods that have a solution."""
    best = {min(errors, key=lambda name: np.nan_to_num(errors[name][i], nan=np.inf)) for i in range(len(STEPS))}
    ratios = [values / errors["DIR_EM"] for name, values in errors.items() if name != "DIR_EM"]
    return trend("best of the four for a given step", "DIR_EM", f"{', '.join(sorted(best))}; the others are off by "
                 f"{np.nanmin(ratios):.0f} to {np.nanmax(ratios):.0f} times as much", best == {"DIR_EM"})  # fmt: skip


def _error(found: Found) -> float:
    axis = matrix(found.q / np.linalg.norm(found.q))[:, 2]
    return float(np.linalg.norm(axis - mass_center(1.0) / LEVER))


EXPERIMENT = Experiment(BETSCH_SIEBERT_2009, "Figure 3", "The gyro top: conservation and accuracy", run)
