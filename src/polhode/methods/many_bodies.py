"""Splitting of systems of bodies: drifts of all bodies by a free flow and x += h p/mass, kicks by forces and torques.

Schemes, flows and the loop over stages are those of single bodies. Here the loop is in Python, because one stage of
all bodies takes much longer than an iteration of the loop, and uses all cores. With forces F, and torques f in body
axes,

    kick      p += b h F,  m += b h f
    gradient  p -= c h^3 G,  m -= c h^3 g,  G = -2 D F,  g = -2 (D f + w x f),  w = f/I                           (1)

where D is the derivative along x += e F/mass, Q -> Q exp(e hat(w)) of all bodies at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.rotation import from_rotation_vector, multiply
from polhode.flows.exact import Exact
from polhode.kernels.compiler.jit import address
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.batch import propagate_range
from polhode.kernels.exact.standard_form import propagate_rows
from polhode.kernels.stepping.few_bodies import NO_SCALAR_CODE, FewWork, Flight, Forces, Memory, few_steps
from polhode.kernels.stepping.header import BatchState, Clock, Moving, Saved, SchemeTable, Wanted
from polhode.kernels.stepping.stages import GRADIENT, Pending, Progress, Window, stage_loop
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import kick, move
from polhode.methods.drift import Drift
from polhode.methods.method import Advance

if TYPE_CHECKING:
    from polhode.flows.flow import Flow

NOTHING = Pending(0.0, 0.0, 0.0, 0.0)
LARGEST_TURN = 2.0**-9  # radians by which the difference quotient in (1) turns bodies
QUOTIENT = ((-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0))  # its points and weights, of order 4
PENDING = 7  # numbers that are carried from step to step, before the forces and torques
STUCK = 6  # the last of them: the body whose flow has no step
M, P = slice(0, 3), slice(3, 6)  # columns of the momenta of a system: angular and linear
Q, X = slice(0, 4), slice(4, 7)  # columns of its coordinates: attitudes and positions


class SystemBodies(Protocol):
    """The n bodies of a system, and the forces and torques on them, for one run."""

    moments: FloatArray  # (n, 3)
    per_moments: FloatArray  # (n, 3)
    per_mass: FloatArray  # (n,)

    @property
    def largest_shift(self) -> float:
        """Largest displacement of a body in a difference quotient."""

    @property
    def distance(self) -> float:
        """Smallest distance of two bodies at the start, the scale of errors of positions."""

    def radian(self, p: FloatArray, m: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Return the time of a radian of the fastest motion, or infinity."""

    def find_forces(self, t: float, x: FloatArray, q: FloatArray, force: FloatArray, torque: FloatArray) -> Status:
        """Write forces in space axes and torques in principal axes; return whether that was possible."""

    def compiled_forces(self) -> Forces | None:
        """Return the forces for a compiled loop over stages, or None if each stage has to be evaluated in Python."""


@dataclass
class SystemState:
    """State of all bodies of a system, with m and q in principal axes, and its pending stages."""

    moving: Moving
    pending: Pending = NOTHING
    known: bool = False  # whether force and torque belong to x and q
    stuck: int = NOBODY  # the body whose flow has no step
    evaluations: int = 0
    status: int = Status.REACHED_END

    def copy(self) -> SystemState:
        """Return a copy that shares no arrays."""
        return replace(self, moving=Moving(*(array.copy() for array in self.moving)))


def memory_size(bodies: int) -> int:
    """Return the number of floats that are carried from step to step: pending stages, forces and torques."""
    return PENDING + 6 * bodies


def read_state(current: BatchState, i: int) -> tuple[SystemState, Progress]:
    """Return a copy of the state of system `i`, and how far it has come."""
    drift, kick, gradient, time, begun, known, stuck = current.memory[i, :PENDING].tolist()
    moving = moving_of(current.m[i], current.q[i], *current.memory[i, PENDING:].reshape(2, -1, 3))
    cost = int(current.torques[i]), int(current.status[i])
    state = SystemState(moving, Pending(drift, kick, gradient, time), bool(known), int(stuck), *cost)
    return state, Progress(int(current.steps[i]), bool(begun))


