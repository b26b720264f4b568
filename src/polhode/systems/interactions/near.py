"""Base class of interactions between pairs of bodies: cut-off, list of neighbors, and sum over pairs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import positive_number
from polhode.core.errors import InputError
from polhode.core.threads import PARALLEL_FROM, in_ranges
from polhode.kernels.pairs.near import add_parts
from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.neighbors import Box, Neighbors

BODIES_PER_PART, MOST_PARTS = 32, 16
ITEM = 5e-4 / PARALLEL_FROM  # seconds of a work item: threads pay off for half a millisecond of work or more
ADDING = 1e-8  # seconds to add the sums of one part for one body
SWITCH, SKIN = 0.8, 0.12  # default parts of the cut-off: where switching begins, and margin of the list of neighbors


class NearInteraction(Interaction):
    """Interaction that is a sum over all pairs of bodies, or over those within a cut-off; see ``kernels.pairs.near``.

    With a cut-off, the energy of a pair is multiplied by a function of the distance of the two centers that decreases
    from 1 at ``switch`` to 0 at ``cutoff``, with three continuous derivatives. The list of neighbors includes pairs up
    to ``cutoff + skin``, and is rebuilt when a body has moved by half of ``skin``; results do not depend on when, to
    the bit. The defaults of ``switch`` and ``skin`` are 0.8 and 0.12 times ``cutoff``.
    """

    _box = Box()
    _lists: NeighborLists | None = None  # of one run

    def _set_cutoff(self, cutoff: float | None, switch: float | None, skin: float | None) -> None:
        """Check and store the cut-off, and the parameters that belong to it."""
        self.cutoff = np.inf if cutoff is None else positive_number(cutoff, "cutoff")
        if cutoff is None:
            if switch is not None or skin is not None:
                raise InputError(f"switch = {switch!r} and skin = {skin!r} need a cut-off: type cutoff=...")
            self.switch, self.skin = np.inf, 0.0
            return
        self.switch = SWITCH * self.cutoff if switch is None else positive_number(switch, "switch")
        self.skin = SKIN * self.cutoff if skin is None else positive_number(skin, "skin")
        if not self.switch < self.cutoff:
            raise InputError(
                f"switch = {switch!r}, where the energy begins to decrease: expected less than the cut-off {cutoff!r}"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the list of neighbors, which is large and quickly rebuilt."""
        return vars(self) | {"_lists": None}

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: parameters and the box, but not the list of neighbors."""
        return {**super()._content(), "_box": self._box, "_lists": None}

    def for_run(self) -> Interaction:
        """Return this interaction with a list of neighbors of its own, which is kept as long as it is valid."""
        other = copy.copy(self)
        other._lists = NeighborLists(self.cutoff, self.skin, self._box)
        return other

    def in_box(self, box: Box) -> Interaction:
        """Return this interaction for bodies in `box`; raise an InputError unless its cut-off fits the box."""
        if box.repeats and self.cutoff == np.inf:
            raise InputError(f"{self.name} has no cut-off, which a periodic box requires: type cutoff=...")
        box.check_cutoff(self.cutoff, self.name)
        other = copy.copy(self)
        other._box = box
        return other

    def _sum(
        self,
        kernel: Callable[..., int],
        arguments: Any,
        x: FloatArray,
        force: FloatArray,
        torque: FloatArray,
        seconds: float,
    ) -> float:
        """Add the sums of `kernel` over all pairs to `force` and `torque`, and return the energy.

        `arguments` are passed to the kernel, and `seconds` is the time that one pair takes, by which the number of
        threads is chosen.
        """
        n = len(x)
        lists = self._lists or NeighborLists(self.cutoff, self.skin, self._box)
        neighbors = lists.at(x)
        box = self._box
        parts = parts_of(n)
        pairs = (
            x, self._kinds(n), box.lengths, box.per_length,
            neighbors.starts, neighbors.stops, neighbors.others, neighbors.longest,
        )  # fmt: skip
        limited = self.cutoff < np.inf
        cut = (self.cutoff**2, self.switch, 1.0 / (self.cutoff - self.switch)) if limited else (np.inf, 0.0, 0.0)
        sums = np.empty((parts, n, 3)), np.empty((parts, n, 3)), np.empty(parts)
        totals = force, torque
        added = in_ranges(
            lambda start, stop: kernel(pairs, cut, arguments, sums, totals, start, stop),
            parts,
            seconds * neighbors.count / (parts * ITEM),
        )
        if not added:
            in_ranges(lambda start, stop: add_parts(sums, totals, start, stop), n, ADDING * parts / ITEM)
        return in_order(sums[-1])

    def _kinds(self, count: int) -> IntArray:
        """Return the kind of each of `count` bodies, ascending; here all are of one kind."""
        return np.zeros(count, np.int64)

    def _shown_cutoff(self) -> str:
        """Return the cut-off as it is shown in the description."""
        return f", cutoff={self.cutoff:g}" if self.cutoff < np.inf else ""


class NeighborLists:
    """List of neighbors of one run, which is rebuilt when a body has moved too far."""

    def __init__(self, cutoff: float, skin: float, box: Box) -> None:
        """Begin without a list."""
        self._reach = cutoff + skin
        self._margin = 0.5 * skin if cutoff < np.inf else np.inf
        self._box = box
        self._list: Neighbors | None = None

    def at(self, x: FloatArray) -> Neighbors:
        """Return the list of neighbors for positions x (n, 3), rebuilt if necessary."""
        if self._list is None or not self._list.stay(x, self._margin):
            self._list = Neighbors(x, self._reach, self._box)
        return self._list


def parts_of(n: int) -> int:
    """Return the number of parts of the sum over the pairs of n bodies; it does not depend on the number of threads."""
    return max(1, min(MOST_PARTS, n // BODIES_PER_PART))


def in_order(energies: FloatArray) -> float:
    """Return the sum of energies (parts,), added in order as in a kernel."""
    return float(reduce(add, energies.tolist()))  # sum() of Python 3.12 compensates round-off
