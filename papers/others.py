"""Other people's integrators on the same problem: SciPy's DOP853, and heyoka's Taylor series if it is installed.

Both see y = (m, q) in R^7: m' = m x w + u x a, u = Q^T g, and q' = q (0, w)/2, for a free body or one under gravity.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from polhode.core.arrays import FloatArray
from polhode.integration.problem import Problem

NO_WEIGHT = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class Found(NamedTuple):
    """State at the end of the time span, q as it came out, and seconds without those of compiling."""

    m: FloatArray
    q: FloatArray
    seconds: float


def by_dop853(problem: Problem, rtol: float) -> Found:
    """By SciPy, with atol = rtol.

    >>> from polhode.problems import free_body
    >>> found = by_dop853(free_body(), 1e-10)
    >>> bool(abs(found.m - free_body().free_motion().m(40.0)).max() < 1e-7)
    True
    """
    constants = _constants(problem)
    began = time.perf_counter()
    end = solve_ivp(
        lambda t, y: _slopes(y.tolist(), *constants), problem.t_span, _start(problem), "DOP853",
        t_eval=problem.t_span[1:], rtol=rtol, atol=rtol,
    ).y[:, -1]  # fmt: skip
    return Found(end[:3], end[3:], time.perf_counter() - began)


def by_heyoka(problem: Problem, tolerance: float) -> Found | None:
    """By heyoka; None if it is not installed."""
    try:
        heyoka: Any = import_module("heyoka")
    except ImportError:
        return None
    names = ("m1", "m2", "m3", "q0", "q1", "q2", "q3")
    variables = heyoka.make_vars(*names)
    slopes = [each + 0.0 * variables[0] for each in _slopes(variables, *_constants(problem))]
    start, (t0, t1) = _start(problem), problem.t_span
    integrator = heyoka.taylor_adaptive(list(zip(variables, slopes, strict=True)), start, time=t0, tol=tolerance)
    began = time.perf_counter()
    integrator.propagate_until(t1)
    seconds = time.perf_counter() - began
    end = np.array(integrator.state)
    return Found(end[:3], end[3:], seconds)


def _start(problem: Problem) -> FloatArray:
    return np.concatenate([problem.state.m, problem.state.q])


def _constants(problem: Problem) -> tuple[list[float], list[float]]:
    weight = NO_WEIGHT if problem.force.is_zero else problem.force.params
    return [float(x) for x in problem.body.moments], [float(x) for x in weight]


def _slopes(y: Any, inertia: list[float], weight: list[float]) -> list[Any]:
    """Of numbers or of heyoka's expressions."""
    m1, m2, m3, q0, q1, q2, q3 = y
    w1, w2, w3 = m1 / inertia[0], m2 / inertia[1], m3 / inertia[2]
    f1, f2, f3 = _torque(q0, q1, q2, q3, *weight) if any(weight[:3]) else (0.0, 0.0, 0.0)
    return [
        m2 * w3 - m3 * w2 + f1, m3 * w1 - m1 * w3 + f2, m1 * w2 - m2 * w1 + f3,
        -0.5 * (q1 * w1 + q2 * w2 + q3 * w3), 0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
        0.5 * (q0 * w2 + q3 * w1 - q1 * w3), 0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
    ]  # fmt: skip


def _torque(q0: Any, q1: Any, q2: Any, q3: Any, g1: float, g2: float, g3: float, *a: float) -> tuple[Any, Any, Any]:
    """u x a with u = Q^T g."""
    u1 = g1 * (q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3) + g2 * (2 * (q1 * q2 + q0 * q3)) + g3 * (2 * (q1 * q3 - q0 * q2))
    u2 = g1 * (2 * (q1 * q2 - q0 * q3)) + g2 * (q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3) + g3 * (2 * (q2 * q3 + q0 * q1))
    u3 = g1 * (2 * (q1 * q3 + q0 * q2)) + g2 * (2 * (q2 * q3 - q0 * q1)) + g3 * (q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3)
    return u2 * a[2] - u3 * a[1], u3 * a[0] - u1 * a[2], u1 * a[1] - u2 * a[0]
