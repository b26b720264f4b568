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

from polhode.kernels.compiler.intrinsics import borrowed, call_by_address
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import from_order, to_order, to_standard_time, vector_of
from polhode.kernels.numbers.vectors import columns, times
from polhode.kernels.stepping.frame import (
    UserFrame,
    frame_of,
    from_user,
    read_attitude,
    read_momentum,
    to_user,
    write_state,
)
from polhode.kernels.stepping.header import FINE, MATRIX, NOT_FINITE, RAISED, number_of, row_of

ENERGY = f"f8(f8, {MATRIX}, f8[::1])"
GRADIENT = f"{MATRIX}(f8, {MATRIX}, f8[::1])"
ZERO = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
call_energy = call_by_address(ENERGY, 0.0)
call_gradient = call_by_address(GRADIENT, ZERO)


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
    x, y, z = columns(Q)
    a, b, c = columns((from_order(frame.order, x), from_order(frame.order, y), from_order(frame.order, z)))
    return to_user(frame, a), to_user(frame, b), to_user(frame, c)


@inline
def from_user_matrix(frame, G):
    """Return a matrix of the user's axes in the standard form, the inverse of ``to_user_matrix``."""
    a, b, c = columns((from_user(frame, G[0]), from_user(frame, G[1]), from_user(frame, G[2])))
    return columns((to_order(frame.order, a), to_order(frame.order, b), to_order(frame.order, c)))


@inline
def slope_at(gradient, params, body, t, Q):
    """Return the rows of dV/dQ, multiplied by the length of the step, and the status."""
    G, raised = call_gradient(gradient, (t, to_user_matrix(body.frame, Q), params))
    a, b, c = from_user_matrix(body.frame, G)
    status = FINE if isfinite((a[0] + a[1] + a[2]) + (b[0] + b[1] + b[2]) + (c[0] + c[1] + c[2])) else NOT_FINITE
    return (times(body.kick, a), times(body.kick, b), times(body.kick, c)), RAISED if raised else status


@inline
def energy_at(energy, params, body, t, Q):
    """Return V in the user's units, and the status."""
    V, raised = call_energy(energy, (t, to_user_matrix(body.frame, Q), params))
    status = FINE if isfinite(V) else NOT_FINITE
    return V, RAISED if raised else status


@inline
def take_steps(step, tools, work):
    """Advance bodies start..stop to the last of the wanted steps, or to step ``limit``.

    States after the wanted steps are saved, and the current states are changed in place, so that another call can
    continue. A body whose step fails stays where it is, with its status, and its remaining outputs are not changed.
    """
    work = borrowed(work)
    clock, wanted, current, saved = work.clock, work.wanted, work.current, work.saved
    for i in range(work.start, work.stop):
        t0, h = number_of(clock.start, i), number_of(clock.h, i)
        frame, J = frame_of(work.bodies, vector_of(current.m, i), h, i)
        scale = frame.scale
        body = StepConstants(J, to_standard_time(h, scale), h, h * scale.per_m, scale.m * scale.per_I, frame)
        params = work.bodies.params[row_of(work.bodies.params, i)]
        m, q = read_momentum(frame, current.m, i), read_attitude(frame, current.q, i)
        n = int(current.steps[i])
        for j in range(len(wanted.steps)):
            while n < min(wanted.steps[j], wanted.limit) and current.status[i] == FINE:
                middle = t0 + ((n - clock.first) + 0.5) * h
                result = step(tools, params, body, middle, current.memory[i], n == clock.first, m, q)
                current.torques[i] += result.torques
                current.iterations[i] += result.iterations
                current.status[i] = result.status
                current.residual[i] = result.residual
                if result.status == FINE:
                    m, q = result.m, result.q
                    n += 1
            if n != wanted.steps[j] or current.status[i] != FINE:
                break
            write_state(frame, m, q, saved.m[j], saved.q[j], i)
        write_state(frame, m, q, current.m, current.q, i)
        current.steps[i] = n
