"""Base class of integration methods: what a method requires, how it advances bodies, and what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.core.value import Comparable

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


SYSTEM_METHODS = "Splitting(flow, scheme), the name of a scheme, such as 'V2' or 'RKN6_14a', or Adaptive()"
BEFORE_ALL, AFTER_ALL = np.array([-inf]), np.array([inf])  # times


class Clock(NamedTuple):
    """Times of the steps of n bodies, between two breaks of the torque.

    Step number k of a fixed size begins at ``start + (k - first) * h``. Methods that choose their steps end at ``end``.
    Each array has shape (n,), or (1,) if all bodies share the same values.
    """

    start: FloatArray
    h: FloatArray
    low: FloatArray = BEFORE_ALL  # the torque is not evaluated before this time ...
    high: FloatArray = AFTER_ALL  # ... nor after this one
    first: int = 0
    end: float = inf


class Wanted(NamedTuple):
    """States to save, and the number of the step at which to return even if not all of them are reached."""

    at: FloatArray | IntArray  # (k,), in the order of integration: numbers of steps; times if the method chooses them
    limit: int  # number of a step; number of further trial steps if the method chooses them


class Saved(NamedTuple):
    """Arrays for saved states of n bodies, in principal axes."""

    m: FloatArray  # (k, n, 3), at the wanted steps or times
    q: FloatArray  # (k, n, 4)
    step_t: FloatArray = np.empty((0, 0))  # (capacity, n): the ends of all steps that a method has chosen
    step_m: FloatArray = np.empty((0, 0, 3))
    step_q: FloatArray = np.empty((0, 0, 4))
    counts: IntArray = np.empty(0, np.int64)  # (n,), the number of steps saved


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
    rejected: IntArray = field(init=False)  # (n,), the number of rejected trial steps
    residual: FloatArray = field(init=False)  # (n,), the relative residual of an iteration that did not converge

    def __post_init__(self) -> None:
        """Allocate the counters."""
        n = len(self.m)
        self.steps, self.status, self.torques, self.iterations, self.rejected = np.zeros((5, n), np.int64)
        self.residual = np.zeros(n)


@dataclass
class OwnTimes(BatchState):
    """State of n bodies, each at its own time, for methods that choose their steps."""

    t: FloatArray  # (n,)
    longest: FloatArray  # (n,), the upper bound on step lengths
    trouble: FloatArray  # (n, 8), for systems longer: t, m, q where the torque failed last; (0, 8) if it cannot fail
    h: FloatArray = field(init=False)  # (n,), the next trial step; 0 before the first
    seen: IntArray = field(init=False)  # (n,), the number of output times already passed

    def __post_init__(self) -> None:
        """Allocate the arrays that depend on the number of bodies."""
        super().__post_init__()
        self.h = np.zeros(len(self.m))
        self.seen = np.zeros(len(self.m), np.int64)


# advance(bodies, clock, wanted, start, stop, current, saved) advances bodies start..stop in place.
Advance = Callable[[Bodies, Clock, Wanted, int, int, BatchState, Saved], None]
# between(bodies, t_left (n,), t_right (n,), low (n,), high (n,), start, stop, m (n, 3), q (n, 4), t (n,), m_out (n, 3),
# q_out (n, 4)) writes the states at t within steps from t_left, where the states are m and q, to t_right.
Between = Callable[..., None]


Longest = Callable[[], float | FloatArray]


def anything() -> float:
    """Return the longest step of torques without features in time."""
    return inf


class Method(Comparable, ABC):
    """Base class of methods: everything that runs, trial runs, files and studies ask of a method.

    Methods with a fixed step size, those that choose their steps, and the closed form of free motion are used in the
    same way. A method is a module with a class of this base, and one line in ``polhode.methods``.

    Attributes
    ----------
    order : int, or infinity
        Order of the method: the error of a step of length h is proportional to h^(order + 1) for torques that depend on
        time and attitude alone, and for damping if the method supports it. With other torques the order may be lower:
        see `order_for`.
    memory : int
        Number of floats per body that are carried from step to step.
    stages : int
        Approximate number of torque evaluations per step: its cost.
    not_for_systems : str
        Why the method does not integrate systems of bodies, if it does not.
    chooses_steps : bool
        Whether each body has its own steps, which the method chooses. Otherwise all steps have the size ``h``.
    takes_h : bool
        Whether the user may pass ``h``: the step size or, if the method chooses its steps, the spacing of saved states.
    any_time : bool
        Whether states can be computed at any times in any order, also outside the time span.
    """

    memory: int = 0
    not_for_systems: str = "is for single bodies"
    chooses_steps: bool = False
    takes_h: bool = True
    any_time: bool = False

    @property
    @abstractmethod
    def order(self) -> float:
        """Return the order of the method, a whole number; infinity if it is exact."""

    @property
    def stages(self) -> int:
        """Return the approximate number of torque evaluations per step."""
        return 1

    @abstractmethod
    def check(self, force: Force) -> None:
        """Raise InputError if the method cannot integrate `force`; the message names an alternative."""

    def advice(self, force: Force) -> str:
        """Return a warning for users who choose the method for this force, or an empty string."""
        return ""

    @abstractmethod
    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature."""

    def between(self, force: Force) -> Between:
        """Return the function that computes states within chosen steps, for this force; see `Between`.

        Within steps of fixed size, a shorter step is made instead.
        """
        raise NotImplementedError

    def check_system(self) -> None:
        """Raise InputError if the method cannot integrate systems of bodies; the message says why."""
        raise InputError(f"{self!r} {self.not_for_systems}; expected {SYSTEM_METHODS}")

    def advance_system(self) -> Advance:
        """Return the loop over steps of systems; see `Advance`. The bodies are those of ``methods.many_bodies``."""
        raise NotImplementedError

    def between_system(self) -> Between:
        """Return the function that computes states of systems within chosen steps; see `Between`."""
        raise NotImplementedError

    def why_no_system_step(self, current: BatchState, i: int) -> str:
        """Return why system `i` cannot make a step; if steps have a fixed size, only more about it."""
        return ""

    def system_memory(self, bodies: int) -> int:
        """Return the number of floats that are carried from step to step for a system of so many bodies."""
        return 0

    def new_batch_state(self, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything) -> Any:
        """Return the initial BatchState of bodies with momenta `m` of shape (n, 3) and attitudes `q` of shape (n, 4).

        The arrays `m` and `q` are not changed later.

        Methods that choose their steps begin at `t0`. They may ask for the `longest` steps that skip no feature of the
        torque, a number or an array (n,).
        """
        return BatchState(m.copy(), q.copy(), np.zeros((len(m), self.memory)))

    def order_for(self, force: Force) -> float:
        """Return the order of the method with this force."""
        return self.order

    def is_exact_for(self, force: Force) -> bool:
        """Return whether steps of any size are exact to rounding with this force."""
        return False

    def finer(self, h: float | None) -> tuple[Method, float | None]:
        """Return a method and a step size with a smaller error, by which the error with `h` is estimated."""
        return self, None if h is None else h / 2

    def with_tolerance(self, rtol: float, atol: float) -> Method:
        """Return the method with other tolerances, if it chooses its steps."""
        raise NotImplementedError

    def time_of(self, current: BatchState, i: int, clock: Clock) -> float:
        """Return the time that body `i` has reached."""
        return float(clock.start[0] + (current.steps[i] - clock.first) * clock.h[0])

    def __hash__(self) -> int:
        """Return a hash that is equal for equal methods, faster than one of all coefficients."""
        return hash((type(self), repr(self)))

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        """Return why body `i` cannot make a step; if steps have the size `h`, only more about it, such as a bound."""
        return ""


def arrays_of(current: BatchState) -> tuple[Any, ...]:
    """Return the arrays of a state in the order in which kernels take them."""
    return (
        current.m, current.q, current.memory, current.steps, current.status, current.torques, current.iterations,
        current.residual,
    )  # fmt: skip
