"""Steps of one body by Taylor series in plain Python: what generated code does (``steps``), for floats."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import frexp, inf, isfinite, ldexp
from typing import Any

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.equations import ATTITUDES, TURNS, Equations, in_unit, place
from polhode.kernels.graphs.recurrences import Series, series
from polhode.kernels.graphs.step_rule import Floats, Sizes, end_of, rule
from polhode.kernels.graphs.steps import MOST_GROWTH, NO_TURN
from polhode.kernels.graphs.watches import watches

Numbers = MutableSequence[float]


class PlainSteps:
    """The function of ``steps`` for one body; it makes steps until the body needs the attention of the caller.

    The work array has the squares of limits of watched arguments, and then their coefficients, order by order.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self.watches = watches(equations.graph, equations.g)

    @property
    def places(self) -> tuple[int, int, int]:
        """Return where the work array has limits and coefficients, and the length of a row of these."""
        count = len(self.watches)
        return 0, count, count

    def work_size(self, order: int) -> int:
        """Return the length of the work array."""
        return len(self.watches) * (order + 1)

    def __call__(self, block: Numbers, rows: Numbers, work: Numbers, order: int, only: int) -> None:
        """Make steps, compute coefficients, or make a trial."""
        if only == at.TRIAL:
            self._end_step(block, rows, work, order)
            return
        while True:
            self._begin_step(block, rows, work, order)
            if only == at.COEFFICIENTS:
                return
            _choose_length(block, rows, order)
            self._end_step(block, rows, work, order)
            if _needs_attention(block):
                return

    def _begin_step(self, block: Numbers, rows: Numbers, work: Numbers, order: int) -> None:
        """Write the coefficients of a step that begins at the new state."""
        block[at.ATTITUDE : at.ATTITUDE + 4] = block[at.NEW_ATTITUDE : at.NEW_ATTITUDE + 4]
        block[at.MOMENTUM : at.MOMENTUM + 3] = block[at.NEW_MOMENTUM : at.NEW_MOMENTUM + 3]
        block[at.T] = block[at.NEW_T]
        block[at.UNIT] = unit_below(block[at.LENGTH])
        found = coefficients(self._equations, block, order)
        for k in range(order + 1):
            rows[at.ROW * k : at.ROW * k + 7] = [*found.q[k], *found.u[k]]
        count = len(self.watches)
        for n, watch in enumerate(self.watches):
            work[n] = watch.limit(lambda i: found.nodes[i][0])
            for k in range(order):
                work[count * (k + 1) + n] = found.nodes[watch.argument][k]

    def _end_step(self, block: Numbers, rows: Numbers, work: Numbers, order: int) -> None:
        """Write the state at the end of a step, and whether there is doubt about it."""
        unit = block[at.UNIT]
        x = (block[at.NEW_T] - block[at.T]) / unit
        q, u = ([list(rows[at.ROW * k + n : at.ROW * k + m]) for k in range(order + 1)] for n, m in ((0, 4), (4, 7)))
        dq, du = _change(q, x), _change(u, x)
        q_sum = [a + d for a, d in zip(q[0], dq, strict=True)]
        excess = sum(a * a for a in q_sum) - 1.0
        z = 0.5 * excess if abs(excess) > at.ROUNDING else 0.0
        for i in range(4):
            block[at.NEW_ATTITUDE + i] = q[0][i] + (dq[i] - z * q_sum[i])
        for i in range(3):
            block[at.NEW_MOMENTUM + i] = block[at.MOMENTUM + i] + 2.0 / unit * block[at.INERTIA + i] * du[i]
        block[at.DOUBT] = at.DOUBTFUL if self._is_doubtful(work, order, abs(x)) else 0.0
        if self._is_wrong(block, _slope(u, x)):
            block[at.DOUBT] = at.WRONG

    def _is_doubtful(self, work: Numbers, order: int, x: float) -> bool:
        """Return whether a watched argument changes more than its limit up to the time x."""
        count = len(self.watches)
        for n in range(count):
            change = 0.0
            for k in range(order - 1, 0, -1):
                change = x * (abs(work[count * (k + 1) + n]) + change)
            if change * change > work[n]:
                return True
        return False

    def _is_wrong(self, block: Numbers, predicted: Sequence[float]) -> bool:
        """Return whether the series misses the slopes of u at the end of the step."""
        trial = list(block)
        trial[at.ATTITUDE : at.ATTITUDE + 8] = block[at.NEW_ATTITUDE : at.NEW_ATTITUDE + 8]
        trial[at.T] = block[at.NEW_T]
        found = coefficients(self._equations, trial, 1).u[1]
        missed = [a - b for a, b in zip(predicted, found, strict=True)]
        if not all(map(isfinite, missed)):
            return True
        reach = abs(block[at.REACH]) / block[at.UNIT]
        of_m = reach * max(abs(block[at.WEIGHT + i] * x) for i, x in enumerate(missed))
        turn = reach * max(map(abs, missed)) * block[at.LENGTH] / block[at.UNIT]
        return of_m > block[at.BOUND] * block[at.SIZE] and turn > NO_TURN


