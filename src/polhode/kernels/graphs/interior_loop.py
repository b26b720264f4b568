"""Code for interior sums: loops over rows of coefficients of a few groups of sums; formulas are those of ``jet``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from polhode.kernels.graphs.writer import VECTOR, Value

if TYPE_CHECKING:
    from polhode.kernels.graphs.jet import Jet

REGISTERS = 13  # for the sums and columns of a loop; three more hold what is loaded
Column = Hashable  # a vector of coefficients


class Group(NamedTuple):
    """Interior sums in the lanes of a vector, by the columns of their factors; these are the same for squares."""

    left: Column
    right: Column


def fits(groups: Sequence[Group], sums: int = 2) -> bool:
    """Return whether registers suffice for a loop: for so many sums of each group, and for a row of all columns."""
    columns = {column for group in groups for column in group}
    return sums * len(groups) + len(columns) <= REGISTERS


class InteriorLoop:
    """Loop for the interior sums of a few groups; see the formulas of ``jet``.

    If registers suffice, both products of a pair have sums of their own, so that they need not wait for each other.
    """

    def __init__(self, jet: Jet, k: str, half: str, groups: list[Group]) -> None:
        """Write the loop."""
        self._jet = jet
        self._groups = groups
        self._columns = list(dict.fromkeys(column for group in groups for column in group))
        self._sums = 4 if fits(groups, 4) else 2  # of each group: of even and odd order, and of the other products
        writer = jet.writer
        name = writer.name()
        middle = jet.load_columns(self._columns, half)
        names = [f"%{name}_{n}" for n in range(self._sums * len(groups) + len(self._columns))]
        zero = writer.vector([])
        start = [*([zero] * (self._sums * len(groups))), *middle.values()]
        before = writer.block
        writer.put(f"br label %head{name}")
        writer.label(f"head{name}")
        phis = len(writer.lines)
        values = [Value(writer, one, VECTOR) for one in names]
        writer.put(f"%j{name} = add i64 %i{name}, -1")
        go_on = writer.value(f"icmp ugt i64 %i{name}, 1")
        writer.put(f"br i1 {go_on}, label %body{name}, label %end{name}")
        writer.label(f"body{name}")
        end = self._iteration(values, f"%j{name}", writer.value(f"sub i64 {k}, %j{name}"))
        writer.put(f"br label %head{name}")
        writer.lines[phis:phis] = [
            f"  %i{name} = phi i64 [ {half}, %{before} ], [ %j{name}, %body{name} ]",
            *(
                f"  {value.name} = phi {VECTOR} [ {a.name}, %{before} ], [ {b.name}, %body{name} ]"
                for value, a, b in zip(values, start, end, strict=True)
            ),
        ]
        writer.label(f"end{name}")
        totals = [self._totals(group, values, n) for n, group in enumerate(groups)]
        self.even = [
            even + middle[left] * middle[right] for (left, right), (even, _) in zip(groups, totals, strict=True)
        ]
        self.odd = [odd for _, odd in totals]

    def _iteration(self, values: list[Value], j: str, rest: str) -> list[Value]:
        """Write an iteration; return the sums, and the columns for the next iteration."""
        count = self._sums * len(self._groups)
        before = dict(zip(self._columns, values[count:], strict=True))  # coefficients j + 1
        low, high = (self._jet.load_columns(self._columns, row) for row in (j, rest))
        results = values[:count]
        for n, (left, right) in enumerate(self._groups):
            first = self._sums * n
            results[first] += low[left] * high[right]
            results[first + 1] += before[left] * high[right]
            if left != right:
                last = first + self._sums - 2
                results[last] += high[left] * low[right]
                results[last + 1] += high[left] * before[right]
        return [*results, *low.values()]

    def _totals(self, group: Group, values: list[Value], n: int) -> tuple[Value, Value]:
        """Return the sums of even and odd order of a group, of all pairs j, k - j; those of squares are added once."""
        even, odd = values[self._sums * n : self._sums * n + 2]
        if group.left == group.right:
            return even + even, odd + odd
        if self._sums == 2:
            return even, odd
        other_even, other_odd = values[self._sums * n + 2 : self._sums * n + 4]
        return even + other_even, odd + other_odd
