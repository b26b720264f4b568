"""Base class of integration methods: an order, a check of the force, and a compiled loop that advances bodies."""

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
    """Constants of n bodies in principal axes, in the order of the user.

    Each array has n rows, or one row if all bodies share the same values.
    """

    inertia: FloatArray  # (., 3)
    axes: FloatArray  # (., 9), the principal axes as columns; (0, 9) if they are the body axes of the user
    damping: FloatArray  # (., 3) or (., 21), see ``kernels.stepping.damping``
    params: FloatArray  # (., k)

    def take(self, rows: IntArray) -> Bodies:
        """Return the bodies with the given row indices, as copies."""
        return Bodies(*(array if len(array) < 2 else np.ascontiguousarray(array[rows]) for array in self))


BEFORE_ALL, AFTER_ALL = np.array([-inf]), np.array([inf])  # times


class Clock(NamedTuple):
    """Times of the steps of n bodies: step number k begins at ``start + (k - first) * h``.

    Each array has shape (n,), or (1,) if all bodies share the same values.
    """

    start: FloatArray
    h: FloatArray
    low: FloatArray = BEFORE_ALL  # the torque is not evaluated before this time ...
    high: FloatArray = AFTER_ALL  # ... nor after this one
    first: int = 0


@dataclass
class BatchState:
    """State of n bodies and counters of the work done; a method updates these arrays in place."""

    m: FloatArray  # (n, 3), in principal axes
    q: FloatArray  # (n, 4)
    memory: FloatArray  # (n, k), the numbers that the method carries from step to step
    steps: IntArray = field(init=False)  # (n,), the number of steps made
    status: IntArray = field(init=False)  # (n,), 0 or the reason why a body stopped: see ``kernels.stepping.header``
    torques: IntArray = field(init=False)  # (n,), the number of torque evaluations
    iterations: IntArray = field(init=False)  # (n,), the number of iterations of implicit solvers
    residual: FloatArray = field(init=False)  # (n,), the relative residual of an iteration that did not converge

    def __post_init__(self) -> None:
        """Allocate the counters."""
        n = len(self.m)
        self.steps, self.status, self.torques, self.iterations = (np.zeros(n, np.int64) for _ in range(4))
        self.residual = np.zeros(n)


# advance(bodies, clock, saves (k,), limit, start, stop, current, m_out (k, n, 3), q_out (k, n, 4)) advances bodies
# start..stop from their current step to the last of the step numbers ``saves``, or to step ``limit`` if that is less.
Advance = Callable[[Bodies, Clock, IntArray, int, int, int, BatchState, FloatArray, FloatArray], None]


class Method(ABC):
    """Base class of methods with a fixed step length.

    Attributes
    ----------
    order : int
        Order of the method: the error of a step of length h is proportional to h^(order + 1) for torques that depend on
        time and attitude alone, and for damping if the method supports it. With other torques the order may be lower:
        see `order_for`.
    memory : int
        Number of floats per body that are carried from step to step.
    stages : int
        Approximate number of torque evaluations per step, used to distribute work among cores.
    """

    memory: int = 0

    @property
    @abstractmethod
    def order(self) -> int:
        """Return the order of the method."""

    @property
    def stages(self) -> int:
        """Return the approximate number of torque evaluations per step."""
        return 1

    @abstractmethod
    def check(self, force: Force) -> None:
        """Raise InputError if the method cannot integrate `force`; the message names an alternative."""

    @abstractmethod
    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature."""

    def new_batch_state(self, m: FloatArray, q: FloatArray) -> BatchState:
        """Return the initial state of bodies with momenta `m` of shape (n, 3) and attitudes `q` of shape (n, 4)."""
        return BatchState(m, q, np.zeros((len(m), self.memory)))

    def order_for(self, force: Force) -> int:
        """Return the order of the method with this force."""
        return self.order

    def time_of(self, current: BatchState, i: int, clock: Clock) -> float:
        """Return the time that body `i` has reached."""
        return float(clock.start[0] + (current.steps[i] - clock.first) * clock.h[0])

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        """Return more about why body `i` found no solution (a known bound, for instance), or an empty string."""
        return ""

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a method with the same settings."""
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        """Return a hash that is equal for equal methods."""
        return hash(repr(self))


def arrays_of(current: BatchState) -> tuple[Any, ...]:
    """Return the arrays of a state in the order in which kernels take them."""
    return (
        current.m, current.q, current.memory, current.steps, current.status, current.torques, current.iterations,
        current.residual,
    )  # fmt: skip
