"""Base class of integration methods: what a method requires, how it advances bodies, and what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.value import Comparable
from polhode.kernels.stepping.header import NO_TIMES, BatchState, Bodies, Clock, Interpolation, Saved, Wanted

if TYPE_CHECKING:
    from polhode.forces.base import Force


SYSTEM_METHODS = "Splitting(flow, scheme), the name of a scheme, such as 'V2' or 'RKN6_14a', or Adaptive()"

# advance(bodies, clock, wanted, start, stop, current, saved) advances bodies start..stop in place.
Advance = Callable[[Bodies, Clock, Wanted, int, int, BatchState, Saved], None]
# between(interpolation) computes states within steps.
Between = Callable[[Interpolation], None]
Longest = Callable[[], float | FloatArray]
# go(end, limit) advances one body to a time, or for a number of trial steps if these do not suffice.
Go = Callable[[float, int], None]


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
    smallest_rtol : float
        Smallest tolerance, if the method chooses its steps.
    verifies_steps : bool
        Whether the method looks within each step whether the torque has done there what its series says.
    """

    memory: int = 0
    not_for_systems: str = "is for single bodies"
    chooses_steps: bool = False
    takes_h: bool = True
    any_time: bool = False
    smallest_rtol: float = 0.0
    verifies_steps: bool = False

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

    def advance_batch(self, force: Force) -> Advance:
        """Return the compiled loop for batches of bodies; the bits of a body do not depend on others in the batch."""
        return self.advance(force)

    def prepared(self, force: Force, bodies: Bodies, current: BatchState) -> Go:
        """Return the loop for a single body that has its own steps, for many calls without output: see `Go`."""
        advance = self.advance(force)
        saved = Saved(np.empty((0, 1, 3)), np.empty((0, 1, 4)))

        def go(end: float, limit: int) -> None:
            advance(bodies, Clock(NO_TIMES, NO_TIMES, end=end), Wanted(limit), 0, 1, current, saved)

        return go

    def between(self, force: Force) -> Between:
        """Return the function that computes states within chosen steps, for this force; see `Between`.

        Within steps of fixed size, a shorter step is made instead.
        """
        raise NotImplementedError

    def between_batch(self, force: Force) -> Between:
        """Return the function that computes states within steps of batches; see `advance_batch`."""
        return self.between(force)

    def polynomials(self, force: Force, in_lanes: bool) -> Between | None:
        """Return the function that computes the polynomials of steps, for bodies one by one, or in lanes.

        It writes to ``m_out`` (n, 3 (order + 1)) and ``q_out`` (n, 4 (order + 1)) the coefficients, from order 0 on, in
        powers of (t - left)/(right - left). Return None if states within steps are not polynomials of this order.
        """
        return None

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
        return BatchState.new(m, q, self.memory)

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