def unit_below(length: float) -> float:
    """Return the power of two below a length."""
    return ldexp(1.0, frexp(length)[1] - 1)


def _choose_length(block: Numbers, rows: Numbers, order: int) -> None:
    """Write the end of a step, and what is needed to verify it."""
    unit = block[at.UNIT]
    q = [max(abs(x) for x in rows[at.ROW * k : at.ROW * k + 4]) for k in (order - 1, order)]
    m = [max(abs(block[at.WEIGHT + i] * rows[at.ROW * k + 4 + i]) for i in range(3)) for k in range(order + 1)]
    sizes = Sizes(*q, m[order - 1], m[order], (m[0], m[1], m[2], m[3]))
    radius, size = rule(Floats, sizes, 1.0 / (order - 1), 1.0 / order)
    length = unit * radius * block[at.FACTOR]
    allowed, growth = min(length, block[at.LONGEST]), block[at.GROWTH]
    block[at.GROWTH] = at.RECOVERY * growth if growth < allowed else inf
    block[at.NEW_T] = end_of(Floats, block[at.T], min(allowed, growth), block[at.END])
    block[at.REACH] = block[at.NEW_T] - block[at.T]
    block[at.SIZE] = size
    block[at.LENGTH] = min(length, MOST_GROWTH * unit)
    block[at.LEFT] -= 1.0


def _needs_attention(block: Numbers) -> bool:
    """Return whether the body has reached a time, or cannot go on without the caller."""
    t = block[at.NEW_T]
    state = [*block[at.NEW_ATTITUDE : at.NEW_ATTITUDE + 4], *block[at.NEW_MOMENTUM : at.NEW_MOMENTUM + 3]]
    is_reached = block[at.SIGN] * t >= block[at.SIGN] * block[at.NEXT]
    ends = is_reached or t == block[at.T] or block[at.LEFT] <= 0.0 or block[at.DOUBT] > 0.0
    return ends or not all(map(isfinite, state))


def coefficients(equations: Equations, block: Any, order: int) -> Series:
    """Return the Taylor coefficients of a step that begins with the state and unit of time of a block."""
    unit = float(block[at.UNIT])
    names = {*equations.graph.inputs(equations.g), *ATTITUDES} - set(TURNS)
    names |= {f"c{kind}{i}" for kind in ("gyro", "kick") for i in range(3)}
    values = {name: in_unit(name, float(block[place(name)]), unit, 1.0 / unit) for name in names}
    turns = {name: 0.5 * unit * float(block[at.MOMENTUM + i] / block[at.INERTIA + i]) for i, name in enumerate(TURNS)}
    return series(equations, values | turns, unit, order)


def _change(rows: Sequence[Sequence[float]], x: float) -> list[float]:
    """Return a polynomial at x without its first coefficient."""
    result = [0.0] * len(rows[0])
    for row in rows[:0:-1]:
        result = [x * (a + b) for a, b in zip(row, result, strict=True)]
    return result


def _slope(rows: Sequence[Sequence[float]], x: float) -> list[float]:
    """Return the derivative of a polynomial at x."""
    result = [0.0] * len(rows[0])
    for k in range(len(rows) - 1, 0, -1):
        result = [k * a + x * b for a, b in zip(rows[k], result, strict=True)]
    return result
