"""Definitions shared by the loops over steps and their callers: arguments, signatures, statuses.

Arguments of the loops are named tuples, whose fields are declared here with the types that kernels compile them for.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.kernels.compiler.intrinsics import call_by_address, call_in_registers
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import INPUT, MATRICES, TIMES
from polhode.kernels.stepping.status import Status

VECTOR = "UniTuple(f8, 3)"
MATRIX = f"UniTuple({VECTOR}, 3)"
TORQUE = f"{VECTOR}(f8, {MATRIX}, {VECTOR}, f8[::1])"  # torque(t, Q, w, params)
call_torque = call_by_address(TORQUE, (0.0, 0.0, 0.0))

# prepare(order, I, address and number of parameters, address of c) and advance(address of c, m, q, h): see ``repeat``
QUATERNION = "UniTuple(f8, 4)"
PREPARE = f"i8(i8, {VECTOR}, i8, i8, i8)"
ADVANCE = f"Tuple(({VECTOR}, {QUATERNION}, f8))(i8, {VECTOR}, {QUATERNION}, f8)"
call_prepare, call_advance = call_in_registers(PREPARE), call_in_registers(ADVANCE)

# forces(t, x, Q, force, torque, numbers, sizes) adds forces and torques of an interaction; it returns (status, energy).
FORCES = f"Tuple((i8, f8))(f8, {INPUT}, {MATRICES}, f8[:,::1], f8[:,::1], f8[::1], i8[::1])"

ADDRESS = "i8"  # of a compiled function
BOOL = "b1"

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
InputRows = Annotated[FloatArray, INPUT]
Rows = Annotated[FloatArray, "f8[:,::1]"]
Inputs = Annotated[FloatArray, TIMES]
Numbers = Annotated[FloatArray, "f8[::1]"]
Integers = Annotated[IntArray, "i8[::1]"]
States = Annotated[FloatArray, "f8[:,:,::1]"]
Vector = Annotated[tuple[float, float, float], VECTOR]
Quaternion = Annotated[tuple[float, float, float, float], QUATERNION]
Limits = Annotated[tuple[float, float], "UniTuple(f8, 2)"]


class Bodies(NamedTuple):
    """Constants of n bodies in principal axes, in the order of the user.

    Each array has n rows, or one row if all bodies share the same values.
    """

    inertia: InputRows  # (., 3)
    axes: InputRows  # (., 9), the principal axes as columns; (0, 9) if they are the body axes of the user
    damping: InputRows  # (., 3) or (., 21), see ``damping``
    params: Rows  # (., k)

    def take(self, rows: IntArray) -> Bodies:
        """Return the bodies with the given row indices, as copies."""
        return Bodies(*(array if len(array) < 2 else np.ascontiguousarray(array[rows]) for array in self))


BEFORE_ALL, AFTER_ALL = np.array([-inf]), np.array([inf])  # times


class Clock(NamedTuple):
    """Times of the steps of n bodies, between two breaks of the torque.

    Step number k of a fixed size begins at ``start + (k - first) * h``. Methods that choose their steps end at ``end``.
    Each array has shape (n,), or (1,) if all bodies share the same values.
    """

    start: Inputs
    h: Inputs
    low: Inputs = BEFORE_ALL  # the torque is not evaluated before this time ...
    high: Inputs = AFTER_ALL  # ... nor after this one
    first: int = 0
    end: float = inf


NO_STEPS, NO_TIMES = np.empty(0, np.int64), np.empty(0)


class Wanted(NamedTuple):
    """States to save, and the number of the step at which to return even if not all of them are reached."""

    limit: int  # number of a step; number of further trial steps if the method chooses them
    steps: Integers = NO_STEPS  # (k,), numbers of steps, in the order of integration
    times: Inputs = NO_TIMES  # (k,), times, if the method chooses its steps


class Saved(NamedTuple):
    """Arrays for saved states of n bodies, in principal axes."""

    m: States  # (k, n, 3), at the wanted steps or times
    q: States  # (k, n, 4)
    step_t: Rows = np.empty((0, 0))  # (capacity, n): the ends of all steps that a method has chosen
    step_m: States = np.empty((0, 0, 3))
    step_q: States = np.empty((0, 0, 4))
    counts: Integers = NO_STEPS  # (n,), the number of steps saved


class BatchState(NamedTuple):
    """State of n bodies and counters of the work done; a method updates these arrays in place.

    The last five arrays are empty for methods with a fixed step size, with which all bodies have the same time.
    """

    m: Rows  # (n, 3), in principal axes
    q: Rows  # (n, 4)
    memory: Rows  # (n, k), the numbers that the method carries from step to step
    steps: Integers  # (n,), the number of steps made
    status: Integers  # (n,), 0 or the reason why a body stopped: see ``Status``
    torques: Integers  # (n,), the number of torque evaluations
    iterations: Integers  # (n,), the number of iterations of implicit solvers
    rejected: Integers  # (n,), the number of rejected trial steps
    residual: Numbers  # (n,), the relative residual of an iteration that did not converge
    t: Numbers = NO_TIMES  # (n,)
    h: Numbers = NO_TIMES  # (n,), the next trial step; 0 before the first
    longest: Inputs = NO_TIMES  # (n,), the upper bound on step lengths
    seen: Integers = NO_STEPS  # (n,), the number of output times already passed
    trouble: Rows = np.empty((0, 8))  # (n, 8), for systems longer: t, m, q where the torque failed last

    @classmethod
    def new(cls, m: FloatArray, q: FloatArray, memory: int) -> BatchState:
        """Return the state of bodies with momenta m and attitudes q, which are copied, before their first step."""
        n = len(m)
        counters = [np.zeros(n, np.int64) for _ in range(5)]
        return cls(m.copy(), q.copy(), np.zeros((n, memory)), *counters, np.zeros(n))

    def at(self, t: float, longest: float | FloatArray, trouble: FloatArray) -> BatchState:
        """Return the state at the time t of bodies that choose their own steps."""
        n = len(self.m)
        seen = np.zeros(n, np.int64)
        return self._replace(
            t=np.full(n, t), h=np.zeros(n), longest=np.full(n, longest, np.float64), seen=seen, trouble=trouble
        )


class Work(NamedTuple):
    """Arguments of every loop: bodies start..stop of a batch, to be advanced in place."""

    bodies: Bodies
    clock: Clock
    wanted: Wanted
    start: int
    stop: int
    current: BatchState
    saved: Saved


class Interpolation(NamedTuple):
    """Steps of k bodies, times t (n,) within them, and arrays for the states at these times.

    The steps lead from states m, q at ``left`` to ``right``; the torque is evaluated from ``low`` to ``high`` only.
    Time i is in the step with the index ``step[i]``; times in the same step follow each other.
    """

    bodies: Bodies
    left: Inputs  # (k,)
    right: Inputs
    low: Inputs
    high: Inputs
    m: InputRows  # (k, 3)
    q: InputRows  # (k, 4)
    start: int  # times start..stop are to be computed
    stop: int
    t: Inputs  # (n,)
    step: Integers  # (n,)
    m_out: Rows  # (n, 3)
    q_out: Rows  # (n, 4)


class FlowData(NamedTuple):
    """A free flow: addresses of its functions, parameters of ``prepare``, number of constants, parts of a step."""

    prepare: int
    advance: int
    parameters: Inputs
    size: int
    fractions: Inputs


class FreeSteps(NamedTuple):
    """Steps of bodies start..stop of a batch by a free flow, to be taken in place."""

    inertia: InputRows  # (n or 1, 3)
    h: Inputs  # (n or 1,), the length of a step
    steps: int
    start: int
    stop: int
    m: Rows  # (n, 3)
    q: Rows  # (n, 4)
    done: Integers  # (n,), output: the number of successful steps, after which m and q are given
    iterations: Numbers  # (n,), output: the number of their iterations


class SchemeTable(NamedTuple):
    """Stages of a splitting scheme, and how many of them are a processor and its inverse; see ``stages``."""

    stages: InputRows  # (k + 1, 3), the last row is SAVE
    count: int  # k
    before: int  # number of stages that are done before the first step
    after: int  # number of stages that are done after the last step, on copies of the states that are saved


class Settings(NamedTuple):
    """Tolerances and bounds of adaptive steps."""

    rtol: float
    atol: float
    first_step: float  # 0 to choose it
    max_trials: int


class Moving(NamedTuple):
    """Arrays of a system of n bodies that change, with m, q and the torques in principal axes."""

    x: Rows  # (n, 3)
    p: Rows
    m: Rows
    q: Rows  # (n, 4)
    force: Rows
    torque: Rows


FINE = int(Status.REACHED_END)  # so far
NO_STEP, RAISED, NOT_FINITE = int(Status.NO_STEP), int(Status.TORQUE_RAISED), int(Status.NOT_FINITE)
TOO_SMALL, TOO_MANY = int(Status.STEP_TOO_SMALL), int(Status.TOO_MANY_STEPS)


@inline
def row_of(array, i):
    """Return the row of ``array`` that belongs to body i: i, or 0 if all bodies share one row."""
    return i if array.shape[0] > 1 else 0


@inline
def number_of(array, i):
    """Return the number of ``array`` that belongs to body i; see ``row_of``."""
    return float(array[row_of(array, i)])
