"""Systems of bodies in time: drifts of all bodies by a free flow and x += h p/m, kicks by forces and torques.

Schemes and flows are those of single bodies. Stages that follow each other without a look at the states are merged, as
in ``kernels.stepping.splitting``; here the loop over stages is Python's, because what a stage does to all bodies takes
longer, and can use all cores. With forces F, and torques f in body axes,

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
from polhode.kernels.stepping.system_steps import kick, move, prepare_forces, torques_in_body
from polhode.methods.scheme import LETTERS
from polhode.methods.splitting import Splitting
from polhode.systems.drift import Drift
from polhode.systems.interactions.neighbors import closest_pair
from polhode.systems.system import System

DRIFT, GRADIENT = LETTERS["A"], LETTERS["C"]
LARGEST_TURN = 2.0**-9  # radians, of the difference quotient in (1)
LARGEST_SHIFT = 2.0**-13  # parts of the smallest distance at the start, of the same: forces are steep
QUOTIENT = ((-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0))  # its places and weights, of order 4


class CannotGoOn(Exception):
    """Inside a run: forces, torques or a flow have no result."""


@dataclass
class SystemState:
    """Where all bodies are, m and q in principal axes; and the forces and torques there, if they are known."""

    x: FloatArray  # (n, 3)
    p: FloatArray
    m: FloatArray
    q: FloatArray  # (n, 4)
    force: FloatArray  # (n, 3), in space axes
    torque: FloatArray  # (n, 3), in principal axes
    known: bool = False

    def copy(self) -> SystemState:
        x, p, m, q, force, torque = (v.copy() for v in (self.x, self.p, self.m, self.q, self.force, self.torque))
        return SystemState(x, p, m, q, force, torque, self.known)


class Stage(NamedTuple):
    """One drift or one kick of all bodies: coefficients of h (and of h^3), and when, in steps."""

    drifts: bool
    length: float
    gradient: float
    when: float


def merged(rows: FloatArray, first: int, count: int) -> Iterator[Stage]:
    """The stages (kind, coefficient, time in the step) of ``count`` steps; neighbors of one kind are one."""
    drifts, length, gradient, when = True, 0.0, 0.0, 0.0
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
    """A system on its way."""

    def __init__(self, system: System, span: tuple[float, float], method: Splitting, h: float | None) -> None:
        self.system, self.method, (self.t0, self.t1) = system, method, span
        self.count = step_count(span, step_length(system.h if h is None else h))
        self.h = (span[1] - span[0]) / self.count
        n, table, processor = system.count, method.scheme.table, len(method.scheme.processor)
        self.before, self.stages, self.after = np.split(table, [processor, len(table) - processor])
        check_spread(system.moments)
        self.drift = Drift(method.flow, system.moments)
        self.axes = np.empty((0, 9)) if system.axes is None else system.axes.reshape(n, 9)
        self.per_mass, self.per_moments = 1.0 / system.mass, 1.0 / system.moments
        self.Q, self.torque = np.empty((n, 3, 3)), np.empty((n, 3))
        self.steps = self.evaluations = 0
        self.when = 0.0  # how far it came, in steps
        self.seconds, self.begun, self.interrupted = 0.0, False, False
        state = system.state
        m, q = (np.array(v) for v in to_principal(system.axes, state.m, state.q))
        self.now = SystemState(np.array(state.x), np.array(state.p), m, q, np.empty((n, 3)), np.empty((n, 3)))
        self._check_start()

    def _check_start(self) -> None:
        """Forces and torques at the start are finite, and fit the bodies; they serve the first kick, too."""
        now, system = self.now, self.system
        prepare_forces(now.q, self.axes, self.Q, now.force, self.torque)
        system.interaction.check(self.t0, now.x, self.Q)
        try:
            self._find_forces(now, self.t0)
        except CannotGoOn as problem:
            raise InputError(f"at the start, {problem}") from problem.__cause__
        spin = np.abs(np.einsum("nij,ni->nj", self.Q, self.torque)[:, 0])
        wrong = system.linear & (spin > 1e-10 * np.abs(self.torque).max(axis=-1))
        if wrong.any():
            raise InputError(
                f"body {int(np.argmax(wrong))} is a linear rotor, and {system.interaction!r} turns it about its own "
                "axis, the first body axis: put dipoles and sites of linear rotors on that axis"
            )

    def to_step(self, n: int, bar: Progress) -> None:
        """All bodies after n steps, with nothing pending."""
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

    def seen(self) -> SystemState:
        """A copy of the bodies as they are looked at: the processor of a scheme, if there is one, is done."""
        now = self.now.copy()
        if self.begun:
            self._do(now, self.after, self.t0 + self.steps * self.h, self.h)
        return now

    def seen_later(self, h: float) -> SystemState:
        """One step of another length later."""
        now, t = self.seen(), self.t0 + self.steps * self.h
        for rows in (self.before, self.stages, self.after):
            self._do(now, rows, t, h)
        return now

    def to_user(self, now: SystemState) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(x, p, m, q), in the users' axes."""
        return now.x, now.p, *from_principal(self.system.axes, now.m, now.q)

    @property
    def t_reached(self) -> float:
        return self.t0 + self.when * self.h

    def times(self, steps: IntArray | int) -> FloatArray:
        """After so many steps: never a sum."""
        return np.asarray(self.t0 + steps * self.h, dtype=np.float64)

    def _do(self, now: SystemState, rows: FloatArray, t: float, h: float) -> None:
        for stage in merged(rows, 0, 1):
            self._do_stage(now, stage, t, h)

    def _do_stage(self, now: SystemState, stage: Stage, t0: float, h: float) -> None:
        length = stage.length * h
        if stage.drifts:
            move(now.x, now.p, self.per_mass, length)
            bad = self.drift(now.m, now.q, length)
            now.known = False
            if bad != NOBODY:
                raise CannotGoOn(
                    f"{self.method.flow!r} has no step of {length:.3g} for body {bad}, m = {show(now.m[bad])}"
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
        prepare_forces(now.q, self.axes, self.Q, now.force, self.torque)
        interaction = self.system.interaction
        try:
            interaction.evaluate(t, now.x, self.Q, now.force, self.torque)
        except PolhodeError:
            raise
        except Exception as problem:
            raise CannotGoOn(f"{interaction!r} raised {type(problem).__name__}: {problem}") from problem
        self.evaluations += 1
        bad = torques_in_body(now.q, now.force, self.torque, self.system.linear, now.torque)
        if bad != NOBODY:
            raise CannotGoOn(self._why_not_finite(now, bad))
        now.known = True

    def _why_not_finite(self, now: SystemState, i: int) -> str:
        a, b, distance = closest_pair(now.x, self.system.box)
        near = f"; the closest bodies, {a} and {b}, are {distance:.3g} apart" if a != b else ""
        return (
            f"the force on body {i} is {show(now.force[i])} and its torque {show(self.torque[i])}, which are not "
            f"finite numbers{near}: bodies must not overlap"
        )

    def _gradients(self, now: SystemState, t: float) -> tuple[FloatArray, FloatArray]:
        """(G, g) of (1), by a difference quotient of order 4."""
        v, w = now.force * self.per_mass[:, None], now.torque * self.per_moments
        fastest, quickest = (np.sqrt((u * u).sum(axis=-1).max()) for u in (v, w))
        e = min(self._shift / fastest if fastest else inf, LARGEST_TURN / quickest if quickest else inf)
        G, g = np.zeros_like(v), -2.0 * np.cross(w, now.torque)
        for place, weight in QUOTIENT if e < inf else ():
            there = now.copy()
            there.x += (place * e) * v
            there.q = multiply(now.q, from_rotation_vector((place * e) * w))
            self._find_forces(there, t)
            factor = -2.0 * weight / (12.0 * e)
            G += factor * there.force
            g += factor * there.torque
        return G, g

    @cached_property
    def _shift(self) -> float:
        """The longest way of a body in a difference quotient."""
        distance = closest_pair(np.asarray(self.system.state.x), self.system.box)[2]
        return LARGEST_SHIFT * (distance or 1.0)
