"""Neighbor search by a grid of cells, and a list of pairs whose order depends on the indices of the bodies only.

Bodies lie in a periodic box of lengths L, or in open space along axes with L = 0. The nearest image is

    r - L round(r/L)                                                                                             (1)

Cells are at least as wide as the search distance, so that neighbors of a body are in its own cell and the 26 adjacent
ones; along a periodic axis with fewer than three cells there is only one cell, which contains all bodies.

The search finds for each i its neighbors j < i, in the order of the cells. After a transposition, as of sparse
matrices, row j contains its neighbors i > j in ascending order: no sorting is needed, and any grid gives the same list.
"""

from __future__ import annotations

from math import floor

from polhode.kernels.compiler.intrinsics import borrowed
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.standard_form import INPUT, TIMES

INTEGERS = "i4[::1]"
COUNTS = "i8[::1]"
# (shape, cells, first, order, sorted positions of ``fill_cells``, and the squared distance of the search)
GRID = f"Tuple(({COUNTS}, i8[:,::1], {COUNTS}, {COUNTS}, {INPUT}, f8))"
TO_WHOLE = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


@inline
def nearest(r, L, per_L):
    """Return the nearest image (1) of the distance r; per_L is 1/L, or 0 where L is 0."""
    return r - L * ((r * per_L + TO_WHOLE) - TO_WHOLE)


@entry_point(f"void({INPUT}, {TIMES}, {TIMES}, {COUNTS}, i8[:,::1], {COUNTS}, {COUNTS}, f8[:,::1])")
def fill_cells(x, low, per_length, shape, cells, first, order, sorted_x):
    """Sort bodies at x (n, 3) into cells.

    Write the cell of each body to cells (n, 3), the indices of the bodies sorted by cells, ascending in each cell, to
    ``order``, their positions to ``sorted_x``, and the start of each cell in ``order`` to ``first``, from entry 1 on.
    """
    n = x.shape[0]
    first[:] = 0
    for i in range(n):
        for c in range(3):
            u = (float(x[i, c]) - float(low[c])) * float(per_length[c])
            u -= float(floor(u)) if u < 0.0 or u > 1.0 else 0.0
            cells[i, c] = min(int(u * shape[c]), shape[c] - 1)
        first[number(shape, cells[i, 0], cells[i, 1], cells[i, 2]) + 1] += 1
    for k in range(1, first.shape[0]):
        first[k] += first[k - 1]
    for i in range(n - 1, -1, -1):  # backward, because each cell is filled from its end
        k = number(shape, cells[i, 0], cells[i, 1], cells[i, 2]) + 1
        first[k] -= 1
        order[first[k]] = i
        for c in range(3):
            sorted_x[first[k], c] = x[i, c]


@inline
def number(shape, a, b, c):
    """Return the index of cell (a, b, c) in a grid of this shape."""
    return (a * shape[1] + b) * shape[2] + c


@inline
def wrapped(a, size, repeats):
    """Return the index from 0 to size - 1 of cell a, which may be outside by one; -1 if there is no such cell."""
    if 0 <= a < size:
        return a
    return a % size if repeats else -1


@entry_point(f"i8({INPUT}, {TIMES}, {TIMES}, {GRID}, i8, i8, i4[:,::1], {COUNTS})")
def find_near(x, L, per_L, grid, start, stop, neighbors, counts):
    """Find the neighbors j < i of bodies start..stop within a squared distance; return their largest number.

    Row i of neighbors (n, capacity) gets as many as fit, counts (n,) gets their total number. ``first`` of the grid is
    that of ``fill_cells`` without its first entry: cell k extends from first[k] to first[k + 1].
    """
    shape, cells, first, order, sorted_x, square = grid
    most = 0
    capacity = neighbors.shape[1]
    reach = (1 if shape[0] > 1 else 0, 1 if shape[1] > 1 else 0, 1 if shape[2] > 1 else 0)
    for i in range(start, stop):
        count = 0
        row = borrowed(neighbors[i])
        x1, x2, x3 = float(x[i, 0]), float(x[i, 1]), float(x[i, 2])
        for da in range(-reach[0], reach[0] + 1):
            a = wrapped(cells[i, 0] + da, shape[0], L[0] > 0.0)
            for db in range(-reach[1], reach[1] + 1):
                b = wrapped(cells[i, 1] + db, shape[1], L[1] > 0.0)
                for dc in range(-reach[2], reach[2] + 1):
                    c = wrapped(cells[i, 2] + dc, shape[2], L[2] > 0.0)
                    if min(a, b, c) < 0:
                        continue
                    k = number(shape, a, b, c)
                    for place in range(first[k], first[k + 1]):
                        if order[place] >= i:
                            break
                        r1 = nearest(x1 - float(sorted_x[place, 0]), float(L[0]), float(per_L[0]))
                        r2 = nearest(x2 - float(sorted_x[place, 1]), float(L[1]), float(per_L[1]))
                        r3 = nearest(x3 - float(sorted_x[place, 2]), float(L[2]), float(per_L[2]))
                        if r1 * r1 + r2 * r2 + r3 * r3 <= square:
                            if count < capacity:
                                row[count] = order[place]
                            count += 1
        counts[i] = count
        most = max(most, count)
    return most


@entry_point(f"i8(i4[:,::1], {COUNTS}, {COUNTS}, {COUNTS}, {INTEGERS})")
def read_by_column(neighbors, counts, starts, stops, others):
    """Transpose the lists of ``find_near``: write to row j all neighbors i > j, ascending; return the longest length.

    Row j is others[starts[j]:stops[j]].
    """
    n = counts.shape[0]
    stops[:] = 0
    for i in range(n):
        for k in range(counts[i]):
            stops[neighbors[i, k]] += 1
    total = 0
    most = 0
    for j in range(n):
        most = max(most, stops[j])
        starts[j] = total
        total += stops[j]
        stops[j] = starts[j]
    for i in range(n):
        for k in range(counts[i]):
            j = neighbors[i, k]
            others[stops[j]] = i
            stops[j] += 1
    return most


@entry_point(f"b1({INPUT}, {INPUT}, f8)")
def all_within(x, reference, square):
    """Return whether no squared distance of x to ``reference`` (n, 3) exceeds ``square``; False if one is NaN."""
    for i in range(x.shape[0]):
        r1, r2, r3 = (
            float(x[i, 0] - reference[i, 0]),
            float(x[i, 1] - reference[i, 1]),
            float(x[i, 2] - reference[i, 2]),
        )
        if not r1 * r1 + r2 * r2 + r3 * r3 <= square:
            return False
    return True


@entry_point(f"Tuple((i8, i8, f8))({INPUT}, {TIMES}, {TIMES}, {COUNTS}, {COUNTS}, {INTEGERS})")
def closest_of(x, L, per_L, starts, stops, others):
    """Return (i, j, distance) of the closest pair of a list; (0, 0, 0) if the list is empty."""
    first, second, least = 0, 0, 0.0
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            j = others[k]
            r1 = nearest(float(x[i, 0]) - float(x[j, 0]), float(L[0]), float(per_L[0]))
            r2 = nearest(float(x[i, 1]) - float(x[j, 1]), float(L[1]), float(per_L[1]))
            r3 = nearest(float(x[i, 2]) - float(x[j, 2]), float(L[2]), float(per_L[2]))
            rr = r1 * r1 + r2 * r2 + r3 * r3
            if second == first or rr < least:
                first, second, least = i, j, rr
    return first, second, least**0.5
