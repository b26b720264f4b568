"""Code for steps of one body by Taylor series: four interior sums at a time in the lanes of vectors.

Sums of products of the same depth form groups, whose end terms are computed in lanes, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from math import prod

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.equations import Equations
from polhode.kernels.graphs.interior_loop import Column, Group
from polhode.kernels.graphs.jet import Beginning, Jet, Layout, Order
from polhode.kernels.graphs.recurrences import Factor, Sum
from polhode.kernels.graphs.vector_terms import Term, VectorTerm, vector_terms
from polhode.kernels.graphs.watches import watches
from polhode.kernels.graphs.writer import LANES, VECTOR, Value

# The product q u is the sum of these three vectors, each with signs, times u_0, u_1 and u_2.
TURNED = (
    ((1, 0, 3, 2), (-1.0, 1.0, 1.0, -1.0)),
    ((2, 3, 0, 1), (-1.0, -1.0, 1.0, 1.0)),
    ((3, 2, 1, 0), (-1.0, 1.0, -1.0, 1.0)),
)
NEXT_AXIS, AFTER_NEXT = (1, 2, 0, 3), (2, 0, 1, 3)  # lanes of the components j and k of u in du_i/dT
# The groups of q u, whose right factors are components of u in all lanes, and that of u_j u_k.
RIGID = (Group("q0", "u0"), Group("q1", "u1"), Group("q2", "u2"), Group("next", "after"))
BROADCAST = {"u0": 0, "u1": 1, "u2": 2}  # columns that are not stored: numbers of a row of u

Lane = Factor | None
Lanes = tuple[Lane, ...]  # the columns other than those of RIGID


class LanesOfSums(Layout):
    """Layout in which the lanes of a vector are sums of one body."""

    unstored = frozenset(BROADCAST)

    def add_groups(self) -> None:
        """Divide the sums into groups; products of the same depth come first, and the others follow."""
        self.groups.extend(RIGID)
        self.lanes: dict[Sum, tuple[int, int]] = {}  # group and lane of a sum
        self.products: dict[int, tuple[int, int]] = {}  # group and lane of nodes whose end terms are computed in lanes
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
        self.torque = vector_terms(self.graph, self.outputs, {**self._state(), **self.products}, depths)

    def _state(self) -> dict[int, tuple[str, int]]:
        """Return the components of q and u that are nodes, and their lanes."""
        inputs = {i: self.graph.nodes[i].value for i in self.used if self.graph.nodes[i].operation == "input"}
        return {i: (name[0], int(name[1])) for i, name in inputs.items() if name[0] in "qu"}

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


class OrderOfOne(Order):
    """Coefficients of one order; the state is a vector q and a vector u."""

    jet: OneBody

    def __init__(self, *arguments) -> None:
        """Begin without columns and products."""
        super().__init__(*arguments)
        self._begun: dict[Column, Value] = {}  # vectors in which lanes are missing
        self._results: dict[int, Value] = {}

    def part(self, name: str) -> Value:
        """Return a component of q or u."""
        return self.writer.lane(self.state["qu".index(name[0])], int(name[1]))

    def sum_in_lanes(self, pair: Sum) -> Value:
        """Return an interior sum that a loop has computed."""
        group, lane = self.jet.layout.lanes[pair]
        return self.writer.lane(self.S[group], lane)

    def column_of_products(self, column: Column, group: int) -> Value:
        """Return a vector with the factors of the products of a group; other lanes may depend on these."""
        if not isinstance(column, tuple) or column in self._columns:
            return self.column(column)
        if column not in self._begun:
            lanes = {lane for number, lane in self.jet.layout.products.values() if number == group}
            factors = [factor if lane in lanes else None for lane, factor in enumerate(column)]
            self._begun[column] = self._vector(factors, self.factor)
        return self._begun[column]

    def new_column(self, column: str | Lanes) -> Value:
        """Write the code for a vector of coefficients."""
        writer, (q, u) = self.writer, self.state
        if isinstance(column, tuple):
            return self._vector(column, self.factor)
        if column in BROADCAST:
            return writer.shuffled(u, (BROADCAST[column],) * LANES)
        if column[0] == "q":
            lanes, signs = TURNED[int(column[1])]
            return writer.with_signs(writer.shuffled(q, lanes), signs)
        return writer.shuffled(u, NEXT_AXIS if column == "next" else AFTER_NEXT)

    def _vector(self, lanes: Iterable[Hashable], value: Callable[..., Value | float]) -> Value:
        """Return the vector of values, 0 where there is none; a single one is put into all lanes, which is faster."""
        lanes = tuple(lanes)
        distinct = set(lanes) - {None}
        if len(distinct) == 1:
            return self.writer.everywhere(value(distinct.pop()))
        return self.writer.vector([0.0 if lane is None else value(lane) for lane in lanes])

    def new_value(self, i: int) -> Value | float:
        """Write the code for the coefficient of a node."""
        if i in self.jet.layout.products:
            group, lane = self.jet.layout.products[i]
            return self.writer.lane(self.product(group), lane)
        return super().new_value(i)

    def product(self, group: int) -> Value:
        """Return the products of a group."""
        if group not in self._results:
            left, right = self.jet.layout.groups[group]
            A0, A = self.jet.first_column(left), self.column_of_products(left, group)
            S = self.S[group]
            if left == right:
                self._results[group] = S + (A0 + A0) * A
            else:
                B = self.column_of_products(right, group)
                self._results[group] = S + A * self.jet.first_column(right) + A0 * B
        return self._results[group]

    def slopes(self) -> list[Value]:
        """Return the coefficients of dq/dT, and of du/dT divided by ``kick``."""
        turned = self.product(0) + self.product(1) + self.product(2)
        return [turned, self.spin()]

    def spin(self) -> Value:
        """Return the coefficients of du/dT divided by ``kick``."""
        spin = self.jet.times(self.product(3), self.jet.gyro)
        for term in self.jet.layout.torque:
            spin = spin + self.jet.constants(term) * self._nodes(term)
        return spin

    def _nodes(self, term: VectorTerm) -> Value:
        """Return the nodes of a term, in the lanes of their components."""
        if term.source is None:
            return self._vector((part and part.node for part in term.terms), self.value)
        source = self.state["qu".index(term.source)] if isinstance(term.source, str) else self.product(term.source)
        return source if term.lanes == tuple(range(LANES)) else self.writer.shuffled(source, term.lanes)


class BeginningOfOne(Beginning, OrderOfOne):
    """Coefficients of order 0."""

    def product(self, group: int) -> Value:
        """Return the products of a group."""
        left, right = self.jet.layout.groups[group]
        return self.column(left) * self.column(right)

    def spin(self) -> Value:
        """Return du/dT divided by ``kick``."""
        torque = self.writer.vector([self.value(i) for i in self.jet.layout.outputs])
        return self.jet.times(self.product(3), self.jet.gyro) + torque


class OneBody(Jet):
    """Steps of one body, whose state consists of a vector q and a vector u or m; its last lane is 0."""

    number = "double"
    order, beginning = OrderOfOne, BeginningOfOne
    layout: LanesOfSums

    def __init__(self, equations: Equations, in_pairs: bool) -> None:
        super().__init__(in_pairs)
        self.layout = LanesOfSums(equations.graph, equations.g, self.number, watches(equations.graph, equations.g))
        self._constants: dict[VectorTerm, Value] = {}

    def begin(self) -> None:
        """Load constants of the body."""
        self.gyro = self.load_pair(at.GYRO, at.LOW_GYRO, self._load)
        self.kick = [self.load_pair(at.KICK, at.LOW_KICK, self._load)]

    def first_state(self, state: list[Value]) -> list[Value]:
        """Return the vectors q and u of the vectors q and m."""
        q, m = state
        return [q, self.spread(0.5 * self.unit) * (m / self._load(at.INERTIA))]

    def constants(self, term: VectorTerm) -> Value:
        """Return the constants of the terms of all components; 0 where there is none."""
        if term not in self._constants:
            self._constants[term] = self.writer.vector([self._constant(part) for part in term.terms])
        return self._constants[term]

    def _constant(self, term: Term | None) -> Value | float:
        """Return the constant of a term."""
        return prod((self.first(constant) for constant in term.constants), start=term.sign) if term else 0.0

    def _load(self, place: int) -> Value:
        """Return a vector from the block."""
        return self.writer.load("%block", 8 * place, VECTOR)

    def load_state(self, q_place: int, m_place: int) -> list[Value]:
        """Return the vectors of q and of another quantity, such as m, from the block."""
        return [self._load(q_place), self._load(m_place)]

    def store_state(self, state: list[Value], q_place: int, m_place: int) -> None:
        """Store vectors of q and m in the block."""
        for vector, place in zip(state, (q_place, m_place), strict=True):
            self.writer.store(vector, "%block", 8 * place, VECTOR)

    def load_slopes(self, place: int) -> list[Value]:
        """Return three numbers as a vector, in the form of u."""
        return [self._load(place)]

    def store_slopes(self, slopes: list[Value], place: int) -> None:
        """Store three numbers."""
        self.writer.store(slopes[0], "%block", 8 * place, VECTOR)

    def weighted(self, u: list[Value]) -> list[Value]:
        """Return the vector u in units of m."""
        return [self._load(at.WEIGHT) * u[0]]

    def largest(self, vectors: list[Value]) -> Value:
        """Return the largest magnitude of the components of q, or of u."""
        return self.writer.reduced(self.writer.magnitude(vectors[0]), self.writer.largest)

    def square(self, q: list[Value]) -> Value:
        """Return the sum of the squares of the components of q."""
        return self.writer.reduced(q[0] * q[0], lambda a, b: a + b)

    def load_column(self, column: Column, j: str, row: str) -> Value:
        """Return a column of coefficients j, from its row."""
        if column not in BROADCAST:
            return super().load_column(column, j, row)
        offset = self.writer.value(f"mul i64 {j}, {8 * at.ROW}")
        number = self.writer.load(self.writer.at("%rows", offset), 8 * (LANES + BROADCAST[column]))
        return self.writer.everywhere(number)