def write_state(s: SystemState, progress: Progress, current: BatchState, i: int) -> None:
    """Write the state of system `i`; see `read_state`."""
    put(s.moving, current.m[i], current.q[i])
    current.memory[i, :PENDING] = *s.pending, progress.begun, s.known, s.stuck
    current.memory[i, PENDING:].reshape(2, -1, 3)[:] = s.moving.force, s.moving.torque
    current.steps[i], current.torques[i], current.status[i] = progress.steps, s.evaluations, s.status


def moving_of(m: FloatArray, q: FloatArray, force: FloatArray, torque: FloatArray) -> Moving:
    """Return a copy of the state in the arrays m (n, 6) and q (n, 7), with forces and torques (n, 3)."""
    parts = q[:, X], m[:, P], m[:, M], q[:, Q], force, torque
    return Moving(*(np.array(part, order="C") for part in parts))


def put(a: Moving, m: FloatArray, q: FloatArray) -> None:
    """Write a state to the arrays m (n, 6) and q (n, 7)."""
    m[:, M], m[:, P], q[:, Q], q[:, X] = a.m, a.p, a.q, a.x


class _Step:
    """What the loop over stages passes on to its actions: the bodies, their free flight, and arrays of states."""

    def __init__(self, bodies: SystemBodies, flow: Flow, saved: Saved, i: int) -> None:
        """Prepare system `i`."""
        self.bodies = bodies
        self.drift = Drift(flow, bodies.moments)
        self.saved = saved
        self.i = i


def _after_drift(step: _Step, window: Window, s: SystemState) -> SystemState:
    """Return the state after its pending drift."""
    p = s.pending
    if p.drift == 0.0 or s.status != Status.REACHED_END:
        return s
    length = p.drift * window.h
    move(s.moving.x, s.moving.p, step.bodies.per_mass, length)
    s.stuck = step.drift(s.moving.m, s.moving.q, length)
    s.pending = p._replace(drift=0.0)
    s.known = False
    if s.stuck != NOBODY:
        s.status = Status.NO_STEP
    return s


def _after_kick(step: _Step, window: Window, s: SystemState) -> SystemState:
    """Return the state after its pending kick."""
    p, a, h = s.pending, s.moving, window.h
    t = window.t0 + p.time * h
    if (p.kick == 0.0 and p.gradient == 0.0) or s.status != Status.REACHED_END:
        return s
    if not s.known:
        s.status = find_forces(step.bodies, s, t)
    if p.gradient and s.status == Status.REACHED_END:
        G, g = _gradients(step.bodies, s, t)
        c = p.gradient * h * h * h
        a.p[:] -= c * G
        a.m[:] -= c * g
    if s.status == Status.REACHED_END:
        kick(a.p, a.m, a.force, a.torque, p.kick * h)
        s.pending = p._replace(kick=0.0, gradient=0.0)
    return s


def find_forces(bodies: SystemBodies, s: SystemState, t: float) -> Status:
    """Compute the forces and torques of a state, in place."""
    s.evaluations += 1
    a = s.moving
    status = bodies.find_forces(t, a.x, a.q, a.force, a.torque)
    s.known = status == Status.REACHED_END
    return status


def _gradients(bodies: SystemBodies, s: SystemState, t: float) -> tuple[FloatArray, FloatArray]:
    """Return (G, g) of (1) at the time t, by a difference quotient of order 4."""
    a = s.moving
    v, w = a.force * bodies.per_mass[:, None], a.torque * bodies.per_moments
    fastest, quickest = (np.sqrt((u * u).sum(axis=-1).max()) for u in (v, w))
    e = min(bodies.largest_shift / fastest if fastest else inf, LARGEST_TURN / quickest if quickest else inf)
    G, g = np.zeros_like(v), -2.0 * np.cross(w, a.torque)
    for point, weight in QUOTIENT if e < inf else ():
        shifted = s.copy()
        b = shifted.moving
        b.x[:] += (point * e) * v
        b.q[:] = multiply(a.q, from_rotation_vector((point * e) * w))
        s.status = min(s.status, find_forces(bodies, shifted, t))
        s.evaluations = shifted.evaluations
        factor = -2.0 * weight / (12.0 * e)
        G += factor * b.force
        g += factor * b.torque
    return G, g


