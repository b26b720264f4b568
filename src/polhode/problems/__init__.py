"""Ready-made problems, one module each.

To add a problem, add a module with a function of the same name, import it, and add it to ``__all__``.
"""

from __future__ import annotations

from collections.abc import Callable

from polhode.core.checks import known_name
from polhode.integration.problem import Problem
from polhode.problems.dzhanibekov import dzhanibekov
from polhode.problems.free_body import free_body
from polhode.problems.gyro_top import gyro_top
from polhode.problems.heavy_top import heavy_top
from polhode.problems.perturbed import perturbed
from polhode.problems.satellite import satellite
from polhode.problems.satellite_orbit import satellite_orbit
from polhode.problems.vessel import vessel
from polhode.problems.vilmart_top import vilmart_top

__all__ = [
    "REGISTRY",
    "dzhanibekov",
    "free_body",
    "get",
    "gyro_top",
    "heavy_top",
    "perturbed",
    "satellite",
    "satellite_orbit",
    "vessel",
    "vilmart_top",
]
__dir__ = __all__.copy  # public names only
REGISTRY: dict[str, Callable[[], Problem]] = {
    name: globals()[name] for name in __all__ if name not in ("REGISTRY", "get")
}


def get(name: str) -> Problem:
    """Return the problem of the given name, with its default parameters.

    Parameters
    ----------
    name : str
        A key of ``REGISTRY``.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    UnknownNameError
        If there is no problem of that name.

    Examples
    --------
    >>> get("dzhanibekov").t_span
    (0.0, 15.0)
    """
    return REGISTRY[known_name("problem", name, REGISTRY)]()
