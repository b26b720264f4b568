"""A brick that bounces on a floor: exact flight between impacts, in a loop compiled by Numba.

    python examples/collisions.py

Between impacts the brick is free, so that its attitude at any time follows from the last impact in one step, and the
only error is that of the time of the impact. Impacts are elastic: the energy stays the same to rounding.
"""

from __future__ import annotations

from itertools import product

import numba
import numpy as np

import polhode as ph

MASS, GRAVITY, LOOK = 1.0, 9.81, 0.01  # seconds between looks for an impact
SIDES = np.array([0.1, 0.2, 0.3])
CORNERS = 0.5 * SIDES * np.array([*product((-1.0, 1.0), repeat=3)])
INERTIA = tuple(MASS / 12.0 * (SIDES @ SIDES - SIDES**2))

prepare, advance = ph.compiled.prepared(ph.Exact())


@numba.njit
def up(q):
    """The upward direction of space in body axes: the third row of the matrix of q."""
    a, b, c, d = q
    return np.array([2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a - b * b - c * c + d * d])


@numba.njit
def flight(body, z, v, m, q, t):
    """The state after a time t without impacts: height and velocity of the center, momentum, attitude."""
    m, q = advance(body, m, q, t)
    return z + (v - 0.5 * GRAVITY * t) * t, v - GRAVITY * t, m, q


@numba.njit
def impact(z, v, m, q):
    """The state after the impulse of the floor on the lowest corner, if that corner moves down."""
    n = up(q)
    arm = CORNERS[np.argmin(CORNERS @ n)]
    lever = np.cross(arm, n)
    w = np.array(m) / np.array(INERTIA)
    speed = v + lever @ w
    if speed >= 0.0:
        return z, v, m, q
    impulse = -2.0 * speed / (1.0 / MASS + lever @ (lever / np.array(INERTIA)))
    new = np.array(m) + impulse * lever
    return z, v + impulse / MASS, (new[0], new[1], new[2]), q


@numba.njit
def height(body, z, v, m, q, t):
    """The height of the lowest corner after a flight of t."""
    z, v, m, q = flight(body, z, v, m, q, t)
    return z + (CORNERS @ up(q)).min()


@numba.njit
def bounce(z, v, m, q, count):
    """The state after so many impacts, and the time."""
    body, time = prepare(INERTIA, m), 0.0
    for _ in range(count):
        late = LOOK
        while height(body, z, v, m, q, late) > 0.0:
            late += LOOK
        early = late - LOOK
        for _ in range(60):
            middle = 0.5 * (early + late)
            if height(body, z, v, m, q, middle) > 0.0:
                early = middle
            else:
                late = middle
        z, v, m, q = flight(body, z, v, m, q, early)
        z, v, m, q = impact(z, v, m, q)
        time += early
    return z, v, m, q, time


def energy(z, v, m):
    return 0.5 * MASS * v * v + MASS * GRAVITY * z + 0.5 * sum(x * x / y for x, y in zip(m, INERTIA, strict=True))


def main():
    start = 1.0, 0.0, (0.01, 0.02, 0.001), (1.0, 0.0, 0.0, 0.0)
    for count in (1, 10, 100):
        z, v, m, _, time = bounce(*start, count)
        error = energy(z, v, m) / energy(*start[:3]) - 1.0
        print(f"{count:4} impacts, t = {time:8.4f} s, relative error of the energy {error:.1e}")


if __name__ == "__main__":
    main()
