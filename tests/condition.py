"""How much rounding of the input costs, and errors of the exact flow in that unit; all in high precision."""

from __future__ import annotations

from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, distance
from oracles.addition import addition_flow

STEP = mpf(2) ** -100  # relative change of an input: eps itself is too much where rounding costs all digits


def condition(inertia, m, q, t):
    """(m, q, |m|, and the sums over I, m, t of the relative derivatives of m/|m| and q), in high precision."""
    inputs = [*inertia, *m, t]
    with mp.workdps(70):
        size = mp.norm([mpf(x) for x in m]) or mpf(1)
        m0, q0 = addition_flow(inertia, m, q, t, digits=60)
        total_m = total_q = mpf(0)
        for i, x in enumerate(inputs):
            moved = [mpf(y) for y in inputs]
            moved[i] = mpf(x) * (1 + STEP)
            m1, q1 = addition_flow(moved[:3], moved[3:6], q, moved[6], digits=60)
            total_m += mp.norm([a - b for a, b in zip(m1, m0, strict=True)]) / size / STEP
            total_q += mp.norm([a - b for a, b in zip(q1, q0, strict=True)]) / STEP
        return m0, q0, float(size), float(total_m), float(total_q)


def assert_exact(inertia, m, q, t, times_eps=10):
    """Within times_eps eps (1 + cond) of the second path in 40 digits."""
    m0, q0, size, cond_m, cond_q = condition(inertia, m, q, t)
    m1, q1 = ph.propagate(inertia, m, q, t)
    assert distance(m1, m0) / size <= times_eps * EPS * (1 + cond_m)
    assert distance(q1, q0) <= times_eps * EPS * (3 + cond_q)  # 3: |q0| is rounded, ours is normalized
