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
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.rotation import from_rotation_vector, multiply
from polhode.flows.exact import Exact
from polhode.kernels.compiler.jit import in_python, loaded
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.compiler.numba_internals import address_of
from polhode.kernels.exact.batch import PROPAGATE_RANGE, propagate_range
from polhode.kernels.exact.standard_form import PROPAGATE_ROWS, propagate_rows
from polhode.kernels.stepping.few_bodies import few_steps
from polhode.kernels.stepping.stages import DRIFT, GRADIENT, KICK, run_stages
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import kick, move
from polhode.methods.drift import Drift
from polhode.methods.method import Advance, BatchState, Clock, Saved, Wanted

if TYPE_CHECKING:
    from polhode.flows.flow import Flow

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

    def compiled_forces(self) -> CompiledForces | None:
        """Return the forces for a compiled loop over stages, or None if each stage has to be evaluated in Python."""


class CompiledForces(NamedTuple):
    """Forces for a compiled loop over stages, and constants of the bodies; see ``kernels.stepping.few_bodies``."""

    address: Any
    numbers: FloatArray
    sizes: IntArray
    axes: FloatArray
    linear: npt.NDArray[np.bool_]


@dataclass
class SystemState:
    """State of all bodies of a system, with m and q in principal axes, and its pending stages."""

    x: FloatArray  # (n, 3)
    p: FloatArray  # (n, 3)
    m: FloatArray  # (n, 3)
    q: FloatArray  # (n, 4)
    force: FloatArray  # (n, 3), in space axes
    torque: FloatArray  # (n, 3), in principal axes
    known: bool = False  # whether force and torque belong to x and q
    drift: float = 0.0  # pending stages, as coefficients of h, h and h^3
    kick: float = 0.0
    gradient: float = 0.0
    time: float = 0.0  # of the pending kick
    stuck: int = NOBODY  # the body whose flow has no step
    evaluations: int = 0
    status: int = Status.REACHED_END

    def copy(self) -> SystemState:
        """Return a copy that shares no arrays."""
        names = "x", "p", "m", "q", "force", "torque"
        return replace(self, **{name: getattr(self, name).copy() for name in names})


def memory_size(bodies: int) -> int:
    """Return the number of floats that are carried from step to step: pending stages, forces and torques."""
    return PENDING + 6 * bodies


def read_state(current: BatchState, i: int) -> tuple[SystemState, bool]:
    """Return a copy of the state of system `i`, and whether its run has begun."""
    m, q = current.m[i], current.q[i]
    drift, kick, gradient, time, begun, known, stuck = current.memory[i, :PENDING].tolist()
    force, torque = current.memory[i, PENDING:].reshape(2, -1, 3)
    parts = q[:, X], m[:, P], m[:, M], q[:, Q], force, torque
    x, p, own_m, own_q, force, torque = (np.array(part, order="C") for part in parts)
    cost = int(current.torques[i]), int(current.status[i])
    state = SystemState(x, p, own_m, own_q, force, torque, bool(known), drift, kick, gradient, time, int(stuck), *cost)
    return state, bool(begun)


def write_state(s: SystemState, begun: bool, current: BatchState, i: int) -> None:
    """Write the state of system `i`; see `read_state`."""
    put(s, current.m[i], current.q[i])
    current.memory[i, :PENDING] = s.drift, s.kick, s.gradient, s.time, begun, s.known, s.stuck
    current.memory[i, PENDING:].reshape(2, -1, 3)[:] = s.force, s.torque
    current.torques[i], current.status[i] = s.evaluations, s.status


def put(s: SystemState, m: FloatArray, q: FloatArray) -> None:
    """Write a state to the arrays m (n, 6) and q (n, 7)."""
    m[:, M], m[:, P], q[:, Q], q[:, X] = s.m, s.p, s.q, s.x


class _Step:
    """What the loop over stages passes on to its actions: the bodies, their free flight, and arrays of states."""

    def __init__(self, bodies: SystemBodies, flow: Flow, saved: Saved, i: int) -> None:
        """Prepare system `i`."""
        self.bodies = bodies
        self.drift = Drift(flow, bodies.moments)
        self.saved = saved
        self.i = i


def _after_drift(flow: Flow, step: _Step, h: float, s: SystemState) -> SystemState:
    """Return the state after its pending drift."""
    if s.drift == 0.0 or s.status != Status.REACHED_END:
        return s
    length = s.drift * h
    move(s.x, s.p, step.bodies.per_mass, length)
    s.stuck = step.drift(s.m, s.q, length)
    s.drift = 0.0
    s.known = False
    if s.stuck != NOBODY:
        s.status = Status.NO_STEP
    return s


def _after_kick(forces: None, step: _Step, h: float, s: SystemState) -> SystemState:
    """Return the state after its pending kick."""
    if (s.kick == 0.0 and s.gradient == 0.0) or s.status != Status.REACHED_END:
        return s
    if not s.known:
        s.status = find_forces(step.bodies, s, s.time)
    if s.gradient and s.status == Status.REACHED_END:
        G, g = _gradients(step.bodies, s)
        c = s.gradient * h * h * h
        s.p -= c * G
        s.m -= c * g
    if s.status == Status.REACHED_END:
        kick(s.p, s.m, s.force, s.torque, s.kick * h)
        s.kick = s.gradient = 0.0
    return s


