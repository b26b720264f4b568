"""A run: bodies on their way, the compiled loop that moves them, and what to say when one cannot go on."""

from __future__ import annotations

import time
import traceback
import warnings
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray, writable
from polhode.core.body import flow_moments, from_principal, to_principal
from polhode.core.checks import as_floats, check_finite, check_spread, common_batch, place, rows_of, show
from polhode.core.errors import RunError, RunWarning, TimeError
from polhode.core.progress import Progress
from polhode.core.rotation import matrix
from polhode.core.threads import in_ranges
from polhode.forces.base import Force, diagonals
from polhode.forces.nothing import nothing
from polhode.integration.problem import Problem
from polhode.integration.stretches import Steps, step_length
from polhode.integration.trajectory import ENDED_BY_EVENT, FAILED, INTERRUPTED, REACHED_END, Stats, Trajectory
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.methods.method import BatchState, Bodies, Clock, Method

PIECE_SECONDS = 0.1  # after which a loop comes back to look at the clock and the keyboard
FIRST_PIECE = 1000  # steps of all bodies together
NO_STEP, RAISED, NOT_FINITE, TOO_SMALL = 1, 2, 3, 4  # how kernels say that a body stopped
STOPPED = 5  # by an event
ACROSS = np.outer((0.0, 1.0, 1.0), (0.0, 1.0, 1.0))  # the part of a damping matrix that acts on a linear rotor
TOO_MANY = 6  # how the kernel of Adaptive says that the budget of steps is used up
HALVINGS, REFINEMENTS = 30, 5  # of the search for a step that works


