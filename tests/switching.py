"""Torques that switch, and their motion by SciPy: DOP853 from one switch to the next."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph

MOST_SWITCHES = 15


def switching(t, Q, w, p):
    """(p[1], p[2], p[3]) times a level that is p[20 + i] after the time p[5 + i], for i < p[0], and 0 before all."""
    level = 0.0
    for i in range(int(p[0])):
        if t > p[5 + i]:
            level = p[20 + i]
    return level * p[1], level * p[2], level * p[3]


@cache
def compiled():
    return ph.Torque(switching, np.zeros(35))


def switched(direction, times, levels):
    """The torque, with the level after each of the times."""
    params = np.zeros(35)
    params[0], params[1:4], params[5 : 5 + len(times)], params[20 : 20 + len(times)] = (
        len(times), direction, times, levels,
    )  # fmt: skip
    return compiled().replaced(params=params)


def slope(t, y, moments, f):
    m, (a, b, c, d) = y[:3], y[3:]
    w = m / moments
    turn = -b * w[0] - c * w[1] - d * w[2], a * w[0] + c * w[2] - d * w[1], a * w[1] + d * w[0] - b * w[2]
    return np.concatenate([np.cross(m, w) + f, np.multiply((*turn, a * w[2] + b * w[1] - c * w[0]), 0.5)])


def by_scipy(moments, m, q, t_end, direction, times, levels, rtol=1e-13):
    """(m, q) at t_end."""
    y, t, level = np.concatenate([m, q]), 0.0, 0.0
    for end, after in zip([*times, t_end], [*levels, 0.0], strict=True):
        f = level * np.asarray(direction)
        y = solve_ivp(slope, (t, end), y, "DOP853", rtol=rtol, atol=1e-15, args=(np.asarray(moments), f)).y[:, -1]
        t, level = end, after
    return y[:3], y[3:]


def random_switches(rng, longest=30.0, shortest=1e-3):
    """(moments, m, q, t_end, direction, times, levels) of a pulse, of on and off, or of stairs."""
    moments = np.sort(rng.uniform(0.5, 1.0, 3)) * rng.choice([1.0, 2.0])
    m = rng.normal(size=3) * rng.choice([0.0, 0.1, 1.0, 3.0])
    q = rng.normal(size=4)
    t_end = longest ** rng.uniform(0.5, 1.0)
    kind = rng.integers(3)
    if kind == 0:
        length = t_end * shortest ** rng.uniform(0.1, 1.0)
        times = rng.uniform(0.0, t_end - length) + np.array([0.0, length])
    elif kind == 1:
        times = np.sort(rng.uniform(0.0, t_end, rng.integers(2, MOST_SWITCHES)))
        times = times[np.diff(times, prepend=-1.0) > shortest * t_end]
    else:
        n = rng.integers(2, MOST_SWITCHES)
        times = (np.arange(n) + rng.uniform()) * t_end / n
    levels = rng.normal(size=len(times)) if kind == 2 else 1.0 - np.arange(len(times)) % 2
    return moments, m, q / np.linalg.norm(q), t_end, rng.normal(size=3) * 10.0 ** rng.uniform(-2.0, 0.3), times, levels


def error_at_end(traj, m, q):
    """The larger of the errors of m/|m| and of q."""
    of_q = min(np.linalg.norm(traj.q[-1] - q), np.linalg.norm(traj.q[-1] + q))
    return max(np.linalg.norm(traj.m[-1] - m) / np.linalg.norm(m), of_q)
