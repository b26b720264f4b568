"""Taylor series of the motion, of any order: for smooth torques, to the last digit."""

from __future__ import annotations

from functools import cache, lru_cache
from math import ceil, exp, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError
from polhode.core.messages import Hint
from polhode.core.references import JORBA_2005
from polhode.kernels.compiler import jit
from polhode.kernels.compiler.jit import loaded
from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.compiled import CompiledSteps, compiled_steps
from polhode.kernels.graphs.equations import Equations, equations
from polhode.kernels.graphs.jet import LARGEST_ORDER
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.header import NO_TIMES, BatchState, Bodies, Clock, Interpolation, Saved, Wanted, Work
from polhode.kernels.stepping.status import Status
from polhode.methods.adaptive import one_number
from polhode.methods.method import Advance, Between, Go, Longest, Method, anything
from polhode.methods.singularities import fastest, first_not_finite

if TYPE_CHECKING:
    from polhode.forces.base import Force
    from polhode.forces.tracing import Trace

EPS = 2.0**-52
SMALLEST_RTOL, LARGEST_RTOL = EPS, 0.01
SMALLEST_ORDER = 4
MOST_STEPS = 100_000_000  # a minute or so
# Jorba and Zou, (11), have 1/2, which is best if the cost of a step grows with the square of the order. In vector
# instructions it grows more slowly: 0.6 needs 30 percent fewer steps, which cost 15 percent more each.
ORDER_PER_LOG = 0.6
# Jorba and Zou, section 3.2, for any order: the term of the last order is a part of rtol, for those that are neglected.
NEGLECTED = 1.6
PER_STEP = 0.1  # part of rtol that the truncation error of a step may have: errors add up
PAIRS_BELOW = 1e-13  # tolerance below which constants are sums of two numbers; this takes up to a tenth more time
# Defects at the ends of steps of smooth torques are below rtol/5. Larger bounds miss nothing, but each jump may cost as
# much as the bound.
DEFECT, ROUNDING_DEFECT = 1.0, 160.0 * EPS
ROUNDED = 100.0 * EPS  # lower tolerances are reduced: truncation errors accumulate, and must be below rounding errors


