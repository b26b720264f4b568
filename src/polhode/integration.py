"""Torqued bodies in time: ``integrate``, the bridge from problems to the compiled loops."""

from __future__ import annotations

import time
import traceback
import warnings
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.body import flow_moments, from_principal, to_principal
from polhode.checks import (
    FloatArray,
    as_floats,
    check_finite,
    check_spread,
    common_batch,
    place,
    rows_of,
    show,
    whole_number,
)
from polhode.errors import InputError, RunError, RunWarning, TimeError
from polhode.force import Force
from polhode.forces import constant
from polhode.methods.splitting import Splitting, as_method
from polhode.problem import Problem, checked_span
from polhode.progress import Progress
from polhode.rotation import matrix
from polhode.threads import in_ranges
from polhode.trajectory import Stats, Trajectory

PIECE_SECONDS = 0.1  # after which a loop comes back to look at the clock and the keyboard
FIRST_PIECE = 1000  # steps of all bodies together
MOST_STEPS = 2**62
NO_STEP, INTERRUPTED = 1, -1  # statuses: of ``kernels.splitting``, and ours


def integrate(
    problem: Problem,
    t_span: tuple[float, float] | None = None,
    *,
    method: Any = "RKN6_14a",
    h: float | None = None,
    t_eval: npt.ArrayLike | None = None,
    save_every: int = 1,
    progress: bool = False,
) -> Trajectory:
    """Follow a body, or a batch of them, with steps of one length.

    Parameters
    ----------
    problem : body, state, force and time span; bodies and states may be batches, which broadcast
    t_span : another time span; it may go backward
    method : the name of a scheme, a Scheme (both with exact drifts), or ``Splitting(flow, scheme)``
    h : length of a step; it is shortened so that a whole number of steps makes the time span
    t_eval : times (k,) at which states are wanted, instead of those of every ``save_every``-th step
    progress : show a bar

    A run can be interrupted (Ctrl-C): the trajectory then ends there.

    >>> from polhode import Problem, State, forces
    >>> top = Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    >>> traj = integrate(top, h=0.05)
    >>> len(traj), bool(abs(traj.energy_error()).max() < 1e-9)
    (201, True)
    """
    run = _Run(problem, problem.t_span if t_span is None else checked_span(t_span), as_method(method), h)
    if t_eval is None:
        times, m, q = run.at_steps(_saves(run.count, save_every), progress)
    else:
        times, m, q = run.at_times(_times(t_eval, run), progress)
    return run.trajectory(times, m, q)


