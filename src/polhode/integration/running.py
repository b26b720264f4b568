"""Runs: the state of a batch of bodies, the compiled loop over steps, and the messages when a body fails."""

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
from polhode.forces.base import diagonals
from polhode.integration.problem import Problem
from polhode.integration.stretches import Steps, step_length
from polhode.integration.trajectory import Stats, Trajectory
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.status import Status
from polhode.methods.method import BatchState, Bodies, Clock, Method

PIECE_SECONDS = 0.1  # time after which a compiled loop returns, to show progress and to notice Ctrl-C
FIRST_PIECE = 1000  # steps of all bodies together in the first call of a compiled loop
ACROSS = np.outer((0.0, 1.0, 1.0), (0.0, 1.0, 1.0))  # the part of a damping matrix that acts on a linear rotor
BY_TORQUE = (Status.TORQUE_RAISED, Status.NOT_FINITE)  # statuses of bodies that their torque stopped
HALVINGS, REFINEMENTS = 30, 5  # iterations of the search for a step size that has a solution


class BaseRun:
    """Base class of runs with fixed steps and of adaptive runs."""

    current: BatchState
    h: float

    def __init__(self, problem: Problem, span: tuple[float, float], method: Any) -> None:
        """Check that the method fits the force, and arrange the data of all bodies in rows for the kernels."""
        self.problem = problem
        self.method = method
        self.t0, self.t1 = span
        self.force = problem.force
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
        self.interrupted = False
        self.seconds = 0.0

    def _damping(self) -> FloatArray:
        """Return the damping of each body in the format of ``kernels.stepping.damping``: rows (n, 3) or (n, 21)."""
        D = self.force.damping
        body = self.problem.body
        if body.is_linear:
            D = D * ACROSS
        along = diagonals(D)
        if along is not None and (self.axes is None or not np.any(along[..., :1] != along)):
            return rows_of(along, self.batch, 3)
        return rows_of(oblique_damping(D, flow_moments(body), body.axes), self.batch, OBLIQUE)

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Return the initial (m, q) of all bodies in principal axes: writable arrays (n, 3) and (n, 4)."""
        m, q = to_principal(self.axes, self.problem.state.m, self.problem.state.q)
        return _own(m, self.batch, 3), _own(q, self.batch, 4)

    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (k, n, .) in principal axes to (k,) + batch + (.,) in the axes of the user."""
        shape = len(m), *self.batch
        return from_principal(self.axes, m.reshape(*shape, 3), q.reshape(*shape, 4))

    def rows_to_user(self, m: FloatArray, q: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (r, .) in principal axes, of bodies with indices (r,), to the axes of the user."""
        if self.axes is None:
            return m, q
        axes = np.broadcast_to(self.axes, (*self.batch, 3, 3)).reshape(-1, 3, 3)
        return from_principal(axes[body], m, q)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all arrays that are needed to continue the run."""
        return {name: np.copy(value) for name, value in vars(self.current).items()} | {
            "seconds": np.array(self.seconds)
        }

    def restore(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Restore a snapshot; results do not depend, to the bit, on whether the run was interrupted."""
        for name, value in vars(self.current).items():
            value[...] = snapshot[name]
        self.seconds = float(snapshot["seconds"])

    @property
    def all_stopped(self) -> bool:
        """Whether no body continues."""
        return bool((self.current.status != Status.REACHED_END).all())

    def user_status(self) -> Any:
        """Return the status as in ``Trajectory``: a Status, or for a batch an array of its shape."""
        status = self.current.status.copy()
        if self.interrupted:
            status[status == Status.REACHED_END] = Status.INTERRUPTED
        return status.reshape(self.batch) if self.batch else Status(status[0])

    def trajectory(self, t: FloatArray, m: FloatArray, q: FloatArray, **more: Any) -> Trajectory:
        """Return the trajectory of states m and q in the axes of the user.

        Raises
        ------
        RunError
            If a single body failed. For a batch a RunWarning is issued instead.
        """
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
            message=Status.INTERRUPTED.message if self.interrupted else "", **more,
        )  # fmt: skip
        if (current.status < 0).any():
            self._explain(result)
        return result

    def _explain(self, result: Trajectory) -> None:
        """Raise a RunError for a single body that failed; warn for a batch, whose other bodies continued."""
        failed = self.current.status < 0
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
        details = "" if cause is None else "\n" + "".join(traceback.format_exception(cause))
        warnings.warn(
            f"{int(failed.sum())} of {self.count_bodies} bodies stopped early; {result.message}{details}",
            RunWarning,
            stacklevel=5,
        )

    def _of_steps(self) -> str:
        """Return the text that follows the number of a step in messages."""
        return ""

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        raise NotImplementedError

    def _why(self, i: int) -> tuple[str, BaseException | None]:
        """Return why body `i` stopped, and the original exception, for which the torque is called again uncompiled."""
        if self.current.status[i] not in BY_TORQUE:
            return self.why_no_step(i), None
        where = np.unravel_index(i, self.batch) if self.batch else ()
        body = self.problem.body.select(self.batch, where)
        t, m, q = self.failed_at(i)
        m, q = from_principal(None if body.is_principal else body.axes, m, q)
        Q, w = tuple(map(tuple, matrix(q).tolist())), tuple(body.omega(m).tolist())
        params = self.bodies.params[i if len(self.bodies.params) > 1 else 0]
        try:
            torque = self.force.python_torque(t, Q, w, params)
        except Exception as error:
            return f"the torque raised {type(error).__name__}: {error}", error
        return f"the torque is {torque}, not three finite numbers", None

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step."""
        raise NotImplementedError


class Run(BaseRun):
    """Run with a fixed step size; if the torque has breaks, with one step size between each two of them.

    At a break the method restarts from the states there, without the data that it carries from step to step. The
    attribute ``h`` is the longest step size. Each stretch between breaks has at least `least` steps.
    """

    method: Method

    def __init__(
        self, problem: Problem, span: tuple[float, float], method: Method, h: float | None, least: int = 1
    ) -> None:
        """Divide `span` into steps no longer than `h`, or than the step size of the problem if `h` is None."""
        super().__init__(problem, span, method)
        self.grid = Steps(span, self.force.breaks, step_length(problem.h if h is None else h), least)
        self.count = self.grid.count
        self.h = float(self.grid.h[np.argmax(np.abs(self.grid.h))])
        self.current = method.new_batch_state(*self.start())

    def at_steps(self, saves: IntArray, bar: Progress) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (t, m, q) after the steps `saves` (k,), in principal axes; NaN where a body did not reach them."""
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
        """Compile all functions of the run, or load them from the cache, because compilation cannot be interrupted."""
        self.load_steps()
        if self.force.has_energy:
            self.force.potential(self.t0, self.problem.state.q)

    def load_steps(self) -> None:
        """Compile the loop over steps, or load it from the cache, so that compilation does not count as run time.

        The loop is called for an empty range of bodies.
        """
        no_states = np.empty((0, self.count_bodies, 3)), np.empty((0, self.count_bodies, 4))
        no_steps = np.empty(0, np.int64)
        clock = self.grid.clock(0)
        self.method.advance(self.force)(self.bodies, clock, no_steps, 0, 0, 0, self.current, *no_states)

    def times(self, steps: IntArray | int) -> FloatArray:
        """Return the times after numbers of steps."""
        return self.grid.times(steps)

    def _advance(self, saves: IntArray, m: FloatArray, q: FloatArray, bar: Progress) -> None:
        """Advance to the last of `saves`, in calls of about PIECE_SECONDS, none of which crosses a break."""
        going = self.current.status == 0
        done = int(self.current.steps[going].min(initial=self.count))
        saved = 0
        piece = max(1, FIRST_PIECE // max(1, self.count_bodies))
        while saved < len(saves) and not self.all_stopped:
            k = int(self.grid.of(done))
            clock = self.grid.clock(k)
            end = int(self.grid.first[k + 1])
            limit = min(done + piece, end, int(saves[-1]))
            last = int(np.searchsorted(saves, limit, side="right"))
            next_saves = saves[saved : max(last, saved + 1)]
            out = m[saved : saved + len(next_saves)], q[saved : saved + len(next_saves)]
            began = time.perf_counter()
            self._call(clock, next_saves, limit, *out, piece)
            elapsed = time.perf_counter() - began
            saved = max(saved, last)
            advanced = limit - done
            done = limit
            if done == end < self.count:
                self._restart(clock, end)
            bar.show(min(done, self.count))
            piece = max(1, int(advanced * min(8.0, max(0.25, PIECE_SECONDS / max(elapsed, 1e-6)))))

    def _call(self, clock: Clock, saves: IntArray, limit: int, m: FloatArray, q: FloatArray, steps: int) -> None:
        """Call the compiled loop for all bodies; `steps`, the expected count, determines the number of threads."""
        advance = self.method.advance(self.force)

        def work(start: int, stop: int) -> int:
            advance(self.bodies, clock, saves, limit, start, stop, self.current, m, q)
            return 0

        in_ranges(work, self.count_bodies, steps * self.method.stages)

    def _restart(self, clock: Clock, step: int) -> None:
        """Restart from the states after `step` as they would be saved; `clock` is that of the steps up to there."""
        current = self.current
        n = self.count_bodies
        m, q = np.full((1, n, 3), np.nan), np.full((1, n, 4), np.nan)
        self._call(clock, np.array([step]), step, m, q, 1)
        going = current.status == 0
        current.m[going], current.q[going], current.memory[going] = m[0, going], q[0, going], 0.0

    def single_steps(
        self, body: IntArray, stretch: IntArray, t: FloatArray, h: FloatArray, m: FloatArray, q: FloatArray,
        steps: int = 1,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Return (m, q) after `steps` steps from each of r states.

        Parameters
        ----------
        body, stretch : ndarray of int, shape (r,)
            Indices of the bodies, and of the stretches of time in which the steps are.
        t, h : ndarray, shape (r,)
            Initial times and step sizes.
        m, q : ndarray, shape (r, 3) and (r, 4)
            Initial states in principal axes.
        steps : int, optional
            Number of steps. The default is 1.

        Returns
        -------
        m, q : ndarray, shape (r, 3) and (r, 4)
            States after the steps; NaN where they failed.
        """
        current = self.method.new_batch_state(m.copy(), q.copy())
        current.status[~np.isfinite(m).all(axis=-1)] = Status.NOT_FINITE
        m_out, q_out = np.full((1, *m.shape), np.nan), np.full((1, *q.shape), np.nan)
        advance = self.method.advance(self.force)
        bodies = self.bodies.take(body)
        clock = Clock(t, h, self.grid.low[stretch], self.grid.high[stretch])

        def work(start: int, stop: int) -> int:
            advance(bodies, clock, np.array([steps]), steps, start, stop, current, m_out, q_out)
            return 0

        in_ranges(work, len(m), steps * self.method.stages)
        self.current.torques[0] += current.torques.sum()
        return m_out[0], q_out[0]

    def _of_steps(self) -> str:
        """Return the number of all steps, for messages."""
        return f" of {self.count}"

    def failed_at(self, i: int) -> tuple[float, FloatArray, FloatArray]:
        """Return (t, m, q) where body `i` failed, in principal axes."""
        clock = self._clock_of(i)
        t = min(max(self.method.time_of(self.current, i, clock), float(clock.low[0])), float(clock.high[0]))
        return t, self.current.m[i], self.current.q[i]

    def _clock_of(self, i: int) -> Clock:
        """Return the clock of the stretch of time in which body `i` is."""
        return self.grid.clock(int(self.grid.of(self.current.steps[i])))

    def why_no_step(self, i: int) -> str:
        """Return the reason why body `i` cannot make a step, and a step size that works, if one is found."""
        residual = float(self.current.residual[i])
        why = f"a step of {self.method!r} has no solution"
        why += f" (residual {residual:.1e})" if residual else ""
        why += self.method.why_no_step(self.force, self.bodies, self.current, i, float(self._clock_of(i).h[0]))
        works = self._working_step(i)
        return f"{why}; {'no shorter step with a solution was found' if works is None else f'h = {works:.3g} has one'}"

    def _working_step(self, i: int) -> float | None:
        """Return a step size that works where body `i` failed, found by halving and refined by bisection."""
        good = None
        bad = abs(float(self._clock_of(i).h[0]))
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
        """Return whether a step of size `length` from where body `i` failed has a solution."""
        t, m, q = self.failed_at(i)
        h = np.array([np.copysign(length, self.h)])
        stretch = np.array([self.grid.of(self.current.steps[i])])
        m, _ = self.single_steps(np.array([i]), stretch, np.array([t]), h, m[None], q[None])
        return bool(np.isfinite(m).all())


def oblique_damping(D: FloatArray, moments: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the rates, P and P^-1 of ``kernels.stepping.damping`` as an array of shape (..., 21).

    They are for damping matrices D (..., 3, 3) that are not diagonal in the principal axes `axes` (..., 3, 3).
    """
    unit_D, unit_I = (_power_of_two(x.max(axis=-1, keepdims=True)) for x in (D.max(axis=-1), moments))
    root = np.sqrt(moments / unit_I)
    full = np.einsum("...ji,...jk,...kl->...il", axes, D / unit_D[..., None], axes)
    rates, U = np.linalg.eigh(full / (root[..., :, None] * root[..., None, :]))
    rates = np.maximum(rates, 0.0) * (unit_D / unit_I)
    P, inverse = root[..., :, None] * U, np.swapaxes(U, -1, -2) / root[..., None, :]
    return np.concatenate([rates, *(x.reshape(*x.shape[:-2], 9) for x in (P, inverse))], axis=-1)


def _power_of_two(x: FloatArray) -> FloatArray:
    """Return the largest power of two that is at most x, and 1 for 0; dividing by it is exact."""
    return np.where(x > 0, np.ldexp(1.0, np.frexp(x)[1] - 1), 1.0)


def times_within(t_eval: npt.ArrayLike, span: tuple[float, float]) -> FloatArray:
    """Return `t_eval` as an array of shape (k,); raise TimeError unless all times are finite and within the span."""
    times = as_floats(t_eval, "t_eval")
    check_finite(times, "t_eval", TimeError)
    low, high = sorted(span)
    if times.ndim != 1 or not ((times >= low) & (times <= high)).all():
        raise TimeError(f"t_eval: expected times (k,) between {low:g} and {high:g}; got {show(times[:4])}...")
    return times


def _own(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    """Return a writable copy of `array`, broadcast to the batch, of shape (n, components)."""
    return np.array(np.broadcast_to(array, (*batch, components)), order="C").reshape(-1, components)
