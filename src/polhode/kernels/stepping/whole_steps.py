"""Steps of a method that is no splitting, repeated in a compiled loop. The method itself is one function:

``step(tools, params, body, t, memory, first, m, q)``  one step about the time t of its middle, as a ``Step``.

It sees the standard form of ``splitting``: sorted axes, I and m scaled by powers of two; m and q are tuples. ``tools``
are what the method brings along, the user's functions first of all, as ``call_by_address`` takes them; ``memory`` is
its row of numbers that are kept from step to step, to be filled when ``first`` is true and to be changed only by a
step that succeeds.

Potentials V(t, Q) are functions of nine numbers, also where Q is no rotation: what a method makes of that stands in its
own file. Here dV/dQ comes from the user's axes and units, times the length of the step: its entries are impulses.
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

from polhode.kernels.compiler.jit import inline
from polhode.kernels.compiler.numba_internals import call_by_address
from polhode.kernels.exact.standard_form import INPUT, TIMES, from_order, to_order, to_standard_time
from polhode.kernels.stepping.header import FINE, MATRIX, NOT_FINITE, RAISED, row_of
from polhode.kernels.stepping.splitting import Frame, frame_of, from_user, to_user

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


class Body(NamedTuple):
    """A body and a step in the standard form."""

    J: tuple[float, float, float]
    h: float
    time: float  # h as the user measures it
    kick: float  # times a torque of the user: its impulse in a step
    rate: float  # of the user's angular velocities to those of the standard form
    frame: Frame


class Step(NamedTuple):
    """What became of a step; m and q are those before it if it has no result."""

    m: tuple[float, float, float]
    q: tuple[float, float, float, float]
    status: int
    torques: int
    iterations: int
    residual: float  # relative, of an iteration that found no solution


@inline
def to_user_matrix(frame, Q):
    """Q, or dV/dQ, from the user's body axes to the user's space axes."""
    (a, b, c), (d, e, f), (g, h, i) = Q
    a, d, g = from_order(frame.order, a, d, g)
    b, e, h = from_order(frame.order, b, e, h)
    c, f, i = from_order(frame.order, c, f, i)
    return to_user(frame, a, b, c), to_user(frame, d, e, f), to_user(frame, g, h, i)


@inline
def from_user_matrix(frame, G):
    """The inverse of ``to_user_matrix``."""
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
    """(dV/dQ as rows, times the step; status)."""
    k = body.kick
    G, raised = call_gradient(gradient, (t, to_user_matrix(body.frame, Q), params))
    (a, b, c), (d, e, f), (g, h, i) = from_user_matrix(body.frame, G)
    status = FINE if isfinite((a + b + c) + (d + e + f) + (g + h + i)) else NOT_FINITE
    return ((k * a, k * b, k * c), (k * d, k * e, k * f), (k * g, k * h, k * i)), RAISED if raised else status


@inline
def energy_at(energy, params, body, t, Q):
    """(V, status), in units of the user."""
    V, raised = call_energy(energy, (t, to_user_matrix(body.frame, Q), params))
    status = FINE if isfinite(V) else NOT_FINITE
    return V, RAISED if raised else status


@inline
def take_steps(step, tools, arguments):
    """Bodies start..stop up to the last of the steps ``saves``, whose states go to m_out, q_out, or to step ``limit``.

    In place on m, q, memory and steps: what is left may be done later. A body that finds no step stops there, with its
    status; outputs it has not reached stay as they were. Step number ``origin`` begins at t0.
    """
    params, inertia, axes, starts, lengths, origin, saves, limit, start, stop = arguments[:10]
    m_of, q_of, memory, steps, status, torques, iterations, residual, m_out, q_out = arguments[10:]
    for i in range(start, stop):
        t0, h = float(starts[row_of(starts, i)]), float(lengths[row_of(lengths, i)])
        frame, J = frame_of(inertia, axes, m_of, h, i)
        order, scale = frame.order, frame.scale
        body = Body(J, to_standard_time(h, scale), h, h * scale.per_m, scale.m * scale.per_I, frame)
        u, own = scale.per_m, params[row_of(params, i)]
        m = to_order(order, u * float(m_of[i, 0]), u * float(m_of[i, 1]), u * float(m_of[i, 2]))
        q1, q2, q3 = to_order(order, float(q_of[i, 1]), float(q_of[i, 2]), float(q_of[i, 3]))
        q = float(q_of[i, 0]), q1, q2, q3
        n, j = int(steps[i]), 0
        while j < len(saves) and status[i] == FINE and (n < limit or n == saves[j]):
            if n < saves[j]:
                done = step(tools, own, body, t0 + ((n - origin) + 0.5) * h, memory[i], n == origin, m, q)
                torques[i] += done.torques
                iterations[i] += done.iterations
                status[i], residual[i] = done.status, done.residual
                if done.status == FINE:
                    m, q, n = done.m, done.q, n + 1
            else:
                write(frame, m, q, m_out[j, i], q_out[j, i])
                j += 1
        write(frame, m, q, m_of[i], q_of[i])
        steps[i] = n


@inline
def write(frame, m, q, m_row, q_row):
    """m and q in principal axes, as the user ordered them."""
    u = frame.scale.m
    m_row[0], m_row[1], m_row[2] = from_order(frame.order, u * m[0], u * m[1], u * m[2])
    q_row[0] = q[0]
    q_row[1], q_row[2], q_row[3] = from_order(frame.order, q[1], q[2], q[3])
