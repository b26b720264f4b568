"""Definitions shared by the loops over steps and their callers: signatures, statuses, rows of arrays."""

from __future__ import annotations

from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.numba_internals import call_by_address
from polhode.kernels.exact.standard_form import INPUT, MATRICES, TIMES
from polhode.kernels.stepping.status import Status

VECTOR = "UniTuple(f8, 3)"
MATRIX = f"UniTuple({VECTOR}, 3)"
TORQUE = f"{VECTOR}(f8, {MATRIX}, {VECTOR}, f8[::1])"  # torque(t, Q, w, params)
call_torque = call_by_address(TORQUE, (0.0, 0.0, 0.0))

# forces(t, x, Q, force, torque, numbers, sizes) adds the forces and torques of an interaction, and returns a status.
FORCES = f"i8(f8, {INPUT}, {MATRICES}, f8[:,::1], f8[:,::1], f8[::1], i8[::1])"

# (params, stages, before, after, parameters, size of c, fractions, inertia, axes, damping, implicit, t0, h, low, high,
#  first, saves, limit, start, stop, m, q, pending, steps, status, evaluations, m_out, q_out)
SPLIT = (
    f"void(i8, Tuple((f8[:,::1], {INPUT}, i8, i8, {TIMES}, i8, {TIMES}, {INPUT}, {INPUT}, {INPUT}, b1, "
    f"{TIMES}, {TIMES}, {TIMES}, {TIMES}, i8, i8[::1], i8, i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], "
    "i8[::1], i8[::1], i8[::1], f8[:,:,::1], f8[:,:,::1])))"
)

FINE = int(Status.REACHED_END)  # so far
NO_STEP, RAISED, NOT_FINITE = int(Status.NO_STEP), int(Status.TORQUE_RAISED), int(Status.NOT_FINITE)
TOO_SMALL, TOO_MANY = int(Status.STEP_TOO_SMALL), int(Status.TOO_MANY_STEPS)


@inline
def row_of(array, i):
    """Return the row of ``array`` that belongs to body i: i, or 0 if all bodies share one row."""
    return i if array.shape[0] > 1 else 0
