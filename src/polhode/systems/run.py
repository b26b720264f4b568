"""Runs of systems of bodies: drifts of all bodies by a free flow and x += h p/m, kicks by forces and torques.

Schemes and flows are those of single bodies. Consecutive stages of one kind are merged unless states are saved between
them, as in ``kernels.stepping.splitting``. Here the loop over stages is in Python, because one stage of all bodies
takes much longer than an iteration of the loop, and uses all cores. With forces F, and torques f in body axes,

    kick      p += b h F,  m += b h f
    gradient  p -= c h^3 G,  m -= c h^3 g,  G = -2 D F,  g = -2 (D f + w x f),  w = f/I                           (1)

where D is the derivative along x += e F/mass, Q -> Q exp(e hat(w)) of all bodies at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.body import from_principal, to_principal
from polhode.core.checks import check_spread, show
from polhode.core.errors import InputError, PolhodeError
from polhode.core.progress import Progress
from polhode.core.rotation import from_rotation_vector, multiply
from polhode.integration.running import PIECE_SECONDS
from polhode.integration.stretches import step_count, step_length
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import kick, move, prepare_forces, torques_in_body
from polhode.methods.scheme import LETTERS
from polhode.methods.splitting import Splitting
from polhode.systems.drift import Drift
from polhode.systems.interactions.neighbors import closest_pair
from polhode.systems.system import System

DRIFT, GRADIENT = LETTERS["A"], LETTERS["C"]
LARGEST_TURN = 2.0**-9  # radians by which the difference quotient in (1) turns bodies
LARGEST_SHIFT = 2.0**-13  # parts of the smallest initial distance by which it shifts bodies: forces are steep
QUOTIENT = ((-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0))  # its points and weights, of order 4


class StepFailure(Exception):
    """Raised inside a run when forces, torques or a flow have no valid result."""

    def __init__(self, message: str, status: Status) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class SystemState:
    """State of all bodies, with m and q in principal axes, and the forces and torques if they are known."""

    x: FloatArray  # (n, 3)
    p: FloatArray  # (n, 3)
    m: FloatArray  # (n, 3)
    q: FloatArray  # (n, 4)
    force: FloatArray  # (n, 3), in space axes
    torque: FloatArray  # (n, 3), in principal axes
    known: bool = False  # whether force and torque belong to x and q

    def copy(self) -> SystemState:
        """Return a copy that shares no arrays."""
        x, p, m, q, force, torque = (v.copy() for v in (self.x, self.p, self.m, self.q, self.force, self.torque))
        return SystemState(x, p, m, q, force, torque, self.known)


class Stage(NamedTuple):
    """One drift or one kick of all bodies."""

    drifts: bool  # a drift, otherwise a kick
    length: float  # coefficient of h
    gradient: float  # coefficient of h^3
    when: float  # time in steps


def merged(rows: FloatArray, first: int, count: int) -> Iterator[Stage]:
    """Yield the stages of `count` steps, beginning with step `first`; consecutive stages of one kind are merged.

    The columns of `rows` are the kind of a stage, its coefficient, and its time within the step.
    """
    drifts = True
    length = gradient = when = 0.0
    table = rows.tolist()
    for n in range(first, first + count):
        for kind, x, part in table:
            if (kind == DRIFT) != drifts:
                if length or gradient:
                    yield Stage(drifts, length, gradient, when)
                drifts, length, gradient = not drifts, 0.0, 0.0
            length, gradient = (length, gradient + x) if kind == GRADIENT else (length + x, gradient)
            when = n + part
    if length or gradient:
        yield Stage(drifts, length, gradient, when)


class SystemRun:
    """Run of a system with fixed steps of a splitting method."""

    def __init__(self, system: System, span: tuple[float, float], method: Splitting, h: float | None) -> None:
        """Divide `span` into steps no longer than `h`, or than ``system.h`` if `h` is None, and check the start."""
        self.system = system
        self.method = method
        self.t0, self.t1 = span
        self.count = step_count(span, step_length(system.h if h is None else h))
        self.h = (span[1] - span[0]) / self.count
        n = system.count
        table = method.scheme.table
        processor = len(method.scheme.processor)
        self.before, self.stages, self.after = np.split(table, [processor, len(table) - processor])
        check_spread(system.moments)
        self.drift = Drift(method.flow, system.moments)
        self.axes = np.empty((0, 9)) if system.axes is None else system.axes.reshape(n, 9)
        self.per_mass, self.per_moments = 1.0 / system.mass, 1.0 / system.moments
        self.Q = np.empty((n, 3, 3))
        self.torque = np.empty((n, 3))
        self.steps = self.evaluations = 0
        self.when = 0.0  # time that was reached, in steps
        self.seconds = 0.0
        self.begun = False  # whether the processor of the scheme was applied
        self.interrupted = False
        state = system.state
        m, q = (np.array(v) for v in to_principal(system.axes, state.m, state.q))
        self.now = SystemState(np.array(state.x), np.array(state.p), m, q, np.empty((n, 3)), np.empty((n, 3)))
        self._check_start()

    def _check_start(self) -> None:
        """Raise an InputError unless the initial forces and torques, which the first kick reuses, fit the bodies."""
        now = self.now
        system = self.system
        prepare_forces(now.q, self.axes, self.Q, now.force, self.torque)
        system.interaction.check(self.t0, now.x, self.Q)
        try:
            self._find_forces(now, self.t0)
        except StepFailure as error:
            raise InputError(f"at the start, {error}") from error.__cause__
        spin = np.abs(np.einsum("nij,ni->nj", self.Q, self.torque)[:, 0])
        wrong = system.linear & (spin > 1e-10 * np.abs(self.torque).max(axis=-1))
        if wrong.any():
            raise InputError(
                f"body {int(np.argmax(wrong))} is a linear rotor, and {system.interaction!r} turns it about its own "
                "axis, the first body axis; expected dipoles and sites of linear rotors on that axis"
            )

    def to_step(self, n: int, bar: Progress) -> None:
        """Advance all bodies to the end of step n, with no stage pending."""
        if n > 0 and not self.begun:
            self._do(self.now, self.before, self.t0, self.h)
            self.begun = True
        shown = time.perf_counter()
        for stage in merged(self.stages, self.steps, n - self.steps):
            self._do_stage(self.now, stage, self.t0, self.h)
            self.when = stage.when
            if time.perf_counter() > shown + PIECE_SECONDS:
                shown = time.perf_counter()
                bar.show(int(stage.when))
        self.steps = n

    def output_state(self) -> SystemState:
        """Return a copy of the state to be saved: the processor of the scheme, if it has one, is completed."""
        now = self.now.copy()
        if self.begun:
            self._do(now, self.after, self.t0 + self.steps * self.h, self.h)
        return now

    def output_state_after(self, h: float) -> SystemState:
        """Return the state to be saved after one more step of size `h`; the run itself is not advanced."""
        now = self.output_state()
        t = self.t0 + self.steps * self.h
        for rows in (self.before, self.stages, self.after):
            self._do(now, rows, t, h)
        return now

    def to_user(self, now: SystemState) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return (x, p, m, q) of a state in the axes of the user."""
        return now.x, now.p, *from_principal(self.system.axes, now.m, now.q)

    @property
    def t_reached(self) -> float:
        """Time that was reached."""
        return self.t0 + self.when * self.h

    def times(self, steps: IntArray | int) -> FloatArray:
        """Return the times after numbers of steps, without accumulated round-off."""
        return np.asarray(self.t0 + steps * self.h, dtype=np.float64)

    def _do(self, now: SystemState, rows: FloatArray, t: float, h: float) -> None:
        """Apply the stages `rows` to the state, from time t with step size h."""
        for stage in merged(rows, 0, 1):
            self._do_stage(now, stage, t, h)

    def _do_stage(self, now: SystemState, stage: Stage, t0: float, h: float) -> None:
        """Apply one stage to the state, in place."""
        length = stage.length * h
        if stage.drifts:
            move(now.x, now.p, self.per_mass, length)
            bad = self.drift(now.m, now.q, length)
            now.known = False
            if bad != NOBODY:
                raise StepFailure(
                    f"{self.method.flow!r} has no step of {length:.3g} for body {bad}, m = {show(now.m[bad])}",
                    Status.NO_STEP,
                )
            return
        t = t0 + stage.when * h
        if not now.known:
            self._find_forces(now, t)
        if stage.gradient:
            G, g = self._gradients(now, t)
            now.p -= (stage.gradient * h * h * h) * G
            now.m -= (stage.gradient * h * h * h) * g
        kick(now.p, now.m, now.force, now.torque, length)

    def _find_forces(self, now: SystemState, t: float) -> None:
        """Compute the forces and torques of a state, in place; raise unless they are finite."""
        prepare_forces(now.q, self.axes, self.Q, now.force, self.torque)
        interaction = self.system.interaction
        try:
            interaction.evaluate(t, now.x, self.Q, now.force, self.torque)
        except PolhodeError:
            raise
        except Exception as error:
            message = f"{interaction!r} raised {type(error).__name__}: {error}"
            raise StepFailure(message, Status.TORQUE_RAISED) from error
        self.evaluations += 1
        bad = torques_in_body(now.q, now.force, self.torque, self.system.linear, now.torque)
        if bad != NOBODY:
            raise StepFailure(self._why_not_finite(now, bad), Status.NOT_FINITE)
        now.known = True

    def _why_not_finite(self, now: SystemState, i: int) -> str:
        """Return the message for a force or torque on body `i` that is not finite."""
        a, b, distance = closest_pair(now.x, self.system.box)
        near = f"; the closest bodies, {a} and {b}, are {distance:.3g} apart" if a != b else ""
        return (
            f"the force on body {i} is {show(now.force[i])} and its torque {show(self.torque[i])}, which are not "
            f"finite numbers{near}: bodies must not overlap"
        )

    def _gradients(self, now: SystemState, t: float) -> tuple[FloatArray, FloatArray]:
        """Return (G, g) of (1), by a difference quotient of order 4."""
        v, w = now.force * self.per_mass[:, None], now.torque * self.per_moments
        fastest, quickest = (np.sqrt((u * u).sum(axis=-1).max()) for u in (v, w))
        e = min(self._shift / fastest if fastest else inf, LARGEST_TURN / quickest if quickest else inf)
        G, g = np.zeros_like(v), -2.0 * np.cross(w, now.torque)
        for point, weight in QUOTIENT if e < inf else ():
            shifted = now.copy()
            shifted.x += (point * e) * v
            shifted.q = multiply(now.q, from_rotation_vector((point * e) * w))
            self._find_forces(shifted, t)
            factor = -2.0 * weight / (12.0 * e)
            G += factor * shifted.force
            g += factor * shifted.torque
        return G, g

    @cached_property
    def _shift(self) -> float:
        """Largest displacement of a body in a difference quotient."""
        distance = closest_pair(np.asarray(self.system.state.x), self.system.box)[2]
        return LARGEST_SHIFT * (distance or 1.0)