class _Run:
    """One integration: the arrays that the kernel works on, and what it is told."""

    def __init__(self, problem: Problem, span: tuple[float, float], method: Splitting, h: float | None) -> None:
        self.problem, self.method, self.t0 = problem, method, span[0]
        self.force: Force = constant((0.0, 0.0, 0.0)) if problem.force is None else problem.force
        method.check(self.force)
        length = _step_length(problem.h if h is None else h)
        self.count = max(1, ceil(abs(span[1] - span[0]) / length * (1 - 1e-12)))
        if self.count > MOST_STEPS:
            raise TimeError(f"h = {length:g} makes more than {MOST_STEPS:g} steps; give a longer one")
        self.h = (span[1] - span[0]) / self.count
        body, state = problem.body, problem.state
        self.batch = common_batch(
            body=body.batch,
            state=state.batch,
            params=self.force.params.shape[:-1],
            damping=self.force.damping.shape[:-1],
        )
        self.bodies = prod(self.batch)
        self.axes = None if body.is_principal else body.axes
        m, q = to_principal(self.axes, state.m, state.q)
        self.m, self.q = _own(m, self.batch, 3), _own(q, self.batch, 4)
        self.pending = np.zeros((self.bodies, 4))
        self.steps, self.status, self.torques = (np.zeros(self.bodies, np.int64) for _ in range(3))
        moments = flow_moments(body)
        check_spread(moments)
        axes = np.empty((0, 9)) if self.axes is None else rows_of(self.axes.reshape(*body.batch, 9), self.batch, 9)
        flow = method.flow
        self.told = (
            np.array(rows_of(self.force.params, self.batch, self.force.params.shape[-1])),
            method.stages(),
            np.array([float(x) for x in flow.exact_parameters]),
            flow.size,
            np.array([float(x) for x in flow.fractions]),
            rows_of(moments, self.batch, 3),
            np.ascontiguousarray(axes),
            rows_of(self.force.damping, self.batch, 3),
            bool(self.force.velocity_dependent),
        )
        self.interrupted = False
        self.seconds = 0.0

    def at_steps(self, saves: npt.NDArray[np.int64], progress: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(t, m, q) after those steps, in principal axes."""
        m, q = np.full((len(saves), self.bodies, 3), np.nan), np.full((len(saves), self.bodies, 4), np.nan)
        began = time.perf_counter()
        with Progress(progress, self.t0, self.h, self.count) as bar:
            try:
                self._advance(saves, m, q, bar)
            except KeyboardInterrupt:
                self.interrupted = True
        self.seconds += time.perf_counter() - began
        return np.asarray(self.t0 + saves * self.h, dtype=np.float64), m, q

    def _advance(self, saves: npt.NDArray[np.int64], m: FloatArray, q: FloatArray, bar: Progress) -> None:
        """All the way, in pieces of about PIECE_SECONDS."""
        torque, split = self.force.torque_function(), self.method.flow.split
        done, piece = 0, max(1, FIRST_PIECE // self.bodies)
        saved = 0
        while saved < len(saves) and not (self.status > 0).all():
            limit = done + piece
            last = int(np.searchsorted(saves, limit, side="right"))
            some = saves[saved:last] if last > saved else saves[saved : saved + 1]
            told = (*self.told, np.array([self.t0]), np.array([self.h]), some, limit)
            kept = self.m, self.q, self.pending, self.steps, self.status, self.torques
            m_out, q_out = m[saved : saved + len(some)], q[saved : saved + len(some)]

            def work(start: int, stop: int, told: Any = told, kept: Any = kept, out: Any = (m_out, q_out)) -> int:
                split(torque, (*told, start, stop, *kept, *out))
                return 0

            began = time.perf_counter()
            in_ranges(work, self.bodies, piece * len(self.told[1]))
            elapsed = time.perf_counter() - began
            saved, done = max(saved, last), limit
            bar.show(min(done, self.count))
            piece = max(1, int(piece * min(8.0, max(0.25, PIECE_SECONDS / max(elapsed, 1e-6)))))

    def at_times(self, times: FloatArray, progress: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(t, m, q) at those times: the step before, and from there one of the remaining length."""
        whole = np.clip(np.floor((times - self.t0) / self.h).astype(np.int64), 0, self.count)
        saves, which = np.unique(whole, return_inverse=True)
        _, m, q = self.at_steps(saves, progress)
        m, q = m[which], q[which]
        rest = times - (self.t0 + whole * self.h)
        for k in np.flatnonzero(rest != 0.0):
            told = (*self.told, np.array([times[k] - rest[k]]), np.array([rest[k]]), np.array([1]), 1, 0, self.bodies)
            kept = np.zeros((self.bodies, 4)), np.zeros(self.bodies, np.int64), self.status.copy(), self.torques
            start = m[k].copy(), q[k].copy()
            self.method.flow.split(self.force.torque_function(), (*told, *start, *kept, m[k : k + 1], q[k : k + 1]))
        return times, m, q

    def trajectory(self, times: FloatArray, m: FloatArray, q: FloatArray) -> Trajectory:
        shape = len(times), *self.batch
        m, q = from_principal(self.axes, m.reshape(*shape, 3), q.reshape(*shape, 4))
        stats = Stats(int(self.steps.sum()), int(self.torques.sum()), self.seconds)
        failed = bool((self.status > 0).any())
        if self.interrupted:
            self.status[self.status == 0] = INTERRUPTED
        result = Trajectory(
            self.problem, times, m, q, method=self.method, h=self.h, stats=stats, status=self._status(),
            message="interrupted" if self.interrupted else "",
        )  # fmt: skip
        if failed:
            self._explain(result)
        return result

    def _status(self) -> Any:
        return self.status.reshape(self.batch) if self.batch else int(self.status[0])

    def _explain(self, result: Trajectory) -> None:
        """Raise what stopped the body; of a batch, whose other bodies reached the end, say so in a warning."""
        i = int(np.argmax(self.status > 0))
        where = tuple(int(k) for k in np.unravel_index(i, self.batch)) if self.batch else ()
        why, cause = self._why(i)
        result.message = (
            f"{place('body', where)} stopped in step {int(self.steps[i]) + 1} of {self.count}, at t = "
            f"{self._time_of(i):.6g}, m = {show(self.m[i])}, q = {show(self.q[i])}: {why}"
        )
        if not self.batch:
            raise RunError(result.message, result) from cause
        told = "" if cause is None else "\n" + "".join(traceback.format_exception(cause))
        stopped = int((self.status > 0).sum())
        warnings.warn(
            f"{stopped} of {self.bodies} bodies stopped early; {result.message}{told}", RunWarning, stacklevel=4
        )

    def _time_of(self, i: int) -> float:
        pending = self.pending[i]
        return float(pending[3]) if pending[1] or pending[2] else self.t0 + float(self.steps[i]) * self.h

    def _why(self, i: int) -> tuple[str, BaseException | None]:
        """What stopped body i, and the original exception: the torque is called once more, uncompiled."""
        if self.status[i] == NO_STEP:
            return f"a step of {self.method!r} has no solution; a shorter h may have one", None
        where = np.unravel_index(i, self.batch) if self.batch else ()
        body = self.problem.body.select(self.batch, where)
        m, q = from_principal(None if body.is_principal else body.axes, self.m[i], self.q[i])
        Q, w = tuple(map(tuple, matrix(q).tolist())), tuple(body.omega(m).tolist())
        params = self.told[0][i if len(self.told[0]) > 1 else 0]
        try:
            found = self.force.python_torque(self._time_of(i), Q, w, params)
        except Exception as problem:
            return f"the torque raised {type(problem).__name__}: {problem}", problem
        return f"the torque is {found}, not three finite numbers", None


def _step_length(h: Any) -> float:
    if h is None:
        raise InputError("h is missing: give the length of a step, such as h=0.01")
    length = as_floats(h, "h")
    if length.shape or not np.isfinite(length) or not length > 0:
        raise TimeError(f"h = {h!r}: needed is one positive finite number (the direction is that of t_span)")
    return float(length)


def _saves(count: int, save_every: Any) -> npt.NDArray[np.int64]:
    """Every so many steps, the first state and the last included."""
    every = whole_number(save_every, "save_every", 1)
    saves = np.arange(0, count + 1, every, dtype=np.int64)
    return saves if saves[-1] == count else np.append(saves, count)


def _times(t_eval: npt.ArrayLike, run: _Run) -> FloatArray:
    times = as_floats(t_eval, "t_eval")
    check_finite(times, "t_eval", TimeError)
    end = run.t0 + run.count * run.h
    low, high = sorted((run.t0, end))
    if times.ndim != 1 or not ((times >= low) & (times <= high)).all():
        raise TimeError(f"t_eval must be times (k,) between {low:g} and {high:g}; came: {show(times[:4])}...")
    if (np.diff(times) * np.sign(run.h) < 0).any():
        raise TimeError("t_eval must run in the direction of t_span; type numpy.sort(t_eval)")
    return times


def _own(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    """Rows (bodies, components) to write to."""
    return np.array(np.broadcast_to(array, (*batch, components)), order="C").reshape(-1, components)