class Taylor(Method):
    """Taylor series of the motion, suited to smooth torques of any kind and to the highest accuracy.

    The torque is traced once: it is called with symbols, and code that computes the Taylor coefficients of the motion
    is generated from the expression that it returns. Each step has its own length, which follows from the coefficients.
    It is verified at its end and, where the torque may saturate or peak, within; where it is wrong, it is shortened.
    Attitudes stay unit quaternions. States between steps cost nothing but a polynomial. Events are
    traced, too, and all their sign changes within a step are found, unless they branch on the state or are not the same
    function for all bodies; these are sampled, as with other methods. The bodies of a batch are advanced four at a time
    in vector lanes; their results depend neither on their place nor on others, and differ by rounding from those of a
    body alone.

    Torques that branch on the state, or call functions that cannot be traced, are refused with the reason:
    use `Adaptive` for these. ``abs`` is traced: a step ends where its argument vanishes.

    Parameters
    ----------
    rtol : float, optional
        Tolerated error of each step: of the attitude in radians, and of m relative to its size, or to that of its
        changes in the time of a radian. The momentum of a body that damping has almost stopped is less accurate.
    max_step : float, optional
        Upper bound on the step length (the last step may exceed it by 1 percent). By default, a user-defined torque
        that depends on t is sampled at 2040 times of the whole span, and steps are limited such that none passes over a
        feature visible in the samples; ``numpy.inf`` turns this off.
    order : int, optional
        Order of the series, from 4 to 64. The default follows from `rtol`: 17 for 1e-10, 24 for the default
        tolerance. Steps become longer as the order increases.

    Raises
    ------
    InputError
        If an argument is not a number in the range given above.

    Examples
    --------
    >>> Taylor(1e-10).order
    17
    >>> Taylor(rtol=1e-10, max_step=0.5)
    Taylor(rtol=1e-10, max_step=0.5)
    """

    references = (JORBA_2005,)
    not_for_systems = "expands the torque on a single body, which is traced"
    chooses_steps = True
    takes_h = False
    smallest_rtol = SMALLEST_RTOL
    verifies_steps = True
    memory = 4  # see ``kernels.stepping.taylor_block``

    def __init__(self, rtol: float = 1e-15, max_step: float | None = None, order: int | None = None) -> None:
        self.rtol = one_number(rtol, "rtol")
        if not SMALLEST_RTOL <= self.rtol <= LARGEST_RTOL:
            raise InputError(
                f"rtol = {rtol!r}: expected {SMALLEST_RTOL:.2g}, the level of round-off, to {LARGEST_RTOL}; ",
                Hint("type Taylor(1e-15)", 'add --method "Taylor(1e-15)"'),
            )
        self.max_step = None if max_step is None else one_number(max_step, "max_step")
        if self.max_step is not None and not self.max_step > 0.0:
            raise InputError(f"max_step = {max_step!r}: expected a positive time, or numpy.inf for any step")
        self._given_order = None if order is None else whole_number(order, "order", SMALLEST_ORDER)
        if self.order > LARGEST_ORDER:
            raise InputError(f"order = {order}: expected {SMALLEST_ORDER} to {LARGEST_ORDER}")

    @property
    def order(self) -> int:
        """Return the order of the series."""
        if self._given_order is not None:
            return self._given_order
        return ceil(1.0 - ORDER_PER_LOG * log(self._last_term))

    @property
    def _last_term(self) -> float:
        """Return the tolerance that the term of the last order has to meet."""
        return self.rtol**2 / (self.rtol / PER_STEP + ROUNDED)

    @property
    def step_factor(self) -> float:
        """Return the ratio of the step length to the radius that the coefficients suggest."""
        return exp((log(self._last_term) - NEGLECTED) / (self.order - 1))

    @property
    def bound(self) -> float:
        """Return the largest defect of a step: by its length times an error of dm/dt, relative to the scale of m."""
        return DEFECT * self.rtol + ROUNDING_DEFECT

    @property
    def stages(self) -> int:
        """Return the approximate cost of a step, in torque evaluations."""
        return self.order

    def check(self, force: Force) -> None:
        """Raise InputError if the force cannot be traced."""
        if reason := force.why_not_traced:
            raise InputError(
                f"{force!r} cannot be expanded in a Taylor series: {reason}; ",
                Hint("type method=Adaptive(rtol), which takes any torque", 'add --method "Adaptive(rtol)"'),
            )

    def with_tolerance(self, rtol: float, atol: float) -> Method:
        """Return the method with another tolerance; `atol` is not used."""
        return Taylor(rtol, self.max_step, self._given_order)

    def finer(self, h: float | None) -> tuple[Method, float | None]:
        """Return the method with a smaller tolerance, by which errors are estimated."""
        return self.with_tolerance(max(self.rtol / 32.0, SMALLEST_RTOL), 0.0), None

    def new_batch_state(self, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything) -> BatchState:
        """Return the state of bodies at `t0`, with momenta of shape (n, 3) and attitudes of shape (n, 4)."""
        bound = longest() if self.max_step is None else self.max_step
        return BatchState.new(m, q, self.memory).at(t0, bound, np.empty((0, 8)))

    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature."""
        return self._loop(force, in_lanes=False)

    def advance_batch(self, force: Force) -> Advance:
        """Return the compiled loop for batches, which advances several bodies at once in vector lanes."""
        return self._loop(force, in_lanes=True)

    def _loop(self, force: Force, in_lanes: bool) -> Advance:
        """Return the compiled loop for bodies one by one, or in lanes."""
        loop = _kernels().loop
        codes = Codes(force, self, in_lanes)

        def advance(
            bodies: Bodies, clock: Clock, wanted: Wanted, start: int, stop: int, current: BatchState, saved: Saved
        ) -> None:
            code = codes.of(bodies)
            work = Work(bodies, clock, wanted, start, stop, current, saved)
            loop(clock.end, wanted.limit, code.steps, code.settings, work)

        return advance

    def prepared(self, force: Force, bodies: Bodies, current: BatchState) -> Go:
        """Return the loop for a single body, for many calls without output: see `Go`."""
        codes = Codes(force, self)
        if not codes.are_fixed:
            return super().prepared(force, bodies, current)
        from polhode.kernels.stepping.taylor import taylor

        code = codes.of(bodies)
        saved = Saved(np.empty((0, 1, 3)), np.empty((0, 1, 4)))
        work = Work(bodies, Clock(NO_TIMES, NO_TIMES), Wanted(0), 0, 1, current, saved)
        return jit.prepared(taylor, (code.steps, code.settings, work))

    def between(self, force: Force) -> Between:
        """Return the compiled function that computes states within steps; see `Between`."""
        return self._on_steps(_kernels().between, force, in_lanes=False)

    def between_batch(self, force: Force) -> Between:
        """Return the compiled function that computes states within steps of batches, in vector lanes."""
        return self._on_steps(_kernels().between, force, in_lanes=True)

    def polynomials(self, force: Force, in_lanes: bool) -> Between:
        """Return the compiled function that computes the polynomials of steps, of bodies one by one, or in lanes."""
        return self._on_steps(_kernels().polynomials, force, in_lanes)

    def _on_steps(self, loop: Any, force: Force, in_lanes: bool) -> Between:
        """Return a loop over steps that were made, with the code for bodies one by one, or in lanes."""
        codes = Codes(force, self, in_lanes)

        def between(work: Interpolation) -> None:
            code = codes.of(work.bodies)
            loop(code.steps, code.settings, work)

        return between

    def why_no_step(self, force: Force, bodies: Bodies, current: Any, i: int, h: float) -> str:
        """Return why body `i` cannot make a step, and what to do."""
        if current.status[i] == Status.TOO_MANY_STEPS:
            return f"{MOST_STEPS} steps are used up; a larger rtol needs fewer"
        trace, equations = Codes(force, self).graphs(bodies)
        if current.status[i] == Status.STEP_TOO_SMALL:
            return (
                f"{self!r} needs steps that are shorter than the spacing of floating-point numbers at t; "
                f"the derivatives of {fastest(trace, equations, bodies, current, i)} grow fastest there, "
                "which may be singular"
            )
        expression = first_not_finite(trace, equations, bodies, current, i)
        return (
            f"the derivatives of {expression} are not finite there, so that there is no Taylor series; "
            "Adaptive(rtol) needs no derivatives"
        )

    def __repr__(self) -> str:
        """Return the call that creates this method, without default arguments."""
        arguments: dict[str, Any] = {"rtol": self.rtol}
        arguments |= {} if self.max_step is None else {"max_step": self.max_step}
        arguments |= {} if self._given_order is None else {"order": self._given_order}
        return f"Taylor({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


class Kernels(NamedTuple):
    """The compiled loops."""

    loop: Any
    between: Any
    polynomials: Any


@cache
def _kernels() -> Kernels:
    """Return the compiled loops, which are imported when they are needed; the last two are loaded by their calls."""
    from polhode.kernels.stepping.taylor import interpolate, polynomials, taylor

    return Kernels(loaded(taylor), interpolate, polynomials)


class Code(NamedTuple):
    """Generated code and the settings of its loop."""

    steps: Any
    settings: Any


class Codes:
    """Generated code for a force: one for each kind of axes and damping, and for parameters that decide branches."""

    def __init__(self, force: Force, method: Taylor, in_lanes: bool = False) -> None:
        self._force, self._order, self._factor, self._bound = force, method.order, method.step_factor, method.bound
        self._in_lanes = in_lanes  # bodies are advanced several at a time
        self._in_pairs = method.rtol < PAIRS_BELOW
        self._trace = force.traced()
        self._known: tuple[Any, Code] | None = None  # for the latest bodies

    @property
    def are_fixed(self) -> bool:
        """Whether the code does not depend on the numbers of parameters."""
        return not self._trace.conditions

    def of(self, bodies: Bodies) -> Code:
        """Return the code for bodies."""
        kind = self._kind(bodies)
        if self._known is None or self._known[0] != kind:
            self._known = kind, self._new(kind, bodies.params.shape[1])
        return self._known[1]

    def graphs(self, bodies: Bodies) -> tuple[Trace, Equations]:
        """Return the graph of the torque on bodies, and their equations of motion."""
        trace, turned, drag = self._kind(bodies)
        return trace, generated_equations(trace, turned, drag)

    def _kind(self, bodies: Bodies) -> tuple[Trace, bool, str]:
        """Return the graph, whether the body axes are not principal axes, and the kind of damping."""
        is_full = bodies.damping.shape[1] == OBLIQUE
        drag = ("full" if is_full else "diagonal") if self._force.is_damped else "none"
        return self._trace_for(bodies.params), len(bodies.axes) > 0, drag

    def _trace_for(self, params: FloatArray) -> Trace:
        """Return the graph for parameters (n, k), which may have changed since the run began."""
        if not self._trace.conditions or self._trace.holds_for(params):
            return self._trace
        return self._force.replaced(params=params[0] if len(params) == 1 else params).traced()

    def _new(self, kind: tuple[Trace, bool, str], params: int) -> Code:
        """Return the code for a kind of bodies with so many parameters."""
        from polhode.kernels.stepping.taylor_block import TaylorSettings

        order = self._order
        steps = generated(*kind, self._in_lanes, self._in_pairs)
        sizes = steps.lanes, at.PARAMS + params, steps.work(order)
        settings = TaylorSettings(order, self._factor, self._bound, MOST_STEPS, *sizes, *steps.watched)
        return Code(steps.address, settings)


@lru_cache(maxsize=256)
def generated_equations(trace: Trace, turned: bool, drag: str) -> Equations:
    """Return the equations of motion for a graph."""
    return equations(trace.graph, trace.torque, turned, drag)


@lru_cache(maxsize=256)
def generated(trace: Trace, turned: bool, drag: str, in_lanes: bool, in_pairs: bool) -> CompiledSteps:
    """Return the code that is generated from the equations of motion for a graph."""
    return compiled_steps(generated_equations(trace, turned, drag), in_lanes, in_pairs)
