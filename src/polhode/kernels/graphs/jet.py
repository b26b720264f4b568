"""Code for the Taylor coefficients of one body: interior sums in vector lanes, four at a time.

Interior sums contain coefficients of lower order only. At one order, those of all nodes, however deep in the graph, are
thus independent of each other, and are computed side by side; only the end terms follow the graph. Sums of products of
the same depth form groups, whose end terms are computed in lanes, too.

Orders come in pairs k, k + 1 with k = 2 n even. With A_j, B_j the rows of coefficients of a group, the loop for

    S_k     = A_n B_n + sum over j = 1..n-1 of (A_j B_(k-j) + A_(k-j) B_j),
    S_(k+1) = A_1 B_k + A_k B_1 + sum over j = 1..n-1 of (A_(j+1) B_(k-j) + A_(k-j) B_(j+1))

runs from j = n - 1 down to 1, so that the latest rows are needed last; A_(j+1) and B_(j+1) are those of the previous
iteration, and each row is loaded once for two orders. The pair (1, k) is added when order k is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from polhode.kernels.graphs.equations import ATTITUDES, GYRO, KICK, TURNS, UNIT, Equations, place
from polhode.kernels.graphs.graph import Kind, computed
from polhode.kernels.graphs.recurrences import Factor, Sum, end_term, sums
from polhode.kernels.graphs.writer import LANES, VECTOR, Value, Writer, functions, operand

MOST_GROUPS = 3  # in one loop: two sums and two rows of each stay in registers
# The first two parameters are not used: see ``compiler.generated``.
HEAD = """define i32 @generated(ptr %0, ptr %1, i64 %inputs_at, i64 %rows_at, i64 %work_at, i64 %order) {
begin:
  %inputs = inttoptr i64 %inputs_at to ptr
  %rows = inttoptr i64 %rows_at to ptr
  %work = inttoptr i64 %work_at to ptr"""
LARGEST_ORDER = 64
NUMBERS = ", ".join(f"double {operand(1.0 / max(k, 1), 'double')}" for k in range(LARGEST_ORDER + 1))
RECIPROCALS = f"@reciprocals = private constant [{LARGEST_ORDER + 1} x double] [{NUMBERS}]"
ROW = 8 * 2 * LANES  # bytes of a row of coefficients of q and u
# The product q u is the sum of these three vectors, each with signs, times u_0, u_1 and u_2.
TURNED = (
    ((1, 0, 3, 2), (-1.0, 1.0, 1.0, -1.0)),
    ((2, 3, 0, 1), (-1.0, -1.0, 1.0, 1.0)),
    ((3, 2, 1, 0), (-1.0, 1.0, -1.0, 1.0)),
)
NEXT, AFTER_NEXT = (1, 2, 0, 3), (2, 0, 1, 3)  # lanes of the components j and k of u in du_i/dT

Lane = Factor | None
Lanes = tuple[Lane, ...]
Column = str | Lanes  # a vector of coefficients: one of those of q and u, by name, or of nodes


class Group(NamedTuple):
    """Up to four interior sums, by the columns of their factors; these are the same if all products are squares."""

    left: Column
    right: Column


# The groups of q u, whose right factors are components of u in all lanes, and that of u_j u_k.
RIGID = (Group("q0", "u0"), Group("q1", "u1"), Group("q2", "u2"), Group("next", "after"))
BROADCAST = {"u0": 0, "u1": 1, "u2": 2}  # columns that are not stored: numbers of a row of u


class Layout:
    """Which sums share the lanes of a vector, and where columns of coefficients are stored."""

    def __init__(self, equations: Equations) -> None:
        self.graph = equations.graph
        self.used = [i for i in self.graph.used(equations.g) if self.graph.kinds[i] != Kind.CONSTANT]
        self.groups: list[Group] = list(RIGID)
        self.lanes: dict[Sum, tuple[int, int]] = {}  # group and lane of a sum
        self.products: dict[int, tuple[int, int]] = {}  # group and lane of nodes whose end terms are computed in lanes
        self._group_sums()
        columns = dict.fromkeys(column for group in self.groups for column in group if column not in BROADCAST)
        self.columns = {column: 8 * LANES * number for number, column in enumerate(columns)}  # offset in a row, bytes
        self.previous = self._previous()
        self.stride = 8 * LANES * len(columns)

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
        return {node: 8 * number for number, node in enumerate(nodes)}

    def _group_sums(self) -> None:
        """Divide the sums into groups; products of the same depth come first, and the others follow."""
        products: dict[tuple[int, bool], list[int]] = {}
        others: list[Sum] = []
        depths: dict[int, int] = {}
        for i in self.used:
            needed = [pair for pair in self.sums(i) if pair]
            below = [depths.get(argument, 0) for argument in self.graph.own_arguments(i)]
            depths[i] = max(below, default=0) + bool(needed)
            operation = self.graph.nodes[i].operation
            if operation in ("multiply", "square") and needed:
                products.setdefault((depths[i], operation == "square"), []).append(i)
            else:
                others.extend(needed)
        for nodes in products.values():
            for first in range(0, len(nodes), LANES):
                others.extend(self._add_products(nodes[first : first + LANES]))
        rest = [pair for pair in others if not self._fill_lane(pair)]
        for first in range(0, len(rest), LANES):
            self._add_group(rest[first : first + LANES])

    def _add_products(self, nodes: list[int]) -> list[Sum]:
        """Add a group of products; return the sum of a single one, for which a group does not pay."""
        pairs = [pair for i in nodes for pair in self.sums(i) if pair]
        if len(pairs) == 1:
            return pairs
        for lane, i in enumerate(nodes):
            self.products[i] = len(self.groups), lane
        self._add_group(pairs)
        return []

    def _fill_lane(self, pair: Sum) -> bool:
        """Put a sum into a free lane of a group of products, if there is one; squares stay among themselves."""
        for number, (left, right) in enumerate(self.groups[len(RIGID) :], len(RIGID)):
            if None not in left or (left == right and pair[0] != pair[1]):
                continue
            lane = left.index(None)
            self.groups[number] = Group(_with(left, lane, pair[0]), _with(right, lane, pair[1]))
            self.lanes[pair] = number, lane
            return True
        return False

    def _add_group(self, pairs: Iterable[Sum]) -> None:
        """Add a group of sums."""
        left: list[Lane] = [None] * LANES
        right: list[Lane] = [None] * LANES
        for lane, pair in enumerate(pairs):
            self.lanes[pair] = len(self.groups), lane
            left[lane], right[lane] = pair
        self.groups.append(Group(tuple(left), tuple(right)))


def _with(lanes: Lanes, lane: int, factor: Factor) -> Lanes:
    """Return lanes, one of them replaced."""
    return (*lanes[:lane], factor, *lanes[lane + 1 :])


class Order:
    """Coefficients of one order: their code is written when they are needed first."""

    def __init__(
        self, jet: Jet, state: tuple[Value, Value], k: Value | float, per_k: Value | float, S: list[Value | float]
    ) -> None:
        """Store the vectors q and u of the order k, the numbers k and 1/k, and the interior sums of all groups."""
        self._jet, self._writer, self._layout = jet, jet.writer, jet.layout
        self.q, self.u = state
        self._k, self._per_k, self._S = k, per_k, S
        self._values: dict[int, Value | float] = {}
        self._columns: dict[Column, Value] = {}
        self._begun: dict[Column, Value] = {}  # vectors in which lanes are missing
        self._results: dict[int, Value] = {}

    def column(self, column: Column) -> Value:
        """Return a vector of coefficients."""
        if column not in self._columns:
            self._columns[column] = self._new_column(column)
        return self._columns[column]

    def column_of_products(self, column: Column, group: int) -> Value:
        """Return a vector with the factors of the products of a group; other lanes may depend on these."""
        if not isinstance(column, tuple) or column in self._columns:
            return self.column(column)
        if column not in self._begun:
            lanes = {lane for number, lane in self._layout.products.values() if number == group}
            factors = [factor if lane in lanes else None for lane, factor in enumerate(column)]
            self._begun[column] = self._writer.vector([self.factor(factor) for factor in factors])
        return self._begun[column]

    def _new_column(self, column: Column) -> Value:
        """Write the code for a vector of coefficients."""
        writer = self._writer
        if isinstance(column, tuple):
            return writer.vector([self.factor(factor) for factor in column])
        if column in BROADCAST:
            return writer.shuffled(self.u, (BROADCAST[column],) * LANES)
        if column[0] == "q":
            lanes, signs = TURNED[int(column[1])]
            return writer.with_signs(writer.shuffled(self.q, lanes), signs)
        return writer.shuffled(self.u, NEXT if column == "next" else AFTER_NEXT)

    def factor(self, factor: Lane) -> Value | float:
        """Return a factor of an interior sum; 0 if there is none."""
        if factor is None:
            return 0.0
        value = self.value(factor.node)
        return value * self._k if factor.primed else value

    def value(self, i: int) -> Value | float:
        """Return the coefficient of a node."""
        if i not in self._values:
            self._values[i] = self._new_value(i)
        return self._values[i]

    def _new_value(self, i: int) -> Value | float:
        """Write the code for the coefficient of a node."""
        graph = self._layout.graph
        node = graph.nodes[i]
        if graph.kinds[i] == Kind.CONSTANT:
            return 0.0
        if node.operation == "input":
            return self._input(node.value)
        if i in self._layout.products:
            group, lane = self._layout.products[i]
            return self._writer.lane(self.product(group), lane)
        first = [self._jet.first(argument) for argument in node.arguments]
        now = [self.value(argument) if argument < i else 0.0 for argument in node.arguments]
        return end_term(node, self._sums(i), first, now, self._jet.first(i), self._per_k)

    def _input(self, name: str) -> Value | float:
        """Return the coefficient of an input."""
        if name == "t":
            return self._jet.unit if self._k == 1.0 else 0.0
        return self._writer.lane(self.q if name[0] == "q" else self.u, int(name[1]))

    def _sums(self, i: int) -> list[Value | float]:
        """Return the interior sums of a node."""
        return [0.0 if pair is None or self._k == 1.0 else self._sum(pair) for pair in sums(self._layout.graph, i)]

    def _sum(self, pair: Sum) -> Value | float:
        """Return an interior sum from order 2 on."""
        if (both := self._layout.linear(pair)) is None:
            group, lane = self._layout.lanes[pair]
            return self._writer.lane(self._S[group], lane)
        linear, other = both
        previous = self._writer.load("%previous", self._layout.previous[other.node])
        return self._jet.slope(linear.node) * (previous * (self._k - 1.0) if other.primed else previous)

    def product(self, group: int) -> Value:
        """Return the products of a group."""
        if group not in self._results:
            left, right = self._layout.groups[group]
            A0, A = self._jet.first_column(left), self.column_of_products(left, group)
            S = self._S[group]
            if left == right:
                self._results[group] = S + (A0 + A0) * A
            else:
                B = self.column_of_products(right, group)
                self._results[group] = S + A0 * B + A * self._jet.first_column(right)
        return self._results[group]

    def slopes(self, equations: Equations) -> tuple[Value, Value]:
        """Return the coefficients of dq/dT and du/dT."""
        turned = self.product(0) + self.product(1) + self.product(2)
        g = self._writer.vector([self.value(i) for i in equations.g])
        return turned, self._jet.kick * (self._jet.gyro * self.product(3) + g)

    def store(self, row: str) -> None:
        """Store all columns in a row."""
        for column, offset in self._layout.columns.items():
            self._writer.store(self.column(column), row, offset, VECTOR)
        for node, offset in self._layout.previous.items():
            self._writer.store(self.value(node), "%previous", offset)


class Beginning(Order):
    """Coefficients of order 0: the values themselves."""

    def _new_value(self, i: int) -> Value | float:
        """Write the code for the value of a node."""
        writer, graph = self._writer, self._layout.graph
        node = graph.nodes[i]
        if node.operation == "number":
            return node.value
        if node.operation == "input":
            return writer.load("%inputs", 8 * place(node.value))
        arguments = [self.value(argument) for argument in graph.own_arguments(i)]
        return computed(node, arguments, functions(writer))

    def product(self, group: int) -> Value:
        """Return the products of a group."""
        left, right = self._layout.groups[group]
        return self.column(left) * self.column(right)


class Jet:
    """Writes the function ``jet(inputs, rows, work, order)``.

    From the inputs of a step (see ``equations.place``) it computes the coefficients of q and u up to an order, and
    stores them as rows of eight numbers, of which the last is not used. All arrays are aligned to 32 bytes.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.layout = Layout(equations)
        self.writer = Writer()
        self._columns = [column for group in self.layout.groups for column in group]

    def text(self) -> str:
        """Return the code of the function as text of LLVM; see ``compiler.generated``."""
        self._begin()
        self._go_on()
        body = "\n".join(self.writer.lines)
        declared = "\n".join((RECIPROCALS, *sorted(self.writer.called)))
        return f"{declared}\n{HEAD}\n{body}\n}}\n"

    def work_size(self, order: int) -> int:
        """Return the number of bytes of the work array."""
        return self._head_size + self.layout.stride * order

    @property
    def _head_size(self) -> int:
        """Return the number of bytes before the rows of columns."""
        return -(-8 * len(self.layout.previous) // 32) * 32

    def first(self, i: int) -> Value | float:
        """Return coefficient 0 of a node."""
        return self._zero.value(i)

    def first_column(self, column: Column) -> Value:
        """Return coefficients 0 of a column."""
        return self._zero.column(column)

    def slope(self, i: int) -> Value | float:
        """Return coefficient 1 of a node that is linear in t."""
        return self._one.value(i)

    def _begin(self) -> None:
        """Write the code for orders 0 and 1."""
        writer = self.writer
        writer.put("%previous = getelementptr i8, ptr %work, i64 0")
        self._work = writer.at("%work", self._head_size)
        self.unit = writer.load("%inputs", 8 * UNIT)
        self.gyro = writer.vector([writer.load("%inputs", 8 * (GYRO + i)) for i in range(3)])
        self.kick = writer.vector([writer.load("%inputs", 8 * (KICK + i)) for i in range(3)])
        q = writer.vector([writer.load("%inputs", 8 * place(name)) for name in ATTITUDES])
        u = writer.vector([writer.load("%inputs", 8 * place(name)) for name in TURNS])
        self._store_state(q, u, "%rows")
        self._zero = Beginning(self, (q, u), 0.0, inf, [])
        for i in self.layout.graph.used(self.equations.g):
            self._zero.value(i)
        for column in self._columns:
            self._zero.column(column)
        state = self._zero.slopes(self.equations)
        self._store_state(*state, writer.at("%rows", ROW))
        self._one = Order(self, state, 1.0, 1.0, [0.0] * len(self.layout.groups))
        for column in self._columns:
            self._one.column(column)
        for i in self.layout.used:
            self._one.value(i)
        self._one.store(writer.at(self._work, self.layout.stride))
        self._after_one = self._one.slopes(self.equations)

    def _store_state(self, q: Value, u: Value, row: str) -> None:
        """Store coefficients of q and u."""
        self.writer.store(q, row, 0, VECTOR)
        self.writer.store(u, row, 8 * LANES, VECTOR)

    def _go_on(self) -> None:
        """Write the loop over pairs of orders k, k + 1."""
        writer = self.writer
        writer.put("br label %even")
        writer.label("even")
        place_of_phis = len(writer.lines)
        q, u = Value(writer, "%dq", VECTOR), Value(writer, "%du", VECTOR)
        k = self._next_state("%k", q, u, "even")
        sums = self._interior("%k")
        order = Order(self, *k, sums.even)
        slopes = order.slopes(self.equations)
        order.store(self._row("%k"))
        writer.put("%k1 = add i64 %k, 1")
        k1 = self._next_state("%k1", *slopes, "odd")
        late = self._with_latest(sums.odd, order)
        order = Order(self, *k1, late)
        slopes = order.slopes(self.equations)
        order.store(self._row("%k1"))
        writer.put("%k2 = add i64 %k, 2")
        writer.put("br label %even")
        last = writer.block
        begin = self._after_one
        writer.lines[place_of_phis:place_of_phis] = [
            f"  %k = phi i64 [ 2, %begin ], [ %k2, %{last} ]",
            f"  %dq = phi {VECTOR} [ {begin[0].name}, %begin ], [ {slopes[0].name}, %{last} ]",
            f"  %du = phi {VECTOR} [ {begin[1].name}, %begin ], [ {slopes[1].name}, %{last} ]",
        ]
        writer.label("done")
        writer.put("ret i32 0")

    def _row(self, k: str) -> str:
        """Return the pointer to the row of columns of an order."""
        offset = self.writer.value(f"mul i64 {k}, {self.layout.stride}")
        return self.writer.at(self._work, offset)

    def _next_state(self, k: str, dq: Value, du: Value, name: str) -> State:
        """Write the code for coefficient k of q and u, and return from the function if it was the last."""
        writer = self.writer
        number = Value(writer, writer.value(f"sitofp i64 {k} to double"))
        at = writer.value(f"getelementptr double, ptr @reciprocals, i64 {k}")
        per_k = writer.load(at, 0)
        everywhere = writer.everywhere(per_k)
        q, u = dq * everywhere, du * everywhere
        offset = writer.value(f"mul i64 {k}, {ROW}")
        self._store_state(q, u, writer.at("%rows", offset))
        is_last = writer.value(f"icmp eq i64 {k}, %order")
        writer.put(f"br i1 {is_last}, label %done, label %after_{name}")
        writer.label(f"after_{name}")
        return State((q, u), number, per_k)

    def _interior(self, k: str) -> PairOfSums:
        """Write the loops for the interior sums of orders k and k + 1, without the pair (1, k)."""
        writer = self.writer
        groups = self.layout.groups
        half = writer.value(f"lshr i64 {k}, 1")
        even: list[Value | float] = []
        odd: list[Value | float] = []
        for first in range(0, len(groups), MOST_GROUPS):
            loop = InteriorLoop(self, k, half, groups[first : first + MOST_GROUPS])
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

    def load(self, column: Column, j: str, row: str) -> Value:
        """Return a column of coefficients j, from its row."""
        writer = self.writer
        if column not in BROADCAST:
            return writer.load(row, self.layout.columns[column], VECTOR)
        offset = writer.value(f"mul i64 {j}, {ROW}")
        number = writer.load(writer.at("%rows", offset), 8 * (LANES + BROADCAST[column]))
        return writer.everywhere(number)


class State(NamedTuple):
    """Coefficients q and u of an order k, and the numbers k and 1/k."""

    state: tuple[Value, Value]
    number: Value
    per_number: Value


class PairOfSums(NamedTuple):
    """Interior sums of all groups, of two orders."""

    even: list[Value | float]
    odd: list[Value | float]


class InteriorLoop:
    """Loop for the interior sums of a few groups; see the formulas at the head of this file."""

    def __init__(self, jet: Jet, k: str, half: str, groups: list[Group]) -> None:
        """Write the loop."""
        self._jet, self._writer = jet, jet.writer
        self._groups = groups
        self._columns = list(dict.fromkeys(column for group in groups for column in group))
        writer = jet.writer
        name = writer.name()
        middle = self._load(half)
        self._names = [f"{name}_{n}" for n in range(2 * len(groups) + len(self._columns))]
        zero = writer.vector([])
        start = [*([zero] * (2 * len(groups))), *middle.values()]
        before = writer.block
        writer.put(f"br label %head{name}")
        writer.label(f"head{name}")
        phis = len(writer.lines)
        values = [Value(writer, f"%{one}", VECTOR) for one in self._names]
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
        self.even = [self._whole(group, values[2 * n], middle) for n, group in enumerate(groups)]
        self.odd = [_doubled(group, values[2 * n + 1]) for n, group in enumerate(groups)]

    def _load(self, j: str) -> dict[Column, Value]:
        """Return the columns of coefficients j."""
        row = self._jet._row(j)
        return {column: self._jet.load(column, j, row) for column in self._columns}

    def _iteration(self, values: list[Value], j: str, rest: str) -> list[Value]:
        """Write an iteration; return the sums, and the columns for the next iteration."""
        count = 2 * len(self._groups)
        before = dict(zip(self._columns, values[count:], strict=True))  # coefficients j + 1
        low, high = self._load(j), self._load(rest)
        results = []
        for n, (left, right) in enumerate(self._groups):
            even, odd = values[2 * n], values[2 * n + 1]
            even, odd = even + low[left] * high[right], odd + before[left] * high[right]
            if left != right:
                even, odd = even + high[left] * low[right], odd + high[left] * before[right]
            results += [even, odd]
        return [*results, *low.values()]

    def _whole(self, group: Group, total: Value, middle: dict[Column, Value]) -> Value:
        """Return the sum of even order, with the term in the middle."""
        return _doubled(group, total) + middle[group.left] * middle[group.right]


def _doubled(group: Group, total: Value) -> Value:
    """Return a sum of pairs j, k - j; those of squares are added once."""
    return total + total if group.left == group.right else total
