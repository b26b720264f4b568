"""Where a torque has no Taylor series: the expression of the user that is to blame, for messages."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.equations import Equations
from polhode.kernels.graphs.plain_steps import coefficients
from polhode.kernels.graphs.recurrences import series_of_nodes
from polhode.kernels.stepping.header import BatchState, Bodies

if TYPE_CHECKING:
    from polhode.forces.tracing import Trace

ENTIRE = frozenset({"number", "input", "add", "subtract", "multiply", "square"})
ORDER = 3  # expressions that are finite up to this order are not searched for higher ones


def first_not_finite(trace: Trace, equations: Equations, bodies: Bodies, current: BatchState, i: int) -> str:
    """Return the expression that is not finite in the lowest order of a series at the state of body `i`, as text."""
    rows = series_at(trace, equations, bodies, current, i)
    for k in range(ORDER + 1):
        for node, row in rows.items():
            if not isfinite(row[k]):
                return trace.graph.text(node)
    return "the torque"


def fastest(trace: Trace, equations: Equations, bodies: Bodies, current: BatchState, i: int) -> str:
    """Return the expression whose derivatives grow fastest with their order at the state of body `i`, as text."""
    rows = series_at(trace, equations, bodies, current, i)
    nodes = trace.graph.nodes
    functions = [node for node in rows if nodes[node].operation not in ENTIRE]  # only these can be singular
    growth = {node: growth_of(rows[node]) for node in functions or rows}
    largest = max(growth.values())
    # Of those that are equal but for a small factor, the first: the others contain it.
    return next(trace.graph.text(node) for node, found in growth.items() if found >= largest / 4.0)


def growth_of(row: list[float]) -> float:
    """Return how fast the coefficients of a series grow with their order: the inverse of a time."""
    if not all(map(isfinite, row)):
        return inf
    scale = max(abs(row[0]), abs(row[1])) or 1.0
    return max((abs(row[k]) / scale) ** (1.0 / k) for k in range(2, len(row)))


def series_at(
    trace: Trace, equations: Equations, bodies: Bodies, current: BatchState, i: int
) -> dict[int, list[float]]:
    """Return the coefficients of all expressions of a torque, as functions of t, at the state of body `i`.

    Parameters
    ----------
    trace : Trace
        Graph of the torque.
    equations : Equations
        Equations of motion that were made of it.
    bodies : Bodies
        Constants of all bodies.
    current : BatchState
        Their state.
    i : int
        Index of the body.

    Returns
    -------
    dict
        Lists of the coefficients of orders 0 to ORDER, by node, in the order in which they are computed.
    """
    I, params = (array[i if len(array) > 1 else 0] for array in (bodies.inertia, bodies.params))
    axes = bodies.axes[i if len(bodies.axes) > 1 else 0] if len(bodies.axes) else np.eye(3).ravel()
    block = np.zeros(at.PARAMS + len(params))  # with 1 as the unit of time and of inertia
    block[at.T], block[at.UNIT], block[at.RATE], block[at.SCALE] = current.t[i], 1.0, 2.0, 0.5
    block[at.ATTITUDE : at.ATTITUDE + 4], block[at.MOMENTUM : at.MOMENTUM + 3] = current.q[i], current.m[i]
    block[at.INERTIA : at.INERTIA + 3], block[at.KICK : at.KICK + 3] = I, 1.0 / I
    block[at.GYRO : at.GYRO + 3] = 2.0 * (np.roll(I, -1) - np.roll(I, -2))
    block[at.AXES : at.AXES + 9], block[at.PARAMS :] = axes, params
    motion = coefficients(equations, block, ORDER)
    arguments = arguments_of_torque(np.array(motion.q), np.array(motion.u), axes.reshape(3, 3))
    arguments["t"] = [float(current.t[i]), 1.0]
    arguments |= {f"p{k}": [float(p)] for k, p in enumerate(params)}
    return series_of_nodes(trace.graph, trace.torque, arguments, ORDER)


def arguments_of_torque(q: FloatArray, u: FloatArray, axes: FloatArray) -> dict[str, list[float]]:
    """Return the coefficients of Q and w in body axes of the user, by name, from those of q (n, 4) and u (n, 3)."""
    Q, w = matrices(q) @ axes.T, 2.0 * u @ axes.T
    rows = {f"Q{i}{j}": Q[:, i, j].tolist() for i in range(3) for j in range(3)}
    return rows | {f"w{i}": w[:, i].tolist() for i in range(3)}


def matrices(q: FloatArray) -> FloatArray:
    """Return the coefficients (n, 3, 3) of the attitude matrix, from those of the quaternion (n, 4)."""
    n = len(q)
    of = [[np.convolve(q[:, i], q[:, j])[:n] for j in range(4)] for i in range(4)]
    entries = [
        [of[0][0] + of[1][1] - of[2][2] - of[3][3], 2 * (of[1][2] - of[0][3]), 2 * (of[1][3] + of[0][2])],
        [2 * (of[1][2] + of[0][3]), of[0][0] - of[1][1] + of[2][2] - of[3][3], 2 * (of[2][3] - of[0][1])],
        [2 * (of[1][3] - of[0][2]), 2 * (of[2][3] + of[0][1]), of[0][0] - of[1][1] - of[2][2] + of[3][3]],
    ]
    return np.moveaxis(np.array(entries), -1, 0)
