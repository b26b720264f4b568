"""Betsch, Siebert 2009, Figure 4: the mass center of the gyro top by QUAT_EM and DIR_EM, h = 0.01."""

from __future__ import annotations

from papers.betsch2009 import METHODS, coordinates, off_the_circle, top_run
from papers.experiment import Experiment, Report, beyond, trend
from polhode.core.references import BETSCH_SIEBERT_2009

H = 0.01


def run(full: bool) -> Report:
    """The paper's size always."""
    runs = {name: top_run(METHODS[name], H) for name in ("QUAT_EM", "DIR_EM")}
    off = {name: float(off_the_circle(found).max()) for name, found in runs.items()}
    splitting = top_run("V2", H)
    claims = (
        trend("largest distance from the circle, relative to L", "DIR_EM performs best",
              f"DIR_EM {off['DIR_EM']:.2g}, QUAT_EM {off['QUAT_EM']:.2g}", off["DIR_EM"] < 0.1 * off["QUAT_EM"]),
        beyond("V2 with exact drifts", f"{off_the_circle(splitting).max():.1g}"),
    )  # fmt: skip
    return Report(claims, coordinates({**runs, "V2": splitting}))


EXPERIMENT = Experiment(BETSCH_SIEBERT_2009, "Figure 4", "Steady precession by QUAT_EM and DIR_EM", run)
