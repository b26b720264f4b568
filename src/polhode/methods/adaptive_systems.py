"""Adaptive steps for systems of bodies: the Munthe-Kaas form of DOP853, as for single bodies, with one step for all.

A step from t_n is an equation in R^12 for each body, from s = 0,

    x' = p/mass,   p' = F,   s' = w + s x w/2 + c s x (s x w),   m' = m x w + f,   w = m/I,   Q = Q_n exp(hat(s))  (1)

with forces F and torques f; see ``kernels.stepping.munthe_kaas``. A step is accepted if the error of every body is
below the tolerance: rtol for the attitude, in radians, for x relative to the smallest initial distance of two bodies,
and for p and m relative to the largest momentum of its kind, to which atol is added for m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.kernels.stepping.dormand_prince import E3, E5, END, STAGES, A, C, D
from polhode.kernels.stepping.header import BatchState, Clock, Interpolation, Moving, Saved, Settings, Wanted
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import (
    advance_bodies,
    combined,
    first_fraction,
    largest_error,
    step_factor,
    step_slopes,
    trial_end,
)
from polhode.methods.many_bodies import M, P, Q, SystemBodies, X, put
from polhode.methods.method import Advance, Between


def _sparse(row: dict[int, float]) -> tuple[IntArray, FloatArray]:
    """Return the columns and the weights of a row of the table of the method."""
    return np.array(sorted(row), dtype=np.int64), np.array([row[j] for j in sorted(row)])


STAGE_ROWS = [_sparse(row) for row in A]
FIFTH, THIRD = _sparse(E5), _sparse(E3)
DENSE_ROWS = [_sparse(row) for row in D]


@dataclass
class Point:
    """State of all bodies at the time t, with forces and torques."""

    t: float
    moving: Moving

    @classmethod
    def of(cls, t: float, m: FloatArray, q: FloatArray) -> Point:
        """Return the point of momenta (n, 6) and coordinates (n, 7), whose forces are not known yet."""
        x, p, own_m, own_q = (np.array(part, order="C") for part in (q[:, X], m[:, P], m[:, M], q[:, Q]))
        return cls(t, Moving(x, p, own_m, own_q, np.empty_like(x), np.empty_like(x)))

    def like(self) -> Point:
        """Return a point with arrays of the same shapes."""
        return Point(self.t, Moving(*map(np.empty_like, self.moving)))


class Stepper:
    """Steps of a system, with the slopes of their stages."""

    def __init__(self, bodies: SystemBodies) -> None:
        """Allocate the slopes."""
        self.bodies = bodies
        self.slopes = np.empty((STAGES, len(bodies.per_mass), 12))
        self.evaluations = 0

    def find_forces(self, a: Point) -> Status:
        """Compute the forces and torques of a point, in place."""
        self.evaluations += 1
        return self.bodies.find_forces(a.t, a.moving.x, a.moving.q, a.moving.force, a.moving.torque)

    def combined(self, row: tuple[IntArray, FloatArray]) -> FloatArray:
        """Return the sum of slopes with the weights of a row, of shape (n, 12)."""
        out = np.empty(self.slopes.shape[1:])
        combined(self.slopes, *row, out)
        return out

    def stages(self, a: Point, right: float, first: int, last: int) -> tuple[Point, Status]:
        """Compute the stages `first` to `last - 1` of a step from a to the time `right`; return the last point."""
        h = right - a.t
        per_mass, per_moments = self.bodies.per_mass, self.bodies.per_moments
        if first == 1:
            still = np.zeros_like(self.slopes[0])
            step_slopes(still, a.moving, per_mass, per_moments, h, self.slopes[0])
        b = a.like()
        for n in range(first, last):
            change = self.combined(STAGE_ROWS[n])
            b.t = right if n == END else a.t + C[n] * h
            if not advance_bodies(a.moving, change, n == END, b.moving):
                return b, Status.STEP_TOO_SMALL
            status = self.find_forces(b)
            if status != Status.REACHED_END:
                return b, status
            step_slopes(change, b.moving, per_mass, per_moments, h, self.slopes[n])
        return b, Status.REACHED_END

    def error(self, a: Point, b: Point, rtol: float, atol: float) -> float:
        """Return the error of order 5 of the step from a to b, corrected by that of order 3, of the worst body."""
        u, v = a.moving, b.moving
        p, m = (max(np.abs(x).max(), np.abs(y).max()) for x, y in ((u.p, v.p), (u.m, v.m)))
        allowed = np.array([rtol * self.bodies.distance, rtol * p, rtol, atol + rtol * m])
        allowed[allowed == 0.0] = 1.0  # of what does not move
        return largest_error(self.slopes, *FIFTH, *THIRD, allowed)

    def polynomial(self) -> list[FloatArray]:
        """Return the seven coefficients of the dense output of the last step, after all its stages."""
        change = self.combined(STAGE_ROWS[END])
        left, right = self.slopes[0], self.slopes[END]
        return [change, left - change, 2.0 * change - (right + left), *map(self.combined, DENSE_ROWS)]


def between(a: Point, right: float, polynomial: list[FloatArray], t: float) -> Point:
    """Return the point at the time t within the step from a to `right`, without forces."""
    u = (t - a.t) / (right - a.t)
    value = np.zeros_like(polynomial[0])
    for number, coefficient in zip(range(6, -1, -1), polynomial[::-1], strict=True):
        value = (value + coefficient) * (u if number % 2 == 0 else 1.0 - u)
    b = a.like()
    b.t = t
    advance_bodies(a.moving, value, True, b.moving)
    return b


def memory_size(bodies: int) -> int:
    """Return the number of floats that are carried from step to step: forces, torques, and the last rejection."""
    return 1 + 6 * bodies


def adaptive_loop(settings: Settings) -> Advance:
    """Return the loop over adaptive steps of systems."""

    def advance(bodies: Any, clock: Clock, wanted: Wanted, start: int, stop: int, current: Any, saved: Saved) -> None:
        for i in range(start, stop):
            if current.status[i] == Status.REACHED_END and current.t[i] != clock.end:
                _Follower(settings, bodies, current, saved, wanted.times, i).follow(clock.end, wanted.limit)

    return advance


class _Follower:
    """A system that is followed by adaptive steps: its current point, and the arrays to which states are written."""

    def __init__(
        self, settings: Settings, bodies: SystemBodies, current: BatchState, saved: Saved, times: FloatArray, i: int
    ) -> None:
        """Read the state of system `i`."""
        self.settings, self.current, self.saved, self.times, self.i = settings, current, saved, times, i
        self.stepper = Stepper(bodies)
        self.a = Point.of(float(current.t[i]), current.m[i], current.q[i])
        self.a.moving.force[:], self.a.moving.torque[:] = current.memory[i, 1:].reshape(2, -1, 3)
        self.rejection = Status(int(current.memory[i, 0]))
        self.sign = 1.0  # direction of time

    def follow(self, t_end: float, limit: int) -> None:
        """Make steps until the time `t_end`, or `limit` trials."""
        current, i = self.current, self.i
        self.sign = 1.0 if t_end > self.a.t else -1.0
        self._write_outputs(self.a, None)
        if current.h[i] == 0.0:
            self._begin(t_end)
        for _ in range(limit):
            if current.status[i] != Status.REACHED_END or self.a.t == t_end:
                break
            if current.steps[i] + current.rejected[i] >= self.settings.max_trials:
                current.status[i] = Status.TOO_MANY_STEPS
                break
            self._try_step(t_end)
        self._store()

    def _begin(self, t_end: float) -> None:
        """Compute the first forces, and choose the length of the first step."""
        a, current, i = self.a, self.current, self.i
        status = self.stepper.find_forces(a)
        if status != Status.REACHED_END:
            self._fail(a, status)
            return
        length = self.settings.first_step
        if length == 0.0:
            b = a.moving
            radian = self.stepper.bodies.radian(b.p, b.m, b.force, b.torque)
            length = first_fraction(self.settings.rtol) * radian
        current.h[i] = np.copysign(min(length, abs(t_end - a.t)), t_end - a.t)

    def _try_step(self, t_end: float) -> None:
        """Try one step, and accept or reject it."""
        a, current, i, stepper = self.a, self.current, self.i, self.stepper
        right, is_least = trial_end(float(current.h[i]), a.t, float(current.longest[i]), t_end)
        if is_least and self.rejection != Status.REACHED_END:
            current.status[i] = self.rejection
            return
        b, status = stepper.stages(a, right, 1, END + 1)
        error = np.inf if status != Status.REACHED_END else stepper.error(a, b, self.settings.rtol, self.settings.atol)
        polynomial = None
        if error < 1.0 and self._is_dense(right):
            last, status = stepper.stages(a, right, END + 1, STAGES)
            polynomial = stepper.polynomial()
            b, error = (b, error) if status == Status.REACHED_END else (last, np.inf)
        factor = step_factor(error)
        current.h[i] = (right - a.t) * (factor if self.rejection == Status.REACHED_END else min(1.0, factor))
        if error < 1.0:
            self._accept(b, polynomial)
        elif status == Status.TORQUE_RAISED:
            self._fail(b, status)
        else:
            current.rejected[i] += 1
            self.rejection = Status.NOT_FINITE if status == Status.NOT_FINITE else Status.STEP_TOO_SMALL
            if status == Status.NOT_FINITE:
                self._mark(b)

    def _is_dense(self, right: float) -> bool:
        """Return whether a state has to be saved before the end of a step that ends at `right`."""
        seen = int(self.current.seen[self.i])
        return seen < len(self.times) and self._is_passed(float(self.times[seen]), right, strictly=True)

    def _is_passed(self, time: float, t: float, strictly: bool = False) -> bool:
        """Return whether the system has passed `time` when it is at t."""
        ahead = (t - time) * self.sign
        return ahead > 0 if strictly else ahead >= 0

    def _accept(self, b: Point, polynomial: list[FloatArray] | None) -> None:
        """Move on to the point b, and save the states in between."""
        current, i, saved = self.current, self.i, self.saved
        self._write_outputs(b, polynomial)
        if len(saved.step_t):
            row = int(saved.counts[i])
            saved.step_t[row, i] = b.t
            put(b.moving, saved.step_m[row, i], saved.step_q[row, i])
            saved.counts[i] += 1
        self.a = b
        self.rejection = Status.REACHED_END
        current.steps[i] += 1

    def _write_outputs(self, b: Point, polynomial: list[FloatArray] | None) -> None:
        """Write the states at the output times that the step to b reaches."""
        i = self.i
        seen = int(self.current.seen[i])
        while seen < len(self.times) and self._is_passed(float(self.times[seen]), b.t):
            t = float(self.times[seen])
            point = b if t == b.t or polynomial is None else between(self.a, b.t, polynomial, t)
            put(point.moving, self.saved.m[seen, i], self.saved.q[seen, i])
            seen += 1
        self.current.seen[i] = seen

    def _fail(self, b: Point, status: Status) -> None:
        """Stop the system because of the point b."""
        self.current.status[self.i] = status
        self._mark(b)

    def _mark(self, b: Point) -> None:
        """Write the point where forces failed to ``trouble``: t, m, q."""
        n = len(b.moving.x)
        trouble = self.current.trouble[self.i]
        trouble[0] = b.t
        put(b.moving, trouble[1 : 1 + 6 * n].reshape(n, 6), trouble[1 + 6 * n :].reshape(n, 7))

    def _store(self) -> None:
        """Write the state of the system to the arrays of the run."""
        current, i, a = self.current, self.i, self.a
        current.t[i] = a.t
        put(a.moving, current.m[i], current.q[i])
        current.memory[i, 0] = self.rejection
        current.memory[i, 1:].reshape(2, -1, 3)[:] = a.moving.force, a.moving.torque
        current.torques[i] += self.stepper.evaluations


def between_of_systems() -> Between:
    """Return the function that repeats steps of systems and interpolates in them; see ``Between``."""

    def at(work: Interpolation) -> None:
        bodies: Any = work.bodies  # those of a system
        stepper = Stepper(bodies)
        for n in range(work.start, work.stop):
            i = work.step[n]
            a = Point.of(float(work.left[i]), work.m[i], work.q[i])
            right = float(work.right[i])
            status = stepper.find_forces(a)
            if status == Status.REACHED_END:
                _, status = stepper.stages(a, right, 1, STAGES)
            if status == Status.REACHED_END:
                point = between(a, right, stepper.polynomial(), float(work.t[n]))
                put(point.moving, work.m_out[n], work.q_out[n])

    return at
