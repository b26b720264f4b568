"""Code for steps of many bodies by Taylor series, four at a time: the lanes of all vectors are bodies."""

from __future__ import annotations

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.equations import Equations, slopes
from polhode.kernels.graphs.interior_loop import Group, fits
from polhode.kernels.graphs.jet import Beginning, Jet, Layout, Order, Pair
from polhode.kernels.graphs.recurrences import Factor, Sum
from polhode.kernels.graphs.watches import watches
from polhode.kernels.graphs.writer import VECTOR, Value


class LanesOfBodies(Layout):
    """Layout in which a group is a single sum, and the lanes of its vector are bodies."""

    def add_groups(self) -> None:
        """Arrange the sums such that those of one loop have many factors in common."""
        waiting = list(dict.fromkeys(pair for i in self.used for pair in self.sums(i) if pair))
        self.places: dict[Sum, int] = {}
        loop: list[Group] = []  # the present one
        while waiting:
            columns = {column for group in loop for column in group}
            best = min(waiting, key=lambda pair: len({*pair} - columns))
            if loop and not fits([*loop, Group(*best)]):
                loop = []
                continue
            waiting.remove(best)
            loop.append(Group(*best))
            self.places[best] = len(self.groups)
            self.groups.append(loop[-1])


class OrderOfMany(Order):
    """Coefficients of one order; the state consists of the components of q and u."""

    jet: ManyBodies

    def part(self, name: str) -> Value:
        """Return a component of q or u."""
        return self.state[int(name[1]) + (4 if name[0] == "u" else 0)]

    def new_column(self, column: Factor) -> Value:
        """Return the coefficients of a factor."""
        return self.writer.everywhere(self.factor(column))

    def sum_in_lanes(self, pair: Sum) -> Value:
        """Return an interior sum that a loop has computed."""
        return self.S[self.jet.layout.places[pair]]

    def slopes(self) -> list[Value]:
        """Return the coefficients of dq/dT, and of du/dT divided by ``kick``."""
        turned, products, g = ([self._vector(i) for i in nodes] for nodes in self.jet.slopes[1:])
        spins = map(self.jet.times, products, self.jet.gyro)
        return [*turned, *(spin + torque for spin, torque in zip(spins, g, strict=True))]

    def _vector(self, i: int) -> Value:
        """Return the coefficient of a node as a vector, also if it is a number."""
        return self.writer.everywhere(self.value(i))


class BeginningOfMany(Beginning, OrderOfMany):
    """Coefficients of order 0."""


class ManyBodies(Jet):
    """Steps of four bodies, whose state consists of vectors q_0, ..., q_3, u_0, ..., u_2."""

    number = VECTOR
    order, beginning = OrderOfMany, BeginningOfMany
    layout: LanesOfBodies

    def __init__(self, equations: Equations, in_pairs: bool) -> None:
        super().__init__(in_pairs)
        self.slopes = slopes(equations)
        graph, turned, products, g = self.slopes
        self.layout = LanesOfBodies(graph, [*turned, *products, *g], self.number, watches(graph, g))

    def begin(self) -> None:
        """Load constants of the bodies."""
        self.gyro, self.kick = self._load_pairs(at.GYRO, at.LOW_GYRO), self._load_pairs(at.KICK, at.LOW_KICK)

    def first_state(self, state: list[Value]) -> list[Value]:
        """Return the vectors q and u of the vectors q and m."""
        half = 0.5 * self.unit
        return [*state[:4], *(half * (m / self.load_number(at.INERTIA + i)) for i, m in enumerate(state[4:]))]

    def _load_pairs(self, high: int, low: int) -> list[Pair]:
        """Return three constants from the block."""
        return [self.load_pair(high + i, low + i, self.load_number) for i in range(3)]

    def load_state(self, q_place: int, m_place: int) -> list[Value]:
        """Return the vectors of q and of another quantity, such as m, from the block."""
        return [self.load_number(place) for place in _places(q_place, m_place)]

    def store_state(self, state: list[Value], q_place: int, m_place: int) -> None:
        """Store vectors of q and m in the block."""
        for value, place in zip(state, _places(q_place, m_place), strict=True):
            self.store_number(value, place)

    def load_slopes(self, place: int) -> list[Value]:
        """Return three numbers of each body, in the form of u."""
        return [self.load_number(place + i) for i in range(3)]

    def store_slopes(self, slopes: list[Value], place: int) -> None:
        """Store three numbers of each body."""
        for i, slope in enumerate(slopes):
            self.store_number(slope, place + i)

    def weighted(self, u: list[Value]) -> list[Value]:
        """Return the vectors of u in units of m."""
        return [self.load_number(at.WEIGHT + i) * x for i, x in enumerate(u)]

    def largest(self, vectors: list[Value]) -> Value:
        """Return the largest magnitude of the components of q, or of u, of each body."""
        sizes = [self.writer.magnitude(x) for x in vectors]
        while len(sizes) > 1:
            pairs = zip(sizes[::2], sizes[1::2], strict=False)
            sizes = [self.writer.largest(a, b) for a, b in pairs] + sizes[len(sizes) & ~1 :]
        return sizes[0]

    def square(self, q: list[Value]) -> Value:
        """Return the sum of the squares of the components of q."""
        a, b, c, d = q
        return (a * a + b * b) + (c * c + d * d)


def _places(q_place: int, m_place: int) -> list[int]:
    """Return the places of the components of q and m."""
    return [*range(q_place, q_place + 4), *range(m_place, m_place + 3)]
