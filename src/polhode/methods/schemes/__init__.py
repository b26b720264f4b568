"""Ready-made splitting schemes, one module for each family.

To add a scheme, add its table to one of these modules.

>>> from polhode import schemes
>>> schemes.get("RKN6_14a")
<Scheme RKN6_14a: order 6, drift first, 14 torques per step, torques of the configuration only>
"""

from __future__ import annotations

from polhode.core.checks import known_name
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import compositions, force_gradient, near_integrable, nystrom, papers, processed

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for family in (papers, nystrom, near_integrable, processed, force_gradient, compositions)
    for scheme in family.SCHEMES
}

__all__ = ["SCHEMES", "get"]
__dir__ = __all__.copy  # public names only


def get(name: str) -> Scheme:
    """Return the ready-made scheme called `name`.

    Parameters
    ----------
    name : str
        One of the keys of `SCHEMES`.

    Returns
    -------
    Scheme
        The scheme.

    Raises
    ------
    InputError
        If there is no scheme of that name; the message suggests similar names.

    Examples
    --------
    >>> get("ABA864").torques_per_step
    7
    """
    return SCHEMES[known_name("scheme", name, SCHEMES)]
