"""Adaptive: steps as long as a tolerance allows, by the order-8 method of Dormand and Prince on rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InputError
from polhode.core.references import HAIRER_1993, MUNTHE_KAAS_1999, PRINCE_DORMAND_1981
from polhode.methods.method import BatchState

if TYPE_CHECKING:
    from polhode.forces.base import Force

SMALLEST_RTOL = 2.0**-46  # 1.4e-14: below, round-off of a step is no longer small against its error
MOST_TRIALS = 10_000_000  # accepted or not: a minute or so, more than any motion needs that can be followed at all
MEMORY = 4  # numbers: the torque where the body is, and why the last trial was rejected, a status


@dataclass
class AdaptiveBatchState(BatchState):
    """Where n bodies are, each at its own time."""

    t: FloatArray  # (n,)
    longest: FloatArray  # (n,), steps
    h: FloatArray = field(init=False)  # (n,), the next trial step; 0 before the first
    seen: IntArray = field(init=False)  # (n,), how many of the output times are behind
    rejected: IntArray = field(init=False)  # (n,), trials
    trouble: FloatArray = field(init=False)  # (n, 8): t, m, q where the torque failed last, in principal axes

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.m)
        self.h, self.trouble = np.zeros(n), np.full((n, 8), np.nan)
        self.seen, self.rejected = np.zeros(n, np.int64), np.zeros(n, np.int64)


class Adaptive:
    """Steps whose length is chosen so that errors stay below a tolerance: for control, damping, forcing in time.

    The Runge-Kutta method of order 8(5,3) by Dormand and Prince (DOP853), in the form of Munthe-Kaas: a step solves for
    the rotation vector from its beginning, so that attitudes stay unit quaternions.

    A torque that acts for less than a 2000th of the time span may fall between the samples: give its times as
    ``Torque(..., breaks=...)``, or a ``max_step`` that is shorter than it acts.

    Parameters
    ----------
    rtol : float, optional
        Error of each step: of the attitude, in radians, and of m relative to ``|m|``.
    atol : float, optional
        Error of m that is always allowed, in units of m.
    first_step : float, optional
        Length of the first trial; by default it is chosen.
    max_step : float, optional
        Length that no step exceeds (by more than 1 percent, the last one). By default, a torque of the user that
        depends on t is sampled at 2040 times of the whole span, and no step is so long that it could pass over what the
        samples show; ``numpy.inf`` turns that off.
    max_steps : int, optional
        Number of trial steps, accepted or rejected, after which a body is given up.

    Examples
    --------
    >>> Adaptive(rtol=1e-6).order
    8
    >>> Adaptive(rtol=1e-6, max_step=0.5)
    Adaptive(rtol=1e-06, atol=0.0, max_step=0.5)
    """

    references = (PRINCE_DORMAND_1981, HAIRER_1993, MUNTHE_KAAS_1999)
    order = 8
    stages = 12

    def __init__(
        self,
        rtol: float = 1e-9,
        atol: float = 0.0,
        first_step: float | None = None,
        max_step: float | None = None,
        max_steps: int = MOST_TRIALS,
    ) -> None:
        self.rtol, self.atol = checked_tolerances(rtol, atol)
        self.first_step = None if first_step is None else _number(first_step, "first_step")
        self.max_step = None if max_step is None else _number(max_step, "max_step")
        self.max_steps = whole_number(max_steps, "max_steps", 1)
        if self.first_step is not None and not 0.0 < self.first_step < inf:
            raise InputError(f"first_step = {first_step!r}: expected a positive finite time, or None to choose one")
        if self.max_step is not None and not self.max_step > 0.0:
            raise InputError(f"max_step = {max_step!r}: expected a positive time, or numpy.inf for any step")

    def check(self, force: Force) -> None:
        """Any force will do."""

    def new_batch_state(
        self, m: FloatArray, q: FloatArray, t0: float, longest: float | FloatArray = inf
    ) -> AdaptiveBatchState:
        """Bodies at t0, with momenta (n, 3) and attitudes (n, 4); no step exceeds max_step or, without, ``longest``."""
        n, longest = len(m), longest if self.max_step is None else self.max_step
        return AdaptiveBatchState(m, q, np.zeros((n, MEMORY)), np.full(n, t0), np.full(n, longest))

    def advance(self, force: Force) -> Callable[..., None]:
        """The compiled loop, for this force.

        advance(bodies, (low, high), t_end, times (k,), limit, start, stop, current, m_out (k, n, 3), q_out (k, n, 4),
        step_t (cap, n), step_m (cap, n, 3), step_q (cap, n, 4), kept (n,)): bodies start..stop, each until it is at
        t_end or has made ``limit`` trials; the torque is evaluated at times from low to high. States at ``times``, in
        the direction of time, go to m_out and q_out; the ends of steps to rows kept[i] and on of step_t, step_m and
        step_q, unless cap = 0.
        """
        from polhode.kernels.stepping.adaptive import adapt

        torque = force.torque_address()
        settings = self.rtol, self.atol, self.first_step or 0.0, float(self.max_steps)

        def loop(
            bodies: Any, window: tuple[float, float], t_end: float, times: FloatArray, limit: int, start: int,
            stop: int, current: AdaptiveBatchState, *out: Any,
        ) -> None:  # fmt: skip
            told = bodies.params, bodies.inertia, bodies.axes, bodies.damping, settings, window, t_end, times
            kept = (
                current.m, current.q, current.memory, current.steps, current.status, current.torques,
                current.t, current.h, current.longest, current.seen, current.rejected, current.trouble,
            )  # fmt: skip
            adapt(torque, (*told, limit, start, stop, *kept, *out))

        return loop

    def interpolate(self, force: Force) -> Callable[..., None]:
        """States within steps.

        interpolate(bodies, t_left (n,), t_right (n,), low (n,), high (n,), start, stop, m (n, 3), q (n, 4), t (n,),
        m_out (n, 3), q_out (n, 4)): repeats, for each row, the one step from t_left, where m and q are, to t_right; the
        state at t.
        """
        from polhode.kernels.stepping.adaptive import interpolate

        torque = force.torque_address()

        def at(bodies: Any, *rest: Any) -> None:
            interpolate(torque, (bodies.params, bodies.inertia, bodies.axes, bodies.damping, *rest))

        return at

    def __repr__(self) -> str:
        given = {"rtol": self.rtol, "atol": self.atol}
        given |= {} if self.first_step is None else {"first_step": self.first_step}
        given |= {} if self.max_step is None else {"max_step": self.max_step}
        given |= {} if self.max_steps == MOST_TRIALS else {"max_steps": self.max_steps}
        return f"Adaptive({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


def checked_tolerances(rtol: Any, atol: Any) -> tuple[float, float]:
    """One number each, as large as round-off demands."""
    relative, absolute = _number(rtol, "rtol"), _number(atol, "atol")
    if not SMALLEST_RTOL <= relative < inf:
        raise InputError(
            f"rtol = {rtol!r}: expected a number from {SMALLEST_RTOL:.3g}, which round-off allows; type rtol=1e-9"
        )
    if not 0.0 <= absolute < inf:
        raise InputError(f"atol = {atol!r}: expected 0, or a positive finite number in units of m")
    return relative, absolute


def _number(value: Any, name: str) -> float:
    array = as_floats(value, name)
    if array.shape or np.isnan(array):
        raise InputError(f"{name} = {value!r}: expected one number")
    return float(array)
