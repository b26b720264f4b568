"""Gustafsson 2010, Figure 1: the momentum of a free body, periodic in time.

The moments are printed, the momentum at the start is not: here it is that of ``problems.free_body``. The figure of the
thesis shows Jacobi functions evaluated by MATLAB; ours the exact motion.
"""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.gustafsson2010 import momentum_by_energy, momentum_by_squares
from papers.others import by_dop853
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.integration.problem import Problem
from polhode.problems.free_body import free_body

PERIODS = 3
SAMPLES = 241
DOP853_TOLERANCE = 1e-12
SAME = 1e-12


def run(full: bool) -> Report:
    """The paper's size always."""
    motion = free_body("gustafsson").free_motion()
    times = np.linspace(0.0, PERIODS * float(motion.period), SAMPLES)
    m = motion.m(times)
    after = (SAMPLES - 1) // PERIODS
    stepped = by_dop853(Problem(motion.body, motion.initial, t_span=(0.0, float(times[-1]))), DOP853_TOLERANCE)
    claims = (
        trend("m is periodic", "seen in the figure", f"after a period of {float(motion.period):.6f} off by "
              f"{np.abs(m[after:] - m[:-after]).max():.0e}", bool(np.allclose(m[after:], m[:-after], atol=SAME))),
        _same("closed form of section 4.1", momentum_by_energy(m[:1].T).at(times[:, None])[..., 0].T, m),
        _same("closed form of section 4.2", momentum_by_squares(m[:1].T).at(times[:, None])[..., 0].T, m),
        beyond(f"SciPy's DOP853, rtol {DOP853_TOLERANCE:g}, m at the end",
               f"off the exact motion by {np.abs(stepped.m - m[-1]).max():.0e}"),
    )  # fmt: skip
    curves = [Curve(f"m{i + 1}", times, m[:, i]) for i in range(3)]
    return Report(claims, (Panel("the momentum of a free body", "t", "m", curves, log=""),))


def _same(what: str, found: FloatArray, m: FloatArray) -> Claim:
    off = float(np.abs(found - m).max())
    return trend(what, "solves the Euler equation", f"off the exact motion by {off:.0e}", off < SAME)


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Figure 1", "The momentum of a free body", run)
