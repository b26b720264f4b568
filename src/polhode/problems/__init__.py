"""Ready-made problems, one file each. A new one is a file with a function of its name, and one line here."""

from __future__ import annotations

from collections.abc import Callable

from polhode.core.checks import unknown_name
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

REGISTRY: dict[str, Callable[[], Problem]] = {
    "dzhanibekov": dzhanibekov,
    "free_body": free_body,
    "gyro_top": gyro_top,
    "heavy_top": heavy_top,
    "perturbed": perturbed,
    "satellite": satellite,
    "satellite_orbit": satellite_orbit,
    "vessel": vessel,
    "vilmart_top": vilmart_top,
}

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


def __dir__() -> list[str]:
    return __all__


def get(name: str) -> Problem:
    """The problem of that name, as it is by default.

    >>> get("dzhanibekov").t_span
    (0.0, 15.0)
    """
    if name not in REGISTRY:
        raise unknown_name("problem", name, REGISTRY)
    return REGISTRY[name]()
