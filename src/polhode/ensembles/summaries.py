"""Summaries of trajectories for ``ensemble(..., reduce=name)``: a few numbers for each body instead of its states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import known_name
from polhode.core.rotation import rotate
from polhode.integration.trajectory import Trajectory

__all__ = [
    "SUMMARIES",
    "energy_error",
    "rate",
    "tilt",
]
__dir__ = __all__.copy  # public names only


Summary = Callable[[Trajectory], Mapping[str, Any]]


def energy_error(trajectory: Trajectory) -> dict[str, FloatArray]:
    """Return the largest relative change of the energy of each body.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory of one body or of a batch.

    Returns
    -------
    dict
        ``energy_error``, an array of the batch shape.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> bool(energy_error(integrate(problems.heavy_top(), method="RKN6_14a", h=0.1))["energy_error"] < 1e-9)
    True
    """
    return {"energy_error": np.abs(trajectory.energy_error()).max(axis=0)}


def rate(trajectory: Trajectory) -> dict[str, FloatArray]:
    """Return the smallest and the largest norm of the angular velocity of each body.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory of one body or of a batch.

    Returns
    -------
    dict
        ``slowest`` and ``fastest``, arrays of the batch shape.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> sorted(rate(integrate(problems.heavy_top(), method="V2", h=0.5)))
    ['fastest', 'slowest']
    """
    length = np.linalg.norm(trajectory.omega, axis=-1)
    return {"slowest": length.min(axis=0), "fastest": length.max(axis=0)}


def tilt(trajectory: Trajectory) -> dict[str, FloatArray]:
    """Return the largest angle between the third body axis and its initial direction, in radians.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory of one body or of a batch.

    Returns
    -------
    dict
        ``tilt``, an array of the batch shape.

    Examples
    --------
    >>> import numpy as np
    >>> from polhode import Problem, State, integrate
    >>> half_turn = Problem((1.0, 1.0, 1.0), State(m=(np.pi, 0, 0)), t_span=(0, 1))
    >>> float(tilt(integrate(half_turn, method="V2", h=0.5))["tilt"]).__round__(12)
    3.14159265359
    """
    axis = rotate(trajectory.q, np.array([0.0, 0.0, 1.0]))
    across = np.linalg.norm(np.cross(axis[:1], axis), axis=-1)
    return {"tilt": np.arctan2(across, np.sum(axis[:1] * axis, axis=-1)).max(axis=0)}


SUMMARIES: dict[str, Summary] = {"energy_error": energy_error, "rate": rate, "tilt": tilt}


def as_summary(reduce: Summary | str | None) -> Summary | None:
    """Return the summary function of this module with the given name; return functions and None unchanged."""
    if not isinstance(reduce, str):
        return reduce
    return SUMMARIES[known_name("summary", reduce, SUMMARIES)]
