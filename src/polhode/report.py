"""What was computed of a free motion, and how well its invariants held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polhode.checks import FloatArray
from polhode.motion import FreeMotion
from polhode.rotation import rotate


@dataclass(frozen=True)
class InvariantErrors:
    """Largest relative deviation over the sampled times from the values at the start."""

    energy: float
    momentum: float
    momentum_space: float
    unit_norm: float


def invariant_errors(motion: FreeMotion, times: FloatArray) -> InvariantErrors:
    """How far energy, |m|, the vector Q m and |q| are from constant at ``times`` (n,), for one body.

    >>> from polhode import free_motion
    >>> invariant_errors(free_motion((1, 2, 3), m=(1, 1, 1)), np.linspace(0, 9, 50)).energy < 1e-14
    True
    """
    m, q = motion.m(times), motion.q(times)  # not motion.state, which would normalize q
    start, space = motion.initial.m, motion.m_space
    size = np.linalg.norm(start)
    return InvariantErrors(
        energy=float(np.abs(motion.body.kinetic_energy(m) / motion.energy - 1).max()),
        momentum=float(np.abs(np.linalg.norm(m, axis=-1) / size - 1).max()),
        momentum_space=float((np.linalg.norm(rotate(q, m) - space, axis=-1) / size).max()),
        unit_norm=float(np.abs(np.linalg.norm(q, axis=-1) - 1).max()),
    )
