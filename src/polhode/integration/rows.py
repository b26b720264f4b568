"""What runs require of a problem or of a system: its states as rows of arrays in principal axes, and its loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, lengths, writable
from polhode.core.body import Frame, RigidBody, flow_moments, frame_of, from_principal, to_principal
from polhode.core.checks import check_spread, common_batch, place, rows_of, show
from polhode.core.rotation import matrix, multiply, normalize
from polhode.core.threads import in_ranges
from polhode.forces.base import Force, diagonals
from polhode.integration.time_structure import CELLS, TimeStructure, time_structure
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.header import BatchState, Bodies
from polhode.methods.method import Advance, Between, Longest, Method, anything

if TYPE_CHECKING:
    from polhode.integration.base_trajectory import BaseTrajectory
    from polhode.integration.problem import Problem

MOST_LOOPS = 32  # that are remembered
MOST_STRUCTURES = 8  # time structures that are remembered, of different time spans
ACROSS = np.outer((0.0, 1.0, 1.0), (0.0, 1.0, 1.0))  # the part of a damping matrix that acts on a linear rotor


class States(NamedTuple):
    """States of n rows at times, in principal axes; NaN where a row did not get."""

    t: FloatArray  # (k,)
    m: FloatArray  # (k, n) + m_shape
    q: FloatArray  # (k, n) + q_shape


EndState = tuple[FloatArray, ...]  # the arrays of the user at the end of a run, of shape batch + (...)


class Rows(ABC):
    """Base class of problems and systems as runs take them.

    A row is what moves on its own: a body of a batch, or a whole system.

    Attributes
    ----------
    batch : tuple of int
        Shape of the batch of rows; () for one body, and for a system.
    count : int
        Number of rows.
    size : int
        Number of bodies in all rows.
    m, q : ndarray, shape (count,) + m_shape and (count,) + q_shape
        Initial momenta and coordinates in principal axes.
    m_shape, q_shape : tuple of int
        Shapes of the momenta and coordinates of a row.
    names : tuple of str
        Names of the arrays that users see, in the order in which `to_user` returns them.
    event_arguments : str
        Shapes of these arrays as events receive them, for messages.
    breaks : ndarray, shape (b,)
        Times at which torques jump.
    is_ready_made : bool
        Whether the forces are known to be smooth in time.
    drops_missing : bool
        Whether trajectories end with the last state that was reached; otherwise, missing states are NaN.
    cells : int
        Number of intervals of the time span between samples of the torque.
    loops : dict
        Loops of the methods that were used, by the id of the method.
    """

    batch: tuple[int, ...]
    count: int
    size: int
    m: FloatArray
    q: FloatArray
    m_shape: tuple[int, ...]
    q_shape: tuple[int, ...]
    names: tuple[str, ...]
    event_arguments: str
    breaks: FloatArray
    is_ready_made: bool
    drops_missing: bool = False
    cells: int = CELLS
    loops: dict[int, tuple[Method, Advance]]

    @abstractmethod
    def check(self, method: Method) -> None:
        """Raise InputError if `method` cannot integrate these rows."""

    @abstractmethod
    def bodies_for_run(self) -> Any:
        """Return what the loops of one run take as bodies: constants, and working memory if they need any."""

    @abstractmethod
    def new_state(
        self, method: Method, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything
    ) -> Any:
        """Return a BatchState of `method` for rows with momenta m (r,) + m_shape and coordinates q (r,) + q_shape."""

    @abstractmethod
    def differences(self, a: EndState, b: EndState, floor: float = 0.0) -> tuple[float, ...]:
        """Return the errors of each of the arrays `names`, the largest of all bodies; those of momenta are relative.

        `floor` is added to the sizes of momenta.
        """

    @abstractmethod
    def new_loop(self, method: Method) -> Advance:
        """Return the loop over steps of `method`."""

    @abstractmethod
    def in_threads(self, work: Callable[[int, int], int], count: int, weight: float) -> int:
        """Run ``work(start, stop)`` over `count` rows with `weight` evaluations each, in threads if that is useful."""

    @abstractmethod
    def between(self, method: Method) -> Between:
        """Return the function that computes states within the steps that `method` has chosen."""

    def polynomials(self, method: Method) -> Between | None:
        """Return the function that computes the polynomials of steps, if there are such; see ``Method.polynomials``."""
        return None

    @abstractmethod
    def is_exact(self, method: Method) -> bool:
        """Return whether steps of any size are exact to rounding."""

    @property
    @abstractmethod
    def is_traced(self) -> bool:
        """Whether there are graphs of the forces, or whether they are known to have no branches."""

    @abstractmethod
    def order_of(self, method: Method) -> float:
        """Return the order of `method` with these forces."""

    @property
    @abstractmethod
    def places(self) -> int:
        """Number of places along the paths of all rows at which a second look evaluates torques."""

    @abstractmethod
    def sizes(self, m: FloatArray) -> FloatArray:
        """Return the sizes (k, b) of momenta m (k,) + m_shape: of each kind that a row has."""

    @abstractmethod
    def torques(self, t: FloatArray, m: FloatArray, q: FloatArray, row: IntArray) -> FloatArray:
        """Return the torques and forces on rows (k,) at times t (k,), each of the b kinds of `sizes`: (k, b, 3)."""

    @abstractmethod
    def free_slopes(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of states (m, q) of rows (k,) with respect to time, without torques and forces."""

    @abstractmethod
    def structure(self, span: tuple[float, float]) -> TimeStructure:
        """Return the time structure of the forces: the longest steps that skip no feature, and so on."""

    @abstractmethod
    def load(self) -> None:
        """Compile the functions that are used after a run, or load them from the cache."""

    @abstractmethod
    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, ...]:
        """Convert (m, q), (k, n) + m_shape and q_shape, to the arrays `names`, (k,) + batch + (...)."""

    @abstractmethod
    def with_impulse(self, m: FloatArray, q: FloatArray, impulse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q), (n,) + m_shape and q_shape, after angular impulses in body axes, batch + (..., 3) or (3,).

        Results are those of initial states with these momenta, to the bit. Raise an InputError if an impulse does not
        fit its body.
        """

    @abstractmethod
    def rows_to_user(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, ...]:
        """Convert (m, q) of r states of the rows with indices (r,) to the arrays `names`, (r, ...)."""

    @abstractmethod
    def velocities(self, m: FloatArray) -> FloatArray:
        """Return the angular velocities of momenta of one state, in body axes of the user, batch + (..., 3)."""

    @abstractmethod
    def speed(self, m: FloatArray) -> FloatArray:
        """Return the largest angular speeds of rows with momenta m of shape (k, n) + m_shape, as (k, n)."""

    @abstractmethod
    def trajectory(self, problem: Any, *arguments: Any, **more: Any) -> BaseTrajectory:
        """Return the trajectory of `problem` with these arguments: times, the arrays `names`, and data of the run."""

    @abstractmethod
    def name_of(self, i: int) -> str:
        """Return what messages call row `i`."""

    @abstractmethod
    def show(self, m: FloatArray, q: FloatArray) -> str:
        """Return a state of one row as text that follows its time."""

    @abstractmethod
    def why_no_torque(self, bodies: Any, i: int, t: float, m: FloatArray, q: FloatArray) -> tuple[str, Any]:
        """Return why the torque on row `i` stopped it, and the original exception, for which it is evaluated again.

        `bodies` are those of the run.
        """

    @abstractmethod
    def why_no_step(self, method: Method, current: BatchState, i: int, h: float) -> str:
        """Return why row `i` cannot make a step; if steps have the size `h`, only more about it, such as a bound."""

    @cached_property
    def floats(self) -> int:
        """Number of floats of the state of a row."""
        return prod(self.m_shape) + prod(self.q_shape)

    def not_reached(self, t: FloatArray) -> States:
        """Return states of NaN at times (k,)."""
        m, q = np.empty((len(t), self.count, *self.m_shape)), np.empty((len(t), self.count, *self.q_shape))
        m.fill(np.nan)
        q.fill(np.nan)
        return States(t, m, q)

    def advance(self, method: Method) -> Advance:
        """Return the loop over steps of `method`, shared by all runs; it is compiled here, before the run."""
        known = self.loops.get(id(method))
        if known is None:
            known = method, self.new_loop(method)
            if len(self.loops) == MOST_LOOPS:
                self.loops.clear()
            self.loops[id(method)] = known
        return known[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return the data; compiled code stays in its process."""
        return vars(self) | {"loops": {}}


