"""Where a torque has no Taylor series: the expression of the user whose derivatives are not finite, for messages."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.kernels.graphs.equations import (
    ATTITUDE,
    AXES,
    GYRO,
    INERTIA,
    KICK,
    MOMENTUM,
    PARAMS,
    RATE,
    SCALE,
    UNIT,
    Equations,
    T,
)
from polhode.kernels.graphs.plain_steps import coefficients
from polhode.kernels.graphs.recurrences import series_of_nodes
from polhode.kernels.stepping.header import Bodies

if TYPE_CHECKING:
    from polhode.forces.tracing import Trace

ORDER = 3  # expressions that are finite up to this order are not searched for higher ones


def first_not_finite(trace: Trace, equations: Equations, bodies: Bodies, current: Any, i: int) -> str:
    """Return the expression that is not finite in the lowest order of a series at the state of body `i`, as text.

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
    str
        The expression, in the names of the arguments of torques.
    """
    I, params = (array[i if len(array) > 1 else 0] for array in (bodies.inertia, bodies.params))
    axes = bodies.axes[i if len(bodies.axes) > 1 else 0] if len(bodies.axes) else np.eye(3).ravel()
    block = np.zeros(PARAMS + len(params))  # with 1 as the unit of time and of inertia
    block[T], block[UNIT], block[RATE], block[SCALE] = current.t[i], 1.0, 2.0, 0.5
    block[ATTITUDE : ATTITUDE + 4], block[MOMENTUM : MOMENTUM + 3] = current.q[i], current.m[i]
    block[INERTIA : INERTIA + 3], block[KICK : KICK + 3] = I, 1.0 / I
    block[GYRO : GYRO + 3] = 2.0 * (np.roll(I, -1) - np.roll(I, -2))
    block[AXES : AXES + 9], block[PARAMS:] = axes, params
    motion = coefficients(equations, block, ORDER)
    arguments = arguments_of_torque(np.array(motion.q), np.array(motion.u), axes.reshape(3, 3))
    arguments["t"] = [float(current.t[i]), 1.0]
    arguments |= {f"p{k}": [float(p)] for k, p in enumerate(params)}
    rows = series_of_nodes(trace.graph, trace.torque, arguments, ORDER)
    for k in range(ORDER + 1):
        for node, row in rows.items():
            if not isfinite(row[k]):
                return trace.graph.text(node)
    return "the torque"


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
