"""Blocks of bodies under torques: their numbers in lanes, and the torques on them.

A block has the fields of ``exact.block``, in which bodies drift, those below, and the parameters of the torque. Vectors
have the principal axes in the order of the user, and the user's units; conversion to the standard form is part of a
drift. Lanes without a body of their own hold copies of another lane, so that they are computed like all others.

The torque is evaluated for all lanes by one call of code that is generated from its graph, or else by a call for each
body. Which one it is depends on the force alone, so that a body has the same bits in every batch.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import address, call_by_address
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.exact.block import SIZE, at
from polhode.kernels.numbers.lanes import LANES, lanes_of, pair, put_pair, put_triple, triple
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import columns, image
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.kernels.stepping.header import FINE, NOT_FINITE, RAISED, call_torque, number_of, row_of

TORQUES = "void(i8, i8)"  # torques(block, lanes): address of the block, number of lanes
call_torques = call_by_address(TORQUES, None)

COPY = -1  # instead of the number of a body: the lane is a copy of another one


class TorquedFields(NamedTuple):
    """Positions in a block at which the numbers of each quantity begin, after those of ``exact.block``."""

    I: int
    per_I: int
    start: int  # time at which the steps begin
    h: int
    low: int  # the torque is evaluated from this time ...
    high: int  # ... to this one
    m_before: int  # before a drift
    q_before: int
    m_copy: int  # the state while a processor acts on a copy
    q_copy: int
    time: int  # arguments of the torque: t, q, w = m/I
    attitude: int
    velocity: int
    axes: int  # the principal axes, as columns, if they are not the body axes of the user
    torque: int  # result, in principal axes
    raised: int  # 1 if the torque raised an exception, else 0
    status: int  # FINE, unless the body is about to leave the block
    evaluations: int
    damped: int  # 1 if there is damping, else 0
    rates: int  # k, P and P^-1 of ``damping``
    modes: int
    inverse: int
    growth: int  # of ``damping.damped``
    force: int  # for gradient kicks: the torque, the axis and the size of w, the derivative along w
    axis: int
    size: int
    along: int
    change: int  # of m in an iteration; 1 if that has ended, else 0; how much the change has changed itself
    done: int
    moved: int
    params: int  # as many as the torque has


VECTORS = (
    "I",
    "per_I",
    "m_before",
    "m_copy",
    "velocity",
    "torque",
    "rates",
    "growth",
    "force",
    "axis",
    "along",
    "change",
)
WIDTHS = dict.fromkeys(VECTORS, 3) | {"q_before": 4, "q_copy": 4, "attitude": 4, "axes": 9, "modes": 9, "inverse": 9}
ENDS = list(accumulate((LANES * WIDTHS.get(name, 1) for name in TorquedFields._fields), initial=SIZE))
own = TorquedFields(*ENDS[:-1])


class Block(NamedTuple):
    """A block, what its bodies share, and which bodies they are."""

    w: object  # array of all fields
    spare: object  # block for drifts
    rows: object  # array of int (LANES,): the number of the body of each lane, or COPY
    counts: object  # array of int (3,): number of groups; of bodies that failed; of bodies at the beginning
    fields: int  # number of fields, with parameters
    torque: int  # address of the torque of one body, or 0
    torques: int  # address of the torques of a block, or 0
    params: object  # array (n or 1, k)
    turned: bool  # whether the principal axes differ from the body axes
    implicit: bool  # whether the torque depends on w
    damped: bool  # whether bodies are damped
    oblique: bool  # whether damping is not diagonal in principal axes


def torque_fields(params: int) -> dict[str, int]:
    """Return the positions in a block of the inputs and results of the torque, by their names in graphs."""
    vectors = {"q": (own.attitude, 4), "w": (own.velocity, 3), "f": (own.torque, 3), "p": (own.params, params)}
    fields = {f"{name}{k}": first + k * LANES for name, (first, count) in vectors.items() for k in range(count)}
    axes = {f"caxis{i}{j}": own.axes + (3 * i + j) * LANES for i in range(3) for j in range(3)}
    return fields | axes | {"t": own.time, "raised": own.raised}


@inline
def field_count(params):
    """Return the number of fields of a block of bodies with parameters (n or 1, k)."""
    return own.params // LANES + params.shape[1]


@noinline
def load_body(w, bodies, clock, current, l, i):
    """Write the constants and the state of body i to lane l."""
    for k in range(3):
        I = float(bodies.inertia[row_of(bodies.inertia, i), k])
        w[at.I + k * LANES + l], w[own.I + k * LANES + l], w[own.per_I + k * LANES + l] = I, I, 1.0 / I
        w[at.m + k * LANES + l] = float(current.m[i, k])
    for k in range(4):
        w[at.q + k * LANES + l] = float(current.q[i, k])
    put_pair(w, own.start, l, number_of(clock.start, i), number_of(clock.h, i))
    put_pair(w, own.low, l, number_of(clock.low, i), number_of(clock.high, i))
    for k in range(9 if bodies.axes.shape[0] > 0 else 0):
        w[own.axes + k * LANES + l] = float(bodies.axes[row_of(bodies.axes, i), k])
    load_damping(w, bodies.damping, l, i)
    for k in range(bodies.params.shape[1]):
        w[own.params + k * LANES + l] = float(bodies.params[row_of(bodies.params, i), k])
    w[own.evaluations + l] = float(current.torques[i])
    w[own.status + l] = float(FINE)
    w[own.done + l] = 0.0


@inline
def load_damping(w, damping, l, i):
    """Write the damping of body i to lane l; see ``damping``."""
    row = row_of(damping, i)
    oblique = damping.shape[1] == OBLIQUE
    damped = 0.0
    for k in range(3):
        rate = float(damping[row, k])
        damped = 1.0 if rate != 0.0 else damped
        w[own.rates + k * LANES + l] = rate if oblique else rate * w[own.per_I + k * LANES + l]
    w[own.damped + l] = damped
    for k in range(9 if oblique else 0):
        w[own.modes + k * LANES + l] = float(damping[row, 3 + k])
        w[own.inverse + k * LANES + l] = float(damping[row, 12 + k])


@noinline
def fill_copies(block):
    """Make all lanes that have no body of their own copies of one that has."""
    w, rows = block.w, block.rows
    source = 0
    while rows[source] == COPY:
        source += 1
    for l in range(lanes_of(block.counts[0])):
        if rows[l] == COPY:
            for k in range(block.fields):
                w[k * LANES + l] = w[k * LANES + source]


@inline
def matrix_of(w, field, l):
    """Return the matrix of lane l that begins at ``field``."""
    return triple(w, field, l), triple(w, field + 3 * LANES, l), triple(w, field + 6 * LANES, l)


@inline
def attitude_of(w, field, l):
    """Return the quaternion of lane l that begins at ``field``."""
    return (w[field + l], *triple(w, field + LANES, l))


@inline
def put_attitude(w, field, l, q):
    """Store the quaternion q of lane l."""
    q0, q1, q2, q3 = q
    w[field + l] = q0
    put_triple(w, field + LANES, l, q1, q2, q3)


@inline
def copy_state(w, groups, m_from, q_from, m_to, q_to):
    """Copy momenta and attitudes of all lanes from fields to others."""
    for l in range(lanes_of(groups)):
        m1, m2, m3 = triple(w, m_from, l)
        q = attitude_of(w, q_from, l)
        put_triple(w, m_to, l, m1, m2, m3)
        put_attitude(w, q_to, l, q)


@inline
def set_arguments(w, groups, steps):
    """Write the arguments of the torque: a time in steps from the start on, the present attitude and velocity."""
    for l in range(lanes_of(groups)):
        start, h = pair(w, own.start, l)
        low, high = pair(w, own.low, l)
        m1, m2, m3 = triple(w, at.m, l)
        x, y, z = triple(w, own.per_I, l)
        q = attitude_of(w, at.q, l)
        w[own.time + l] = min(max(start + steps * h, low), high)
        put_attitude(w, own.attitude, l, q)
        put_triple(w, own.velocity, l, m1 * x, m2 * y, m3 * z)


@noinline
def evaluate(block):
    """Write the torques on all lanes for the arguments that were set; return the number of lanes that failed.

    The status of these lanes is set; that of all others is FINE.
    """
    w, groups = block.w, block.counts[0]
    if block.torques != 0:
        call_torques(block.torques, (address(w), lanes_of(groups)))
    else:
        call_each(block)
    failed = 0
    for l in range(lanes_of(groups)):
        f1, f2, f3 = triple(w, own.torque, l)
        failed += 0 if (f1 - f1) + (f2 - f2) + (f3 - f3) + w[own.raised + l] == 0.0 else 1
    if failed > 0:
        set_status(w, groups)
    return failed


@noinline
def set_status(w, groups):
    """Set the status of lanes whose torque raised an exception or is not finite."""
    for l in range(lanes_of(groups)):
        f1, f2, f3 = triple(w, own.torque, l)
        finite = (f1 - f1) + (f2 - f2) + (f3 - f3) == 0.0
        raised, before = pair(w, own.raised, l)
        status = float(FINE) if finite else float(NOT_FINITE)
        status = float(RAISED) if raised != 0.0 else status
        w[own.status + l] = min(before, status)


@inline
def call_each(block):
    """Call the torque for each body, unless its iteration has ended; copies of a lane are not evaluated."""
    w, rows = block.w, block.rows
    source = 0
    while rows[source] == COPY:
        source += 1
    for l in range(lanes_of(block.counts[0])):
        if rows[l] != COPY and w[own.done + l] == 0.0:
            f, raised = torque_of_lane(block, l)
            put_triple(w, own.torque, l, f[0], f[1], f[2])
            w[own.raised + l] = 1.0 if raised else 0.0
    for l in range(lanes_of(block.counts[0])):
        if rows[l] == COPY:
            for k in range(4):  # the torque, and whether it raised
                w[own.torque + k * LANES + l] = w[own.torque + k * LANES + source]


@inline
def torque_of_lane(block, l):
    """Return the torque on the body of lane l, in principal axes, and whether it raised an exception."""
    w = block.w
    Q = matrix(attitude_of(w, own.attitude, l))
    velocity = triple(w, own.velocity, l)
    params = block.params[row_of(block.params, block.rows[l])]
    if not block.turned:
        return call_torque(block.torque, (w[own.time + l], Q, velocity, params))
    axes = matrix_of(w, own.axes, l)
    Q = image(axes, Q[0]), image(axes, Q[1]), image(axes, Q[2])
    f, raised = call_torque(block.torque, (w[own.time + l], Q, image(axes, velocity), params))
    return image(columns(axes), f), raised
