"""Steps of splittings for loops of the user, as those of flows in ``own_loop``, by the loop of ``stages``.

Bodies have the constants of ``own_loop``. The torque is called by its address, as in ``splitting``.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import as_rows, borrowed, fixed_address, opaque, stack_array
from polhode.kernels.compiler.jit import inline
from polhode.kernels.exact.standard_form import (
    attitude_from_order,
    attitude_to_order,
    from_order,
    to_order,
)
from polhode.kernels.numbers.vectors import IDENTITY, largest, times
from polhode.kernels.stepping.damping import damping_of
from polhode.kernels.stepping.frame import SMALLEST_TURN, UserFrame
from polhode.kernels.stepping.header import FINE, SchemeTable
from polhode.kernels.stepping.own_loop import FRAME, NO_STATE, copy, four, preparation, preparing, scale_of, three
from polhode.kernels.stepping.splitting import (
    SplitState,
    Subject,
    after_kick,
    drift_by,
    itself,
    restored,
    with_pending,
)
from polhode.kernels.stepping.stages import Pending, Progress, Window, stage_loop
from polhode.kernels.stepping.torques import Body


class LastStep(NamedTuple):
    """The only state that is wanted, as ``header.Wanted``: that after the last of the steps."""

    limit: int
    steps: object  # array


class Torque(NamedTuple):
    """Torque of a splitting: address, whether it depends on w, parameters, diagonal damping."""

    address: int
    implicit: bool
    params: tuple[float, ...]
    damping: tuple[float, float, float]


@inline
def write(subject, j, s):
    """Save the state, in the user's axes and units."""
    frame, m, q = subject.body.frame, subject.m_out, subject.q_out
    m[0], m[1], m[2] = from_order(frame.order, times(frame.scale.m, s.m))
    q[0], q[1], q[2], q[3] = attitude_from_order(frame.order, s.q)


@inline
def body_for(body, k, torque, params, damping, m, h):
    """Return the constants of a body with a torque from those of ``own_loop`` in body[k:]."""
    order, I = int(body[k]), (body[k + 5], body[k + 6], body[k + 7])
    slowest = SMALLEST_TURN * (body[k + 1] * I[0] / abs(h))
    scale = scale_of(body, k, max(largest(m), slowest))
    per_I = 1.0 / I[0], 1.0 / I[1], 1.0 / I[2]
    drag = damping_of(as_rows(opaque(damping), 3), order, scale.per_I, per_I, 0)
    frame = UserFrame(order, scale, False, IDENTITY)
    return Body(torque, params, (-inf, inf), per_I, scale.m * scale.per_I, drag, frame)


def split_functions(kernels, parameters, fractions, scheme, torque):
    """Return functions for a splitting: by a flow as in ``own_loop``, a SchemeTable and a Torque, not yet compiled.

    Returns
    -------
    prepare : function
        ``prepare(inertia, m)`` returns the constants of a body, in the unit of the momentum m, as an array.
    advance : function
        ``advance(body, m, q, t, h, steps, params)`` returns m and q after steps h that begin at the time t; ``params``
        may be None for those of the torque.
    step : function
        ``step(inertia, m, q, t, h, steps, params)`` does both, without an array that outlives it.
    """
    frame, fractions, damping, own_params = kernels.size, np.array(fractions), np.array(torque.damping), torque.params
    size, has_scratch, count = kernels.size + FRAME, kernels.has_scratch, len(own_params)
    stages, own_params = scheme.stages.ravel().copy(), np.array(own_params)
    # Facts of the method are opaque numbers, because they are arguments of the loop for all methods.
    facts = np.array([scheme.count, scheme.before, scheme.after, torque.implicit], dtype=np.float64)
    address_of_torque = fixed_address(torque.address)
    write_body = preparation(kernels, parameters)
    run = stage_loop(after_kick, drift_by(kernels.advance), with_pending, write, itself, restored)
    new_body, new_params, new_number = map(stack_array, (size, count, 1))
    new_momentum, new_attitude = stack_array(3), stack_array(4)

    @inline
    def read_params(params, out):
        """Write the parameters, or those of the torque if None was given, to an array."""
        for k in range(count):
            out[k] = float(own_params[k] if params is None else params[k])

    @inline
    def advanced(body, m, q, t, h, steps, params):
        """Return m and q after steps h of the body with these constants."""
        m, f = three(m), opaque(facts)
        p, last, m_out, q_out = new_params(), new_number(), new_momentum(), new_attitude()
        read_params(params, p)
        last[0] = float(steps)
        own = body_for(body, frame, address_of_torque(), p, damping, m, h)
        order, scale = own.frame.order, own.frame.scale
        subject = Subject(own, f[3] != 0.0, body, opaque(fractions), m_out, q_out, 0)
        table = SchemeTable(as_rows(opaque(stages), 3), int(f[0]), int(f[1]), int(f[2]))
        m, q = to_order(order, times(scale.per_m, m)), attitude_to_order(order, four(q))
        s = SplitState(m, q, Pending(0.0, 0.0, 0.0, 0.0), 0, FINE)
        window, wanted = Window(0, float(t), float(h)), LastStep(int(steps), opaque(last))
        s, _ = run(subject, table, window, wanted, s, Progress(0, False))
        return (three(m_out), four(q_out)) if s.status == FINE else NO_STATE

    def advance(body, m, q, t, h, steps=1, params=None):
        if not has_scratch:
            return advanced(borrowed(body), m, q, t, h, steps, params)
        own = new_body()
        copy(body, own)
        return advanced(own, m, q, t, h, steps, params)

    def step(inertia, m, q, t, h, steps=1, params=None):
        body = new_body()
        write_body(inertia, m, body)
        return advanced(body, m, q, t, h, steps, params)

    return preparing(write_body, size), advance, step