class Integrable(Protocol):
    """What can be integrated: a problem or a system."""

    @property
    def rows(self) -> Rows:
        """Rows that move on their own."""

    @property
    def t_span(self) -> tuple[float, float]:
        """Time span."""

    @property
    def h(self) -> float | None:
        """Suggested step size."""


class ProblemRows(Rows):
    """Bodies, initial states and forces of a problem, broadcast and arranged in rows."""

    m_shape = (3,)
    q_shape = (4,)
    names = ("m", "q")
    event_arguments = "with m of shape (..., 3) and q of shape (..., 4)"

    def __init__(self, problem: Problem) -> None:
        """Arrange the data of `problem`."""
        body, state, force = problem.body, problem.state, problem.force
        self.body, self.state, self.force = body, state, force  # not the problem, which would form a cycle
        self.t_start = problem.t_span[0]
        self.breaks = force.breaks
        self.is_ready_made = force.is_ready_made
        self.batch = common_batch(
            body=body.batch, state=state.batch, params=force.params.shape[:-1], damping=force.damping.shape[:-2]
        )
        self.count = self.size = prod(self.batch)
        self.in_blocks = bool(self.batch)  # whether methods take their loop for batches, also for one body
        self._frame = frame_of(body)
        moments = flow_moments(body)
        check_spread(moments)
        frame = self._frame
        axes = np.empty((0, 9)) if frame is None else rows_of(frame.axes.reshape(*body.batch, 9), self.batch, 9)
        self.bodies = Bodies(
            rows_of(moments, self.batch, 3),
            np.ascontiguousarray(axes),
            self._damping(body, force),
            writable(rows_of(force.params, self.batch, force.params.shape[-1])),
        )
        m, q = to_principal(self._frame, state.m, state.q)
        self.loops = {}
        self._structures: dict[tuple[float, float], TimeStructure] = {}
        self.m, self.q = (np.broadcast_to(x, (*self.batch, k)).reshape(self.count, k) for x, k in ((m, 3), (q, 4)))

    @property
    def is_traced(self) -> bool:
        """Whether there is a graph of the torque."""
        return self.force.is_traced

    def _damping(self, body: RigidBody, force: Force) -> FloatArray:
        """Return the damping of each body in the format of ``kernels.stepping.damping``: rows (n, 3) or (n, 21)."""
        D = force.damping * ACROSS if body.is_linear else force.damping
        along = diagonals(D)
        if along is not None and (self._frame is None or not np.any(along[..., :1] != along)):
            return rows_of(along, self.batch, 3)
        return rows_of(oblique_damping(D, flow_moments(body), body.axes), self.batch, OBLIQUE)

    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (k, n, .) in principal axes to (k,) + batch + (.,) in the axes of the user."""
        shape = len(m), *self.batch
        m, q = m.reshape(*shape, 3), q.reshape(*shape, 4)
        return (m, q) if self._frame is None else from_principal(self._frame, m, q)

    def with_impulse(self, m: FloatArray, q: FloatArray, impulse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (m, q), of shapes (n, 3) and (n, 4), after impulses in body axes, batch + (3,) or (3,)."""
        m, q = self.to_user(m[None], q[None])
        m, q = to_principal(self._frame, self.body.check_momentum(m[0] + impulse, "m + impulse"), q[0])
        return m.reshape(self.count, 3), q.reshape(self.count, 4)

    def rows_to_user(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (r, .) in principal axes, of bodies with indices (r,), to the axes of the user."""
        if self._frame is None:
            return m, q
        axes = np.broadcast_to(self._frame.axes, (*self.batch, 3, 3)).reshape(-1, 3, 3)
        turns = np.broadcast_to(self._frame.q, (*self.batch, 4)).reshape(-1, 4)
        return from_principal(Frame(axes[row], turns[row]), m, q)

    @property
    def places(self) -> int:
        """Number of places at which a second look evaluates torques: as many of each body as there are cells."""
        return self.cells * self.count

    def sizes(self, m: FloatArray) -> FloatArray:
        """Return the sizes (k, 1) of momenta m (k, 3)."""
        return lengths(m)[:, None]

    def torques(self, t: FloatArray, m: FloatArray, q: FloatArray, row: IntArray) -> FloatArray:
        """Return the torques (r, 1, 3) on bodies `row` at times t (r,), in states (m, q) in principal axes.

        They are in body axes of the user, and without damping. Attitudes are normalized first.
        """
        inertia, _, _, params = self.bodies
        inertia, params = (x[row if len(x) > 1 else np.zeros_like(row)] for x in (inertia, params))
        w, q = self.rows_to_user(m / inertia, normalize(q), row)
        out = np.empty((len(t), 3))
        self.force.evaluate_torques((t, *map(np.ascontiguousarray, (q, w)), writable(params), out))
        return out[:, None]

    def free_slopes(self, m: FloatArray, q: FloatArray, row: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of states (m, q) of bodies `row`, without torques."""
        return free_slopes(m, q, self.bodies.inertia[row if len(self.bodies.inertia) > 1 else 0])

    def take(self, rows: IntArray) -> ProblemRows:
        """Return a batch of the bodies with the given row indices, for runs alone: it knows no axes of the user."""
        part = copy(self)
        part.loops, part._structures = self.loops, {}  # a copy would have its own loops, but these structures
        part.batch, part.count, part.size = (len(rows),), len(rows), len(rows)
        part.bodies, part.m, part.q = self.bodies.take(rows), self.m[rows], self.q[rows]
        return part

    def check(self, method: Method) -> None:
        """Raise InputError if `method` cannot integrate the force."""
        method.check(self.force)

    def bodies_for_run(self) -> Bodies:
        """Return the constants of the bodies, with a copy of the parameters, which a run may change."""
        inertia, axes, damping, params = self.bodies
        return Bodies(inertia, axes, damping, params.copy())

    def new_state(
        self, method: Method, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything
    ) -> Any:
        """Return a BatchState of `method` for bodies with momenta m (r, 3) and attitudes q (r, 4)."""
        if not method.chooses_steps:
            return BatchState.new(m, q, method.memory)
        return method.new_batch_state(m, q, t0, longest)

    def differences(self, a: EndState, b: EndState, floor: float = 0.0) -> tuple[float, ...]:
        """Return the errors of ``m/|m|`` and of q, each the largest of all bodies; `floor` is added to ``|m|``."""
        errors = momentum_errors(a[0], b[0], floor), attitude_errors(a[1], b[1])
        return tuple(float(error.max(initial=0.0)) for error in errors)

    def new_loop(self, method: Method) -> Advance:
        """Return the compiled loop over steps of `method`."""
        return method.advance_batch(self.force) if self.in_blocks else method.advance(self.force)

    def in_threads(self, work: Callable[[int, int], int], count: int, weight: float) -> int:
        """Run ``work(start, stop)`` over `count` bodies, in threads if there are many; see ``core.threads``."""
        return in_ranges(work, count, weight)

    def between(self, method: Method) -> Between:
        """Return the function that computes states within the steps that `method` has chosen."""
        return method.between_batch(self.force) if self.batch else method.between(self.force)

    def polynomials(self, method: Method) -> Between | None:
        """Return the function that computes the polynomials of steps, if there are such; see ``Method.polynomials``."""
        return method.polynomials(self.force, in_lanes=bool(self.batch))

    def is_exact(self, method: Method) -> bool:
        """Return whether steps of any size are exact to rounding with the force."""
        return method.is_exact_for(self.force)

    def order_of(self, method: Method) -> float:
        """Return the order of `method` with the force."""
        return method.order_for(self.force)

    def structure(self, span: tuple[float, float]) -> TimeStructure:
        """Return the time structure of the torques on all bodies; the last ones are remembered."""
        known = self._structures.get(span)
        if known is None:
            if len(self._structures) == MOST_STRUCTURES:
                self._structures.clear()
            known = self._structures[span] = time_structure(self.force, self.bodies.params, span)
        return known

    def load(self) -> None:
        """Compile the energy of the force, or load it from the cache."""
        if self.force.has_energy:
            self.force.potential(self.t_start, self.state.q)

    def velocities(self, m: FloatArray) -> FloatArray:
        """Return the angular velocities of momenta batch + (3,), in body axes of the user."""
        return self.body.omega(m)

    def speed(self, m: FloatArray) -> FloatArray:
        """Return the angular speeds (k, n) of bodies with momenta (k, n, 3)."""
        return lengths(m / self.bodies.inertia)

    def trajectory(self, problem: Any, *arguments: Any, **more: Any) -> BaseTrajectory:
        """Return the trajectory of `problem` with these arguments: times, m, q, and data of the run."""
        return _trajectory_type()(problem, *arguments, **more)

    def name_of(self, i: int) -> str:
        """Return what messages call body `i`."""
        return place("body", self._where(i))

    def _where(self, i: int) -> tuple[int, ...]:
        """Return the index of body `i` in the batch."""
        return tuple(int(k) for k in np.unravel_index(i, self.batch)) if self.batch else ()

    def show(self, m: FloatArray, q: FloatArray) -> str:
        """Return the state of one body as text."""
        return f", m = {show(m)}, q = {show(q)}"

    def why_no_torque(self, bodies: Bodies, i: int, t: float, m: FloatArray, q: FloatArray) -> tuple[str, Any]:
        """Return why the torque on body `i` stopped it, and the exception, for which it is called again uncompiled."""
        body = self.body.select(self.batch, self._where(i))
        m, q = from_principal(frame_of(body), m, q)
        Q, w = tuple(map(tuple, matrix(q).tolist())), tuple(body.omega(m).tolist())
        params = bodies.params[i if len(bodies.params) > 1 else 0]
        try:
            torque = self.force.python_torque(t, Q, w, params)
        except Exception as error:
            return f"the torque raised {type(error).__name__}: {error}", error
        return f"the torque is {torque}, not three finite numbers", None

    def why_no_step(self, method: Method, current: BatchState, i: int, h: float) -> str:
        """Return why body `i` cannot make a step."""
        return method.why_no_step(self.force, self.bodies, current, i, h)


@cache
def _trajectory_type() -> Callable[..., BaseTrajectory]:
    """Return the class of trajectories, whose module imports this one."""
    from polhode.integration.trajectory import Trajectory

    return Trajectory


def free_slopes(m: FloatArray, q: FloatArray, inertia: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of states (m, q) of free bodies in principal axes, with moments of inertia (..., 3)."""
    w = m / inertia
    return np.cross(m, w), 0.5 * multiply(q, np.insert(w, 0, 0.0, axis=-1))


def momentum_errors(a: FloatArray, b: FloatArray, floor: float = 0.0) -> FloatArray:
    """Return the errors (...) of momenta a with respect to b, (..., 3), relative to ``|b| + floor``."""
    size = lengths(b) + floor
    return np.asarray(lengths(a - b) / np.where(size > 0, size, 1.0))


def attitude_errors(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the differences (...) of quaternions a and b, (..., 4), whose signs do not matter."""
    return np.minimum(lengths(a - b), lengths(a + b))


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