class BaseRun:
    """What runs with steps of one length and runs that choose their steps have in common."""

    current: BatchState
    h: float

    def __init__(self, problem: Problem, span: tuple[float, float], method: Any) -> None:
        self.problem, self.method, (self.t0, self.t1) = problem, method, span
        self.force: Force = nothing() if problem.force is None else problem.force
        method.check(self.force)
        body, state, force = problem.body, problem.state, self.force
        self.batch = common_batch(
            body=body.batch, state=state.batch, params=force.params.shape[:-1], damping=force.damping.shape[:-2]
        )
        self.count_bodies = prod(self.batch)
        self.axes = None if body.is_principal else body.axes
        moments = flow_moments(body)
        check_spread(moments)
        axes = np.empty((0, 9)) if self.axes is None else rows_of(self.axes.reshape(*body.batch, 9), self.batch, 9)
        self.bodies = Bodies(
            rows_of(moments, self.batch, 3),
            np.ascontiguousarray(axes),
            self._damping(),
            writable(rows_of(force.params, self.batch, force.params.shape[-1])),
        )
        self.interrupted, self.seconds = False, 0.0

    def _damping(self) -> FloatArray:
        """Rows as ``kernels.stepping.damping`` takes them."""
        D, body = self.force.damping, self.problem.body
        if body.is_linear:
            D = D * ACROSS
        along = diagonals(D)
        if along is not None and (self.axes is None or not np.any(along[..., :1] != along)):
            return rows_of(along, self.batch, 3)
        return rows_of(oblique_damping(D, flow_moments(body), body.axes), self.batch, OBLIQUE)

    def start(self) -> tuple[FloatArray, FloatArray]:
        """(m, q) of all bodies, in principal axes: rows to write to."""
        m, q = to_principal(self.axes, self.problem.state.m, self.problem.state.q)
        return _own(m, self.batch, 3), _own(q, self.batch, 4)

    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows (k, bodies, .) in principal axes as arrays (k,) + batch + (.,) in the user's axes."""
        shape = len(m), *self.batch
        return from_principal(self.axes, m.reshape(*shape, 3), q.reshape(*shape, 4))

    def rows_to_user(self, m: FloatArray, q: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """Rows (r, .) in principal axes, each of the body with that number, in the user's axes."""
        if self.axes is None:
            return m, q
        axes = np.broadcast_to(self.axes, (*self.batch, 3, 3)).reshape(-1, 3, 3)
        return from_principal(axes[body], m, q)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """All that is needed to go on: copies."""
        return {name: np.copy(value) for name, value in vars(self.current).items()} | {
            "seconds": np.array(self.seconds)
        }

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from there; no bit of what follows depends on whether the run was interrupted."""
        for name, value in vars(self.current).items():
            value[...] = snapshot[name]
        self.seconds = float(snapshot["seconds"])

    @property
    def all_stopped(self) -> bool:
        return bool((self.current.status > 0).all())

    def user_status(self) -> Any:
        """As in a Trajectory."""
        code = self.current.status
        status = np.select([code == 0, code == STOPPED], [REACHED_END, ENDED_BY_EVENT], FAILED)
        if self.interrupted:
            status[code == 0] = INTERRUPTED
        return status.reshape(self.batch) if self.batch else int(status[0])

    def trajectory(self, t: FloatArray, m: FloatArray, q: FloatArray, **more: Any) -> Trajectory:
        """What was computed, in the user's axes; raises, or warns, if a body could not go on."""
        current = self.current
        rejected = int(getattr(current, "rejected", np.zeros(1)).sum())
        stats = Stats(
            int(current.steps.sum()),
            int(current.torques.sum()),
            self.seconds,
            int(current.iterations.sum()),
            rejected,
        )
        result = Trajectory(
            self.problem, t, m, q, method=self.method, h=self.h, stats=stats, status=self.user_status(),
            message="interrupted" if self.interrupted else "", **more,
        )  # fmt: skip
        if np.any(np.equal(result.status, FAILED)):
            self._explain(result)
        return result

    def _explain(self, result: Trajectory) -> None:
        """Raise what stopped the body; of a batch, whose other bodies went on, say so in a warning."""
        failed = (self.current.status > 0) & (self.current.status != STOPPED)
        i = int(np.argmax(failed))
        where = tuple(int(k) for k in np.unravel_index(i, self.batch)) if self.batch else ()
        t, m, q = self.failed_at(i)
        why, cause = self._why(i)
        result.message = (
            f"{place('body', where)} stopped in step {int(self.current.steps[i]) + 1}{self._of_steps()}, at t = "
            f"{t:.6g}, m = {show(m)}, q = {show(q)}: {why}"
        )
        if not self.batch:
            raise RunError(result.message, result) from cause
        told = "" if cause is None else "\n" + "".join(traceback.format_exception(cause))
        warnings.warn(
            f"{int(failed.sum())} of {self.count_bodies} bodies stopped early; {result.message}{told}",
            RunWarning,
            stacklevel=5,
        )

    def _of_steps(self) -> str:
        return ""

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """(t, m, q) where body i could not go on, in principal axes."""
        raise NotImplementedError

    def _why(self, i: int) -> tuple[str, BaseException | None]:
        """What stopped body i, and the original exception: the torque is called once more, uncompiled."""
        if self.current.status[i] in (NO_STEP, TOO_SMALL, TOO_MANY):
            return self.why_no_step(i), None
        where = np.unravel_index(i, self.batch) if self.batch else ()
        body = self.problem.body.select(self.batch, where)
        t, m, q = self.failed_at(i)
        m, q = from_principal(None if body.is_principal else body.axes, m, q)
        Q, w = tuple(map(tuple, matrix(q).tolist())), tuple(body.omega(m).tolist())
        params = self.bodies.params[i if len(self.bodies.params) > 1 else 0]
        try:
            found = self.force.python_torque(t, Q, w, params)
        except Exception as problem:
            return f"the torque raised {type(problem).__name__}: {problem}", problem
        return f"the torque is {found}, not three finite numbers", None

    def why_no_step(self, i: int) -> str:
        raise NotImplementedError


class Run(BaseRun):
    """A run with steps of one length; between breaks of the torque, if it has any, of one length each.

    At a break the method begins anew, from the states there: nothing that it keeps from step to step goes across. ``h``
    is the longest step. Each stretch between breaks has ``least`` steps or more.
    """

    method: Method

    def __init__(
        self, problem: Problem, span: tuple[float, float], method: Method, h: float | None, least: int = 1
    ) -> None:
        super().__init__(problem, span, method)
        self.grid = Steps(span, self.force.breaks, step_length(problem.h if h is None else h), least)
        self.count = self.grid.count
        self.h = float(self.grid.h[np.argmax(np.abs(self.grid.h))])
        self.current = method.new_batch_state(*self.start())

    def at_steps(self, saves: IntArray, bar: Progress) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(t, m, q) after those steps, in principal axes; NaN where a body did not come so far."""
        n = self.count_bodies
        m, q = np.full((len(saves), n, 3), np.nan), np.full((len(saves), n, 4), np.nan)
        self.load_steps()
        began = time.perf_counter()
        try:
            self._advance(saves, m, q, bar)
        except KeyboardInterrupt:
            self.interrupted = True
        self.seconds += time.perf_counter() - began
        return self.times(saves), m, q

    def load(self) -> None:
        """Compile what will be needed, or load it from the cache: a compiler that is at work does not hear Ctrl-C."""
        self.load_steps()
        if self.force.has_energy:
            self.force.potential(self.t0, self.problem.state.q)

    def load_steps(self) -> None:
        """Compile the loop over steps, or load it from the cache, by a call for no body: runs are timed without it."""
        none = np.empty((0, self.count_bodies, 3)), np.empty((0, self.count_bodies, 4))
        clock, nowhere = self.grid.clock(0), np.empty(0, np.int64)
        self.method.advance(self.force)(self.bodies, clock, nowhere, 0, 0, 0, self.current, *none)

    def times(self, steps: IntArray | int) -> FloatArray:
        """After so many steps."""
        return self.grid.times(steps)

    def _advance(self, saves: IntArray, m: FloatArray, q: FloatArray, bar: Progress) -> None:
        """All the way, in pieces of about PIECE_SECONDS, none of which goes on beyond a break."""
        going = self.current.status == 0
        done, saved = int(self.current.steps[going].min(initial=self.count)), 0
        piece = max(1, FIRST_PIECE // max(1, self.count_bodies))
        while saved < len(saves) and not self.all_stopped:
            k = int(self.grid.of(done))
            clock, end = self.grid.clock(k), int(self.grid.first[k + 1])
            limit = min(done + piece, end, int(saves[-1]))
            last = int(np.searchsorted(saves, limit, side="right"))
            some = saves[saved : max(last, saved + 1)]
            out = m[saved : saved + len(some)], q[saved : saved + len(some)]
            began = time.perf_counter()
            self._call(clock, some, limit, *out, piece)
            elapsed = time.perf_counter() - began
            saved, made, done = max(saved, last), limit - done, limit
            if done == end < self.count:
                self._begin_anew(clock, end)
            bar.show(min(done, self.count))
            piece = max(1, int(made * min(8.0, max(0.25, PIECE_SECONDS / max(elapsed, 1e-6)))))

    def _call(self, clock: Clock, saves: IntArray, limit: int, m: FloatArray, q: FloatArray, steps: int) -> None:
        """The compiled loop, for all bodies: about so many steps."""
        advance = self.method.advance(self.force)

        def work(start: int, stop: int) -> int:
            advance(self.bodies, clock, saves, limit, start, stop, self.current, m, q)
            return 0

        in_ranges(work, self.count_bodies, steps * self.method.stages)

    def _begin_anew(self, clock: Clock, step: int) -> None:
        """From the states after that step, as somebody who looks would see them; ``clock`` is that of the way there."""
        current, n = self.current, self.count_bodies
        m, q = np.full((1, n, 3), np.nan), np.full((1, n, 4), np.nan)
        self._call(clock, np.array([step]), step, m, q, 1)
        going = current.status == 0
        current.m[going], current.q[going], current.memory[going] = m[0, going], q[0, going], 0.0

    def single_steps(
        self, body: IntArray, stretch: IntArray, t: FloatArray, h: FloatArray, m: FloatArray, q: FloatArray,
        steps: int = 1,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """(m, q) (r, .) after steps of lengths h (r,) from rows m, q at times t in those stretches of time, each of the
        body with that number."""
        current = self.method.new_batch_state(m.copy(), q.copy())
        current.status[~np.isfinite(m).all(axis=-1)] = NOT_FINITE
        m_out, q_out = np.full((1, *m.shape), np.nan), np.full((1, *q.shape), np.nan)
        advance, bodies = self.method.advance(self.force), self.bodies.take(body)
        clock = Clock(t, h, self.grid.low[stretch], self.grid.high[stretch])

        def work(start: int, stop: int) -> int:
            advance(bodies, clock, np.array([steps]), steps, start, stop, current, m_out, q_out)
            return 0

        in_ranges(work, len(m), steps * self.method.stages)
        self.current.torques[0] += current.torques.sum()
        return m_out[0], q_out[0]

    def _of_steps(self) -> str:
        return f" of {self.count}"

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        clock = self._clock_of(i)
        t = min(max(self.method.time_of(self.current, i, clock), float(clock.low[0])), float(clock.high[0]))
        return t, self.current.m[i], self.current.q[i]

    def _clock_of(self, i: int) -> Clock:
        """Of the stretch where body i is."""
        return self.grid.clock(int(self.grid.of(self.current.steps[i])))

    def why_no_step(self, i: int) -> str:
        residual = float(self.current.residual[i])
        why = f"a step of {self.method!r} has no solution"
        why += f" (residual {residual:.1e})" if residual else ""
        why += self.method.why_no_step(self.force, self.bodies, self.current, i, float(self._clock_of(i).h[0]))
        works = self._working_step(i)
        return f"{why}; {'no shorter step was found that has one' if works is None else f'h = {works:.3g} has one'}"

    def _working_step(self, i: int) -> float | None:
        """A length that works from where body i is: found by halving, and refined by bisection."""
        good, bad = None, abs(float(self._clock_of(i).h[0]))
        for _ in range(HALVINGS):
            if self._works(i, bad / 2):
                good = bad / 2
                break
            bad /= 2
        for _ in range(REFINEMENTS if good is not None else 0):
            middle = 0.5 * (good + bad)  # type: ignore[operator]
            good, bad = (middle, bad) if self._works(i, middle) else (good, middle)
        return good

    def _works(self, i: int, length: float) -> bool:
        t, m, q = self.failed_at(i)
        h, stretch = np.array([np.copysign(length, self.h)]), np.array([self.grid.of(self.current.steps[i])])
        m, _ = self.single_steps(np.array([i]), stretch, np.array([t]), h, m[None], q[None])
        return bool(np.isfinite(m).all())


def oblique_damping(D: FloatArray, moments: FloatArray, axes: FloatArray) -> FloatArray:
    """Rates, P and P^-1 of ``kernels.stepping.damping``, (..., 21), for matrices D that are not diagonal in principal
    axes."""
    unit_D, unit_I = (_power_of_two(x.max(axis=-1, keepdims=True)) for x in (D.max(axis=-1), moments))
    root = np.sqrt(moments / unit_I)
    full = np.einsum("...ji,...jk,...kl->...il", axes, D / unit_D[..., None], axes)
    rates, U = np.linalg.eigh(full / (root[..., :, None] * root[..., None, :]))
    rates = np.maximum(rates, 0.0) * (unit_D / unit_I)
    P, inverse = root[..., :, None] * U, np.swapaxes(U, -1, -2) / root[..., None, :]
    return np.concatenate([rates, *(x.reshape(*x.shape[:-2], 9) for x in (P, inverse))], axis=-1)


def _power_of_two(x: FloatArray) -> FloatArray:
    """Not larger than x; 1 for 0. Dividing by it changes no digits."""
    return np.where(x > 0, np.ldexp(1.0, np.frexp(x)[1] - 1), 1.0)


def times_within(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """The times (k,) that are wanted, all within the span."""
    times = as_floats(t_eval, "t_eval")
    check_finite(times, "t_eval", TimeError)
    low, high = sorted(span)
    if times.ndim != 1 or not ((times >= low) & (times <= high)).all():
        raise TimeError(f"t_eval must be times (k,) between {low:g} and {high:g}; got {show(times[:4])}...")
    return times


def _own(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    """Rows (bodies, components) to write to."""
    return np.array(np.broadcast_to(array, (*batch, components)), order="C").reshape(-1, components)
