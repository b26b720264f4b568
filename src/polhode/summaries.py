"""Summaries of trajectories, for ``ensemble(..., reduce=name)``: a few numbers for each body instead of its states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polhode.checks import FloatArray, unknown_name
from polhode.rotation import rotate
from polhode.trajectory import Trajectory

Summary = Callable[[Trajectory], Mapping[str, Any]]


def energy_error(trajectory: Trajectory) -> dict[str, FloatArray]:
    """``energy_error`` (batch): the largest relative change of the energy."""
    return {"energy_error": np.abs(trajectory.energy_error()).max(axis=0)}


def rate(trajectory: Trajectory) -> dict[str, FloatArray]:
    """``slowest`` and ``fastest`` (batch): the extremes of the angular velocity's length."""
    length = np.linalg.norm(trajectory.omega, axis=-1)
    return {"slowest": length.min(axis=0), "fastest": length.max(axis=0)}


def tilt(trajectory: Trajectory) -> dict[str, FloatArray]:
    """``tilt`` (batch): the largest angle, in radians, of the third body axis with its direction at the first time."""
    axis = rotate(trajectory.q, np.array([0.0, 0.0, 1.0]))
    across = np.linalg.norm(np.cross(axis[:1], axis), axis=-1)
    return {"tilt": np.arctan2(across, np.sum(axis[:1] * axis, axis=-1)).max(axis=0)}


SUMMARIES: dict[str, Summary] = {"energy_error": energy_error, "rate": rate, "tilt": tilt}


def as_summary(reduce: Summary | str | None) -> Summary | None:
    """A function by its name here; others stay as they are."""
    if not isinstance(reduce, str):
        return reduce
    if reduce not in SUMMARIES:
        raise unknown_name("summary", reduce, SUMMARIES)
    return SUMMARIES[reduce]
