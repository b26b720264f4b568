"""Functions and objects of a user, in a module that other processes import: pickles refer to them by name."""

from __future__ import annotations

import numba
import numpy as np

import polhode as ph

MOMENTS = (1.0, 1.5, 2.2)
STATE = ph.State(m=(0.3, 0.2, 0.9), q=(0.8, 0.0, 0.6, 0.0))
SPAN = (0.0, 2.0)
BREAKS = (0.53, 1.1)
HOW = {"method": "RKN6_14a", "h": 0.1}


def wind(t, Q, w, p):
    return p[0] * np.sin(t), 0.1 * Q[2][0], -0.2 * Q[0][1]


def drag(t, Q, w, p):
    return -p[0] * w[0], -p[0] * w[1], -p[1] * w[2] ** 3


def steering(t, Q, w, p):
    return 0.1 * Q[:, 2] - 0.05 * w


def burn(t, Q, w, p):
    return (0.4 if BREAKS[0] < t < BREAKS[1] else 0.0), 0.0, 0.0


def height(t, Q, p):
    return p[0] * Q[2][2]


def slope(t, Q, p):
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, p[0])


@numba.njit
def jitted(t, Q, w, p):
    return 0.1 * Q[2][0], 0.0, 0.2 * t


class Controller:
    """A torque with data of its own."""

    def __init__(self, gain):
        self.gain = gain

    def torque(self, t, Q, w, p):
        return -self.gain * w[0], 0.0, 0.0


def spring(r, A, B, p):
    return 0.5 * p[0] * (r[0] ** 2 + r[1] ** 2 + r[2] ** 2) + 0.1 * A[0][0] * B[1][1]


def spring_slopes(r, A, B, p):
    none = (0.0, 0.0, 0.0)
    return (
        (p[0] * r[0], p[0] * r[1], p[0] * r[2]),
        ((0.1 * B[1][1], 0.0, 0.0), none, none),
        (none, (0.0, 0.1 * A[0][0], 0.0), none),
    )


def coulomb(r, a, b, p):
    return p[0] * a[0] * b[0] / r


def falling(t, x, Q, F, T, p):
    for i in range(len(x)):
        F[i, 2] = -p[0]
        T[i, 0] = 0.1 * Q[i, 2, 2]


def weight(t, x, Q, p):
    total = 0.0
    for i in range(len(x)):
        total += p[0] * x[i, 2]
    return total


def rising(t, m, q):
    return m[..., 0] - 0.2


def many(rows):
    """A factory of ensembles."""
    return ph.Problem(MOMENTS, ph.State(rows["m"]), ph.Torque(wind, (0.3,)), SPAN)


def problem(force, **more):
    return ph.Problem(MOMENTS, STATE, force, SPAN, **more)


def drawn(rng):
    return rng.random()


def failing(t, Q, w, p):
    if t > 1.0:
        raise ValueError("the string broke")
    return 0.0, 0.0, 0.0
