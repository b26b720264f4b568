"""Boxes that repeat themselves, and lists of the bodies that are near each other in them, or in open space."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, show
from polhode.core.errors import InputError
from polhode.core.threads import in_ranges
from polhode.kernels.pairs.cells import all_within, closest_of, fill_cells, find_near, read_by_column

WIDER = 1.001  # cells than what is looked for: a body that rounding puts into the next cell is still found
FURTHEST = 2.0**40  # boxes, or distances that are looked for
CELLS_PER_BODY = 4  # more of them would mostly be empty
TRIES_PER_BODY = 16  # in the search for neighbors take as long as the step of a body, by which ``threads`` measures


class Box:
    """Lengths (3,) of a box that repeats itself; 0 for open space. x and x + any whole lengths are one place."""

    def __init__(self, lengths: Any = None) -> None:
        given = np.zeros(3) if lengths is None else as_floats(lengths, "box")
        if given.shape not in ((), (3,)) or (lengths is not None and not ((given > 0) & (given < np.inf)).all()):
            raise InputError(f"box = {lengths!r}: expected one positive length, or three, or None for open space")
        self.lengths = np.array(np.broadcast_to(given, (3,)))
        self.repeats = lengths is not None
        self.per_length = 1.0 / self.lengths if self.repeats else np.zeros(3)

    def wrapped(self, x: FloatArray) -> FloatArray:
        """The image of places (..., 3) that lies in the box around the origin."""
        return self.nearest(x)

    def nearest(self, r: FloatArray) -> FloatArray:
        """The shortest image of differences (..., 3) of places."""
        return r - self.lengths * np.rint(r * self.per_length)

    def check_cutoff(self, cutoff: float, name: str) -> None:
        """Refuse one that reaches more than half way to the next image."""
        if self.repeats and 2 * cutoff > self.lengths.min():
            raise InputError(
                f"{name} has the cut-off {cutoff:g}, and the box is {show(self.lengths)}: it must be twice the cut-off "
                f"or longer; make it longer, or type cutoff={self.lengths.min() / 2:g}"
            )

    def __repr__(self) -> str:
        return f"box {show(self.lengths)}" if self.repeats else "open space"


class Neighbors:
    """All pairs i < j of bodies at x (n, 3) that are nearer than ``reach``: others[starts[i]:stops[i]], ascending."""

    def __init__(self, x: FloatArray, reach: float, box: Box) -> None:
        n = len(x)
        self.x, self.box = x.copy(), box
        self.starts, self.stops = np.empty(n, np.int64), np.empty(n, np.int64)
        if reach == np.inf:
            self.starts[:], self.stops[:] = np.arange(1, n + 1), n
            self.others, self.longest, self.count = np.arange(n, dtype=np.int32), n, n * (n - 1) // 2
            return
        found, counts = _found(x, reach, box)
        self.count = int(counts.sum())
        self.others = np.empty(self.count, np.int32)
        self.longest = read_by_column(found, counts, self.starts, self.stops, self.others)

    def stay(self, x: FloatArray, distance: float) -> bool:
        """Whether no body went further than that since."""
        return len(x) == len(self.x) and bool(all_within(x, self.x, distance * distance))

    def closest(self) -> tuple[int, int, float]:
        """(i, j, distance) of the nearest two; (0, 0, 0.0) if there are none."""
        told = self.box.lengths, self.box.per_length, self.starts, self.stops, self.others
        return closest_of(self.x, *told)


def _found(x: FloatArray, reach: float, box: Box) -> tuple[npt.NDArray[np.int32], IntArray]:
    """For every body i the j < i within reach, found (n, .) and how many of them, (n,)."""
    n = len(x)
    limit = FURTHEST * (box.lengths.max() if box.repeats else reach)
    far = ~(np.abs(x) < limit).all(axis=-1)
    if far.any():
        i = int(np.argmax(far))
        raise FloatingPointError(f"body {i} is at {show(x[i])}, where digits do not suffice to tell its neighbors")
    low = np.zeros(3) if box.repeats else x.min(axis=0)
    size = box.lengths if box.repeats else np.maximum(np.ptp(x, axis=0), np.finfo(float).tiny)
    most_cells = max(1, int((CELLS_PER_BODY * n) ** (1 / 3)))
    shape = np.clip(np.floor(np.minimum(size / (WIDER * reach), most_cells)).astype(np.int64), 1, None)
    if box.repeats:
        shape[shape < 3] = 1
    cells, first = np.empty((n, 3), np.int64), np.empty(shape.prod() + 2, np.int64)
    order, sorted_x = np.empty(n, np.int64), np.empty((n, 3))
    fill_cells(x, low, 1.0 / size, shape, cells, first, order, sorted_x)
    grid = shape, cells, first[1:], order, sorted_x, reach * reach
    tried = int(27 * n / shape.prod())
    room, counts = 16 + tried // 5, np.empty(n, np.int64)  # a sphere is a sixth of 27 cells, at most
    while True:
        found = np.empty((n, room), np.int32)

        def work(start: int, stop: int, found: npt.NDArray[np.int32] = found) -> int:
            return -find_near(x, box.lengths, box.per_length, *grid, start, stop, found, counts)

        most = -in_ranges(work, n, max(1, tried // TRIES_PER_BODY))
        if most <= room:
            return found, counts
        room = most


def closest_pair(x: FloatArray, box: Box) -> tuple[int, int, float]:
    """(i, j, distance) of the two bodies that are nearest to each other; (0, 0, 0.0) if there is one."""
    size = box.lengths if box.repeats else np.ptp(x, axis=0)
    reach = float(size.max()) / len(x) ** (1 / 3) or 1.0
    while len(x) > 1:
        first, second, distance = Neighbors(x, reach, box).closest()
        if first != second:
            return first, second, distance
        reach *= 2.0
    return 0, 0, 0.0
