"""Free bodies by Taylor series in extended precision: truth for errors of a few units in the last place.

No formula is shared with the flows. For m' = m x w and q' = q (0, w)/2, w = m/I, coefficients of the series follow from
convolutions of earlier ones,

    (k + 1) m1[k + 1] = (1/I3 - 1/I2) sum_j m2[j] m3[k - j]   and cyclic
    (k + 1) q[k + 1] = 1/2 sum_j q[j] (0, w[k - j])

NumPy's longdouble has 64 bits on most machines with x86 processors; where it has 53, truth is a double, too.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray

ORDER = 24
TURN = 0.5  # radians in a step, at most: results then differ by 1e-18 from those of steps of 0.2
TOGETHER = 64  # bodies that take the same number of steps

Extended = np.ndarray[Any, np.dtype[np.longdouble]]


def by_taylor(moments: FloatArray, m: FloatArray, t: float) -> tuple[Extended, Extended]:
    """(m, q) after a time t of bodies (n, 3) with momenta (n, 3), all of them with q = 1 at the start."""
    rate = np.linalg.norm(m, axis=-1) / moments.min(axis=-1)
    m_end, q_end = np.empty((len(m), 3), np.longdouble), np.empty((len(m), 4), np.longdouble)
    order = np.argsort(rate)
    for start in range(0, len(m), TOGETHER):
        some = order[start : start + TOGETHER]
        steps = max(1, ceil(abs(t) * float(rate[some].max()) / TURN))
        m_end[some], q_end[some] = _some(moments[some], m[some], np.longdouble(t) / steps, steps)
    return m_end, q_end


def _some(moments: FloatArray, m: FloatArray, h: np.longdouble, steps: int) -> tuple[Extended, Extended]:
    """Bodies along the last axis of all arrays."""
    x = 1 / moments.T.astype(np.longdouble)
    M, Q = m.T.astype(np.longdouble), np.zeros((4, len(m)), np.longdouble)
    Q[0] = 1
    for _ in range(steps):
        M, Q = _step(x, M, Q, h)
    return M.T, Q.T


def _step(x: Extended, m0: Extended, q0: Extended, h: np.longdouble) -> tuple[Extended, Extended]:
    m = np.zeros((ORDER + 1, *m0.shape), np.longdouble)
    q = np.zeros((ORDER + 1, *q0.shape), np.longdouble)
    m[0], q[0] = m0, q0
    for k in range(ORDER):
        a, b = m[: k + 1], m[k::-1]
        for i, j, l in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            m[k + 1, i] = (x[l] - x[j]) * _sum(a[:, j], b[:, l]) / (k + 1)
        p, w = q[: k + 1], b * x
        w1, w2, w3 = w[:, 0], w[:, 1], w[:, 2]
        q[k + 1, 0] = -(_sum(p[:, 1], w1) + _sum(p[:, 2], w2) + _sum(p[:, 3], w3)) / (2 * k + 2)
        q[k + 1, 1] = (_sum(p[:, 0], w1) + _sum(p[:, 2], w3) - _sum(p[:, 3], w2)) / (2 * k + 2)
        q[k + 1, 2] = (_sum(p[:, 0], w2) + _sum(p[:, 3], w1) - _sum(p[:, 1], w3)) / (2 * k + 2)
        q[k + 1, 3] = (_sum(p[:, 0], w3) + _sum(p[:, 1], w2) - _sum(p[:, 2], w1)) / (2 * k + 2)
    return _horner(m, h), _horner(q, h)


def _sum(a: Extended, b: Extended) -> Extended:
    return np.einsum("kn,kn->n", a, b)


def _horner(coefficients: Extended, h: np.longdouble) -> Extended:
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * h + c
    return total
