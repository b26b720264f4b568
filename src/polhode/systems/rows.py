"""A system of bodies as runs take it: one row, whose momenta and coordinates are those of all bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, lengths
from polhode.core.body import Frame, from_principal, scale_along, to_principal
from polhode.core.checks import check_spread, show
from polhode.core.errors import InputError, PolhodeError
from polhode.core.rotation import matrix, normalize
from polhode.integration.rows import EndState, Rows, attitude_errors, free_slopes, momentum_errors
from polhode.integration.time_structure import CELLS, TimeStructure, structure_of, unknown_structure
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.stepping.few_bodies import Forces
from polhode.kernels.stepping.header import BatchState
from polhode.kernels.stepping.status import Status
from polhode.kernels.stepping.system_steps import prepare_forces, torques_in_body
from polhode.methods.many_bodies import M, P, Q, X
from polhode.methods.method import Advance, Between, Longest, Method, anything
from polhode.systems.interactions.neighbors import closest_pair

if TYPE_CHECKING:
    from polhode.systems.interactions.base import Interaction
    from polhode.systems.system import System
    from polhode.systems.trajectory import SystemTrajectory

LARGEST_SHIFT = 2.0**-13  # parts of the smallest initial distance by which difference quotients shift bodies
AT_ONCE = 2**11  # states of bodies whose forces are computed together
# Intervals of the samples in time of more bodies than these: a prime number, above four times the largest spacing.
MANY, FEWER_CELLS = 64, 1031
SPIN = 1e-10  # torque about the axis of a linear rotor, relative to the whole torque, that is round-off


class SystemRows(Rows):
    """System of n bodies as one row: momenta (m, p) of shape (n, 6), coordinates (q, x) of shape (n, 7)."""

    batch = ()
    count = 1
    names = ("x", "p", "m", "q")
    event_arguments = "with x, p, m of shape (k, n, 3) and q of shape (k, n, 4), for all bodies of the system"
    breaks = np.empty(0)
    drops_missing = True
    is_ready_made = True  # forces are assumed to be smooth, but for what fields show that depend on time
    is_traced = True  # they are assumed to have no branches

    def __init__(self, system: System) -> None:
        """Arrange the data of `system`."""
        check_spread(system.moments)
        self.system = system
        n = self.size = system.count
        self.cells = CELLS if n <= MANY else FEWER_CELLS
        self.m_shape, self.q_shape = (n, 6), (n, 7)
        self.m, self.q = np.empty((1, n, 6)), np.empty((1, n, 7))
        state = system.state
        self._frame = Frame.of(system.axes)
        m, q = to_principal(self._frame, state.m, state.q)
        self.m[0, :, M], self.m[0, :, P], self.q[0, :, Q], self.q[0, :, X] = m, state.p, q, state.x
        self.loops = {}

    def check(self, method: Method) -> None:
        """Raise InputError if `method` is not for systems, or the bodies do not fit the interaction at the start."""
        method.check_system()
        _ = self._is_checked

    @cached_property
    def _is_checked(self) -> bool:
        """True; an InputError is raised instead unless the initial forces and torques fit the bodies."""
        system = self.system
        x, t = np.array(system.state.x), system.t_span[0]
        bodies = self.bodies_for_run()
        q = np.ascontiguousarray(self.q[0, :, Q])
        force, torque = np.empty((self.size, 3)), np.empty((self.size, 3))
        prepare_forces(q, bodies.axes, bodies.Q, force, bodies.torque)
        system.interaction.check(t, x, bodies.Q)
        if bodies.find_forces(t, x, q, force, torque) != Status.REACHED_END:
            why, cause = self._why_no_force(bodies, t, x, q)
            raise InputError(f"at the start, {why}") from cause
        spin = np.abs(np.einsum("nij,ni->nj", bodies.Q, bodies.torque)[:, 0])
        wrong = system.linear & (spin > SPIN * np.abs(bodies.torque).max(axis=-1))
        if wrong.any():
            raise InputError(
                f"body {int(np.argmax(wrong))} is a linear rotor, and {system.interaction!r} turns it about its own "
                "axis, the first body axis; expected dipoles and sites of linear rotors on that axis"
            )
        return True

    def bodies_for_run(self) -> BodiesOfRun:
        """Return the bodies, with the forces on them, for one run."""
        return BodiesOfRun(self.system)

    def new_state(
        self, method: Method, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything
    ) -> Any:
        """Return a BatchState of `method` for systems with momenta (r, n, 6) and coordinates (r, n, 7)."""
        state = method.new_batch_state(m, q, t0, longest)
        return state._replace(memory=np.zeros((len(m), method.system_memory(self.size))))

    def differences(self, a: EndState, b: EndState, floor: float = 0.0) -> tuple[float, ...]:
        """Return the errors of x, p, m and q, each the largest of all bodies.

        Those of positions are relative to the size of the whole system, those of momenta to the largest momentum of its
        kind, to which `floor` is added.
        """
        x, p, m = (
            float(momentum_errors(u.reshape(-1), v.reshape(-1), floor if k else 0.0))
            for k, (u, v) in enumerate(zip(a[:3], b[:3], strict=True))
        )
        return x, p, m, float(attitude_errors(a[3], b[3]).max(initial=0.0))

    def order_of(self, method: Method) -> float:
        """Return the order of `method`."""
        return method.order

    @property
    def places(self) -> int:
        """Number of places at which a second look evaluates forces; 0 if that calls Python."""
        return CELLS if self.system.interaction.is_compiled else 0

    def sizes(self, m: FloatArray) -> FloatArray:
        """Return the sizes (k, 2 n) of momenta m (k, n, 6): the largest of all bodies, angular and then linear."""
        return np.repeat(np.stack([lengths(m[..., part]).max(axis=-1) for part in (M, P)], axis=-1), self.size, axis=-1)

    def torques(self, t: FloatArray, m: FloatArray, q: FloatArray, row: IntArray) -> FloatArray:
        """Return torques and then forces (k, 2 n, 3) in space axes at times t (k,), in states (m, q).

        They are those by functions of the user. Attitudes are normalized first.
        """
        unit = q.copy()
        unit[..., Q] = normalize(q[..., Q])
        x, _, _, q = self.rows_to_user(m, unit, row)
        out = np.zeros((len(t), 2, self.size, 3))
        try:
            for part in self.system.interaction.parts:
                if not part.is_ready_made:
                    part.for_run().evaluate_each(t, x, matrix(q), out[:, 1], out[:, 0])
        except Exception:  # raised by the function of the user; the run reports it where it occurs
            return np.zeros((len(t), 2 * self.size, 3))
        return np.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0).reshape(len(t), -1, 3)

    def free_slopes(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of states (m, q), of shapes (k, n, 6) and (k, n, 7), without forces."""
        slopes_m, slopes_q = np.zeros_like(m), np.empty_like(q)
        slopes_m[..., M], slopes_q[..., Q] = free_slopes(m[..., M], q[..., Q], self.system.moments)
        slopes_q[..., X] = m[..., P] / self.system.mass[:, None]
        return slopes_m, slopes_q

    def structure(self, span: tuple[float, float]) -> TimeStructure:
        """Return that of forces without features in time."""
        return TimeStructure(np.array([np.inf]), *np.zeros((2, 1), dtype=np.bool_))

    def sampled_structure(self, span: tuple[float, float]) -> TimeStructure:
        """Return that of the fields that depend on time, sampled at the initial positions.

        That takes as long as a trial run, and is therefore done only where steps are chosen by such runs.
        """
        fields = [part for part in self.system.interaction.parts if part.time_dependent]
        if not fields:
            return self.structure(span)
        t = np.linspace(*span, self.cells + 1)
        try:
            return structure_of(self._samples(fields, t), t, self.breaks, 1)
        except Exception:  # raised by the function of the user; the run reports it where it occurs
            return unknown_structure(t, 1)

    def _samples(self, fields: list[Interaction], t: FloatArray) -> FloatArray:
        """Return sums of the forces and of the torques on all bodies (2, T) at times t, with weights that differ."""
        x, Q = np.array(self.system.state.x)[None], matrix(self.system.state.q)[None]
        weights = np.cos(np.arange(3.0 * self.size)).reshape(-1, 3)
        samples = np.empty((2, len(t)))
        for some in np.array_split(np.arange(len(t)), len(t) * self.size // AT_ONCE + 1):
            out = np.zeros((2, len(some), self.size, 3))
            for field in fields:
                field.evaluate_each(t[some], x, Q, *out)
            samples[:, some] = np.einsum("ktnc,nc->kt", out, weights)
        return np.nan_to_num(samples, nan=0.0, posinf=0.0, neginf=0.0)

    def new_loop(self, method: Method) -> Advance:
        """Return the loop over steps of `method`."""
        return method.advance_system()

    def between(self, method: Method) -> Between:
        """Return the function that computes states within the steps that `method` has chosen."""
        return method.between_system()

    def in_threads(self, work: Callable[[int, int], int], count: int, weight: float) -> int:
        """Run ``work(0, count)``: threads share the bodies of each system instead."""
        return work(0, count)

    def is_exact(self, method: Method) -> bool:
        """Return False: systems interact."""
        return False

    def load(self) -> None:
        """Do nothing: the check of the start has compiled all functions."""

    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, ...]:
        """Convert (m, q), (k, 1, n, 6) and (k, 1, n, 7), to x, p, m (k, n, 3) and q (k, n, 4)."""
        return self.rows_to_user(m[:, 0], q[:, 0], np.zeros(len(m), np.int64))

    def with_impulse(self, m: FloatArray, q: FloatArray, impulse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q), of shapes (1, n, 6) and (1, n, 7), after angular impulses (n, 3) or (3,) in body axes."""
        _, _, own_m, own_q = self.rows_to_user(m, q, np.zeros(1, np.int64))
        state = self.system.state._exactly(m=own_m[0] + impulse, q=own_q[0])
        changed_m, changed_q = m.copy(), q.copy()
        changed_m[0, :, M], changed_q[0, :, Q] = to_principal(self._frame, state.m, state.q)
        return changed_m, changed_q

    def rows_to_user(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, ...]:
        """Convert (m, q) of shapes (r, n, 6) and (r, n, 7) to x, p, m (r, n, 3) and q (r, n, 4)."""
        own_m, own_q = from_principal(self._frame, m[..., M], q[..., Q])
        return tuple(np.array(array) for array in (q[..., X], m[..., P], own_m, own_q))

    def velocities(self, m: FloatArray) -> FloatArray:
        """Return the angular velocities (n, 3) of momenta (n, 3), in body axes of the user."""
        return scale_along(self.system.axes, 1.0 / self.system.moments, m, "m")

    def speed(self, m: FloatArray) -> FloatArray:
        """Return the largest angular speed of all bodies, (k, 1), for momenta (k, 1, n, 6)."""
        return np.linalg.norm(m[..., M] / self.system.moments, axis=-1).max(axis=-1, initial=0.0)

    def trajectory(self, problem: Any, *arguments: Any, **more: Any) -> SystemTrajectory:
        """Return the trajectory of a system with these arguments: times, x, p, m, q, and data of the run."""
        from polhode.systems.trajectory import SystemTrajectory

        return SystemTrajectory(problem, *arguments, **more)

    def name_of(self, i: int) -> str:
        """Return what messages call the system."""
        return "the system"

    def show(self, m: FloatArray, q: FloatArray) -> str:
        """Return nothing: the state of a system is too long for a message."""
        return ""

    def why_no_torque(self, bodies: BodiesOfRun, i: int, t: float, m: FloatArray, q: FloatArray) -> tuple[str, Any]:
        """Return why the forces stopped the system, and the original exception, for which they are computed again."""
        return self._why_no_force(bodies, t, *(np.ascontiguousarray(q[:, part]) for part in (X, Q)))

    def _why_no_force(self, bodies: BodiesOfRun, t: float, x: FloatArray, q: FloatArray) -> tuple[str, Any]:
        """Return why there are no forces at positions x and attitudes q, and the exception that was raised."""
        force, torque = np.empty((self.size, 3)), np.empty((self.size, 3))
        try:
            bodies.evaluate(t, x, q, force)
        except Exception as error:
            return f"{self.system.interaction!r} raised {type(error).__name__}: {error}", error
        i = torques_in_body(q, force, bodies.torque, bodies.linear, torque)
        if i == NOBODY:
            return "forces or torques are not finite in the next step", None
        a, b, distance = closest_pair(x, self.system.box)
        near = f"; the closest bodies, {a} and {b}, are {distance:.3g} apart" if a != b else ""
        return (
            f"the force on body {i} is {show(force[i])} and its torque {show(bodies.torque[i])}, which are not "
            f"finite numbers{near}: bodies must not overlap"
        ), None

    def why_no_step(self, method: Method, current: BatchState, i: int, h: float) -> str:
        """Return the body that cannot make a step."""
        return method.why_no_system_step(current, i)


class BodiesOfRun:
    """The bodies of a system and the forces on them, with the working memory of one run."""

    def __init__(self, system: System) -> None:
        """Prepare a run."""
        n = system.count
        self.system = system
        self.interaction = system.interaction.for_run()
        self.moments, self.linear = system.moments.copy(), system.linear.copy()  # kernels require writable arrays
        self.per_moments, self.per_mass = 1.0 / system.moments, 1.0 / system.mass
        self.axes = np.empty((0, 9)) if system.axes is None else system.axes.copy().reshape(n, 9)
        self.Q = np.empty((n, 3, 3))
        self.torque = np.empty((n, 3))  # in space axes

    def take(self, row: IntArray) -> BodiesOfRun:
        """Return the bodies themselves: all rows are states of one system."""
        return self

    def evaluate(self, t: float, x: FloatArray, q: FloatArray, force: FloatArray) -> None:
        """Write the forces to `force`, and the torques to `torque`, both in space axes."""
        prepare_forces(q, self.axes, self.Q, force, self.torque)
        self.interaction.evaluate(t, x, self.Q, force, self.torque)

    def compiled_forces(self) -> Forces | None:
        """Return the forces for a compiled loop over stages, or None if the interaction has none for so many bodies."""
        forces = self.interaction.compiled(self.system.count)
        return None if forces is None else Forces(*forces, self.axes, self.linear)

    def find_forces(self, t: float, x: FloatArray, q: FloatArray, force: FloatArray, torque: FloatArray) -> Status:
        """Write forces in space axes and torques in principal axes; return whether that was possible."""
        try:
            self.evaluate(t, x, q, force)
        except PolhodeError:
            raise
        except Exception:
            return Status.TORQUE_RAISED
        bad = torques_in_body(q, force, self.torque, self.linear, torque)
        return Status.REACHED_END if bad == NOBODY else Status.NOT_FINITE

    @cached_property
    def distance(self) -> float:
        """Smallest distance of two bodies at the start; the distance from the origin of a single body, or 1."""
        x = np.asarray(self.system.state.x)
        return closest_pair(x, self.system.box)[2] or float(np.abs(x).max(initial=0.0)) or 1.0

    @property
    def largest_shift(self) -> float:
        """Largest displacement of a body in a difference quotient: forces are steep."""
        return LARGEST_SHIFT * self.distance

    def radian(self, p: FloatArray, m: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Return the time of a radian of the fastest motion, or infinity if nothing moves.

        Rotations, librations by the torques, and motions across the smallest distance of two bodies are considered.
        """
        velocity, acceleration = (
            float((np.linalg.norm(u, axis=-1) * self.per_mass).max(initial=0.0)) / self.distance for u in (p, force)
        )
        turning, starting = (float(np.linalg.norm(u * self.per_moments, axis=-1).max(initial=0.0)) for u in (m, torque))
        fastest = max(turning, starting**0.5, velocity, acceleration**0.5)
        return 1.0 / fastest if fastest > 0 else inf
