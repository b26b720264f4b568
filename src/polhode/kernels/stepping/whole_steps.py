"""Repeated steps of a method that is not a splitting, in a compiled loop.

A method is one function:

``step(tools, params, body, t, memory, first, m, q)``
    takes one step, where t is the time at its middle, and returns a ``Step``.

It uses the standard form of ``splitting``: sorted axes, I and m scaled by powers of two; m and q are tuples. ``tools``
contains the user's functions, in the form that ``call_by_address`` expects, and further data of the method. ``memory``
is a row of numbers that are kept from step to step; it is initialized when ``first`` is true, and must only be changed
by a successful step.

Potentials V(t, Q) are functions of the nine entries of Q, which may be any matrix: how a method uses that is described
in its own file. Here dV/dQ is transformed from the user's axes and units and multiplied by the length of the step: its
entries are impulses.
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.numba_internals import call_by_address
from polhode.kernels.exact.standard_form import INPUT, TIMES, from_order, to_order, to_standard_time
from polhode.kernels.stepping.frame import UserFrame, frame_of, from_user, to_user
from polhode.kernels.stepping.header import FINE, MATRIX, NOT_FINITE, RAISED, row_of

ENERGY = f"f8(f8, {MATRIX}, f8[::1])"
GRADIENT = f"{MATRIX}(f8, {MATRIX}, f8[::1])"
ZERO = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
call_energy = call_by_address(ENERGY, 0.0)
call_gradient = call_by_address(GRADIENT, ZERO)

# (params, inertia, axes, t0, h, origin, saves, limit, start, stop, m, q, memory, steps, status, torques, iterations,
#  residual, m_out, q_out)
ARGUMENTS = (
    f"Tuple((f8[:,::1], {INPUT}, {INPUT}, {TIMES}, {TIMES}, i8, i8[::1], i8, i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], "
    "i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], f8[:,:,::1], f8[:,:,::1]))"
)


class StepConstants(NamedTuple):
    """Constants of a body and of a step in the standard form: moments of inertia J, length h, frame."""

    J: tuple[float, float, float]
    h: float
    time: float  # h in the user's unit of time
    kick: float  # factor from a torque in the user's units to its impulse in a step
    rate: float  # ratio of angular velocities in the user's units to those of the standard form
    frame: UserFrame


class Step(NamedTuple):
    """Result of a step: m and q after the step, or before it if the step failed, and the work done."""

    m: tuple[float, float, float]
    q: tuple[float, float, float, float]
    status: int
    torques: int
    iterations: int
    residual: float  # relative residual of an iteration that did not converge


@inline
def to_user_matrix(frame, Q):
    """Return a matrix of the standard form, Q or dV/dQ, in the user's body and space axes."""
    (a, b, c), (d, e, f), (g, h, i) = Q
    a, d, g = from_order(frame.order, a, d, g)
    b, e, h = from_order(frame.order, b, e, h)
    c, f, i = from_order(frame.order, c, f, i)
    return to_user(frame, a, b, c), to_user(frame, d, e, f), to_user(frame, g, h, i)


@inline
def from_user_matrix(frame, G):
    """Return a matrix of the user's axes in the standard form, the inverse of ``to_user_matrix``."""
    x, y, z = G
    a, b, c = from_user(frame, x[0], x[1], x[2])
    d, e, f = from_user(frame, y[0], y[1], y[2])
    g, h, i = from_user(frame, z[0], z[1], z[2])
    a, d, g = to_order(frame.order, a, d, g)
    b, e, h = to_order(frame.order, b, e, h)
    c, f, i = to_order(frame.order, c, f, i)
    return (a, b, c), (d, e, f), (g, h, i)


@inline
def slope_at(gradient, params, body, t, Q):
    """Return the rows of dV/dQ, multiplied by the length of the step, and the status."""
    k = body.kick
    G, raised = call_gradient(gradient, (t, to_user_matrix(body.frame, Q), params))
    (a, b, c), (d, e, f), (g, h, i) = from_user_matrix(body.frame, G)
    status = FINE if isfinite((a + b + c) + (d + e + f) + (g + h + i)) else NOT_FINITE
    return ((k * a, k * b, k * c), (k * d, k * e, k * f), (k * g, k * h, k * i)), RAISED if raised else status


@inline
def energy_at(energy, params, body, t, Q):
    """Return V in the user's units, and the status."""
    V, raised = call_energy(energy, (t, to_user_matrix(body.frame, Q), params))
    status = FINE if isfinite(V) else NOT_FINITE
    return V, RAISED if raised else status


@inline
def take_steps(step, tools, arguments):
    """Advance bodies start..stop to the last of the steps ``saves``, or to step ``limit``.

    States after the steps ``saves`` are written to m_out, q_out; m, q, memory and steps are changed in place, so that
    another call can continue. A body whose step fails stays where it is, with its status, and its remaining outputs are
    not changed. Step number ``origin`` begins at t0.
    """
    params, inertia, axes, starts, lengths, origin, saves, limit, start, stop = arguments[:10]
    m_of, q_of, memory, steps, status, torques, iterations, residual, m_out, q_out = arguments[10:]
    for i in range(start, stop):
        t0 = float(starts[row_of(starts, i)])
        h = float(lengths[row_of(lengths, i)])
        frame, J = frame_of(inertia, axes, m_of, h, i)
        order, scale = frame.order, frame.scale
        body = StepConstants(J, to_standard_time(h, scale), h, h * scale.per_m, scale.m * scale.per_I, frame)
        u = scale.per_m
        own_params = params[row_of(params, i)]
        m = to_order(order, u * float(m_of[i, 0]), u * float(m_of[i, 1]), u * float(m_of[i, 2]))
        q1, q2, q3 = to_order(order, float(q_of[i, 1]), float(q_of[i, 2]), float(q_of[i, 3]))
        q = float(q_of[i, 0]), q1, q2, q3
        n = int(steps[i])
        j = 0
        while j < len(saves) and status[i] == FINE and (n < limit or n == saves[j]):
            if n < saves[j]:
                result = step(tools, own_params, body, t0 + ((n - origin) + 0.5) * h, memory[i], n == origin, m, q)
                torques[i] += result.torques
                iterations[i] += result.iterations
                status[i] = result.status
                residual[i] = result.residual
                if result.status == FINE:
                    m, q = result.m, result.q
                    n += 1
            else:
                write(frame, m, q, m_out[j, i], q_out[j, i])
                j += 1
        write(frame, m, q, m_of[i], q_of[i])
        steps[i] = n


@inline
def write(frame, m, q, m_row, q_row):
    """Write m and q to rows of arrays, in principal axes in the user's order and units."""
    u = frame.scale.m
    m_row[0], m_row[1], m_row[2] = from_order(frame.order, u * m[0], u * m[1], u * m[2])
    q_row[0] = q[0]
    q_row[1], q_row[2], q_row[3] = from_order(frame.order, q[1], q[2], q[3])
