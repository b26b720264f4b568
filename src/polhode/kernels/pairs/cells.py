"""Which bodies are near each other: a grid of cells, and a list of pairs whose order depends on nothing but numbers.

Bodies lie in a box of lengths L that repeats itself, or in open space along axes with L = 0. The nearest image is

    r - L round(r/L)                                                                                             (1)

Cells are at least as wide as the distance that is looked for, so that neighbors of a body are in the 27 cells around
its own; along an axis with fewer than three cells that repeat there is one cell, which holds them all.

The search finds for each i its neighbors j < i, in the order of the cells. Read by j (a transposition, as of sparse
matrices), each row has its i > j in ascending order: no sorting, and the same list from any grid.
"""

from __future__ import annotations

from math import floor

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.numba_internals import borrowed
from polhode.kernels.exact.standard_form import INPUT, TIMES

INTEGERS = "i4[::1]"
COUNTS = "i8[::1]"
TO_WHOLE = 1.5 * 2.0**52  # added and taken away again, it rounds to a whole number


@inline
def nearest(r, L, per_L):
    """(1); per_L is 1/L, or 0 where L is 0."""
    return r - L * ((r * per_L + TO_WHOLE) - TO_WHOLE)


@entry_point(f"void({INPUT}, {TIMES}, {TIMES}, {COUNTS}, i8[:,::1], {COUNTS}, {COUNTS}, f8[:,::1])")
def fill_cells(x, low, per_length, shape, cells, first, order, sorted_x):
    """The cell of each body, cells (n, 3); order: their numbers by cells, ascending in each; first: where it begins."""
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
    for i in range(n - 1, -1, -1):  # backward, and places are taken from the end of each cell
        k = number(shape, cells[i, 0], cells[i, 1], cells[i, 2]) + 1
        first[k] -= 1
        order[first[k]] = i
        for c in range(3):
            sorted_x[first[k], c] = x[i, c]


@inline
def number(shape, a, b, c):
    return (a * shape[1] + b) * shape[2] + c


@inline
def wrapped(a, size, repeats):
    """The cell that number a, one outside at most, stands for; -1: none."""
    if 0 <= a < size:
        return a
    return a % size if repeats else -1


@entry_point(
    f"i8({INPUT}, {TIMES}, {TIMES}, {COUNTS}, i8[:,::1], {COUNTS}, {COUNTS}, {INPUT}, f8, i8, i8, i4[:,::1], {COUNTS})"
)
def find_near(x, L, per_L, shape, cells, first, order, sorted_x, square, start, stop, found, counts):
    """Neighbors j < i of bodies start..stop into found (n, .), as many as fit; counts (n,). Returns the largest count.

    ``first`` begins one place later than that of ``fill_cells``: first[k] and first[k + 1] are the ends of cell k.
    """
    most = 0
    room = found.shape[1]
    reach = (1 if shape[0] > 1 else 0, 1 if shape[1] > 1 else 0, 1 if shape[2] > 1 else 0)
    for i in range(start, stop):
        count, row = 0, borrowed(found[i])
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
                            if count < room:
                                row[count] = order[place]
                            count += 1
        counts[i] = count
        most = max(most, count)
    return most


@entry_point(f"i8(i4[:,::1], {COUNTS}, {COUNTS}, {COUNTS}, {INTEGERS})")
def read_by_column(found, counts, starts, stops, others):
    """Rows j of all i > j that found j, ascending; returns the length of the longest."""
    n = counts.shape[0]
    stops[:] = 0
    for i in range(n):
        for k in range(counts[i]):
            stops[found[i, k]] += 1
    total, most = 0, 0
    for j in range(n):
        most = max(most, stops[j])
        starts[j], total = total, total + stops[j]
        stops[j] = starts[j]
    for i in range(n):
        for k in range(counts[i]):
            j = found[i, k]
            others[stops[j]] = i
            stops[j] += 1
    return most


@entry_point(f"b1({INPUT}, {INPUT}, f8)")
def all_within(x, where, square):
    """Whether no body is further from where it was; False if one is nowhere."""
    for i in range(x.shape[0]):
        r1, r2, r3 = float(x[i, 0] - where[i, 0]), float(x[i, 1] - where[i, 1]), float(x[i, 2] - where[i, 2])
        if not r1 * r1 + r2 * r2 + r3 * r3 <= square:
            return False
    return True


@entry_point(f"Tuple((i8, i8, f8))({INPUT}, {TIMES}, {TIMES}, {COUNTS}, {COUNTS}, {INTEGERS})")
def closest_of(x, L, per_L, starts, stops, others):
    """(i, j, distance) of the two bodies of a list that are nearest to each other; (0, 0, 0) if it is empty."""
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