def _with_pending(s: SystemState, pending: Pending) -> SystemState:
    """Return the state with other pending stages."""
    s.pending = pending
    return s


def _write(step: _Step, j: int, s: SystemState) -> None:
    """Save the state as number j."""
    put(s.moving, step.saved.m[j, step.i], step.saved.q[j, step.i])


def _copied(step: _Step, s: SystemState) -> SystemState:
    """Return a copy of the state."""
    return s.copy()


def _restored(step: _Step, copy: SystemState, s: SystemState) -> SystemState:
    """Return the copy of a state, with the number of evaluations and the status of the state s."""
    copy.evaluations, copy.status = s.evaluations, s.status
    return copy


def _window(clock: Clock, i: int) -> Window:
    """Return the times of the steps of system `i`."""
    t0, h = (float(array[i if len(array) > 1 else 0]) for array in (clock.start, clock.h))
    return Window(clock.first, t0, h)


def _few_steps(
    bodies: SystemBodies, forces: Forces, scheme: SchemeTable, by_rows: Any, clock: Clock, wanted: Wanted,
    current: BatchState, saved: Saved, i: int,
) -> bool:  # fmt: skip
    """Advance system `i` by the loop over stages of small systems.

    Return False, and leave the system as it is, if `by_rows`, the address of `propagate_rows`, is needed and 0.
    """
    s, progress = read_state(current, i)
    flight = Flight(address(propagate_range), by_rows, bodies.moments, bodies.per_mass)
    copy = Moving(*map(np.empty_like, s.moving))
    counts = np.array([progress.steps, s.evaluations, s.status])
    memory = Memory(current.memory[i, :PENDING].copy(), counts)
    window = _window(clock, i)
    few_steps(FewWork(scheme, window, wanted, forces, flight, s.moving, copy, memory, saved.m, saved.q, i))
    if counts[2] == NO_SCALAR_CODE:
        return False
    put(s.moving, current.m[i], current.q[i])
    current.memory[i, :PENDING] = memory.pending
    current.memory[i, PENDING:].reshape(2, -1, 3)[:] = s.moving.force, s.moving.torque
    current.steps[i], current.torques[i], current.status[i] = counts
    return True


def splitting_loop(flow: Flow, scheme: SchemeTable) -> Advance:
    """Return the loop over steps of systems, for a free flow and a scheme."""
    run = stage_loop(_after_kick, _after_drift, _with_pending, _write, _copied, _restored, compiled=False)
    exact = isinstance(flow, Exact) and not (scheme.stages[:, 0] == GRADIENT).any()
    # Python reads numbers of a dict faster than those of an array.
    in_dict: Any = {place: float(number) for place, number in np.ndenumerate(scheme.stages)}

    by_rows: Any = 0  # the scalar code is rarely needed, and is loaded when it is

    def advance(
        bodies: Any, clock: Clock, wanted: Wanted, start: int, stop: int, current: BatchState, saved: Saved
    ) -> None:
        nonlocal by_rows
        compiled = bodies.compiled_forces() if exact else None
        for i in range(start, stop):
            if compiled is not None:
                if not _few_steps(bodies, compiled, scheme, by_rows, clock, wanted, current, saved, i):
                    by_rows = address(propagate_rows)
                    _few_steps(bodies, compiled, scheme, by_rows, clock, wanted, current, saved, i)
                continue
            s, progress = read_state(current, i)
            step = _Step(bodies, flow, saved, i)
            listed = wanted._replace(steps=wanted.steps.tolist())
            s, progress = run(step, scheme._replace(stages=in_dict), _window(clock, i), listed, s, progress)
            write_state(s, progress, current, i)

    return advance
