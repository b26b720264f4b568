"""States at times within a step, from the coefficients of a Taylor series: several times at once, in lanes.

A block of samples has the time of each lane, since the beginning of the step and in its unit of time, and seven sums:
the changes of q and u, which become q and m.
"""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import stay_separate
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.graphs import places as at
from polhode.kernels.numbers.lanes import LANES, groups_for, lanes_of

TIME, Q, M = 0, LANES, 5 * LANES  # fields of a block
SAMPLES = 8 * LANES  # length of a block


class Series(NamedTuple):
    """Coefficients of the step of a body."""

    rows: object  # array of all lanes
    order: int
    lane: int
    lanes: int
    m: tuple[float, float, float]  # the state in which the step begins
    q: tuple[float, float, float, float]
    scale: tuple[float, float, float]  # ratios of m to u


@noinline
def evaluate(w, series, count):
    """Compute the states at ``count`` times of the block."""
    stay_separate()
    rows, lanes = series.rows, series.lanes
    groups = groups_for(count)
    for l in range(count, lanes_of(groups)):
        w[TIME + l] = w[TIME + count - 1]
    for l in range(lanes_of(groups)):
        for k in range(7):
            w[Q + k * LANES + l] = 0.0
    n = at.ROW * lanes * series.order + series.lane
    for _ in range(series.order):
        add_order(
            w,
            groups,
            (rows[n], rows[n + lanes], rows[n + 2 * lanes], rows[n + 3 * lanes]),
            (rows[n + 4 * lanes], rows[n + 5 * lanes], rows[n + 6 * lanes]),
        )
        n -= at.ROW * lanes
    add_start(w, groups, series)


@inline
def add_order(w, groups, q, u):
    """Multiply the sums by the time, and add the coefficients of the next lower order."""
    for l in range(lanes_of(groups)):
        x = w[TIME + l]
        w[Q + l] = q[0] + x * w[Q + l]
        w[Q + LANES + l] = q[1] + x * w[Q + LANES + l]
        w[Q + 2 * LANES + l] = q[2] + x * w[Q + 2 * LANES + l]
        w[Q + 3 * LANES + l] = q[3] + x * w[Q + 3 * LANES + l]
        w[M + l] = u[0] + x * w[M + l]
        w[M + LANES + l] = u[1] + x * w[M + LANES + l]
        w[M + 2 * LANES + l] = u[2] + x * w[M + 2 * LANES + l]


@inline
def add_start(w, groups, series):
    """Multiply the sums by the time, and add them to the state in which the step begins."""
    m, q, s = series.m, series.q, series.scale
    for l in range(lanes_of(groups)):
        x = w[TIME + l]
        a, b, c, d = turned(q, (x * w[Q + l], x * w[Q + LANES + l], x * w[Q + 2 * LANES + l], x * w[Q + 3 * LANES + l]))
        w[Q + l], w[Q + LANES + l], w[Q + 2 * LANES + l], w[Q + 3 * LANES + l] = a, b, c, d
        w[M + l] = m[0] + s[0] * (x * w[M + l])
        w[M + LANES + l] = m[1] + s[1] * (x * w[M + LANES + l])
        w[M + 2 * LANES + l] = m[2] + s[2] * (x * w[M + 2 * LANES + l])


@inline
def turned(q, d):
    """Return q + d with the length 1 to rounding, as generated code does: see ``steps``."""
    a, b, c, e = q[0] + d[0], q[1] + d[1], q[2] + d[2], q[3] + d[3]
    # Each sum has one product, so that there is one way to fuse them: all copies of this code must decide alike.
    excess = a * a + (b * b + (c * c + (e * e - 1.0)))
    z = 0.5 * excess if abs(excess) > at.ROUNDING else 0.0
    return q[0] + (d[0] - z * a), q[1] + (d[1] - z * b), q[2] + (d[2] - z * c), q[3] + (d[3] - z * e)


@inline
def sampled(w, l):
    """Return m and q of a lane."""
    m = float(w[M + l]), float(w[M + LANES + l]), float(w[M + 2 * LANES + l])
    return m, (float(w[Q + l]), float(w[Q + LANES + l]), float(w[Q + 2 * LANES + l]), float(w[Q + 3 * LANES + l]))
