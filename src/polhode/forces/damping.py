"""Linear damping: the torque -D w."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polhode.checks import as_floats, first_bad, place, show
from polhode.errors import InputError
from polhode.forces.base import ALWAYS_ZERO, Force


def damping(D: npt.ArrayLike) -> Force:
    """The torque -D w, with D (..., 3) along the body axes, or one number for all three; none negative.

    It is no part of the torque function: kicks solve m' = f - D w exactly.

    >>> damping((0.1, 0.1, 0.0)).torque(0.0, (1, 0, 0, 0), w=(1, 2, 3))
    array([-0.1, -0.2,  0. ])
    """
    given = as_floats(D, "D")
    array = as_floats(np.full(3, given) if given.ndim == 0 else given, "D", 3)
    good = np.asarray((np.isfinite(array) & (array >= 0)).all(axis=-1))
    if not good.all():
        index = first_bad(good)
        raise InputError(
            f"{place('D', index)} = {show(array[index])}: damping must be finite and not negative; a torque that "
            "drives the body is polhode.Torque(lambda t, Q, w, p: ...)"
        )
    return Force(ALWAYS_ZERO, damping=array, name="damping")
