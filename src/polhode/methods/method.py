"""What every method of integration has: an order, a check of the force, and a compiled way to advance bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from polhode.forces.base import Force


class Bodies(NamedTuple):
    """What belongs to bodies in principal axes, in the user's order: rows (n, k), or (1, k) if all have the same."""

    inertia: FloatArray  # (., 3)
    axes: FloatArray  # (., 9), the principal axes as columns; (0, 9) if those are the user's own
    damping: FloatArray  # (., 3) or (., 21), see ``kernels.stepping.damping``
    params: FloatArray  # (., k)

    def take(self, rows: IntArray) -> Bodies:
        """Other bodies, copies of these rows."""
        return Bodies(*(array if len(array) < 2 else np.ascontiguousarray(array[rows]) for array in self))


BEFORE_ALL, AFTER_ALL = np.array([-inf]), np.array([inf])  # times


class Clock(NamedTuple):
    """When steps are: rows (n,), or (1,) if all bodies have the same. Step number k begins at start + (k - first) h."""

    start: FloatArray
    h: FloatArray
    low: FloatArray = BEFORE_ALL  # the torque is evaluated at no time before ...
    high: FloatArray = AFTER_ALL  # ... and at none after
    first: int = 0


@dataclass
class BatchState:
    """Where n bodies are, and what it took: arrays that a method works on in place."""

    m: FloatArray  # (n, 3), in principal axes
    q: FloatArray  # (n, 4)
    memory: FloatArray  # (n, k): what the method keeps from step to step
    steps: IntArray = field(init=False)
    status: IntArray = field(init=False)  # 0, or why a body stopped: see ``kernels.stepping.header``
    torques: IntArray = field(init=False)  # evaluations
    iterations: IntArray = field(init=False)  # of Newton's method and the like
    residual: FloatArray = field(init=False)  # of an iteration that found no solution, relative

    def __post_init__(self) -> None:
        n = len(self.m)
        self.steps, self.status, self.torques, self.iterations = (np.zeros(n, np.int64) for _ in range(4))
        self.residual = np.zeros(n)


# advance(bodies, clock, saves (k,), limit, start, stop, current, m_out (k, n, 3), q_out (k, n, 4)):
# bodies start..stop, from the step where they are to the last of ``saves``, or to step ``limit`` if that comes first
Advance = Callable[[Bodies, Clock, IntArray, int, int, int, BatchState, FloatArray, FloatArray], None]


class Method(ABC):
    """A way to take steps of one length.

    Attributes
    ----------
    order : int
        Of the error of a step of length h, h^(order + 1), with torques that depend on time and attitude alone, and
        with damping if the method takes it. With other torques it may be lower: see ``order_for``.
    memory : int
        How many numbers per body it keeps from step to step.
    stages : int
        About how many torques it takes per step, by which work is shared among cores.
    """

    memory: int = 0

    @property
    @abstractmethod
    def order(self) -> int: ...

    @property
    def stages(self) -> int:
        return 1

    @abstractmethod
    def check(self, force: Force) -> None:
        """Refuse a force that the method is not made for, saying what to type instead."""

    @abstractmethod
    def advance(self, force: Force) -> Advance:
        """The compiled loop, for this force."""

    def new_batch_state(self, m: FloatArray, q: FloatArray) -> BatchState:
        return BatchState(m, q, np.zeros((len(m), self.memory)))

    def order_for(self, force: Force) -> int:
        """Return the order with this force."""
        return self.order

    def time_of(self, current: BatchState, i: int, clock: Clock) -> float:
        """Where body i is in time."""
        return float(clock.start[0] + (current.steps[i] - clock.first) * clock.h[0])

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        """More about why body i found no solution: bounds that are known, for instance."""
        return ""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


def arrays_of(current: BatchState) -> tuple[Any, ...]:
    """As kernels take them."""
    return (
        current.m, current.q, current.memory, current.steps, current.status, current.torques, current.iterations,
        current.residual,
    )  # fmt: skip
