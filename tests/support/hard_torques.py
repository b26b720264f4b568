"""Torques that saturate, peak, bend or jump: what Taylor series see too late, drawn at random.

Each kind is one function of t, Q, w and parameters, which are drawn with the motion: p[0] is the sharpness k, p[1] a
place or a phase, p[2:5] the direction of the torque in the body, p[5:8] a direction in space. k, widths and spans are
drawn log-uniformly.
"""

from __future__ import annotations

from math import asin, atan, atan2, cos, exp, log, sin, sqrt, tanh
from typing import NamedTuple

import numpy as np

import polhode as ph

SPAN = 6.0, 14.0
SHARP = 3.0, 500.0
STEEP = 1e3, 1e5
NARROW = 20.0, 600.0  # spans per width of a pulse in time
NUDGE = 1e-6


def along(Q, p):
    """Component of the first body axis along the direction in space."""
    return p[5] * Q[0][0] + p[6] * Q[1][0] + p[7] * Q[2][0]


def times(p, f):
    return p[2] * f, p[3] * f, p[4] * f


def saturating(t, Q, w, p):
    return times(p, tanh(p[0] * along(Q, p)))


def logistic(t, Q, w, p):
    return times(p, 1.0 / (1.0 + exp(-p[0] * along(Q, p))))


def drag_by_axis(t, Q, w, p):
    return (
        p[2] - 0.1 * w[0] * sqrt(w[0] * w[0]),
        p[3] - 0.1 * w[1] * sqrt(w[1] * w[1]),
        p[4] - 0.1 * w[2] * sqrt(w[2] * w[2]),
    )


def drag_by_size(t, Q, w, p):
    """The spin is reversed, nearly along one axis."""
    size = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return p[2] / p[0] - 0.1 * size * w[0], p[3] / p[0] - 0.1 * size * w[1], -0.4 - 0.1 * size * w[2]


def peak_of_attitudes(t, Q, w, p):
    return times(p, exp(-p[0] * (1.0 - along(Q, p))))


def gaussian(t, Q, w, p):
    z = p[0] * (t - p[1])
    return times(p, exp(-z * z))


def coulomb(t, Q, w, p):
    return times(p, -tanh(p[0] * w[0]))


def heading(t, Q, w, p):
    return times(p, atan2(Q[1][0], Q[0][0]))


def phase(t, Q, w, p):
    return times(p, atan2(sin(p[0] / 30.0 * t + p[1]), cos(p[0] / 30.0 * t + p[1])))


def pitch(t, Q, w, p):
    return times(p, asin(0.999 * Q[2][0]))


def arctangent(t, Q, w, p):
    return times(p, atan(p[0] * along(Q, p)))


def algebraic(t, Q, w, p):
    x = along(Q, p)
    return times(p, x / sqrt(x * x + 1.0 / (p[0] * p[0])))


def ramp(t, Q, w, p):
    return times(p, log(1.0 + exp(p[0] * along(Q, p))) / p[0])


def logistic_of_quotient(t, Q, w, p):
    e = exp(p[0] * along(Q, p))
    return times(p, e / (1.0 + e))


def tanh_of_exponentials(t, Q, w, p):
    e = exp(-p[0] * along(Q, p))
    return times(p, (1.0 - e) / (1.0 + e))


def bell_of_exponentials(t, Q, w, p):
    x = p[0] * along(Q, p)
    e = exp(x) + exp(-x)
    return times(p, 4.0 / (e * e))


def rational_bell(t, Q, w, p):
    z = p[0] * (t - p[1])
    d = 1.0 + z * z
    return times(p, 1.0 / (d * d * d * d))


def square_wave(t, Q, w, p):
    return times(p, tanh(p[0] * sin(t + p[1])))


def switch_in_time(t, Q, w, p):
    return times(p, tanh(p[0] * (t - p[1])))


def product_of_pulses(t, Q, w, p):
    z, x = 0.2 * p[0] * (t - p[1]), along(Q, p)
    return times(p, exp(-z * z) * tanh(p[0] * x))


def window(t, Q, w, p):
    x = along(Q, p)
    return times(p, tanh(p[0] * (x + 0.1)) - tanh(p[0] * (x - 0.1)))


def narrow_window(t, Q, w, p):
    x = along(Q, p)
    return times(p, atan(10.0 * p[0] * x) - atan(10.0 * p[0] * (x - 3.0 / p[0])))


def train_of_pulses(t, Q, w, p):
    s = sin(t + p[1])
    return times(p, exp(-p[0] * s * s))


def bell_of_attitude(t, Q, w, p):
    x = p[0] * (along(Q, p) - 0.3)
    return times(p, exp(-x * x))


def bell_of_velocity(t, Q, w, p):
    x = p[0] * (w[0] - 0.2)
    return times(p, exp(-x * x))


def exponential_of_size(t, Q, w, p):
    x = along(Q, p)
    return times(p, exp(-p[0] * sqrt(x * x)))


