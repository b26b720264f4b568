"""Steps of one body by Taylor series in plain Python: what generated code does (``steps``), for floats."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import frexp, isfinite, ldexp
from typing import Any

from polhode.kernels.graphs.equations import (
    ATTITUDE,
    ATTITUDES,
    END,
    FACTOR,
    INERTIA,
    LEFT,
    LENGTH,
    LONGEST,
    MOMENTUM,
    NEW_ATTITUDE,
    NEW_MOMENTUM,
    NEW_T,
    NEXT,
    ROUNDING,
    ROW,
    SIGN,
    TURNS,
    UNIT,
    WEIGHT,
    Equations,
    T,
    in_unit,
    place,
)
from polhode.kernels.graphs.recurrences import Series, series
from polhode.kernels.graphs.step_rule import Floats, Sizes, end_of, radius
from polhode.kernels.graphs.steps import MOST_GROWTH

Numbers = MutableSequence[float]


def plain_steps(equations: Equations, block: Numbers, rows: Numbers, work: Any, order: int, only: int) -> None:
    """Make steps until the body needs the attention of the caller; or compute coefficients only."""
    while True:
        block[ATTITUDE : ATTITUDE + 4] = block[NEW_ATTITUDE : NEW_ATTITUDE + 4]
        block[MOMENTUM : MOMENTUM + 3] = block[NEW_MOMENTUM : NEW_MOMENTUM + 3]
        block[T] = block[NEW_T]
        block[UNIT] = ldexp(1.0, frexp(block[LENGTH])[1] - 1)
        found = coefficients(equations, block, order)
        for k in range(order + 1):
            rows[ROW * k : ROW * k + 7] = [*found.q[k], *found.u[k]]
        if only:
            return
        _make_step(block, found, order)
        t, is_reached = block[NEW_T], block[SIGN] * block[NEW_T] >= block[SIGN] * block[NEXT]
        state = [*block[NEW_ATTITUDE : NEW_ATTITUDE + 4], *block[NEW_MOMENTUM : NEW_MOMENTUM + 3]]
        if is_reached or t == block[T] or block[LEFT] <= 0.0 or not all(map(isfinite, state)):
            return


def coefficients(equations: Equations, block: Any, order: int) -> Series:
    """Return the Taylor coefficients of a step that begins with the state and unit of time of a block."""
    unit = float(block[UNIT])
    names = {*equations.graph.inputs(equations.g), *ATTITUDES} - set(TURNS)
    names |= {f"c{kind}{i}" for kind in ("gyro", "kick") for i in range(3)}
    values = {name: in_unit(name, float(block[place(name)]), unit, 1.0 / unit) for name in names}
    turns = {name: 0.5 * unit * float(block[MOMENTUM + i] / block[INERTIA + i]) for i, name in enumerate(TURNS)}
    return series(equations, values | turns, unit, order)


def _make_step(block: Numbers, found: Series, order: int) -> None:
    """Write the end of a step to the block."""
    unit = block[UNIT]
    q = [max(map(abs, row)) for row in found.q]
    m = [max(abs(block[WEIGHT + i] * x) for i, x in enumerate(row)) for row in found.u]
    sizes = Sizes(q[order - 1], q[order], m[order - 1], m[order], (m[0], m[1], m[2], m[3]))
    length = unit * radius(Floats, sizes, 1.0 / (order - 1), 1.0 / order) * block[FACTOR]
    t = end_of(Floats, block[T], min(length, block[LONGEST]), block[END])
    block[NEW_T] = t
    block[LENGTH] = min(length, MOST_GROWTH * unit)
    block[LEFT] -= 1.0
    x = (t - block[T]) / unit
    dq, du = (_change(rows, x) for rows in (found.q, found.u))
    q_sum = [a + d for a, d in zip(found.q[0], dq, strict=True)]
    excess = sum(a * a for a in q_sum) - 1.0
    z = 0.5 * excess if abs(excess) > ROUNDING else 0.0
    for i in range(4):
        block[NEW_ATTITUDE + i] = found.q[0][i] + (dq[i] - z * q_sum[i])
    for i in range(3):
        block[NEW_MOMENTUM + i] = block[MOMENTUM + i] + 2.0 / unit * block[INERTIA + i] * du[i]


def _change(rows: Sequence[Sequence[float]], x: float) -> list[float]:
    """Return a polynomial at x without its first coefficient."""
    result = [0.0] * len(rows[0])
    for row in rows[:0:-1]:
        result = [x * (a + b) for a, b in zip(row, result, strict=True)]
    return result
