"""Size of a torque relative to the free motion, and the schemes and step sizes that suit it.

The torque is sampled along the beginning of the free motion. The change of momentum per radian of rotation, relative to
the momentum, decides whether a torque is weak, so that near-integrable (ABA) schemes are best, or strong, so that
Runge-Kutta-Nyström schemes are. The step size that a scheme needs is estimated by a power law of the error in LENGTH
radians and of the strength; ``benchmarks/rtol.py fit`` measures its numbers on random bodies. They hold within a factor
of about 1.4: enough for a first trial run.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, writable
from polhode.forces.nothing import nothing
from polhode.integration.problem import Problem
from polhode.integration.rows import ProblemRows
from polhode.kernels.stepping.header import Clock, Saved, Wanted
from polhode.methods.method import Advance, Method
from polhode.methods.splitting import Splitting

RADIANS = 20.0  # rotation in the time from which samples are taken
SAMPLES = 64
WEAK_TORQUE = 0.015  # part of the momentum per radian
WEAKEST = 1e-16  # of torques that are zero where they are sampled
LENGTH = 25.0  # radians in which the power laws give the error
LONGEST_STEP = 4.0  # radians
LOOSE, TIGHT = 3e-6, 3e-12  # errors in LENGTH radians, above and below which orders 4 and 8 are better than order 6
# Radians per step are c * error**a * strength**b.
POWER_LAWS = {
    "WH17": (1.56, 0.104, -0.133),
    "ABA82": (4.40, 0.084, -0.091),
    "ABA1064": (5.66, 0.147, -0.241),
    "PABA1264": (3.62, 0.132, -0.226),
    "RKN4_6b": (5.66, 0.217, -0.379),
    "RKN6_14a": (4.65, 0.133, -0.323),
    "RKN8_19": (2.94, 0.106, -0.346),
}
# Errors of second order in the torque, relative to the square of the strength and of the radians per step.
SECOND_ORDER = {"WH17": 0.6, "ABA82": 0.05}
WEAK_SCHEMES = ("WH17", "ABA82", "ABA1064", "PABA1264")  # the first one for long times only


class Strength(NamedTuple):
    """Size of the torque relative to the free motion."""

    torque: float  # part of the momentum by which the torque changes it per radian
    radian: float  # time in which the body rotates by one radian

    @property
    def is_weak(self) -> bool:
        """Whether the torque is a small perturbation of the free motion."""
        return self.torque <= WEAK_TORQUE

    def step(self, name: str, error: float) -> float:
        """Return the step size with which a scheme has about this error in LENGTH radians."""
        c, a, b = POWER_LAWS[name]
        torque = min(1.0, max(self.torque, WEAKEST))
        radians = min(LONGEST_STEP, c * error**a * torque**b)
        if name in SECOND_ORDER:
            radians = min(radians, (error / SECOND_ORDER[name]) ** 0.5 / torque)
        return self.radian * radians


def expected_order(name: str) -> float:
    """Return the order with which errors of a scheme usually decrease, by its power law."""
    return 1.0 / POWER_LAWS[name][1]


def strong_scheme(error: float) -> str:
    """Return the name of the best scheme for strong torques, by the wanted error in LENGTH radians."""
    if error >= LOOSE:
        return "RKN4_6b"
    return "RKN6_14a" if error >= TIGHT else "RKN8_19"


def measured(problem: Problem, span: tuple[float, float]) -> Strength:
    """Return the largest relative size of the torque, of all bodies, along the first radians of the free motion."""
    body, rows = problem.body, problem.rows
    speed = float(rows.speed(rows.m[None]).max())
    length = min(abs(span[1] - span[0]), RADIANS / speed if speed > 0 else inf)
    t = np.linspace(0.0, np.copysign(length, span[1] - span[0]), SAMPLES)
    m, q = free_samples(rows, t)
    w = body.omega(m)
    f = _sizes(rows, span[0] + t, q, w)
    momentum, speeds = np.linalg.norm(m, axis=-1), np.linalg.norm(w, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(f / (momentum * speeds), nan=0.0, posinf=inf)
    fastest = max(float(speeds.max()), float((f.max() / body.moments.min()) ** 0.5))
    return Strength(float(part.max()), 1.0 / fastest if fastest > 0 else length)


def free_samples(rows: ProblemRows, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (m, q) of the free motion at evenly spaced times t, by the loop that trial runs use as well."""
    method, advance = _free_loop()
    states = rows.not_reached(t)
    bodies = rows.bodies._replace(damping=np.zeros((1, 3)))
    steps = np.arange(len(t))
    current = rows.new_state(method, rows.m, rows.q)
    clock = Clock(np.zeros(1), t[1:2])
    advance(bodies, clock, Wanted(len(t), steps), 0, rows.count, current, Saved(states.m, states.q))
    return rows.to_user(states.m, states.q)


@cache
def _free_loop() -> tuple[Method, Advance]:
    """Return a method that is exact for free bodies, and its loop over steps."""
    method = Splitting(None, "V2")
    return method, method.advance(nothing())


def _sizes(rows: ProblemRows, t: FloatArray, q: FloatArray, w: FloatArray) -> FloatArray:
    """Return ``|f|`` of all bodies at times t, without damping, or only at the first time if the torque raises.

    The run itself reports such an error where it occurs.
    """
    count = rows.count
    params = np.broadcast_to(rows.bodies.params, (count, rows.bodies.params.shape[-1]))
    out = np.empty((len(t) * count, 3))
    arguments = np.repeat(t, count), q.reshape(-1, 4), w.reshape(-1, 3), writable(np.tile(params, (len(t), 1))), out
    try:
        rows.force.evaluate_torques(arguments)
    except Exception:
        return _sizes(rows, t[:1], q[:1], w[:1]) if len(t) > 1 else np.zeros((1, *rows.batch))
    sizes = np.linalg.norm(out, axis=-1).reshape(len(t), *rows.batch)
    return np.nan_to_num(sizes, nan=0.0, posinf=0.0)
