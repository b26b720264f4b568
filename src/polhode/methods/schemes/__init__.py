"""Ready-made splitting schemes, one file for each family. A new one is a table in one of them.

>>> from polhode import schemes
>>> schemes.get("RKN6_14a")
<Scheme RKN6_14a: order 6, drift first, 14 torques per step, torques of the configuration only>
"""

from __future__ import annotations

from polhode.core.checks import unknown_name
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import compositions, force_gradient, near_integrable, nystrom, papers, processed

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for family in (papers, nystrom, near_integrable, processed, force_gradient, compositions)
    for scheme in family.SCHEMES
}

__all__ = ["SCHEMES", "get"]


def __dir__() -> list[str]:
    return __all__


def get(name: str) -> Scheme:
    """The scheme of that name.

    >>> get("ABA864").torques_per_step
    7
    """
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES)
    return SCHEMES[name]
