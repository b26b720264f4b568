"""What interactions between pairs of bodies have in common: the cut-off, the list of neighbors, and the sum."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats
from polhode.core.errors import InputError
from polhode.core.threads import PARALLEL_FROM, in_ranges
from polhode.kernels.pairs.near import add_parts
from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.neighbors import Box, Neighbors

BODIES_PER_PART, MOST_PARTS = 32, 16
ITEM = 5e-4 / PARALLEL_FROM  # seconds: threads help from half a millisecond of work on
ADDING = 1e-8  # seconds for the sums that one part has for a body
SWITCH, SKIN = 0.8, 0.12  # parts of the cut-off: where the energy begins to fall, and what a list reaches further


class NearInteraction(Interaction):
    """A sum over pairs of bodies, all of them or those nearer than a cut-off; see ``kernels.pairs.near``.

    With a cut-off, the energy of a pair is multiplied by a function of the distance of their centers that falls from 1
    at ``switch`` to 0 at ``cutoff``, with three continuous derivatives. The list of neighbors reaches further by
    ``skin``, and is made anew when a body went half of that; no bit of a result depends on when.
    """

    _box = Box()
    _list: Neighbors | None = None

    def _set_cutoff(self, cutoff: float | None, switch: float | None, skin: float | None) -> None:
        self.cutoff = np.inf if cutoff is None else _positive(cutoff, "cutoff")
        if cutoff is None:
            if switch is not None or skin is not None:
                raise InputError(f"switch = {switch!r} and skin = {skin!r} need a cut-off: type cutoff=...")
            self.switch, self.skin = np.inf, 0.0
            return
        self.switch = SWITCH * self.cutoff if switch is None else _positive(switch, "switch")
        self.skin = SKIN * self.cutoff if skin is None else _positive(skin, "skin")
        if not self.switch < self.cutoff:
            raise InputError(
                f"switch = {switch!r}, where the energy begins to fall, must be less than the cut-off {cutoff!r}"
            )

    def in_box(self, box: Box) -> Interaction:
        if box.repeats and self.cutoff == np.inf:
            raise InputError(f"{self.name} has no cut-off, and cannot be in a box that repeats itself: type cutoff=...")
        box.check_cutoff(self.cutoff, self.name)
        other = copy.copy(self)
        other._box, other._list = box, None
        return other

    def _neighbors(self, x: FloatArray) -> Neighbors:
        """The list, which is made anew when it has to be."""
        found = self._list
        if found is None or not found.stay(x, 0.5 * self.skin if self.cutoff < np.inf else np.inf):
            found = self._list = Neighbors(x, self.cutoff + self.skin, self._box)
        return found

    def _sum(
        self,
        kernel: Callable[..., int],
        told: Any,
        x: FloatArray,
        force: FloatArray,
        torque: FloatArray,
        seconds: float,
    ) -> float:
        """Add what the kernel finds to forces and torques, and return the energy; a pair takes so many seconds."""
        n, found, box = len(x), self._neighbors(x), self._box
        parts = max(1, min(MOST_PARTS, n // BODIES_PER_PART))
        pairs = x, box.lengths, box.per_length, found.starts, found.stops, found.others, found.longest
        limited = self.cutoff < np.inf
        cut = (self.cutoff**2, self.switch, 1.0 / (self.cutoff - self.switch)) if limited else (np.inf, 0.0, 0.0)
        sums = np.empty((parts, n, 3)), np.empty((parts, n, 3)), np.empty(parts)
        totals = force, torque
        added = in_ranges(
            lambda start, stop: kernel(pairs, cut, told, sums, totals, start, stop),
            parts,
            seconds * found.count / (parts * ITEM),
        )
        if not added:
            in_ranges(lambda start, stop: add_parts(sums, totals, start, stop), n, ADDING * parts / ITEM)
        return in_order(sums[-1])

    def _shown_cutoff(self) -> str:
        return f", cutoff={self.cutoff:g}" if self.cutoff < np.inf else ""


def in_order(energies: FloatArray) -> float:
    """Return the sum of energies (parts,), added one after the other, as a kernel does it."""
    return float(np.cumsum(energies)[-1])


def _positive(value: Any, name: str) -> float:
    number = float(as_floats(value, name))
    if not 0 < number < np.inf:
        raise InputError(f"{name} = {value!r}: expected a positive finite number")
    return number
