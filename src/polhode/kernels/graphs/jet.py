"""Code for steps by Taylor series: interior sums in vector lanes, step rule, polynomials at the end of a step.

Interior sums contain coefficients of lower order only. At one order, those of all nodes, however deep in the graph, are
thus independent of each other, and are computed side by side; only the end terms follow the graph.

Orders come in pairs k, k + 1 with k = 2 n even. With A_j, B_j the rows of coefficients of a group of sums, the loop for

    S_k     = A_n B_n + sum over j = 1..n-1 of (A_j B_(k-j) + A_(k-j) B_j),
    S_(k+1) = A_1 B_k + A_k B_1 + sum over j = 1..n-1 of (A_(j+1) B_(k-j) + A_(k-j) B_(j+1))

runs from j = n - 1 down to 1, so that the latest rows are needed last; A_(j+1) and B_(j+1) are those of the previous
iteration, and each row is loaded once for two orders. The pair (1, k) is added when order k is known.

The lanes of a vector are four sums of one body (``one_body``), or one sum of four bodies (``many_bodies``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.equations import in_unit, place
from polhode.kernels.graphs.functions import functions
from polhode.kernels.graphs.graph import Graph, Kind, computed
from polhode.kernels.graphs.interior_loop import Column, Group, InteriorLoop, fits
from polhode.kernels.graphs.recurrences import Factor, Sum, end_term, sums
from polhode.kernels.graphs.watches import Watch
from polhode.kernels.graphs.writer import LANES, VECTOR, Value, Writer, operand

# The first two parameters are not used: see ``compiler.generated``.
HEAD = """define i32 @generated(ptr %0, ptr %1, i64 %block_at, i64 %rows_at, i64 %work_at, i64 %order, i64 %only) {
begin:
  %block = inttoptr i64 %block_at to ptr
  %rows = inttoptr i64 %rows_at to ptr
  %work = inttoptr i64 %work_at to ptr"""
LARGEST_ORDER = 64
HIGH = [1.0 / max(k, 1) for k in range(LARGEST_ORDER + 1)]
LOW = [(d - k * n) / (k * d) if k else 0.0 for k, (n, d) in enumerate(x.as_integer_ratio() for x in HIGH)]
RECIPROCALS = "\n".join(
    f"@{name} = private constant [{len(numbers)} x double] [{', '.join(f'double {operand(x)}' for x in numbers)}]"
    for name, numbers in (("high", HIGH), ("low", LOW))
)


class Layout:
    """Which sums share the lanes of a vector, and where columns of coefficients are stored."""

    unstored: frozenset[Column] = frozenset()  # columns that are not stored

    def __init__(self, graph: Graph, outputs: Sequence[int], number: str, watches: Sequence[Watch]) -> None:
        self.graph, self.outputs, self.watches = graph, outputs, watches
        self.used = [i for i in graph.used(outputs) if graph.kinds[i] != Kind.CONSTANT]
        self.groups: list[Group] = []
        self.add_groups()
        columns = dict.fromkeys(column for group in self.groups for column in group if column not in self.unstored)
        self.columns = {column: 8 * LANES * place for place, column in enumerate(columns)}  # offset in a row, bytes
        self.size = 8 if number == "double" else 8 * LANES  # bytes of a number
        self.watched = 8 * LANES * len(columns)  # offset in a row of the arguments that are watched
        self.watched_vectors = aligned(self.size * len(watches)) // (8 * LANES)
        self.stride = self.watched + 8 * LANES * self.watched_vectors
        self.previous = self._previous()
        self.limits = aligned(self.size * len(self.previous))  # offset in the work array

    def add_groups(self) -> None:
        """Divide the sums into groups."""
        raise NotImplementedError

    def loops(self) -> list[list[Group]]:
        """Divide the groups into as few loops as registers allow, with about as many groups in each."""
        greedy: list[list[Group]] = []
        for group in self.groups:
            if greedy and fits([*greedy[-1], group]):
                greedy[-1].append(group)
            else:
                greedy.append([group])
        ends = [-(-len(self.groups) * n // len(greedy)) for n in range(len(greedy) + 1)]
        even = [self.groups[first:end] for first, end in pairwise(ends)]
        return even if all(map(fits, even)) else greedy

    def sums(self, i: int) -> list[Sum | None]:
        """Return the interior sums of a node that are computed by loops: those without a linear factor."""
        return [None if pair is None or self.linear(pair) else pair for pair in sums(self.graph, i)]

    def linear(self, pair: Sum) -> tuple[Factor, Factor] | None:
        """Return a factor that is linear in t, whose coefficients vanish from order 2 on, and the other factor."""
        for factor, other in (pair, pair[::-1]):
            if self.graph.kinds[factor.node] == Kind.LINEAR:
                return factor, other
        return None

    def _previous(self) -> dict[int, int]:
        """Return the nodes whose latest coefficient is needed in the next order, and where it is stored."""
        pairs = [self.linear(pair) for i in self.used for pair in sums(self.graph, i) if pair]
        nodes = dict.fromkeys(pair[1].node for pair in pairs if pair)
        return {node: self.size * number for number, node in enumerate(nodes)}


def aligned(size: int) -> int:
    """Return a number of bytes rounded up to whole vectors."""
    return -(-size // (8 * LANES)) * (8 * LANES)


class Order:
    """Coefficients of one order: their code is written when they are needed first."""

    def __init__(
        self, jet: Jet, state: list[Value], k: Value | float, per_k: Value | float, S: list[Value | float]
    ) -> None:
        """Store the vectors of q and u of the order k, the numbers k and 1/k, and the interior sums of all groups."""
        self.jet, self.writer = jet, jet.writer
        self.state = state
        self.k, self._per_k, self.S = k, per_k, S
        self._values: dict[int, Value | float] = {}
        self._columns: dict[Column, Value] = {}

    def column(self, column: Column) -> Value:
        """Return a vector of coefficients."""
        if column not in self._columns:
            self._columns[column] = self.new_column(column)
        return self._columns[column]

    def new_column(self, column: Any) -> Value:
        """Write the code for a vector of coefficients."""
        raise NotImplementedError

    def factor(self, factor: Factor | None) -> Value | float:
        """Return a factor of an interior sum; 0 if there is none."""
        if factor is None:
            return 0.0
        value = self.value(factor.node)
        return value * self.k if factor.primed else value

    def value(self, i: int) -> Value | float:
        """Return the coefficient of a node."""
        if i not in self._values:
            self._values[i] = self.new_value(i)
        return self._values[i]

    def new_value(self, i: int) -> Value | float:
        """Write the code for the coefficient of a node."""
        graph = self.jet.layout.graph
        node = graph.nodes[i]
        if graph.kinds[i] == Kind.CONSTANT:
            return 0.0
        if node.operation == "input":
            return self.input(node.value)
        first = [self.jet.first(argument) for argument in node.arguments]
        now = [self.value(argument) if argument < i else 0.0 for argument in node.arguments]
        return end_term(node, self._sums(i), first, now, self.jet.first(i), self._per_k)

    def input(self, name: str) -> Value | float:
        """Return the coefficient of an input that is not constant."""
        if name == "t":
            return self.jet.unit if self.k == 1.0 else 0.0
        return self.part(name)

    def part(self, name: str) -> Value:
        """Return a component of q or u."""
        raise NotImplementedError

    def _sums(self, i: int) -> list[Value | float]:
        """Return the interior sums of a node."""
        return [0.0 if pair is None or self.k == 1.0 else self._sum(pair) for pair in sums(self.jet.layout.graph, i)]

    def _sum(self, pair: Sum) -> Value | float:
        """Return an interior sum from order 2 on."""
        layout = self.jet.layout
        if (both := layout.linear(pair)) is None:
            return self.sum_in_lanes(pair)
        linear, other = both
        previous = self.writer.load("%previous", layout.previous[other.node], self.jet.number)
        return self.jet.slope(linear.node) * (previous * (self.k - 1.0) if other.primed else previous)

    def sum_in_lanes(self, pair: Sum) -> Value:
        """Return an interior sum that a loop has computed."""
        raise NotImplementedError

    def slopes(self) -> list[Value]:
        """Return the coefficients of dq/dT and du/dT, in the form of the state; those of u are divided by ``kick``."""
        raise NotImplementedError

    def store(self, row: str) -> None:
        """Store all columns in a row."""
        layout = self.jet.layout
        for column, offset in layout.columns.items():
            self.writer.store(self.column(column), row, offset, VECTOR)
        for node, offset in layout.previous.items():
            self.writer.store(self.value(node), "%previous", offset, self.jet.number)
        self.store_watched(row)

    def store_watched(self, row: str) -> None:
        """Store the coefficients of all arguments that are watched in a row."""
        layout = self.jet.layout
        values = [self.value(watch.argument) for watch in layout.watches]
        self.jet.store_numbers(values, row, layout.watched)


class Beginning(Order):
    """Coefficients of order 0: the values themselves."""

    def new_value(self, i: int) -> Value | float:
        """Write the code for the value of a node."""
        graph = self.jet.layout.graph
        node = graph.nodes[i]
        if node.operation == "number":
            return node.value
        if node.operation == "input":
            return self.input(node.value)
        arguments = [self.value(argument) for argument in graph.own_arguments(i)]
        return computed(node, arguments, self.jet.functions)

    def input(self, name: str) -> Value | float:
        """Return the value of an input."""
        if name[0] in "qu":
            return self.part(name)
        number = self.jet.t if name == "t" else self.jet.load_number(place(name))
        return in_unit(name, number, self.jet.unit, self.jet.per_unit)


class Jet(ABC):
    """Writes the part of a step that computes Taylor coefficients; ``steps`` writes the rest.

    The coefficients of q and u are stored in rows of ROW numbers for each body. All arrays are aligned to 32 bytes.
    """

    number: str  # kind of the numbers of a body: a vector, if its lanes are bodies
    order: type[Order]
    beginning: type[Order]
    layout: Layout
    kick: list[Pair]  # factors of the slopes of u

    def __init__(self, in_pairs: bool) -> None:
        self.in_pairs = in_pairs  # constants are sums of two numbers: see `Pair`
        self.writer = Writer()
        self.functions = functions(self.writer)

    @abstractmethod
    def load_state(self, q_place: int, m_place: int) -> list[Value]:
        """Return the vectors of q and of another quantity, such as m, from the block."""

    @abstractmethod
    def store_state(self, state: list[Value], q_place: int, m_place: int) -> None:
        """Store vectors of q and m in the block."""

    @abstractmethod
    def load_slopes(self, place: int) -> list[Value]:
        """Return three numbers of each body as vectors, in the form of u."""

    @abstractmethod
    def store_slopes(self, slopes: list[Value], place: int) -> None:
        """Store three numbers of each body."""

    @abstractmethod
    def weighted(self, u: list[Value]) -> list[Value]:
        """Return vectors of u in units of m."""

    @abstractmethod
    def largest(self, vectors: list[Value]) -> Value:
        """Return the largest magnitude of the components of q, or of u, as a number of each body."""

    def of_some(self, conditions: list[Value]) -> Value:
        """Return whether one of the conditions is true for a body, also if the lanes are its numbers."""
        total = conditions[0]
        for condition in conditions[1:]:
            total = self.writer.either(total, condition)
        return total if self.number == VECTOR else self.writer.anywhere(total)

    def sizes(self, row: str) -> tuple[Value, Value]:
        """Return the largest component of q and of m, in units of inertia, of a row of coefficients."""
        vectors = self.load_row(row)
        q, u = vectors[: self.attitude_parts], vectors[self.attitude_parts :]
        return self.largest(q), self.largest(self.weighted(u))

    @abstractmethod
    def square(self, q: list[Value]) -> Value:
        """Return the sum of the squares of the components of q, as a number of each body."""

    def load_number(self, place: int) -> Value:
        """Return a number of each body from the block."""
        return self.writer.load("%block", self.layout.size * place, self.number)

    def store_number(self, value: Value, place: int) -> None:
        """Store a number of each body in the block."""
        self.writer.store(value, "%block", self.layout.size * place, self.number)

    def spread(self, x: Value) -> Value:
        """Return a number of each body as a factor of vectors of the state."""
        return self.writer.everywhere(x)

    def load_row(self, row: str) -> list[Value]:
        """Return the vectors of a row of coefficients."""
        return [self.writer.load(row, 8 * LANES * n, VECTOR) for n in range(self.parts)]

    @property
    def parts(self) -> int:
        """Number of vectors of a state."""
        return 7 if self.number == VECTOR else 2

    @property
    def attitude_parts(self) -> int:
        """Number of vectors of an attitude."""
        return 4 if self.number == VECTOR else 1

    def store_numbers(self, values: Sequence[Value | float], pointer: str, offset: int) -> None:
        """Store numbers of each body at an offset, and zeros up to the end of the last vector."""
        size = self.layout.size
        rest = (aligned(size * len(values)) - size * len(values)) // size
        for n, value in enumerate([*values, *([0.0] * rest)]):
            self.writer.store(value, pointer, offset + size * n, self.number)

    @property
    def row_size(self) -> int:
        """Number of bytes of a row of coefficients."""
        return self.layout.size * at.ROW

    def work_size(self, order: int) -> int:
        """Return the number of bytes of the work array."""
        return self.head_size + self.layout.stride * order

    @property
    def head_size(self) -> int:
        """Return the number of bytes before the rows of columns."""
        return self.layout.limits + 8 * LANES * self.layout.watched_vectors

    def first(self, i: int) -> Value | float:
        """Return coefficient 0 of a node."""
        return self.zero.value(i)

    def first_column(self, column: Column) -> Value:
        """Return coefficients 0 of a column."""
        return self.zero.column(column)

    def slope(self, i: int) -> Value | float:
        """Return coefficient 1 of a node that is linear in t."""
        return self._one.value(i)

    def write_beginning(self) -> None:
        """Write the code for orders 0 and 1 of q and u at the new state, in the unit of time of the next step."""
        writer = self.writer
        self.t = self.load_number(at.NEW_T)
        self.unit, self.per_unit = writer.power_of_two(self.load_number(at.LENGTH))
        self.new_state = self.load_state(at.NEW_ATTITUDE, at.NEW_MOMENTUM)
        self.begin()
        self._zero_state = self.first_state(self.new_state)
        self.zero = self.beginning(self, self._zero_state, 0.0, inf, [])
        for i in self.layout.used:
            self.zero.value(i)
        for column in self._columns():
            self.zero.column(column)
        self.one_state = self._coefficients(self.zero.slopes(), Pair(1.0, 0.0))

    def write_orders(self) -> None:
        """Write the code for the coefficients of a step that begins at the new state; a block %done follows."""
        self.writer.put("%previous = getelementptr i8, ptr %work, i64 0")
        self._work = self.writer.at("%work", self.head_size)
        self.store_number(self.t, at.T)
        self.store_number(self.unit, at.UNIT)
        self.store_state(self.new_state, at.ATTITUDE, at.MOMENTUM)
        self._begin()
        self._go_on()

    @abstractmethod
    def begin(self) -> None:
        """Load constants of the body."""

    @abstractmethod
    def first_state(self, state: list[Value]) -> list[Value]:
        """Return the vectors q and u of the vectors q and m."""

    def _columns(self) -> list[Column]:
        """Return the columns of all groups."""
        return [column for group in self.layout.groups for column in group]

    def _begin(self) -> None:
        """Store orders 0 and 1 of the state, and write the code for those of all other columns."""
        writer = self.writer
        self._store_row(self._zero_state, "%rows")
        self._store_row(self.one_state, writer.at("%rows", self.row_size))
        self.zero.store_watched(self._work)
        limits = [watch.limit(self.zero.value) for watch in self.layout.watches]
        self.store_numbers(limits, "%work", self.layout.limits)
        self._one = self.order(self, self.one_state, 1.0, 1.0, [0.0] * len(self.layout.groups))
        for column in self._columns():
            self._one.column(column)
        for i in self.layout.used:
            self._one.value(i)
        self._one.store(writer.at(self._work, self.layout.stride))
        self._after_one = self._one.slopes()

    def _coefficients(self, slopes: list[Value], per_k: Pair) -> list[Value]:
        """Return coefficients k of q and u, from slopes of the order before, and 1/k as a factor of vectors."""
        count = len(slopes) - len(self.kick)
        q = [self.times(slope, per_k) for slope in slopes[:count]]  # first, because the next order waits for it
        return q + [self.times(x, self._divided(y, per_k)) for x, y in zip(slopes[count:], self.kick, strict=True)]

    def load_pair(self, high: int, low: int, load: Callable[[int], Value]) -> Pair:
        """Return a constant from two places of the block."""
        return Pair(load(high), load(low) if self.in_pairs else 0.0)

    def _divided(self, kick: Pair, per_k: Pair) -> Pair:
        """Return kick/k, which need not wait for the torque."""
        high = kick.high * per_k.high
        if not self.in_pairs:
            return Pair(high, 0.0)
        low = kick.high * per_k.low + kick.low * per_k.high
        return Pair(high, self.writer.fused(kick.high, per_k.high, -high) + low)

    def times(self, x: Value, pair: Pair) -> Value:
        """Return the product of a number and a pair."""
        return self.writer.fused(x, pair.high, x * pair.low)

    def _store_row(self, state: list[Value], row: str) -> None:
        """Store coefficients of q and u."""
        for n, vector in enumerate(state):
            self.writer.store(vector, row, 8 * LANES * n, VECTOR)

    def _go_on(self) -> None:
        """Write the loop over pairs of orders k, k + 1."""
        writer = self.writer
        before = writer.block
        writer.put("br label %even")
        writer.label("even")
        place_of_phis = len(writer.lines)
        slopes = [Value(writer, f"%slope{n}", VECTOR) for n in range(self.parts)]
        k = self._next_state("%k", slopes, "even")
        sums = self._interior("%k")
        order = self.order(self, *k, sums.even)
        after = order.slopes()
        order.store(self._row("%k"))
        writer.put("%k1 = add i64 %k, 1")
        k1 = self._next_state("%k1", after, "odd")
        order = self.order(self, *k1, self._with_latest(sums.odd, order))
        after = order.slopes()
        order.store(self._row("%k1"))
        writer.put("%k2 = add i64 %k, 2")
        writer.put("br label %even")
        last = writer.block
        writer.lines[place_of_phis:place_of_phis] = [
            f"  %k = phi i64 [ 2, %{before} ], [ %k2, %{last} ]",
            *(
                f"  {slope.name} = phi {VECTOR} [ {a.name}, %{before} ], [ {b.name}, %{last} ]"
                for slope, a, b in zip(slopes, self._after_one, after, strict=True)
            ),
        ]
        writer.label("done")

    def _row(self, k: str) -> str:
        """Return the pointer to the row of columns of an order."""
        offset = self.writer.value(f"mul i64 {k}, {self.layout.stride}")
        return self.writer.at(self._work, offset)

    def reciprocal(self, k: str, part: str = "high") -> Value:
        """Return 1/k, or the low part of it, as a number of each body."""
        number = self.writer.value(f"getelementptr double, ptr @{part}, i64 {k}")
        return self.of_each_body(self.writer.load(number, 0))

    def of_each_body(self, x: Value) -> Value:
        """Return a number as one that each body has."""
        return self.writer.everywhere(x) if self.number == VECTOR else x

    def _next_state(self, k: str, slopes: list[Value], name: str) -> State:
        """Write the code for coefficient k of q and u, and go on to %done if it was the last."""
        writer = self.writer
        number = self.of_each_body(Value(writer, writer.value(f"sitofp i64 {k} to double")))
        per_k = self.reciprocal(k)
        low = self.spread(self.reciprocal(k, "low")) if self.in_pairs else 0.0
        state = self._coefficients(slopes, Pair(self.spread(per_k), low))
        offset = writer.value(f"mul i64 {k}, {self.row_size}")
        self._store_row(state, writer.at("%rows", offset))
        is_last = writer.value(f"icmp eq i64 {k}, %order")
        writer.put(f"br i1 {is_last}, label %done, label %after_{name}")
        writer.label(f"after_{name}")
        return State(state, number, per_k)

    def _interior(self, k: str) -> PairOfSums:
        """Write the loops for the interior sums of orders k and k + 1, without the pair (1, k)."""
        half = self.writer.value(f"lshr i64 {k}, 1")
        even: list[Value | float] = []
        odd: list[Value | float] = []
        for groups in self.layout.loops():
            loop = InteriorLoop(self, k, half, groups)
            even += loop.even
            odd += loop.odd
        return PairOfSums(even, odd)

    def _with_latest(self, odd: list[Value | float], order: Order) -> list[Value | float]:
        """Return the sums of order k + 1, with the pair (1, k)."""
        results = []
        for (left, right), S in zip(self.layout.groups, odd, strict=True):
            A1, A = self._one.column(left), order.column(left)
            if left == right:
                results.append(S + (A1 + A1) * A)
            else:
                results.append(S + A1 * order.column(right) + A * self._one.column(right))
        return results

    def load_columns(self, columns: Sequence[Column], j: str) -> dict[Column, Value]:
        """Return columns of coefficients j."""
        row = self._row(j)
        return {column: self.load_column(column, j, row) for column in columns}

    def load_column(self, column: Column, j: str, row: str) -> Value:
        """Return a column of coefficients j, from its row."""
        return self.writer.load(row, self.layout.columns[column], VECTOR)


class Pair(NamedTuple):
    """A constant as the sum of two numbers: an error that is the same in every step makes the motion drift.

    The low part is 0 in code for tolerances that are far above rounding.
    """

    high: Value | float
    low: Value | float


class State(NamedTuple):
    """Coefficients q and u of an order k, and the numbers k and 1/k."""

    state: list[Value]
    number: Value
    per_number: Value


class PairOfSums(NamedTuple):
    """Interior sums of all groups, of two orders."""

    even: list[Value | float]
    odd: list[Value | float]
