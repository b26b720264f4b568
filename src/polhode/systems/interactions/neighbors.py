"""Periodic boxes, and lists of neighboring bodies in a box or in open space."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, show
from polhode.core.errors import InputError
from polhode.core.threads import in_ranges
from polhode.core.value import Value
from polhode.kernels.pairs.cells import all_within, closest_of, fill_cells, find_near, read_by_column

WIDER = 1.001  # cells are wider than the reach by this factor: round-off may put a body into the next cell
FURTHEST = 2.0**40  # largest coordinate, in lengths of the box or in reaches
CELLS_PER_BODY = 4  # most cells per body; more of them would mostly be empty
TRIES_PER_BODY = 16  # pairs whose test takes as long as a step of one body, the unit of work of ``core.threads``


class Box(Value):
    """Periodic box, or open space. A box never changes; boxes are equal if their lengths are.

    Parameters
    ----------
    lengths : float or array_like, shape (3,), optional
        Lengths of the box. By default space is open, and the attribute ``lengths`` is 0.

    Raises
    ------
    InputError
        If a length is not positive and finite.
    """

    _replaceable: ClassVar = ("lengths",)
    lengths: FloatArray
    per_length: FloatArray
    repeats: bool

    def __init__(self, lengths: Any = None) -> None:
        """Check and store the lengths."""
        self._set(lengths=lengths)

    def _set(self, **arguments: Any) -> None:
        """Check and store the lengths."""
        lengths = arguments["lengths"]
        array = np.zeros(3) if lengths is None else as_floats(lengths, "box")
        if array.shape not in ((), (3,)) or (lengths is not None and not ((array > 0) & (array < np.inf)).all()):
            raise InputError(f"box = {lengths!r}: expected one positive length, or three, or None for open space")
        array = np.array(np.broadcast_to(array, (3,)))
        repeats = lengths is not None
        self._store(lengths=array, repeats=repeats, per_length=1.0 / array if repeats else np.zeros(3))

    def wrapped(self, x: FloatArray) -> FloatArray:
        """Return the images of positions x (..., 3) in the box around the origin."""
        return self.nearest(x)

    def nearest(self, r: FloatArray) -> FloatArray:
        """Return the shortest images of differences r (..., 3) of positions."""
        return r - self.lengths * np.rint(r * self.per_length)

    def check_cutoff(self, cutoff: float, name: str) -> None:
        """Raise an InputError if `cutoff` exceeds half of the shortest length of the box; `name` is for the message."""
        if self.repeats and 2 * cutoff > self.lengths.min():
            raise InputError(
                f"{name} has the cut-off {cutoff:g}, and the box is {show(self.lengths)}: expected lengths of twice "
                f"the cut-off or more; use a longer box, or type cutoff={self.lengths.min() / 2:g}"
            )

    def __repr__(self) -> str:
        """Return the lengths of the box as text."""
        return f"box {show(self.lengths)}" if self.repeats else "open space"


def as_box(box: Any) -> Box:
    """Return a box, also if its lengths are passed, or None for open space."""
    return box if isinstance(box, Box) else Box(box)


class Neighbors:
    """List of all pairs i < j of bodies that are nearer than a reach.

    The neighbors j of body i are ``others[starts[i]:stops[i]]``, in ascending order. ``count`` is the number of pairs.
    """

    def __init__(self, x: FloatArray, reach: float, box: Box) -> None:
        """Find the pairs of bodies at positions x (n, 3) whose distance is less than `reach`, which may be infinite."""
        n = len(x)
        self.x = x.copy()
        self.box = box
        self.starts, self.stops = np.empty(n, np.int64), np.empty(n, np.int64)
        if reach == np.inf:
            self.starts[:], self.stops[:] = np.arange(1, n + 1), n
            self.others = np.arange(n, dtype=np.int32)
            self.longest = n
            self.count = n * (n - 1) // 2
            return
        table, counts = _find_neighbors(x, reach, box)
        self.count = int(counts.sum())
        self.others = np.empty(self.count, np.int32)
        self.longest = read_by_column(table, counts, self.starts, self.stops, self.others)

    def stay(self, x: FloatArray, distance: float) -> bool:
        """Return whether no body has moved by more than `distance` since the list was built."""
        return len(x) == len(self.x) and bool(all_within(x, self.x, distance * distance))

    def closest(self) -> tuple[int, int, float]:
        """Return (i, j, distance) of the closest pair in the list; (0, 0, 0.0) if the list is empty."""
        return closest_of(self.x, self.box.lengths, self.box.per_length, self.starts, self.stops, self.others)


def _find_neighbors(x: FloatArray, reach: float, box: Box) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Return a table (n, .) of the bodies j < i within reach of each body i, and their numbers (n,)."""
    n = len(x)
    limit = FURTHEST * (box.lengths.max() if box.repeats else reach)
    far = ~(np.abs(x) < limit).all(axis=-1)
    if far.any():
        i = int(np.argmax(far))
        raise FloatingPointError(
            f"body {i} is at {show(x[i])}, where the precision of doubles does not suffice to find neighbors"
        )
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
    room = 16 + tried // 5  # the volume of a sphere is at most a sixth of that of 27 cells
    counts = np.empty(n, np.int64)
    while True:
        table = np.empty((n, room), np.int32)

        def work(start: int, stop: int, table: npt.NDArray[np.int32] = table) -> int:
            return -find_near(x, box.lengths, box.per_length, grid, start, stop, table, counts)

        most = -in_ranges(work, n, max(1, tried // TRIES_PER_BODY))
        if most <= room:
            return table, counts
        room = most


def closest_pair(x: FloatArray, box: Box) -> tuple[int, int, float]:
    """Return (i, j, distance) of the two closest bodies at positions x (n, 3); (0, 0, 0.0) if there is only one."""
    size = box.lengths if box.repeats else np.ptp(x, axis=0)
    reach = float(size.max()) / len(x) ** (1 / 3) or 1.0
    while len(x) > 1:
        first, second, distance = Neighbors(x, reach, box).closest()
        if first != second:
            return first, second, distance
        reach *= 2.0
    return 0, 0, 0.0