def larger_of_two(t, Q, w, p):
    a, b = Q[0][0], Q[1][1]
    return times(p, 0.5 * (a + b + sqrt((a - b) * (a - b))))


def nested(t, Q, w, p):
    return times(p, tanh(exp(0.1 * p[0] * along(Q, p)) - 2.0))


def power_of_64(t, Q, w, p):
    x = along(Q, p)
    for _ in range(6):
        x = x * x
    return times(p, x)


def sharp_power(t, Q, w, p):
    return times(p, (0.5 + 0.5 * along(Q, p) ** 2) ** 300.5)


def power_of_1024(t, Q, w, p):
    x = along(Q, p)
    for _ in range(10):
        x = x * x
    return times(p, x)


IN_TIME = {gaussian, rational_bell, switch_in_time, product_of_pulses}
KINDS = (
    saturating, logistic, drag_by_axis, drag_by_size, peak_of_attitudes, gaussian, coulomb, heading, phase, pitch,
    arctangent, algebraic, ramp, logistic_of_quotient, tanh_of_exponentials, bell_of_exponentials, rational_bell,
    square_wave, switch_in_time, product_of_pulses, train_of_pulses, bell_of_attitude, bell_of_velocity,
    exponential_of_size, larger_of_two, window, narrow_window, nested, power_of_64, power_of_1024, sharp_power,
)  # fmt: skip
# Exponentials of these overflow where k is larger.
STEEP_KINDS = (saturating, gaussian, coulomb, arctangent, algebraic, square_wave, switch_in_time)


class Drawn(NamedTuple):
    """A torque and the problem that it makes."""

    kind: str
    problem: ph.Problem
    truth_steps: tuple[float, float]  # longest steps of two runs for the truth


def log_uniform(rng, bounds):
    return float(np.exp(rng.uniform(*np.log(bounds))))


def draw(kind, rng, sharp=SHARP):
    """A problem with a torque of this kind."""
    end = log_uniform(rng, SPAN)
    k = log_uniform(rng, sharp)
    if kind in IN_TIME and sharp is SHARP:
        k = log_uniform(rng, NARROW) / end
    if kind in (drag_by_size,):
        k = log_uniform(rng, (3.0, 1e4))
    moments = np.sort(rng.uniform(1.0, 2.0, 3))
    torque, direction = rng.normal(size=3), rng.normal(size=3)
    torque *= rng.uniform(0.1, 0.6) / np.linalg.norm(torque)
    direction /= np.linalg.norm(direction)
    m, q = rng.normal(size=3), rng.normal(size=4)
    m *= rng.uniform(1.0, 3.0) / np.linalg.norm(m)
    if kind is drag_by_size:
        m = np.array((0.0, 0.0, abs(m[2]) + 0.5)) + m / k
    params = np.array([k, rng.uniform(0.1, 0.9) * end, *torque, *direction])
    state = ph.State(m, q / np.linalg.norm(q))
    problem = ph.Problem(tuple(moments), state, ph.Torque(kind, params=params), (0.0, end))
    return Drawn(kind.__name__, problem, (end / 2000, end / 5000) if sharp is SHARP else (end / 1e5, end / 2.3e5))


class Truth(NamedTuple):
    """End state (m, q), how much two runs differ, and by what factor small changes of the initial state grow."""

    end: np.ndarray
    difference: float
    growth: float


def end_of(problem, method):
    traj = ph.integrate(problem, method=method, t_eval=[problem.t_span[1]])
    return np.concatenate([traj.m[-1], traj.q[-1]], axis=-1)


def truth(drawn):
    """By short steps of Runge-Kutta of order 8, at two bounds on their length."""
    problem, (longer, shorter) = drawn.problem, drawn.truth_steps
    end = end_of(problem, ph.Adaptive(1e-13, max_step=shorter))
    difference = np.abs(end_of(problem, ph.Adaptive(1e-13, max_step=longer)) - end).max()
    growth = 1.0
    for direction in ((0.6, 0.8, 0.0), (0.0, -0.6, 0.8)):
        state = ph.State(problem.state.m + NUDGE * np.array(direction), problem.state.q)
        moved = end_of(problem.replaced(state=state), ph.Adaptive(1e-12, max_step=longer))
        growth = max(growth, np.abs(moved - end).max() / NUDGE)
    return Truth(end, float(difference), float(growth))


def excess(drawn, rtol, true):
    """Error of Taylor(rtol) in units of what its tolerance allows; 0 if it raises an error."""
    try:
        # Sampling in advance would see a part of the pulses in time.
        end = end_of(drawn.problem, ph.Taylor(rtol, max_step=np.inf))
    except ph.errors.RunError:
        return 0.0
    error = np.abs(end - true.end).max()
    return float(error / (20.0 * rtol * true.growth + 3.0 * true.difference + 2e-11))