def find_forces(bodies: SystemBodies, s: SystemState, t: float) -> Status:
    """Compute the forces and torques of a state, in place."""
    s.evaluations += 1
    status = bodies.find_forces(t, s.x, s.q, s.force, s.torque)
    s.known = status == Status.REACHED_END
    return status


def _gradients(bodies: SystemBodies, s: SystemState) -> tuple[FloatArray, FloatArray]:
    """Return (G, g) of (1), by a difference quotient of order 4."""
    v, w = s.force * bodies.per_mass[:, None], s.torque * bodies.per_moments
    fastest, quickest = (np.sqrt((u * u).sum(axis=-1).max()) for u in (v, w))
    e = min(bodies.largest_shift / fastest if fastest else inf, LARGEST_TURN / quickest if quickest else inf)
    G, g = np.zeros_like(v), -2.0 * np.cross(w, s.torque)
    for point, weight in QUOTIENT if e < inf else ():
        shifted = s.copy()
        shifted.x += (point * e) * v
        shifted.q = multiply(s.q, from_rotation_vector((point * e) * w))
        s.status = min(s.status, find_forces(bodies, shifted, s.time))
        s.evaluations = shifted.evaluations
        factor = -2.0 * weight / (12.0 * e)
        G += factor * shifted.force
        g += factor * shifted.torque
    return G, g


def _with_stage(kind: float, x: float, t: float, s: SystemState) -> SystemState:
    """Return the state with one more pending stage, of coefficient x, at the time t."""
    if kind == DRIFT:
        s.drift += x
        return s
    if kind == KICK:
        s.kick += x
    else:
        s.gradient += x
    s.time = t
    return s


def _write(step: _Step, j: int, s: SystemState) -> None:
    """Save the state as number j."""
    put(s, step.saved.m[j, step.i], step.saved.q[j, step.i])


def _copied(step: _Step, s: SystemState) -> SystemState:
    """Return a copy of the state."""
    return s.copy()


def _restored(step: _Step, copy: SystemState, s: SystemState) -> SystemState:
    """Return the copy of a state, with the number of evaluations and the status of the state s."""
    copy.evaluations, copy.status = s.evaluations, s.status
    return copy


def _window(clock: Clock, i: int) -> tuple[int, float, float]:
    """Return the number of the first step of system `i`, its time and its size."""
    t0, h = (float(array[i if len(array) > 1 else 0]) for array in (clock.start, clock.h))
    return clock.first, t0, h


def _few_steps(
    bodies: SystemBodies, forces: CompiledForces, table: tuple[Any, ...], clock: Clock, wanted: Wanted,
    current: BatchState, saved: Saved, i: int,
) -> None:  # fmt: skip
    """Advance system `i` by the loop over stages of small systems."""
    s, _ = read_state(current, i)
    moving = s.x, s.p, s.m, s.q, s.force, s.torque
    pending = current.memory[i, :PENDING].copy()
    counts = np.array([current.steps[i], current.torques[i], current.status[i]])
    few_steps(
        (forces.address, *flight_addresses()), table, _window(clock, i), wanted.at, wanted.limit, moving,
        tuple(map(np.empty_like, moving)), forces[1:], (bodies.moments, bodies.per_mass), pending, counts,
        (saved.m, saved.q, i),
    )  # fmt: skip
    drift, kick_, gradient, time, begun, known, stuck = pending.tolist()
    counted = SystemState(*moving, bool(known), drift, kick_, gradient, time, int(stuck), *counts[1:].tolist())
    current.steps[i] = counts[0]
    write_state(counted, bool(begun), current, i)


@cache
def flight_addresses() -> tuple[Any, Any]:
    """Return the addresses of the exact flow of a range of bodies, and of single ones."""
    return (
        address_of(loaded(propagate_range), PROPAGATE_RANGE),
        address_of(loaded(propagate_rows), PROPAGATE_ROWS),
    )


def splitting_loop(flow: Flow, table: tuple[Any, ...]) -> Advance:
    """Return the loop over steps of systems, for a free flow and the table of ``kernels.stepping.stages``."""
    run = in_python(run_stages)
    exact = isinstance(flow, Exact) and not (table[0][:, 0] == GRADIENT).any()
    actions = _after_kick, _after_drift, _with_stage, _write, _copied, _restored
    # Python reads numbers of a dict faster than those of an array.
    in_dict = {place: float(number) for place, number in np.ndenumerate(table[0])}, *table[1:]

    def advance(
        bodies: Any, clock: Clock, wanted: Wanted, start: int, stop: int, current: BatchState, saved: Saved
    ) -> None:
        compiled = bodies.compiled_forces() if exact else None
        for i in range(start, stop):
            if compiled is not None:
                _few_steps(bodies, compiled, table, clock, wanted, current, saved, i)
                continue
            s, begun = read_state(current, i)
            step = _Step(bodies, flow, saved, i)
            window = _window(clock, i)
            steps = wanted.at.tolist(), wanted.limit
            s, n, begun = run(*actions, None, flow, step, in_dict, window, *steps, s, int(current.steps[i]), begun)
            current.steps[i] = n
            write_state(s, begun, current, i)

    return advance
