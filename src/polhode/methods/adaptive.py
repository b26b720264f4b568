"""Adaptive step sizes: the order-8 method of Dormand and Prince on rotations, controlled by a tolerance."""

from __future__ import annotations

from functools import cache, partial
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InputError
from polhode.core.messages import Hint, joined
from polhode.core.references import HAIRER_1993, MUNTHE_KAAS_1999, PRINCE_DORMAND_1981
from polhode.kernels.compiler.jit import loaded
from polhode.kernels.stepping.header import BatchState, Bodies, Settings, Work
from polhode.kernels.stepping.status import Status
from polhode.methods.method import Advance, Between, Longest, Method, anything

if TYPE_CHECKING:
    from polhode.forces.base import Force

SMALLEST_RTOL = 2.0**-46  # 1.4e-14: below this, the round-off of a step is no longer small compared with its error
LARGEST_RTOL = 1.0
FINER = 32.0  # ratio of tolerances by which errors are estimated
MOST_TRIALS = 10_000_000  # accepted or rejected: about a minute, more than any computable motion needs


class Adaptive(Method):
    """Adaptive Runge-Kutta method of order 8, suited to control, damping and time-dependent torques.

    This is the method of order 8(5,3) by Dormand and Prince (DOP853) in the form of Munthe-Kaas: each step solves for
    the rotation vector relative to its beginning, so that attitudes stay unit quaternions. The step length is chosen
    such that the error of each step stays below a tolerance.

    A torque that acts for less than a 2000th of the time span may be missed between two samples: pass its times as
    ``Torque(..., breaks=...)``, or a `max_step` shorter than its duration.

    Parameters
    ----------
    rtol : float, optional
        Tolerated error of each step: of the attitude in radians, and of m relative to ``|m|``. For systems of bodies,
        also of x relative to the smallest initial distance of two bodies, and of p and m relative to the largest
        momentum of its kind.
    atol : float, optional
        Tolerated absolute error of m, in units of m.
    first_step : float, optional
        Length of the first trial step. By default it is chosen automatically.
    max_step : float, optional
        Upper bound on the step length (the last step may exceed it by 1 percent). By default, a user-defined torque
        that depends on t is sampled at 2040 times of the whole span, and steps are limited such that none passes over a
        feature visible in the samples; ``numpy.inf`` turns this off.
    max_steps : int, optional
        Maximum number of trial steps per body, accepted or rejected. A body that reaches it is stopped.

    Raises
    ------
    InputError
        If an argument is not a number in the range given above, or `rtol` is below the level of round-off, 1.4e-14.

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
    memory = 4  # the torque at the current state, and the status of the last rejected trial
    chooses_steps = True
    takes_h = False
    smallest_rtol = SMALLEST_RTOL

    def __init__(
        self,
        rtol: float = 1e-9,
        atol: float = 0.0,
        first_step: float | None = None,
        max_step: float | None = None,
        max_steps: int = MOST_TRIALS,
    ) -> None:
        self.rtol, self.atol = checked_tolerances(rtol, atol)
        self.first_step = None if first_step is None else one_number(first_step, "first_step")
        self.max_step = None if max_step is None else one_number(max_step, "max_step")
        self.max_steps = whole_number(max_steps, "max_steps", 1)
        if self.first_step is not None and not 0.0 < self.first_step < inf:
            raise InputError(f"first_step = {first_step!r}: expected a positive finite time, or None to choose one")
        if self.max_step is not None and not self.max_step > 0.0:
            raise InputError(f"max_step = {max_step!r}: expected a positive time, or numpy.inf for any step")

    def check(self, force: Force) -> None:
        """Accept any force."""

    def with_tolerance(self, rtol: float, atol: float) -> Method:
        """Return the method with other tolerances."""
        return Adaptive(rtol, atol, self.first_step, self.max_step, self.max_steps)

    def finer(self, h: float | None) -> tuple[Method, float | None]:
        """Return the method with a smaller tolerance, by which errors are estimated."""
        return self.with_tolerance(max(self.rtol / FINER, SMALLEST_RTOL), self.atol), None

    def new_batch_state(self, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything) -> BatchState:
        """Return the state of bodies at `t0`, with momenta of shape (n, 3) and attitudes of shape (n, 4).

        Steps are at most `max_step` long; if that was omitted, at most ``longest()``.
        """
        bound = longest() if self.max_step is None else self.max_step
        trouble = np.full((len(m), 1 + prod(m.shape[1:]) + prod(q.shape[1:])), np.nan)
        return BatchState.new(m, q, self.memory).at(t0, bound, trouble)

    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature.

        Each body is advanced until it reaches the end of the clock or has made `limit` trial steps.
        """
        loop = _loop()
        torque, settings = force.torque_address(), self._settings
        return lambda *work: loop(torque, settings, Work(*work))

    @property
    def _settings(self) -> Settings:
        """Tolerances and bounds for the loops."""
        return Settings(self.rtol, self.atol, self.first_step or 0.0, self.max_steps)

    def between(self, force: Force) -> Between:
        """Return the compiled function that repeats steps and interpolates in them; see `Between`."""
        from polhode.kernels.stepping.adaptive import interpolate

        return partial(loaded(interpolate), force.torque_address())

    def check_system(self) -> None:
        """Accept all systems."""

    def system_memory(self, bodies: int) -> int:
        """Return the number of floats that are carried from step to step for a system."""
        from polhode.methods.adaptive_systems import memory_size

        return memory_size(bodies)

    def advance_system(self) -> Advance:
        """Return the loop over steps of systems; see `Advance` for its signature."""
        from polhode.methods.adaptive_systems import adaptive_loop

        return adaptive_loop(self._settings)

    def between_system(self) -> Between:
        """Return the function that repeats steps of systems and interpolates in them; see `Between`."""
        from polhode.methods.adaptive_systems import between_of_systems

        return between_of_systems()

    def why_no_system_step(self, current: Any, i: int) -> str:
        """Return why system `i` cannot make a step, and what to do."""
        return self._why_no_step(current, i)

    def why_no_step(self, force: Force, bodies: Bodies, current: Any, i: int, h: float) -> str:
        """Return why body `i` cannot make a step, and what to do."""
        return self._why_no_step(current, i)

    def _why_no_step(self, current: Any, i: int) -> str:
        """Return why row `i` cannot make a step, and what to do."""
        if current.status[i] == Status.TOO_MANY_STEPS:
            return joined(
                f"{self.max_steps} trial steps are used up, {int(current.rejected[i])} of them rejected; the torque "
                "may switch ever faster there; ",
                Hint("type Adaptive(rtol, max_steps=...)", 'add --method "Adaptive(rtol, max_steps=...)"'),
                " for more, or increase rtol",
            )
        return (
            f"{self!r} needs steps that are shorter than the spacing of floating-point numbers at t; "
            "the torque may be singular there; a larger rtol may help"
        )

    def __repr__(self) -> str:
        """Return the call that creates this method, without default arguments."""
        arguments = {"rtol": self.rtol, "atol": self.atol}
        arguments |= {} if self.first_step is None else {"first_step": self.first_step}
        arguments |= {} if self.max_step is None else {"max_step": self.max_step}
        arguments |= {} if self.max_steps == MOST_TRIALS else {"max_steps": self.max_steps}
        return f"Adaptive({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


