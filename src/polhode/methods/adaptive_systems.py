"""Adaptive steps for systems of bodies: the Munthe-Kaas form of DOP853, as for single bodies, with one step for all.

A step from t_n is an equation in R^12 for each body, from s = 0,

    x' = p/mass,   p' = F,   s' = w + s x w/2 + c s x (s x w),   m' = m x w + f,   w = m/I,   Q = Q_n exp(hat(s))  (1)

with forces F and torques f; see ``kernels.stepping.munthe_kaas``. A step is accepted if the error of every body is
below the tolerance: rtol for the attitude, in radians, for x relative to the smallest initial distance of two bodies,
and for p and m relative to the largest momentum of its kind, to which atol is added for m.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.kernels.stepping.adaptive import trial_loop
from polhode.kernels.stepping.dormand_prince import DENSE, END, STAGES, C
from polhode.kernels.stepping.header import BatchState, Clock, Interpolation, Moving, Saved, Settings, Wanted, Work
from polhode.kernels.stepping.munthe_kaas import POLYNOMIAL
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import advance_bodies, combined, first_fraction, largest_error, step_slopes
from polhode.methods.many_bodies import SystemBodies, moving_of, put
from polhode.methods.method import Advance, Between


class Point(NamedTuple):
    """State of all bodies at the time t, with forces and torques."""

    t: float
    moving: Moving
    evaluations: int = 0
    status: int = Status.REACHED_END


class Tolerance(NamedTuple):
    """Allowed errors of a step."""

    rtol: float
    atol: float
    distance: float  # scale of errors of x


def _like(a: Point) -> Moving:
    """Return arrays of the same shapes."""
    return Moving(*map(np.empty_like, a.moving))


def _forced(bodies: SystemBodies, a: Point) -> Point:
    """Return the point with forces and torques, which are computed in place."""
    b = a.moving
    return Point(a.t, b, a.evaluations + 1, bodies.find_forces(a.t, b.x, b.q, b.force, b.torque))


def _with_status(a: Point, evaluations: int, status: int) -> Point:
    """Return the point with another number of evaluations and another status."""
    return a._replace(evaluations=evaluations, status=status)


def _first_length(bodies: SystemBodies, a: Point, end: float, tolerance: Tolerance) -> tuple[float, int]:
    """Return the length of the first step, and the number of evaluations."""
    b = a.moving
    radian = bodies.radian(b.p, b.m, b.force, b.torque)
    return min(first_fraction(tolerance.rtol) * radian, abs(end - a.t)), a.evaluations


def _begin_step(bodies: SystemBodies, a: Point, right: float, k: FloatArray) -> None:
    """Write row 0 of k, the slopes (STAGES, n, 12) and the polynomial (7, n, 12), for a step to the time `right`."""
    step_slopes(np.zeros(k.shape[1:]), a.moving, bodies.per_mass, bodies.per_moments, right - a.t, k[0])


def _stages(
    bodies: SystemBodies, a: Point, evaluations: int, right: float, k: FloatArray, first: int, last: int
) -> Point:
    """Compute the stages `first` to `last - 1` of a step to the time `right`; return the last point, or a failure."""
    h, t, status = right - a.t, a.t, Status.REACHED_END
    b, change = _like(a), np.empty_like(k[0])
    for n in range(first, last):
        combined(k, n, change)
        if not advance_bodies(a.moving, change, n == END, b):
            return Point(t, b, evaluations, Status.STEP_TOO_SMALL)
        t = right if n == END else a.t + C[n] * h
        evaluations += 1
        status = bodies.find_forces(t, b.x, b.q, b.force, b.torque)
        if status != Status.REACHED_END:
            break
        step_slopes(change, b, bodies.per_mass, bodies.per_moments, h, k[n])
    return Point(t, b, evaluations, status)


def _error(k: FloatArray, tolerance: Tolerance, a: Point, b: Point) -> float:
    """Return the error of order 5 of the step from a to b, corrected by that of order 3, of the worst body."""
    u, v, rtol = a.moving, b.moving, tolerance.rtol
    p, m = (max(np.abs(x).max(), np.abs(y).max()) for x, y in ((u.p, v.p), (u.m, v.m)))
    allowed = np.array([rtol * tolerance.distance, rtol * p, rtol, tolerance.atol + rtol * m])
    allowed[allowed == 0.0] = 1.0  # of what does not move
    return largest_error(k, allowed)


def _jump_tolerance(bodies: SystemBodies, tolerance: Tolerance, b: Point) -> Tolerance:
    """Return the tolerance: it is not known how large a jump of forces may be."""
    return tolerance


def _write_polynomial(k: FloatArray) -> None:
    """Write the coefficients of the dense output to k, after its stages."""
    change, left, curved, *others = k[POLYNOMIAL:]
    combined(k, END, change)
    left[:] = k[0] - change
    curved[:] = 2.0 * change - (k[END] + k[0])
    for n, other in enumerate(others):
        combined(k, DENSE + n, other)


def _between(k: FloatArray, a: Point, right: float, t: float) -> Point:
    """Return the point at the time t within the step from a to `right`, without forces."""
    u = (t - a.t) / (right - a.t)
    value, b = np.zeros(k.shape[1:]), _like(a)
    for coefficient, factor in zip(k[: POLYNOMIAL - 1 : -1], (u, 1.0 - u, u, 1.0 - u, u, 1.0 - u, u), strict=True):
        value += coefficient
        value *= factor
    advance_bodies(a.moving, value, True, b)
    return Point(t, b)


def _put(bodies: SystemBodies, a: Point, m: FloatArray, q: FloatArray, i: int) -> None:
    """Write the point to row `i` of the arrays."""
    put(a.moving, m[i], q[i])


def _put_failure(bodies: SystemBodies, a: Point, failure: FloatArray, i: int) -> None:
    """Write the point to row `i` of ``trouble``: t, m, q."""
    n = len(a.moving.x)
    failure[i, 0] = a.t
    put(a.moving, failure[i, 1 : 1 + 6 * n].reshape(n, 6), failure[i, 1 + 6 * n :].reshape(n, 7))


_follow = trial_loop(
    _forced, _with_status, _first_length, _begin_step, _stages, _error, _jump_tolerance, _write_polynomial, _between,
    _put, _put_failure, compiled=False,
)  # fmt: skip


def memory_size(bodies: int) -> int:
    """Return the number of floats that are carried from step to step: forces, torques, and the last rejection."""
    return 1 + 6 * bodies


def _new_work(bodies: SystemBodies) -> FloatArray:
    """Return an array for the slopes and the polynomial of a step."""
    return np.empty((POLYNOMIAL + 7, len(bodies.per_mass), 12))


def adaptive_loop(settings: Settings) -> Advance:
    """Return the loop over adaptive steps of systems."""

    def advance(
        bodies: Any, clock: Clock, wanted: Wanted, start: int, stop: int, current: BatchState, saved: Saved
    ) -> None:
        work = Work(bodies, clock, wanted, start, stop, current, saved)
        tolerance, k = Tolerance(settings.rtol, settings.atol, bodies.distance), _new_work(bodies)
        for i in range(start, stop):
            if current.status[i] != Status.REACHED_END or current.t[i] == clock.end:
                continue
            forces = current.memory[i, 1:].reshape(2, -1, 3)
            a = Point(float(current.t[i]), moving_of(current.m[i], current.q[i], *forces), int(current.torques[i]))
            a, rejection = _follow(bodies, tolerance, k, settings, work, a, int(current.memory[i, 0]), i)
            _put(bodies, a, current.m, current.q, i)
            forces[:] = a.moving.force, a.moving.torque
            current.memory[i, 0] = rejection
            current.t[i], current.status[i], current.torques[i] = a.t, a.status, a.evaluations

    return advance


def between_of_systems() -> Between:
    """Return the function that repeats steps of systems and interpolates in them; see ``Between``."""

    def at(work: Interpolation) -> None:
        bodies: Any = work.bodies  # those of a system
        k, forces = _new_work(bodies), np.empty((2, len(bodies.per_mass), 3))
        for n in range(work.start, work.stop):
            i = work.step[n]
            a = b = _forced(bodies, Point(float(work.left[i]), moving_of(work.m[i], work.q[i], *forces)))
            right = float(work.right[i])
            if a.status == Status.REACHED_END:
                _begin_step(bodies, a, right, k)
                b = _stages(bodies, a, 0, right, k, 1, STAGES)
            if b.status == Status.REACHED_END:
                _write_polynomial(k)
                _put(bodies, _between(k, a, right, float(work.t[n])), work.m_out, work.q_out, n)

    return at
