"""Celledoni et al. 2008, Figure 3.3: the exact methods over the inertia triangle, h = 0.4, T = 10."""

from __future__ import annotations

import numpy as np

from papers.celledoni2008 import EXACT, PAPER, SMALL, T_END, Triangle, average, drawn_triangle
from papers.experiment import Experiment, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow

H, SHORT = 0.4, 0.04
OURS = "Exact()"
FLOWS: dict[str, Flow] = {**EXACT, OURS: Exact()}
UNIFORM = 1.0  # decades by which nine points in ten may differ: approximate methods differ by 4 to 7
LIMITS = (-15.0, -12.0)


def run(full: bool, size: tuple[int, int, int] | None = None) -> Report:
    """The paper's grid of 100 by 50 points and 20 momenta if ``full``, else 40 by 20 and 6."""
    triangle = Triangle(*(size or (PAPER if full else SMALL)))
    logs = {name: triangle.logs(flow, H) for name, flow in FLOWS.items()}
    maps = {name: average(values) for name, values in logs.items()}
    spread = max(_spread(maps[name]) for name in EXACT)
    apart = float(np.median(np.abs(np.subtract(*(maps[name] for name in EXACT)))))
    matrix, quaternion = (float(maps[name].mean()) for name in EXACT)
    short, once = ([float(triangle.logs(flow, h).mean()) for flow in EXACT.values()] for h in (SHORT, T_END))
    claims = (
        trend(
            "log10 of the error, matrices and quaternions, h = 0.4",
            "very similar",
            f"mean {matrix:.1f} and {quaternion:.1f}; differ by {apart:.2f} in the median",
            apart < 0.5,
        ),
        trend(
            "variation over the triangle, h = 0.4",
            "uniform accuracy",
            f"nine points in ten within {spread:.1f} decades",
            spread < UNIFORM,
        ),
        trend(
            "log10 of the error with h = 0.04 against 0.4",
            "worse accumulation of round-off",
            f"{short[0]:.1f} and {short[1]:.1f} against {matrix:.1f} and {quaternion:.1f}",
            short[0] > matrix and short[1] > quaternion,
        ),
        trend(
            "log10 of the error with a single step of 10 against h = 0.04",
            "the accumulation disappears",
            f"{once[0]:.1f} and {once[1]:.1f} against {short[0]:.1f} and {short[1]:.1f}",
            once[0] < short[0] and once[1] < short[1],
        ),
        beyond(
            "log10 of the error of Exact(): mean with h = 0.4 and h = 0.04, worst point with h = 0.4",
            f"{maps[OURS].mean():.1f} and {triangle.logs(FLOWS[OURS], SHORT).mean():.1f}, {maps[OURS].max():.1f}",
        ),
    )
    panels = [triangle.panel(f"{name}, h = {H:g}", values, LIMITS) for name, values in logs.items()]
    return Report(claims, (drawn_triangle(triangle.x, triangle.y), *panels))


def _spread(values: FloatArray) -> float:
    low, high = np.quantile(values, (0.05, 0.95))
    return float(high - low)


EXPERIMENT = Experiment(
    CELLEDONI_2008, "Figures 3.2, 3.3", "Accuracy of the exact methods over the inertia triangle", run
)
