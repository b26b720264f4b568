"""The race's equations for heyoka, in the form in which it is fastest.

The state is half the angular velocity, v = m/(2 I), and the quaternion: with q' = q (0, v) and one number for each
product in v', nothing is multiplied by a constant that could be left out. Of twelve forms tried at tolerances of 1e-8
and 2e-16, this is the fastest: momenta or angular velocities instead of v take 5 to 8 % longer, the nine entries of the
attitude matrix, or u = Q^T s beside the quaternion, 35 to 50 %. Numbers and parameters are equally fast. Of heyoka's
options, high_accuracy costs 2 to 15 % and reduces no error here, fast_math 6 to 11 %, slp_vectorize 10 to 20 %, and
compact_mode half of the speed; all are off.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import heyoka as hy
import numpy as np

from truth import CYCLIC, Body

LANES = 4


def equations(body: Body) -> list[tuple[Any, Any]]:
    """v' and q' of a body of the race, without damping."""
    v, q = hy.make_vars("v1", "v2", "v3"), hy.make_vars("q0", "q1", "q2", "q3")
    u = direction(body.s, q)
    slopes = []
    for i, j, k in CYCLIC:
        terms = [2 * (body.I[j] - body.I[k]) / body.I[i] * (v[j] * v[k])]
        for number, factor in (
            (body.chi[k], u[j]),
            (-body.chi[j], u[k]),
            (body.B[k] - body.B[j], u[j] * u[k]),
        ):
            if number:
                terms.append(number / (2 * body.I[i]) * factor)
        slopes.append(hy.sum(terms))
    slopes += turning(q, v)
    return list(zip((*v, *q), slopes, strict=True))


def turning(q: Any, v: Any) -> list[Any]:
    """q' = q (0, v) as expressions."""
    return [
        -(q[1] * v[0] + q[2] * v[1] + q[3] * v[2]),
        q[0] * v[0] + q[2] * v[2] - q[3] * v[1],
        q[0] * v[1] + q[3] * v[0] - q[1] * v[2],
        q[0] * v[2] + q[1] * v[1] - q[2] * v[0],
    ]


def direction(s: tuple[float, ...], q: Any) -> list[Any]:
    """u = Q^T s as expressions in q."""
    a, b, c, d = q
    rows = (
        (1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)),
        (2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)),
        (2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)),
    )
    return [hy.sum([s[i] * rows[i][j] for i in range(3) if s[i]]) for j in range(3)]


def start(body: Body) -> np.ndarray:
    """Initial v and q."""
    return np.concatenate([np.array(body.m) / (2 * np.array(body.I)), body.q])


def one_body(body: Body, tolerance: float) -> tuple[Callable[[], np.ndarray], Callable[[], float]]:
    """A whole call, which returns the attitude at the end, and the integration alone, which returns its seconds."""
    first, end = start(body), body.times[-1]
    integrator = hy.taylor_adaptive(equations(body), first, tol=tolerance)

    def whole() -> np.ndarray:
        integrator.time = 0.0
        integrator.state[:] = first
        integrator.propagate_until(end)
        return integrator.state[3:].copy()

    def loop() -> float:
        integrator.time = 0.0
        integrator.state[:] = first
        began = process_time()
        integrator.propagate_until(end)
        return process_time() - began

    return whole, loop


def along(body: Body, times: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Momenta and attitudes of a body at these times, the first of which is 0."""
    integrator = hy.taylor_adaptive(equations(body), start(body), tol=tolerance)
    states = integrator.propagate_grid(times)[-1]
    return 2 * np.array(body.I) * states[:, :3], states[:, 3:]


def many_bodies(body: Body, m: np.ndarray, q: np.ndarray, tolerance: float) -> Callable[[], np.ndarray]:
    """A whole call for bodies of other momenta (n, 3) and attitudes (n, 4), n a multiple of 4: attitudes at the end.

    Four bodies go side by side. They are sorted by speed before, at no cost, because all four take as many steps as the
    one that needs most.
    """
    order = np.argsort(np.linalg.norm(m / body.I, axis=1))
    first = np.hstack([m / (2 * np.array(body.I)), q])[order]
    groups = np.ascontiguousarray(first.reshape(-1, LANES, 7).transpose(0, 2, 1))
    integrator = hy.taylor_adaptive_batch(equations(body), groups[0], tol=tolerance)
    ends = [body.times[-1]] * LANES
    out = np.empty_like(groups)

    def whole() -> np.ndarray:
        for group, result in zip(groups, out, strict=True):
            integrator.set_time(0.0)
            integrator.state[:] = group
            integrator.propagate_until(ends)
            result[:] = integrator.state
        attitudes = np.empty((len(m), 4))
        attitudes[order] = out.transpose(0, 2, 1).reshape(-1, 7)[:, 3:]
        return attitudes

    return whole