@cache
def _loop() -> Any:
    """Return the compiled loop, which is imported when it is needed."""
    from polhode.kernels.stepping.adaptive import adapt

    return loaded(adapt)


def checked_tolerances(rtol: Any, atol: Any) -> tuple[float, float]:
    """Return `rtol` and `atol` as floats; raise InputError if one is not a number or out of range."""
    relative = one_number(rtol, "rtol")
    absolute = one_number(atol, "atol")
    if not SMALLEST_RTOL <= relative <= LARGEST_RTOL:
        limits = f"at least {SMALLEST_RTOL:.3g}, the level of round-off"
        if relative > LARGEST_RTOL:
            limits = f"at most {LARGEST_RTOL:g}, which is an error as large as the momentum"
        raise InputError(f"rtol = {rtol!r}: expected {limits}; ", Hint("type rtol=1e-9", "add --rtol 1e-9"))
    if not 0.0 <= absolute < inf:
        raise InputError(f"atol = {atol!r}: expected 0, or a positive finite number in units of m")
    return relative, absolute


def one_number(value: Any, name: str) -> float:
    """Return the scalar `value` as a float; raise InputError if it is an array or NaN."""
    if type(value) is float and value == value:
        return value
    array = as_floats(value, name)
    if array.shape or np.isnan(array):
        raise InputError(f"{name} = {value!r}: expected one number")
    return float(array)
